// SPDX-License-Identifier: Apache-2.0
// Formats of images, and images made, exported and imported.
#include <tenon/frameworks/vulkan/image.hpp>

#include <algorithm>
#include <array>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

struct FormatRow {
  VkFormat format;
  ElementType type;
  std::size_t channels;
  Samples samples;
  bool preferred;  ///< What format_of() gives; the others are known when a user has them.
};
inline constexpr FormatRow kFormats[] = {
    {VK_FORMAT_R8_UNORM, ElementType::kU8, 1, Samples::kNormalised, true},
    {VK_FORMAT_R8G8_UNORM, ElementType::kU8, 2, Samples::kNormalised, true},
    {VK_FORMAT_R8G8B8A8_UNORM, ElementType::kU8, 4, Samples::kNormalised, true},
    {VK_FORMAT_B8G8R8A8_UNORM, ElementType::kU8, 4, Samples::kNormalised, false},
    {VK_FORMAT_R8G8B8A8_SRGB, ElementType::kU8, 4, Samples::kNormalised, false},
    {VK_FORMAT_B8G8R8A8_SRGB, ElementType::kU8, 4, Samples::kNormalised, false},
    {VK_FORMAT_R8_UINT, ElementType::kU8, 1, Samples::kInteger, true},
    {VK_FORMAT_R8G8_UINT, ElementType::kU8, 2, Samples::kInteger, true},
    {VK_FORMAT_R8G8B8A8_UINT, ElementType::kU8, 4, Samples::kInteger, true},
    {VK_FORMAT_R8_SNORM, ElementType::kI8, 1, Samples::kNormalised, true},
    {VK_FORMAT_R8G8_SNORM, ElementType::kI8, 2, Samples::kNormalised, true},
    {VK_FORMAT_R8G8B8A8_SNORM, ElementType::kI8, 4, Samples::kNormalised, true},
    {VK_FORMAT_R16_UNORM, ElementType::kU16, 1, Samples::kNormalised, true},
    {VK_FORMAT_R16G16_UNORM, ElementType::kU16, 2, Samples::kNormalised, true},
    {VK_FORMAT_R16G16B16A16_UNORM, ElementType::kU16, 4, Samples::kNormalised, true},
    {VK_FORMAT_R16_UINT, ElementType::kU16, 1, Samples::kInteger, true},
    {VK_FORMAT_R16G16_UINT, ElementType::kU16, 2, Samples::kInteger, true},
    {VK_FORMAT_R16G16B16A16_UINT, ElementType::kU16, 4, Samples::kInteger, true},
    {VK_FORMAT_R16_SFLOAT, ElementType::kF16, 1, Samples::kNormalised, true},
    {VK_FORMAT_R16G16_SFLOAT, ElementType::kF16, 2, Samples::kNormalised, true},
    {VK_FORMAT_R16G16B16A16_SFLOAT, ElementType::kF16, 4, Samples::kNormalised, true},
    {VK_FORMAT_R32_SFLOAT, ElementType::kF32, 1, Samples::kNormalised, true},
    {VK_FORMAT_R32G32_SFLOAT, ElementType::kF32, 2, Samples::kNormalised, true},
    {VK_FORMAT_R32G32B32A32_SFLOAT, ElementType::kF32, 4, Samples::kNormalised, true},
    {VK_FORMAT_R32_UINT, ElementType::kU32, 1, Samples::kInteger, true},
    {VK_FORMAT_R32G32_UINT, ElementType::kU32, 2, Samples::kInteger, true},
    {VK_FORMAT_R32G32B32A32_UINT, ElementType::kU32, 4, Samples::kInteger, true},
    {VK_FORMAT_R32_SINT, ElementType::kI32, 1, Samples::kInteger, true},
};

TENON_INLINE VkFormat format_of(ElementType type, std::size_t channels, Samples samples) {
  for (const FormatRow& row : kFormats) {
    // Integers of 32 bits have no normalised form, floats no integer one.
    const bool only = row.type == ElementType::kU32 || row.type == ElementType::kI32 || row.type == ElementType::kF16 ||
                      row.type == ElementType::kF32;
    if (row.preferred && row.type == type && row.channels == channels && (only || row.samples == samples))
      return row.format;
  }
  return VK_FORMAT_UNDEFINED;
}

TENON_INLINE std::pair<ElementType, std::size_t> elements_of(VkFormat format) {
  for (const FormatRow& row : kFormats)
    if (row.format == format) return {row.type, row.channels};
  return {ElementType::kUndefined, 0};
}

