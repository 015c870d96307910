// SPDX-License-Identifier: Apache-2.0
// Video processing by the driver: crop, scale, turn, and other formats and colours. Converts: the ledger books it so.
#pragma once

#include <va/va.h>
#include <va/va_vpp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/vaapi/context.hpp>
#include <tenon/frameworks/vaapi/frame.hpp>
#include <tenon/frameworks/vaapi/native.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// Pixels of a picture; an empty one means all of it.
struct Rectangle {
  std::uint32_t x_px = 0, y_px = 0, width_px = 0, height_px = 0;
  bool empty() const { return width_px == 0 || height_px == 0; }
};

/// What is done to a picture on its way.
struct Processing {
  Rectangle crop;                         ///< Of the source.
  Rectangle region;                       ///< Of the result that the picture fills; the rest is `background`.
  std::uint32_t background = 0xff000000;  ///< 0xAARRGGBB.
  bool turns_upright = false;             ///< Turns the picture as its FrameInfo::rotation says.
  bool fast = false;                      ///< Cheaper scaling.
};

namespace detail {

inline VAProcColorStandardType standard_of(ColourSpace space) {
  switch (space) {
    case ColourSpace::kBt601:
      return VAProcColorStandardBT601;
    case ColourSpace::kBt709:
      return VAProcColorStandardBT709;
    case ColourSpace::kBt2020:
      return VAProcColorStandardBT2020;
    case ColourSpace::kUnknown:
      break;
  }
  return VAProcColorStandardNone;
}

inline std::uint8_t range_of(const FrameInfo& info) {
  return resolved_colour_range(info) == ColourRange::kFull ? VA_SOURCE_RANGE_FULL : VA_SOURCE_RANGE_REDUCED;
}

/// As VA-API has rectangles. @errors kOutOfRange: not inside the picture.
inline VARectangle rectangle_of(const Rectangle& wanted, const FrameInfo& picture, const char* which) {
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

}  // namespace detail

namespace detail {

/// Where the first pixel of a frame stands in its surface: a part of a frame is processed as that part.
inline Rectangle place_in_surface(const Frame& frame, const SurfacePart& part) {
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
    if (how.turns_upright) parameters.rotation_state = static_cast<std::uint32_t>(from.rotation);
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

/// Makes pictures of one format and size of others, on the driver. Results are surfaces of a pool.
/// @thread any: one picture at a time.
class Processor {
 public:
  /// @param output  Format and size of the results; colour space and range too, where they are not unknown.
  /// @param limit   Results that may be in use at a time.
  /// @errors kInvalidArgument: no vaapi context; kUnimplemented: a driver without video processing; those of the driver.
  Processor(const Context& context, const FrameInfo& output, std::size_t limit = 16)
      : state_(std::make_shared<detail::ProcessorState>(context, output, limit)) {}

  const FrameInfo& output() const { return state_->output(); }

  /// A place for a Router: frames that are mapped there are processed as `how` says, by an edge that converts. It may be a
  /// target and a source, and no way leads through it. The edge refuses when this Processor is gone; its results stay.
  /// @param name  As explanations call it. @cost keeps a view with each result for each place; make one per use.
  Context place(const Processing& how = {}, std::string name = "vaapi.processed") const;

  /// Begins the work on `source`, a frame of this display, and gives the result, which is a picture of the context; who maps
  /// it waits for the work. Books the bytes of `source` as converted, under "vaapi->vaapi (processed)".
  /// @errors kInvalidArgument: a frame of another display or framework (map it to the context first); kOutOfRange: a
  /// rectangle outside its picture; kDeadlineExceeded: all results are in use; those of the driver.
  Frame run(const Frame& source, const Processing& how = {}, Deadline deadline = default_deadline(),
            Ledger* ledger = nullptr) {
    Frame result = state_->run(source, how, deadline, ledger);
    static const EdgeId edge = register_edge("vaapi->vaapi (processed)");
    Ledger& books = ledger ? *ledger : Ledger::process();
    books.book_map(edge, false);
    books.book_converted(edge, source.size_bytes());
    return result;
  }

 private:
  std::shared_ptr<detail::ProcessorState> state_;
};

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
