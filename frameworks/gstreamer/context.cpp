// SPDX-License-Identifier: Apache-2.0
// The contexts of GStreamer's memory, the leases of its buffers, and its start.
#include <tenon/frameworks/gstreamer/context.hpp>

#include <gst/allocators/gstdmabuf.h>
#include <gst/allocators/gstfdmemory.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/gstreamer/contexts.hpp>
#include <tenon/frameworks/gstreamer/device.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

TENON_INLINE Ref<BufferMemory> BufferMemory::over(const GstMapInfo& map, Ref<BufferLease> keeper, MemoryKind as) {
  Properties properties;
  properties.size_bytes = map.size;
  properties.host = map.data;
  properties.read_only = (map.flags & GST_MAP_WRITE) == 0;
  return Ref<BufferMemory>(new BufferMemory(properties, std::move(keeper), as));
}

TENON_INLINE BufferMemory::BufferMemory(const Properties& properties, Ref<BufferLease> keeper, MemoryKind as)
    : Memory(as == kCpuMemory ? host_context() : gstreamer::context(), as, properties), keeper_(std::move(keeper)) {}

struct BufferMemory::Room {
  alignas(BufferMemory) std::byte bytes[sizeof(BufferMemory)];
  Room* next_ = nullptr;
};

TENON_INLINE void* BufferMemory::operator new(std::size_t) { return FreeList<Room>::instance().take()->bytes; }

TENON_INLINE void BufferMemory::operator delete(void* room) noexcept {
  FreeList<Room>::instance().give_back(reinterpret_cast<Room*>(room));  // `bytes` is its first member.
}

namespace detail {

/// Copies between `tensor` and packed bytes by gst_buffer_extract and gst_buffer_fill, run by run.
TENON_INLINE void copy_by_gstreamer(const Tensor& tensor, std::byte* packed, bool to_packed) {
  if (tensor.size_bytes() == 0) return;
  start();
  auto* const base = static_cast<std::byte*>(tensor.data()) - tensor.offset();
  const std::size_t size = tensor.memory()->size_bytes();
  const BufferPtr buffer(gst_buffer_new());
  gst_buffer_append_memory(
      buffer.get(), gst_memory_new_wrapped(static_cast<GstMemoryFlags>(0), base, size, 0, size, nullptr, nullptr));
  const Shape& shape = tensor.shape();
  std::size_t run = tensor.size_bytes(), outer = 0;  // Iterates over axes below `outer`; the rest is one run.
  if (!tensor.is_contiguous()) {
    run = size_bytes(tensor.element_type());
    outer = shape.size();
    while (outer > 0 && (shape[outer - 1] == 1 || tensor.byte_strides()[outer - 1] == static_cast<std::ptrdiff_t>(run)))
      run *= shape[--outer];
  }
  for (std::size_t done = 0; done < tensor.size_bytes(); done += run) {
    std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(tensor.offset());
    for (std::size_t axis = outer, rest = done / run; axis-- > 0; rest /= shape[axis])
      offset += tensor.byte_strides()[axis] * static_cast<std::ptrdiff_t>(rest % shape[axis]);
    const auto from = static_cast<gsize>(offset);
    const gsize moved = to_packed ? gst_buffer_extract(buffer.get(), from, packed + done, run)
                                  : gst_buffer_fill(buffer.get(), from, packed + done, run);
    if (moved != run)
      throw Error(Code::kInternal, "gstreamer: copying " + to_string(tensor),
                  to_packed ? "gst_buffer_extract" : "gst_buffer_fill", static_cast<std::int64_t>(moved));
  }
}

/// A mapped GstMemory is host memory: the same bytes, shared.
class GstToCpu final : public HostEdge {
 public:
  std::string_view name() const override { return "gstreamer->cpu"; }
  MemoryKind from() const override { return kGstMemory; }
  MemoryKind to() const override { return kCpuMemory; }
};

/// Host memory as seen by GStreamer; buffer() makes the GstBuffer.
class CpuToGst final : public HostEdge {
 public:
  std::string_view name() const override { return "cpu->gstreamer"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kGstMemory; }

