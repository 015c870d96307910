// SPDX-License-Identifier: Apache-2.0
// Rounding by conversions: to f16 and back.
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/numerics.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::npu::compiler {
namespace {

/// Nodes whose values are no result of an operation, or have been rounded already.
bool is_exempt(const Node& node) {
  for (const char* type : {"Result", "Assign", "ReadValue", "Convert"})
    if (is_op(&node, type)) return true;
  return false;
}

void round_output(const Output<Node>& output) {
  const auto readers = output.get_target_inputs();
  if (readers.empty()) return;
  const auto narrow = std::make_shared<op::v0::Convert>(output, element::f16);
  const auto wide = std::make_shared<op::v0::Convert>(narrow->output(0), element::f32);
  // Outputs are identified by the names of the tensor that they read.
  wide->output(0).set_names(output.get_names());
  output.get_node()->output(output.get_index()).set_names({});
  for (const Input<Node>& reader : readers) reader.replace_source_output(wide->output(0));
}

}  // namespace

Numerics numerics_from_environment() {
  static const std::string setting = [] {
    const char* text = std::getenv("TENON_NPU_NUMERICS");
    return std::string(text ? text : "");
  }();
  if (setting.empty() || setting == "f32") return Numerics::kF32;
  if (setting == "f16") return Numerics::kF16;
  throw Error(Code::kInvalidArgument, "NPU: TENON_NPU_NUMERICS is '" + setting + "', neither f32 nor f16");
}

void round_to_f16(Model& model) {
  // Widened first: then real values are f32, and f16 only where it is stored.
  const std::shared_ptr<Model> borrowed(std::shared_ptr<Model>(), &model);
  pass::Manager().add(pass::widen_reals()).run(borrowed);
  std::vector<std::shared_ptr<Node>> nodes;
  for_each_node(model, [&](const std::shared_ptr<Node>& node) {
    if (!is_exempt(*node)) nodes.push_back(node);
  });
  for (const auto& node : nodes)
    for (std::size_t i = 0; i < node->get_output_size(); ++i)
      if (node->get_output_element_type(i) == element::f32) round_output(node->output(i));
}

}  // namespace tenon::npu::compiler
