// SPDX-License-Identifier: Apache-2.0
// A whole device for tests. It interprets the graph with the operation table's kernels, and tests can make it slow, make it
// fail, refuse memory or have a queue of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <istream>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/property_table.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/profiling_info.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/property.hpp>
#include <tenon/runtime/testing/reference_remote.hpp>

namespace tenon::testing {

inline constexpr Property<std::uint32_t> delay_us{"TEST_DELAY_US"};
inline constexpr Property<std::string> fail_with{"TEST_FAIL_WITH"};
inline constexpr Property<bool> own_queue{"TEST_OWN_QUEUE"};
/// With own_queue: infer() still runs in the caller's thread.
inline constexpr Property<bool> runs_in_caller{"TEST_RUNS_IN_CALLER"};
inline constexpr Property<bool> takes_strides{"TEST_TAKES_STRIDES"};
/// Runs max(x, 0) of the only input itself, without the interpreter, which allocates.
inline constexpr Property<bool> tiny_relu{"TEST_TINY_RELU"};

struct ReferenceConfig {
  streams::Num streams{1};
  bool profiling = false;
  hint::PerformanceMode mode = hint::PerformanceMode::LATENCY;
  std::uint32_t delay_us = 0;
  std::string fail_with;
  bool own_queue = false;
  bool runs_in_caller = false;
  bool takes_strides = false;
  bool tiny_relu = false;

  void list(PropertyTable& table) {
    table.add_value(num_streams, streams);
    table.add_value(enable_profiling, profiling);
    table.add_value(hint::performance_mode, mode);
    table.add_value(testing::delay_us, delay_us);
    table.add_value(testing::fail_with, fail_with);
    table.add_value(testing::own_queue, own_queue);
    table.add_value(testing::runs_in_caller, runs_in_caller);
    table.add_value(testing::takes_strides, takes_strides);
    table.add_value(testing::tiny_relu, tiny_relu);
  }
};

/// The number of live objects, so that tests see leaks.
inline std::atomic<int> live_models{0};
inline std::atomic<int> live_requests{0};
/// The thread of the last inference.
inline std::atomic<std::thread::id> ran_on{};

class ReferenceVariable final : public VariableStateImpl {
 public:
  ReferenceVariable(std::string name, ElementType type, PartialShape shape, std::shared_ptr<VariableMap> values)
      : name_(std::move(name)), type_(type), shape_(std::move(shape)), values_(std::move(values)) {}
  std::string name() const override { return name_; }
  Tensor state() const override {
    if (const auto found = values_->find(name_); found != values_->end()) return found->second;
    Tensor zeros(type_, shape_.is_static() ? shape_.to_shape() : Shape{0});
    std::fill_n(static_cast<char*>(zeros.data()), zeros.size_bytes(), '\0');
    return zeros;
  }
  void set_state(const Tensor& state) override {
    if (!shape_.compatible(PartialShape(state.shape())) || state.element_type() != type_)
      throw AssertFailure("variable '" + name_ + "' has the shape " + shape_.to_string() + ", the value is " +
                          to_string(state));
    Tensor copy;
    state.copy_to(copy);
    (*values_)[name_] = copy;
  }
  void reset() override { values_->erase(name_); }

 private:
  std::string name_;
  ElementType type_;
  PartialShape shape_;
  std::shared_ptr<VariableMap> values_;
};

/// A device's own thread of execution. Work may be added from within work, and the queue may be destroyed from within
/// it.
class ReferenceQueue {
 public:
  ~ReferenceQueue() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(shared_->mutex);
      shared_->stop = true;
    }
    shared_->changed.notify_all();
    if (thread_.get_id() == std::this_thread::get_id())
      thread_.detach();
    else
      thread_.join();
  }
  void add(std::function<void()> work) {
    if (!thread_.joinable()) thread_ = std::thread([shared = shared_] { run(*shared); });
    {
      std::lock_guard lock(shared_->mutex);
      shared_->work.push_back(std::move(work));
    }
    shared_->changed.notify_all();
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> work;
    bool stop = false;
  };
  static void run(Shared& shared) {
    for (;;) {
      std::unique_lock lock(shared.mutex);
      shared.changed.wait(lock, [&] { return shared.stop || !shared.work.empty(); });
      if (shared.work.empty()) return;
      auto next = std::move(shared.work.front());
      shared.work.pop_front();
      lock.unlock();
      next();
    }
  }
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;
};

class ReferenceRequest final : public InferRequestImpl {
 public:
  ReferenceRequest(std::shared_ptr<const Model> model, const ReferenceConfig& config)
      : model_(std::move(model)),
        config_(config),
        inputs_(model_->get_parameters().size()),
        outputs_(model_->get_results().size()),
        variables_(std::make_shared<VariableMap>()) {
    for (const auto& node : model_->get_ordered_ops()) {
      if (!is_op(node, "ReadValue")) continue;
      states_.push_back(std::make_shared<ReferenceVariable>(node->get_attributes().get_string("variable_id"),
                                                            node->get_output_element_type(0),
                                                            node->get_output_partial_shape(0), variables_));
    }
    ++live_requests;
  }
  ~ReferenceRequest() override { --live_requests; }

