// SPDX-License-Identifier: Apache-2.0
// The source "gst_source": reads the appsink at the end of a launch line. The elements before it are offered Tenon's memory to
// write into.
#include <tenon/elements/gstreamer/internal/launch_source.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/elements/gstreamer/internal/line_files.hpp>
#include <tenon/elements/gstreamer/surfaces.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/launch.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace gstreamer {
namespace {

namespace gs = tenon::gstreamer;

std::string about(const std::string& line) { return "launch line \"" + line + "\": "; }

/// The pool that a launch line starts with. Nearly every device takes its memory in place; a live stream gets no other pool.
gs::PoolOptions usual_pool() {
  gs::PoolOptions pool;
  pool.wanted.fd = FdKind::kMemfd;
  pool.wanted.alignment = 4096;
  pool.wanted.pitch_alignment = 64;
  return pool;
}

/// Whether the memory of usual_pool() meets `plan`.
bool is_usual(const AllocationPlan& plan) {
  const Requirements& wanted = plan.requirements;
  return plan.allocator == host_context() && FdKind::kMemfd.serves(wanted.fd) && wanted.alignment <= 4096 &&
         wanted.pitch_alignment <= 64 && wanted.height_alignment == 1 && wanted.tail_padding == 0;
}

/// Whether the factory makes video decoders.
bool is_decoder(GstElementFactory* factory) {
  return factory && gst_element_factory_list_is_type(
                        factory, GST_ELEMENT_FACTORY_TYPE_DECODER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO);
}
bool is_va(GstElementFactory* factory) {
  const char* plugin = gst_plugin_feature_get_plugin_name(GST_PLUGIN_FEATURE(factory));
  return plugin && std::string_view(plugin) == "va";
}

/// Raises the rank of GStreamer's VA decoders, so that decodebin and similar elements choose them before all others.
/// @errors kUnavailable: there are no VA decoders.
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
                    "`tenon va-env -- PROGRAM` runs PROGRAM with the software driver.");
}

/// The number of packets that did not arrive in time, as counted by the RTP elements of the line.
std::uint64_t lost_packets(GstElement* pipeline) {
  std::uint64_t lost = 0;
  gs::any_element(pipeline, [&](GstElement* element) {
    GstElementFactory* const factory = gst_element_get_factory(element);
    if (!factory || std::string_view(GST_OBJECT_NAME(factory)) != "rtpjitterbuffer") return false;
    GstStructure* stats = nullptr;
    g_object_get(element, "stats", &stats, nullptr);
    guint64 count = 0;
    if (stats && gst_structure_get_uint64(stats, "num-lost", &count)) lost += count;
    if (stats) gst_structure_free(stats);
    return false;
  });
  return lost;
}

class LaunchSource final : public Source {
 public:
  LaunchSource(const Parameters& given, const Environment& environment)
      : line_(given.text("line")), wants_va_(given.text("decode") == "va"), ledger_(environment.ledger) {}

  StreamInfo open(Deadline deadline) override {
    pool_ = usual_pool();
    gs::start();
    if (wants_va_) prefer_va(line_);
    start(deadline);
    StreamInfo info{first_->info(), fps_, launched_->live()};
    info.aspect_num = aspect_num_, info.aspect_den = aspect_den_;
    return info;
  }

  /// A live stream keeps the memory that it has, because starting a camera again would lose pictures. Other streams begin again
  /// if their memory does not serve all readers.
  void allocate(const Requirements& wanted, std::span<const Party> readers) override {
    if (readers.empty() || launched_->live()) return;
    const AllocationPlan plan = plan_frames(host_context(), first_->info(), Wanted(wanted, readers));
    if (is_usual(plan)) return;
    pool_.allocator = plan.allocator;
    pool_.wanted = plan.requirements;
    start(default_deadline());
  }

  std::optional<Frame> read(Deadline deadline) override {
    return first_ ? std::exchange(first_, std::nullopt) : pull(deadline);
  }

  SourceReport report() const override {
    SourceReport told;
    told.arrives_as = arrives_as_;
    told.lies_in = lies_in_;
    told.lost = launched_ ? lost_packets(launched_->pipeline()) : 0;
    told.damaged = damaged_;
    return told;
  }