 private:
  std::optional<Refusal> refuses(const Description& from) const override {
    if (from.info.strides.size() >= 2 && from.info.strides[0] > G_MAXINT)
      return Refusal{"a row of " + std::to_string(from.info.strides[0]) +
                     " bytes does not fit GstVideoMeta.stride (gint)"};
    return std::nullopt;
  }
};

/// The only GStreamer context of the process: memory that the CPU reaches.
class SystemContext final : public ContextImpl {
 public:
  SystemContext() { make_immortal(); }
  std::string_view name() const override { return "gstreamer"; }
  MemoryKind kind() const override { return kGstMemory; }
  DeviceIdentity device() const override { return host_context()->device(); }
  std::span<const Edge* const> edges() const override {
    static const GstToCpu to_cpu;
    static const CpuToGst from_cpu;
    static const Edge* const all[] = {&to_cpu, &from_cpu};
    return all;
  }
  Requirements requirements() const override {
    Requirements wanted;
    wanted.host_access = true;
    wanted.max_pitch = G_MAXINT;
    return wanted;
  }
  std::string_view remedy() const override {
    return "let the upstream element write where the consumer reads: gstreamer::offer_pool() with what it requires "
           "(CompiledModel::requirements())";
  }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone)
      return Refusal{"GStreamer's system memory has no descriptor; allocate in cpu or dmabuf and map that here"};
    return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, true};
  }
  /// Host memory in a GstMemory. @errors kResourceExhausted; kUnimplemented for memory with a descriptor.
  Ref<Memory> allocate(const Requirements& wanted) override {
    check_offer(wanted);
    start();
    std::size_t bytes = 0;
    const bool overflow = __builtin_add_overflow(wanted.size_bytes, wanted.tail_padding, &bytes);
    const std::align_val_t alignment{std::max<std::size_t>(wanted.alignment, 64)};
    // Not by GStreamer's own allocator, which ends the process where there is no memory.
    auto release = std::make_unique<Release>(Release{nullptr, alignment});
    if (!overflow) release->data = ::operator new(std::max<std::size_t>(bytes, 1), alignment, std::nothrow);
    if (!release->data)
      throw Error(Code::kResourceExhausted,
                  "gstreamer: no host memory left for " + std::to_string(wanted.size_bytes) + " bytes");
    GstBuffer* buffer = gst_buffer_new_wrapped_full(static_cast<GstMemoryFlags>(0), release->data, bytes, 0, bytes,
                                                    release.get(), &Release::run);
    static_cast<void>(release.release());  // The buffer's now.
    GstMemory* memory = gst_buffer_peek_memory(buffer, 0);
    Ref<BufferLease> lease;
    try {
      lease = BufferLease::hold(buffer);
    } catch (const std::bad_alloc&) {
      gst_buffer_unref(buffer);
      throw;
    }
    const GstMapInfo& map = lease->map(memory, GST_MAP_READWRITE);
    return BufferMemory::over(map, std::move(lease));
  }
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    copy_by_gstreamer(tensor, out.data(), true);
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    copy_by_gstreamer(tensor, const_cast<std::byte*>(in.data()), false);
  }

 private:
  struct Release {
    void* data;
    std::align_val_t alignment;
    static void run(gpointer self) {
      const std::unique_ptr<Release> release(static_cast<Release*>(self));
      ::operator delete(release->data, release->alignment);
    }
  };
};

}  // namespace detail

TENON_INLINE Context context() {
  static const Context* the_one = new Context(make_ref<detail::SystemContext>());
  return *the_one;
}

