// SPDX-License-Identifier: Apache-2.0
// Shared by tests of CUDA: a context on the first device, a stream that a test can hold up, and counts.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cuda/client.hpp>
#include <tenon/frameworks/cuda/contexts.hpp>

#include <tenon/tests/support/error_of.hpp>  // IWYU pragma: export
#include <tenon/tests/support/tensor_bytes.hpp>

namespace tenon::cuda {

/// Named drivers must be there: a test that asked for the stand-in, or said that there is a GPU, does not skip.
inline bool driver_is_named() { return std::getenv("TENON_TEST_CUDA") != nullptr; }

/// A stream of the test's own, whose work starts when the test says so.
class HeldStream {
 public:
  explicit HeldStream(const Context& context) : context_(handle(context)) {
    const client::Current current(context_);
    client::check(client::driver().cuStreamCreate(&stream_, abi::kStreamNonBlocking), "cuStreamCreate",
                  "a test's stream");
  }
  HeldStream(const HeldStream&) = delete;
  ~HeldStream() {
    let_go();
    const client::Current current(context_);
    client::driver().cuStreamDestroy(stream_);
  }
  abi::Stream get() const { return stream_; }
  /// What comes later waits for let_go().
  void hold() {
    using Launch = abi::Result (*)(abi::Stream, void (*)(void*), void*);
    static const auto launch =
        reinterpret_cast<Launch>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchHostFunc"));
    const client::Current current(context_);
    client::check(launch(
                      stream_,
                      [](void* go) {
                        while (!static_cast<std::atomic<bool>*>(go)->load())
                          std::this_thread::sleep_for(std::chrono::microseconds(100));
                      },
                      &go_),
                  "cuLaunchHostFunc", "holding a stream");
  }
  void let_go() { go_ = true; }
  /// Enqueues a copy of a tensor's packed bytes, from or to host memory of the test.
  void copy(abi::DevicePointer to, abi::DevicePointer from, std::size_t size) {
    const client::Current current(context_);
    client::check(client::driver().cuMemcpyAsync(to, from, size, stream_), "cuMemcpyAsync", "a test's copy");
  }

 private:
  abi::ContextHandle context_;
  abi::Stream stream_ = nullptr;
  std::atomic<bool> go_{false};
};

using tenon::testing::bytes_info;
using tenon::testing::bytes_of;
using tenon::testing::counted;
using tenon::testing::open_fds;
using tenon::testing::write;

/// Checks that handles and descriptors are released at the end. Skipped, with the reason, without a driver.
class CudaFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      contexts();      // The process's contexts stay.
      make_context();  // What the driver sets up once.
      drain_deferred(default_deadline());
      fds_before_ = open_fds();
      handles_before_ = client::Probe::handles.load();
      context = make_context();
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable || driver_is_named()) throw;
      GTEST_SKIP() << error.what();
    }
    router->add(context);
    router->add(host_context());
  }
  void TearDown() override {
    client::Probe::countdown = 0;
    if (!context) return;
    router.reset();
    context = {};
    EXPECT_TRUE(drain_deferred(default_deadline())) << "work is left";
    EXPECT_EQ(client::Probe::handles.load(), handles_before_) << "handles were left behind, or given back twice";
    EXPECT_EQ(open_fds(), fds_before_) << "descriptors were left behind";
  }
  Tensor exported(std::size_t size) { return allocate_exported(context, bytes_info(size)); }

  Context context;
  std::unique_ptr<Router> router = std::make_unique<Router>();

 private:
  std::size_t handles_before_ = 0, fds_before_ = 0;
};

}  // namespace tenon::cuda
