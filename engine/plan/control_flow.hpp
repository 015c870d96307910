// SPDX-License-Identifier: Apache-2.0
// Steps that run plans: the bodies of loops and branches, compiled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/plan/plan.hpp>

namespace tenon::inline v1::engine {

/// How a part of an axis lies in the whole tensor: `outer` runs of `run_bytes`, `pitch_bytes` apart.
struct PartLayout {
  std::size_t outer = 1, run_bytes = 0, pitch_bytes = 0;
  std::size_t axis_bytes = 0;  ///< The size of one element of the axis within a run.
  bool is_contiguous() const { return outer == 1; }
  std::size_t size_bytes() const { return outer * run_bytes; }
};

/// The body runs once per iteration; state goes from one buffer to another without copies.
class LoopStep final : public Step {
 public:
  std::unique_ptr<StepState> make_state() const override;

  struct Slice {
    std::size_t parameter, operand;
    std::int64_t first, step, count;
    PartLayout layout;
  };
  struct Merge {
    std::size_t parameter, operand, result;
  };
  struct Fixed {
    std::size_t parameter, operand;
  };
  struct Join {
    std::size_t result, operand;
    std::int64_t part_size, parts;
    bool is_reversed;
    PartLayout layout;
  };
  struct Single {
    std::size_t result, operand;
    std::int64_t iteration;
  };
  std::shared_ptr<const Plan> body;
  std::vector<Slice> slices;
  std::vector<Merge> merges;
  std::vector<Fixed> fixed;
  std::vector<Join> joins;
  std::vector<Single> singles;
  std::string node_text;
  std::int64_t iterations = -1;  ///< If known; otherwise operand 0 holds the maximum.
  bool has_condition = false;    ///< Operand 1 is checked before the first iteration.
  ElementType trips_type = ElementType::kI64;
  std::ptrdiff_t number = -1;  ///< Parameter that receives the iteration's number.
  ElementType number_type = ElementType::kI64;
  std::ptrdiff_t goes_on = -1;  ///< Result that says whether to continue.
};

/// One of two bodies runs, reading and writing the operands in place.
class BranchStep final : public Step {
 public:
  std::unique_ptr<StepState> make_state() const override;

  struct Branch {
    std::shared_ptr<const Plan> body;
    std::vector<std::pair<std::size_t, std::size_t>> inputs;   ///< parameter, operand
    std::vector<std::pair<std::size_t, std::size_t>> outputs;  ///< result, operand
  };
  Branch branches[2];  ///< One that is never taken has no body.
};

}  // namespace tenon::inline v1::engine
