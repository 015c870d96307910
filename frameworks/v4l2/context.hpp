// SPDX-License-Identifier: Apache-2.0
// Buffers of V4L2 drivers as memory, the context of a device, and its edges: to the CPU, to dma-bufs, and from both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/v4l2/device.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2 {

/// `Tensor::kind()` of memory that a V4L2 driver allocated.
inline constexpr MemoryKind kV4l2Memory{"v4l2"};

class DeviceContext;
/// The context of the device at `path`: one per path in the process. Opens nothing.
Context context(const std::string& path);

/// A buffer that a driver allocated (V4L2_MEMORY_MMAP), exported as a dma-buf where the driver can. It outlives the
/// stream and the descriptor of the device that it came from.
/// @thread as Memory.
class BufferMemory final : public Memory {
 public:
  /// Plane `plane` of buffer `index`. Exports it (VIDIOC_EXPBUF), and maps it through what was exported, so that no mapping
  /// keeps the device occupied; a driver that exports nothing maps it itself.
  /// @param map  False: for devices only.
  /// @errors kUnavailable: unplugged; kResourceExhausted; those of the calls
  static Ref<BufferMemory> make(const Context& context, const Device& device, std::uint32_t type, std::uint32_t index,
                                std::uint32_t plane, std::size_t size_bytes, std::uint64_t mmap_offset,
                                bool map = true);
  ~BufferMemory() override;
  int borrow_fd() const override { return fd_.get(); }

 private:
  BufferMemory(const Context& context, const Properties& properties, UniqueFd fd);

  /// None where the driver cannot.
  static UniqueFd export_buffer(const Device& device, std::uint32_t type, std::uint32_t index, std::uint32_t plane,
                                const std::string& what);
  static void* map_buffer(const Device& device, int exported, std::size_t size_bytes, std::uint64_t offset,
                          const std::string& what);

  UniqueFd fd_;
};

/// Memory of another framework as a device takes it: by descriptor (V4L2_MEMORY_DMABUF).
class ImportView final : public View {
 public:
  ImportView(Context context, Access access, int fd);
  int borrow_fd() const { return fd_; }

 private:
  int fd_;
};

/// How a device reaches the memory of a tensor, from the first byte of the memory.
struct Place {
  int fd = -1;              ///< For V4L2_MEMORY_DMABUF; -1: none.
  void* pointer = nullptr;  ///< For V4L2_MEMORY_USERPTR; null: none.
};
/// @errors kInvalidArgument: a tensor of another framework.
Place place_of(const Tensor& tensor);

namespace detail {

/// Real drivers import dma-bufs only. One that a test plays takes the memfds that stand in for them.
bool takes_stand_ins();

}  // namespace detail

/// A V4L2 device as a context: memory that its driver allocates, and memory that it imports.
class DeviceContext final : public ContextImpl {
 public:
  explicit DeviceContext(std::string path) : path_(std::move(path)), name_("v4l2:" + path_) {}
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kV4l2Memory; }
  const std::string& path() const { return path_; }
  std::span<const Edge* const> edges() const override;
  Requirements requirements() const override;
  std::string_view remedy() const override;
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// A buffer of the driver, exported and given up by the device at once: it belongs to no stream. Host-addressable when
  /// `wanted.host_access`; otherwise the CPU reaches it as a dma-buf.
  /// @errors kUnavailable: unplugged, or its queue is in use; kUnimplemented: its driver exports nothing, or what offer()
  /// refuses; kResourceExhausted. @cost opens the device.
  Ref<Memory> allocate(const Requirements& wanted) override;

  /// Through a mapping of its own: what another process with the descriptor would see.
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

 private:
  static std::size_t whole_pages(std::size_t size);
  static Tensor as_dmabuf(const Tensor& tensor);

  std::string path_, name_;
};

}  // namespace v4l2
}  // namespace v1
}  // namespace tenon
