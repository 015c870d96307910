// SPDX-License-Identifier: Apache-2.0
// Video processing by the driver, and as an edge.
#include <tenon/frameworks/vaapi/process.hpp>

#include <va/va.h>
#include <va/va_vpp.h>

#include <array>
#include <limits>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/vaapi/context.hpp>
#include <tenon/frameworks/vaapi/frame.hpp>
#include <tenon/frameworks/vaapi/memory.hpp>
#include <tenon/frameworks/vaapi/native.hpp>
#include <tenon/frameworks/vaapi/place.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {
namespace detail {

TENON_INLINE VAProcColorStandardType standard_of(ColourSpace space) {
  switch (space) {
    case ColourSpace::kBt601:
      return VAProcColorStandardBT601;
    case ColourSpace::kBt709:
      return VAProcColorStandardBT709;
    case ColourSpace::kBt2020:
      return VAProcColorStandardBT2020;
    case ColourSpace::kSmpte240m:
      return VAProcColorStandardSMPTE240M;
    case ColourSpace::kUnknown:
      break;
  }
  return VAProcColorStandardNone;
}

TENON_INLINE std::uint8_t range_of(const FrameInfo& info) {
  return resolved_colour_range(info) == ColourRange::kFull ? VA_SOURCE_RANGE_FULL : VA_SOURCE_RANGE_REDUCED;
}

/// As VA-API has rectangles. @errors kOutOfRange: not inside the picture.
TENON_INLINE VARectangle rectangle_of(const Rectangle& wanted, const FrameInfo& picture, const char* which) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::int16_t>::max();
  const Rectangle all = wanted.empty() ? Rectangle{0, 0, picture.width_px, picture.height_px} : wanted;
  const auto fits = [](std::uint32_t at, std::uint32_t size, std::uint32_t whole) {
    return whole <= kMost && size <= whole && at <= whole - size;
  };
  if (!fits(all.x_px, all.width_px, picture.width_px) || !fits(all.y_px, all.height_px, picture.height_px))
    throw Error(Code::kOutOfRange, std::string("vaapi: the ") + which + " " + std::to_string(all.width_px) + "x" +
                                       std::to_string(all.height_px) + " at " + std::to_string(all.x_px) + "," +
                                       std::to_string(all.y_px) + " does not lie in a picture of " +
                                       std::to_string(picture.width_px) + "x" + std::to_string(picture.height_px) +
                                       " px");
  return {static_cast<std::int16_t>(all.x_px), static_cast<std::int16_t>(all.y_px),
          static_cast<std::uint16_t>(all.width_px), static_cast<std::uint16_t>(all.height_px)};
}

/// A buffer of the driver's; destroyed at the end.
class PipelineBuffer {
 public:
  PipelineBuffer(VADisplay display, VAContextID context, VAProcPipelineParameterBuffer& parameters)
      : display_(display) {
    constexpr const char* kCall = "vaCreateBuffer";
    native::check(native::call(kCall, vaCreateBuffer, display, context, VAProcPipelineParameterBufferType,
                               static_cast<unsigned>(sizeof parameters), 1u, static_cast<void*>(&parameters), &id_),
                  kCall, "the parameters of video processing");
  }
  PipelineBuffer(const PipelineBuffer&) = delete;
  PipelineBuffer& operator=(const PipelineBuffer&) = delete;
  ~PipelineBuffer() { vaDestroyBuffer(display_, id_); }
  VABufferID id() const { return id_; }

 private:
  VADisplay display_;
  VABufferID id_ = VA_INVALID_ID;
};

/// Where the first pixel of a frame stands in its surface: a part of a frame is processed as that part.
TENON_INLINE Rectangle place_in_surface(const Frame& frame, const SurfacePart& part) {
  const SurfaceLayout::Plane& luma = part.state->planes.at(0);
  const Tensor& plane = frame.plane(0);
  const PixelFormatInfo& format = format_info(frame.info().format);
  const std::size_t inside = plane.offset() - luma.offset_bytes;
  const std::size_t step = size_bytes(format.sample) * format.planes[0].channels;
  return {static_cast<std::uint32_t>(inside % luma.pitch_bytes / step) << format.planes[0].width_shift,
          static_cast<std::uint32_t>(inside / luma.pitch_bytes), frame.info().width_px, frame.info().height_px};
}