  void bind_input(std::size_t index, const Tensor& tensor) override { inputs_.at(index) = near(tensor); }
  void bind_output(std::size_t index, const Tensor& tensor) override { outputs_.at(index) = near(tensor); }
  bool runs_in_caller() const noexcept override { return !config_.own_queue || config_.runs_in_caller; }
  bool is_asynchronous() const noexcept override { return config_.own_queue; }

  void start(Inference& inference) override {
    queue_.add([this, &inference] {
      std::exception_ptr error;
      try {
        run(inference);
      } catch (...) {
        error = std::current_exception();
      }
      inference.finish(error);
    });
  }

  void run(Inference& inference) override {
    ran_on.store(std::this_thread::get_id());
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::microseconds(config_.delay_us)) {
      inference.throw_if_cancelled();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (!config_.fail_with.empty()) throw Error(Code::kInternal, config_.fail_with);
    if (config_.tiny_relu) {
      const auto* x = static_cast<const float*>(inputs_[0].data());
      auto* y = static_cast<float*>(outputs_[0].data());
      for (std::size_t i = 0, count = inputs_[0].element_count(); i < count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
      return;
    }
    profile_.clear();
    const auto results =
        evaluate(*model_, inputs_, variables_.get(), [&](const Node& node, const std::vector<Tensor>&) {
          if (!config_.profiling) return;
          ProfilingInfo info;
          info.status = ProfilingInfo::Status::EXECUTED;
          info.node_name = node.get_friendly_name();
          info.node_type = std::string(node.get_type_info().name);
          info.exec_type = "reference";
          profile_.push_back(std::move(info));
        });
    for (std::size_t i = 0; i < results.size(); ++i) {
      Tensor target = model_->get_results()[i]->get_output_partial_shape(0).is_static()
                          ? outputs_[i]
                          : inference.output(i, results[i].shape());
      copy_strided(results[i].element_type(), results[i].shape(), results[i].data(), results[i].byte_strides(),
                   target.data(), target.byte_strides());
    }
    ran_ = true;
  }

  std::vector<ProfilingInfo> profiling_info() const override {
    if (!config_.profiling || !ran_) return InferRequestImpl::profiling_info();
    return profile_;
  }
  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override { return states_; }

 private:
  std::shared_ptr<const Model> model_;
  ReferenceConfig config_;
  std::vector<Tensor> inputs_, outputs_;
  std::shared_ptr<VariableMap> variables_;
  std::vector<std::shared_ptr<VariableStateImpl>> states_;
  std::vector<ProfilingInfo> profile_;
  bool ran_ = false;
  ReferenceQueue queue_;
};

class ReferenceModel final : public CompiledModelImpl {
 public:
  ReferenceModel(std::shared_ptr<const Model> model, const ReferenceConfig& config, std::string device,
                 std::shared_ptr<RemoteContextImpl> context = nullptr)
      : CompiledModelImpl(Ports::of(*model)),
        model_(std::move(model)),
        config_(config),
        context_(std::move(context)),
        table_("a model compiled for " + device) {
    table_.add_constant(model_name, model_->get_friendly_name());
    table_.add_constant(optimal_number_of_infer_requests,
                        static_cast<std::uint32_t>(std::max(1, static_cast<int>(config.streams))));
    table_.add_constant(execution_devices, std::vector<std::string>{device});
    table_.add_constant(num_streams, config.streams);
    ++live_models;
  }
  ~ReferenceModel() override { --live_models; }
  std::unique_ptr<InferRequestImpl> create_request() override {
    return std::make_unique<ReferenceRequest>(model_, config_);
  }
  std::size_t stream_count() const override {
    return static_cast<std::size_t>(std::max(0, static_cast<int>(config_.streams)));
  }
  std::optional<Refusal> refuses_input(std::size_t index, const Tensor& tensor) const override {
    if (takes(tensor)) return std::nullopt;
    return CompiledModelImpl::refuses_input(index, tensor);
  }
  std::optional<Refusal> refuses_output(std::size_t index, const Tensor& tensor) const override {
    if (takes(tensor)) return std::nullopt;
    return CompiledModelImpl::refuses_output(index, tensor);
  }
  void export_model(std::ostream& stream) const override {
    if (!context_) return CompiledModelImpl::export_model(stream);
    stream << "REFERENCE";
  }
  std::shared_ptr<RemoteContextImpl> context() const override {
    return context_ ? context_ : CompiledModelImpl::context();
  }
  Any get_property(const std::string& name) const override { return table_.get(name); }
  std::shared_ptr<const Model> runtime_model() const override { return model_; }

