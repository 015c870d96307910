// SPDX-License-Identifier: Apache-2.0
// The load generator of bench, on a device that refuses to start a request again.
#include <tenon/tools/tenon/shared/load.hpp>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>

#include <gtest/gtest.h>

#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/device/device_registry.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

namespace tenon::tool {
namespace load_test {

std::atomic<int> starts_left{0};

/// Asynchronous; throws from start() when starts_left is used up.
class RefusingRequest final : public InferRequestImpl {
 public:
  explicit RefusingRequest(std::unique_ptr<InferRequestImpl> inner) : inner_(std::move(inner)) {}
  void bind_input(std::size_t index, const Tensor& tensor) override { inner_->bind_input(index, tensor); }
  void bind_output(std::size_t index, const Tensor& tensor) override { inner_->bind_output(index, tensor); }
  void run(Inference& inference) override { inner_->run(inference); }
  bool is_asynchronous() const noexcept override { return true; }
  void start(Inference& inference) override {
    if (starts_left.fetch_sub(1) <= 0) throw Error(Code::kUnavailable, "REFUSING starts nothing more");
    inner_->start(inference);
  }

 private:
  std::unique_ptr<InferRequestImpl> inner_;
};

class RefusingModel final : public CompiledModelImpl {
 public:
  explicit RefusingModel(const std::shared_ptr<const Model>& model)
      : CompiledModelImpl(Ports::of(*model)), inner_(model, config(), "REFUSING") {}
  std::unique_ptr<InferRequestImpl> create_request() override {
    return std::make_unique<RefusingRequest>(inner_.create_request());
  }
  Any get_property(const std::string& name) const override { return inner_.get_property(name); }

 private:
  static tenon::testing::ReferenceConfig config() {
    tenon::testing::ReferenceConfig config;
    config.own_queue = true;
    return config;
  }
  tenon::testing::ReferenceModel inner_;
};

class RefusingDevice final : public Device {
 public:
  std::string name() const override { return "REFUSING"; }
  std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model, const AnyMap&) override {
    return std::make_shared<RefusingModel>(model->clone());
  }
  SupportedOpsMap query_model(const std::shared_ptr<const Model>&, const AnyMap&) const override { return {}; }
  Any get_property(const std::string& name, const AnyMap&) const override { return table_.get(name); }
  void set_property(const AnyMap& properties) override { table_.set(properties); }

 private:
  PropertyTable table_{"REFUSING"};
};

CompiledModel compiled() {
  static const DeviceModule module{kDeviceAbiVersion, sizeof(DeviceModule), "REFUSING", "a device of this test",
                                   []() -> std::shared_ptr<Device> { return std::make_shared<RefusingDevice>(); }};
  static const bool once = (register_device(module), true);
  (void)once;
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  const auto model = std::make_shared<Model>(OutputVector{make_node("Relu", 1, {x})}, ParameterVector{x}, "m");
  static Core core;
  return core.compile_model(model, "REFUSING");
}

/// The error of run(), within a deadline, so that a hang fails the test.
std::string failure_of(int starts, std::uint64_t requests) {
  starts_left = starts;
  auto outcome = std::async(std::launch::async, [requests]() -> std::string {
    CompiledModel model = compiled();
    Load load(model, requests);
    try {
      EXPECT_EQ(load.run(Clock::now() + std::chrono::minutes(10), 1000, nullptr), 1000u);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  });
  if (outcome.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
    std::puts("FAILED: Load::run does not return");
    std::_Exit(1);
  }
  return outcome.get();
}

TEST(Load, RunsAsOftenAsAsked) { EXPECT_EQ(failure_of(100000, 3), ""); }

TEST(Load, AStartThatFailsInACallbackEndsTheRunWithItsMessage) {
  for (const int starts : {5, 20}) {
    EXPECT_NE(failure_of(starts, 1).find("starts nothing more"), std::string::npos);
    EXPECT_NE(failure_of(starts, 4).find("starts nothing more"), std::string::npos);
  }
}

TEST(Load, AStartThatFailsAtOnceToo) {
  EXPECT_NE(failure_of(0, 1).find("starts nothing more"), std::string::npos);
  EXPECT_NE(failure_of(2, 4).find("starts nothing more"), std::string::npos);
}

}  // namespace load_test
}  // namespace tenon::tool
