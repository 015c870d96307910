// SPDX-License-Identifier: Apache-2.0
// The input stage on the CPU: decoder planes to model input in one pass.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <tenon/graph/input_stage/spec.hpp>

namespace tenon {
inline namespace v1 {
namespace engine {

/// An input stage with its taps and matrix prepared; immutable, so any number of threads may run it at once.
///
/// A row of output is made from at most two rows of each plane, blended into a row buffer that stays in the first-level
/// cache; there is no intermediate picture. Rows are distributed by TBB inside the caller's task_arena. Values are
/// blended vertically in 16-bit fixed point (7 fractional bits) and otherwise in float: within 0.02 of an 8-bit step of
/// the reference kernel (input_stage_test).
class InputStagePlan {
 public:
  /// @errors kUnimplemented: an output type other than f32, f16 and u8, or samples of other than 8 to 16 bits.
  explicit InputStagePlan(const InputStageSpec& spec);
  ~InputStagePlan();
  InputStagePlan(InputStagePlan&&) noexcept;
  InputStagePlan& operator=(InputStagePlan&&) noexcept;

  const InputStageSpec& spec() const;

  /// Fills `target` (packed elements of spec().type). The planes must be as plane_views() returns them.
  /// @cost no allocation once every worker has run the largest plan.
  void run(std::span<const PlaneView> planes, void* target) const;

  /// Output rows [begin, end) in the calling thread alone.
  void run_rows(std::span<const PlaneView> planes, void* target, std::size_t begin, std::size_t end) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace engine
}  // namespace v1
}  // namespace tenon
