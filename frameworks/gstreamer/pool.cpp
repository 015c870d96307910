// SPDX-License-Identifier: Apache-2.0
// GStreamer's allocator and pool of Tenon's memory.
#include <tenon/frameworks/gstreamer/pool.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <new>

#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/gstreamer/frame.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {
namespace detail {

/// What an allocator and a pool share; owned by the GObject.
struct PoolState {
  PoolOptions options;
  /// The configured stream's caps.
  CapsPtr caps;
  VideoCaps video;
  std::array<gsize, GST_VIDEO_MAX_PLANES> offset{};
  std::array<gint, GST_VIDEO_MAX_PLANES> stride{};
  std::size_t size_bytes = 0, alignment = 64;
  bool add_meta = false;
  GstVideoAlignment padding{};  ///< Around the picture, for decoders that write past its edges.
  ObjectPtr<GstAllocator> allocator;
};

TENON_INLINE MemoryPtr make_memory(const PoolOptions& options, std::size_t size, std::size_t alignment) {
  Requirements wanted = options.wanted;
  wanted.size_bytes = size;
  wanted.alignment = std::max<std::size_t>({wanted.alignment, alignment, 64});
  wanted.host_access = true;
  const Ref<Memory> memory =
      options.allocator == host_context() ? cpu::allocate_memory(wanted) : options.allocator->allocate(wanted);
  MemoryPtr made = gst_memory_over(memory, {}, memory->host(), !memory->read_only());
  if (made->size > size) gst_memory_resize(made.get(), 0, size);
  return made;
}

TENON_INLINE void warn(gpointer object, const char* what, const std::exception& error) {
  g_warning("%s %p: %s: %s", G_OBJECT_TYPE_NAME(object), object, what, error.what());
}

/// GObject types are known to GLib by name for the life of the process; code in several modules shares them.
TENON_INLINE GType register_once(GType parent, const char* name, const GTypeInfo& info) {
  if (const GType known = g_type_from_name(name)) return known;
  return g_type_register_static(parent, name, &info, static_cast<GTypeFlags>(0));
}

struct AllocatorObject {
  GstAllocator parent;
  PoolState* state;
};

TENON_INLINE GstMemory* allocator_alloc(GstAllocator* self, gsize size, GstAllocationParams* params) {
  try {
    const std::size_t before = params ? params->prefix : 0, after = params ? params->padding : 0;
    std::size_t whole = 0;
    if (__builtin_add_overflow(size, before + after, &whole)) return nullptr;
    MemoryPtr made =
        make_memory(reinterpret_cast<AllocatorObject*>(self)->state->options, whole, params ? params->align + 1 : 1);
    gst_memory_resize(made.get(), static_cast<gssize>(before), size);
    return made.release();
  } catch (const std::exception& error) {
    warn(self, "no memory", error);
    return nullptr;
  }
}

TENON_INLINE GType allocator_type() {
  static const GType type =
      register_once(GST_TYPE_ALLOCATOR, "TenonAllocator1",
                    GTypeInfo{sizeof(GstAllocatorClass), nullptr, nullptr,
                              [](gpointer type_class, gpointer) {
                                static_cast<GstAllocatorClass*>(type_class)->alloc = &allocator_alloc;
                                // Its memories belong to the allocators of their own types, which free them.
                                static_cast<GObjectClass*>(type_class)->finalize = [](GObject* object) {
                                  delete reinterpret_cast<AllocatorObject*>(object)->state;
                                  static_cast<GObjectClass*>(g_type_class_peek(GST_TYPE_ALLOCATOR))->finalize(object);
                                };
                              },
                              nullptr, nullptr, sizeof(AllocatorObject), 0,
                              [](GTypeInstance* instance, gpointer) {
                                reinterpret_cast<AllocatorObject*>(instance)->state = new (std::nothrow) PoolState;
                                reinterpret_cast<GstAllocator*>(instance)->mem_type = "TenonMemory";
                              },
                              nullptr});
  return type;
}

struct PoolObject {
  GstBufferPool parent;
  PoolState* state;
};

TENON_INLINE PoolState& state_of(GstBufferPool* pool) { return *reinterpret_cast<PoolObject*>(pool)->state; }

TENON_INLINE GstBufferPoolClass& pool_parent() {
  return *static_cast<GstBufferPoolClass*>(g_type_class_peek(GST_TYPE_BUFFER_POOL));
}

/// Lays planes out: as consumers want where upstream reads GstVideoMeta, else as GStreamer does by default.
TENON_INLINE void lay_out(PoolState& state, bool with_meta) {
  const FrameInfo& info = state.video.info;
  const PixelFormatInfo& format = format_info(info.format);
  std::size_t end = 0;
  const Requirements& wanted = state.options.wanted;
  const auto up = [](std::size_t value, std::size_t to) { return (value + to - 1) / to * to; };
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    const PlaneExtent extent = plane_extent(info, format, p);
    if (with_meta) {
      const std::size_t pitch = up(extent.row_bytes, std::max<std::size_t>(wanted.pitch_alignment, 4));
      state.stride[p] = static_cast<gint>(pitch);
      state.offset[p] = up(end, wanted.contiguous ? 1 : wanted.pitch_alignment);
      end = state.offset[p] + pitch * up(extent.height_px, wanted.height_alignment);
    } else {
      state.stride[p] = state.video.stride[p];
      state.offset[p] = state.video.offset[p];
      end = state.video.size_bytes;
    }
  }
  state.size_bytes = std::max({end, state.video.size_bytes, wanted.size_bytes});
  state.add_meta = with_meta;
}