/// What a Processor is: shared with the maps that run while it ends. @thread any: one picture at a time.
class ProcessorState {
 public:
  ProcessorState(const Context& context, const FrameInfo& output, std::size_t limit)
      : context_(context), display_(surface_context(context, "Processor").display()), pool_(context, output, limit) {
    if (display_->processing() == VA_INVALID_ID)
      throw Error(Code::kUnimplemented,
                  "vaapi: " + display_->vendor() + " has no video processing (VAEntrypointVideoProc)");
    like_ = describe(pool_.acquire());
    constexpr const char* kCall = "vaCreateContext";
    native::check(native::call(kCall, vaCreateContext, display_->handle(), display_->processing(),
                               static_cast<int>(output.width_px), static_cast<int>(output.height_px),
                               int{VA_PROGRESSIVE}, static_cast<VASurfaceID*>(nullptr), 0, &id_),
                  kCall, "video processing");
  }
  ProcessorState(const ProcessorState&) = delete;
  ProcessorState& operator=(const ProcessorState&) = delete;
  ~ProcessorState() { vaDestroyContext(display_->handle(), id_); }

  const Context& context() const { return context_; }
  const Ref<Display>& display() const { return display_; }
  const FrameInfo& output() const { return pool_.info(); }
  /// Where the results lie.
  const FrameDescription& like() const { return like_; }

  /// What comes out for pictures like `from`.
  FrameInfo result_of(const FrameInfo& from, const Processing& how) const {
    FrameInfo to = like_.info;
    // A YUV picture stays in the matrix and range that it has, unless the caller wants others.
    const bool is_rgb = format_info(to.format).model == ColourModel::kRgb;
    if (to.colour_space == ColourSpace::kUnknown && !is_rgb) to.colour_space = resolved_colour_space(from);
    if (to.colour_range == ColourRange::kUnknown && !is_rgb) to.colour_range = resolved_colour_range(from);
    to.rotation = how.turns_upright ? Rotation::kNone : from.rotation;
    return to;
  }

  /// As Processor::run(), which also books it.
  Frame run(const Frame& source, const Processing& how, Deadline deadline, Ledger* ledger) {
    if (source.plane_count() == 0) throw Error(Code::kInvalidArgument, "vaapi::Processor: an empty frame or a batch");
    const SurfacePart from = part_of(source.plane(0));
    if (from.state->surface->display()->handle() != display_->handle())
      throw Error(Code::kInvalidArgument, "vaapi::Processor: " + from.state->surface->what() +
                                              " belongs to another VADisplay; map the frame to " +
                                              std::string(context_->name()) + " with a Router first");
    Frame target = pool_.acquire(deadline, ledger);
    const SurfacePart to = part_of(target.plane(0));
    VARectangle crop = rectangle_of(how.crop, source.info(), "crop");
    const Rectangle place = place_in_surface(source, from);
    crop.x = static_cast<std::int16_t>(crop.x + static_cast<int>(place.x_px));
    crop.y = static_cast<std::int16_t>(crop.y + static_cast<int>(place.y_px));
    VARectangle region = rectangle_of(how.region, target.info(), "region");
    for (const Tensor& plane : source.planes()) plane.memory()->wait_for(Access::kRead, deadline, ledger);
    const FrameInfo info = result_of(source.info(), how);
    VAProcPipelineParameterBuffer parameters = parameters_of(source.info(), info, how);
    parameters.surface = from.state->surface->id();
    parameters.surface_region = &crop;
    parameters.output_region = &region;
    submit(to.state->surface->id(), parameters);
    note(source, target, to);
    Frame result(info, std::vector<Tensor>(target.planes().begin(), target.planes().end()), source.timestamp_ns());
    if (!source.metadata().empty()) result.metadata() = source.metadata();
    return result;
  }

