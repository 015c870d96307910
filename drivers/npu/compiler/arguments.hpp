// SPDX-License-Identifier: Apache-2.0
// A graph's arguments as clients see them, and the model with these arguments as its ports.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/drivers/npu/compiler/build_flags.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon::npu::compiler {

/// Name prefixes by which clients recognise arguments that are not ports of their model.
inline constexpr char kReadValuePrefix[] = "vpux_ie_read_value_";
inline constexpr char kAssignPrefix[] = "vpux_ie_assign_";
inline constexpr char kShapePrefix[] = "vpux_ie_shape_";

struct Argument {
  enum class Role : std::uint32_t {
    kPort,   ///< An input or output of the model.
    kState,  ///< A variable: its input and output use the same memory, packed, of the largest shape.
    kShape,  ///< Extents of a port of dynamic shape: i32, innermost first. For inputs the client writes them.
  };
  std::string name;           ///< The input's name; for an output, the name of its producer.
  std::string friendly_name;  ///< Name of the Parameter or Result.
  std::vector<std::string> tensor_names;
  bool is_input = true;
  Role role = Role::kPort;
  ElementType network_type = ElementType::kUndefined;  ///< In the original model...
  ElementType type = ElementType::kUndefined;          ///< ...and in the client's memory.
  PartialShape shape;  ///< In the client's memory. Always bounded: other models are refused.
  std::string network_layout = "ANY", layout = "ANY";
  std::uint32_t port = 0;  ///< The compiled model's input or output; for kShape, the argument it describes.
  bool reads_strides = false;

  Shape max_shape() const;
};

/// A model as clients see it.
struct Interface {
  std::vector<Argument> arguments;  ///< Inputs, then outputs; each has ports, states, shapes in this order.
  /// Computes initial values of states other than zeros: its parameters are the inputs that are ports, its results are
  /// named by variables. Null if all states start at zero.
  std::shared_ptr<const Model> initialisers;
};

/// Changes `model` so that its parameters and results are the arguments that are ports and states: types and layouts as
/// the flags ask, variables as inputs and outputs.
/// @errors kInvalidArgument: flags name ports, types or layouts that do not fit; an input without upper bounds;
///         kUnimplemented: a dynamic rank, an output without upper bounds, a variable's initialiser that reads another.
Interface make_interface(std::shared_ptr<Model>& model, const BuildFlags& flags);

/// False if any shape in it is dynamic.
bool is_static(const Model& model);

}  // namespace tenon::npu::compiler
