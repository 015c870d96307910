// SPDX-License-Identifier: Apache-2.0
// Remote tensors: memory that the host cannot reach, its regions, and the edges from it. Runs if OpenVINO finds a GPU,
// or a stand-in for one.
#include <chrono>
#include <cstring>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <openvino/runtime/core.hpp>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/openvino/remote.hpp>

namespace tenon {
namespace openvino_remote_test {

using ::testing::HasSubstr;

class OpenVinoRemoteTensor : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "OpenVINO loads its plugins' libraries with RTLD_DEEPBIND, which sanitizers do not survive";
#endif
    for (const std::string& name : core.get_available_devices()) has_gpu |= name.rfind("GPU", 0) == 0;
    if (!has_gpu) GTEST_SKIP() << "OpenVINO finds no GPU on this machine";
    native = core.get_default_context("GPU");
    context = openvino::wrap(native);
    router.add(context);
    options.ledger = &ledger;
  }

  /// A remote tensor containing 0, 1, 2..., written with OpenVINO's own calls.
  Tensor counting(const Shape& shape) {
    ov::RemoteTensor made = native.create_tensor(ov::element::i32, {shape.begin(), shape.end()});
    ov::Tensor host(ov::element::i32, made.get_shape()), back(ov::element::i32, made.get_shape());
    for (std::size_t i = 0; i < host.get_size(); ++i) host.data<int>()[i] = static_cast<int>(i);
    made.copy_from(host);
    // A copy into USM memory may return before it is complete.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    do {
      made.copy_to(back);
    } while (std::memcmp(host.data(), back.data(), host.get_byte_size()) != 0 &&
             std::chrono::steady_clock::now() < deadline);
    return openvino::wrap(context, made);
  }

  ov::Core core;
  bool has_gpu = false;
  ov::RemoteContext native;
  Context context;
  Router router;
  Ledger ledger;
  MapOptions options;
};

TEST_F(OpenVinoRemoteTensor, IsMemoryThatTheHostCannotReach) {
  const Tensor tensor = counting({4, 16});
  EXPECT_EQ(tensor.kind(), openvino::kOpenVinoMemory);
  EXPECT_EQ(tensor.context(), context);
  EXPECT_FALSE(tensor.is_host_addressable());
  EXPECT_THROW(tensor.data(), Error);
  EXPECT_TRUE(openvino::tensor(tensor).is<ov::RemoteTensor>()) << "it comes out as what it was";
}

TEST_F(OpenVinoRemoteTensor, GoesToTheCpuAsACopyThatIsBookedOrRefused) {
  const Tensor tensor = counting({4, 16});
  const Tensor copy = router.map(tensor, host_context(), options);
  for (int i = 0; i < 64; ++i) ASSERT_EQ(copy.data<int>()[i], i);
  EXPECT_EQ(ledger.total().copied, 256u);
  EXPECT_EQ(ledger.total().transferred, 256u);
  options.policy = ZeroCopy::kRequire;
  EXPECT_THROW(router.map(tensor, host_context(), options), Error);
}

TEST_F(OpenVinoRemoteTensor, RegionsAreRegionsOfTheDevicesTensor) {
  const Tensor rows = counting({4, 16}).slice({1, 0}, {3, 16});
  const Tensor copy = router.map(rows, host_context(), options);
  for (int i = 0; i < 32; ++i) ASSERT_EQ(copy.data<int>()[i], 16 + i);
  const Tensor block = counting({4, 16}).slice({1, 4}, {3, 8});
  const Tensor packed = router.map(block, host_context(), options);
  EXPECT_EQ(packed.data<int>()[0], 20);
  EXPECT_EQ(packed.data<int>()[4], 36);
  EXPECT_THROW(openvino::tensor(counting({4, 16}).reshaped({8, 8}).slice({1, 0}, {2, 8})), Error);
}

TEST_F(OpenVinoRemoteTensor, HostMemoryIsNoRemoteTensor) {
  const Tensor host(element::i32, {4, 16});
  try {
    router.map(host, context, options);
    ADD_FAILURE() << "host memory was taken for remote memory";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("remote context"));
  }
  EXPECT_THROW(openvino::wrap(context, ov::Tensor(ov::element::f32, ov::Shape{4})), Error);
  EXPECT_THROW(openvino::wrap(openvino::tensor(counting({4}))), Error) << "without its context";
}

TEST_F(OpenVinoRemoteTensor, ContextsAllocateDeviceMemory) {
  Requirements wanted;
  wanted.size_bytes = 4096;
  const Ref<Memory> memory = context->allocate(wanted);
  EXPECT_GE(memory->size_bytes(), 4096u);
  EXPECT_EQ(memory->host(), nullptr);
  EXPECT_EQ(memory->context(), context);
  wanted.host_access = true;
  EXPECT_THROW(context->allocate(wanted), Error);
}

TEST(OpenVinoRemoteContext, EmptyOnesAreRefused) {
  EXPECT_THROW(openvino::wrap(ov::RemoteContext()), Error);
  EXPECT_THROW(openvino::wrap(openvino::context(), ov::Tensor(ov::element::f32, ov::Shape{4})), Error);
  EXPECT_THROW(openvino::wrap(host_context(), ov::Tensor(ov::element::f32, ov::Shape{4})), Error);
}

}  // namespace openvino_remote_test
}  // namespace tenon
