// SPDX-License-Identifier: Apache-2.0
// Which of oneDNN's element-wise functions a node is.
#include <tenon/engine/lower/build/activation.hpp>

#include <string>
#include <string_view>

namespace tenon::inline v1::engine {
namespace {

// The value of a constant that has one element, whatever its rank.
std::optional<float> scalar(const Tensor& tensor) {
  if (!tensor || tensor.element_type() != ElementType::kF32 || tensor.element_count() != 1) return std::nullopt;
  return *tensor.data<float>();
}

}  // namespace

std::optional<Activation> activation_of(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  using dnnl::algorithm;
  const std::string_view type = node->get_type_name();
  if (node->get_input_size() == 0 || node->get_input_element_type(0) != element::f32) return std::nullopt;
  if (node->get_output_size() != 1 || node->get_output_element_type(0) != element::f32) return std::nullopt;
  const auto& attributes = node->get_attributes();
  const auto number = [&](const char* name) { return static_cast<float>(attributes.get_double(name)); };
  if (type == "Relu") return Activation{algorithm::eltwise_relu};
  if (type == "Sigmoid") return Activation{algorithm::eltwise_logistic};
  if (type == "Tanh") return Activation{algorithm::eltwise_tanh};
  if (type == "Clamp") return Activation{algorithm::eltwise_clip, number("min"), number("max")};
  if (type == "Elu") return Activation{algorithm::eltwise_elu, number("alpha")};
  if (type == "Abs") return Activation{algorithm::eltwise_abs};
  if (type == "Sqrt") return Activation{algorithm::eltwise_sqrt};
  if (type == "Exp") return Activation{algorithm::eltwise_exp};
  if (type == "Negative") return Activation{algorithm::eltwise_linear, -1, 0};
  if (type == "HSwish") return Activation{algorithm::eltwise_hardswish, 1.f / 6, 0.5f};
  if (type == "HSigmoid") return Activation{algorithm::eltwise_hardsigmoid, 1.f / 6, 0.5f};
  if (type == "Mish") return Activation{algorithm::eltwise_mish};
  if (type == "SoftPlus") return Activation{algorithm::eltwise_soft_relu, 1};
  if (type == "Gelu") {
    const bool tanh = attributes.has("approximation_mode") && attributes.get_string("approximation_mode") == "TANH";
    return Activation{tanh ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf};
  }
  if (type == "Swish") {
    if (node->get_input_size() == 1) return Activation{algorithm::eltwise_swish, 1};
    if (const auto beta = scalar(builder.constant_input(node, 1))) return Activation{algorithm::eltwise_swish, *beta};
    return std::nullopt;
  }
  if (type == "PRelu") {
    if (const auto slope = scalar(builder.constant_input(node, 1))) return Activation{algorithm::eltwise_relu, *slope};
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<dnnl::algorithm> binary_of(const std::shared_ptr<Node>& node) {
  using dnnl::algorithm;
  const std::string_view type = node->get_type_name();
  std::optional<algorithm> found;
  if (type == "Add")
    found = algorithm::binary_add;
  else if (type == "Subtract")
    found = algorithm::binary_sub;
  else if (type == "Multiply")
    found = algorithm::binary_mul;
  else if (type == "Divide")
    found = algorithm::binary_div;
  else if (type == "Maximum")
    found = algorithm::binary_max;
  else if (type == "Minimum")
    found = algorithm::binary_min;
  if (found && node->get_attributes().has("auto_broadcast")) {
    const std::string& rule = node->get_attributes().get_string("auto_broadcast");
    if (rule != "numpy" && rule != "none") return std::nullopt;
  }
  return found;
}

}  // namespace tenon::inline v1::engine
