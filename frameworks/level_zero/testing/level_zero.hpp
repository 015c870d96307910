// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of this folder: a context on the first device, and counts of handles and descriptors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/level_zero/contexts.hpp>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/tests/support/error_of.hpp>  // IWYU pragma: export
#include <tenon/tests/support/named_driver.hpp>

namespace tenon::level_zero {

/// Checks that handles, allocations and descriptors are released at the end. Skipped, with a reason, without a driver.
class LevelZeroFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    contexts();  // The process's contexts stay.
    try {
      make_context();  // One-time setup in drivers.
      fds_before_ = open_fds();
      handles_before_ = detail::Probe::handles.load();
      context = make_context();
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable || driver_is_named()) throw;
      GTEST_SKIP() << error.what();
    }
    router->add(context);
    router->add(host_context());
    router->add(dmabuf::context());
  }
  void TearDown() override {
    detail::Probe::countdown = 0;
    if (!context) return;
    router.reset();
    context = {};
    EXPECT_EQ(detail::Probe::handles.load(), handles_before_) << "handles were left behind, or given back twice";
    EXPECT_EQ(open_fds(), fds_before_) << "descriptors were left behind";
  }

  static std::size_t open_fds() {
    using Iterator = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(Iterator("/proc/self/fd"), Iterator()));
  }
  UsmContext& usm() { return *context.as<UsmContext>(); }
  static std::vector<std::uint8_t> counted(std::size_t size, std::uint8_t from) {
    std::vector<std::uint8_t> bytes(size);
    std::iota(bytes.begin(), bytes.end(), from);
    return bytes;
  }
  /// The bytes as the device reads them.
  static std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
    std::vector<std::uint8_t> bytes(tensor.size_bytes());
    tensor.context()->read(tensor, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }
  static void write(const Tensor& tensor, const std::vector<std::uint8_t>& bytes) {
    tensor.context()->write(tensor, std::as_bytes(std::span(bytes)));
  }
  static TensorInfo bytes_info(std::size_t size) { return {element::u8, {size}, {}}; }
  /// An event that the host signals, from a pool of its own.
  struct UserEvent {
    ze_event_pool_handle_t pool = nullptr;
    ze_event_handle_t event = nullptr;
    UserEvent() = default;
    UserEvent(const UserEvent&) = delete;
    ~UserEvent() { destroy(); }
    void destroy() {
      if (event) zeEventDestroy(std::exchange(event, nullptr));
      if (pool) zeEventPoolDestroy(std::exchange(pool, nullptr));
    }
  };
  void make_event(UserEvent& made) { make_event(made, context); }
  static void make_event(UserEvent& made, const Context& context) {
    auto pool = detail::typed<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
    pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    pool.count = 1;
    ze_device_handle_t device = level_zero::device(context).handle;
    ASSERT_EQ(zeEventPoolCreate(handle(context), &pool, 1, &device, &made.pool), ZE_RESULT_SUCCESS);
    auto event = detail::typed<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
    event.signal = event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    ASSERT_EQ(zeEventCreate(made.pool, &event, &made.event), ZE_RESULT_SUCCESS);
  }

  Context context;
  std::unique_ptr<Router> router = std::make_unique<Router>();

 private:
  std::size_t handles_before_ = 0, fds_before_ = 0;
};

}  // namespace tenon::level_zero
