// SPDX-License-Identifier: Apache-2.0
// What stands behind the C API's handles. They are mutable, since const in C says only that the handle stays the same.
#pragma once

#include <memory>

#include <openvino/c/openvino.h>
#include <openvino/core/preprocess/pre_post_process.hpp>
#include <openvino/openvino.hpp>

struct ov_core {
  mutable ov::Core object;
};
struct ov_model {
  std::shared_ptr<ov::Model> object;
};
struct ov_output_const_port {
  ov::Output<const ov::Node> object;
};
struct ov_output_port {
  ov::Output<ov::Node> object;
};
struct ov_compiled_model {
  mutable ov::CompiledModel object;
};
struct ov_infer_request {
  mutable ov::InferRequest object;
};
struct ov_layout {
  ov::Layout object;
};
struct ov_tensor {
  mutable ov::Tensor object;
};
struct ov_remote_context {
  mutable ov::RemoteContext object;
};
struct ov_preprocess_prepostprocessor {
  std::shared_ptr<ov::preprocess::PrePostProcessor> object;
};

namespace ov_c {
/// A part of a PrePostProcessor, which keeps the whole alive.
template <typename T>
struct Part {
  std::shared_ptr<ov::preprocess::PrePostProcessor> owner;
  T* object;
};
}  // namespace ov_c

struct ov_preprocess_input_info : ov_c::Part<ov::preprocess::InputInfo> {};
struct ov_preprocess_input_tensor_info : ov_c::Part<ov::preprocess::InputTensorInfo> {};
struct ov_preprocess_output_info : ov_c::Part<ov::preprocess::OutputInfo> {};
struct ov_preprocess_output_tensor_info : ov_c::Part<ov::preprocess::OutputTensorInfo> {};
struct ov_preprocess_input_model_info : ov_c::Part<ov::preprocess::InputModelInfo> {};
struct ov_preprocess_preprocess_steps : ov_c::Part<ov::preprocess::PreProcessSteps> {};
