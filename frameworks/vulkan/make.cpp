// SPDX-License-Identifier: Apache-2.0
// Makes contexts, and buffers as tensors.
#include <tenon/frameworks/vulkan/make.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/cpu/client.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

TENON_INLINE Context context_over(Ref<Native> native, const std::string& name) {
  return Context(make_ref<BufferContext>(std::move(native), name));
}

TENON_INLINE std::size_t extent_of(const TensorInfo& info, const char* function) {
  const auto extent = checked_extent_bytes(info);
  if (!extent)
    throw Error(Code::kInvalidArgument, std::string("vulkan::") + function + ": the size of " + to_string(info.shape) +
                                            " does not fit 63 bits");
  return *extent;
}

TENON_INLINE Requirements bytes_for(const TensorInfo& info, const char* function) {
  Requirements wanted;
  wanted.size_bytes = extent_of(info, function);
  return wanted;
}

}  // namespace detail

TENON_INLINE Context make_context(std::size_t number) {
  const Ref<detail::Instance> instance = detail::Instance::process();
  const std::vector<VkPhysicalDevice> all = instance->devices();
  if (all.empty())
    throw Error(Code::kUnavailable,
                "vulkan: the loader finds no device; install a driver (Debian: mesa-vulkan-drivers)");
  if (number >= all.size())
    throw Error(Code::kInvalidArgument, "vulkan::make_context: there is no device " + std::to_string(number) +
                                            "; the loader has " + std::to_string(all.size()));
  Ref<detail::Native> native = detail::Native::make(instance, all[number]);
  const std::string name = detail::typable(native->device().name);
  return detail::context_over(std::move(native), name);
}

TENON_INLINE Context wrap(const Handles& handles) {
  Ref<detail::Native> native = detail::Native::over(handles);
  const std::string name = detail::typable(native->device().name);
  return detail::context_over(std::move(native), name);
}

TENON_INLINE Context images(const Context& context) {
  if (context.as<ImageContext>()) return context;
  return detail::buffer_context(context, "images").images();
}

TENON_INLINE const Handles& handles(const Context& context) { return detail::native_of(context, "handles")->handles(); }

TENON_INLINE const Device& device(const Context& context) { return detail::native_of(context, "device")->device(); }

TENON_INLINE Tensor allocate(const Context& context, MemoryType type, const TensorInfo& info) {
  return Tensor(info, detail::buffer_context(context, "allocate").allocate(detail::bytes_for(info, "allocate"), type));
}

TENON_INLINE Tensor allocate_exported(const Context& context, const TensorInfo& info, FdKind kind) {
  BufferContext& buffers = detail::buffer_context(context, "allocate_exported");
  const Requirements wanted = detail::bytes_for(info, "allocate_exported");
  if (kind.serves(FdKind::kMemfd) && buffers.native().dmabuf_export() != FdKind::kNone)
    kind = buffers.native().dmabuf_export();
  return Tensor(info, buffers.allocate_exported(wanted, kind));
}

