// SPDX-License-Identifier: Apache-2.0
// One input of a model under PrePostProcessor.
#pragma once

#include <memory>

#include <tenon/core/export.hpp>
#include <tenon/runtime/preprocess/input_model_info.hpp>
#include <tenon/runtime/preprocess/input_tensor_info.hpp>
#include <tenon/runtime/preprocess/preprocess_steps.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {

class TENON_API InputInfo final {
 public:
  InputInfo(InputInfo&& other) noexcept;
  InputInfo& operator=(InputInfo&& other) noexcept;
  ~InputInfo();

  /// The tensor that the caller sets.
  InputTensorInfo& tensor();
  /// The steps from that tensor to the model's input.
  PreProcessSteps& preprocess();
  /// The input that the model has.
  InputModelInfo& model();

 private:
  friend class PrePostProcessor;
  InputInfo();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
