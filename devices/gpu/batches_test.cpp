// SPDX-License-Identifier: Apache-2.0
// Batches in several tensors that the GPU's first kernel cannot take: copied by the device, or refused.
#include <tenon/devices/gpu/testing/pictures.hpp>

namespace tenon::gpu_testing {
namespace batches_test {

using ::testing::HasSubstr;

/// x of [count, 8] times a matrix: no kernel that takes several pointers reads x first.
std::shared_ptr<Model> matrix_model(std::size_t count) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{count, 8}));
  x->output(0).set_names({"x"});
  std::vector<double> weights(64);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 5);
  auto product =
      make_node("MatMul", 1, {x, op::v0::Constant::create(element::f32, Shape{8, 8}, weights)}, {}, "product");
  return std::make_shared<Model>(OutputVector{product}, ParameterVector{x}, "matrix");
}

/// Batches in as many tensors as items.
struct Batch {
  std::vector<Tensor> host, remote;
  Batch(ClContext& context, std::size_t count) {
    for (std::size_t item = 0; item < count; ++item) {
      host.emplace_back(element::f32, Shape{1, 8});
      for (std::size_t i = 0; i < 8; ++i) host.back().data<float>()[i] = static_cast<float>(item * 3 + i);
      RemoteTensor tensor = context.create_tensor(element::f32, Shape{1, 8});
      tensor.copy_from(host.back());
      remote.push_back(tensor);
    }
  }
};

TEST_F(Pictures, BatchesThatAKernelCannotTakeAreCopiedOnceByTheDevice) {
  ClContext context(core);
  for (const std::size_t count : {3, 40}) {  // A kernel takes no 40 items: a launch copies each of them.
    const auto model = matrix_model(count);
    auto request = core.compile_model(model, context).create_infer_request();
    const Batch batch(context, count);
    request.set_input_tensors(0, batch.remote);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(infer_in(context, request), judged(model, {batch.host}));
    EXPECT_EQ(request.ledger().total().copied, 2 * count * 32);
    EXPECT_EQ(moved_beside_results(request.ledger()), request.ledger().total().copied);
    EXPECT_THROW(request.get_input_tensor(0), Error);
    auto strict = core.compile_model(model, context, zero_copy(ZeroCopy::kRequire)).create_infer_request();
    strict.set_input_tensors(0, batch.remote);
    EXPECT_THAT(error_of([&] { strict.infer(); }).what(),
                ::testing::AllOf(HasSubstr("require"), HasSubstr(std::to_string(count * 32) + " bytes")));
  }
}

TEST_F(Pictures, BatchesOfOtherMemoryAreRefusedOrMerged) {
  ClContext context(core);
  auto request = core.compile_model(matrix_model(3), context).create_infer_request();
  const Batch batch(context, 3);
  std::vector<Tensor> mixed = batch.remote;
  mixed[1] = context.create_image_tensor(element::f32, Shape{1, 8});
  EXPECT_THAT(error_of([&] { request.set_input_tensors(0, mixed); }).what(),
              HasSubstr("All blobs must be of the same type"));
  Application other;
  ClContext elsewhere(core, other.context);
  mixed[1] = elsewhere.create_tensor(element::f32, Shape{1, 8});
  EXPECT_THAT(error_of([&] { request.set_input_tensors(0, mixed); }).what(), HasSubstr("cl_context"));
  // Where the device shares the host's memory, that lies as well as its own.
  request.set_input_tensors(0, batch.host);
  request.infer();
  EXPECT_EQ(values_of(request.get_output_tensor(0)), judged(matrix_model(3), {batch.host}));
  // One tensor ends the batch.
  Tensor whole(element::f32, Shape{3, 8});
  std::fill_n(whole.data<float>(), 24, 1.0f);
  request.set_input_tensor(0, whole);
  request.infer();
  EXPECT_EQ(values_of(request.get_output_tensor(0)), judged(matrix_model(3), {{whole}}));
}

TEST_F(Pictures, BatchesOfOpenShapes) {
  ClContext context(core);
  auto model = matrix_model(3);
  model->reshape(PartialShape{-1, 8});
  auto request = core.compile_model(model, context).create_infer_request();
  for (const std::size_t count : {2, 5, 2}) {
    const Batch batch(context, count);
    request.set_input_tensors(0, batch.remote);
    request.infer();
    EXPECT_EQ(values_of(request.get_output_tensor(0)), judged(matrix_model(count), {batch.host}));
  }
}

TEST_F(Pictures, EveryCallOfABatchMayFail) {
  ClContext context(core);
  auto compiled = core.compile_model(matrix_model(3), context);
  const Batch batch(context, 3);
  const std::vector<float> wanted = judged(matrix_model(3), {batch.host});
  testing::fail_each_call<opencl::client::Probe>(
      "CL_OUT_OF_RESOURCES",
      [&] {
        auto request = compiled.create_infer_request();
        request.set_input_tensors(0, batch.remote);
        request.infer();
        return values_of(request.get_output_tensor(0));
      },
      [&](const std::vector<float>& values) { ASSERT_EQ(values, wanted); });
}

}  // namespace batches_test
}  // namespace tenon::gpu_testing
