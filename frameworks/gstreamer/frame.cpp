// SPDX-License-Identifier: Apache-2.0
// GstBuffer, GstMemory, GstVideoFrame and buffer lists to Frame and Tensor, and back.
#include <tenon/frameworks/gstreamer/frame.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {
namespace detail {

/// Under which a GstMemory keeps the Tenon memory that it is, or was imported as. That memory does not depend on the
/// GstMemory's life: it is the allocation itself, or holds a descriptor of its own.
TENON_INLINE GQuark tenon_quark() {
  static const GQuark quark = g_quark_from_static_string("tenon-memory");
  return quark;
}

/// Notes that `memory` is `known`, byte for byte; it stays noted for the life of `memory`. @thread one at a time.
TENON_INLINE void note_memory(GstMemory* memory, const Ref<Memory>& known) {
  known->add_ref();
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory), tenon_quark(), known.get(),
                            [](gpointer held) { static_cast<Memory*>(held)->release(); });
}

TENON_INLINE Memory* noted_memory(GstMemory* memory) {
  if (memory->parent) memory = memory->parent;
  return static_cast<Memory*>(gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(memory), tenon_quark()));
}

/// Marks what import_fd() cannot import, so that it is asked once.
TENON_INLINE GQuark plain_quark() {
  static const GQuark quark = g_quark_from_static_string("tenon-plain");
  return quark;
}

/// A dma-buf, or a memfd that may stand in for one, as Tenon's memory; imported once, and noted. Null for memfds that
/// are not sealed: those are mapped.
TENON_INLINE Ref<Memory> import_fd(GstMemory* memory, std::uint64_t modifier) {
  GstMiniObject* const whole = GST_MINI_OBJECT_CAST(memory->parent ? memory->parent : memory);
  if (gst_mini_object_get_qdata(whole, plain_quark())) return {};
  const int fd = gst_fd_memory_get_fd(memory);
  static std::mutex* const importing = new std::mutex;  // So that what others read is never replaced.
  const std::lock_guard lock(*importing);
  Memory* const noted = noted_memory(memory);
  if (noted && noted->modifier() == modifier) return Ref<Memory>(noted);
  Ref<dmabuf::DmabufMemory> imported;
  try {
    imported = dmabuf::import(dmabuf::UniqueFd::duplicate(fd), 0, modifier);
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument || modifier != kModifierLinear) throw;
    gst_mini_object_set_qdata(whole, plain_quark(), whole, nullptr);
    return {};
  }
  if (!noted) note_memory(memory->parent ? memory->parent : memory, imported);
  return imported;
}

/// One memory of a buffer: where its bytes begin in the buffer, and what it is to Tenon.
struct Part {
  GstMemory* memory = nullptr;
  std::size_t begin = 0, size = 0;
  Ref<Memory> known;     ///< Null until a plane lies in it.
  std::size_t base = 0;  ///< Where the part begins in `known`.
};

/// Reading past the end of a file that is mapped ends the process. @errors kOutOfRange
TENON_INLINE void check_fd_size(const GstMemory& memory) {
  struct stat status {};
  const int fd = gst_fd_memory_get_fd(const_cast<GstMemory*>(&memory));
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::uint64_t>(status.st_size) < std::uint64_t{memory.offset} + memory.size)
    throw Error(Code::kOutOfRange, "gstreamer: a GstFdMemory of " + std::to_string(memory.size) + " bytes from byte " +
                                       std::to_string(memory.offset) + " on, over a file of " +
                                       std::to_string(status.st_size) + "; it was truncated");
}

/// How a buffer is wrapped.
struct Wish {
  GstMapFlags flags = GST_MAP_READ;
  MemoryKind as = kGstMemory;  ///< What mapped memory becomes; with kCpuMemory no other memory is taken.
  Ledger* ledger = nullptr;
};