TENON_INLINE std::optional<Picture> picture_of(const Shape& shape) {
  if (shape.size() != 2 && shape.size() != 3) return std::nullopt;
  return Picture{shape[1], shape[0], shape.size() == 3 ? shape[2] : 1};
}

TENON_INLINE VkFormatFeatureFlags features_of(const Native& native, VkFormat format, VkImageTiling tiling) {
  auto properties = typed<VkFormatProperties2>(VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2);
  native.instance_calls().vkGetPhysicalDeviceFormatProperties2(native.handles().physical_device, format, &properties);
  return tiling == VK_IMAGE_TILING_LINEAR ? properties.formatProperties.linearTilingFeatures
                                          : properties.formatProperties.optimalTilingFeatures;
}

TENON_INLINE VkFormatFeatureFlags features_of(const Native& native, VkFormat format, std::uint64_t modifier) {
  if (!native.enabled(VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME)) return 0;
  auto list = typed<VkDrmFormatModifierPropertiesListEXT>(VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT);
  auto properties = typed<VkFormatProperties2>(VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2, &list);
  const auto ask = [&] {
    native.instance_calls().vkGetPhysicalDeviceFormatProperties2(native.handles().physical_device, format, &properties);
  };
  ask();
  std::vector<VkDrmFormatModifierPropertiesEXT> known(list.drmFormatModifierCount);
  list.pDrmFormatModifierProperties = known.data();
  ask();
  for (const VkDrmFormatModifierPropertiesEXT& each : known)
    if (each.drmFormatModifier == modifier && each.drmFormatModifierPlaneCount == 1)
      return each.drmFormatModifierTilingFeatures;
  return 0;
}

/// Every use that the device allows of such images.
TENON_INLINE VkImageUsageFlags usage_for(VkFormatFeatureFlags features) {
  VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  if (features & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT) usage |= VK_IMAGE_USAGE_SAMPLED_BIT;
  if (features & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT) usage |= VK_IMAGE_USAGE_STORAGE_BIT;
  if (features & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT) usage |= VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
  return usage;
}

TENON_INLINE std::string picture_text(const Native& native, std::size_t width, std::size_t height, VkFormat format) {
  return "an image of " + std::to_string(width) + "x" + std::to_string(height) + " px (VkFormat " +
         std::to_string(format) + ") on " + native.device().name;
}

TENON_INLINE VkImageCreateInfo image_info(VkFormat format, std::size_t width, std::size_t height, VkImageTiling tiling,
                                          VkFormatFeatureFlags features, const void* next) {
  auto info = typed<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, next);
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = format;
  info.extent = {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), 1};
  info.mipLevels = info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.tiling = tiling;
  info.usage = usage_for(features);
  info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  return info;
}

/// The image, and memory of its own bound to it. @param next  For the allocation; needs an entry for the image.
TENON_INLINE void create_and_bind(const Native& native, const VkImageCreateInfo& info, ImageBlock& block,
                                  VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags better,
                                  std::uint32_t also_allowed, VkMemoryDedicatedAllocateInfo* dedicated,
                                  const void* next, std::size_t imported_size = 0) {
  const auto what = [&] { return picture_text(native, info.extent.width, info.extent.height, info.format); };
  const DeviceCalls& calls = native.calls();
  VkImage made = VK_NULL_HANDLE;
  check(call(calls.vkCreateImage, native.handle(), &info, nullptr, &made), "vkCreateImage", what);
  block.image = Owned<VkImage>(native, made, calls.vkDestroyImage);
  VkMemoryRequirements needs{};
  calls.vkGetImageMemoryRequirements(native.handle(), made, &needs);
  const auto type = native.find_memory(needs.memoryTypeBits & also_allowed, wanted, better);
  if (!type) fail(VK_ERROR_FEATURE_NOT_PRESENT, "vkGetImageMemoryRequirements", what() + " (no type of memory for it)");
  if (imported_size != 0 && needs.size > imported_size)
    throw Error(Code::kOutOfRange,
                "vulkan: " + what() + " needs " + std::to_string(needs.size) + " bytes, and the dma-buf has " +
                    std::to_string(imported_size),
                "vkGetImageMemoryRequirements", VK_ERROR_INVALID_EXTERNAL_HANDLE);
  if (dedicated) dedicated->image = made;
  auto allocation = typed<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, next);
  allocation.allocationSize = imported_size != 0 ? imported_size : needs.size;
  allocation.memoryTypeIndex = *type;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  check(call(calls.vkAllocateMemory, native.handle(), &allocation, nullptr, &memory), "vkAllocateMemory", what);
  block.memory = Owned<VkDeviceMemory>(native, memory, calls.vkFreeMemory);
  block.size = static_cast<std::size_t>(allocation.allocationSize);
}

