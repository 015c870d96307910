// SPDX-License-Identifier: Apache-2.0
// BATCH: when requests become one inference, and when they run alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <tenon/graph/ops.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/composite_devices/gated_device.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::testing {
namespace batch_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> values_of(InferRequest& request) {
  const Tensor y = request.get_output_tensor();
  return {y.data<float>(), y.data<float>() + y.element_count()};
}

class Batch : public ::testing::Test {
 protected:
  void SetUp() override {
    register_gated_device();
    gate.reset();
  }
  void TearDown() override { gate.reset(); }
  static Tensor input(float first) {
    Tensor x(element::f32, {1, 4});
    const float values[4] = {first, -1, first + 1, -2};
    std::copy_n(values, 4, x.data<float>());
    return x;
  }
  Core core;
};

TEST_F(Batch, JoinsRequestsThatAreInFlight) {
  auto model = core.compile_model(relu_model(PartialShape{1, 4}), "BATCH:GATED(2)", auto_batch_timeout(60000));
  EXPECT_EQ(model.get_property(optimal_batch_size), 2u);
  EXPECT_GE(model.get_property(optimal_number_of_infer_requests), 2u);
  InferRequest requests[4];
  for (std::size_t i = 0; i < 4; ++i) {
    requests[i] = model.create_infer_request();
    requests[i].set_input_tensor(input(static_cast<float>(10 * i)));
  }
  for (int round = 1; round <= 2; ++round) {
    for (InferRequest& request : requests) request.start_async();
    for (InferRequest& request : requests) request.wait();
    EXPECT_EQ(gate.inferred, 2 * round) << "two inferences for four requests";
    for (std::size_t i = 0; i < 4; ++i) {
      const auto first = static_cast<float>(10 * i);
      EXPECT_THAT(values_of(requests[i]), ElementsAre(first, 0, first + 1, 0));
    }
  }
  EXPECT_EQ(requests[0].ledger().total().copied, 2 * 4 * sizeof(float)) << "the rows of the results";
}

TEST_F(Batch, ARequestThatStaysAloneRunsAfterItsTime) {
  auto model = core.compile_model(relu_model(PartialShape{1, 4}), "BATCH:GATED(2)", auto_batch_timeout(5));
  auto request = model.create_infer_request();
  request.set_input_tensor(input(7));
  request.infer();
  EXPECT_THAT(values_of(request), ElementsAre(7, 0, 8, 0));
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(Batch, AFailureIsThatOfEveryRequestOfTheBatch) {
  auto model = core.compile_model(relu_model(PartialShape{1, 4}), "BATCH:GATED(2)", auto_batch_timeout(60000));
  InferRequest requests[2] = {model.create_infer_request(), model.create_infer_request()};
  for (InferRequest& request : requests) request.set_input_tensor(input(1));
  gate.fail_infer = true;
  for (InferRequest& request : requests) request.start_async();
  for (InferRequest& request : requests)
    EXPECT_THAT(error_of([&] { request.wait(); }).what(), HasSubstr("GATED lost its device"));
  gate.fail_infer = false;
  for (InferRequest& request : requests) request.start_async();
  for (InferRequest& request : requests) request.wait();
  EXPECT_THAT(values_of(requests[1]), ElementsAre(1, 0, 2, 0));
}

/// Where items cannot be told apart, the device runs the model as it is.
TEST_F(Batch, ModelsWithoutItemsRunAsTheyAre) {
  const auto x = [] { return std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4}); };
  const auto model_of = [](const std::shared_ptr<op::v0::Parameter>& parameter, const std::shared_ptr<Node>& node) {
    return std::make_shared<Model>(OutputVector{node->output(0)}, ParameterVector{parameter});
  };
  const auto first = x(), second = x(), third = x();
  const auto axis = op::v0::Constant::create(element::i64, Shape{1}, {0});
  const std::shared_ptr<Model> models[] = {
      relu_model(PartialShape{3, 4}),
      model_of(first, make_node("Softmax", 8, {first->output(0)}, {{"axis", std::int64_t{0}}})),
      model_of(second,
               make_node("Add", 1,
                         {second->output(0),
                          make_node("ReduceMean", 1, {second->output(0), axis}, {{"keep_dims", true}})->output(0)})),
      model_of(third, make_node("MatMul", 0, {third->output(0), third->output(0)},
                                {{"transpose_a", false}, {"transpose_b", true}}))};
  for (const auto& model : models) {
    auto compiled = core.compile_model(model, "BATCH:TEMPLATE(2)");
    EXPECT_NO_THROW(compiled.create_infer_request().infer());
    EXPECT_THROW(compiled.get_property(auto_batch_timeout.name()), Error);
  }
}

TEST_F(Batch, ADeviceWithoutABestSizeRunsRequestsAlone) {
  auto model = core.compile_model(relu_model(), "BATCH:TEMPLATE");
  EXPECT_NO_THROW(model.create_infer_request().infer());
  EXPECT_THROW(model.get_property(auto_batch_timeout.name()), Error);
}

TEST_F(Batch, ItsListIsOneDeviceAndANumber) {
  for (const char* name : {"BATCH", "BATCH:GATED)", "BATCH:GATED(0)", "BATCH:GATED(x)", "BATCH:GATED(2),CPU(2)",
                           "BATCH:(2)", "BATCH:GATED(2", "BATCH:GATED(99999)"})
    EXPECT_THAT(error_of([&] { core.compile_model(relu_model(), name); }).what(), HasSubstr("BATCH:GPU(4)")) << name;
  EXPECT_THAT(error_of([&] { core.compile_model(relu_model(), "BATCH:NONE(2)"); }).what(), HasSubstr("NONE"));
  EXPECT_THAT(error_of([&] {
                core.compile_model(relu_model(), "BATCH:GATED(2)", AnyMap{{"NO_SUCH", 1}});
              }).what(),
              HasSubstr("NO_SUCH"));
}

}  // namespace batch_test
}  // namespace tenon::testing