/// Tenon's memory for `part`. @errors as BufferLease::map(), dmabuf::import().
TENON_INLINE void resolve(Part& part, const Ref<BufferLease>& lease, const Wish& wish, std::uint64_t modifier) {
  if (part.known) return;
  GstMemory* const memory = part.memory;
  if (Memory* const noted = noted_memory(memory); noted && noted->modifier() == modifier) {
    part.known = Ref<Memory>(noted);
  } else if (gst_is_fd_memory(memory)) {
    part.known = import_fd(memory, modifier);
    if (!part.known) check_fd_size(*memory);
  }
  if (part.known) {
    part.base = memory->offset;
    lease->watch(part.known);
    return;
  }
  if (modifier != kModifierLinear)
    throw Error(Code::kUnimplemented,
                std::string("gstreamer: tiled pixels (a DRM modifier) in memory of type ") +
                    memory->allocator->mem_type +
                    ", which is no dma-buf; let the element give dma-bufs (video/x-raw(memory:DMABuf))");
  if (is_device_memory(memory)) {
    part.known = DeviceMemory::over(memory, lease);
    return;
  }
  part.known = BufferMemory::over(lease->map(memory, wish.flags), lease, wish.as);
}

TENON_INLINE std::string describe(const VideoCaps& caps) {
  return "GstBuffer " + to_string(caps.info.format) + " " + std::to_string(caps.info.width_px) + "x" +
         std::to_string(caps.info.height_px);
}

/// Where planes lie in a buffer: by its GstVideoMeta, else by its caps; cropped as its GstVideoCropMeta says.
struct Layout {
  FrameInfo info;
  std::array<std::size_t, 4> offset{};
  std::array<std::size_t, 4> pitch{};
  guint skipped = 0;  ///< Columns at the left that the crop leaves out, of a group that shares chroma in one plane.
};

/// Moves into the picture to the crop's corner. A corner within a group of pixels that share chroma takes the group's chroma, as
/// videocrop does. @errors kInvalidArgument: outside
TENON_INLINE void apply_crop(const GstVideoCropMeta& crop, guint stored_width, guint stored_height,
                             const VideoCaps& caps, const PixelFormatInfo& format, Layout& layout) {
  const std::string what = describe(caps) + ": its crop of " + std::to_string(crop.width) + "x" +
                           std::to_string(crop.height) + " at " + std::to_string(crop.x) + "," + std::to_string(crop.y);
  if (crop.width == 0 || crop.height == 0 || std::uint64_t{crop.x} + crop.width > stored_width ||
      std::uint64_t{crop.y} + crop.height > stored_height)
    throw Error(Code::kInvalidArgument, what + " leaves the stored picture of " + std::to_string(stored_width) + "x" +
                                            std::to_string(stored_height));
  const bool pairs = layout.info.format.fourcc == kYuy2.fourcc || layout.info.format.fourcc == kUyvy.fourcc;
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    const PlaneLayout& plane = format.planes[p];
    if (format.plane_count == 1) layout.skipped = crop.x % (pairs ? 2 : 1u << plane.width_shift);
    layout.offset[p] +=
        std::size_t{crop.y >> plane.height_shift} * layout.pitch[p] +
        std::size_t{(crop.x - layout.skipped) >> plane.width_shift} * plane.channels * size_bytes(format.sample);
  }
  layout.info.width_px = crop.width + layout.skipped;
  layout.info.height_px = crop.height;
}