TENON_INLINE void bind(const Native& native, ImageBlock& block) {
  check(call(native.calls().vkBindImageMemory, native.handle(), block.image.get(), block.memory.get(), VkDeviceSize{0}),
        "vkBindImageMemory", "binding an image to its memory");
}

TENON_INLINE PlaneOfImage rows_of(const Native& native, VkImage image, VkImageAspectFlags aspect,
                                  const PlaneOfImage& picture) {
  const VkImageSubresource part{aspect, 0, 0};
  VkSubresourceLayout rows{};
  native.calls().vkGetImageSubresourceLayout(native.handle(), image, &part, &rows);
  PlaneOfImage plane = picture;
  plane.base = static_cast<std::size_t>(rows.offset);
  plane.pitch = static_cast<std::size_t>(rows.rowPitch);
  return plane;
}

TENON_INLINE ImageBlock make_image(const Ref<Native>& native, VkFormat format, std::size_t width, std::size_t height,
                                   std::size_t pixel_bytes, Tiling tiling) {
  const Native& on = *native;
  const bool linear = tiling == Tiling::kLinear;
  const VkImageTiling as = linear ? VK_IMAGE_TILING_LINEAR : VK_IMAGE_TILING_OPTIMAL;
  ImageBlock block;
  const PlaneOfImage packed{VK_IMAGE_ASPECT_COLOR_BIT, width, height, pixel_bytes, 0, width * pixel_bytes};
  create_and_bind(on, image_info(format, width, height, as, features_of(on, format, as), nullptr), block,
                  linear ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT : 0u,
                  linear ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, ~0u, nullptr,
                  nullptr);
  bind(on, block);
  if (!linear) {
    block.planes.push_back(packed);
    block.size = packed.end();
    return block;
  }
  block.planes.push_back(rows_of(on, block.image.get(), VK_IMAGE_ASPECT_COLOR_BIT, packed));
  void* data = nullptr;
  check(call(on.calls().vkMapMemory, on.handle(), block.memory.get(), VkDeviceSize{0}, VkDeviceSize{VK_WHOLE_SIZE},
             VkMemoryMapFlags{0}, &data),
        "vkMapMemory", "mapping an image for the host");
  block.mapped = static_cast<std::byte*>(data);
  return block;
}

TENON_INLINE ImageBlock make_exported_image(const Ref<Native>& native, VkFormat format, std::size_t width,
                                            std::size_t height, std::size_t pixel_bytes) {
  const Native& on = *native;
  constexpr auto kHandle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
  const std::uint64_t modifier = kModifierLinear;  // Every importer takes rows.
  auto list = typed<VkImageDrmFormatModifierListCreateInfoEXT>(
      VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT);
  list.drmFormatModifierCount = 1;
  list.pDrmFormatModifiers = &modifier;
  auto external = typed<VkExternalMemoryImageCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, &list);
  external.handleTypes = kHandle;
  auto exported = typed<VkExportMemoryAllocateInfo>(VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
  exported.handleTypes = kHandle;
  auto dedicated = typed<VkMemoryDedicatedAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, &exported);
  ImageBlock block;
  block.rests_in = resting_family(on, Origin::kDmabuf);
  create_and_bind(on,
                  image_info(format, width, height, VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT,
                             features_of(on, format, modifier), &external),
                  block, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, ~0u, &dedicated, &dedicated);
  bind(on, block);
  block.planes.push_back(rows_of(on, block.image.get(), VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT,
                                 {VK_IMAGE_ASPECT_COLOR_BIT, width, height, pixel_bytes, 0, 0}));
  auto get = typed<VkMemoryGetFdInfoKHR>(VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR);
  get.memory = block.memory.get();
  get.handleType = kHandle;
  int fd = -1;
  check(call(on.calls().vkGetMemoryFdKHR, on.handle(), &get, &fd), "vkGetMemoryFdKHR",
        "exporting an image as a dma-buf");
  block.fd = UniqueFd(fd);
  return block;
}

