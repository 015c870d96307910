// SPDX-License-Identifier: Apache-2.0
// OpenVINO's and Tenon's tensors over the same memory, in both directions, without copies.
//
//   tenon::Tensor t = tenon::openvino::wrap(request.get_output_tensor());  // Keeps regions and strides.
//   request.set_input_tensor(tenon::openvino::tensor(t));                  // The same bytes, kept alive.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/openvino/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace openvino {

namespace detail {

/// `tensor` as bytes, for copies, if its type has no counterpart or no strides.
inline ov::Tensor as_bytes(const Tensor& tensor) {
  return bare_tensor({ElementType::kU8, {tensor.size_bytes()}, {}}, tensor.data(), true, !tensor.is_writable());
}
/// OpenVINO's view of a tensor for copies: typed if possible.
inline ov::Tensor for_copies(const Tensor& tensor) {
  const bool as_it_is =
      !tensor.is_host_addressable() || (size_bytes(tensor.element_type()) != 0 && !why_not_strides(tensor.info()));
  if (as_it_is) return pending_tensor(tensor);
  if (!tensor.is_contiguous()) {
    throw Error(Code::kUnimplemented,
                "openvino: copying " + tenon::v1::to_string(tensor) + ": " + *why_not_strides(tensor.info()));
  }
  return as_bytes(tensor);
}
/// OpenVINO's own allocator guarantees only 16 bytes of alignment, so whether others can share its memory in place is
/// up to chance.
struct AlignedAllocator {
  std::size_t alignment = 64;
  void* allocate(std::size_t bytes, std::size_t asked) {
    return ::operator new(bytes, std::align_val_t(std::max(alignment, asked)));
  }
  void deallocate(void* data, std::size_t, std::size_t asked) noexcept {
    ::operator delete(data, std::align_val_t(std::max(alignment, asked)));
  }
  bool is_equal(const AlignedAllocator& other) const { return alignment == other.alignment; }
};

/// Packed host bytes with the type and shape of `like`.
inline ov::Tensor packed_like(const ov::Tensor& like, void* bytes) {
  return ov::Tensor(like.get_element_type(), like.get_shape(), bytes);
}
inline void copy_out(const Tensor& tensor, void* bytes) {
  if (tensor.size_bytes() == 0) return;
  tensor.memory()->wait_for(Access::kRead, default_deadline());
  const ov::Tensor native = for_copies(tensor);
  try {
    ov::Tensor packed = packed_like(native, bytes);
    if (tensor.is_host_addressable())
      native.copy_to(packed);
    else
      native.as<ov::RemoteTensor>().copy_to(packed);
  } catch (...) {
    raise("ov::Tensor::copy_to", "copying out " + tenon::v1::to_string(tensor));
  }
}
inline void copy_in(const Tensor& tensor, const void* bytes) {
  if (tensor.size_bytes() == 0) return;
  tensor.memory()->wait_for(Access::kWrite, default_deadline());
  const ov::Tensor native = for_copies(tensor);
  try {
    const ov::Tensor packed = packed_like(native, const_cast<void*>(bytes));
    if (tensor.is_host_addressable()) {
      packed.copy_to(native);
    } else {
      auto remote = native.as<ov::RemoteTensor>();
      remote.copy_from(packed);
    }
  } catch (...) {
    raise("ov::Tensor::copy_to", "copying into " + tenon::v1::to_string(tensor));
  }
}

}  // namespace detail

/// cpu -> openvino: a view. Making it calls nothing: openvino::tensor() makes headers.
class CpuToOpenVino final : public Edge {
 public:
  std::string_view name() const override { return "cpu->openvino"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kOpenVinoMemory; }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override;
};

/// openvino -> cpu: host tensors are shared; remote ones are copied out by their device.
class OpenVinoToCpu final : public Edge {
 public:
  std::string_view name() const override { return "openvino->cpu"; }
  MemoryKind from() const override { return kOpenVinoMemory; }
  MemoryKind to() const override { return kCpuMemory; }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override;
};

