// SPDX-License-Identifier: Apache-2.0
// The context of dma-bufs, its edges to and from host memory, and scoped CPU access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>  // IWYU pragma: export
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {

/// Host memory as a dma-buf: udmabuf over its memfd, or the memfd itself as a stand-in when the kernel has no
/// udmabuf.
class DmabufView final : public View {
 public:
  /// `owned` empty: uses the memory's own descriptor, `borrowed`.
  DmabufView(Context context, Access access, UniqueFd owned, int borrowed, bool stand_in)
      : View(std::move(context), kDmabufMemory, access, nullptr),
        owned_(std::move(owned)),
        borrowed_(borrowed),
        stand_in_(stand_in) {}
  int borrow_fd() const { return owned_ ? owned_.get() : borrowed_; }
  bool is_stand_in() const { return stand_in_; }

 private:
  UniqueFd owned_;
  int borrowed_;
  bool stand_in_;
};

namespace detail {

/// The buffer that a dmabuf tensor lies in.
struct Place {
  int fd = -1;
  bool stand_in = false;
  std::uint64_t modifier = kModifierLinear;
};
std::optional<Place> find_place(const Tensor& tensor);
/// @errors as fd()
Place place_of(const Tensor& tensor);

}  // namespace detail

/// The descriptor of a dmabuf tensor, owned by its memory; the tensor begins at tensor.offset() in it. After a map to
/// this context it may be used at once, since the map has waited; without one, export_fd() and export_frame() hand
/// unfinished work on. @errors kInvalidArgument: a tensor of another framework.
int fd(const Tensor& tensor);
/// A new descriptor, owned by the caller. Sync files among the unfinished work on the memory are attached to the
/// dma-buf, so that drivers wait for them; where that cannot be done (a stand-in, a kernel before 6.0) the host waits.
/// @errors as fd(); as UniqueFd::duplicate; as TimelinePoint::wait.
UniqueFd export_fd(const Tensor& tensor);
/// True when a memfd stands in for the dma-buf. @errors as fd().
bool is_stand_in(const Tensor& tensor);

/// CPU access to a dmabuf tensor, from construction to end(): waits for devices, brackets the access with
/// DMA_BUF_IOCTL_SYNC (not for stand-ins) and keeps the memory mapped. Does what the edge dmabuf->cpu does, but for a
/// scope, and reports failures of the end.
/// @thread distinct objects from distinct threads.
class CpuAccess {
 public:
  /// @errors kInvalidArgument: no dmabuf tensor; kPermissionDenied: read-only; kFailedPrecondition: not linear, or not
  /// mappable; kDeadlineExceeded: a device is still using it. @cost mmap, two ioctls, a poll.
  CpuAccess(const Tensor& tensor, Access access, Deadline deadline = default_deadline(), Ledger* ledger = nullptr);
  CpuAccess(const CpuAccess&) = delete;
  CpuAccess& operator=(const CpuAccess&) = delete;
  ~CpuAccess();

  /// The same elements as a host tensor; valid until end(). @errors kFailedPrecondition: the access has ended.
  Tensor tensor() const;
  void* data() const { return mapping_ ? mapping_ + tensor_.offset() : nullptr; }

  /// Ends the access; a second call does nothing. @errors kDataLoss: writes may not have reached the memory.
  void end();

 private:
  int finish() noexcept;

  Tensor tensor_;
  detail::Place place_;
  Access access_;
  std::byte* mapping_ = nullptr;
};

/// The only dma-buf context of the process: dma-bufs belong to the kernel, not to a device.
class DmabufContext final : public ContextImpl {
 public:
  DmabufContext();
  /// Mentions the stand-in when this kernel cannot make dma-bufs.
  std::string_view name() const override;
  MemoryKind kind() const override { return kDmabufMemory; }
  std::span<const Edge* const> edges() const override;
  /// A memfd is accepted in place: udmabuf makes a dma-buf of its pages, or it stands in for one.
  Requirements requirements() const override;
  /// The allocator of allocate(): the best of allocators() when the context was made.
  const Allocator& allocator() const { return allocator_; }

  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// Zeroed memory in whole pages. Mapped at once when `wanted.host_access`: bracket accesses through host() with a
  /// CpuAccess. @errors kUnavailable: a dma-buf is asked for and this kernel makes none; kUnimplemented: aligned to
  /// more than a page; kResourceExhausted.
  Ref<Memory> allocate(const Requirements& wanted) override;
  /// The same with a given allocator. @errors as above; kPermissionDenied.
  Ref<Memory> allocate(const Allocator& allocator, std::size_t size_bytes, bool mapped = false);

  /// Through a separate mapping: what another process with the descriptor would see.
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

 private:
  Allocator allocator_;
};

Context context();
/// The contexts of this framework on this machine: always one, whose name says if it is a stand-in.
std::vector<Context> contexts();

/// @name Memory
/// As the functions of DmabufMemory and DmabufContext, in dmabuf::context().
Ref<DmabufMemory> import(UniqueFd&& fd, std::size_t size_bytes = 0, std::uint64_t modifier = kModifierLinear);
Ref<Memory> allocate(const Allocator& allocator, std::size_t size_bytes);
Ref<Memory> allocate(std::size_t size_bytes);

}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
