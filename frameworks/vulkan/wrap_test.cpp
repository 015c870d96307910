// SPDX-License-Identifier: Apache-2.0
// A user's VkDevice, buffers and images: wrapped, adopted, refused.
#include <tenon/frameworks/vulkan/testing/vulkan.hpp>

#include <tenon/core/frame.hpp>

namespace tenon::vulkan {
namespace wrap_test {

using ::testing::HasSubstr;

constexpr VkBufferUsageFlags kTransfers = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

class VulkanWrap : public VulkanFixture {};

TEST_F(VulkanWrap, AUsersDeviceIsBorrowed) {
  UsersDevice user;
  const Context wrapped = vulkan::wrap(user.handles());
  EXPECT_TRUE(same_device(wrapped, context));
  const Tensor tensor = allocate(wrapped, MemoryType::kDevice, bytes_info(100));
  write(tensor, counted(100, 1));
  EXPECT_EQ(bytes_of(tensor), counted(100, 1));
  Handles wrong = user.handles();
  wrong.queue = VK_NULL_HANDLE;
  EXPECT_THAT(error_of([&] { vulkan::wrap(wrong); }, Code::kInvalidArgument), HasSubstr("a null VkQueue"));
  wrong = user.handles();
  wrong.queue_family = 99;
  EXPECT_THAT(error_of([&] { vulkan::wrap(wrong); }, Code::kInvalidArgument), HasSubstr("queue family 99"));
  wrong = user.handles();
  wrong.extensions = {"VK_TENON_none"};
  EXPECT_THAT(error_of([&] { vulkan::wrap(wrong); }, Code::kInvalidArgument), HasSubstr("VK_TENON_none"));
  EXPECT_THAT(error_of([&] { vulkan::wrap(Handles()); }, Code::kInvalidArgument), HasSubstr("a null VkInstance"));
  // What the user does not name is not used.
  wrong = user.handles();
  wrong.extensions = {};
  const Context bare = vulkan::wrap(wrong);
  EXPECT_THAT(error_of([&] { allocate_exported(bare, bytes_info(10)); }, Code::kUnimplemented),
              HasSubstr("VK_KHR_external_memory_fd"));
  EXPECT_THAT(error_of([&] { allocate_exported(bare, bytes_info(10), FdKind::kDmabuf); }, Code::kUnimplemented),
              HasSubstr("dma-buf"));
}

TEST_F(VulkanWrap, AUsersBufferIsWrapped) {
  const Tensor owner = allocate(context, MemoryType::kHost, bytes_info(4096));
  UserBuffer user;
  user.buffer = buffer(owner);
  user.size = 4096;
  user.usage = kTransfers;
  const Tensor part = vulkan::wrap(context, user, bytes_info(50), 100);
  write(owner, counted(4096, 0));
  EXPECT_EQ(part.offset(), 100u);
  EXPECT_EQ(bytes_of(part), counted(50, 100));
  EXPECT_EQ(part.memory()->identity(), owner.memory()->identity()) << "two wraps share their state";
  EXPECT_FALSE(part.is_host_addressable());
  user.host = owner.data();
  EXPECT_EQ(vulkan::wrap(context, user, bytes_info(50), 100).data(), static_cast<std::byte*>(owner.data()) + 100);
  user.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  EXPECT_THAT(error_of([&] { vulkan::wrap(context, user, bytes_info(1)); }, Code::kInvalidArgument),
              HasSubstr("VK_BUFFER_USAGE_TRANSFER_SRC_BIT"));
  user.usage = kTransfers;
  EXPECT_THAT(error_of([&] { vulkan::wrap(context, user, bytes_info(10), 4090); }, Code::kOutOfRange),
              HasSubstr("the buffer has 6 from there on"));
  user.read_only = true;
  EXPECT_THAT(
      error_of([&] { write(vulkan::wrap(context, user, bytes_info(10)), counted(10, 0)); }, Code::kPermissionDenied),
      HasSubstr("read-only"));
  user.buffer = VK_NULL_HANDLE;
  EXPECT_THAT(error_of([&] { vulkan::wrap(context, user, bytes_info(1)); }, Code::kInvalidArgument),
              HasSubstr("a null VkBuffer"));
}

TEST_F(VulkanWrap, TheReleaseOfAdoptedMemoryIsCalledOnceOnEveryPath) {
  const Tensor owner = allocate(context, MemoryType::kDevice, bytes_info(64));
  UserBuffer user;
  user.buffer = buffer(owner);
  user.size = 64;
  user.usage = kTransfers;
  int released = 0;
  const auto release = [&] { ++released; };
  {
    Tensor adopted = adopt(context, user, bytes_info(64), release);
    const Tensor copy = adopted;
    adopted = {};
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_THROW(adopt(context, user, bytes_info(65), release), Error);
  EXPECT_EQ(released, 2);
  EXPECT_THROW(adopt(host_context(), user, bytes_info(64), release), Error);
  EXPECT_EQ(released, 3);
  UserImage image;
  EXPECT_THROW(adopt_image(images(context), image, release), Error);
  EXPECT_EQ(released, 4);
  EXPECT_THROW(adopt_frame(images(context), image, {kNv12, 4, 4}, release), Error);
  EXPECT_EQ(released, 5);
}

TEST_F(VulkanWrap, AUsersImageKeepsItsLayout) {
  const Tensor owner = allocate_image(images(context), element::u8, {4, 16, 4});
  write(owner, counted(256, 1));
  UserImage user;
  user.image = image(owner);
  user.format = VK_FORMAT_R8G8B8A8_UNORM;
  user.width_px = 16, user.height_px = 4;
  user.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  user.layout = layout(owner);
  int released = 0;
  {
    const Tensor wrapped = adopt_image(images(context), user, [&] { ++released; });
    EXPECT_EQ(wrapped.shape(), (Shape{4, 16, 4}));
    EXPECT_EQ(bytes_of(wrapped), counted(256, 1));
    EXPECT_EQ(layout(wrapped), VK_IMAGE_LAYOUT_GENERAL);
    const Frame frame = wrap_frame(images(context), user, {kRgba, 16, 4});
    EXPECT_EQ(bytes_of(frame.plane(0)), counted(256, 1));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_THAT(error_of(
                  [&] {
                    wrap_frame(images(context), user, {kNv12, 16, 4});
                  },
                  Code::kInvalidArgument),
              HasSubstr("is no nv12"));
  user.format = VK_FORMAT_BC1_RGB_UNORM_BLOCK;
  EXPECT_THAT(error_of([&] { wrap_image(images(context), user); }, Code::kUnimplemented), HasSubstr("no element type"));
  user.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
  EXPECT_THAT(error_of([&] { wrap_image(images(context), user); }, Code::kInvalidArgument),
              HasSubstr("VK_IMAGE_USAGE_TRANSFER_SRC_BIT"));
}

}  // namespace wrap_test
}  // namespace tenon::vulkan
