// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

namespace tenon::inline v1::engine {

struct Lowered;

/// What making a plan of a model leaves for the next one, when the model has other shapes.
struct Relowering {
  std::shared_ptr<Lowered> lowered;  ///< Null: nothing yet.
  std::vector<bool> changed;         ///< The nodes, in order, whose inputs may have changed since.
  bool was_used = false;             ///< By the last plan.
  unsigned failures = 0;             ///< Plans in a row that could not use it.
  /// Some models are of another structure with each shape: these are asked now and then only.
  bool is_worth_trying() const { return lowered && (failures < 3 || failures % 8 == 0); }
};

}  // namespace tenon::inline v1::engine