/// The structures that describe a picture in a dma-buf.
struct ImportedRows {
  VkSubresourceLayout rows{};
  std::uint64_t modifier;
  VkImageDrmFormatModifierExplicitCreateInfoEXT layout = typed<VkImageDrmFormatModifierExplicitCreateInfoEXT>(
      VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT);
  VkExternalMemoryImageCreateInfo external =
      typed<VkExternalMemoryImageCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, &layout);

  ImportedRows(const PlaneOfImage& plane, std::uint64_t of) : modifier(of) {
    rows.offset = plane.base;
    rows.rowPitch = plane.pitch;
    layout.drmFormatModifier = modifier;
    layout.drmFormatModifierPlaneCount = 1;
    layout.pPlaneLayouts = &rows;
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
  }
  ImportedRows(const ImportedRows&) = delete;
  VkImageCreateInfo info(const Native& native, VkFormat format, const PlaneOfImage& plane) const {
    return image_info(format, plane.width_px, plane.height_px, VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT,
                      features_of(native, format, modifier), &external);
  }
};

TENON_INLINE std::string layout_obstacle(const Native& native, VkFormat format, const PlaneOfImage& plane,
                                         std::uint64_t modifier, std::size_t memory_bytes) {
  const ImportedRows rows(plane, modifier);
  const VkImageCreateInfo info = rows.info(native, format, plane);
  VkImage made = VK_NULL_HANDLE;
  // Tests do not make this one fail, because a failure is an answer.
  const VkResult result = native.calls().vkCreateImage(native.handle(), &info, nullptr, &made);
  if (result == VK_SUCCESS) {
    VkMemoryRequirements needs{};
    native.calls().vkGetImageMemoryRequirements(native.handle(), made, &needs);
    native.calls().vkDestroyImage(native.handle(), made, nullptr);
    if (needs.size <= memory_bytes) return {};
    return "an image of it needs " + std::to_string(needs.size) + " bytes, and the dma-buf has " +
           std::to_string(memory_bytes);
  }
  return native.device().name + " takes no rows " + std::to_string(plane.pitch) + " bytes apart from byte " +
         std::to_string(plane.base) + " on (" + result_name(result) + "); map it as a buffer";
}

TENON_INLINE ImageBlock import_image(const Ref<Native>& native, int fd, std::size_t size, VkFormat format,
                                     const PlaneOfImage& plane, std::uint64_t modifier) {
  const Native& on = *native;
  constexpr auto kHandle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
  const ImportedRows rows(plane, modifier);
  auto properties = typed<VkMemoryFdPropertiesKHR>(VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR);
  check(call(on.calls().vkGetMemoryFdPropertiesKHR, on.handle(), kHandle, fd, &properties),
        "vkGetMemoryFdPropertiesKHR", "importing a picture by its dma-buf");
  UniqueFd given = UniqueFd::duplicate(fd);
  auto import = typed<VkImportMemoryFdInfoKHR>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
  import.handleType = kHandle;
  import.fd = given.get();
  auto dedicated = typed<VkMemoryDedicatedAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, &import);
  ImageBlock block;
  block.rests_in = resting_family(on, Origin::kDmabuf);
  block.layout = VK_IMAGE_LAYOUT_GENERAL;  // What is taken from other APIs is so; nothing is lost by that.
  create_and_bind(on, rows.info(on, format, plane), block, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                  properties.memoryTypeBits, &dedicated, &dedicated, size);
  (void)given.release();  // It is the driver's from here on.
  bind(on, block);
  block.planes.push_back(plane);
  block.modifier = modifier;
  return block;
}

TENON_INLINE const ImageState* find_image(const Tensor& tensor) {
  if (!tensor) return nullptr;
  if (tensor.view()) {
    const auto* view = dynamic_cast<const ImageView*>(tensor.view());
    return view ? &view->state() : nullptr;
  }
  const auto* memory = dynamic_cast<const ImageMemory*>(tensor.memory().get());
  return memory ? &memory->state() : nullptr;
}

TENON_INLINE VkImageMemoryBarrier image_barrier(const ImageState& image, VkImageLayout from, VkImageLayout to) {
  auto barrier = typed<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
  barrier.srcAccessMask = barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.oldLayout = from;
  barrier.newLayout = to;
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image.image();
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  return barrier;
}

