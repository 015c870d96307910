// SPDX-License-Identifier: Apache-2.0
// The states of one request, in the device's memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/plan/execution.hpp>
#include <tenon/devices/gpu/plan/plan.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::gpu_device {

/// Those of the model whose shapes and initial values are known before it runs.
std::vector<PlanVariable> variables_of(const Model& model);

/// Memory of the device's context. @errors kResourceExhausted.
Tensor device_tensor(const Gpu& gpu, ElementType type, const Shape& shape);

/// One variable: its present value, and memory for the next one, since kernels may still read the present one while the
/// next is written.
class State final : public VariableStateImpl {
 public:
  State(std::shared_ptr<const Gpu> gpu, const PlanVariable& variable);
  const PlanVariable& variable() const { return variable_; }
  std::string name() const override { return variable_.id; }
  /// Where the host reaches the device's memory, that memory; else a copy.
  Tensor state() const override;
  void set_state(const Tensor& state) override;
  void reset() override;

  /// @param index  Of the execution's plan.
  void bind(Execution& execution, std::size_t index) const;
  /// Enqueues what makes the next value the present one.
  void advance(cl_command_queue queue) const;

 private:
  const std::shared_ptr<const Gpu> gpu_;
  const PlanVariable variable_;
  Tensor present_, next_;
};

}  // namespace tenon::inline v1::gpu_device
