// SPDX-License-Identifier: Apache-2.0
// The context of OpenVINO's host tensors, its edges, and copies by OpenVINO.
#include <tenon/frameworks/openvino/openvino.hpp>

#include <algorithm>
#include <bit>
#include <new>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/process_wide.hpp>
#include <tenon/core/shape.hpp>

namespace tenon {
inline namespace v1 {
namespace openvino {
namespace detail {

/// `tensor` as bytes, for copies, if its type has no counterpart or no strides.
TENON_INLINE ov::Tensor as_bytes(const Tensor& tensor) {
  return bare_tensor({ElementType::kU8, {tensor.size_bytes()}, {}}, tensor.data(), true, !tensor.is_writable());
}
/// OpenVINO's view of a tensor for copies: typed if possible.
TENON_INLINE ov::Tensor for_copies(const Tensor& tensor) {
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
TENON_INLINE ov::Tensor packed_like(const ov::Tensor& like, void* bytes) {
  return ov::Tensor(like.get_element_type(), like.get_shape(), bytes);
}
TENON_INLINE void copy_out(const Tensor& tensor, void* bytes) {
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
TENON_INLINE void copy_in(const Tensor& tensor, const void* bytes) {
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

TENON_INLINE bool is_host(const Context& context) {
  const auto* impl = context.as<HostTensors>();
  return impl && impl->is_host();
}

/// Kept by process_wide(): each binary has this code, and the process one context.
struct TheContext {
  Context context{make_ref<HostTensors>()};
};

}  // namespace detail

TENON_INLINE std::span<const Edge* const> HostTensors::edges() const {
  static const CpuToOpenVino from_cpu;
  static const OpenVinoToCpu to_cpu;
  static const OpenVinoToOpenVino between;
  static const Edge* const all[] = {&from_cpu, &to_cpu, &between};
  return all;
}

TENON_INLINE std::string_view HostTensors::remedy() const {
  if (!is_host()) return {};
  return "OpenVINO's own allocator promises 16 bytes of alignment, more is chance: make the ov::Tensor with "
         "openvino::allocator() or, for a context that asks for more, openvino::allocator(context)";
}

TENON_INLINE std::variant<Offer, Refusal> HostTensors::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone)
    return Refusal{"OpenVINO's memory has no descriptor; allocate with frameworks/cpu or frameworks/dmabuf"};
  return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, true};
}

TENON_INLINE void HostTensors::read(const Tensor& tensor, std::span<std::byte> out) const {
  detail::copy_out(tensor, out.data());
}
TENON_INLINE void HostTensors::write(const Tensor& tensor, std::span<const std::byte> in) const {
  detail::copy_in(tensor, in.data());
}

TENON_INLINE const Context& context() {
  static const auto& the = process_wide<detail::TheContext>("tenon.openvino.Context.1");
  return the.context;
}
TENON_INLINE std::vector<Context> contexts() { return {context()}; }

TENON_INLINE ov::Allocator allocator(std::size_t alignment) {
  if (!std::has_single_bit(alignment))
    throw Error(Code::kInvalidArgument,
                "openvino::allocator: an alignment of " + std::to_string(alignment) + " bytes is not a power of two");
  return ov::Allocator(detail::AlignedAllocator{alignment});
}
TENON_INLINE ov::Allocator allocator(const Context& consumer) {
  if (!consumer) throw Error(Code::kInvalidArgument, "openvino::allocator: a null context");
  return allocator(std::max<std::size_t>(consumer->requirements().alignment, 64));
}

TENON_INLINE Tensor wrap(const ov::Tensor& native) { return detail::wrap_in<TensorMemory>(context(), native, false); }

TENON_INLINE Ref<Memory> HostTensors::allocate(const Requirements& wanted) {
  check_offer(wanted);
  const std::size_t size = wanted.size_bytes + wanted.tail_padding;
  try {
    const detail::AlignedAllocator allocator{std::max<std::size_t>(wanted.alignment, 64)};
    return wrap(ov::Tensor(ov::element::u8, ov::Shape{size}, allocator)).memory();
  } catch (...) {
    detail::raise("ov::Tensor", "allocating " + std::to_string(size) + " bytes");
  }
}

TENON_INLINE Step CpuToOpenVino::step(const Description& from, const Context& to, Access) const {
  if (!detail::is_host(to))
    return Refusal{"OpenVINO has no way to see host memory in the remote context " + std::string(to->name())};
  if (auto why = detail::why_not_strides(from.info)) return Refusal{std::move(*why)};
  return shared_in_place(from, to, kOpenVinoMemory, 30);
}
TENON_INLINE Tensor CpuToOpenVino::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  check_step(*this, source, to, options);
  return host_view(source, to, kOpenVinoMemory, options.access, this);
}

TENON_INLINE Step OpenVinoToCpu::step(const Description& from, const Context& to, Access) const {
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
TENON_INLINE Tensor OpenVinoToCpu::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  if (source.is_host_addressable()) return host_view(source, to, kCpuMemory, options.access, this);
  check_step(*this, source, to, options);
  source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
  Tensor copy(source.element_type(), source.shape());
  detail::copy_out(source, copy.data());
  ledger_of(options).book_transferred(id(), source.size_bytes());  // It came out of the device's own memory.
  return copy;
}

TENON_INLINE Step OpenVinoToOpenVino::step(const Description& from, const Context& to, Access) const {
  if (from.context == to) return Reached{from, false, 0, 0};
  return Refusal{"OpenVINO passes no memory from one context to another: map it to the host first"};
}
TENON_INLINE Tensor OpenVinoToOpenVino::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  check_step(*this, source, to, options);
  return source;
}

}  // namespace openvino
}  // namespace v1
}  // namespace tenon