TENON_INLINE Layout layout_of(GstBuffer* buffer, const VideoCaps& caps, const PixelFormatInfo& format) {
  Layout layout;
  layout.info = caps.info;
  const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer);
  const gint* stride = meta ? meta->stride : caps.stride.data();
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    if (stride[p] < 0)
      throw Error(Code::kUnimplemented, describe(caps) + ": plane " + std::to_string(p) +
                                            " is stored bottom-up (stride " + std::to_string(stride[p]) +
                                            "); put videoconvert before it");
    layout.offset[p] = meta ? meta->offset[p] : caps.offset[p];
    layout.pitch[p] = static_cast<std::size_t>(stride[p]);
  }
  guint width = caps.info.width_px, height = caps.info.height_px;
  if (meta) {
    const FormatMapping* mapping = find_mapping(caps.info.format);
    const FormatMapping* said = find_mapping(meta->format);
    const bool same =
        mapping && ((said && said->format.fourcc == mapping->format.fourcc) ||
                    meta->format == GST_VIDEO_FORMAT_ENCODED || caps.info.format.modifier != kModifierLinear);
    if (!same || meta->n_planes < format.plane_count || meta->width < width || meta->height < height)
      throw Error(Code::kInvalidArgument,
                  describe(caps) + ": its GstVideoMeta says " + gst_video_format_to_string(meta->format) + " " +
                      std::to_string(meta->width) + "x" + std::to_string(meta->height) + " in " +
                      std::to_string(meta->n_planes) +
                      " planes: the stream has changed, or these caps belong to another; take the sample's own");
    width = meta->width;
    height = meta->height;
  }
  if (const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(buffer))
    apply_crop(*crop, width, height, caps, format, layout);
  return layout;
}

TENON_INLINE std::int64_t timestamp_ns(const GstBuffer* buffer) {
  const GstClockTime time = GST_BUFFER_PTS_IS_VALID(buffer) ? GST_BUFFER_PTS(buffer) : GST_BUFFER_DTS(buffer);
  return GST_CLOCK_TIME_IS_VALID(time) && time <= static_cast<GstClockTime>(INT64_MAX) ? static_cast<std::int64_t>(time)
                                                                                       : kNoTimestamp;
}

/// The memories of a buffer as parts, at most four of which hold planes.
class Parts {
 public:
  explicit Parts(GstBuffer* buffer) : buffer_(buffer), count_(gst_buffer_n_memory(buffer)) {}
  /// The part in which byte `at` of the buffer lies; null past its end, or where the picture has too many.
  Part* find(std::size_t at) {
    for (std::size_t i = 0; i < made_; ++i) {
      if (at >= parts_[i].begin && at - parts_[i].begin < parts_[i].size) return &parts_[i];
    }
    std::size_t begin = 0;
    for (guint i = 0; i < count_; ++i) {
      GstMemory* memory = gst_buffer_peek_memory(buffer_, i);
      if (at - begin < memory->size) {
        if (made_ == parts_.size()) return nullptr;
        parts_[made_] = {memory, begin, memory->size, {}, 0};
        return &parts_[made_++];
      }
      begin += memory->size;
    }
    return nullptr;
  }
  guint memory_count() const { return count_; }

 private:
  GstBuffer* buffer_;
  guint count_;
  std::array<Part, 4> parts_;
  std::size_t made_ = 0;
};

TENON_INLINE std::size_t plane_bytes(const Layout& layout, const PixelFormatInfo& format, std::size_t p) {
  const PlaneExtent extent = plane_extent(layout.info, format, p);
  return layout.pitch[p] * (std::size_t{extent.height_px} - 1) + extent.row_bytes;
}

/// Whether a plane goes on in the next memory of the buffer.
TENON_INLINE bool has_broken_planes(Parts& parts, const Layout& layout, const PixelFormatInfo& format) {
  if (parts.memory_count() < 2) return false;
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    const Part* part = parts.find(layout.offset[p]);
    if (part && layout.offset[p] - part->begin + plane_bytes(layout, format, p) > part->size) return true;
  }
  return false;
}

