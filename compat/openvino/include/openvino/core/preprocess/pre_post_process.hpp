// SPDX-License-Identifier: Apache-2.0
// Pre- and post-processing as part of a model.
#pragma once

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/model.hpp"
#include "openvino/core/preprocess/input_info.hpp"
#include "openvino/core/preprocess/output_info.hpp"

namespace ov {
namespace preprocess {

/// Adds nodes to a model that convert the caller's tensors to the model's inputs, and its outputs to what the caller wants.
/// @thread one object, and the model, from one thread at a time.
class OPENVINO_API PrePostProcessor final {
 public:
  explicit PrePostProcessor(const std::shared_ptr<Model>& function);
  PrePostProcessor(PrePostProcessor&&) noexcept;
  PrePostProcessor& operator=(PrePostProcessor&&) noexcept;
  ~PrePostProcessor();
  InputInfo& input();
  InputInfo& input(const std::string& tensor_name);
  InputInfo& input(std::size_t input_index);
  OutputInfo& output();
  OutputInfo& output(const std::string& tensor_name);
  OutputInfo& output(std::size_t output_index);
  /// Changes the model in place and returns it; once. If it throws, the model is unchanged.
  std::shared_ptr<Model> build();

 private:
  friend OPENVINO_API std::ostream& operator<<(std::ostream& out, const PrePostProcessor& processor);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const PrePostProcessor& processor);

}  // namespace preprocess
}  // namespace ov