/// Lays planes out with the padding that a decoder asks for; pitches and heights also as consumers want.
/// False: GStreamer cannot.
TENON_INLINE bool lay_out_padded(PoolState& state, GstVideoAlignment& padding) {
  const Requirements& wanted = state.options.wanted;
  const auto height = state.video.info.height_px;
  const auto rows = static_cast<guint>(wanted.height_alignment);
  const guint over = (height + padding.padding_top + padding.padding_bottom) % rows;
  if (over != 0) padding.padding_bottom += rows - over;
  for (guint& mask : padding.stride_align) mask |= static_cast<guint>(wanted.pitch_alignment) - 1;
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, state.caps.get()) || !gst_video_info_align(&info, &padding)) return false;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&info); ++p) {
    state.offset[p] = info.offset[p];
    state.stride[p] = info.stride[p];
    state.alignment = std::max<std::size_t>(state.alignment, padding.stride_align[p] + 1);
  }
  state.size_bytes = std::max<std::size_t>({info.size, state.size_bytes, wanted.size_bytes});
  state.add_meta = true;
  state.padding = padding;
  return true;
}

TENON_INLINE gboolean pool_set_config(GstBufferPool* pool, GstStructure* config) {
  GstCaps* caps = nullptr;
  guint size = 0, least = 0, most = 0;
  if (!gst_buffer_pool_config_get_params(config, &caps, &size, &least, &most) || !caps) return FALSE;
  PoolState& state = state_of(pool);
  try {
    state.video = video_caps(caps);
    state.caps.reset(gst_caps_ref(caps));
  } catch (const std::exception& error) {
    warn(pool, "not configured", error);
    return FALSE;
  }
  const bool with_meta = gst_buffer_pool_config_has_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  lay_out(state, with_meta);
  state.padding = {};
  if (with_meta && gst_buffer_pool_config_has_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT)) {
    GstVideoAlignment padding;
    gst_video_alignment_reset(&padding);
    gst_buffer_pool_config_get_video_alignment(config, &padding);
    if (!lay_out_padded(state, padding)) return FALSE;
    gst_buffer_pool_config_set_video_alignment(config, &padding);
  }
  least = std::max(least, state.options.min_buffers);
  if (state.options.max_buffers != 0)
    most = most == 0 ? state.options.max_buffers : std::min(most, state.options.max_buffers);
  if (most != 0) most = std::max(most, least);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(state.size_bytes), least, most);
  return pool_parent().set_config(pool, config);
}

TENON_INLINE GstFlowReturn pool_alloc(GstBufferPool* pool, GstBuffer** out, GstBufferPoolAcquireParams*) {
  const PoolState& state = state_of(pool);
  try {
    BufferPtr buffer(gst_buffer_new());
    gst_buffer_append_memory(buffer.get(), make_memory(state.options, state.size_bytes, state.alignment).release());
    if (state.add_meta) {
      std::array<gsize, GST_VIDEO_MAX_PLANES> offset = state.offset;
      std::array<gint, GST_VIDEO_MAX_PLANES> stride = state.stride;
      const PixelFormatInfo& format = format_info(state.video.info.format);
      GstVideoMeta* meta = gst_buffer_add_video_meta_full(
          buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, find_mapping(state.video.info.format)->gst,
          state.video.info.width_px, state.video.info.height_px, format.plane_count, offset.data(), stride.data());
      gst_video_meta_set_alignment(meta, state.padding);
      // Stays when the buffer returns.
      meta->meta.flags = static_cast<GstMetaFlags>(meta->meta.flags | GST_META_FLAG_POOLED);
    }
    *out = buffer.release();
    return GST_FLOW_OK;
  } catch (const std::exception& error) {
    warn(pool, "no buffer", error);
    return GST_FLOW_ERROR;
  }
}

