// SPDX-License-Identifier: Apache-2.0
// Which thread ends an inference: one that waits for it, or one of the model's.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/devices/npu/completion.hpp>
#include <tenon/devices/npu/testing/npu.hpp>

namespace tenon::npu_testing {
namespace completion_test {

using npu_device::Completion;

struct Inference final : npu_device::Pending {
  std::thread::id waited_by;
  std::atomic<bool> is_over{false};
  void wait() noexcept override { waited_by = std::this_thread::get_id(); }
  void report() noexcept override { is_over = true; }
  void wait_until_over() const {
    while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

class NpuCompletion : public ::testing::Test {
 protected:
  ~NpuCompletion() override { completion->stop(); }
  void add(Inference& inference) const {
    completion->reserve();
    completion->add(inference);
  }
  const std::shared_ptr<Completion> completion = std::make_shared<Completion>();
};

TEST_F(NpuCompletion, AnInferenceForWhichNoThreadWaitsEndsAllTheSame) {
  // Before, while and after callers end theirs.
  for (const int ended_here : {0, 100, 0}) {
    for (int i = 0; i < ended_here; ++i) {
      Inference inference;
      add(inference);
      if (!completion->end_here(inference)) inference.wait_until_over();
    }
    std::vector<Inference> left(3);
    for (Inference& inference : left) add(inference);
    for (const Inference& inference : left) {
      inference.wait_until_over();
      EXPECT_NE(inference.waited_by, std::this_thread::get_id());
    }
    for (Inference& inference : left) EXPECT_FALSE(completion->end_here(inference)) << "it is over";
    std::this_thread::sleep_for(std::chrono::milliseconds(ended_here > 0 ? 20 : 0));
  }
}

TEST_F(NpuCompletion, ACallerThatWaitsEndsItsOwn) {
  // Another thread may be faster now and then.
  int mine = 0;
  for (int i = 0; i < 1000; ++i) {
    Inference inference;
    add(inference);
    const bool here = completion->end_here(inference);
    inference.wait_until_over();
    EXPECT_EQ(here, inference.waited_by == std::this_thread::get_id());
    mine += here;
  }
  EXPECT_GT(mine, 0);
}

TEST_F(NpuCompletion, EachOfSeveralIsEndedOnce) {
  for (int round = 0; round < 200; ++round) {
    std::vector<Inference> all(4);
    for (Inference& inference : all) add(inference);
    std::thread other([&] {
      for (std::size_t i = all.size(); i-- > 2;) completion->end_here(all[i]);
    });
    completion->end_here(all[0]);
    for (const Inference& inference : all) inference.wait_until_over();
    other.join();
  }
}

TEST_F(Npu, WaitersEndTheirOwnInferences) {
  auto compiled = core.compile_model(relu(), "NPU");
  std::vector<InferRequest> requests;
  for (int i = 0; i < 6; ++i) requests.push_back(compiled.create_infer_request());
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i].set_tensor("x", floats({1, 4}, {static_cast<float>(round), -1, static_cast<float>(i), -2}));
      requests[i].start_async();
    }
    std::thread other([&] {
      for (std::size_t i = requests.size(); i-- > 0;) requests[i].wait();
    });
    for (InferRequest& request : requests) request.wait();
    other.join();
    for (std::size_t i = 0; i < requests.size(); ++i)
      ASSERT_THAT(values_of(requests[i].get_tensor("y")),
                  ::testing::ElementsAre(static_cast<float>(round), 0, static_cast<float>(i), 0));
  }
}

}  // namespace completion_test
}  // namespace tenon::npu_testing
