// SPDX-License-Identifier: Apache-2.0
// Vulkan for the conformance suite, on the loader's first device: buffers, a user's VkDevice, another VkDevice, images.
#include <tenon/core/deferred.hpp>
#include <tenon/frameworks/vulkan/client.hpp>
#include <tenon/frameworks/vulkan/contexts.hpp>

#include <tenon/tests/conformance/framework.hpp>
#include <tenon/tests/conformance/users_objects.hpp>

namespace vulkan_conformance {

using namespace tenon;

/// One context for all entries whose memory is to pass between them.
const Context& main_context() {
  static const Context* context = new Context(vulkan::make_context());
  return *context;
}

template <typename Object>
auto& users() {
  static auto& all = *new conformance::UsersObjects<vulkan::client::Probe, Object>;
  return all;
}

class VulkanUnderTest : public conformance::FrameworkUnderTest {
 public:
  std::string_view name() const override { return "vulkan"; }
  Context make_context() override { return main_context(); }
  /// Each type; with each descriptor; a user's.
  std::vector<std::string> variants() const override {
    std::vector<std::string> names{"device", "host", "wrapped"};
    if (vulkan::contexts().empty()) return names;  // make_context() says why nothing runs.
    for (const auto& [variant, fd] : {std::pair{"exported", FdKind::kVulkanFd}, {"dmabuf", FdKind::kMemfd}})
      if (offers(fd)) names.emplace_back(variant);
    return names;
  }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    auto& buffers = *context.as<vulkan::BufferContext>();
    if (variant == "exported") return {buffers.allocate_exported(wanted, FdKind::kVulkanFd), {}};
    if (variant == "dmabuf") return {buffers.allocate_exported(wanted, buffers.native().dmabuf_export()), {}};
    if (variant != "wrapped")
      return {buffers.allocate(wanted, variant == "host" ? vulkan::MemoryType::kHost : vulkan::MemoryType::kDevice),
              {}};
    const Ref<Memory> memory = buffers.allocate(wanted, vulkan::MemoryType::kDevice);
    vulkan::UserBuffer user;
    user.buffer = static_cast<vulkan::BufferMemory&>(*memory).buffer();
    user.size = wanted.size_bytes;
    user.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    const Ref<Memory> wrapped = vulkan::wrap(context, user, {element::u8, {wanted.size_bytes}, {}}).memory();
    users<Ref<Memory>>().keep(memory, 2, wrapped);
    return {wrapped, {}};
  }

  std::size_t live_objects() const override { return vulkan::client::Probe::handles.load(); }
  void drop_idle() override {
    drain_deferred(default_deadline());  // What waits for a point gives it back.
    users<Ref<Memory>>().drop_idle();
    users<Tensor>().drop_idle();
    if (!vulkan::contexts().empty()) make_context().as<vulkan::DeviceContext>()->native().drop_idle();
  }
  bool fail_native_call(std::size_t n) override {
    vulkan::client::Probe::failed.store(false);
    vulkan::client::Probe::countdown.store(static_cast<long>(n));
    return true;
  }
  bool native_call_failed() const override { return vulkan::client::Probe::failed.load(); }

 private:
  static bool offers(FdKind fd) {
    Requirements wanted;
    wanted.size_bytes = 4096;
    wanted.fd = fd;
    return std::holds_alternative<Offer>(main_context()->offer(wanted));
  }
};

/// Another context over the same VkDevice, with the same memory.
class SameUnderTest final : public VulkanUnderTest {
 public:
  std::string_view name() const override { return "vulkan_same"; }
  Context make_context() override {
    static const Context* context = new Context(vulkan::wrap(vulkan::handles(main_context())));
    return *context;
  }
  std::vector<std::string> variants() const override { return {"device"}; }
};

/// Another VkDevice: opaque descriptors pass, other memory goes over the host.
class OtherUnderTest final : public VulkanUnderTest {
 public:
  std::string_view name() const override { return "vulkan_other"; }
  Context make_context() override {
    static const Context* context = new Context(vulkan::make_context());
    return *context;
  }
  std::vector<std::string> variants() const override { return {"device"}; }
};

