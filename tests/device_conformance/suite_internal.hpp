// SPDX-License-Identifier: Apache-2.0
// What every file of the device suite shares: the devices, and a fixture for one of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <tenon/runtime/device_registry.hpp>
#include <tenon/runtime/reference_device_test.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon::testing {

/// All that the registry finds, the reference interpreter among them.
inline std::vector<std::string> devices() {
  static const bool registered = [] {
    register_device(reference_module());
    return true;
  }();
  return registered ? Core().get_available_devices() : std::vector<std::string>();
}

inline Tensor noise(const Shape& shape, unsigned seed) {
  Tensor tensor(element::f32, shape);
  float* values = tensor.data<float>();
  for (std::size_t i = 0; i < tensor.element_count(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = static_cast<float>(seed >> 8) / 8388608.f - 1.f;
  }
  return tensor;
}

inline Tensor floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(element::f32, shape);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

inline std::vector<float> values_of(const Tensor& tensor) {
  Tensor packed;
  tensor.copy_to(packed);
  return {packed.data<float>(), packed.data<float>() + packed.element_count()};
}

class OnDevice : public ::testing::TestWithParam<std::string> {
 protected:
  /// Results are compared as f32: a device that would rather compute in bf16 is told not to.
  void SetUp() override {
    for (const PropertyName& property : core.get_property(name, supported_properties)) {
      if (property == hint::inference_precision.name() && property.is_mutable())
        core.set_property(name, hint::inference_precision(element::f32));
    }
  }

  const std::string name = GetParam();
  Core core;
};

}  // namespace tenon::testing

/// Instantiates the suite `fixture`, an OnDevice, for all devices; once, in the suite's file.
#define TENON_ON_EVERY_DEVICE(fixture)                                                               \
  INSTANTIATE_TEST_SUITE_P(Devices, fixture, ::testing::ValuesIn(devices()), [](const auto& param) { \
    std::string text = param.param;                                                                  \
    std::replace(text.begin(), text.end(), '.', '_');                                                \
    return text;                                                                                     \
  })
