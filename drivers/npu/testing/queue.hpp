// SPDX-License-Identifier: Apache-2.0
// For tests: a queue with a fence and a pool of events.
#pragma once

#include <tenon/drivers/npu/testing/client.hpp>

namespace tenon::npu::test {

class QueueTest : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    queue = make_queue();
    fence = make_fence(queue);
    pool = make_pool(16);
  }
  void TearDown() override {
    EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
    if (queue) {
      EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    }
    EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
    NpuTest::TearDown();
  }
  ze_result_t submit(ze_command_list_handle_t list, ze_fence_handle_t with = nullptr) {
    return zeCommandQueueExecuteCommandLists(queue, 1, &list, with);
  }
  ze_command_queue_handle_t queue = nullptr;
  ze_fence_handle_t fence = nullptr;
  ze_event_pool_handle_t pool = nullptr;
};

}  // namespace tenon::npu::test
