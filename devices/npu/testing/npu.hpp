// SPDX-License-Identifier: Apache-2.0
// Shared by the NPU device's tests: the device linked in, models, and leak counters.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/ledger.hpp>  // IWYU pragma: export
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/npu/native.hpp>             // IWYU pragma: export
#include <tenon/devices/npu/public/level_zero.hpp>  // IWYU pragma: export
#include <tenon/graph/evaluate.hpp>                 // IWYU pragma: export
#include <tenon/graph/model.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/device_registry.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/remote_tensor.hpp>
#include <tenon/runtime/runtime.hpp>  // IWYU pragma: export
#include <tenon/runtime/testing/reference_device.hpp>
#include <tenon/tests/support/error_of.hpp>  // IWYU pragma: export
#include <tenon/tests/support/fail_each_call.hpp>

extern "C" TENON_API const tenon::DeviceModule* tenon_device_module();

namespace tenon::npu_testing {

/// The device, linked into this program so that its calls and handles can be counted and made to fail.
class Npu : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const bool registered = [] {
      register_device(*tenon_device_module());
      return true;
    }();
    (void)registered;
  }
  void SetUp() override {
    // A thread of the previous test may release its last handles a moment later.
    std::size_t last = level_zero::client::Probe::handles.load();
    for (int calm = 0; calm < 3; ++calm) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const std::size_t now = level_zero::client::Probe::handles.load();
      if (now != last) calm = 0;
      last = now;
    }
    core.set_property("NPU", {hint::inference_precision(element::f32)});
  }

  /// y = max(x, 0); the tensors are named x and y.
  static std::shared_ptr<Model> relu(const PartialShape& shape = PartialShape{1, 4}) {
    return testing::relu_model(shape);
  }
  Core core;
};

inline std::vector<float> values_of(const Tensor& tensor) {
  Tensor packed;
  if (tensor.is<RemoteTensor>())
    RemoteTensor(tensor).copy_to(packed);
  else
    tensor.copy_to(packed);
  return {packed.data<float>(), packed.data<float>() + packed.element_count()};
}

inline Tensor floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(element::f32, shape);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

/// System pages unknown to every driver.
class Pages {
 public:
  explicit Pages(std::size_t size_bytes) : size_(size_bytes) {
    data_ = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  ~Pages() { ::munmap(data_, size_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  float* floats() const { return static_cast<float*>(data_); }
  void* data() const { return data_; }

 private:
  void* data_;
  std::size_t size_;
};

/// Whether the software NPU lacks a feature (TENON_NPU_WITHOUT); tests that need it are skipped.
inline bool lacks(const char* feature) {
  const char* without = std::getenv("TENON_NPU_WITHOUT");
  return without && std::string(without).find(feature) != std::string::npos;
}
#define TENON_NEEDS(feature) \
  if (lacks(feature)) GTEST_SKIP() << "the driver is without " << (feature)

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}
inline std::size_t handles() { return level_zero::client::Probe::handles.load(); }
inline bool handles_fall_to(std::size_t count) { return testing::handles_fall_to<level_zero::client::Probe>(count); }

/// The same as testing::fail_each_call.
template <typename Work, typename ExpectRight>
void fail_each_call(const Work& work, const ExpectRight& expect_right) {
  testing::fail_each_call<level_zero::client::Probe>("OUT_OF_DEVICE_MEMORY", work, expect_right);
}

}  // namespace tenon::npu_testing