TENON_INLINE GType pool_type() {
  static const GType type =
      register_once(GST_TYPE_BUFFER_POOL, "TenonBufferPool1",
                    GTypeInfo{sizeof(GstBufferPoolClass), nullptr, nullptr,
                              [](gpointer type_class, gpointer) {
                                auto* methods = static_cast<GstBufferPoolClass*>(type_class);
                                methods->get_options = [](GstBufferPool*) {
                                  static const gchar* options[] = {GST_BUFFER_POOL_OPTION_VIDEO_META,
                                                                   GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT, nullptr};
                                  return options;
                                };
                                methods->set_config = &pool_set_config;
                                methods->alloc_buffer = &pool_alloc;
                                static_cast<GObjectClass*>(type_class)->finalize = [](GObject* object) {
                                  // The parent's finalize stops the pool and frees its buffers, which need no state of ours.
                                  PoolState* const state = reinterpret_cast<PoolObject*>(object)->state;
                                  static_cast<GObjectClass*>(g_type_class_peek(GST_TYPE_BUFFER_POOL))->finalize(object);
                                  delete state;
                                };
                              },
                              nullptr, nullptr, sizeof(PoolObject), 0,
                              [](GTypeInstance* instance, gpointer) {
                                reinterpret_cast<PoolObject*>(instance)->state = new (std::nothrow) PoolState;
                              },
                              nullptr});
  return type;
}

}  // namespace detail

TENON_INLINE ObjectPtr<GstAllocator> allocator(const PoolOptions& options) {
  start();
  ObjectPtr<GstAllocator> made(static_cast<GstAllocator*>(g_object_new(detail::allocator_type(), nullptr)));
  gst_object_ref_sink(made.get());
  detail::PoolState* const state = reinterpret_cast<detail::AllocatorObject*>(made.get())->state;
  if (!state) throw std::bad_alloc();
  state->options = options;
  return made;
}

TENON_INLINE ObjectPtr<GstBufferPool> pool(const PoolOptions& options) {
  start();
  ObjectPtr<GstBufferPool> made(static_cast<GstBufferPool*>(g_object_new(detail::pool_type(), nullptr)));
  gst_object_ref_sink(made.get());
  if (!reinterpret_cast<detail::PoolObject*>(made.get())->state) throw std::bad_alloc();
  detail::state_of(made.get()).options = options;
  return made;
}

TENON_INLINE const PoolOptions* options_of(GstBufferPool* pool) {
  const bool ours = pool && G_TYPE_CHECK_INSTANCE_TYPE(pool, detail::pool_type());
  return ours ? &detail::state_of(pool).options : nullptr;
}

TENON_INLINE void configure(GstBufferPool& pool, GstCaps* caps, unsigned min_buffers, unsigned max_buffers) {
  const VideoCaps video = video_caps(caps);
  GstStructure* config = gst_buffer_pool_get_config(&pool);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(video.size_bytes), min_buffers, max_buffers);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config(&pool, config))
    throw Error(Code::kInvalidArgument,
                "gstreamer: the pool refuses " + detail::describe(caps) + "; an active pool must be stopped first",
                "gst_buffer_pool_set_config", 0);
  if (!gst_buffer_pool_set_active(&pool, TRUE))
    throw Error(Code::kResourceExhausted, "gstreamer: no first buffers for " + detail::describe(caps),
                "gst_buffer_pool_set_active", 0);
}

TENON_INLINE bool answer(GstQuery* query, const PoolOptions& options) {
  if (!query || GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return false;
  GstCaps* caps = nullptr;
  gboolean need_pool = FALSE;
  gst_query_parse_allocation(query, &caps, &need_pool);
  VideoCaps video;
  try {
    video = video_caps(caps);
  } catch (const Error&) {
    return false;
  }
  if (!video.memory.empty() && video.memory != "memory:DMABuf") return false;
  const ObjectPtr<GstBufferPool> made = pool(options);
  detail::PoolState& state = detail::state_of(made.get());
  state.video = video;
  detail::lay_out(state, true);
  gst_query_add_allocation_pool(query, made.get(), static_cast<guint>(state.size_bytes), options.min_buffers,
                                options.max_buffers);
  GstAllocationParams params;
  gst_allocation_params_init(&params);
  params.align = std::max<std::size_t>(options.wanted.alignment, 64) - 1;
  const ObjectPtr<GstAllocator> source = allocator(options);
  gst_query_add_allocation_param(query, source.get(), &params);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_query_add_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  return true;
}

TENON_INLINE void offer_pool(GstPad* pad, const PoolOptions& options) {
  if (!pad || gst_pad_get_direction(pad) != GST_PAD_SINK)
    throw Error(Code::kInvalidArgument, "gstreamer::offer_pool: a sink pad is needed, for upstream elements to ask");
  const auto on_query = [](GstPad* asked, GstPadProbeInfo* info, gpointer offered) {
    try {
      return answer(GST_PAD_PROBE_INFO_QUERY(info), *static_cast<PoolOptions*>(offered)) ? GST_PAD_PROBE_HANDLED
                                                                                         : GST_PAD_PROBE_OK;
    } catch (const std::exception& error) {  // Upstream allocates by itself.
      detail::warn(asked, "no pool is offered", error);
      return GST_PAD_PROBE_OK;
    }
  };
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, on_query, new PoolOptions(options),
                    [](gpointer offered) { delete static_cast<PoolOptions*>(offered); });
}

TENON_INLINE void offer_pool(GstElement* element, const PoolOptions& options) {
  const ObjectPtr<GstPad> pad(element ? gst_element_get_static_pad(element, "sink") : nullptr);
  offer_pool(pad.get(), options);
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
