// SPDX-License-Identifier: Apache-2.0
// Shared by the device suite: the devices, and a fixture for one of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include <tenon/runtime/device/device_registry.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

namespace tenon::testing {

/// All devices that the registry finds, including the reference interpreter and composite ones.
inline std::vector<std::string> devices() {
  static const bool registered = [] {
    register_device(reference_module());
    return true;
  }();
  Core core;
  auto names = registered ? core.get_available_devices() : std::vector<std::string>();
  const auto has = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (!has("CPU") || !has("TEMPLATE")) return names;
  const bool has_gpu =
      std::any_of(names.begin(), names.end(), [](const auto& each) { return each.starts_with("GPU"); });
  const auto versions = core.get_versions("");
  if (versions.count("AUTO")) names.insert(names.end(), {"AUTO:CPU", "AUTO:TEMPLATE,CPU"});
  if (versions.count("HETERO")) names.insert(names.end(), {"HETERO:TEMPLATE,CPU", "HETERO:CPU"});
  if (versions.count("AUTO") && has_gpu) names.emplace_back("AUTO:GPU,CPU");
  if (versions.count("HETERO") && has_gpu) names.emplace_back("HETERO:GPU,CPU");
  return names;
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
  /// Results are compared as f32: devices that prefer bf16, alone or inside another, are told to compute in f32.
  void SetUp() override {
    for (const std::string& each : core.get_available_devices()) {
      for (const PropertyName& property : core.get_property(each, supported_properties)) {
        if (property != hint::inference_precision.name() || !property.is_mutable()) continue;
        try {
          core.set_property(each, hint::inference_precision(element::f32));
        } catch (const Error&) {
          // OpenVINO's NPU plugin takes f16 and i8 alone; what its compiler computes in is its own affair.
        }
      }
    }
  }

  /// Host memory that the device uses in place: any, or its context's if it has one.
  Tensor host_tensor(const Shape& shape, const std::vector<float>& values) {
    Tensor tensor;
    try {
      tensor = core.get_default_context(name).create_host_tensor(element::f32, shape);
    } catch (const Error&) {
      tensor = Tensor(element::f32, shape);
    }
    std::copy(values.begin(), values.end(), tensor.data<float>());
    return tensor;
  }

  /// A frame whose planes the device reads in place.
  Frame host_frame(const FrameInfo& info) {
    const Frame plain = Frame::allocate(info);
    try {
      const std::size_t size = plain.plane(0).memory()->size_bytes();
      const Tensor bytes = core.get_default_context(name).create_host_tensor(element::u8, {size});
      return Frame::over(info, bytes.memory(), {});
    } catch (const Error&) {
      return plain;
    }
  }

  /// An extent determined by the inputs: without an upper bound, unless the device's compiler needs one.
  Dimension any_extent() {
    try {
      core.compile_model(relu_model(PartialShape{Dimension::dynamic(), 2}), name);
    } catch (const Error& error) {
      if (std::string(error.what()).find("Upper bounds are not specified") == std::string::npos) throw;
      return Dimension(0, 512);
    }
    return Dimension::dynamic();
  }

  /// NUM_STREAMS for compile_model, if the device supports more than one.
  AnyMap streams(int count) {
    for (const PropertyName& property : core.get_property(name, supported_properties))
      if (property == num_streams.name() && property.is_mutable()) return {num_streams(count)};
    return {};
  }

  const std::string name = GetParam();
  Core core;
};

}  // namespace tenon::testing

/// Instantiates the suite `fixture`, an OnDevice, for all devices; once, in the suite's file.
#define TENON_ON_EVERY_DEVICE(fixture)                                                               \
  INSTANTIATE_TEST_SUITE_P(Devices, fixture, ::testing::ValuesIn(devices()), [](const auto& param) { \
    std::string text = param.param;                                                                  \
    for (char& c : text)                                                                             \
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';                                     \
    return text;                                                                                     \
  })
