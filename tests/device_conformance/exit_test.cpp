// SPDX-License-Identifier: Apache-2.0
// A process that ends while an inference runs: in a static request, in one that is never destroyed, from another thread, within a
// callback. Each in a process of its own, which ends as it would have without the inference.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <latch>
#include <memory>
#include <thread>

#include <tenon/tests/device_conformance/suite.hpp>

namespace tenon::testing {
namespace exit_test {

/// Takes some hundredths of a second on a processor.
std::shared_ptr<Model> long_model() {
  constexpr std::size_t kExtent = 320;
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{kExtent, kExtent});
  Output<Node> value = x->output(0);
  for (int i = 0; i < 12; ++i)
    value = std::make_shared<op::v0::Relu>(std::make_shared<op::v0::MatMul>(value, x->output(0))->output(0))->output(0);
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(value)}, ParameterVector{x}, "long");
}

class Exit : public OnDevice {
 protected:
  Exit() { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
  /// Never destroyed, like a handle of the C API that was not released.
  CompiledModel& lost_model() { return *new CompiledModel((new Core)->compile_model(long_model(), name)); }
  InferRequest& lost_request() { return lost_request(lost_model()); }
  static InferRequest& lost_request(CompiledModel& model) {
    auto& request = *new InferRequest(model.create_infer_request());
    request.get_input_tensor();
    return request;
  }
  /// What an exit by any other thread is ordered after: see process_end.hpp.
  static void wait_for_compilation_in_background(const CompiledModel& model) {
    for (int i = 0; i < 3000 && model.get_property(execution_devices).front().front() == '('; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
};
TENON_ON_EVERY_DEVICE(Exit);

InferRequest request_of_the_program;

TEST_P(Exit, WaitsForARequestThatIsLost) {
  const auto end = [this] {
    lost_request().start_async();
    std::exit(7);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(7), "");
}

TEST_P(Exit, WaitsForAStaticRequest) {
  const auto end = [this] {
    request_of_the_program = lost_request();
    request_of_the_program.start_async();
    std::exit(7);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(7), "");
}

TEST_P(Exit, WaitsForARequestThatStartsAgain) {
  const auto end = [this] {
    InferRequest& request = lost_request();
    request.set_callback([&request](std::exception_ptr) { request.start_async(); });
    request.start_async();
    std::exit(7);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(7), "");
}

TEST_P(Exit, MayComeFromAnotherThread) {
  const auto end = [this] {
    CompiledModel& model = lost_model();
    InferRequest& request = lost_request(model);
    std::latch first_is_over(1);
    std::thread([&] {
      try {
        request.infer();
        first_is_over.count_down();
        for (;;) request.infer();
      } catch (const Error&) {  // No inference can start any more.
        std::this_thread::sleep_for(std::chrono::seconds(60));
      }
    }).detach();
    first_is_over.wait();
    wait_for_compilation_in_background(model);
    std::thread([] { std::exit(7); }).join();
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(7), "");
}

TEST_P(Exit, MayComeWithinACallback) {
  const auto end = [this] {
    InferRequest &request = lost_request(), &other = lost_request();
    std::latch other_started(1);
    request.set_callback([&](std::exception_ptr) {
      other_started.wait();
      std::exit(7);
    });
    request.start_async();
    other.start_async();
    other_started.count_down();
    std::this_thread::sleep_for(std::chrono::seconds(60));
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(7), "");
}

}  // namespace exit_test
}  // namespace tenon::testing
