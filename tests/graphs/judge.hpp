// SPDX-License-Identifier: Apache-2.0
// A random graph on the CPU engine beside the reference kernels.
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
  bool is_dynamic = false;     ///< Compiled from open shapes, by stages.
  bool shares_memory = false;  ///< Outputs lie in the memory of inputs where these are alike.
  bool is_strided = false;     ///< Inputs and outputs have gaps between their rows.

  std::string text() const;
};

/// Everything decided by `choices`, the precision and the kind of graph too.
Case random_case(Choices& choices);

struct Verdict {
  std::string failure;      ///< Empty: all outputs are as close as the precision allows.
  std::size_t outputs = 0;  ///< Judged.
  std::size_t blind = 0;    ///< Of these, so sensitive to rounding that hardly anything would be noticed.
  std::map<std::string, std::size_t> kernels;  ///< Of the steps, by name; "in place" counts those that overwrite.
};

/// Runs the case some times on other inputs. How far outputs may be off is measured: the reference runs again with
/// noise of the precision's size on every node's outputs.
Verdict judge(const Case& what);

/// The smallest bytes found by leaving out and zeroing some that still make a case fail.
std::vector<std::uint8_t> shrink(std::vector<std::uint8_t> bytes);

std::string to_hex(const std::vector<std::uint8_t>& bytes);
std::vector<std::uint8_t> from_hex(const std::string& text);

}  // namespace tenon::graphs
