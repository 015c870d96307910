// SPDX-License-Identifier: Apache-2.0
// Converts between GStreamer's buffers, caps and metas and Tenon's frames. No other file of the plugin does so.
#include <tenon/bindings/gstreamer/media.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/gstreamer/analytics.hpp>
#include <tenon/frameworks/gstreamer/frame.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>
#include <tenon/frameworks/gstreamer/pool.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

namespace gs = tenon::gstreamer;

/// Writes a list of formats as "{ NV12, I420 }".
std::string format_list(const std::vector<PixelFormat>& formats) {
  std::string list;
  const auto add = [&](GstVideoFormat format) {
    list += (list.empty() ? "" : ", ") + std::string(gst_video_format_to_string(format));
  };
  for (const PixelFormat& format : formats) {
    if (const gs::FormatMapping* mapping = gs::find_mapping(format)) add(mapping->gst);
  }
  guint count = 0;
  const GstVideoFormat* const raw = gst_video_formats_raw(&count);  // In GStreamer's order: the best first.
  for (guint i = 0; formats.empty() && i < count; ++i) {
    if (gs::find_mapping(raw[i])) add(raw[i]);
  }
  return "{ " + list + " }";
}

/// Whether rows and planes of `meta` lie where elements that read no GstVideoMeta expect them.
bool is_default(const GstVideoMeta& meta, const GstVideoInfo& standard) {
  for (guint p = 0; p < meta.n_planes; ++p) {
    if (meta.offset[p] != standard.offset[p] || meta.stride[p] != standard.stride[p]) return false;
  }
  return true;
}

#ifdef TENON_GSTREAMER_ANALYTICS
/// Removes entries that GstAnalytics' metas repeat: the first `count` of them came already from Tenon's own metas.
template <typename T>
void remove_repeated(metadata::Collection& known, std::size_t count) {
  const auto all = known.of<T>(metadata::kFrame);
  for (std::size_t i = count; count != 0 && i < all.size(); ++i) known.remove(all[i].id);
}

/// Both kinds of metas are written. Entries that came by the one are not read again from the other.
void read_analytics(GstBuffer* buffer, metadata::Collection& known) {
  if (known.first<metadata::Detection>()) return;
  const std::size_t classes = known.of<metadata::Classification>(metadata::kFrame).size();
  const std::size_t masks = known.of<metadata::Segmentation>(metadata::kFrame).size();
  const std::size_t tensors = known.of<metadata::TensorOutput>(metadata::kFrame).size();
  gs::read_analytics(buffer, known);
  remove_repeated<metadata::Classification>(known, classes);
  remove_repeated<metadata::Segmentation>(known, masks);
  remove_repeated<metadata::TensorOutput>(known, tensors);
}
#endif

struct UnrefQuery {
  void operator()(GstQuery* query) const { gst_query_unref(query); }
};
using QueryPtr = std::unique_ptr<GstQuery, UnrefQuery>;

/// The surface in `buffer`, which all readers take by its descriptor; empty if it is none, or can only be copied from.
Frame surface_of(GstBuffer* buffer, const gs::VideoCaps& video, std::unique_ptr<Surfaces>& surfaces, Ledger* ledger) {
  if (!surfaces || video.memory != "memory:VAMemory") return {};
  try {
    Frame surface = surfaces->export_surface(buffer, video, ledger);
    const bool is_linear = surface.info().format.modifier == kModifierLinear;
    return is_linear ? surface : Frame();
  } catch (const Error&) {  // GStreamer's own way to its pixels is left.
    surfaces.reset();
    return {};
  }
}

}  // namespace

gs::CapsPtr template_caps(const std::vector<PixelFormat>& formats) {
  const std::string formats_text = format_list(formats);
  const std::string rest = ", width = (int) [ 1, max ], height = (int) [ 1, max ], framerate = (fraction) [ 0, max ]";
  std::string text = "video/x-raw, format = " + formats_text + rest;
#if GST_CHECK_VERSION(1, 24, 0)
  text += "; video/x-raw(memory:DMABuf), format = DMA_DRM" + rest;
#endif
  text += "; video/x-raw(ANY), format = " + formats_text + rest;
  return gs::CapsPtr(gst_caps_from_string(text.c_str()));
}