/// The planes of a buffer whose memories do not hold them whole: GStreamer copies them together.
TENON_INLINE Frame build_merged(const Ref<BufferLease>& lease, const Layout& layout, const PixelFormatInfo& format,
                                const Wish& wish) {
  const GstMapInfo& map = lease->map_merged();
  static const EdgeId edge = register_edge("gstreamer.merge");
  Ledger& booked = wish.ledger ? *wish.ledger : Ledger::process();
  booked.book_map(edge, false);
  booked.book_copied(edge, map.size);
  const Ref<Memory> memory = BufferMemory::over(map, lease, wish.as);
  std::array<PlanePlace, 4> planes;
  for (std::size_t p = 0; p < format.plane_count; ++p) planes[p] = {memory, layout.offset[p], layout.pitch[p]};
  return Frame(layout.info, std::span(planes).first(format.plane_count), lease, timestamp_ns(lease->buffer()));
}

/// Copies `columns` samples of a component in each row; a row that has room for more repeats the last one.
template <typename T>
void copy_columns(const Tensor& from, const Tensor& to, const FrameComponent& c, std::size_t skipped,
                  std::size_t columns) {
  const std::size_t samples = to.shape()[1] * (to.shape().size() == 3 ? to.shape()[2] : 1);
  const auto row = [&](const Tensor& plane, std::size_t y) {
    return reinterpret_cast<T*>(static_cast<std::byte*>(plane.data()) +
                                plane.byte_strides()[0] * static_cast<std::ptrdiff_t>(y)) +
           c.offset;
  };
  for (std::size_t y = 0; y < to.shape()[0]; ++y) {
    const T* const source = row(from, y) + skipped * c.step;
    T* const target = row(to, y);
    for (std::size_t x = 0; x * c.step + c.offset < samples; ++x)
      target[x * c.step] = source[std::min(x, columns - 1) * c.step];
  }
}

/// The picture without its first columns, which share chroma with the rest in one plane: luma moves, chroma stays.
/// @errors kUnimplemented: the CPU does not reach it, or does not read the format
TENON_INLINE Frame without_columns(const Frame& frame, const Layout& layout, const Wish& wish) {
  FrameInfo info = layout.info;
  info.width_px -= layout.skipped;
  if (!frame.plane(0).is_host_addressable() || !is_readable(info.format))
    throw Error(Code::kUnimplemented, "GstBuffer " + to_string(info.format) + ": its crop begins within a group of " +
                                          "pixels that share chroma, in memory or a format that the CPU cannot read; " +
                                          "crop at a multiple of 4 columns");
  const FrameLayout samples = frame_layout(info);
  Frame cropped = Frame::allocate(info);
  for (std::size_t k = 0; k < samples.component_count; ++k) {
    const FrameComponent& c = samples.components[k];
    const std::size_t columns = (std::size_t{info.width_px} + (1u << c.shift_x) - 1) >> c.shift_x;
    const std::size_t skipped = layout.skipped >> c.shift_x;
    samples.bits > 8 ? copy_columns<std::uint16_t>(frame.plane(0), cropped.plane(0), c, skipped, columns)
                     : copy_columns<std::uint8_t>(frame.plane(0), cropped.plane(0), c, skipped, columns);
  }
  static const EdgeId edge = register_edge("gstreamer.crop");
  Ledger& booked = wish.ledger ? *wish.ledger : Ledger::process();
  booked.book_map(edge, false);
  booked.book_copied(edge, cropped.size_bytes());
  cropped.set_timestamp_ns(frame.timestamp_ns());
  return cropped;
}

