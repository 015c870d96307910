// SPDX-License-Identifier: Apache-2.0
// A CUcontext as a Tenon context: its memory, and copies by its device.
#include <tenon/frameworks/cuda/context.hpp>

#include <algorithm>
#include <memory>
#include <new>

#include <tenon/core/host.hpp>
#include <tenon/core/pointer_edges.hpp>
#include <tenon/core/polling.hpp>
#include <tenon/core/rows.hpp>
#include <tenon/frameworks/cuda/event.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

/// Whether all copies are over, or the device is lost.
bool is_idle(const Native& native) noexcept;

/// Both sides of a copy, kept alive until it has finished.
struct CopySides final : RefCounted {
  CopySides(Ref<Memory> one, Ref<Memory> other) : a(std::move(one)), b(std::move(other)) {}
  Ref<Memory> a, b;
};

/// Enqueues the copy of `rows`; a pitch of 0 is that of packed rows. With the context current.
TENON_INLINE void copy_rows(const Native& native, const Side& to, std::size_t to_pitch, const Side& from,
                            std::size_t from_pitch, const Rows& rows) {
  const auto what = [&] {
    return "copying " + std::to_string(rows.count) + " rows of " + std::to_string(rows.width) + " bytes on " +
           native.device.name;
  };
  if (rows.count == 1)
    return check(call(driver().cuMemcpyAsync, to.data, from.data, rows.width, native.transfers), "cuMemcpyAsync", what);
  abi::Copy2D copy;
  copy.src_type = from.is_host ? abi::kMemoryTypeHost : abi::kMemoryTypeUnified;
  copy.src_host = from.is_host ? reinterpret_cast<const void*>(from.data) : nullptr;
  copy.src_device = from.is_host ? 0 : from.data;
  copy.src_pitch = from_pitch ? from_pitch : rows.width;
  copy.dst_type = to.is_host ? abi::kMemoryTypeHost : abi::kMemoryTypeUnified;
  copy.dst_host = to.is_host ? reinterpret_cast<void*>(to.data) : nullptr;
  copy.dst_device = to.is_host ? 0 : to.data;
  copy.dst_pitch = to_pitch ? to_pitch : rows.width;
  copy.width_bytes = rows.width;
  copy.height = rows.count;
  check(call(driver().cuMemcpy2DAsync, static_cast<const abi::Copy2D*>(&copy), native.transfers), "cuMemcpy2DAsync",
        what);
}

TENON_INLINE bool is_idle(const Native& native) noexcept {
  const Current current(native.handle(), std::nothrow);
  return driver().cuStreamQuery(native.transfers) != abi::kNotReady;
}

TENON_INLINE void copy_elements(const Ref<Native>& native, const Tensor& tensor, const Ref<Memory>& packed,
                                const Side& side, Direction direction, Deadline deadline) {
  if (tensor.size_bytes() == 0) return;
  const abi::DevicePointer base = pointer(tensor) - tensor.offset();
  const auto sides = make_ref<CopySides>(tensor.memory(), packed);
  TimelinePoint done;
  try {
    const Current current(native->handle());
    for_each_block(tensor, [&](const Rows& rows) {
      const Side here{base + rows.offset, false}, there{side.data + rows.packed, side.is_host};
      if (direction == Direction::kOut)
        copy_rows(*native, there, 0, here, rows.pitch, rows);
      else
        copy_rows(*native, here, rows.pitch, there, 0, rows);
    });
    done = record(native, native->transfers);
  } catch (...) {
    // What was enqueued may still run. A device that does not even finish that keeps its memory.
    if (!poll_until(deadline, [&] { return is_idle(*native); })) sides->add_ref();
    throw;
  }
  try {
    done.timeline()->wait(done.value(), deadline);
  } catch (...) {
    keep_until(done, sides);
    throw;
  }
}

}  // namespace detail

TENON_INLINE std::string_view CudaContext::remedy() const {
  return "allocate with cuda::allocate_exported: the memory of cudaMalloc has no descriptor";
}

