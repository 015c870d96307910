// SPDX-License-Identifier: Apache-2.0
// GStreamer launch lines: what the line ends in is read from an appsink, where elements write into Tenon's memory. A module
// of its own (launch_line.cpp loads it), so that the tool starts where GStreamer is not installed.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/launch.hpp>

#ifdef HAS_VA_SURFACES
#include <tenon/bridges/gstreamer_vaapi/gstreamer_vaapi.hpp>
#endif

#include <tenon/tools/tenon/proof/second_view.hpp>
#include <tenon/tools/tenon/sources/open_source.hpp>

namespace tenon::tool {
namespace {

namespace gs = tenon::gstreamer;

std::string about(const std::string& line) { return "launch line \"" + line + "\": "; }

/// Decoders of videos only.
bool is_decoder(GstElementFactory* factory) {
  return factory && gst_element_factory_list_is_type(
                        factory, GST_ELEMENT_FACTORY_TYPE_DECODER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO);
}
bool is_va(GstElementFactory* factory) {
  const char* plugin = gst_plugin_feature_get_plugin_name(GST_PLUGIN_FEATURE(factory));
  return plugin && std::string_view(plugin) == "va";
}

/// decodebin and its like then choose GStreamer's VA decoders before all others.
/// @errors kUnavailable: there are none.
void prefer_va(const std::string& line) {
  GList* const factories = gst_element_factory_list_get_elements(
      GST_ELEMENT_FACTORY_TYPE_DECODER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO, GST_RANK_NONE);
  std::size_t preferred = 0;
  for (GList* each = factories; each; each = each->next) {
    if (!is_va(GST_ELEMENT_FACTORY(each->data))) continue;
    gst_plugin_feature_set_rank(GST_PLUGIN_FEATURE(each->data), GST_RANK_PRIMARY + 1024);
    ++preferred;
  }
  gst_plugin_feature_list_free(factories);
  if (preferred == 0)
    throw Error(Code::kUnavailable,
                about(line) +
                    "GStreamer has no VA decoders: gstreamer1.0-plugins-bad has them, for drivers that vainfo lists. "
                    "`tenon va-env -- tenon run ...` runs this with the software driver.");
}

class GstreamerSource final : public FrameSource {
 public:
  explicit GstreamerSource(const SourceOptions& options) : options_(options) {
    for (const Context& each : {gs::context(), gs::device_context(), dmabuf::context(), host_context()})
      router_.add(each);
    // What nearly every device takes in place; a live stream gets no other.
    pool_.wanted.fd = FdKind::kMemfd;
    pool_.wanted.alignment = 4096;
    pool_.wanted.pitch_alignment = 64;
    start();
  }

  const FrameInfo& info() const override { return info_; }
  double fps() const override { return fps_; }
  bool live() const override { return launched_->live(); }
  std::string arrives_as() const override { return arrives_as_; }
  std::string lies_in() const override { return lies_in_; }
  std::size_t buffers() const override { return buffers_.size(); }
  std::uint64_t size_changes() const override { return size_changes_; }
  Context writer() const override { return host_context(); }

  /// A live stream goes on in the memory that it has: to start a camera again would lose pictures. Others begin again.
  void use_pool(const AllocationPlan& plan, std::size_t in_flight) override {
    if (!plan.possible) throw Error(Code::kFailedPrecondition, plan.explanation);
    if (live()) return;
    pool_.allocator = plan.allocator;
    pool_.wanted = plan.requirements;
    pool_.min_buffers = static_cast<unsigned>(in_flight + 2);
    start();
  }

  std::optional<Frame> read(Deadline deadline) override {
    std::optional<Frame> frame = first_ ? std::exchange(first_, std::nullopt) : pull(deadline);
    if (!frame) return frame;
    if (!(frame->info() == info_)) ++size_changes_;
    info_ = frame->info();
    const Memory* const memory = frame->plane(0).memory().get();
    if (std::find(buffers_.begin(), buffers_.end(), memory->identity()) == buffers_.end() &&
        buffers_.size() < kMostKnown)
      buffers_.push_back(memory->identity());
    return in_host(*frame);
  }

  /// A pattern in a buffer that goes back to the elements must be gone when they give it out again. A line that has an end
  /// runs once more for that.
  HopProof prove_writes_in_place(const Frame&) override {
    HopProof proof = guarded([&] { return prove(); });
    launched_.reset();  // So that only the caller refers to the last frame.
    return proof;
  }

 private:
  static constexpr std::size_t kMostKnown = 64;  ///< More buffers than that are no pool.
  static constexpr std::chrono::seconds kPatience{15};

  void start() {
    launched_.reset();
    first_.reset();
    buffers_.clear();
    launched_ = std::make_unique<gs::LaunchedSource>(options_.input, pool_);
    gs::SamplePtr sample = launched_->pull(Clock::now() + kPatience);
    if (!sample) throw Error(Code::kDataLoss, about(options_.input) + "it ends before its first picture");
    name_decoder();
    first_ = frame_of(std::move(sample));
    info_ = first_->info();
    if (arrives_as_.empty()) arrives_as_ = to_string(info_.format);
    name_place(*first_->plane(0).memory());
  }

