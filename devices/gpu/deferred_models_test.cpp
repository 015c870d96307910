// SPDX-License-Identifier: Apache-2.0
// Models that are planned for their inputs: what a plan that is known costs, and requests that plan side by side.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/tests/device_conformance/allocation_count.hpp>

namespace tenon::gpu_testing {
namespace open_models_test {

using ::testing::Each;

TEST_F(Gpu, APlanThatIsKnownCostsNoAllocation) {
  auto model = line_model();
  model->reshape(PartialShape{Dimension::dynamic()});
  auto request = core.compile_model(model, "GPU").create_infer_request();
  Tensor x(element::f32, Shape{kCount}), y(element::f32, Shape{kCount});
  std::fill_n(x.data<float>(), kCount, 4.0f);
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  for (int i = 0; i < 10; ++i) request.infer();
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int attempt = 0; attempt < 3; ++attempt) {  // A thread of an earlier test may still end.
    const std::int64_t before = testing::own_allocations();
    for (int i = 0; i < 20; ++i) request.infer();
    least = std::min(least, testing::own_allocations() - before);
  }
  EXPECT_EQ(least, 0);
  EXPECT_THAT(std::vector<float>(y.data<float>(), y.data<float>() + kCount), Each(9.0f));
}

/// Requests of one model at once, each with shapes of its own and with shared ones.
TEST_F(Gpu, RequestsPlanSideBySide) {
  auto model = line_model();
  model->reshape(PartialShape{Dimension::dynamic()});
  auto compiled = core.compile_model(model, "GPU");
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      auto request = compiled.create_infer_request();
      for (std::size_t turn = 1; turn <= 20; ++turn) {
        const std::size_t count = turn % 2 ? turn : 100 * (thread + 1) + turn;
        Tensor x(element::f32, Shape{count});
        std::fill_n(x.data<float>(), count, 4.0f);
        request.set_tensor("x", x);
        request.infer();
        const Tensor y = request.get_tensor("y");
        ASSERT_EQ(y.element_count(), count);
        ASSERT_THAT(std::vector<float>(y.data<float>(), y.data<float>() + count), Each(9.0f));
      }
    });
}

}  // namespace open_models_test
}  // namespace tenon::gpu_testing
