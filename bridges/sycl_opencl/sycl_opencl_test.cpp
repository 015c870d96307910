// SPDX-License-Identifier: Apache-2.0
// SYCL and OpenCL over one cl_context: contexts both ways, USM in place, points across.
#include <tenon/bridges/sycl_opencl/sycl_opencl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <tenon/core/deferred.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/opencl/client.hpp>

#include <tenon/tests/support/error_of.hpp>

namespace tenon::sycl_opencl {
namespace sycl_opencl_test {

using ::testing::HasSubstr;

TensorInfo bytes_info(std::size_t size) { return {element::u8, {size}, {}}; }
std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  std::vector<std::uint8_t> bytes(tensor.size_bytes());
  tensor.context()->read(tensor, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}
void fill(const Tensor& tensor, std::uint8_t value) {
  const std::vector<std::uint8_t> bytes(tensor.size_bytes(), value);
  tensor.context()->write(tensor, std::as_bytes(std::span(bytes)));
}

/// Skipped, with the reason, where OpenCL has no device with USM.
class SyclOpencl : public ::testing::Test {
 protected:
  void SetUp() override {
    for (cl_device_id id : opencl::client::all_devices()) {
      const Context made = opencl::make_context(id);
      if (!opencl::device(made).usm) continue;
      opencl = opencl::usm(made);
      break;
    }
    if (!opencl) GTEST_SKIP() << "no OpenCL device with USM (cl_intel_unified_shared_memory) is installed";
    sycl = make_context(opencl);
    router.add(opencl);
    router.add(sycl);
    router.add(edges());
  }
  void TearDown() override { EXPECT_TRUE(drain_deferred(default_deadline())); }
  Context opencl, sycl;
  Router router;
  Ledger ledger;
};

TEST_F(SyclOpencl, UsmOfEitherIsThatOfTheOther) {
  const MapOptions options{Access::kReadWrite, ZeroCopy::kRequire, &ledger};
  for (const bool on_device : {false, true}) {
    const Tensor theirs =
        opencl::allocate_usm(opencl, on_device ? opencl::UsmType::kDevice : opencl::UsmType::kHost, bytes_info(1000));
    const Tensor seen = router.map(theirs, sycl, options);
    EXPECT_EQ(sycl::usm_pointer(seen), opencl::usm_pointer(theirs));
    fill(seen, 3);
    EXPECT_EQ(bytes_of(theirs), std::vector<std::uint8_t>(1000, 3));
    const Tensor ours =
        sycl::allocate(sycl, on_device ? sycl::UsmType::kDevice : sycl::UsmType::kHost, bytes_info(1000));
    const Tensor there = router.map(ours, opencl, options);
    EXPECT_EQ(opencl::usm_pointer(there), sycl::usm_pointer(ours));
    fill(ours, 4);
    EXPECT_EQ(bytes_of(there), std::vector<std::uint8_t>(1000, 4));
    EXPECT_EQ(router.map(there, sycl, options).view(), nullptr) << "back where it came from";
  }
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(SyclOpencl, OpenclIsMadeOfSyclToo) {
  const Context back = opencl_context(sycl);
  EXPECT_EQ(opencl::handle(back), opencl::handle(opencl));
  const Context own = opencl::usm(opencl_context(sycl::make_context(sycl::device(sycl))));
  const Tensor foreign = opencl::allocate_usm(own, opencl::UsmType::kHost, bytes_info(64));
  EXPECT_THAT(router.explain(describe(foreign), sycl), HasSubstr("different cl_contexts"));
}

TEST_F(SyclOpencl, SyclKeepsTheClContext) {
  opencl = {};
  const Context alone = make_context(opencl::make_context(opencl::client::all_devices().front()));
  const Tensor tensor = sycl::allocate(alone, sycl::UsmType::kHost, bytes_info(64));
  fill(tensor, 9);
  EXPECT_EQ(bytes_of(tensor), std::vector<std::uint8_t>(64, 9));
}

TEST_F(SyclOpencl, OpenclsCommandsWaitForSycls) {
  const Tensor ours = sycl::allocate(sycl, sycl::UsmType::kHost, bytes_info(64));
  std::atomic<bool> go{false};
  ::sycl::queue queue = sycl::queue(sycl);
  void* const data = sycl::usm_pointer(ours);
  sycl::wrote(ours, queue.submit([&](::sycl::handler& handler) {
    handler.host_task([&go, data] {
      while (!go) std::this_thread::sleep_for(std::chrono::microseconds(100));
      std::memset(data, 7, 64);
    });
  }));
  const Tensor there = router.map(ours, opencl, MapOptions{Access::kRead, ZeroCopy::kRequire, &ledger});
  EXPECT_EQ(ledger.total().waits, 0u) << "the host waited";
  EXPECT_EQ(opencl::wait_list(there, Access::kRead).size(), 1u);
  go = true;
  EXPECT_EQ(bytes_of(there), std::vector<std::uint8_t>(64, 7));
}

TEST_F(SyclOpencl, WrongContextsAreNamed) {
  EXPECT_THAT(error_of([&] { make_context(host_context()); }, Code::kInvalidArgument),
              HasSubstr("is no OpenCL context"));
  EXPECT_THAT(error_of([&] { opencl_context(opencl); }, Code::kInvalidArgument), HasSubstr("not a context of sycl"));
}

}  // namespace sycl_opencl_test
}  // namespace tenon::sycl_opencl