/// The picture in the buffer that `lease` holds. @errors as wrap()
TENON_INLINE Frame build(const Ref<BufferLease>& lease, const VideoCaps& caps, const Wish& wish) {
  GstBuffer* const buffer = lease->buffer();
  const PixelFormatInfo& format = format_info(caps.info.format);
  const Layout layout = layout_of(buffer, caps, format);
  Parts parts(buffer);
  const auto cropped = [&](Frame frame) {
    return layout.skipped == 0 ? std::move(frame) : without_columns(frame, layout, wish);
  };
  if (has_broken_planes(parts, layout, format)) return cropped(build_merged(lease, layout, format, wish));
  std::array<PlanePlace, 4> planes;
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    Part* const part = parts.find(layout.offset[p]);
    if (!part)
      throw Error(Code::kOutOfRange, describe(caps) + ": plane " + std::to_string(p) + " begins at byte " +
                                         std::to_string(layout.offset[p]) + " of a buffer of " +
                                         std::to_string(gst_buffer_get_size(buffer)) +
                                         "; it is truncated, or its caps are another stream's");
    resolve(*part, lease, wish, caps.info.format.modifier);
    if (wish.as == kCpuMemory && part->known->kind() != kCpuMemory)
      throw Error(Code::kFailedPrecondition, describe(caps) + " in memory of kind \"" +
                                                 std::string(part->known->kind().name()) +
                                                 "\", which is not the CPU's alone; wrap() it and map it by a Router");
    planes[p] = {part->known, part->base + (layout.offset[p] - part->begin), layout.pitch[p]};
    // The memory may be larger than the buffer's part of it; the picture may not.
    if (caps.info.format.modifier == kModifierLinear &&
        layout.offset[p] - part->begin + plane_bytes(layout, format, p) > part->size)
      throw Error(Code::kOutOfRange,
                  describe(caps) + ": plane " + std::to_string(p) + " at byte " + std::to_string(layout.offset[p]) +
                      " with a stride of " + std::to_string(layout.pitch[p]) + " reaches past the buffer's end at " +
                      std::to_string(part->begin + part->size) + "; it is truncated, or its caps are another stream's");
  }
  return cropped(Frame(layout.info, std::span(planes).first(format.plane_count), lease, timestamp_ns(buffer)));
}

}  // namespace detail

TENON_INLINE Frame wrap(GstBuffer* buffer, const VideoCaps& caps, Ledger* ledger) {
  if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer::wrap: a null GstBuffer");
  const Ref<BufferLease> lease = BufferLease::share(buffer);
  return detail::build(lease, caps, {GST_MAP_READ, kGstMemory, ledger});
}

TENON_INLINE Frame wrap_for_cpu(GstBuffer* buffer, const VideoCaps& caps, Ledger* ledger) {
  if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer::wrap_for_cpu: a null GstBuffer");
  const Ref<BufferLease> lease = BufferLease::share(buffer);
  return detail::build(lease, caps, {GST_MAP_READ, kCpuMemory, ledger});
}

TENON_INLINE Frame adopt(GstBuffer* buffer, const VideoCaps& caps, Ledger* ledger) {
  if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer::adopt: a null GstBuffer");
  const Ref<BufferLease> lease = BufferLease::hold(buffer);
  try {
    return detail::build(lease, caps, {lease->writable() ? GST_MAP_READWRITE : GST_MAP_READ, kGstMemory, ledger});
  } catch (...) {
    lease->give_back();
    throw;
  }
}

TENON_INLINE Frame wrap(GstSample* sample, CapsCache& cache, Ledger* ledger) {
  GstBuffer* const buffer = sample ? gst_sample_get_buffer(sample) : nullptr;
  if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer::wrap: a null GstSample, or one without a buffer");
  return wrap(buffer, cache.of(gst_sample_get_caps(sample)), ledger);
}

TENON_INLINE Frame wrap(const GstVideoFrame& frame, Ledger* ledger) {
  if (!frame.buffer) throw Error(Code::kInvalidArgument, "gstreamer::wrap: a GstVideoFrame that maps no buffer");
  return wrap(frame.buffer, video_caps(frame.info), ledger);
}

TENON_INLINE Frame wrap(GstBufferList* list, const VideoCaps& caps, Ledger* ledger) {
  const guint count = list ? gst_buffer_list_length(list) : 0;
  if (count == 0) throw Error(Code::kInvalidArgument, "gstreamer::wrap: a null or empty GstBufferList");
  std::vector<Frame> frames;
  for (guint i = 0; i < count; ++i) frames.push_back(wrap(gst_buffer_list_get(list, i), caps, ledger));
  return Frame(std::move(frames));
}

