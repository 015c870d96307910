// SPDX-License-Identifier: Apache-2.0
// Makes contexts, and tensors over memory of Vulkan: new, a user's, or another API's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/vulkan/context.hpp>
#include <tenon/frameworks/vulkan/image.hpp>
#include <tenon/frameworks/vulkan/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {

/// A VkDevice of our own, with every extension that Tenon uses, over a physical device. Every call makes another one.
/// @param number  As vkEnumeratePhysicalDevices counts.
/// @errors kUnavailable: no loader, no device, a device without timeline semaphores; kInvalidArgument: no such number; those of
/// native calls.
Context make_context(std::size_t number = 0);

/// Wraps the user's objects, which must live as long as the context and its memory.
/// @errors kInvalidArgument: null, a queue family or an extension that the device lacks; kUnavailable: before Vulkan 1.2.
Context wrap(const Handles& handles);

/// The context of images over the VkDevice of `context`, a context of buffers (or already of images).
/// @errors kInvalidArgument: a context of another framework.
Context images(const Context& context);

/// @name What is behind a context. @errors kInvalidArgument: a context of another framework.
const Handles& handles(const Context& context);
const Device& device(const Context& context);

/// Allocates a buffer as a tensor. @errors as BufferContext::allocate.
Tensor allocate(const Context& context, MemoryType type, const TensorInfo& info);
/// A buffer that other APIs on this device import by its descriptor: kVulkanFd (OpenCL, CUDA, another VkDevice), or kDmabuf
/// (any API). @errors kUnimplemented, which names the extension that the device lacks; as BufferContext::allocate_exported.
Tensor allocate_exported(const Context& context, const TensorInfo& info, FdKind kind = FdKind::kVulkanFd);

/// A user's buffer.
struct UserBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize size = 0;
  VkBufferUsageFlags usage = 0;  ///< Has transfers both ways, so that Tenon can copy.
  /// Where the buffer is bound, if it is known: two buffers over one memory then have one state of unfinished work.
  VkDeviceMemory memory = VK_NULL_HANDLE;
  void* host = nullptr;  ///< The buffer's first byte, if coherent memory is mapped.
  bool read_only = false;
  /// A descriptor of memory in which the buffer begins at byte 0, which the tensor duplicates, and its kind; -1: none.
  int fd = -1;
  FdKind fd_kind;
};

/// Wraps the user's buffer; the user keeps it alive. @errors kInvalidArgument: null, no transfers; kOutOfRange.
Tensor wrap(const Context& context, const UserBuffer& buffer, const TensorInfo& info, std::size_t offset = 0);
/// As wrap(); `release` is called once, when nothing of Tenon uses the buffer any more, on any thread, or when this fails. It
/// must not throw.
Tensor adopt(const Context& context, const UserBuffer& buffer, const TensorInfo& info, std::function<void()> release,
             std::size_t offset = 0);

/// Memory of another API, by its descriptor, as a buffer: the same bytes.
/// @param fd    Stays the caller's and may be closed.
/// @param kind  kVulkanFd or kOpaqueFd, kCudaFd (of one device and driver), kDmabuf.
/// @param size_bytes  The size of the whole allocation, as its maker says.
/// @errors kUnimplemented: the device imports no such descriptors (named); kOutOfRange; those of the import.
Tensor import_fd(const Context& context, int fd, FdKind kind, std::size_t size_bytes, const TensorInfo& info);

/// A new descriptor, owned by the caller, for a tensor's whole allocation. @errors kFailedPrecondition: not exportable.
UniqueFd export_fd(const Tensor& tensor);

/// A new image for a picture [h, w] or [h, w, c], c of 1, 2 or 4; `context` is one of images.
/// @errors kUnimplemented: a format that the device lacks, named; kInvalidArgument: no picture.
Tensor allocate_image(const Context& context, ElementType type, const Shape& shape, Tiling tiling = Tiling::kOptimal,
                      Samples samples = Samples::kNormalised);
/// An image whose rows other APIs import as a dma-buf. @errors kUnimplemented: an extension that the device lacks, named.
Tensor allocate_exported_image(const Context& context, ElementType type, const Shape& shape);

/// A user's 2-D image: one level, one layer, one sample.
struct UserImage {
  VkImage image = VK_NULL_HANDLE;
  VkFormat format = VK_FORMAT_UNDEFINED;
  std::uint32_t width_px = 0, height_px = 0;
  VkImageUsageFlags usage = 0;                       ///< Has transfers both ways.
  VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;  ///< That it is in now, and rests in.
};

/// Wraps the user's image as a tensor [h, w] or [h, w, c]; the user keeps it alive.
/// @errors kInvalidArgument: null, no transfers; kUnimplemented: a format without an element type.
Tensor wrap_image(const Context& context, const UserImage& image);
/// As wrap_image(); `release` as for adopt().
Tensor adopt_image(const Context& context, const UserImage& image, std::function<void()> release);
/// A user's image of NV12 (VK_FORMAT_G8_B8R8_2PLANE_420_UNORM), P010, I420 or one plane, as a frame whose planes are those of the
/// image. @param info  Its format must be the image's. @errors as adopt_image(); kInvalidArgument: another format.
Frame wrap_frame(const Context& context, const UserImage& image, const FrameInfo& info);
Frame adopt_frame(const Context& context, const UserImage& image, const FrameInfo& info, std::function<void()> release);

/// One image of all planes, where the device has the format (with samplerYcbcrConversion), for NV12, P010 and I420; BGRA as B8G8R8A8.
/// Other formats have one image per plane. @errors kUnimplemented, naming the plane and the format that the device lacks.
Frame allocate_frame(const Context& context, const FrameInfo& info);

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
