// SPDX-License-Identifier: Apache-2.0
// A request: tensors by port, and one inference at a time over them.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/runtime/profiling_info.hpp>
#include <tenon/runtime/variable_state.hpp>

namespace tenon {
inline namespace v1 {

class CompiledModel;
class Inference;
class RequestHandle;

/// OpenVINO's InferRequest. A handle: copies are the same request. Destroying the last one waits for a running
/// inference: its outputs then hold the results, the caller's memory is no longer touched, and the callback is not
/// called any more. Call cancel() first if the results are not wanted.
///
/// The end of the process waits for running inferences, too: those of static requests, and of requests that are never
/// destroyed. After ten seconds it cancels them. From then on inferences are refused (kUnavailable).
///
/// Tensors that the device can use lie where they are; others are copied at every inference and booked in the ledger,
/// or refused with the reason under zero_copy(ZeroCopy::kRequire). Names are tensor names, else friendly names of
/// parameters and results. Ports may be those of the compiled model or of the model that it came from.
///
/// @errors Busy  set, get, infer, start_async, query_state and set_callback while an inference runs
///         kNotFound  no such port (lists those that exist);  kInvalidArgument  type or shape does not fit
/// @thread start_async, infer, wait, cancel from any; others by one thread at a time. Requests are independent.
class TENON_API InferRequest {
 public:
  InferRequest() = default;

  void set_tensor(const std::string& tensor_name, const Tensor& tensor);
  void set_tensor(const Output<const Node>& port, const Tensor& tensor);
  void set_tensor(const Output<Node>& port, const Tensor& tensor);
  /// One tensor per batch item, each with a batch of 1; they are copied into one, unless they follow each other in one
  /// memory. One tensor is set_tensor(). @errors kInvalidArgument: an output, a count that the batch does not have,
  /// strided items, a layout whose first axis is not N; kFailedPrecondition: a copy under ZeroCopy::kRequire.
  void set_tensors(const std::string& tensor_name, const std::vector<Tensor>& tensors);
  void set_tensors(const Output<const Node>& port, const std::vector<Tensor>& tensors);
  void set_input_tensor(std::size_t index, const Tensor& tensor);
  void set_input_tensor(const Tensor& tensor);
  void set_input_tensors(const std::vector<Tensor>& tensors);
  void set_input_tensors(std::size_t index, const std::vector<Tensor>& tensors);
  void set_output_tensor(std::size_t index, const Tensor& tensor);
  void set_output_tensor(const Tensor& tensor);

  /// The tensor that was set, else one of the request's own, allocated on first use; stable until another is set.
  /// Outputs of dynamic shape get their shape from the inference: get the tensor again afterwards. set_shape() on a
  /// tensor returned here reaches the request; this is how inputs of dynamic shape are filled in place.
  Tensor get_tensor(const std::string& tensor_name);
  Tensor get_tensor(const Output<const Node>& port);
  Tensor get_tensor(const Output<Node>& port);
  Tensor get_input_tensor(std::size_t index);
  Tensor get_input_tensor();
  Tensor get_output_tensor(std::size_t index);
  Tensor get_output_tensor();

  /// Feeds an input from a frame: colour conversion, resize and normalisation become the model's first operation, which
  /// reads the frame's planes where they lie. The first frame of a format or size compiles that model (the compiled
  /// model keeps it for all requests; the ledger counts it as a re-plan); input_frames() at compile time does it ahead.
  /// The frame, and with it the decoder's buffer, is kept until another frame or tensor is set.
  ///
  /// @errors kUnimplemented  a pixel format the stage does not read;  kInvalidArgument  an input that no frame can feed
  void set_frame(const std::string& tensor_name, const Frame& frame);
  void set_frame(std::size_t index, const Frame& frame);
  void set_frame(const Frame& frame);

  /// Runs an inference in the calling thread, without a hand-off if the device allows it; does not call the callback.
  /// @errors Those of the device; Busy
  void infer();
  /// Starts an inference on the model's executor, or on the device's queue.
  void start_async();
  /// Waits for the inference and its callback; returns at once if nothing runs.
  /// @errors Those of the inference or of the callback.
  void wait();
  bool wait_for(const std::chrono::milliseconds timeout);
  /// Ends the running inference, if any, early: wait() then throws Cancelled. It may still succeed if it was nearly
  /// done.
  void cancel();
  /// Sets the callback. It is called after each start_async, on the thread that ran the inference, with the error or null. The
  /// callback may start the request again. @errors Busy
  void set_callback(std::function<void(std::exception_ptr)> callback);

  std::vector<ProfilingInfo> get_profiling_info() const;
  std::vector<VariableState> query_state();
  void reset_state();
  CompiledModel get_compiled_model();
  /// Counts what this request copied, converted, transferred and waited for.
  Ledger& ledger();

  bool operator!() const noexcept { return !handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  bool operator==(const InferRequest& other) const noexcept { return handle_ == other.handle_; }
  bool operator!=(const InferRequest& other) const noexcept { return handle_ != other.handle_; }

 private:
  friend class CompiledModel;
  friend TENON_API void run_member(InferRequest& request, const Inference& inference);
  explicit InferRequest(std::shared_ptr<RequestHandle> handle);
  std::shared_ptr<RequestHandle> handle_;
};

}  // namespace v1
}  // namespace tenon
