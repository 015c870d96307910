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
};

}  // namespace tenon::inline v1::engine
