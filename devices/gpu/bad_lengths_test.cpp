// SPDX-License-Identifier: Apache-2.0
// Lengths that a model with states cannot have, and states of other devices: clear errors, and states as before them.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::gpu_testing {
namespace bad_lengths_test {

using op::v0::Constant;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Rows [?, 4] are appended to the state "past"; y is the sum of its rows, repeated `times` (an input) along both axes.
std::shared_ptr<Model> growing_model() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1, 4});
  x->output(0).set_names({"x"});
  const auto times = std::make_shared<op::v0::Parameter>(element::i64, PartialShape{2});
  times->output(0).set_names({"times"});
  const auto past =
      make_node("ReadValue", 6, {Constant::create(element::f32, Shape{0, 4}, std::vector<double>{})},
                {{"variable_id", "past"}, {"variable_shape", PartialShape{-1, 4}}, {"variable_type", element::f32}});
  const auto all = make_node("Concat", 1, {past, x}, {{"axis", std::int64_t{0}}});
  const auto assign = make_node("Assign", 6, {all}, Attributes{{"variable_id", "past"}});
  const auto sum =
      make_node("ReduceSum", 1, {all, Constant::create(element::i64, Shape{1}, {0})}, {{"keep_dims", true}});
  const auto y = make_node("Tile", 0, {sum, times}, {}, "the tile");
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y}, SinkVector{assign}, ParameterVector{x, times}, "growing");
}

class GpuLengths : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (IsSkipped()) return;
    request = core.compile_model(growing_model(), "GPU").create_infer_request();
  }
  void infer(std::size_t rows, std::int64_t down, std::int64_t across) {
    Tensor x(element::f32, Shape{rows, 4}), times(element::i64, Shape{2});
    std::fill_n(x.data<float>(), rows * 4, 1.0f);
    times.data<std::int64_t>()[0] = down;
    times.data<std::int64_t>()[1] = across;
    request.set_tensor("x", x);
    request.set_tensor("times", times);
    request.infer();
  }
  Shape past() { return request.query_state().at(0).get_state().shape(); }

  InferRequest request;
};

TEST_F(GpuLengths, OfZeroAreLengths) {
  infer(0, 1, 1);
  EXPECT_EQ(past(), (Shape{0, 4}));
  EXPECT_EQ(request.get_tensor("y").data<float>()[3], 0);
  infer(3, 1, 1);
  infer(0, 0, 1);
  EXPECT_EQ(past(), (Shape{3, 4}));
  EXPECT_EQ(request.get_tensor("y").shape(), (Shape{0, 4}));
  infer(0, 2, 1);
  EXPECT_EQ(request.get_tensor("y").data<float>()[7], 3);
}

TEST_F(GpuLengths, ThatCannotBeLeaveTheStatesAsTheyWere) {
  infer(3, 1, 1);
  const auto most = static_cast<std::int64_t>(gpu_device::find_gpu("")->memory_bytes() / sizeof(float));
  const struct {
    std::int64_t down, across;
    const char* what;
  } cases[] = {{std::int64_t{1} << 29, 1, "2147483647 elements"},
               {std::int64_t{1} << 62, std::int64_t{1} << 62, "overflows"},
               {most, 1, "the tile"}};
  for (const auto& [down, across, what] : cases) {
    const Error error = error_of([&, d = down, a = across] { infer(2, d, a); });
    EXPECT_THAT(error.what(), HasSubstr(what));
    EXPECT_EQ(past(), (Shape{3, 4})) << error.what();
    infer(0, 1, 1);
    EXPECT_EQ(request.get_tensor("y").data<float>()[0], 3) << "after: " << error.what();
  }
  infer(2, 1, 1);
  EXPECT_EQ(request.get_tensor("y").data<float>()[0], 5);
  EXPECT_EQ(past(), (Shape{5, 4}));
}

TEST_F(GpuLengths, AStateMayComeFromAnyDevice) {
  infer(3, 1, 1);
  const auto state = [&] { return request.query_state().at(0); };
  // A remote tensor is memory of a device; its bytes are the state's next value.
  Tensor two(element::f32, Shape{2, 4});
  std::fill_n(two.data<float>(), 8, 10.0f);
  const auto gpus = gpu_device::all_gpus();
  RemoteTensor remote = core.get_default_context(gpus.back()->device_name()).create_tensor(element::f32, Shape{2, 4});
  remote.copy_from(two);
  state().set_state(remote);
  remote.copy_from(Tensor(element::f32, Shape{2, 4}));  // The state has a copy.
  infer(0, 1, 1);
  EXPECT_EQ(request.get_tensor("y").data<float>()[0], 20);
  // Other types are converted.
  RemoteTensor whole = core.get_default_context(gpus.back()->device_name()).create_tensor(element::i32, Shape{2, 4});
  Tensor fives(element::i32, Shape{2, 4});
  std::fill_n(fives.data<std::int32_t>(), 8, 5);
  whole.copy_from(fives);
  state().set_state(whole);
  infer(0, 1, 1);
  EXPECT_EQ(request.get_tensor("y").data<float>()[0], 10);
  state().set_state(two);
  infer(0, 1, 1);
  const Error error = error_of([&] {
    state().set_state(core.get_default_context(gpus.back()->device_name()).create_tensor(element::f32, Shape{2, 5}));
  });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("'past'"), HasSubstr("[?,4]"), HasSubstr("[2,5]")));
  infer(0, 1, 1);
  EXPECT_EQ(request.get_tensor("y").data<float>()[0], 20);
}

}  // namespace bad_lengths_test
}  // namespace tenon::gpu_testing
