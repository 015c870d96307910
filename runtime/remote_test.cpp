// SPDX-License-Identifier: Apache-2.0
// Remote contexts and tensors, on a device whose memory the host can't reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include <tenon/core/ledger.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon {
namespace runtime_remote_test {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Wrappers like the typed ones of a device: they check parameters and add members.
struct FarTensor : RemoteTensor {
  static void type_check(const Tensor& tensor) {
    RemoteTensor::type_check(tensor, {{"MEM_HANDLE", {}}, {"MEM_TYPE", {"FAR", "NEAR"}}});
  }
  void* handle() const { return const_cast<void*>(get_params().at("MEM_HANDLE").as<const void*>()); }
};
struct OtherTensor : RemoteTensor {
  static void type_check(const Tensor& tensor) { RemoteTensor::type_check(tensor, {{"MEM_TYPE", {"USM"}}}); }
};
struct KeyedTensor : RemoteTensor {
  static void type_check(const Tensor& tensor) { RemoteTensor::type_check(tensor, {{"VA_PLANE", {}}}); }
};
struct FarRemoteContext : RemoteContext {
  static void type_check(const RemoteContext& context) {
    RemoteContext::type_check(context, {{"CONTEXT_TYPE", {"FAR"}}});
  }
};
struct OtherContext : RemoteContext {
  static void type_check(const RemoteContext& context) {
    RemoteContext::type_check(context, {{"CONTEXT_TYPE", {"OCL"}}});
  }
};

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(element::f32, shape);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}
std::vector<float> values_of(const RemoteTensor& remote) {
  Tensor host;
  remote.copy_to(host);
  return {host.data<float>(), host.data<float>() + host.element_count()};
}

class RemoteObjects : public ::testing::Test {
 protected:
  Core core;
  RemoteContext context = core.create_context("REFERENCE", AnyMap{{"HANDLE", 7}});
};

TEST_F(RemoteObjects, ContextsSayWhoseTheyAre) {
  EXPECT_TRUE(context);
  EXPECT_EQ(context.get_device_name(), "REFERENCE");
  EXPECT_EQ(context.get_params().at("HANDLE").as<int>(), 7);
  EXPECT_TRUE(context.is<FarRemoteContext>());
  EXPECT_EQ(context.as<FarRemoteContext>().get_device_name(), "REFERENCE");
  EXPECT_FALSE(context.is<OtherContext>());
  EXPECT_THAT(error_of([&] { context.as<OtherContext>(); }).what(), HasSubstr("Unexpected parameter value FAR"));
  EXPECT_EQ(core.get_default_context("REFERENCE").impl(), core.get_default_context("REFERENCE").impl());
  EXPECT_FALSE(RemoteContext().is<FarRemoteContext>());
}

TEST_F(RemoteObjects, TensorsAreNoHostMemory) {
  RemoteTensor remote = context.create_tensor(element::f32, {2, 3});
  EXPECT_EQ(remote.get_device_name(), "REFERENCE");
  EXPECT_EQ(remote.get_byte_size(), 24u);
  Tensor& as_tensor = remote;
  EXPECT_THROW(as_tensor.data(), Error);
  EXPECT_TRUE(as_tensor.is<RemoteTensor>());
  EXPECT_TRUE(as_tensor.is<FarTensor>());
  EXPECT_NE(as_tensor.as<FarTensor>().handle(), nullptr);
  EXPECT_FALSE(as_tensor.is<OtherTensor>());
  EXPECT_THAT(error_of([&] { as_tensor.as<OtherTensor>(); }).what(), HasSubstr("Unexpected parameter value FAR"));
  EXPECT_THAT(error_of([&] { as_tensor.as<KeyedTensor>(); }).what(),
              HasSubstr("Parameter with key VA_PLANE not found"));
  const Tensor host = context.create_host_tensor(element::f32, {2});
  EXPECT_NE(host.data(), nullptr);
  EXPECT_FALSE(host.is<RemoteTensor>());
  EXPECT_THAT(error_of([&] { host.as<RemoteTensor>(); }).what(), HasSubstr("Tensor is not remote."));
  EXPECT_THROW(context.create_tensor(element::f32, {1}, {{"NO_SUCH_PARAMETER", 1}}), Error);
}