TENON_INLINE Tensor wrap(GstBuffer* buffer, const TensorInfo& info, std::size_t offset) {
  if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer::wrap: a null GstBuffer");
  const Ref<BufferLease> lease = BufferLease::share(buffer);
  detail::Parts parts(buffer);
  detail::Part* const part = parts.find(offset);
  const auto extent = checked_extent_bytes(info);
  if (!part || !extent || *extent > part->size - (offset - part->begin))
    throw Error(Code::kOutOfRange, "gstreamer::wrap: a GstBuffer of " + std::to_string(gst_buffer_get_size(buffer)) +
                                       " bytes in " + std::to_string(parts.memory_count()) +
                                       " memories has no tensor of " + to_string(info.shape) + " at byte " +
                                       std::to_string(offset) + " in one of them");
  detail::resolve(*part, lease, {}, kModifierLinear);
  return Tensor(info, part->known, part->base + (offset - part->begin), lease);
}

TENON_INLINE Tensor wrap(GstMemory* memory, const TensorInfo& info, std::size_t offset) {
  if (!memory) throw Error(Code::kInvalidArgument, "gstreamer::wrap: a null GstMemory");
  const BufferPtr buffer(gst_buffer_new());
  gst_buffer_append_memory(buffer.get(), gst_memory_ref(memory));
  return wrap(buffer.get(), info, offset);
}

namespace detail {

/// What a GstMemory over Tenon's memory keeps.
struct Kept {
  Ref<Memory> memory;
  Lease lease;
  static void release(gpointer self) { delete static_cast<Kept*>(self); }
};

/// The descriptor's own allocator, so that elements see a dma-buf or a memfd. Immortal.
TENON_INLINE GstAllocator* fd_allocator(bool dmabuf) {
  static GstAllocator* const dmabufs = gst_dmabuf_allocator_new();
  static GstAllocator* const memfds = gst_fd_allocator_new();
  return dmabuf ? dmabufs : memfds;
}

TENON_INLINE MemoryPtr gst_memory_over(const Ref<Memory>& memory, const Lease& lease, void* host, bool writable) {
  start();
  const bool dmabuf = memory->fd_kind() == FdKind::kDmabuf;
  const auto flags = writable ? static_cast<GstMemoryFlags>(0) : GST_MEMORY_FLAG_READONLY;
  auto kept = std::make_unique<Kept>(Kept{memory, lease});
  MemoryPtr made;
  if ((dmabuf || (memory->fd_kind() == FdKind::kMemfd && !host)) && memory->borrow_fd() >= 0) {
    dmabuf::UniqueFd fd = dmabuf::UniqueFd::duplicate(memory->borrow_fd());
    const auto keep = GST_FD_MEMORY_FLAG_KEEP_MAPPED;
    made.reset(dmabuf ? gst_dmabuf_allocator_alloc_with_flags(fd_allocator(true), fd.get(), memory->size_bytes(), keep)
                      : gst_fd_allocator_alloc(fd_allocator(false), fd.get(), memory->size_bytes(), keep));
    if (!made)
      throw Error(Code::kResourceExhausted, "gstreamer: no GstMemory over a descriptor", "gst_fd_allocator_alloc", 0);
    static_cast<void>(fd.release());  // The GstMemory's now.
    if (!writable) GST_MINI_OBJECT_FLAG_SET(made.get(), GST_MEMORY_FLAG_READONLY);
    static const GQuark quark = g_quark_from_static_string("tenon-kept");
    gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(made.get()), quark, kept.release(), &Kept::release);
  } else {
    if (!host)
      throw Error(Code::kFailedPrecondition,
                  "gstreamer: memory of " + std::string(memory->kind().name()) +
                      " has neither a host address nor a dma-buf; map it to cpu or dmabuf first");
    made.reset(
        gst_memory_new_wrapped(flags, host, memory->size_bytes(), 0, memory->size_bytes(), kept.get(), &Kept::release));
    static_cast<void>(kept.release());
  }
  note_memory(made.get(), memory);
  return made;
}

