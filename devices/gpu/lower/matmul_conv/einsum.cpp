// SPDX-License-Identifier: Apache-2.0
// Products summed over the axes that an equation leaves out.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matmul.hpp>
#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/graph/einsum.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

struct Einsum {
  EinsumLabels labels;
  std::vector<View> inputs;
  std::map<char, std::int64_t> extents;
  std::string summed;  ///< Labels.
};

Einsum einsum_of(Builder& builder, const Node& node) {
  Einsum all;
  all.labels = einsum_labels(node);
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    all.inputs.push_back(builder.view(node.input_value(i)));
    for (std::size_t axis = 0; axis < all.labels.inputs[i].size(); ++axis) {
      std::int64_t& extent = all.extents.emplace(all.labels.inputs[i][axis], 1).first->second;
      extent = std::max(extent, static_cast<std::int64_t>(all.inputs[i].shape[axis]));
      if (all.inputs[i].shape[axis] == 0) extent = 0;
    }
  }
  for (const auto& [label, extent] : all.extents)
    if (all.labels.output.find(label) == std::string::npos) all.summed += label;
  return all;
}

std::string number_of(char label) { return std::to_string(static_cast<int>(label)); }

/// Where an input's element lies: a label that occurs twice moves along both axes.
std::string place_text(const Einsum& what, std::size_t input) {
  std::string text = "0";
  for (std::size_t axis = 0; axis < what.labels.inputs[input].size(); ++axis)
    if (what.inputs[input].shape[axis] != 1)
      text += " + p" + number_of(what.labels.inputs[input][axis]) + " * S" + std::to_string(input) + "_" +
              std::to_string(axis);
  return text;
}

void lower_einsum(Builder& builder, const Node& node) {
  const Einsum what = einsum_of(builder, node);
  std::string text = "  int rest = at;\n";
  for (std::size_t i = what.labels.output.size(); i-- > 0;) {
    const std::string n = number_of(what.labels.output[i]);
    text += "  const int p" + n + " = rest % E" + n + "; rest /= E" + n + ";\n";
  }
  text += "  ACC sum = 0;\n";
  for (const char label : what.summed) {
    const std::string n = number_of(label);
    text += "  for (int p" + n + " = 0; p" + n + " < E" + n + "; ++p" + n + ") {\n";
  }
  std::string factors;
  for (std::size_t i = 0; i < what.inputs.size(); ++i)
    factors += (i ? " * (ACC)X" : "(ACC)X") + std::to_string(i) + "(" + place_text(what, i) + ")";
  text += "  sum += " + factors + ";\n" + std::string(what.summed.size(), '}') + "\n  STORE(sum, at);\n";
  const ElementType type = what.inputs[0].type;
  set_each(
      builder, node, "einsum", type,
      [=](Kernel& kernel) {
        kernel.define("ACC", accumulator_name(type));
        for (const auto& [label, extent] : what.extents) kernel.number("E" + number_of(label), extent);
        for (std::size_t i = 0; i < what.inputs.size(); ++i) {
          kernel.reads("X" + std::to_string(i), what.inputs[i]);
          for (std::size_t axis = 0; axis < what.inputs[i].shape.size(); ++axis)
            kernel.number("S" + std::to_string(i) + "_" + std::to_string(axis), what.inputs[i].strides[axis]);
        }
      },
      text);
}

}  // namespace

void register_einsum(LoweringTable& table) { table["Einsum"] = {lower_einsum}; }

}  // namespace tenon::inline v1::gpu_device
