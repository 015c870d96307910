// SPDX-License-Identifier: Apache-2.0
// A device that compiles when the test lets it, fails on request, and runs only some operations.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <tenon/graph/wanted.hpp>
#include <tenon/runtime/device/device_registry.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

namespace tenon::testing {

/// Controls all gated devices of the process; each test resets it.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  bool fail_compile = false;
  bool fail_infer = false;
  std::set<std::string> only;  ///< The operation types that it runs; empty: all.
  int compiled = 0, inferred = 0;
  std::size_t streams = 1;
  int together = 0;  ///< Inferences that wait for each other, for some seconds at most.
  int inside = 0, most_inside = 0;

  void reset() {
    const std::lock_guard lock(mutex);
    open = true;
    fail_compile = fail_infer = false;
    only.clear();
    compiled = inferred = 0;
    streams = 1;
    together = inside = most_inside = 0;
    changed.notify_all();
  }
  void set_open(bool value) {
    const std::lock_guard lock(mutex);
    open = value;
    changed.notify_all();
  }
};
inline Gate gate;

class GatedRequest final : public InferRequestImpl {
 public:
  explicit GatedRequest(std::unique_ptr<InferRequestImpl> inner) : inner_(std::move(inner)) {}
  void bind_input(std::size_t index, const Tensor& tensor) override { inner_->bind_input(index, tensor); }
  void bind_output(std::size_t index, const Tensor& tensor) override { inner_->bind_output(index, tensor); }
  void run(Inference& inference) override {
    {
      std::unique_lock lock(gate.mutex);
      if (gate.fail_infer) throw Error(Code::kInternal, "GATED lost its device");
      ++gate.inferred;
      gate.most_inside = std::max(gate.most_inside, ++gate.inside);
      gate.changed.notify_all();
      gate.changed.wait_for(lock, std::chrono::seconds(5), [] { return gate.most_inside >= gate.together; });
      --gate.inside;
    }
    inner_->run(inference);
  }
  std::vector<std::shared_ptr<VariableStateImpl>> query_state() override { return inner_->query_state(); }

 private:
  std::unique_ptr<InferRequestImpl> inner_;
};

class GatedModel final : public CompiledModelImpl {
 public:
  GatedModel(std::shared_ptr<const Model> model, std::string device)
      : CompiledModelImpl(Ports::of(*model)), inner_(std::move(model), ReferenceConfig{}, std::move(device)) {}
  std::unique_ptr<InferRequestImpl> create_request() override {
    return std::make_unique<GatedRequest>(inner_.create_request());
  }
  std::size_t stream_count() const override { return streams_; }
  Any get_property(const std::string& name) const override { return inner_.get_property(name); }

 private:
  const std::size_t streams_ = gate.streams;
  ReferenceModel inner_;
};

class GatedDevice final : public Device {
 public:
  GatedDevice() : table_("GATED") {
    table_.add_constant(available_devices, std::vector<std::string>{""});
    table_.add_constant(device::full_name, std::string("gated"));
    table_.add_constant(device::capabilities, std::vector<std::string>{});
    table_.add_value(hint::performance_mode, mode_);
  }
  std::string name() const override { return "GATED"; }
  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                   const AnyMap& properties) override {
    table_.set(properties);
    std::unique_lock lock(gate.mutex);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!gate.open && std::chrono::steady_clock::now() < end) {
      gate.changed.wait_for(lock, std::chrono::milliseconds(5));
      CancellationScope::check("compiling", model->get_friendly_name());
    }
    if (gate.fail_compile) throw Error(Code::kUnimplemented, "GATED does not want to");
    ++gate.compiled;
    return std::make_shared<GatedModel>(model->clone(), name());
  }
  SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap&) const override {
    const std::lock_guard lock(gate.mutex);
    SupportedOpsMap supported;
    for (const auto& node : model->get_ordered_ops())
      if (gate.only.empty() || gate.only.count(node->get_type_name())) supported[node->get_friendly_name()] = name();
    return supported;
  }
  Any get_property(const std::string& name, const AnyMap&) const override { return table_.get(name); }
  void set_property(const AnyMap& properties) override { table_.set(properties); }

 private:
  hint::PerformanceMode mode_ = hint::PerformanceMode::LATENCY;
  PropertyTable table_;
};

inline void register_gated_device() {
  static const DeviceModule module{kDeviceAbiVersion, sizeof(DeviceModule), "GATED", "a device of the tests",
                                   []() -> std::shared_ptr<Device> { return std::make_shared<GatedDevice>(); }};
  static const bool once = (register_device(module), true);
  (void)once;
}

inline std::shared_ptr<Node> named(std::shared_ptr<Node> node, const std::string& name,
                                   const std::string& device = {}) {
  node->set_friendly_name(name);
  if (!device.empty()) node->get_rt_info()["affinity"] = Any(device);
  return node;
}

/// state += x on one device, from 1 on; y = relu(state) on the other.
inline std::shared_ptr<Model> stateful() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{4});
  x->output(0).set_names({"x"});
  auto zero = op::v0::Constant::create(element::f32, Shape{4}, {1, 1, 1, 1});
  auto read =
      make_node("ReadValue", 6, {zero->output(0)},
                {{"variable_id", "sum"}, {"variable_type", element::f32}, {"variable_shape", PartialShape{4}}}, "read");
  auto sum = named(std::make_shared<op::v1::Add>(read->output(0), x->output(0)), "sum", "TEMPLATE");
  auto assign = make_node("Assign", 6, {sum->output(0)}, {{"variable_id", "sum"}}, "assign");
  auto y = named(std::make_shared<op::v0::Relu>(sum->output(0)), "y", "CPU");
  y->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{y->output(0)}, SinkVector{assign}, ParameterVector{x}, "s");
}

}  // namespace tenon::testing