/// The buffer whose planes these are, untouched; null where they are not all one buffer's.
TENON_INLINE GstBuffer* common_buffer(const Frame& frame) {
  const auto* lease = dynamic_cast<const BufferLease*>(frame.plane(0).lease().get());
  if (!lease || lease->is_merged()) return nullptr;
  for (const Tensor& plane : frame.planes()) {
    if (plane.lease().get() != lease) return nullptr;
  }
  return lease->buffer();
}

/// Whether the buffer's own metas place the planes of `frame` where they are.
TENON_INLINE bool describes(GstBuffer* buffer, const Frame& frame) {
  const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer);
  if (gst_buffer_get_video_crop_meta(buffer)) return false;
  // Planes of a surface are no places in the buffer: the whole picture is the buffer's.
  if (frame.plane(0).memory()->kind() != kDeviceMemory &&
      gst_memory_is_type(gst_buffer_peek_memory(buffer, 0), "VAMemory"))
    return meta && meta->width == frame.info().width_px && meta->height == frame.info().height_px;
  GstVideoInfo standard;
  const FormatMapping* mapping = find_mapping(frame.info().format);
  if (!meta && !gst_video_info_set_format(&standard, mapping->gst, frame.info().width_px, frame.info().height_px))
    return false;
  if (meta && (meta->width != frame.info().width_px || meta->height != frame.info().height_px)) return false;
  Parts parts(buffer);
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const Tensor& plane = frame.plane(p);
    const std::size_t at = meta ? meta->offset[p] : standard.offset[p];
    const Part* part = parts.find(at);
    if (!part || plane.byte_strides()[0] != (meta ? meta->stride[p] : standard.stride[p])) return false;
    const Memory* noted = noted_memory(part->memory);
    const std::size_t base = noted == plane.memory().get() ? part->memory->offset : 0;
    if (plane.offset() != base + (at - part->begin)) return false;
  }
  return true;
}

TENON_INLINE void check_rows(const Tensor& plane, std::size_t p) {
  const auto sample = static_cast<std::ptrdiff_t>(size_bytes(plane.element_type()));
  const ByteStrides& strides = plane.byte_strides();
  const std::ptrdiff_t pixel =
      plane.shape().size() == 3 ? sample * static_cast<std::ptrdiff_t>(plane.shape()[2]) : sample;
  if (strides[1] != pixel || strides[strides.size() - 1] != sample || strides[0] < 0 || strides[0] > G_MAXINT)
    throw Error(Code::kFailedPrecondition, "gstreamer::buffer: plane " + std::to_string(p) + " has byte strides " +
                                               to_string(strides) +
                                               "; a GstBuffer takes rows of packed pixels of at most 2^31-1 bytes");
}

/// Appends one GstMemory per memory of `frame`, and says by a GstVideoMeta where planes lie.
TENON_INLINE void append_planes(GstBuffer* buffer, const Frame& frame, GstVideoFormat format) {
  std::array<gsize, GST_VIDEO_MAX_PLANES> offset{};
  std::array<gint, GST_VIDEO_MAX_PLANES> stride{};
  std::array<std::size_t, 4> begin{};
  std::size_t end = 0;
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const Tensor& plane = frame.plane(p);
    check_rows(plane, p);
    std::optional<std::size_t> earlier;
    for (std::size_t q = 0; q < p; ++q) {
      if (frame.plane(q).memory() == plane.memory()) earlier = q;
    }
    begin[p] = earlier ? begin[*earlier] : end;
    if (!earlier) {
      void* host = plane.is_host_addressable() ? static_cast<std::byte*>(plane.data()) - plane.offset() : nullptr;
      MemoryPtr memory = gst_memory_over(plane.memory(), plane.lease(), host, plane.is_writable());
      end += memory->size;
      gst_buffer_append_memory(buffer, memory.release());
    }
    offset[p] = begin[p] + plane.offset();
    stride[p] = static_cast<gint>(plane.byte_strides()[0]);
  }
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, format, frame.info().width_px,
                                 frame.info().height_px, static_cast<guint>(frame.plane_count()), offset.data(),
                                 stride.data());
}

}  // namespace detail

