// SPDX-License-Identifier: Apache-2.0
// Recurrent cells and layers: one product for the inputs of all steps, one launch that runs the steps.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matmul.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// What a node says, and what it reads. A cell is a sequence of one step.
struct Layer {
  enum Kind { kRnn, kGru, kLstm } kind = kRnn;
  bool is_sequence = false, is_linear_before_reset = false;
  std::size_t gates = 1, states = 1, weights = 3;  ///< `weights`: the input that they are.
  std::size_t batch = 1, steps = 1, directions = 1, hidden = 1, features = 1;
  ElementType type = ElementType::kF32;  ///< The type that is computed in.
  std::size_t sequences() const { return batch * directions; }
};

Layer layer_of(const Node& node) {
  const std::string_view type = node.get_type_name();
  Layer layer;
  layer.kind = type.substr(0, 3) == "RNN" ? Layer::kRnn : type.substr(0, 3) == "GRU" ? Layer::kGru : Layer::kLstm;
  layer.is_sequence = type.find("Sequence") != type.npos;
  layer.gates = layer.kind == Layer::kRnn ? 1 : layer.kind == Layer::kGru ? 3 : 4;
  layer.states = layer.kind == Layer::kLstm ? 2 : 1;
  layer.weights = 1 + layer.states + (layer.is_sequence ? 1 : 0);
  const auto& attributes = node.get_attributes();
  layer.is_linear_before_reset = layer.kind == Layer::kGru && attributes.get_bool("linear_before_reset");
  const Shape& data = node.get_input_shape(0);
  layer.batch = data[0];
  layer.features = data.back();
  if (layer.is_sequence) {
    layer.steps = data[1];
    layer.directions = attributes.get_string("direction") == "bidirectional" ? 2 : 1;
  }
  layer.hidden = static_cast<std::size_t>(attributes.get_int("hidden_size"));
  if (node.get_input_element_type(0) == element::f64) layer.type = ElementType::kF64;
  return layer;
}

/// Inputs times weights, [direction, batch, step, gate, hidden].
View multiply_inputs(Builder& builder, const Node& node, const Layer& layer) {
  const View data = builder.packed(node.input_value(0)), weights = builder.packed(node.input_value(layer.weights));
  Product product;
  product.type = layer.type;
  product.m = layer.batch * layer.steps;
  product.n = layer.gates * layer.hidden;
  product.k = layer.features;
  product.batch = layer.directions;
  product.right_columns = true;
  const View out = builder.scratch(layer.type, {product.batch, product.m, product.n});
  Kernel kernel = builder.kernel("recurrent_inputs");
  kernel.reads("X", data).reads("W", weights).writes("OUT", out);
  kernel.define("LEFT(batch, m, k)", "X((m)*K + (k))")
      .define("RIGHT(batch, k, n)", "W(((batch)*N + (n)) * K + (k))")
      .define("RIGHT16(batch, k, n)", neighbours_text())
      .define("STORE_AT(value, batch, m, n)", "OUT_SET(((batch)*M + (m)) * N + (n), value)");
  launch_product(builder, node, std::move(kernel), product);
  return out;
}

const char* activation_text(std::string_view name) {
  if (name == "sigmoid") return "(1 / (1 + exp(-(x))))";
  return name == "tanh" ? "tanh(x)" : "tn_max(x, 0)";
}

void define_activations(Kernel& kernel, const Node& node, const Layer& layer) {
  std::vector<std::string> names = node.get_attributes().get_strings("activations");
  if (names.empty() && layer.kind == Layer::kRnn) names = {"tanh"};
  if (names.empty()) names = {"sigmoid", "tanh", "tanh"};
  for (std::size_t i = 0; i < names.size(); ++i)
    kernel.define("ACT" + std::to_string(i) + "(x)", activation_text(names[i]));
  const double clip = node.get_attributes().get_double("clip");
  const std::string most = literal_text(layer.type, clip);
  kernel.define("CLIP(x)", clip > 0 ? "tn_min(tn_max(x, -" + most + "), " + most + ")" : "(x)");
}