TENON_INLINE void image_turn(const Native& native, VkCommandBuffer commands, const ImageState& image, bool take) {
  if (image.rests_in() == VK_QUEUE_FAMILY_IGNORED) return;
  // An image of ours that nothing wrote yet has no contents to take over.
  const bool fresh = take && image.layout() == VK_IMAGE_LAYOUT_UNDEFINED;
  VkImageMemoryBarrier barrier =
      image_barrier(image, fresh ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
  (take ? barrier.srcAccessMask : barrier.dstAccessMask) = 0;
  if (!fresh) {
    barrier.srcQueueFamilyIndex = take ? image.rests_in() : native.handles().queue_family;
    barrier.dstQueueFamilyIndex = take ? native.handles().queue_family : image.rests_in();
  }
  native.calls().vkCmdPipelineBarrier(commands,
                                      take ? VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT : VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                      take ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                      0, 0, nullptr, 0, nullptr, 1, &barrier);
  if (fresh) image.set_layout(VK_IMAGE_LAYOUT_GENERAL);
}

TENON_INLINE void image_layout(const Native& native, VkCommandBuffer commands, const ImageState& image,
                               VkImageLayout from, VkImageLayout to) {
  const VkImageMemoryBarrier barrier = image_barrier(image, from, to);
  native.calls().vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                      0, 0, nullptr, 0, nullptr, 1, &barrier);
}

TENON_INLINE const PlaneOfImage& plane_of(const Tensor& tensor, const ImageState& image) {
  const PlaneOfImage* found = &image.planes()[0];
  for (const PlaneOfImage& plane : image.planes())
    if (plane.base <= tensor.offset()) found = &plane;
  return *found;
}

TENON_INLINE std::optional<ImageRegion> region_of(const Tensor& tensor, const PlaneOfImage& plane) {
  const auto picture = picture_of(tensor.shape());
  const std::size_t element = size_bytes(tensor.element_type());
  if (!picture || element == 0 || tensor.size_bytes() == 0 || tensor.byte_strides().empty()) return std::nullopt;
  const std::size_t pixel = element * picture->channels, row = pixel * picture->width_px;
  const ByteStrides& strides = tensor.byte_strides();
  if ((picture->width_px > 1 && static_cast<std::size_t>(strides[1]) != pixel) ||
      (strides.size() == 3 && picture->channels > 1 && static_cast<std::size_t>(strides[2]) != element) ||
      (picture->height_px > 1 && static_cast<std::size_t>(strides[0]) != plane.pitch) || tensor.offset() < plane.base)
    return std::nullopt;
  const std::size_t begin = tensor.offset() - plane.base, left = begin % plane.pitch;
  if (left % plane.pixel_bytes != 0 || row % plane.pixel_bytes != 0 || left + row > plane.row_bytes())
    return std::nullopt;
  return ImageRegion{
      {static_cast<std::int32_t>(left / plane.pixel_bytes), static_cast<std::int32_t>(begin / plane.pitch), 0},
      {static_cast<std::uint32_t>(row / plane.pixel_bytes), static_cast<std::uint32_t>(picture->height_px), 1}};
}

TENON_INLINE const ImageState& image_state(const Tensor& tensor, const char* function) {
  const ImageState* found = find_image(tensor);
  if (!found)
    throw Error(Code::kInvalidArgument, std::string("vulkan::") + function + " of " + to_string(tensor) +
                                            ": it is no vulkan.image; map it to vulkan::images(context)");
  return *found;
}

}  // namespace detail

TENON_INLINE ImageMemory::~ImageMemory() {
  drop_views();
  if (release_) release_();
}

TENON_INLINE VkImage image(const Tensor& tensor) { return detail::image_state(tensor, "image").image(); }

TENON_INLINE VkImageLayout layout(const Tensor& tensor) { return detail::image_state(tensor, "layout").layout(); }

TENON_INLINE void set_layout(const Tensor& tensor, VkImageLayout layout) {
  const ImageState& state = detail::image_state(tensor, "set_layout");
  const bool seen = state.rests_in() != VK_QUEUE_FAMILY_IGNORED || tensor.is_host_addressable();
  if (layout == VK_IMAGE_LAYOUT_UNDEFINED || layout == VK_IMAGE_LAYOUT_PREINITIALIZED ||
      (seen && layout != VK_IMAGE_LAYOUT_GENERAL))
    throw Error(Code::kInvalidArgument, "vulkan::set_layout of " + to_string(tensor) + ": VkImageLayout " +
                                            std::to_string(layout) +
                                            (seen ? "; what the host or other APIs see rests in VK_IMAGE_LAYOUT_GENERAL"
                                                  : " is none that an image with contents rests in"));
  state.set_layout(layout);
}

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
