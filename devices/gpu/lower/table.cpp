// SPDX-License-Identifier: Apache-2.0
// Registers every family, and says what the device can run.
#include <tenon/devices/gpu/lower/build/table.hpp>

#include <set>

#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/graph/operation_table.hpp>

namespace tenon::inline v1::gpu_device {

const LoweringTable& lowering_table() {
  static const LoweringTable table = [] {
    LoweringTable made;
    register_elementwise(made);
    register_movement(made);
    register_reduction(made);
    register_matmul(made);
    register_convolution(made);
    register_pooling(made);
    register_normalization(made);
    register_gather(made);
    register_input_stage(made);
    register_sorting(made);
    register_scatter(made);
    register_interpolate(made);
    register_sampling(made);
    register_space(made);
    register_recurrent(made);
    register_attention(made);
    register_colour(made);
    register_einsum(made);
    register_grouped_matmul(made);
    register_inverse(made);
    register_embedding(made);
    register_generation(made);
    register_fourier(made);
    register_control_flow(made);
    register_suppression(made);
    register_distinct(made);
    register_detection(made);
    register_sparse(made);
    register_caches(made);
    return made;
  }();
  return table;
}

std::string wants_constant(const Node& node, std::size_t input) {
  if (input >= node.get_input_size() || node.get_input_tensor(input).value()) return {};
  return "input " + std::to_string(input) + " " + kNoConstant;
}

std::optional<std::size_t> most_of(const Node& node) {
  const auto found = lowering_table().find(node.get_type_name());
  if (found == lowering_table().end() || !found->second.most) return std::nullopt;
  for (std::size_t i = 0; i < node.get_input_size(); ++i)
    if (node.get_input_partial_shape(i).is_dynamic()) return std::nullopt;
  return found->second.most(node);
}

namespace {

/// Whether the node's kernel takes elements that share bytes.
bool takes_shared_bytes(std::string_view type) {
  static const std::set<std::string_view> types = {"Parameter", "Result",  "Convert",   "ConvertLike",
                                                   "Reshape",   "Squeeze", "Unsqueeze", "Transpose"};
  return types.count(type) > 0;
}

}  // namespace

std::string refusal(const Node& node, const Target& target) {
  const std::string_view type = node.get_type_name();
  const auto check_type = [&](const element::Type& element) -> std::string {
    if (element.is_dynamic()) return {};
    if (!is_readable(element)) return "kernels neither read nor write " + element.to_string();
    if (shares_bytes(element) && !takes_shared_bytes(type))
      return "its kernel does not take " + element.to_string() + ", whose elements share bytes";
    if (element == element::f64 && !target.has_f64) return "the device does not compute in f64";
    return {};
  };
  if (type == "Constant") return {};  // The nodes that read it say which types they take.
  for (std::size_t i = 0; i < node.get_output_size(); ++i)
    if (std::string why = check_type(node.get_output_element_type(i)); !why.empty()) return why;
  if (type == "Parameter" || type == "Result") return {};
  for (std::size_t i = 0; i < node.get_input_size(); ++i)
    if (std::string why = check_type(node.get_input_element_type(i)); !why.empty()) return why;
  if (type == "Assign" || type == "ReadValue") return {};
  const auto found = lowering_table().find(type);
  if (found == lowering_table().end()) return "it has no kernel for it";
  return found->second.refuses ? found->second.refuses(node) : std::string();
}

}  // namespace tenon::inline v1::gpu_device