/// Images of bytes, for tensors of any shape; and pictures in their own formats.
class ImagesUnderTest final : public VulkanUnderTest {
 public:
  std::string_view name() const override { return "vulkan_image"; }
  Context make_context() override { return vulkan::images(main_context()); }
  std::vector<std::string> variants() const override {
    std::vector<std::string> names{"bytes", "pictures", "linear", "wrapped"};
    if (!vulkan::contexts().empty() && exports()) names.emplace_back("exported");
    return names;
  }

  conformance::Allocation make_memory(const Context& context, std::string_view, const Requirements& wanted) override {
    return {context->allocate(wanted), {}};
  }
  Tensor make_tensor(const Context& context, std::string_view variant, const TensorInfo& info,
                     std::size_t offset) override {
    if (variant == "bytes") return FrameworkUnderTest::make_tensor(context, variant, info, offset);
    if (!info.strides.empty() || offset != 0) return {};
    return picture(context, variant, info.type, info.shape);
  }
  Frame make_frame(const Context& context, std::string_view variant, const FrameInfo& info) override {
    if (variant == "bytes") return FrameworkUnderTest::make_frame(context, variant, info);
    if (variant == "pictures" && possible(info.format)) return vulkan::allocate_frame(context, info);
    std::vector<Tensor> planes;
    for (std::size_t p = 0; p < format_info(info.format).plane_count; ++p) {
      planes.push_back(picture(context, variant, format_info(info.format).sample, plane_shape(info, p)));
      if (!planes.back()) return {};
    }
    return Frame(info, std::move(planes));
  }
  std::vector<conformance::Exclusion> exclusions() const override {
    std::vector<conformance::Exclusion> excluded;
    if (vulkan::contexts().empty()) return excluded;
    for (PixelFormat format : {kNv12, kP010, kI420, kGray8, kYuy2, kRgb24, kBgra, kRgbPlanar}) {
      if (!possible(format))
        excluded.push_back(
            {"format:" + std::string(format_info(format).name), "Vulkan has no image format for one of its planes"});
    }
    return excluded;
  }

 private:
  static bool exports() {
    try {
      vulkan::allocate_exported_image(vulkan::images(main_context()), element::u8, {8, 64});
      return true;
    } catch (const Error& error) {
      if (error.code() != Code::kUnimplemented) throw;
      return false;
    }
  }
  static bool possible(PixelFormat format) {
    const auto& images = *vulkan::images(main_context()).as<vulkan::ImageContext>();
    for (std::size_t p = 0; p < format_info(format).plane_count; ++p)
      if (images.refusal(format_info(format).sample, plane_shape({format, 64, 48}, p), vulkan::Samples::kNormalised,
                         vulkan::Tiling::kOptimal))
        return false;
    return true;
  }
  /// Empty where there is no such image.
  static Tensor picture(const Context& context, std::string_view variant, ElementType type, const Shape& shape) {
    const auto tiling = variant == "linear" ? vulkan::Tiling::kLinear : vulkan::Tiling::kOptimal;
    if (context.as<vulkan::ImageContext>()->refusal(type, shape, vulkan::Samples::kNormalised, tiling)) return {};
    if (variant == "exported") return vulkan::allocate_exported_image(context, type, shape);
    if (variant != "wrapped") return vulkan::allocate_image(context, type, shape, tiling);
    const Tensor own = vulkan::allocate_image(context, type, shape);
    vulkan::UserImage user;
    user.image = vulkan::image(own);
    user.format = vulkan::detail::format_of(type, shape.size() == 3 ? shape[2] : 1, vulkan::Samples::kNormalised);
    user.width_px = static_cast<std::uint32_t>(shape[1]), user.height_px = static_cast<std::uint32_t>(shape[0]);
    user.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    const Tensor as = vulkan::wrap_image(context, user);
    users<Tensor>().keep(own, 2, as.memory());
    return as.shape() == shape ? as : as.reshaped(shape);
  }
};

[[maybe_unused]] const bool registered =
    conformance::add(std::make_unique<VulkanUnderTest>()) && conformance::add(std::make_unique<SameUnderTest>()) &&
    conformance::add(std::make_unique<OtherUnderTest>()) && conformance::add(std::make_unique<ImagesUnderTest>());

}  // namespace vulkan_conformance
