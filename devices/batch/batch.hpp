// SPDX-License-Identifier: Apache-2.0
// BATCH: joins requests of one item each, which run as one inference of a batch on another device.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/property_table.hpp>
#include <tenon/runtime/infer_request.hpp>

namespace tenon::inline v1::batch_device {

inline constexpr const char* kName = "BATCH";

/// The model of `count` items at once, for a model of one item; null if its items cannot be told apart at axis 0 of every tensor
/// between inputs and outputs.
std::shared_ptr<Model> batched_model(const Model& model, std::size_t count);

/// One request's part of a batch.
struct Item {
  const std::vector<Tensor>* inputs = nullptr;
  const std::vector<Tensor>* outputs = nullptr;
  enum class State { kWaiting, kTaken, kDone, kAlone } state = State::kWaiting;
  std::exception_ptr error{};
};

/// Where requests meet: the one that makes a batch whole runs it for all of them. @thread all members from any thread.
class Meeting {
 public:
  /// @param batched  The model of `size` items.
  Meeting(CompiledModel batched, std::size_t size, std::chrono::milliseconds patience)
      : batched_(std::move(batched)), size_(size), patience_(patience) {}
  /// @return false: no batch came together in time, or these tensors do not go into one; the item runs alone.
  /// @errors those of the inference of the batch.
  bool run(Item& item);

 private:
  void run_batch(const std::vector<Item*>& items);
  InferRequest take();
  void give_back(InferRequest request);

  CompiledModel batched_;
  const std::size_t size_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Item*> waiting_;
  std::vector<InferRequest> idle_;  ///< Requests to the batched model.
};

/// A model compiled for the device.
struct Compiled {
  CompiledModel model;
  std::shared_ptr<CompiledModelImpl> impl;
};

class BatchModel final : public CompiledModelImpl, public std::enable_shared_from_this<BatchModel> {
 public:
  BatchModel(const Model& model, std::string device, Compiled single, Compiled batched, std::size_t size,
             std::chrono::milliseconds patience);

  std::unique_ptr<InferRequestImpl> create_request() override;
  /// Requests that wait for each other each hold a stream.
  std::size_t stream_count() const override { return size_ * std::max<std::size_t>(batched_.impl->stream_count(), 1); }
  std::optional<Refusal> refuses_input(std::size_t index, const Tensor& tensor) const override {
    return single_.impl->refuses_input(index, tensor);
  }
  std::optional<Refusal> refuses_output(std::size_t index, const Tensor& tensor) const override {
    return single_.impl->refuses_output(index, tensor);
  }
  Context memory_context() const override { return single_.impl->memory_context(); }
  Tensor allocate_input(std::size_t index, const Shape& shape) const override {
    return single_.impl->allocate_input(index, shape);
  }
  Tensor allocate_output(std::size_t index, const Shape& shape) const override {
    return single_.impl->allocate_output(index, shape);
  }
  std::shared_ptr<RemoteContextImpl> context() const override { return single_.impl->context(); }
  Requirements requirements() const override { return single_.impl->requirements(); }
  Any get_property(const std::string& name) const override;
  std::shared_ptr<const Model> runtime_model() const override { return batched_.model.get_runtime_model(); }
  void export_model(std::ostream& stream) const override;

  CompiledModel& single() { return single_.model; }
  Meeting& meeting() { return meeting_; }

 private:
  Compiled single_, batched_;
  const std::size_t size_;
  Meeting meeting_;
  PropertyTable table_{"compiled model of BATCH"};
};

}  // namespace tenon::inline v1::batch_device
