// SPDX-License-Identifier: Apache-2.0
// States of one run that need more than their memory: those with initialisers or dynamic shapes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/drivers/npu/compiler/program.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/staged.hpp>

namespace tenon::npu::compiler {

/// Clients can reset a state only by zeroing its memory. So memory of zeros starts from the model's initialiser, unless
/// the last run itself left these zeros. Two cases are misread: resetting a state that was all zeros does nothing, and
/// zeros that a client writes as a value reset the state.
///
/// The extents of a state of dynamic shape are stored here, since clients have no argument for them; its values are
/// packed at the start of the memory. A reset state has its initialiser's extents (without one: the smallest allowed).
/// Memory that this run never wrote and that is not zeros is a value of the largest shape.
/// @thread one at a time.
class RunStates {
 public:
  explicit RunStates(const Program& program);

  /// True if no state needs this; then nothing else is called.
  bool empty() const { return states_.empty(); }
  /// Whether any state's memory was reset. @param memory  By argument; each holds the largest shape.
  bool find_reset(const std::vector<void*>& memory);
  /// Writes initial values of the states that find_reset() found. @param inputs  Those that are ports.
  /// @errors kOutOfRange: an initialiser's shape is outside the state's bounds; exceptions of kernels.
  void initialise(const std::vector<void*>& memory, const std::vector<Tensor>& inputs, engine::Workers& workers);
  /// Replaces the largest extents of dynamic states by the current ones. @param shapes  The graph's inputs.
  void tell_shapes(std::vector<Shape>& shapes) const;
  /// Called after a run. @param shapes  The graph's outputs.
  void keep(const std::vector<void*>& memory, const std::vector<Shape>& shapes);

 private:
  struct State {
    std::size_t input = 0, output = 0;  ///< Argument indices.
    int initialiser = -1;               ///< Index of the initialiser's result.
    Shape shape;                        ///< Current shape.
    const void* memory = nullptr;       ///< Memory used by the last run.
    bool left_zeros = false;
    bool was_reset = false;
  };

  const Program& program_;
  std::vector<State> states_;
  std::unique_ptr<engine::Staged> staged_;
};

}  // namespace tenon::npu::compiler