  /// What the decoder decodes; empty without a decoder. @errors kFailedPrecondition: VA-API was wanted.
  void name_decoder() {
    arrives_as_.clear();
    decodes_by_va_ = false;
    gs::any_element(launched_->pipeline(), [&](GstElement* element) {
      GstElementFactory* const factory = gst_element_get_factory(element);
      if (!is_decoder(factory)) return false;
      const gs::ObjectPtr<GstPad> pad(gst_element_get_static_pad(element, "sink"));
      const gs::CapsPtr caps(pad ? gst_pad_get_current_caps(pad.get()) : nullptr);
      if (!caps) return false;
      const std::string_view type = gst_structure_get_name(gst_caps_get_structure(caps.get(), 0));
      arrives_as_ = type.starts_with("video/x-") ? type.substr(8) : type.substr(type.find('/') + 1);
      decodes_by_va_ = is_va(factory);
      return true;
    });
    if (!options_.va_node.empty() && !decodes_by_va_)
      throw Error(Code::kFailedPrecondition,
                  about(options_.input) +
                      "--decode va, and none of its elements decodes by VA-API: let decodebin choose, or name one "
                      "(vah264dec)");
  }

  void name_place(const Memory& memory) {
    const std::string descriptor(memory.fd_kind().name());
    lies_in_ = decodes_by_va_ && !descriptor.empty() ? "vaapi(" + descriptor + ")"
               : descriptor.empty()                  ? std::string(memory.kind().name())
                                                     : "pool(" + descriptor + ")";
  }

  /// As the elements left it; nothing at the end.
  std::optional<Frame> pull(Deadline deadline) {
    gs::SamplePtr sample = launched_->pull(deadline);
    if (!sample) return std::nullopt;
    return frame_of(std::move(sample));
  }

  Frame frame_of(gs::SamplePtr sample) {
    const gs::VideoCaps& caps = caps_.of(gst_sample_get_caps(sample.get()));
    fps_ = caps.rate_den ? static_cast<double>(caps.rate_num) / caps.rate_den : 0;
    gs::BufferPtr buffer(gst_buffer_ref(gst_sample_get_buffer(sample.get())));
    sample.reset();
    Frame frame = gs::adopt(buffer.get(), caps, options_.ledger);
    GstBuffer* const held = buffer.release();  // The frame has it.
    return in_surface(frame, held, caps);
  }

  /// A decoder's surface by its descriptor, where it came as memory that only GStreamer knows. @param buffer  The frame's.
  Frame in_surface(const Frame& frame, [[maybe_unused]] GstBuffer* buffer, [[maybe_unused]] const gs::VideoCaps& caps) {
#ifdef HAS_VA_SURFACES
    if (decodes_by_va_ && frame.plane(0).context() == gs::device_context()) {
      Frame surface = surfaces_.wrap(buffer, caps);
      router_.add(surfaces_.context());
      return surface;
    }
#endif
    return frame;
  }

  Frame in_host(const Frame& frame) {
    MapOptions map;
    map.policy = options_.policy;
    map.ledger = options_.ledger;
    map.access = frame.plane(0).is_writable() ? Access::kReadWrite : Access::kRead;
    return router_.map(frame, host_context(), map);
  }

  HopProof prove() {
    if (!launched_->live()) start();
    constexpr unsigned kSeed = 7;
    MemoryIdentity marked;
    for (std::size_t i = 0; i < 8 * kMostKnown; ++i) {
      const std::optional<Frame> frame = read(Clock::now() + kPatience);
      if (!frame) break;
      const MemoryIdentity identity = frame->plane(0).memory()->identity();
      const SecondView view(*frame);
      if (!view.is_second()) return {Proof::kClaimed, "the elements use memory of their own, without a descriptor"};
      if (marked == MemoryIdentity{}) {
        marked = identity;
        write_pattern(frame->info(), view.rows(), kSeed);
        continue;
      }
      if (!(identity == marked)) continue;
      const std::size_t rows = row_count(frame->info());
      const std::size_t written = rows_written_over(frame->info(), view.rows(), kSeed);
      if (written != rows)
        return {Proof::kCopies, std::to_string(rows - written) + " of " + std::to_string(rows) +
                                    " rows still hold what was there before the elements filled the buffer"};
      return {Proof::kProved,
              "a pattern written into a buffer before the elements got it back was written over by them: all " +
                  std::to_string(rows) + " rows, seen through a second mapping of its descriptor"};
    }
    return {Proof::kClaimed, "the elements did not use a buffer again before the stream ended"};
  }

  SourceOptions options_;
  Router router_;
  gs::PoolOptions pool_;
  gs::CapsCache caps_;
#ifdef HAS_VA_SURFACES
  gstreamer_vaapi::Surfaces surfaces_;
#endif
  std::unique_ptr<gs::LaunchedSource> launched_;
  std::optional<Frame> first_;
  FrameInfo info_;
  double fps_ = 0;
  std::string arrives_as_, lies_in_;
  bool decodes_by_va_ = false;
  std::vector<MemoryIdentity> buffers_;  ///< Those seen so far.
  std::uint64_t size_changes_ = 0;
};

}  // namespace

std::unique_ptr<FrameSource> open_gstreamer_source(const SourceOptions& options) {
  gs::start();
  if (!options.va_node.empty()) prefer_va(options.input);
  return std::make_unique<GstreamerSource>(options);
}

}  // namespace tenon::tool

/// For the tool, which loads this. The caller owns the source. @errors as opening it.
extern "C" __attribute__((visibility("default"))) tenon::tool::FrameSource* TENON_FRAMES_SYMBOL(
    const tenon::tool::SourceOptions& options) {
  return tenon::tool::open_gstreamer_source(options).release();
}