/// openvino -> openvino: OpenVINO cannot pass memory between contexts, but host tensors work in all.
class OpenVinoToOpenVino final : public Edge {
 public:
  std::string_view name() const override { return "openvino->openvino"; }
  MemoryKind from() const override { return kOpenVinoMemory; }
  MemoryKind to() const override { return kOpenVinoMemory; }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override;
};

namespace detail {
inline const CpuToOpenVino cpu_to_openvino;
inline const OpenVinoToCpu openvino_to_cpu;
inline const OpenVinoToOpenVino openvino_to_openvino;
inline constexpr const Edge* kEdges[] = {&cpu_to_openvino, &openvino_to_cpu, &openvino_to_openvino};
}  // namespace detail

/// OpenVINO's host memory: one context per process, since its tensors have none. Remote contexts: remote.hpp.
class HostTensors : public ContextImpl {
 public:
  std::string_view name() const override { return "openvino"; }
  MemoryKind kind() const override { return kOpenVinoMemory; }
  std::span<const Edge* const> edges() const override { return detail::kEdges; }
  /// False for a device's own memory.
  virtual bool is_host() const { return true; }
  std::string_view remedy() const override {
    if (!is_host()) return {};
    return "OpenVINO's own allocator promises 16 bytes of alignment, more is chance: make the ov::Tensor with "
           "openvino::allocator() or, for a context that asks for more, openvino::allocator(context)";
  }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone)
      return Refusal{"OpenVINO's memory has no descriptor; allocate with frameworks/cpu or frameworks/dmabuf"};
    return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, true};
  }
  /// An ov::Tensor of bytes, aligned to at least 64. @errors kUnimplemented: descriptors; kResourceExhausted.
  Ref<Memory> allocate(const Requirements& wanted) override;
  /// Uses ov::Tensor::copy_to.
  void read(const Tensor& tensor, std::span<std::byte> out) const override { detail::copy_out(tensor, out.data()); }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override { detail::copy_in(tensor, in.data()); }
};

inline const Context& context() {
  static const Context* the_one = new Context(make_ref<HostTensors>());  // Outlives static destructors' tensors.
  return *the_one;
}

/// For ov::Tensors whose memory others share in place: ov::Tensor(type, shape, openvino::allocator()).
/// @param alignment  bytes, a power of two. 64 suits CPU cache lines and most devices; memory that is imported by pages
///                   needs 4096.
/// @errors kInvalidArgument: not a power of two.
inline ov::Allocator allocator(std::size_t alignment = 64) {
  if (!std::has_single_bit(alignment))
    throw Error(Code::kInvalidArgument,
                "openvino::allocator: an alignment of " + std::to_string(alignment) + " bytes is not a power of two");
  return ov::Allocator(detail::AlignedAllocator{alignment});
}
/// As above, with the alignment that `consumer` needs to use memory in place.
inline ov::Allocator allocator(const Context& consumer) {
  if (!consumer) throw Error(Code::kInvalidArgument, "openvino::allocator: a null context");
  return allocator(std::max<std::size_t>(consumer->requirements().alignment, 64));
}

namespace detail {

template <typename MemoryClass>
Tensor wrap_in(const Context& context, const ov::Tensor& native, bool want_remote) {
  if (!native) throw Error(Code::kInvalidArgument, "openvino::wrap of an ov::Tensor without memory");
  TensorInfo info = info_of(native);
  ov::Tensor copy = native;
  const HostAccess access = host_access(copy);
  if (access.is_remote != want_remote) {
    throw Error(Code::kInvalidArgument, "openvino::wrap of " + to_text(native) +
                                            (access.is_remote ? ": a remote tensor; wrap it with its ov::RemoteContext"
                                                              : ": a host tensor; wrap it without a context"));
  }
  const auto extent = checked_extent_bytes(info);
  if (!extent) throw Error(Code::kInvalidArgument, "openvino::wrap of " + to_text(native) + ": a size past 63 bits");
  Memory::Properties properties;
  properties.size_bytes = *extent;
  properties.host = access.data;
  properties.read_only = access.read_only;
  return Tensor(std::move(info), Ref<Memory>(make_ref<MemoryClass>(context, properties, std::move(copy))));
}

inline bool is_host(const Context& context) {
  const auto* impl = context.as<HostTensors>();
  return impl && impl->is_host();
}

}  // namespace detail