 private:
  static VAProcPipelineParameterBuffer parameters_of(const FrameInfo& from, const FrameInfo& to,
                                                     const Processing& how) {
    const bool is_rgb = format_info(to.format).model == ColourModel::kRgb;
    VAProcPipelineParameterBuffer parameters{};
    parameters.surface_color_standard = standard_of(resolved_colour_space(from));
    parameters.output_color_standard = is_rgb ? VAProcColorStandardNone : standard_of(to.colour_space);
    parameters.input_color_properties.color_range = range_of(from);
    parameters.output_color_properties.color_range = range_of(to);
    parameters.output_background_color = how.background;
    parameters.filter_flags = how.fast ? VA_FILTER_SCALING_FAST : VA_FILTER_SCALING_DEFAULT;
    if (how.turns_upright) {
      // The driver turns first and mirrors then: the other way round the turn has the other direction.
      const std::uint32_t quarters = degrees(from.rotation) / 90;
      parameters.rotation_state = is_mirrored(from.rotation) ? (4 - quarters) % 4 : quarters;
      parameters.mirror_state = is_mirrored(from.rotation) ? VA_MIRROR_HORIZONTAL : VA_MIRROR_NONE;
    }
    return parameters;
  }

  void submit(VASurfaceID target, VAProcPipelineParameterBuffer& parameters) {
    std::lock_guard lock(mutex_);
    const VADisplay display = display_->handle();
    const PipelineBuffer buffer(display, id_, parameters);
    constexpr const char *kBegin = "vaBeginPicture", *kRender = "vaRenderPicture", *kEnd = "vaEndPicture";
    native::check(native::call(kBegin, vaBeginPicture, display, id_, target), kBegin, "video processing");
    VABufferID id = buffer.id();
    const VAStatus rendered = native::call(kRender, vaRenderPicture, display, id_, &id, 1);
    const VAStatus ended =
        native::call(kEnd, vaEndPicture, display, id_);  // Also after a failure: a picture has begun.
    native::check(rendered, kRender, "video processing");
    native::check(ended, kEnd, "video processing");
  }
  static void note(const Frame& source, const Frame& target, const SurfacePart& to) {
    const TimelinePoint done = to.state->timeline->next();
    for (const Tensor& plane : source.planes()) plane.memory()->hazards().read_until(done);
    for (const Tensor& plane : target.planes()) plane.memory()->hazards().wrote(done);
  }

  const Context context_;
  const Ref<Display> display_;
  SurfacePool pool_;
  FrameDescription like_;
  VAContextID id_ = VA_INVALID_ID;
  std::mutex mutex_;
};

}  // namespace detail

TENON_INLINE Processor::Processor(const Context& context, const FrameInfo& output, std::size_t limit)
    : state_(std::make_shared<detail::ProcessorState>(context, output, limit)) {}

TENON_INLINE const FrameInfo& Processor::output() const { return state_->output(); }

TENON_INLINE Frame Processor::run(const Frame& source, const Processing& how, Deadline deadline, Ledger* ledger) {
  Frame result = state_->run(source, how, deadline, ledger);
  static const EdgeId edge = register_edge("vaapi->vaapi (processed)");
  Ledger& books = ledger ? *ledger : Ledger::process();
  books.book_map(edge, false);
  books.book_converted(edge, source.size_bytes());
  return result;
}

namespace detail {

/// Converts: other pixels in another surface. Booked as converted, so that ZeroCopy::kRequire allows it.
class SurfaceToProcessed final : public Edge {
 public:
  std::string_view name() const override { return "vaapi->vaapi.processed"; }
  MemoryKind from() const override { return kVaapiMemory; }
  MemoryKind to() const override { return kProcessedMemory; }
  bool takes_single_planes() const override { return false; }
  std::string_view host_wait(const Description&) const override {
    return "it converts, and begins when the writers are done";
  }
  Step step(const Description&, const Context&, Access) const override { return Refusal{kWholeFrames}; }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    throw Error(Code::kFailedPrecondition,
                std::string(name()) + ": " + std::get<Refusal>(step(describe(source), to, options.access)).reason);
  }
  FrameStep step_frame(const FrameDescription& from, const Context& to, Access access) const override;
  Frame map_frame(const Frame& source, const Context& to, const MapOptions& options) const override;
};

/// The same surface, no longer seen from the place.
class ProcessedToSurface final : public Edge {
 public:
  std::string_view name() const override { return "vaapi.processed->vaapi"; }
  MemoryKind from() const override { return kProcessedMemory; }
  MemoryKind to() const override { return kVaapiMemory; }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    settle(source, to, options);
    return source.through(nullptr);
  }
};