/// Where the weights of gate g are: an LSTMCell of the first set says it, the others have one order.
std::string place_text(const Node& node) {
  if (!node.get_attributes().has("weights_format")) return "(gate)";
  const std::string& format = node.get_attributes().get_string("weights_format");
  std::string text = "(";
  for (std::size_t gate = 0; gate < 3; ++gate)
    text += "(gate) == " + std::to_string(gate) + " ? " + std::to_string(format.find("fico"[gate])) + " : ";
  return text + std::to_string(format.find('o')) + ")";
}

void lower_recurrent(Builder& builder, const Node& node) {
  const Layer layer = layer_of(node);
  const View gates = multiply_inputs(builder, node, layer);
  const bool has_bias = node.get_input_size() > layer.weights + 2;
  Kernel kernel = builder.kernel("recurrent");
  kernel.reads("GATES_OF", gates).reads("R", builder.packed(node.input_value(layer.weights + 1)));
  kernel.reads("H0", builder.packed(node.input_value(1)));
  if (has_bias) kernel.reads("B", builder.packed(node.input_value(layer.weights + 2)));
  const Shape room{layer.sequences(), layer.hidden};
  kernel.writes("STATE", builder.scratch(layer.type, {layer.sequences(), 2, layer.hidden}));
  const std::size_t first = layer.is_sequence ? 1 : 0;
  if (layer.is_sequence) {
    kernel.reads("LENGTH", builder.packed(node.input_value(1 + layer.states)));
    kernel.writes("Y", builder.make(node, 0));
  } else {
    kernel.define("LENGTH(i)", "1");
  }
  kernel.writes("HN", builder.make(node, first));
  if (layer.kind == Layer::kGru) kernel.writes("RESET", builder.scratch(layer.type, room));
  if (layer.kind == Layer::kLstm) {
    kernel.reads("C0", builder.packed(node.input_value(2)));
    kernel.writes("CELL", builder.scratch(layer.type, room)).writes("CN", builder.make(node, first + 1));
  }
  kernel.number("BATCH", static_cast<std::int64_t>(layer.batch))
      .number("STEPS", static_cast<std::int64_t>(layer.steps));
  kernel.define("RNN", Layer::kRnn).define("GRU", Layer::kGru).define("LSTM", Layer::kLstm).define("KIND", layer.kind);
  const bool is_reverse = layer.is_sequence && node.get_attributes().get_string("direction") == "reverse";
  kernel.define("DIRECTIONS", static_cast<std::int64_t>(layer.directions))
      .define("FIRST_IS_REVERSE", is_reverse ? 1 : 0)
      .define("HIDDEN", static_cast<std::int64_t>(layer.hidden))
      .define("GATES", static_cast<std::int64_t>(layer.gates))
      .define("BIAS_GATES", static_cast<std::int64_t>(layer.gates) + (layer.is_linear_before_reset ? 1 : 0))
      .define("HAS_BIAS", has_bias ? 1 : 0)
      .define("LINEAR_BEFORE_RESET", layer.is_linear_before_reset ? 1 : 0)
      .define("IS_SEQUENCE", layer.is_sequence ? 1 : 0)
      .define("PLACE(gate)", place_text(node))
      .define("ACC", compute_name(layer.type));
  define_activations(kernel, node, layer);
  if (!has_bias) kernel.define("B(i)", "0");
  const std::size_t lanes =
      std::min(builder.target().max_group, layer.hidden >= 128 ? std::size_t{128} : std::size_t{32});
  kernel.define("LANES", static_cast<std::int64_t>(lanes)).text(kernels::recurrent);
  kernel.over({layer.sequences() * lanes}, {lanes});
  builder.launch(std::move(kernel), node);
}

}  // namespace

void register_recurrent(LoweringTable& table) {
  for (const char* type : {"RNNCell", "GRUCell", "LSTMCell", "RNNSequence", "GRUSequence", "LSTMSequence"})
    table[type] = {lower_recurrent};
}

}  // namespace tenon::inline v1::gpu_device