elements::StreamInfo stream_info(const gs::VideoCaps& video, GstPad* sink) {
  elements::StreamInfo info;
  info.frame = video.info;
  if (video.rate_num > 0) info.frames_per_second = static_cast<double>(video.rate_num) / video.rate_den;
  info.aspect_num = static_cast<std::uint32_t>(video.aspect_num);
  info.aspect_den = static_cast<std::uint32_t>(video.aspect_den);
  const QueryPtr query(gst_query_new_latency());
  if (sink && gst_pad_peer_query(sink, query.get())) {
    gboolean is_live = FALSE;
    gst_query_parse_latency(query.get(), &is_live, nullptr, nullptr);
    info.is_live = is_live;
  }
  return info;
}

gs::CapsPtr caps_after(GstCaps* in_caps, const gs::VideoCaps& in, const elements::StreamInfo& out, bool keeps_memory) {
  const bool has_same_pixels = std::uint64_t{out.aspect_num} * static_cast<std::uint64_t>(in.aspect_den) ==
                               std::uint64_t{out.aspect_den} * static_cast<std::uint64_t>(in.aspect_num);
  if (out.frame == in.info && has_same_pixels && (keeps_memory || in.memory.empty()))
    return gs::CapsPtr(gst_caps_ref(in_caps));
  gs::VideoCaps video = in;
  video.info = out.frame;
  if (!has_same_pixels) {
    video.aspect_num = static_cast<int>(out.aspect_num);
    video.aspect_den = static_cast<int>(out.aspect_den);
  }
  video.memory.clear();
  return gs::caps(video);
}

std::shared_ptr<metadata::Collection> known_of(GstBuffer* buffer, const FrameInfo& info) {
  auto known = std::make_shared<metadata::Collection>();
  gs::read_metadata(buffer, gs::whole_picture(buffer, info), *known);
#ifdef TENON_GSTREAMER_ANALYTICS
  read_analytics(buffer, *known);
#endif
  return gs::cropped(buffer, std::move(known));
}

Frame to_frame(gs::BufferPtr buffer, const gs::VideoCaps& video, std::unique_ptr<Surfaces>& surfaces, Ledger* ledger) {
  auto known = known_of(buffer.get(), video.info);
  Frame frame = surface_of(buffer.get(), video, surfaces, ledger);
  if (!frame) {
    frame = gs::adopt(buffer.get(), video, ledger);
    static_cast<void>(buffer.release());  // The frame owns it now.
  }
  if (!known->empty()) metadata::set(frame, std::move(known));
  return frame;
}

namespace {

/// Whether the buffer has metas of the types that write_metadata() replaces.
bool has_metas(GstBuffer* buffer) {
  gpointer state = nullptr;
  while (const GstMeta* meta = gst_buffer_iterate_meta(buffer, &state)) {
    const GType api = meta->info->api;
    if (api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE || api == GST_REFERENCE_TIMESTAMP_META_API_TYPE ||
        api == GST_PROTECTION_META_API_TYPE || gst_meta_info_is_custom(meta->info))
      return true;
  }
  return false;
}

}  // namespace

gs::BufferPtr to_buffer(Frame frame, Ledger* ledger) {
  const std::shared_ptr<const metadata::Collection> known = metadata::find(frame);
  const FrameInfo info = frame.info();
  gs::BufferPtr buffer = gs::buffer(frame, default_deadline(), ledger);
  frame = Frame();
  if (!known || (known->empty() && !has_metas(buffer.get()))) return buffer;
  buffer.reset(gst_buffer_make_writable(buffer.release()));
  gs::write_metadata(*known, info, buffer.get());
#ifdef TENON_GSTREAMER_ANALYTICS
  gs::write_analytics(*known, buffer.get());
#endif
  return buffer;
}

bool is_of_kind(const Frame& frame, const std::string& feature) {
  if (feature == "memory:DMABuf") return frame.plane(0).memory()->fd_kind() == FdKind::kDmabuf;
  return feature.empty() || !frame.plane(0).is_host_addressable();
}

void Timings::note(const GstBuffer* buffer) {
  kept_[next_++ % kKept] = {GST_BUFFER_PTS(buffer), GST_BUFFER_DTS(buffer), GST_BUFFER_DURATION(buffer),
                            GST_BUFFER_OFFSET(buffer), GST_BUFFER_OFFSET_END(buffer)};
}