TENON_INLINE bool is_device_memory(const GstMemory* memory) {
  constexpr std::string_view kTypes[] = {"VAMemory",           "VASurface",    "GLMemory",    "GLMemoryPBO",
                                         "GLMemoryEGL",        "VulkanMemory", "CUDAMemory",  "VulkanImageMemory",
                                         "VulkanBufferMemory", "D3D11Memory",  "D3D12Memory", "NVMM"};
  // The usual case first: no comparison of names.
  if (!memory->allocator || !memory->allocator->mem_type) return false;
  const std::string_view type(memory->allocator->mem_type);
  if (type == GST_ALLOCATOR_SYSMEM) return false;
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

TENON_INLINE Ref<DeviceMemory> DeviceMemory::over(GstMemory* memory, Ref<BufferLease> keeper) {
  Properties properties;
  properties.size_bytes = memory->size;
  properties.read_only = true;
  return Ref<DeviceMemory>(new DeviceMemory(properties, memory, std::move(keeper)));
}

TENON_INLINE DeviceMemory::DeviceMemory(const Properties& properties, GstMemory* memory, Ref<BufferLease> keeper)
    : Memory(gstreamer::device_context(), kDeviceMemory, properties), memory_(memory), keeper_(std::move(keeper)) {}

TENON_INLINE GstMemory* native_memory(const Tensor& tensor) {
  const auto* memory = dynamic_cast<const DeviceMemory*>(tensor.memory().get());
  return memory ? memory->native() : nullptr;
}

namespace detail {

/// Copies the elements of `tensor` to packed bytes, through the map of its memory's allocator.
TENON_INLINE void download(const Tensor& tensor, void* packed) {
  GstMemory* const memory = native_memory(tensor);
  GstMapInfo map;
  if (!memory || !gst_memory_map(memory, &map, GST_MAP_READ))
    throw Error(Code::kFailedPrecondition,
                "gstreamer: " + to_string(tensor) + " in memory of type " +
                    (memory ? memory->allocator->mem_type : "unknown") +
                    " is not given to the CPU by its allocator; download it in the pipeline "
                    "(gldownload, vapostproc)",
                "gst_memory_map", 0);
  const std::unique_ptr<GstMapInfo, void (*)(GstMapInfo*)> mapped(
      &map, [](GstMapInfo* held) { gst_memory_unmap(held->memory, held); });
  const auto extent = checked_extent_bytes(tensor.info());
  if (!extent || tensor.offset() > map.size || *extent > map.size - tensor.offset())
    throw Error(Code::kOutOfRange,
                "gstreamer: " + to_string(tensor) + ": its allocator maps only " + std::to_string(map.size) + " bytes");
  copy_strided(tensor.element_type(), tensor.shape(), map.data + tensor.offset(), tensor.byte_strides(), packed,
               packed_strides(tensor.element_type(), tensor.shape()));
}

/// Fetched by the allocator that made the memory, then copied: how, only the allocator knows.
class DeviceToCpu final : public Edge {
 public:
  std::string_view name() const override { return "gstreamer.device->cpu"; }
  MemoryKind from() const override { return kDeviceMemory; }
  MemoryKind to() const override { return kCpuMemory; }
  Step step(const Description& from, const Context& to, Access access) const override {
    if (writes(access)) return Refusal{"memory of GStreamer's device plugins is only read here"};
    return packed_copy(from, to, kCpuMemory, 5000, 0.3, 64, true);
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Tensor copy(source.element_type(), source.shape());
    download(source, copy.data());
    ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// The context of memory that GStreamer's device plugins made. It allocates nothing.
class PluginContext final : public ContextImpl {
 public:
  PluginContext() { make_immortal(); }
  std::string_view name() const override { return "gstreamer:device"; }
  MemoryKind kind() const override { return kDeviceMemory; }
  std::span<const Edge* const> edges() const override {
    static const DeviceToCpu to_cpu;
    static const Edge* const all[] = {&to_cpu};
    return all;
  }
  std::string_view remedy() const override {
    return "let the decoder give dma-bufs: caps video/x-raw(memory:DMABuf), or vapostproc before the sink";
  }
  void read(const Tensor& tensor, std::span<std::byte> out) const override { download(tensor, out.data()); }
};

}  // namespace detail

TENON_INLINE Context device_context() {
  static const Context* the_one = new Context(make_ref<detail::PluginContext>());
  return *the_one;
}

TENON_INLINE Ref<BufferLease> BufferLease::hold(GstBuffer* buffer) {
  BufferLease* lease = FreeList<BufferLease>::instance().take();
  lease->buffer_ = buffer;
  return Ref<BufferLease>(lease);
}

TENON_INLINE Ref<BufferLease> BufferLease::share(GstBuffer* buffer) {
  Ref<BufferLease> lease = hold(nullptr);
  lease->buffer_ = gst_buffer_ref(buffer);
  return lease;
}

TENON_INLINE bool BufferLease::writable() const {
  return buffer_ && gst_buffer_is_writable(buffer_) && gst_buffer_is_all_memory_writable(buffer_);
}

TENON_INLINE const GstMapInfo& BufferLease::map(GstMemory* memory, GstMapFlags flags) {
  for (std::size_t i = 0; i < map_count_; ++i) {
    if (maps_[i].memory == memory) return maps_[i];
  }
  if (map_count_ == maps_.size()) throw Error(Code::kUnimplemented, "gstreamer: a picture in more than four memories");
  if (!gst_memory_map(memory, &maps_[map_count_], flags)) throw refused(memory, flags, "gst_memory_map");
  return maps_[map_count_++];
}

TENON_INLINE const GstMapInfo& BufferLease::map_merged() {
  if (!gst_buffer_map(buffer_, &maps_[0], GST_MAP_READ))
    throw refused(gst_buffer_peek_memory(buffer_, 0), GST_MAP_READ, "gst_buffer_map");
  merged_ = true;
  return maps_[0];
}

TENON_INLINE void BufferLease::watch(const Ref<Memory>& memory) {
  for (std::size_t i = 0; i < watched_count_; ++i) {
    if (watched_[i] == memory) return;
  }
  if (watched_count_ < watched_.size()) watched_[watched_count_++] = memory;
}

TENON_INLINE GstBuffer* BufferLease::give_back() noexcept {
  end_maps();
  return std::exchange(buffer_, nullptr);
}

TENON_INLINE void BufferLease::dispose() noexcept {
  if (is_ready())
    finish();
  else
    defer(*this);
}

TENON_INLINE bool BufferLease::is_ready() noexcept {
  for (std::size_t i = 0; i < watched_count_; ++i) {
    if (watched_[i]->has_hazards() && watched_[i]->hazards().busy()) return false;
  }
  return true;
}

TENON_INLINE void BufferLease::finish() noexcept {
  end_maps();
  while (watched_count_ != 0) watched_[--watched_count_] = nullptr;
  if (buffer_) gst_buffer_unref(std::exchange(buffer_, nullptr));
  FreeList<BufferLease>::instance().give_back(this);
}

TENON_INLINE void BufferLease::end_maps() noexcept {
  if (std::exchange(merged_, false)) gst_buffer_unmap(buffer_, &maps_[0]);
  while (map_count_ != 0) {
    --map_count_;
    gst_memory_unmap(maps_[map_count_].memory, &maps_[map_count_]);
  }
}

TENON_INLINE Error BufferLease::refused(const GstMemory* memory, GstMapFlags flags, const char* call) {
  const char* type = memory && memory->allocator ? memory->allocator->mem_type : "unknown";
  return Error(Code::kFailedPrecondition,
               std::string("gstreamer: memory of type ") + (type ? type : "unknown") + " cannot be mapped for " +
                   (flags & GST_MAP_WRITE ? "writing" : "reading") +
                   ": it is mapped otherwise already, or its allocator does not map it",
               call, 0);
}

TENON_INLINE void start() {
  if (gst_is_initialized()) return;
  GError* error = nullptr;
  if (gst_init_check(nullptr, nullptr, &error)) return;
  const std::string why = error ? error->message : "no reason given";
  const int code = error ? error->code : 0;
  g_clear_error(&error);
  throw Error(Code::kUnavailable, "GStreamer does not start: " + why, "gst_init_check", code);
}

namespace detail {

struct FreeText {
  void operator()(char* text) const { g_free(text); }
};

TENON_INLINE std::string take_text(char* text) {
  const std::unique_ptr<char, FreeText> owned(text);
  return owned ? std::string(owned.get()) : std::string();
}

TENON_INLINE std::string describe(const GstCaps* caps) {
  return caps ? "caps \"" + take_text(gst_caps_to_string(caps)) + "\"" : std::string("no caps");
}

}  // namespace detail

TENON_INLINE std::vector<Context> contexts() { return {context(), device_context()}; }

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
