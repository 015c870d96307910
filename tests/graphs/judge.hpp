// SPDX-License-Identifier: Apache-2.0
// Compares a random graph on an engine with the reference kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>
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
  std::string failure;      ///< Empty if all outputs are as close as the precision allows.
  std::size_t outputs = 0;  ///< Compared.
  std::size_t blind =
      0;  ///< Those among them that are so sensitive to rounding that hardly any error would be noticed.
  std::size_t relowered = 0;                   ///< Plans that were made from the one before.
  std::map<std::string, std::size_t> kernels;  ///< The steps' kernels by name; "in place" counts those that overwrite.
  bool is_refused = false;                     ///< See Refused.
};

/// The inputs and outputs of one run.
struct Bound {
  std::vector<Tensor> inputs, outputs;
};

/// What is compared with the reference: runs one case, again and again.
class Subject {
 public:
  virtual ~Subject() = default;
  /// Which inputs have open shapes; empty: none.
  virtual std::vector<bool> open_inputs() const { return {}; }
  virtual void run(Bound& bound) = 0;
  /// What is wrong with the steps that it shows of `model`, which has run; empty: nothing.
  virtual std::string fault_of_steps(const Model& /*model*/) const { return {}; }
  virtual std::map<std::string, std::size_t> kernels() const { return {}; }
  virtual std::size_t relowered() const { return 0; }
  /// Whether outputs may lie in the memory of inputs.
  virtual bool can_share_memory() const { return true; }
};
/// Thrown by subjects that cannot run a graph and say so, which is no failure.
struct Refused : std::exception {};
using MakeSubject = std::function<std::unique_ptr<Subject>(const Case&)>;
/// The CPU engine.
std::unique_ptr<Subject> engine_subject(const Case& what);

/// Whether it is one of every other input.
bool is_open_input(std::size_t input);
/// The model with these of open shapes; null: some operation needs more.
std::shared_ptr<Model> with_open_inputs(const Model& model);

/// Runs the case several times with other inputs. The tolerance is measured: the reference runs again with
/// noise of the precision's size on every node's outputs.
Verdict judge(const Case& what, const MakeSubject& make);

/// The smallest bytes, found by omitting and zeroing some, with which a case still fails.
std::vector<std::uint8_t> shrink(std::vector<std::uint8_t> bytes, const MakeSubject& make);
/// What fails of the case that the bytes decide (nothing: an empty line), and how to run it again.
std::string report(const std::vector<std::uint8_t>& bytes, const MakeSubject& make);

std::string to_hex(const std::vector<std::uint8_t>& bytes);
std::vector<std::uint8_t> from_hex(const std::string& text);

}  // namespace tenon::graphs
