// SPDX-License-Identifier: Apache-2.0
// Builds the model that get_runtime_model() returns from executed steps, for any device's engine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon {
inline namespace v1 {
namespace exec_model_info {

/// An output of a step.
struct StepOutput {
  element::Type type;
  PartialShape shape;
  std::string layout;  ///< See OUTPUT_LAYOUTS.
};

/// The description of one step.
struct StepNotes {
  std::string type, name, kernel;
  std::vector<std::string> originals{}, folded{};  ///< Friendly names of the given model's nodes.
  std::optional<element::Type> precision{};        ///< Element type of its first input; none: that of its first output.
  std::size_t bytes_read = 0, bytes_written = 0, weight_bytes = 0;
  std::optional<std::uint64_t> multiply_adds{};
  std::optional<std::chrono::nanoseconds> time{};
};

/// A row-major layout: "abcd"; "undef" if there are more axes than letters.
TENON_API std::string packed_layout(std::size_t rank);
/// Adds the original nodes of `node` before passes, and those that were folded into it.
TENON_API void add_originals(StepNotes& notes, const Node& node);

/// A model of steps under construction, in the order of execution.
class TENON_API ExecutedModel {
 public:
  /// One of the given model's inputs.
  Output<Node> add_parameter(const Node& given, const StepOutput& as);
  /// A value that is in memory before the run: a state's value, or a constant that is itself a result.
  Output<Node> add_memory(const std::string& type, const std::string& name, const StepOutput& as);
  std::shared_ptr<Node> add_step(const StepNotes& notes, const OutputVector& arguments,
                                 const std::vector<StepOutput>& outputs);
  /// A node of the given model that no step computes. Ignored if a step names the node after all.
  void add_optimized_out(const std::string& name) { optimized_out_.push_back(name); }

  /// A result of the given model.
  struct Made {
    Output<Node> value;
    PartialShape shape;
    StepNotes notes;  ///< Its type, kernel, originals and folded nodes.
  };
  /// @param given  The model whose results these are, in order. A step of type "Result" that does nothing but copy to one
  /// becomes the result itself.
  std::shared_ptr<Model> finish(const Model& given, const std::vector<Made>& results);

 private:
  void number(const ResultVector& results);
  void note_optimized_out(Model& model) const;

  ParameterVector parameters_;
  NodeVector steps_;
  std::vector<std::string> optimized_out_;
};

}  // namespace exec_model_info
}  // namespace v1
}  // namespace tenon
