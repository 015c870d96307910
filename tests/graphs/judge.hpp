// SPDX-License-Identifier: Apache-2.0
// Compares a random graph on the CPU engine with the reference kernels.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/engine/engine.hpp>
#include <tenon/tests/graphs/generator.hpp>

namespace tenon::graphs {

struct Case {
  std::shared_ptr<Model> model;
  engine::Options options;
  bool is_quantized = false;
  bool is_dynamic = false;     ///< Compiled from open shapes, in stages.
  bool shares_memory = false;  ///< Outputs lie in the memory of inputs if types and shapes match.
  bool is_strided = false;     ///< Inputs and outputs have gaps between their rows.

  std::string text() const;
};

/// `choices` decides everything, including the precision and the kind of graph.
Case random_case(Choices& choices);

struct Verdict {
  std::string failure;        ///< Empty if all outputs are as close as the precision allows.
  std::size_t outputs = 0;    ///< Compared.
  std::size_t blind = 0;      ///< Of these, so sensitive to rounding that hardly any error would be noticed.
  std::size_t relowered = 0;  ///< Plans that were made from the one before.
  std::map<std::string, std::size_t> kernels;  ///< The steps' kernels by name; "in place" counts those that overwrite.
};

/// Runs the case several times with other inputs. The tolerance is measured: the reference runs again with
/// noise of the precision's size on every node's outputs.
Verdict judge(const Case& what);

/// The smallest bytes, found by omitting and zeroing some, with which a case still fails.
std::vector<std::uint8_t> shrink(std::vector<std::uint8_t> bytes);

std::string to_hex(const std::vector<std::uint8_t>& bytes);
std::vector<std::uint8_t> from_hex(const std::string& text);

}  // namespace tenon::graphs