 private:
  bool takes(const Tensor& tensor) const {
    // Far memory and regions of it are accepted if the model was compiled for its context.
    if (context_ && tensor.kind() == kFarMemory) return true;
    return config_.takes_strides && tensor.is_host_addressable();
  }
  std::shared_ptr<const Model> model_;
  ReferenceConfig config_;
  std::shared_ptr<RemoteContextImpl> context_;
  PropertyTable table_;
};

class ReferenceDevice final : public Device {
 public:
  ReferenceDevice() : table_("REFERENCE") { list(table_, config_); }
  std::string name() const override { return "REFERENCE"; }

  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                   const AnyMap& properties) override {
    check_supported(*model);
    ReferenceConfig config = copy_of_config();
    PropertyTable table("REFERENCE");
    list(table, config);
    table.set(properties);
    ++compilations;
    return std::make_shared<ReferenceModel>(model, config, name());
  }
  std::shared_ptr<CompiledModelImpl> compile_in_context(const std::shared_ptr<const Model>& model,
                                                        const std::shared_ptr<RemoteContextImpl>& context,
                                                        const AnyMap&) override {
    return std::make_shared<ReferenceModel>(model, copy_of_config(), name(), context);
  }
  /// The blob is one word, which stands for relu_model().
  std::shared_ptr<CompiledModelImpl> import_in_context(std::istream& stream,
                                                       const std::shared_ptr<RemoteContextImpl>& context,
                                                       const AnyMap&) override;
  std::shared_ptr<RemoteContextImpl> create_context(const AnyMap& params) override {
    return std::make_shared<ReferenceContext>(params);
  }
  std::shared_ptr<RemoteContextImpl> default_context(const AnyMap&) override {
    std::lock_guard lock(mutex_);
    if (!default_context_) default_context_ = std::make_shared<ReferenceContext>(AnyMap{});
    return default_context_;
  }
  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap&) const override {
    SupportedOpsMap supported;
    for (const auto& node : model->get_ordered_ops()) {
      if (runs(*node)) supported[node->get_friendly_name()] = name();
    }
    return supported;
  }
  Any get_property(const std::string& name, const AnyMap&) const override {
    std::lock_guard lock(mutex_);
    return table_.get(name);
  }
  void set_property(const AnyMap& properties) override {
    std::lock_guard lock(mutex_);
    table_.set(properties);
  }

  static inline std::atomic<int> compilations{0};

 private:
  static void list(PropertyTable& table, ReferenceConfig& config) {
    table.add_constant(available_devices, std::vector<std::string>{""});
    table.add_constant(device::full_name, std::string("Tenon reference interpreter"));
    table.add_constant(device::capabilities, std::vector<std::string>{device::capability::FP32});
    config.list(table);
  }
  /// An operation that this device refuses, so that tests of unsupported operations need no exotic one.
  static bool runs(const Node& node) { return !is_op(&node, "Tanh"); }
  static void check_supported(const Model& model) {
    std::string lacking;
    for (const auto& node : model.get_ordered_ops()) {
      if (!runs(*node)) lacking += (lacking.empty() ? "" : ", ") + node->describe();
    }
    if (!lacking.empty()) throw NotImplemented("REFERENCE has no kernel for " + lacking + "; it has all but Tanh");
  }
  ReferenceConfig copy_of_config() const {
    std::lock_guard lock(mutex_);
    return config_;
  }
  mutable std::mutex mutex_;
  ReferenceConfig config_;
  std::shared_ptr<RemoteContextImpl> default_context_;
  PropertyTable table_;
};

inline const DeviceModule& reference_module() {
  static const DeviceModule module{kDeviceAbiVersion, sizeof(DeviceModule), "REFERENCE",
                                   "Tenon reference device, for tests",
                                   []() -> std::shared_ptr<Device> { return std::make_shared<ReferenceDevice>(); }};
  return module;
}

/// y = relu(x), f32.
inline std::shared_ptr<Model> relu_model(const PartialShape& shape = PartialShape{1, 4}) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, shape);
  x->set_friendly_name("x_node");
  x->output(0).set_names({"x"});
  auto y = std::make_shared<op::v0::Relu>(x->output(0));
  y->set_friendly_name("relu");
  y->output(0).set_names({"y"});
  auto result = std::make_shared<op::v0::Result>(y->output(0));
  result->set_friendly_name("y_node");
  return std::make_shared<Model>(ResultVector{result}, ParameterVector{x}, "relu_model");
}

inline std::shared_ptr<CompiledModelImpl> ReferenceDevice::import_in_context(
    std::istream& stream, const std::shared_ptr<RemoteContextImpl>& context, const AnyMap&) {
  std::string word;
  if (!(stream >> word) || word != "REFERENCE") throw AssertFailure("REFERENCE: this is no blob of this device");
  return std::make_shared<ReferenceModel>(relu_model(), copy_of_config(), name(), context);
}

/// sum = a + b, f32.
inline std::shared_ptr<Model> add_model(const Shape& shape = Shape{2, 3}) {
  auto a = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(shape));
  auto b = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(shape));
  a->set_friendly_name("a");
  b->set_friendly_name("b");
  a->output(0).set_names({"a"});
  b->output(0).set_names({"b"});
  auto sum = std::make_shared<op::v1::Add>(a->output(0), b->output(0));
  sum->set_friendly_name("add");
  sum->output(0).set_names({"sum"});
  auto result = std::make_shared<op::v0::Result>(sum->output(0));
  result->set_friendly_name("sum_result");
  return std::make_shared<Model>(ResultVector{result}, ParameterVector{a, b}, "add_model");
}

}  // namespace tenon::testing