TENON_INLINE Tensor adopt(const Context& context, const UserBuffer& user, const TensorInfo& info,
                          std::function<void()> release, std::size_t offset) {
  cpu::client::ReleaseGuard guard(release ? std::move(release) : [] {});
  const std::string prefix = "vulkan::wrap of " + to_string(info.shape) + ": ";
  BufferContext& buffers = detail::buffer_context(context, "wrap");
  if (!user.buffer) throw Error(Code::kInvalidArgument, prefix + "a null VkBuffer");
  constexpr VkBufferUsageFlags kNeeded = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if ((user.usage & kNeeded) != kNeeded)
    throw Error(Code::kInvalidArgument,
                prefix + "the buffer's usage is " + std::to_string(user.usage) +
                    "; Tenon copies it: make it with VK_BUFFER_USAGE_TRANSFER_SRC_BIT and _DST_BIT");
  const std::size_t extent = detail::extent_of(info, "wrap"), size = static_cast<std::size_t>(user.size);
  if (offset > size || extent > size - offset)
    throw Error(Code::kOutOfRange, prefix + "it needs " + std::to_string(extent) + " bytes, the buffer has " +
                                       std::to_string(size - std::min(offset, size)) + " from there on");
  Memory::Properties properties;
  properties.size_bytes = size;
  properties.host = user.host;
  properties.read_only = user.read_only;
  properties.identity = user.memory ? detail::identity_of(user.memory) : detail::identity_of(user.buffer);
  UniqueFd fd;
  std::uint32_t rests_in = VK_QUEUE_FAMILY_IGNORED;
  if (user.fd >= 0 && user.fd_kind != FdKind::kNone) {
    const detail::Native& native = buffers.native();
    fd = UniqueFd::duplicate(user.fd);
    properties.fd = user.fd_kind;
    const bool bound = user.fd_kind.is_bound_to_device();
    properties.exporter =
        std::make_shared<const DeviceIdentity>(bound ? native.device().exporter : native.device().identity);
    rests_in = detail::resting_family(native, bound ? detail::Origin::kOpaque : detail::Origin::kDmabuf);
  }
  Ref<Memory> memory = make_ref<BufferMemory>(context, properties, buffers.native_ref(), user.buffer, rests_in,
                                              std::move(fd), guard.get());
  guard.disarm();
  return Tensor(info, std::move(memory), offset);
}

TENON_INLINE Tensor wrap(const Context& context, const UserBuffer& user, const TensorInfo& info, std::size_t offset) {
  return adopt(context, user, info, {}, offset);
}

TENON_INLINE Tensor import_fd(const Context& context, int fd, FdKind kind, std::size_t size_bytes,
                              const TensorInfo& info) {
  BufferContext& buffers = detail::buffer_context(context, "import_fd");
  detail::Native& native = buffers.native();
  const bool is_dmabuf = kind.serves(FdKind::kMemfd);
  const auto refuse = [](const std::string& why) { throw Error(Code::kUnimplemented, "vulkan::import_fd: " + why); };
  if (!is_dmabuf && !kind.is_bound_to_device())
    refuse("a descriptor of kind " + std::string(kind.name()) + " is neither an opaque one nor a dma-buf");
  if (is_dmabuf) {
    if (const std::string& why = native.dmabuf_obstacle(kind != FdKind::kDmabuf); !why.empty()) refuse(why);
  } else if (!detail::imports(native, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)) {
    refuse(native.device().name + " imports no opaque descriptors (VK_KHR_external_memory_fd)");
  }
  const std::size_t extent = detail::extent_of(info, "import_fd");
  if (size_bytes == 0 || extent > size_bytes)
    throw Error(Code::kOutOfRange, "vulkan::import_fd: " + to_string(info.shape) + " needs " + std::to_string(extent) +
                                       " bytes, the memory has " + std::to_string(size_bytes));
  UniqueFd kept = UniqueFd::duplicate(fd);
  detail::BufferBlock block = detail::import_block(
      buffers.native_ref(), fd, is_dmabuf ? detail::Origin::kDmabuf : detail::Origin::kOpaque, size_bytes);
  Memory::Properties properties;
  properties.size_bytes = size_bytes;
  properties.fd = kind;
  properties.identity = detail::identity_of(block.buffer.get());
  struct stat status {};
  if (is_dmabuf && ::fstat(kept.get(), &status) == 0)
    properties.identity = {MemoryIdentity::Kind::kInode, static_cast<std::uint64_t>(status.st_dev),
                           static_cast<std::uint64_t>(status.st_ino)};
  if (!is_dmabuf) properties.exporter = std::make_shared<const DeviceIdentity>(native.device().exporter);
  block.fd = std::move(kept);
  return Tensor(info, make_ref<BufferMemory>(context, properties, buffers.native_ref(), std::move(block)));
}

TENON_INLINE UniqueFd export_fd(const Tensor& tensor) {
  if (!tensor || tensor.memory()->borrow_fd() < 0 || !detail::device_context(tensor.memory()->context()))
    throw Error(Code::kFailedPrecondition,
                "vulkan::export_fd of " + to_string(tensor) +
                    ": its memory was not made to be exported; use vulkan::allocate_exported");
  return UniqueFd::duplicate(tensor.memory()->borrow_fd());
}

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