/// Wraps an ov::Tensor of host memory in place; regions and strides stay. The ov::Tensor is kept alive, but memory it
/// borrowed must be kept by its owner. Do not set its shape to more elements meanwhile: OpenVINO then reallocates it
/// for all who share it. A const pointer gives read-only memory.
/// @errors kInvalidArgument: an empty or a remote tensor; kUnimplemented: element type, regions of sub-byte types.
/// @thread any. @cost one allocation; no bytes are touched.
inline Tensor wrap(const ov::Tensor& native) { return detail::wrap_in<TensorMemory>(context(), native, false); }

inline Ref<Memory> HostTensors::allocate(const Requirements& wanted) {
  check_offer(wanted);
  const std::size_t size = wanted.size_bytes + wanted.tail_padding;
  try {
    const detail::AlignedAllocator allocator{std::max<std::size_t>(wanted.alignment, 64)};
    return wrap(ov::Tensor(ov::element::u8, ov::Shape{size}, allocator)).memory();
  } catch (...) {
    detail::raise("ov::Tensor", "allocating " + std::to_string(size) + " bytes");
  }
}

inline Step CpuToOpenVino::step(const Description& from, const Context& to, Access) const {
  if (!detail::is_host(to))
    return Refusal{"OpenVINO has no way to see host memory in the remote context " + std::string(to->name())};
  if (auto why = detail::why_not_strides(from.info)) return Refusal{std::move(*why)};
  return shared_in_place(from, to, kOpenVinoMemory, 30);
}
inline Tensor CpuToOpenVino::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  check_step(*this, source, to, options);
  return host_view(source, to, kOpenVinoMemory, options.access, this);
}

inline Step OpenVinoToCpu::step(const Description& from, const Context& to, Access) const {
  Reached reached{from, !from.host_addressable, 30, 0};
  reached.result.context = to;
  reached.result.kind = kCpuMemory;
  if (reached.copies) {
    if (!from.info.strides.empty() && from.info.strides != packed_strides(from.info.type, from.info.shape) &&
        size_bytes(from.info.type) == 0)
      return Refusal{"regions of sub-byte types can't be copied out of a remote tensor"};
    reached.cost_ns = 20'000;
    reached.ns_per_byte = 0.1;
    reached.result.info.strides = packed_strides(from.info.type, from.info.shape);
    reached.result.offset = 0;
    reached.result.memory_bytes = checked_size_bytes(from.info.type, from.info.shape).value_or(0);
    reached.result.alignment = 64;
    reached.result.host_addressable = true;
    reached.result.read_only = false;
  }
  return reached;
}
inline Tensor OpenVinoToCpu::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  if (source.is_host_addressable()) return host_view(source, to, kCpuMemory, options.access, this);
  check_step(*this, source, to, options);
  source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
  Tensor copy(source.element_type(), source.shape());
  detail::copy_out(source, copy.data());
  ledger_of(options).book_transferred(id(), source.size_bytes());  // It came out of the device's own memory.
  return copy;
}

inline Step OpenVinoToOpenVino::step(const Description& from, const Context& to, Access) const {
  if (from.context == to) return Reached{from, false, 0, 0};
  return Refusal{"OpenVINO passes no memory from one context to another: map it to the host first"};
}
inline Tensor OpenVinoToOpenVino::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  check_step(*this, source, to, options);
  return source;
}

}  // namespace openvino
}  // namespace v1
}  // namespace tenon
