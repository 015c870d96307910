// SPDX-License-Identifier: Apache-2.0
// GStreamer as a context of Tenon: host memory of its buffers, and the edges between it and host memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>
#include <tenon/frameworks/gstreamer/lease.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

/// Bytes of a GstMemory that the CPU reaches (system memory, memfds, shared memory).
inline constexpr MemoryKind kGstMemory{"gstreamer"};

inline Context context();

/// A mapped GstMemory. It has no identity, because GStreamer recycles memory without notice, so each is wrapped anew.
/// Memory of Tenon's own pool is not wrapped in this class: it comes out as the pool's memory.
class BufferMemory final : public Memory {
 public:
  /// What `map` maps, kept by `keeper`. @param as  "gstreamer", or "cpu" for memory of the host's context.
  /// @errors kResourceExhausted
  static Ref<BufferMemory> over(const GstMapInfo& map, Ref<BufferLease> keeper, MemoryKind as = kGstMemory) {
    Properties properties;
    properties.size_bytes = map.size;
    properties.host = map.data;
    properties.read_only = (map.flags & GST_MAP_WRITE) == 0;
    return Ref<BufferMemory>(new BufferMemory(properties, std::move(keeper), as));
  }
  ~BufferMemory() override { drop_views(); }  // Before the keeper releases the bytes that they refer to.

  /// The buffer that the bytes belong to; kept by this memory.
  GstBuffer* buffer() const { return keeper_->buffer(); }

  /// From a free list: one of these is made for each buffer that is wrapped.
  static void* operator new(std::size_t size);
  static void operator delete(void* room) noexcept;

 private:
  struct Room;
  BufferMemory(const Properties& properties, Ref<BufferLease> keeper, MemoryKind as)
      : Memory(as == kCpuMemory ? host_context() : gstreamer::context(), as, properties), keeper_(std::move(keeper)) {}

  Ref<BufferLease> keeper_;
};
struct BufferMemory::Room {
  alignas(BufferMemory) std::byte bytes[sizeof(BufferMemory)];
  Room* next_ = nullptr;
};
inline void* BufferMemory::operator new(std::size_t) { return FreeList<Room>::instance().take()->bytes; }
inline void BufferMemory::operator delete(void* room) noexcept {
  FreeList<Room>::instance().give_back(reinterpret_cast<Room*>(room));  // `bytes` is its first member.
}

namespace detail {

/// Copies between `tensor` and packed bytes by gst_buffer_extract and gst_buffer_fill, run by run.
inline void copy_by_gstreamer(const Tensor& tensor, std::byte* packed, bool to_packed) {
  if (tensor.size_bytes() == 0) return;
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

}  // namespace detail

/// The only GStreamer context of the process: memory that the CPU reaches.
class ContextImpl final : public tenon::ContextImpl {
 public:
  ContextImpl() { make_immortal(); }
  std::string_view name() const override { return "gstreamer"; }
  MemoryKind kind() const override { return kGstMemory; }
  DeviceIdentity device() const override { return host_context()->device(); }
  std::span<const Edge* const> edges() const override {
    static const detail::GstToCpu to_cpu;
    static const detail::CpuToGst from_cpu;
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
    void* const data = overflow ? nullptr : ::operator new(std::max<std::size_t>(bytes, 1), alignment, std::nothrow);
    if (!data)
      throw Error(Code::kResourceExhausted,
                  "gstreamer: no host memory left for " + std::to_string(wanted.size_bytes) + " bytes");
    auto release = std::make_unique<Release>(Release{data, alignment});
    GstBuffer* buffer = gst_buffer_new_wrapped_full(static_cast<GstMemoryFlags>(0), data, bytes, 0, bytes,
                                                    release.get(), &Release::run);
    static_cast<void>(release.release());  // The buffer's now.
    GstMemory* memory = gst_buffer_peek_memory(buffer, 0);
    Ref<BufferLease> lease = BufferLease::hold(buffer);
    const GstMapInfo& map = lease->map(memory, GST_MAP_READWRITE);
    return BufferMemory::over(map, std::move(lease));
  }
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    detail::copy_by_gstreamer(tensor, out.data(), true);
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    detail::copy_by_gstreamer(tensor, const_cast<std::byte*>(in.data()), false);
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

/// The context of GStreamer's host memory, with the edges gstreamer->cpu and cpu->gstreamer. Does not start GStreamer.
inline Context context() {
  static const Context* the_one = new Context(make_ref<ContextImpl>());
  return *the_one;
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
