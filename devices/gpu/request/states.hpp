// SPDX-License-Identifier: Apache-2.0
// The states of one request, in the device's memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/lower/caches.hpp>
#include <tenon/devices/gpu/plan/execution.hpp>
#include <tenon/devices/gpu/plan/launch_plan.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::gpu_device {

/// A variable of a model.
struct Variable {
  std::string id;
  ElementType type = ElementType::kUndefined;
  PartialShape shape;
  Tensor initial;            ///< Empty: zeros, or what the model computes first.
  bool is_assigned = false;  ///< The next value is not the present one.
  /// Plans do not hold it, but read it as an input and make its next value as a result (planning::state_ports()).
  bool is_port = false;
  std::optional<CacheRows> cache = std::nullopt;    ///< How its value lies, if not as the model says; a port then.
  std::optional<std::size_t> grows = std::nullopt;  ///< Along which axis plans may want room for more of it.
};
/// In the order of the model. Ports are those whose shape or first value is not known.
std::vector<Variable> variables_of(const Model& model);

/// Memory of the device's context. @errors kResourceExhausted.
Tensor device_tensor(const Gpu& gpu, ElementType type, const Shape& shape);

/// One variable: its present value, and memory for the next one, since kernels may still read the present one while the
/// next is written.
class State final : public VariableStateImpl {
 public:
  State(std::shared_ptr<const Gpu> gpu, const Variable& variable);
  const Variable& variable() const { return variable_; }
  std::string name() const override { return variable_.id; }
  /// Where the host reaches the device's memory, and the value lies there packed and as the model says, that memory, which no
  /// inference writes as long as a tensor holds it; else a copy. A port without a value yet gives zeros, with no elements along open axes.
  Tensor state() const override;
  void set_state(const Tensor& state) override;
  void reset() override;

  /// As it lies. Empty: a port without a value yet, which the next inference initialises.
  const Tensor& present() const { return present_; }
  std::size_t room() const { return room_; }
  /// Memory for the next value, kept from inference to inference where it suffices. @param shape  As it lies. @param room  Along the axis
  /// along which it grows; 0: packed. @errors kResourceExhausted.
  const Tensor& next(const Shape& shape, std::size_t room = 0);
  /// The next value in the memory of the present one, behind which it grows. @pre lie() with room for it.
  const Tensor& grow(const Shape& shape);
  /// Where the present value lies. @pre present().
  BoundMemory present_memory() const { return {opencl::buffer(present_), nullptr, present_.offset()}; }
  /// Where next(), or grow(), would put the next value; none: in memory that is not there yet.
  std::optional<BoundMemory> next_memory(const Shape& shape, std::size_t room, bool is_in_place) const;
  /// Moves the present value, unless it lies so. @param queue  In which the move is enqueued. @errors kResourceExhausted; those of native
  /// calls: it lies as before.
  void lie(std::size_t room, cl_command_queue queue);
  /// @param index  The variable's index in the execution's plan. @pre no port.
  void bind(Execution& execution, std::size_t index);
  /// The next value is the present one for what is enqueued from now on; called again, it is the next one again.
  void turn() noexcept {
    std::swap(present_, next_);
    std::swap(room_, next_room_);
  }

 private:
  Tensor zeros() const;
  ElementType type() const;  ///< As it lies.
  std::size_t bytes_of(const Shape& shape, std::size_t room) const;
  /// Rows side by side, as many as there are of the axes before the one along which it grows.
  struct Lines {
    std::size_t count = 1, bytes = 0, pitch = 0;
  };
  Lines lines(const Shape& shape, std::size_t room) const;
  Tensor on_host() const;  ///< The present value as it lies, packed.

  const std::shared_ptr<const Gpu> gpu_;
  const Variable variable_;
  Tensor present_, next_;
  std::size_t room_ = 0, next_room_ = 0;  ///< See PlanPort.
};

}  // namespace tenon::inline v1::gpu_device
