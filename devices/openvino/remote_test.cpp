// SPDX-License-Identifier: Apache-2.0
// Remote tensors through OPENVINO.GPU: created by its context, used in place, distinguished from other contexts'.
// Runs if OpenVINO finds a GPU, or a device that claims to be one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/ledger.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace openvino_remote_test {

using ::testing::HasSubstr;

std::shared_ptr<Model> relu(const Shape& shape) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(shape));
  x->output(0).set_names({"x"});
  auto y = std::make_shared<op::v0::Relu>(x->output(0));
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y->output(0)}, ParameterVector{x}, "relu");
}

/// True if `tensor` contains 0, 1, 2... Retries, since even plain OpenVINO may return from a copy into USM memory too
/// early (seen on Intel's CPU runtime behind a layer that presents it as a GPU).
bool counts_up(RemoteTensor& tensor, Tensor back) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  do {
    tensor.copy_to(back);
    std::size_t i = 0;
    while (i < back.element_count() && back.data<float>()[i] == static_cast<float>(i)) ++i;
    if (i == back.element_count()) return true;
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

class OpenVinoRemote : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& name : core.get_available_devices())
      if (name.rfind("OPENVINO.GPU", 0) == 0 && device.empty()) device = name;
    if (device.empty()) GTEST_SKIP() << "OpenVINO finds no GPU on this machine";
    context = core.get_default_context(device);
  }
  Core core;
  std::string device;
  RemoteContext context;
};

TEST_F(OpenVinoRemote, ContextNamesItsDeviceAndHandles) {
  EXPECT_EQ(context.get_device_name(), device);
  EXPECT_GT(context.get_params().count("OCL_CONTEXT"), 0u);
  RemoteTensor tensor = context.create_tensor(element::f32, {4, 16});
  EXPECT_THAT(tensor.get_device_name(), HasSubstr("OPENVINO.GPU"));
  EXPECT_GT(tensor.get_params().count("MEM_HANDLE"), 0u);
  EXPECT_FALSE(tensor.is_host_addressable());
  EXPECT_THROW(static_cast<Tensor&>(tensor).data(), Error);
}

TEST_F(OpenVinoRemote, BytesGoInAndOut) {
  Tensor host(element::f32, {4, 16}), back(element::f32, {4, 16});
  for (int i = 0; i < 64; ++i) host.data<float>()[i] = static_cast<float>(i);
  RemoteTensor tensor = context.create_tensor(element::f32, {4, 16});
  tensor.copy_from(host);
  EXPECT_TRUE(counts_up(tensor, back));
  EXPECT_THROW(tensor.copy_from(Tensor(element::f32, {4, 15})), Error);
  EXPECT_THROW(tensor.copy_from(Tensor(element::i32, {4, 16})), Error);
  EXPECT_THROW(tensor.copy_from(Tensor()), Error);
  Tensor made;
  tensor.copy_to(made);
  EXPECT_EQ(made.shape(), (Shape{4, 16}));
}

TEST_F(OpenVinoRemote, TensorsAreUsedWhereTheyLie) {
  const Shape shape{1, 64};
  auto request = core.compile_model(relu(shape), device, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  RemoteTensor x = context.create_tensor(element::f32, shape), y = context.create_tensor(element::f32, shape);
  Tensor host(element::f32, shape), result(element::f32, shape);
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  for (const float sign : {1.f, -1.f}) {
    for (int i = 0; i < 64; ++i) host.data<float>()[i] = sign * static_cast<float>(i - 32);
    x.copy_from(host);
    request.infer();
    y.copy_to(result);
    for (int i = 0; i < 64; ++i) ASSERT_EQ(result.data<float>()[i], std::max(0.f, host.data<float>()[i])) << i;
  }
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(OpenVinoRemote, ModelsCompileInAContext) {
  auto model = core.compile_model(relu({1, 8}), context);
  EXPECT_THAT(model.get_context().get_device_name(), HasSubstr("OPENVINO.GPU"));
  auto request = model.create_infer_request();
  Tensor x(element::f32, {1, 8});
  for (int i = 0; i < 8; ++i) x.data<float>()[i] = static_cast<float>(i - 4);
  request.set_tensor("x", x);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[7], 3);
  EXPECT_EQ(request.get_tensor("y").data<float>()[0], 0);
}

TEST_F(OpenVinoRemote, HostTensorsOfTheContextAreHostTensors) {
  Tensor tensor = context.create_host_tensor(element::f32, {1, 8});
  ASSERT_TRUE(tensor.is_host_addressable());
  tensor.data<float>()[3] = 5;
  auto request = core.compile_model(relu({1, 8}), device, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  request.set_tensor("x", tensor);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[3], 5);
}

TEST_F(OpenVinoRemote, TensorsOfTheGpuAreRefusedOnTheCpu) {
  auto request = core.compile_model(relu({1, 8}), "OPENVINO.CPU", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  const RemoteTensor tensor = context.create_tensor(element::f32, {1, 8});
  try {
    request.set_tensor("x", tensor);
    request.infer();
    ADD_FAILURE() << "a GPU's memory was taken for the CPU's";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("remote"));
  }
}

TEST_F(OpenVinoRemote, MemoryGoesWithTheLastTensorWhateverGoesFirst) {
  Tensor left;
  {
    Core other;
    RemoteContext made = other.get_default_context(device);
    RemoteTensor whole = made.create_tensor(element::f32, {4, 16});
    left = RemoteTensor(whole, {1, 0}, {3, 16});
  }
  Tensor host(element::f32, {2, 16}), back(element::f32, {2, 16});
  for (int i = 0; i < 32; ++i) host.data<float>()[i] = static_cast<float>(i);
  RemoteTensor region(left);
  region.copy_from(host);
  EXPECT_TRUE(counts_up(region, back));
}

}  // namespace openvino_remote_test
}  // namespace tenon
