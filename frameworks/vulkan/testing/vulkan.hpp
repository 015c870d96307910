// SPDX-License-Identifier: Apache-2.0
// Shared by tests of Vulkan: a user's VkDevice, submissions that a test can hold up, counts, and what the validation layer says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/vulkan/client.hpp>
#include <tenon/frameworks/vulkan/contexts.hpp>

#include <tenon/tests/support/error_of.hpp>  // IWYU pragma: export
#include <tenon/tests/support/tensor_bytes.hpp>

namespace tenon::vulkan {

inline bool under_validation() {
  const char* wanted = std::getenv("TENON_TEST_VULKAN");
  return wanted && std::strcmp(wanted, "validation") == 0;
}

/// A program's own VkInstance and VkDevice, on the loader's first device. Under the validation layer, with a messenger whose
/// messages are failures of the running test.
class UsersDevice {
 public:
  UsersDevice() {
    const detail::Loaded& loader = detail::loader();
    auto application = detail::typed<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
    application.apiVersion = VK_API_VERSION_1_2;
    auto messenger =
        detail::typed<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
    messenger.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
    messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messenger.pfnUserCallback = heard;
    const char* const debug = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    auto info = detail::typed<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
    info.pApplicationInfo = &application;
    info.enabledExtensionCount = under_validation() ? 1 : 0;
    info.ppEnabledExtensionNames = &debug;
    detail::check(loader.create_instance(&info, nullptr, &handles_.instance), "vkCreateInstance", "a test's instance");
    calls_ = detail::find_calls(handles_.instance, loader.get_instance_proc_addr);
    if (under_validation()) {
      const auto make = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
          loader.get_instance_proc_addr(handles_.instance, "vkCreateDebugUtilsMessengerEXT"));
      make(handles_.instance, &messenger, nullptr, &messenger_);
    }
    std::uint32_t one = 1;
    calls_.vkEnumeratePhysicalDevices(handles_.instance, &one, &handles_.physical_device);
    device_ = detail::read_device(calls_, handles_.physical_device);
    std::vector<const char*> names;
    for (const char* extension :
         {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
          VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
          VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME})
      if (device_.has(extension)) names.push_back(extension), handles_.extensions.emplace_back(extension);
    const float priority = 1;
    auto queue = detail::typed<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    auto twelve =
        detail::typed<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    twelve.timelineSemaphore = VK_TRUE;
    auto made = detail::typed<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &twelve);
    made.queueCreateInfoCount = 1;
    made.pQueueCreateInfos = &queue;
    made.enabledExtensionCount = static_cast<std::uint32_t>(names.size());
    made.ppEnabledExtensionNames = names.data();
    detail::check(calls_.vkCreateDevice(handles_.physical_device, &made, nullptr, &handles_.device), "vkCreateDevice",
                  "a test's device");
    device_calls_ = detail::find_calls(calls_, handles_.device);
    device_calls_.vkGetDeviceQueue(handles_.device, 0, 0, &handles_.queue);
    handles_.queue_lock = &lock_;
  }
  UsersDevice(const UsersDevice&) = delete;
  ~UsersDevice() {
    device_calls_.vkDestroyDevice(handles_.device, nullptr);
    if (messenger_)
      reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(detail::loader().get_instance_proc_addr(
          handles_.instance, "vkDestroyDebugUtilsMessengerEXT"))(handles_.instance, messenger_, nullptr);
    calls_.vkDestroyInstance(handles_.instance, nullptr);
  }
  const Handles& handles() const { return handles_; }
  const detail::DeviceCalls& calls() const { return device_calls_; }

 private:
  static VKAPI_ATTR VkBool32 VKAPI_CALL heard(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                              const VkDebugUtilsMessengerCallbackDataEXT* said, void*) {
    ADD_FAILURE() << "the validation layer says: " << said->pMessage;
    return VK_FALSE;
  }
  Handles handles_;
  detail::InstanceCalls calls_;
  detail::DeviceCalls device_calls_;
  Device device_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::mutex lock_;
};

using tenon::testing::bytes_info;
using tenon::testing::bytes_of;
using tenon::testing::counted;
using tenon::testing::open_fds;
using tenon::testing::write;

/// Commands of the user's own, which begin when a test says so.
class HeldWork {
 public:
  explicit HeldWork(const Context& context) : native_(context.as<DeviceContext>()->native_ref()) {
    gate_ = native_->make_semaphore(0);
    end_ = native_->make_semaphore(0);
  }
  HeldWork(const HeldWork&) = delete;
  ~HeldWork() {
    let_go();
    if (done_.timeline()) done_.wait();
    native_->destroy_semaphore(gate_);
    native_->destroy_semaphore(end_);
  }
  /// Records a fill of a buffer, after the gate and what `list` waits for. @return the point of its end.
  void fill(const Tensor& tensor, std::uint32_t word, WaitList list = {}) {
    auto after = list.pairs();
    after.push_back({gate_, 1});
    const detail::SemaphoreValue signal{end_, 1};
    const auto find = reinterpret_cast<PFN_vkCmdFillBuffer>(
        native_->instance_calls().vkGetDeviceProcAddr(native_->handle(), "vkCmdFillBuffer"));
    done_ = native_->submit(
        [&](VkCommandBuffer commands) {
          record_acquire(tensor, commands);
          find(commands, buffer(tensor), tensor.offset(), tensor.size_bytes(), word);
          record_release(tensor, commands);
        },
        after, &signal);
    std::move(list).until(done_);
  }
  VkSemaphore semaphore() const { return end_; }
  void let_go() {
    if (open_) return;
    open_ = true;
    auto info = detail::typed<VkSemaphoreSignalInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO);
    info.semaphore = gate_;
    info.value = 1;
    native_->calls().vkSignalSemaphore(native_->handle(), &info);
  }

 private:
  Ref<detail::Native> native_;
  VkSemaphore gate_ = VK_NULL_HANDLE, end_ = VK_NULL_HANDLE;
  TimelinePoint done_;
  bool open_ = false;
};

/// Checks that handles and descriptors are released at the end. Skipped, with the reason, where there is no Vulkan, unless that was
/// asked for.
class VulkanFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      if (under_validation()) user_ = std::make_unique<UsersDevice>();
      make();  // What a driver and the process set up once.
      drain_deferred(default_deadline());
      fds_before_ = open_fds();
      handles_before_ = client::Probe::handles.load();
      context = make();
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable || std::getenv("TENON_TEST_VULKAN")) throw;
      GTEST_SKIP() << error.what();
    }
    router->add(context);
    router->add(images(context));
    router->add(host_context());
  }
  void TearDown() override {
    client::Probe::countdown = 0;
    if (!context) return;
    router.reset();
    context = {};
    EXPECT_TRUE(drain_deferred(default_deadline())) << "work is left";
    EXPECT_EQ(client::Probe::handles.load(), handles_before_) << "handles were left behind, or given back twice";
    EXPECT_EQ(open_fds(), fds_before_) << "descriptors were left behind";
    user_.reset();
  }
  Context make() const { return user_ ? vulkan::wrap(user_->handles()) : make_context(); }
  bool has(const char* extension) const { return context.as<BufferContext>()->native().enabled(extension); }
  bool has_dmabufs() const { return context.as<BufferContext>()->native().dmabuf_export() != FdKind::kNone; }

  Context context;
  std::unique_ptr<Router> router = std::make_unique<Router>();

 private:
  std::unique_ptr<UsersDevice> user_;
  std::size_t handles_before_ = 0, fds_before_ = 0;
};

}  // namespace tenon::vulkan