  void interrupt() noexcept override { *cancelled_ = true; }

 private:
  void start(Deadline deadline) {
    first_.reset();
    launched_.reset();
    damaged_ = 0;
    launched_ = std::make_unique<gs::LaunchedSource>(line_, pool_, cancelled_);
    gs::SamplePtr sample = launched_->pull(deadline);
    if (!sample) throw Error(Code::kDataLoss, about(line_) + "it ends before its first picture");
    name_decoder();
    first_ = frame_of(std::move(sample));
    name_place(*first_->plane(0).memory());
  }

  /// Finds out what the line's decoder decodes; nothing if the line has no decoder.
  /// @errors kFailedPrecondition: decode=va is set, and no VA-API decoder is in the line.
  void name_decoder() {
    arrives_as_.clear();
    surfaces_.reset();
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
    if (wants_va_ && !decodes_by_va_)
      throw Error(Code::kFailedPrecondition,
                  about(line_) +
                      "decode=va is set, and none of its elements decodes by VA-API: let decodebin choose, or name "
                      "one that does (vah264dec)");
    if (decodes_by_va_) surfaces_ = load_surfaces();
  }

  void name_place(const Memory& memory) {
    const std::string descriptor(memory.fd_kind().name());
    lies_in_ = decodes_by_va_ && !descriptor.empty() ? "vaapi(" + descriptor + ")"
               : descriptor.empty()                  ? std::string(memory.kind().name())
                                                     : "pool(" + descriptor + ")";
  }

  std::optional<Frame> pull(Deadline deadline) {
    gs::SamplePtr sample = launched_->pull(deadline);
    if (!sample) return std::nullopt;
    return frame_of(std::move(sample));
  }

  Frame frame_of(gs::SamplePtr sample) {
    const gs::VideoCaps& caps = caps_.of(gst_sample_get_caps(sample.get()), launched_->rotation());
    fps_ = caps.rate_den ? static_cast<double>(caps.rate_num) / caps.rate_den : 0;
    aspect_num_ = static_cast<std::uint32_t>(caps.aspect_num),
    aspect_den_ = static_cast<std::uint32_t>(caps.aspect_den);
    gs::BufferPtr buffer(gst_buffer_ref(gst_sample_get_buffer(sample.get())));
    sample.reset();
    if (GST_BUFFER_FLAG_IS_SET(buffer.get(), GST_BUFFER_FLAG_CORRUPTED)) ++damaged_;
    Frame frame = gs::adopt(buffer.get(), caps, ledger_);
    GstBuffer* const held = buffer.release();  // The frame owns the buffer now.
    // A surface of the decoder, in memory that only GStreamer can reach.
    if (surfaces_ && frame.plane(0).context() == gs::device_context())
      return surfaces_->export_surface(held, caps, ledger_);
    return frame;
  }

  const std::string line_;
  const bool wants_va_;
  Ledger* const ledger_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  gs::PoolOptions pool_;
  gs::CapsCache caps_;
  std::unique_ptr<Surfaces> surfaces_;  ///< Set if the line has a VA decoder.
  std::unique_ptr<gs::LaunchedSource> launched_;
  std::optional<Frame> first_;
  double fps_ = 0;
  std::uint32_t aspect_num_ = 1, aspect_den_ = 1;
  std::string arrives_as_, lies_in_;
  bool decodes_by_va_ = false;
  std::uint64_t damaged_ = 0;
};

}  // namespace

KnownElement launch_source() {
  KnownElement made{
      {"gst_source",
       "Takes pictures from a GStreamer launch line without moving them; its elements are offered memory that all "
       "readers share",
       Role::kSource,
       {{"line", "Launch line as for gst-launch-1.0; ' ! appsink' is added if it has no appsink",
         std::string("videotestsrc"), true},
        choice("decode",
               "va: decodebin and similar elements choose VA-API's decoders, and a line without one is refused; "
               "auto: the line decides",
               "auto", {"auto", "va"})}},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<LaunchSource>(given, environment);
      }};
  made.description.files = [](const Parameters& given, const Environment&) { return files_in(given.text("line")); };
  return made;
}

}  // namespace gstreamer
}  // namespace elements
}  // namespace v1
}  // namespace tenon
