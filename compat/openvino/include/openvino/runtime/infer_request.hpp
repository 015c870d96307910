// SPDX-License-Identifier: Apache-2.0
// Requests: tensors by port, and one inference at a time over them.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "openvino/core/node_output.hpp"
#include "openvino/runtime/profiling_info.hpp"
#include "openvino/runtime/tensor.hpp"
#include "openvino/runtime/variable_state.hpp"

namespace ov {

class CompiledModel;
class IAsyncInferRequest;

/// Copies are the same request. Names are tensor names, else friendly names of parameters and results. Ports may be those of
/// the compiled model or of the model that it came from.
/// @errors Busy: while an inference runs. Exception: an empty request, a port that does not exist, a tensor that does not fit.
class OPENVINO_RUNTIME_API InferRequest {
 public:
  InferRequest() = default;
  explicit InferRequest(std::shared_ptr<IAsyncInferRequest> impl) : _impl(std::move(impl)) {}

  void set_tensor(const std::string& tensor_name, const Tensor& tensor);
  void set_tensor(const Output<const Node>& port, const Tensor& tensor);
  void set_tensor(const Output<Node>& port, const Tensor& tensor);
  void set_tensors(const std::string& tensor_name, const std::vector<Tensor>& tensors);
  void set_tensors(const Output<const Node>& port, const std::vector<Tensor>& tensors);
  void set_input_tensor(std::size_t index, const Tensor& tensor);
  void set_input_tensor(const Tensor& tensor);
  void set_input_tensors(const std::vector<Tensor>& tensors);
  void set_input_tensors(std::size_t index, const std::vector<Tensor>& tensors);
  void set_output_tensor(std::size_t index, const Tensor& tensor);
  void set_output_tensor(const Tensor& tensor);

  Tensor get_tensor(const std::string& tensor_name);
  Tensor get_tensor(const Output<const Node>& port);
  Tensor get_tensor(const Output<Node>& port);
  Tensor get_input_tensor(std::size_t index);
  Tensor get_input_tensor();
  Tensor get_output_tensor(std::size_t index);
  Tensor get_output_tensor();

  void infer();
  void start_async();
  void wait();
  bool wait_for(const std::chrono::milliseconds timeout);
  void cancel();
  /// The function is called after each start_async, with the error or null.
  void set_callback(std::function<void(std::exception_ptr)> callback);

  std::vector<ProfilingInfo> get_profiling_info() const;
  std::vector<VariableState> query_state();
  void reset_state();
  CompiledModel get_compiled_model();

  bool operator!() const noexcept { return !_impl; }
  explicit operator bool() const noexcept { return _impl != nullptr; }
  bool operator==(const InferRequest& other) const noexcept { return _impl == other._impl; }
  bool operator!=(const InferRequest& other) const noexcept { return _impl != other._impl; }

 private:
  IAsyncInferRequest& checked() const;
  std::shared_ptr<IAsyncInferRequest> _impl;
};

}  // namespace ov