/// Knows its Processor, and does not keep it: the results, which the Processor keeps, have views here.
class ProcessedContext final : public ContextImpl {
 public:
  ProcessedContext(const std::shared_ptr<ProcessorState>& processor, const Processing& how, std::string name)
      : processor_(processor), surfaces_(processor->context()), how_(how), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kProcessedMemory; }
  DeviceIdentity device() const override { return surfaces_->device(); }
  std::span<const Edge* const> edges() const override {
    static const SurfaceToProcessed to_place;
    static const ProcessedToSurface from_place;
    static const Edge* const all[] = {&to_place, &from_place};
    return all;
  }
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    surfaces_->read(tensor.through(nullptr), out);
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    surfaces_->write(tensor.through(nullptr), in);
  }

  /// Null when it is gone.
  std::shared_ptr<ProcessorState> processor() const { return processor_.lock(); }
  /// Where the surfaces are.
  const Context& surfaces() const { return surfaces_; }
  const Processing& how() const { return how_; }

 private:
  const std::weak_ptr<ProcessorState> processor_;
  const Context surfaces_;
  const Processing how_;
  const std::string name_;
};

/// A driver's rough cost for a picture of 1080 rows; software takes more.
inline constexpr double kProcessing_ns = 500'000;

TENON_INLINE FrameStep SurfaceToProcessed::step_frame(const FrameDescription& from, const Context& to,
                                                      Access access) const {
  const auto* place = to.as<ProcessedContext>();
  const auto* surfaces = from.planes[0].context.as<SurfaceContext>();
  if (!place || !surfaces) return Refusal{"source is no vaapi context, or target no place of a vaapi::Processor"};
  const auto processor = place->processor();
  if (!processor) return Refusal{"the vaapi::Processor of " + std::string(to->name()) + " is gone"};
  if (surfaces->display()->handle() != processor->display()->handle())
    return Refusal{"the surface belongs to another VADisplay"};
  if (writes(access)) return Refusal{"it converts: writes would not reach the source"};
  try {
    rectangle_of(place->how().crop, from.info, "crop");
    rectangle_of(place->how().region, processor->output(), "region");
  } catch (const Error& error) {
    return Refusal{error.what()};
  }
  ReachedFrame reached{processor->like(), false, kProcessing_ns};
  reached.result.info = processor->result_of(from.info, place->how());
  for (std::size_t p = 0; p < reached.result.plane_count; ++p) {
    reached.result.planes[p].context = to;
    reached.result.planes[p].kind = kProcessedMemory;
  }
  return reached;
}

TENON_INLINE Frame SurfaceToProcessed::map_frame(const Frame& source, const Context& to,
                                                 const MapOptions& options) const {
  const FrameStep judged = step_frame(describe(source), to, options.access);
  if (const auto* refusal = std::get_if<Refusal>(&judged))
    throw Error(Code::kFailedPrecondition, std::string(name()) + ": " + refusal->reason);
  const auto* place = to.as<ProcessedContext>();
  const auto processor = place->processor();
  if (!processor) throw Error(Code::kFailedPrecondition, std::string(name()) + ": its vaapi::Processor is gone");
  const Frame made = processor->run(source, place->how(), deadline_of(options), options.ledger);
  ledger_of(options).book_converted(id(), source.size_bytes());
  std::array<const View*, 4> views{};
  for (std::size_t p = 0; p < made.plane_count(); ++p) {
    const Memory& memory = *made.plane(p).memory();
    views[p] = memory.find_view(*to, kProcessedMemory, Access::kReadWrite);
    if (!views[p])
      views[p] = &memory.add_view(std::make_unique<View>(to, kProcessedMemory, Access::kReadWrite, nullptr));
  }
  return made.through({views.data(), made.plane_count()});
}

TENON_INLINE Step ProcessedToSurface::step(const Description& from, const Context& to, Access access) const {
  const auto* place = from.context.as<ProcessedContext>();
  if (!place || !(place->surfaces() == to)) return Refusal{"the surface belongs to another vaapi context"};
  if (writes(access) && from.read_only) return Refusal{"the surface may only be read"};
  return shared_in_place(from, to, kVaapiMemory, 60);
}

}  // namespace detail

TENON_INLINE Context Processor::place(const Processing& how, std::string name) const {
  return Context(make_ref<detail::ProcessedContext>(state_, how, std::move(name)));
}

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