TENON_INLINE std::variant<Offer, Refusal> CudaContext::offer(const Requirements& wanted) const {
  const bool exported = wanted.fd != FdKind::kNone;
  if (exported && !FdKind::kCudaFd.serves(wanted.fd))
    return Refusal{"CUDA's memory is exported as a CUDA fd, not as a " + std::string(wanted.fd.name()) +
                   "; allocate with frameworks/cpu or frameworks/dmabuf"};
  if (exported && !native_->device.exports_fd)
    return Refusal{native_->device.name + " exports no memory as a descriptor (its attributes)"};
  if (exported && wanted.host_access)
    return Refusal{"the host has no address of CUDA memory that is exported; copy it, or allocate pinned memory"};
  const std::size_t most = exported ? native_->device.export_granularity : wanted.host_access ? 4096 : 256;
  if (wanted.alignment > most)
    return Refusal{"CUDA aligns this memory to " + std::to_string(most) + " bytes, " +
                   std::to_string(wanted.alignment) + " were asked for"};
  return Offer{most, exported ? FdKind::kCudaFd : FdKind::kNone, 0, wanted.host_access};
}

TENON_INLINE Ref<Memory> CudaContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  if (wanted.fd != FdKind::kNone) return allocate_exported(wanted);
  return allocate(wanted, wanted.host_access ? MemoryType::kHost : MemoryType::kDevice);
}

TENON_INLINE Ref<Memory> CudaContext::allocate(const Requirements& wanted, MemoryType type) {
  if (type == MemoryType::kManaged && !native_->device.managed)
    throw Error(Code::kUnimplemented, "cuda: " + native_->device.name +
                                          " has no managed memory that host and device may access at once; allocate "
                                          "pinned host memory");
  detail::Block block = detail::allocate_block(native_, type, size_of(wanted));
  detail::PointerFacts facts;
  facts.type = type, facts.base = block.data(), facts.size = block.size();
  return over(facts, std::move(block), {});
}

TENON_INLINE Ref<Memory> CudaContext::allocate_exported(const Requirements& wanted) {
  detail::Exported made = detail::allocate_exported(native_, size_of(wanted), wanted.alignment);
  detail::PointerFacts facts;
  facts.base = made.block.data(), facts.size = made.block.size();
  return over(facts, std::move(made.block), std::move(made.fd));
}

TENON_INLINE Ref<Memory> CudaContext::over(const detail::PointerFacts& facts, detail::Block owned, UniqueFd fd,
                                           std::function<void()> release, bool read_only) {
  Memory::Properties properties;
  properties.size_bytes = facts.size;
  properties.host = facts.type == MemoryType::kHost || (facts.type == MemoryType::kManaged && native_->device.managed)
                        ? reinterpret_cast<void*>(facts.base)
                        : nullptr;
  properties.read_only = read_only;
  if (fd) {
    properties.fd = FdKind::kCudaFd;
    properties.exporter = std::make_shared<const DeviceIdentity>(native_->device.identity);
  }
  // Addresses are those of the process, whatever the device, and are not reused while the memory lives.
  properties.identity = {MemoryIdentity::Kind::kAllocation, 0, facts.base};
  return make_ref<CudaMemory>(Context(Ref<ContextImpl>(this)), properties, facts.type, facts.base, std::move(owned),
                              std::move(fd), std::move(release));
}

TENON_INLINE void CudaContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  read_staged(tensor, out, [&](const Ref<Memory>& packed) {
    detail::copy_elements(native_, tensor, packed, detail::Side::host(packed->host()), detail::Direction::kOut,
                          default_deadline());
  });
}

TENON_INLINE void CudaContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  write_staged("cuda", tensor, in, [&](const Ref<Memory>& packed) {
    detail::copy_elements(native_, tensor, packed, detail::Side::host(packed->host()), detail::Direction::kIn,
                          default_deadline());
  });
}

TENON_INLINE std::size_t CudaContext::size_of(const Requirements& wanted) {
  return std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
}

namespace detail {

TENON_INLINE CudaContext& cuda_context(const Context& context, const char* function) {
  auto* cuda = context.as<CudaContext>();
  if (!cuda)
    throw Error(Code::kInvalidArgument, std::string("cuda::") + function + ": " +
                                            (context ? std::string(context->name()) : std::string("a null context")) +
                                            " is not a context of cuda");
  return *cuda;
}

}  // namespace detail
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