TENON_INLINE BufferPtr buffer(const Frame& frame, Deadline deadline, Ledger* ledger) {
  if (frame.plane_count() == 0)
    throw Error(Code::kInvalidArgument,
                "gstreamer::buffer: an empty frame, or a batch; for those there is buffer_list()");
  const FormatMapping* mapping = find_mapping(frame.info().format);
  if (!mapping)
    throw Error(Code::kUnimplemented,
                "gstreamer::buffer: GStreamer has no format like " + to_string(frame.info().format));
  start();
  for (const Tensor& plane : frame.planes()) plane.memory()->wait_for(Access::kRead, deadline, ledger);
  if (GstBuffer* common = detail::common_buffer(frame);
      common && detail::timestamp_ns(common) == frame.timestamp_ns() && detail::describes(common, frame))
    return BufferPtr(gst_buffer_ref(common));
  BufferPtr made(gst_buffer_new());
  detail::append_planes(made.get(), frame, mapping->gst);
  if (frame.timestamp_ns() != kNoTimestamp && frame.timestamp_ns() >= 0)
    GST_BUFFER_PTS(made.get()) = static_cast<GstClockTime>(frame.timestamp_ns());
  return made;
}

TENON_INLINE BufferListPtr buffer_list(const Frame& batch, Deadline deadline, Ledger* ledger) {
  if (batch.batch().empty()) throw Error(Code::kInvalidArgument, "gstreamer::buffer_list: not a batch; see buffer()");
  start();
  BufferListPtr list(gst_buffer_list_new_sized(static_cast<guint>(batch.batch().size())));
  for (const Frame& frame : batch.batch()) gst_buffer_list_add(list.get(), buffer(frame, deadline, ledger).release());
  return list;
}

TENON_INLINE BufferPtr buffer(const Tensor& tensor, Deadline deadline, Ledger* ledger) {
  if (!tensor) throw Error(Code::kInvalidArgument, "gstreamer::buffer: an empty tensor");
  if (!tensor.is_contiguous())
    throw Error(Code::kFailedPrecondition,
                "gstreamer::buffer of " + to_string(tensor) + ": a GstBuffer has no strides; copy_to() packs it");
  tensor.memory()->wait_for(Access::kRead, deadline, ledger);
  void* host = tensor.is_host_addressable() ? static_cast<std::byte*>(tensor.data()) - tensor.offset() : nullptr;
  MemoryPtr memory = detail::gst_memory_over(tensor.memory(), tensor.lease(), host, tensor.is_writable());
  gst_memory_resize(memory.get(), static_cast<gssize>(tensor.offset()), tensor.size_bytes());
  BufferPtr made(gst_buffer_new());
  gst_buffer_append_memory(made.get(), memory.release());
  return made;
}

TENON_INLINE VideoFrame::VideoFrame(const Frame& frame, GstMapFlags flags) : buffer_(buffer(frame)) {
  GstVideoInfo info;
  const FormatMapping* mapping = find_mapping(frame.info().format);
  gst_video_info_set_format(&info, mapping->gst, frame.info().width_px, frame.info().height_px);
  if (!gst_video_frame_map(&mapped_, &info, buffer_.get(), flags))
    throw Error(Code::kFailedPrecondition,
                "gstreamer::VideoFrame of " + to_string(frame.info().format) +
                    ": GStreamer does not map it; frames that others refer to are mapped for reading only",
                "gst_video_frame_map", 0);
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