void Timings::complete(GstBuffer* buffer) const {
  if (!GST_BUFFER_PTS_IS_VALID(buffer)) return;
  for (std::size_t age = 1; age <= std::min(kKept, next_); ++age) {
    const Timing& noted = kept_[(next_ - age) % kKept];
    if (noted.pts != GST_BUFFER_PTS(buffer) && noted.dts != GST_BUFFER_PTS(buffer)) continue;
    GST_BUFFER_PTS(buffer) = noted.pts;
    GST_BUFFER_DTS(buffer) = noted.dts;
    GST_BUFFER_DURATION(buffer) = noted.duration;
    GST_BUFFER_OFFSET(buffer) = noted.offset;
    GST_BUFFER_OFFSET_END(buffer) = noted.offset_end;
    return;
  }
}

Downstream ask_downstream(GstPad* src, GstCaps* caps) {
  Downstream found;
  const QueryPtr query(gst_query_new_allocation(caps, FALSE));
  if (!gst_pad_peer_query(src, query.get())) return found;
  found.takes_layouts = gst_query_find_allocation_meta(query.get(), GST_VIDEO_META_API_TYPE, nullptr);
  for (guint i = 0; i < gst_query_get_n_allocation_params(query.get()); ++i) {
    GstAllocationParams params;
    gst_query_parse_nth_allocation_param(query.get(), i, nullptr, &params);
    found.wanted.alignment = std::max<std::size_t>(found.wanted.alignment, params.align + 1);
  }
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query.get()); ++i) {
    GstBufferPool* offered = nullptr;
    gst_query_parse_nth_allocation_pool(query.get(), i, &offered, nullptr, nullptr, nullptr);
    const gs::ObjectPtr<GstBufferPool> pool(offered);
    if (const gs::PoolOptions* options = gs::options_of(pool.get()))
      found.wanted = joined(found.wanted, options->wanted);
  }
  return found;
}

bool answer_allocation(GstQuery* query, const Requirements& wanted) {
  gs::PoolOptions options;
  options.wanted = wanted;
  if (wanted.fd == FdKind::kDmabuf) options.allocator = dmabuf::context();
  return gs::answer(query, options);
}

Requirements joined(const Requirements& own, const Requirements& downstream) {
  const auto both = own.join(downstream);
  const auto* agreed = std::get_if<Requirements>(&both);
  return agreed ? *agreed : own;
}

gs::BufferPtr packed(gs::BufferPtr buffer, GstCaps* caps, Ledger& ledger) {
  const GstVideoMeta* const meta = gst_buffer_get_video_meta(buffer.get());
  GstVideoInfo standard;
  if (!meta || !gst_video_info_from_caps(&standard, caps)) return buffer;
  if (is_default(*meta, standard)) {
    if (gst_buffer_get_size(buffer.get()) == standard.size) return buffer;
    // Elements that read no GstVideoMeta take all bytes for the picture; the memory may be padded at its end.
    buffer.reset(gst_buffer_make_writable(buffer.release()));
    gst_buffer_resize(buffer.get(), 0, static_cast<gssize>(standard.size));
    return buffer;
  }
  static const EdgeId edge = register_edge("gstreamer.pack");
  gs::BufferPtr copy(gst_buffer_new_allocate(nullptr, standard.size, nullptr));
  if (!copy)
    throw Error(Code::kResourceExhausted, "no memory for a picture of " + std::to_string(standard.size) + " bytes",
                "gst_buffer_new_allocate", 0);
  GstVideoFrame from, to;
  if (!gst_video_frame_map(&from, &standard, buffer.get(), GST_MAP_READ))
    throw Error(Code::kFailedPrecondition, "the CPU cannot map a picture that the next element needs packed",
                "gst_video_frame_map", 0);
  const bool is_mapped = gst_video_frame_map(&to, &standard, copy.get(), GST_MAP_WRITE);
  if (is_mapped) {
    gst_video_frame_copy(&to, &from);
    gst_video_frame_unmap(&to);
  }
  gst_video_frame_unmap(&from);
  if (!is_mapped) throw Error(Code::kInternal, "GStreamer maps no buffer of its own", "gst_video_frame_map", 0);
  ledger.book_copied(edge, standard.size);
  constexpr auto kAllButBytes =
      static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS | GST_BUFFER_COPY_META);
  gst_buffer_copy_into(copy.get(), buffer.get(), kAllButBytes, 0, static_cast<gsize>(-1));
  if (GstVideoMeta* left = gst_buffer_get_video_meta(copy.get())) gst_buffer_remove_meta(copy.get(), &left->meta);
  return copy;
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
