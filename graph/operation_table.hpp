// SPDX-License-Identifier: Apache-2.0
// The operation table: schema, shape function and reference kernel of every operation, shared by all devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {

inline constexpr std::size_t kManyInputs = static_cast<std::size_t>(-1);

struct AttributeSpec {
  std::string name;
  AttributeKind kind = AttributeKind::kInt;
  bool required = false;
  Attribute fallback = std::int64_t{0};  ///< Filled in when the attribute is missing; unused when required.
  std::vector<std::string> allowed;      ///< Allowed values of a text attribute; empty means any.
};

/// Computes outputs from inputs. Inputs may be strided and borrowed; outputs are allocated, packed, of the final shape.
using Kernel = void (*)(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs);

/// One row. Rows live as long as the process.
struct Operation {
  std::string type;     ///< Such as "Convolution".
  unsigned opset = 1;   ///< The operation set that introduced this version.
  std::string version;  ///< The name in IR files, such as "opset1".
  DiscreteTypeInfo type_info;
  std::string description;
  std::size_t min_inputs = 0;
  std::size_t max_inputs = 0;  ///< kManyInputs: no limit.
  std::vector<AttributeSpec> attributes;
  void (*infer)(Node& node) = nullptr;
  Kernel evaluate = nullptr;  ///< Null: no reference kernel (Parameter, state).
  /// For element-wise operations: a C-like expression over x, y, z (inputs) and a, b, ... (double attributes, in
  /// order); devices generate kernels from it. Empty for all others.
  std::string expression;

  const AttributeSpec* find_attribute(std::string_view name) const;
};

/// The newest version of `type` in operation set `version`; 0 means the oldest version. Accepts IR's spellings Const,
/// ReLU and SoftMax. @return null if there is none.
TENON_API const Operation* find_operation(std::string_view type, unsigned version);
/// The versions of `type` in the table, for messages: "1, 5, 11"; empty if the type is unknown.
TENON_API std::string known_versions(std::string_view type);
/// All rows, ordered by type, then version.
TENON_API std::span<const Operation* const> operations();

}  // namespace v1
}  // namespace tenon