TEST_F(RemoteObjects, CopiesGoBothWaysAndIntoRegions) {
  RemoteTensor remote = context.create_tensor(element::f32, {2, 3});
  remote.copy_from(floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(values_of(remote), ElementsAre(1, 2, 3, 4, 5, 6));
  const RemoteTensor region(remote, {0, 1}, {2, 3});
  EXPECT_EQ(region.get_params().at("MEM_HANDLE").as<const void*>(),
            remote.get_params().at("MEM_HANDLE").as<const void*>());
  EXPECT_THAT(values_of(region), ElementsAre(2, 3, 5, 6));
  RemoteTensor(remote, {1, 0}, {2, 2}).copy_from(floats({1, 2}, {40, 50}));
  EXPECT_THAT(values_of(remote), ElementsAre(1, 2, 3, 40, 50, 6));
  EXPECT_THROW(RemoteTensor(remote, {0, 0}, {3, 3}), Error);
  // Copies from one remote tensor to another, and to a host tensor of another shape.
  RemoteTensor second = context.create_tensor(element::f32, {2, 2});
  second.copy_from(region);
  EXPECT_THAT(values_of(second), ElementsAre(2, 3, 50, 6));
  Tensor host(element::f32, {10});
  region.copy_to(host);
  EXPECT_EQ(host.shape(), (Shape{2, 2}));
  Tensor integers(element::i32, {2, 3});
  EXPECT_THAT(error_of([&] { remote.copy_to(integers); }).what(),
              HasSubstr("Tensor element types are not equal. (src: f32 != dst: i32)"));
  EXPECT_THAT(error_of([&] { remote.copy_from(integers); }).what(),
              HasSubstr("Tensor element types are not equal. (src: i32 != dst: f32)"));
  EXPECT_THROW(remote.copy_from(Tensor()), Error);
  EXPECT_THROW(remote.copy_from(floats({3, 3}, std::vector<float>(9))), Error) << "more than there is room for";
}

TEST_F(RemoteObjects, ModelsRunOnThemInPlace) {
  auto request = core.compile_model(relu_model(), context, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  RemoteTensor x = context.create_tensor(element::f32, {2, 4}), y = context.create_tensor(element::f32, {1, 4});
  x.copy_from(floats({2, 4}, {9, 9, 9, 9, 1, -2, 3, -4}));
  request.set_input_tensor(RemoteTensor(x, {1, 0}, {2, 4}));
  request.set_output_tensor(y);
  request.infer();
  EXPECT_THAT(values_of(y), ElementsAre(1, 0, 3, 0));
  EXPECT_TRUE(request.get_output_tensor().is<RemoteTensor>());
  EXPECT_EQ(request.ledger().total().copied, 0u);
  EXPECT_EQ(request.get_compiled_model().get_context().get_device_name(), "REFERENCE");
  // On another device the same tensor has no route, and the message says what was looked for.
  auto stranger = core.compile_model(relu_model(), "REFERENCE").create_infer_request();
  EXPECT_THAT(error_of([&] { stranger.set_input_tensor(y); }).what(), HasSubstr("far"));
}

TEST_F(RemoteObjects, ImportsIntoAContext) {
  std::stringstream blob;
  core.compile_model(relu_model(), context).export_model(blob);
  auto request = core.import_model(blob, context).create_infer_request();
  RemoteTensor x = context.create_tensor(element::f32, {1, 4});
  x.copy_from(floats({1, 4}, {1, -2, 3, -4}));
  request.set_input_tensor(x);
  request.infer();
  EXPECT_EQ(request.get_output_tensor().data<float>()[2], 3);
  std::stringstream rubbish("nothing of ours");
  EXPECT_THROW(core.import_model(rubbish, context), Error);
  const std::string word = "REFERENCE";
  Tensor bytes(element::u8, {word.size()});
  std::copy(word.begin(), word.end(), bytes.data<std::uint8_t>());
  EXPECT_NO_THROW(core.import_model(bytes, context));
  EXPECT_THROW(core.import_model(Tensor(), context), Error);
}

TEST_F(RemoteObjects, TensorsKeepTheirContextAndNothingRemains) {
  const int contexts = ReferenceContext::live, memories = FarMemory::live;
  {
    RemoteTensor region;
    {
      RemoteContext temporary = core.create_context("REFERENCE", AnyMap{});
      region = RemoteTensor(temporary.create_tensor(element::f32, {4, 4}), {1, 1}, {2, 2});
    }
    EXPECT_EQ(ReferenceContext::live, contexts + 1) << "the tensor holds it";
    EXPECT_NO_THROW(values_of(region));
  }
  EXPECT_EQ(ReferenceContext::live, contexts);
  EXPECT_EQ(FarMemory::live, memories);
}

}  // namespace runtime_remote_test
}  // namespace tenon
