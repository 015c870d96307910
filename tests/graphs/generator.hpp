// SPDX-License-Identifier: Apache-2.0
// Random graphs of the kind in which values share memory: views of views, joins, residuals with several
// readers, rounding to 8 bits in odd places, the same within branches and loops.
#pragma once

#include <memory>
#include <string>

#include <tenon/graph/model.hpp>
#include <tenon/tests/graphs/choices.hpp>

namespace tenon::graphs {

/// What a generated model may contain.
struct Wishes {
  bool quantized = false;  ///< With rounding to 8 bits, and weights in 8 bits.
  bool states = false;     ///< With ReadValue and Assign.
  bool bodies = true;      ///< With If and Loop.
  std::size_t nodes = 8;   ///< Steps of the generator; each makes one or more nodes.
};

/// A model of static shapes. Values stay below about 1000, and no function in it has a steep slope.
std::shared_ptr<Model> random_model(Choices& choices, const Wishes& wishes);

/// The model's nodes, one per line, for people to read.
std::string text_of(const Model& model, const std::string& indent = {});

}  // namespace tenon::graphs
