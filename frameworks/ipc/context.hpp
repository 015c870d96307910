// SPDX-License-Identifier: Apache-2.0
// Memory that other processes can map: its kind, its context, and the edges to and from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/fd.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {

using cpu::UniqueFd;

/// `Tensor::kind()` of memory that can be handed to another process, or that came from one.
inline constexpr MemoryKind kIpcMemory{"ipc"};

/// Memory behind a descriptor that another process can map: a memfd, mapped here as well, or a dma-buf, which the CPU reaches
/// over frameworks/dmabuf.
/// @thread as Memory.
class IpcMemory final : public Memory {
 public:
  /// New zeroed memory in whole pages: a memfd that is sealed against shrinking, so that no holder of the descriptor can make
  /// another process die of SIGBUS. @errors kInvalidArgument: a size of 0; kResourceExhausted, with the native call.
  static Ref<IpcMemory> allocate(const Context& context, std::size_t size_bytes);
  /// Memory that another process made. Takes `fd` over on success only: when this throws, it is unchanged and still the caller's.
  /// @param size_bytes  The least size in bytes.  @param modifier  The layout of its pixels, as DRM modifier.
  /// @errors kInvalidArgument: closed, no memory, or not sealed against shrinking; kOutOfRange: smaller than `size_bytes`;
  /// kFailedPrecondition, kResourceExhausted: it cannot be mapped. Memory that is sealed against writing is read-only.
  /// @cost a memfd is mapped whole; no bytes move.
  static Ref<IpcMemory> import(const Context& context, UniqueFd&& fd, std::size_t size_bytes,
                               std::uint64_t modifier = 0);
  ~IpcMemory() override;

  int borrow_fd() const override { return fd_.get(); }

 private:
  IpcMemory(const Context& context, const Properties& properties) : Memory(context, kIpcMemory, properties) {}

  UniqueFd fd_;
};

/// Memory of another framework as memory for other processes: the descriptor that it lies in.
class IpcView final : public View {
 public:
  IpcView(Context context, Access access, void* host, int fd)
      : View(std::move(context), kIpcMemory, access, host), fd_(fd) {}
  /// Belongs to the memory, or to an older view of it.
  int borrow_fd() const { return fd_; }

 private:
  int fd_;
};

/// The context of memory for other processes.
class IpcContext : public ContextImpl {
 public:
  std::string_view name() const override { return "ipc"; }
  MemoryKind kind() const override { return kIpcMemory; }
  std::span<const Edge* const> edges() const override;
  /// Memory with a descriptor is handed on in place.
  Requirements requirements() const override;
  std::string_view remedy() const override;
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// A sealed memfd, mapped. @errors kUnimplemented where offer() refuses; as IpcMemory::allocate.
  Ref<Memory> allocate(const Requirements& wanted) override;
  /// Through a mapping of its own, which is what another process with the descriptor sees.
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;
};

/// The context of the process.
Context context();
/// The contexts of this framework on this machine: always one.
std::vector<Context> contexts();

/// The descriptor of an ipc tensor, owned by its memory; the tensor begins at tensor.offset() in it.
/// @errors kInvalidArgument: a tensor of another framework.
int fd(const Tensor& tensor);

/// Memory that a frame or tensor lies in, so that others can read it but not write to it any more: seals a memfd against new
/// writable mappings (F_SEAL_FUTURE_WRITE). Mappings that exist stay writable, those of this process too. Nothing happens to
/// a dma-buf, which has no seals. @errors kUnimplemented: a kernel before 5.1; kPermissionDenied: sealed against more seals.
void seal_for_readers(const Tensor& tensor);

}  // namespace ipc
}  // namespace v1
}  // namespace tenon
