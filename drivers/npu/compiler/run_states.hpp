// SPDX-License-Identifier: Apache-2.0
// States of one run whose memory says too little: those with a first value, and those of open shape.
#pragma once

#include <memory>
#include <vector>

#include <tenon/drivers/npu/compiler/program.hpp>
#include <tenon/engine/staged.hpp>

namespace tenon::npu::compiler {

/// Clients reset a state by filling its memory with zeros, and have no other word for it. So memory of zeros begins
/// with the model's initialiser, unless the last run itself left these zeros there. What this takes for a value is a
/// reset of a state that was all zeros already; what it takes for a reset is zeros that a client wrote as a value.
///
/// The extents of a state of open shape are kept here, since clients have no argument for them: the values lie packed
/// at the begin of the memory. A reset state has those of its initialiser (without one: the least that its bounds
/// allow); memory that this run never wrote, and that is not zeros, is a value of the largest shape.
/// @thread one at a time.
class RunStates {
 public:
  explicit RunStates(const Program& program);

  /// Whether no state needs this: then nothing else is called.
  bool empty() const { return states_.empty(); }
  /// Whether the memory of any state was reset. @param memory  By argument; each holds the largest shape.
  bool find_reset(const std::vector<void*>& memory);
  /// Writes the first values of the states that find_reset() found. @param inputs  The inputs that are ports.
  /// @errors kOutOfRange: an initialiser's shape is outside the state's bounds; what kernels throw.
  void initialise(const std::vector<void*>& memory, const std::vector<Tensor>& inputs, engine::Workers& workers);
  /// The extents of now of open states, in place of their largest. @param shapes  Of the graph's inputs.
  void tell_shapes(std::vector<Shape>& shapes) const;
  /// After a run. @param shapes  Of the graph's outputs.
  void keep(const std::vector<void*>& memory, const std::vector<Shape>& shapes);

 private:
  struct State {
    std::size_t input = 0, output = 0;  ///< Arguments.
    int initialiser = -1;               ///< Result of the initialisers.
    Shape shape;                        ///< Of now.
    const void* memory = nullptr;       ///< Where the last run left it.
    bool left_zeros = false;
    bool was_reset = false;
  };

  const Program& program_;
  std::vector<State> states_;
  std::unique_ptr<engine::Staged> staged_;
};

}  // namespace tenon::npu::compiler
