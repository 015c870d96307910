// SPDX-License-Identifier: Apache-2.0
// Memory of PipeWire's buffers: its kind, its context, and the edges to and from it.
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
namespace pipewire {

using cpu::UniqueFd;

/// `Tensor::kind()` of memory that a buffer of a PipeWire stream lies in, or can lie in.
inline constexpr MemoryKind kPipeWireMemory{"pipewire"};

/// Memory behind a descriptor as PipeWire hands it from process to process: a memfd (SPA_DATA_MemFd), mapped here as well, or a
/// dma-buf (SPA_DATA_DmaBuf), which the CPU reaches over frameworks/dmabuf.
/// @thread as Memory.
class PipeWireMemory final : public Memory {
 public:
  /// New zeroed memory in whole pages: a memfd that is sealed against shrinking, so that a peer cannot make this process die of
  /// SIGBUS. @errors kInvalidArgument: a size of 0; kResourceExhausted, with the native call.
  static Ref<PipeWireMemory> allocate(const Context& context, std::size_t size_bytes);
  /// Memory of a peer. Takes `fd` over on success only: when this throws, it is unchanged and still the caller's.
  /// @param size_bytes  The least size in bytes.  @param modifier  The layout of its pixels, as DRM modifier.
  /// @param read_only   Maps it so that nothing here can write to it.
  /// @param takes_unsealed  Also maps a memfd or a file that the peer can shrink. Reading what it took away ends this process
  /// by SIGBUS: for peers that are trusted.
  /// @errors kInvalidArgument: closed, no memory, or not sealed against shrinking; kOutOfRange: smaller than `size_bytes`;
  /// kFailedPrecondition, kResourceExhausted: it cannot be mapped.
  /// @cost a memfd is mapped whole; no bytes move.
  static Ref<PipeWireMemory> import(const Context& context, UniqueFd&& fd, std::size_t size_bytes,
                                    std::uint64_t modifier = 0, bool read_only = false, bool takes_unsealed = false);
  ~PipeWireMemory() override;

  int borrow_fd() const override { return fd_.get(); }

 private:
  PipeWireMemory(const Context& context, const Properties& properties) : Memory(context, kPipeWireMemory, properties) {}

  UniqueFd fd_;
};

/// Memory of another framework as a buffer of a stream: the descriptor that it lies in.
class PipeWireView final : public View {
 public:
  PipeWireView(Context context, Access access, void* host, int fd)
      : View(std::move(context), kPipeWireMemory, access, host), fd_(fd) {}
  /// Belongs to the memory, or to an older view of it.
  int borrow_fd() const { return fd_; }

 private:
  int fd_;
};

/// The context of memory of buffers. It needs no daemon.
class PipeWireContext final : public ContextImpl {
 public:
  std::string_view name() const override { return "pipewire"; }
  MemoryKind kind() const override { return kPipeWireMemory; }
  std::span<const Edge* const> edges() const override;
  /// Memory with a descriptor is handed on in place.
  Requirements requirements() const override;
  std::string_view remedy() const override;
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// A sealed memfd, mapped. @errors kUnimplemented where offer() refuses; as PipeWireMemory::allocate.
  Ref<Memory> allocate(const Requirements& wanted) override;
  /// Through a mapping of its own, which is what a peer with the descriptor sees.
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;
};

/// The context of the process.
Context context();
/// The contexts of this framework on this machine: always one.
std::vector<Context> contexts();

/// The descriptor of a pipewire tensor, owned by its memory; the tensor begins at tensor.offset() in it.
/// @errors kInvalidArgument: a tensor of another framework.
int fd(const Tensor& tensor);

}  // namespace pipewire
}  // namespace v1
}  // namespace tenon
