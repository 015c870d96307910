// SPDX-License-Identifier: Apache-2.0
// A graph's arguments as clients see them, and the model whose ports they are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/drivers/npu/compiler/build_flags.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::npu::compiler {

/// Prefixes by which clients know arguments that are no ports of their model.
inline constexpr char kReadValuePrefix[] = "vpux_ie_read_value_";
inline constexpr char kAssignPrefix[] = "vpux_ie_assign_";
inline constexpr char kShapePrefix[] = "vpux_ie_shape_";

struct Argument {
  enum class Role : std::uint32_t {
    kPort,   ///< An input or output of the model.
    kState,  ///< A variable: its input and its output are given the same memory, packed, of the largest shape.
    kShape,  ///< The extents of a port of dynamic shape: i32, innermost first. The client writes those of inputs.
  };
  std::string name;           ///< The input's; of an output that of the node which makes it.
  std::string friendly_name;  ///< Of the Parameter or Result.
  std::vector<std::string> tensor_names;
  bool is_input = true;
  Role role = Role::kPort;
  ElementType network_type = ElementType::kUndefined;  ///< In the model as it was given...
  ElementType type = ElementType::kUndefined;          ///< ...and in the client's memory.
  PartialShape shape;  ///< In the client's memory. Bounded, or the graph would not have been made.
  std::string network_layout = "ANY", layout = "ANY";
  std::uint32_t port = 0;  ///< The compiled model's input or output; of a kShape the argument that it speaks of.
  bool reads_strides = false;

  Shape max_shape() const;
};

/// How clients see a model.
struct Interface {
  std::vector<Argument> arguments;  ///< Inputs, then outputs, each with ports, states, shapes in this order.
  /// What states start from that do not start from zeros: parameters are the inputs that are ports, results are named
  /// by variables. Null: all start from zeros.
  std::shared_ptr<const Model> initialisers;
};

/// Changes `model` so that its parameters and results are the arguments that are ports and states: types and layouts
/// as the flags ask, variables as inputs and outputs.
/// @errors kInvalidArgument: flags name ports, types or layouts that do not fit; an input without upper bounds;
///         kUnimplemented: a dynamic rank, an output without upper bounds, a variable's initialiser that reads another.
Interface make_interface(std::shared_ptr<Model>& model, const BuildFlags& flags);

/// False when any shape in it is open.
bool is_static(const Model& model);

}  // namespace tenon::npu::compiler
