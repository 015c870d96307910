// SPDX-License-Identifier: Apache-2.0
// Building blocks of the operation table's rows: the builder, and helpers of shape functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>  // IWYU pragma: export
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/dimension.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon {
inline namespace v1 {

/// Collects the rows. Each group of operations has one function that adds its rows.
class OperationTable {
 public:
  /// Adds attributes to the row; those with a fallback are optional.
  class Row {
   public:
    explicit Row(Operation& operation) : operation_(operation) {}
    Row& flag(const char* name, std::optional<bool> fallback = {}) { return add(name, AttributeKind::kBool, fallback); }
    Row& integer(const char* name, std::optional<std::int64_t> fallback = {}) {
      return add(name, AttributeKind::kInt, fallback);
    }
    Row& real(const char* name, std::optional<double> fallback = {}) {
      return add(name, AttributeKind::kDouble, fallback);
    }
    Row& text(const char* name, std::optional<std::string> fallback = {}, std::vector<std::string> allowed = {}) {
      add(name, AttributeKind::kString, std::move(fallback));
      operation_.attributes.back().allowed = std::move(allowed);
      return *this;
    }
    Row& type(const char* name, std::optional<ElementType> fallback = {}) {
      return add(name, AttributeKind::kType, fallback);
    }
    Row& ints(const char* name, std::optional<std::vector<std::int64_t>> fallback = {}) {
      return add(name, AttributeKind::kInts, std::move(fallback));
    }
    Row& reals(const char* name, std::optional<std::vector<double>> fallback = {}) {
      return add(name, AttributeKind::kDoubles, std::move(fallback));
    }
    Row& texts(const char* name, std::optional<std::vector<std::string>> fallback = {}) {
      return add(name, AttributeKind::kStrings, std::move(fallback));
    }
    Row& shape(const char* name, std::optional<PartialShape> fallback = {}) {
      return add(name, AttributeKind::kShape, std::move(fallback));
    }
    Row& expression(const char* text) { return operation_.expression = text, *this; }

   private:
    template <typename T>
    Row& add(const char* name, AttributeKind kind, std::optional<T> fallback) {
      operation_.attributes.push_back(
          {name, kind, !fallback, fallback ? Attribute(*std::move(fallback)) : Attribute(false), {}});
      return *this;
    }
    Operation& operation_;
  };

  Row add(const char* type, unsigned opset, std::size_t min_inputs, std::size_t max_inputs, void (*infer)(Node&),
          Kernel evaluate, const char* description);
  std::deque<Operation>& rows() { return rows_; }

 private:
  std::deque<Operation> rows_;  // A deque: rows keep their addresses.
};

void add_activation_rows(OperationTable& table);
void add_arithmetic_rows(OperationTable& table);
void add_model_rows(OperationTable& table);
void add_convolution_rows(OperationTable& table);
void add_pooling_rows(OperationTable& table);
void add_shape_rows(OperationTable& table);
void add_slicing_rows(OperationTable& table);
void add_padding_rows(OperationTable& table);
void add_gather_rows(OperationTable& table);
void add_reduction_rows(OperationTable& table);
void add_sorting_rows(OperationTable& table);
void add_normalisation_rows(OperationTable& table);
void add_matmul_rows(OperationTable& table);
void add_attention_rows(OperationTable& table);
void add_interpolate_rows(OperationTable& table);
void add_quantisation_rows(OperationTable& table);
void add_generation_rows(OperationTable& table);
void add_colour_rows(OperationTable& table);
void add_detection_rows(OperationTable& table);
void add_control_flow_rows(OperationTable& table);
void add_recurrent_rows(OperationTable& table);
void add_sampling_rows(OperationTable& table);
void add_unique_rows(OperationTable& table);
void add_ssd_rows(OperationTable& table);
void add_signal_rows(OperationTable& table);
void add_space_rows(OperationTable& table);
void add_matrix_rows(OperationTable& table);
void add_embedding_rows(OperationTable& table);
void add_regions_rows(OperationTable& table);
void add_nms_rows(OperationTable& table);
void add_proposals_rows(OperationTable& table);
void add_string_rows(OperationTable& table);
void add_learned_rows(OperationTable& table);
void add_input_stage_rows(OperationTable& table);  // graph/input_stage

namespace op {
/// For operation classes: the row of an operation in the table. @errors kInternal: it has not
const Operation& row(const char* type, unsigned version);
}  // namespace op

/// Finds output values that are known without any input: see descriptor::Tensor::value and bounds.
void propagate_values(Node& node);

// Failures in shape functions and kernels: the caller prepends the node's name.
[[noreturn]] void fail(const std::string& message);
inline void require(bool condition, const char* message) {
  if (!condition) fail(message);
}

/// Common element type of inputs [first, last), ignoring unknown types. @errors names both types.
element::Type common_type(const Node& node, std::size_t first, std::size_t last);
/// @errors names the input, its type and `expected`.
void require_real(const Node& node, std::size_t input);
void require_integral(const Node& node, std::size_t input);
/// Rank of an input if static.
std::optional<std::size_t> static_rank(const Node& node, std::size_t input);
/// @errors if the rank is static and outside min..max.
void require_rank(const Node& node, std::size_t input, std::size_t min, std::size_t max);

/// Values of an input that are known without running the model.
std::optional<std::vector<std::int64_t>> known_ints(const Node& node, std::size_t input);
std::optional<std::vector<double>> known_doubles(const Node& node, std::size_t input);
/// Bounds of an integer input's elements, from its value or its bounds; nothing if unknown (its count may be known).
std::optional<std::vector<ValueBound>> known_bounds(const Node& node, std::size_t input);
/// The bound as a dimension. @errors a negative bound.
Dimension to_dimension(const ValueBound& bound);
/// The shape given by an input's values ("target shape" inputs); if they are unknown, only the rank, from the input's
/// own shape.
PartialShape shape_from_input(const Node& node, std::size_t input);

/// Maps -rank..rank-1 to 0..rank-1. @errors names the axis and the range.
std::size_t normalized_axis(std::int64_t axis, std::size_t rank);
/// Sorted, distinct. @errors also for repeated axes.
std::vector<std::size_t> normalized_axes(const std::vector<std::int64_t>& axes, std::size_t rank);

/// Broadcasts two shapes; `mode` is numpy or none. @errors names both shapes.
PartialShape broadcast_shapes(const PartialShape& a, const PartialShape& b, std::string_view mode);

/// One input, one output of the same type and shape.
void infer_same(Node& node);
/// Output `index` gets the element type of input 0, and this shape.
void set_output(Node& node, std::size_t index, const PartialShape& shape);

}  // namespace v1
}  // namespace tenon
