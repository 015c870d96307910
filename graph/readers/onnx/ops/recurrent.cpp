// SPDX-License-Identifier: Apache-2.0
// ONNX: recurrent layers, as sequence operations where possible, else as a loop over the steps.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

#include <algorithm>
#include <iterator>

#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

using ActivationNames = std::vector<std::string>;

/// A function of ONNX, and the defaults of the parameters that it takes.
struct Activation {
  const char* name;
  std::optional<double> alpha = std::nullopt, beta = std::nullopt;
};
constexpr Activation kActivations[] = {{"sigmoid"},
                                       {"tanh"},
                                       {"relu"},
                                       {"softplus"},
                                       {"softsign"},
                                       {"leakyrelu", 0.01},
                                       {"elu", 1.0},
                                       {"affine", 1.0, 0.0},
                                       {"thresholdedrelu", 1.0},
                                       {"scaledtanh", 1.0, 1.0},
                                       {"hardsigmoid", 0.2, 0.5}};

/// The names of a layer's functions in lower case, since ONNX ignores case.
ActivationNames activation_names(const NodeContext& node, const ActivationNames& defaults, std::size_t directions) {
  ActivationNames names = node.get_strings("activations");
  if (names.empty())
    for (std::size_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  for (std::string& name : names)
    for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return names;
}

/// Each function takes what it needs from the front of the lists of parameters; behind their ends, defaults hold.
std::vector<Activation> activations_of(const NodeContext& node, const ActivationNames& names) {
  const auto alphas = node.get_floats("activation_alpha"), betas = node.get_floats("activation_beta");
  std::size_t next_alpha = 0, next_beta = 0;
  const auto take = [](std::optional<double>& value, const std::vector<double>& list, std::size_t& next) {
    if (value && next < list.size()) value = list[next++];
  };
  std::vector<Activation> made;
  for (const std::string& name : names) {
    const auto* row = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const Activation& each) { return name == each.name; });
    if (row == std::end(kActivations)) fail("activation \"" + name + "\" is not one of ONNX's");
    made.push_back(*row);
    take(made.back().alpha, alphas, next_alpha);
    take(made.back().beta, betas, next_beta);
  }
  return made;
}

/// The inputs of one direction; those that the node lacks are absent.
struct Operands {
  Out weights, recurrent, bias, peepholes;
};

/// Shared by the three layers: shapes, directions, activations, and the loop over the steps.
class Recurrence {
 public:
  Recurrence(const NodeContext& node, std::int64_t gates, const ActivationNames& defaults)
      : node_(node), gates_(gates), functions_per_direction_(defaults.size()) {
    hidden_ = node.get_int("hidden_size");
    batch_first_ = node.get_int("layout", 0) != 0;
    const std::string direction = node.get_string("direction", "forward");
    directions_ = direction == "bidirectional" ? 2 : 1;
    first_is_reverse_ = direction == "reverse";
    clip_ = node.get_float("clip", 0);
    functions_ = activations_of(node, activation_names(node, defaults, static_cast<std::size_t>(directions_)));
    if (functions_.size() != functions_per_direction_ * static_cast<std::size_t>(directions_)) {
      fail("has " + std::to_string(functions_.size()) + " activations, expected " +
           std::to_string(functions_per_direction_ * static_cast<std::size_t>(directions_)));
    }
    if (node.rank(0) != 3) fail("input 0 has rank " + std::to_string(node.rank(0)) + ", expected 3");
    x_ = turned(node.input(0));
    if (node.has_input(4)) lengths_ = convert(node.input(4), ElementType::kI64);
  }

  /// One gate's rows of a stacked operand.
  Out gate(const Out& stacked, std::int64_t index) const {
    return slice(stacked, index * hidden_, (index + 1) * hidden_, 0);
  }

  /// Activates a gate after clipping it.
  Out activate(const Out& x, std::size_t index, std::int64_t direction) const {
    return activate_whole(clip_ > 0 ? op("Clamp", 1, {x}, {{"min", -clip_}, {"max", clip_}}) : x, index, direction);
  }
  /// Activates without clipping, as for a cell's state.
  Out activate_whole(const Out& in, std::size_t index, std::int64_t direction) const {
    const Activation& function = functions_[static_cast<std::size_t>(direction) * functions_per_direction_ + index];
    const std::string_view name = function.name;
    const double alpha = function.alpha.value_or(0), beta = function.beta.value_or(0);
    const auto number = [&](double value) { return scalar_like(in, value); };
    if (name == "sigmoid") return unary("Sigmoid", in);
    if (name == "tanh") return unary("Tanh", in);
    if (name == "relu") return unary("Relu", in);
    if (name == "hardsigmoid") return op("HardSigmoid", 1, {in, number(alpha), number(beta)});
    if (name == "leakyrelu") return op("PRelu", 1, {in, reals(in.get_element_type(), {alpha})});
    if (name == "elu") return op("Elu", 1, {in}, {{"alpha", alpha}});
    if (name == "affine") return add(mul(in, number(alpha)), number(beta));
    if (name == "scaledtanh") return mul(unary("Tanh", mul(in, number(beta))), number(alpha));
    if (name == "thresholdedrelu") return select(op("Greater", 1, {in, number(alpha)}), in, number(0));
    if (name == "softplus") return op("SoftPlus", 4, {in});
    return div(in, add(number(1), unary("Abs", in)));  // softsign
  }

  /// The biases split in two: sums for the input and for the recurrence.
  std::pair<Out, Out> biases(const Operands& operands) const {
    if (!operands.bias) return {};
    return {slice(operands.bias, 0, gates_ * hidden_, 0),
            slice(operands.bias, gates_ * hidden_, 2 * gates_ * hidden_, 0)};
  }

  /// Y and the last value of each state.
  /// @param states  Their number; initial values are inputs from 5 on.
  /// @param step  (operands, direction, x, states): updates the states, the first of which is the output.
  template <typename Step>
  OutputVector run(std::size_t states, Step&& step) const {
    OutputVector y;
    std::vector<OutputVector> lasts(states);
    for (std::int64_t direction = 0; direction < directions_; ++direction) {
      const OutputVector made = layer(direction, states, step);
      y.push_back(unsqueeze(made[0], {1}));
      for (std::size_t s = 0; s < states; ++s) lasts[s].push_back(unsqueeze(made[s + 1], {0}));
    }
    OutputVector outputs{concat(y, 1)};  // [steps, directions, batch, hidden]
    if (batch_first_) outputs[0] = transpose(outputs[0], {2, 0, 1, 3});
    for (const OutputVector& last : lasts) outputs.push_back(turned(concat(last, 0)));
    return outputs;
  }

 private:
  Out turned(const Out& x) const { return batch_first_ ? transpose(x, {1, 0, 2}) : x; }

  bool is_reverse(std::int64_t direction) const { return direction == 1 || first_is_reverse_; }

  /// An input's part for a direction: constants stay constants, so that devices can pack them.
  Out of_direction(std::size_t input, std::int64_t direction) const {
    if (!node_.has_input(input)) return {};
    const auto& known = node_.input(input).get_tensor().value();
    if (!known || !known->is_contiguous() || known->element_count() == 0)
      return squeeze(slice(node_.input(input), direction, direction + 1, 0), {0});
    Shape shape = known->shape();
    if (shape.empty() || shape[0] != static_cast<std::size_t>(directions_))
      fail("input " + std::to_string(input) + " has the shape " + to_string(shape) + ", expected an axis of " +
           std::to_string(directions_) + " first");
    shape.erase(shape.begin());
    const std::size_t size = known->size_bytes() / static_cast<std::size_t>(directions_);
    return std::make_shared<op::v0::Constant>(Tensor(TensorInfo{known->element_type(), shape, {}}, known->memory(),
                                                     known->offset() + static_cast<std::size_t>(direction) * size,
                                                     known->lease()))
        ->output(0);
  }

  Out initial(std::size_t input, std::int64_t direction) const {
    if (node_.has_input(input)) return squeeze(slice(turned(node_.input(input)), direction, direction + 1, 0), {0});
    return broadcast_to(scalar_like(x_, 0), concat({slice(shape_of(x_), 1, 2, 0), ints({hidden_})}, 0));
  }

  /// Within their own lengths.
  Out reversed(const Out& sequences) const {
    return op("ReverseSequence", 1, {sequences, lengths_}, {{"batch_axis", 1}, {"seq_axis", 0}});
  }

  /// One direction as a loop: the first state after each step, [steps, batch, hidden], and the last values of all.
  template <typename Step>
  OutputVector layer(std::int64_t direction, std::size_t states, Step&& step) const {
    const bool turns = is_reverse(direction) && lengths_, backwards = is_reverse(direction) && !lengths_;
    const Out x = turns ? reversed(x_) : x_;
    const auto loop = std::make_shared<op::v0::TensorIterator>();
    ParameterVector parameters;
    const auto parameter = [&](ElementType type, const PartialShape& shape) {
      parameters.push_back(std::make_shared<op::v0::Parameter>(type, shape));
      return parameters.back()->output(0);
    };
    PartialShape part = x.get_partial_shape();
    part[0] = 1;
    const Out now = parameter(x.get_element_type(), part);
    OutputVector starts, before, captured;
    for (std::size_t s = 0; s < states; ++s) {
      starts.push_back(initial(5 + s, direction));
      before.push_back(parameter(starts[s].get_element_type(), starts[s].get_partial_shape()));
    }
    const auto capture = [&](const Out& value) {
      if (!value || as_type<op::v0::Constant>(value.get_node())) return value;
      captured.push_back(value);
      return parameter(value.get_element_type(), value.get_partial_shape());
    };
    const Operands operands{capture(of_direction(1, direction)), capture(of_direction(2, direction)),
                            capture(of_direction(3, direction)), capture(of_direction(7, direction))};
    OutputVector after = before;
    step(operands, direction, squeeze(now, {0}), after);
    Out output = after[0];
    if (lengths_) {
      // Beyond its length a sequence keeps its state and outputs zeros.
      const Out lengths = capture(lengths_), place = parameter(ElementType::kI64, PartialShape{1});
      const Out active = unsqueeze(op("Greater", 1, {lengths, place}), {1});
      output = select(active, output, scalar_like(output, 0));
      for (std::size_t s = 0; s < states; ++s) after[s] = select(active, after[s], before[s]);
    }
    OutputVector results{unsqueeze(output, {0})};
    results.insert(results.end(), after.begin(), after.end());
    loop->set_body(std::make_shared<Model>(results, parameters));
    const ResultVector& made = loop->get_body()->get_results();
    const auto slices = [&](std::size_t index, const Out& value) {
      loop->set_sliced_input(parameters[index], value, backwards ? -1 : 0, backwards ? -1 : 1, 1, backwards ? 0 : -1,
                             0);
    };
    slices(0, x);
    for (std::size_t s = 0; s < states; ++s)
      loop->set_merged_input(parameters[s + 1], starts[s], made[s + 1]->output(0));
    for (std::size_t i = 0; i < captured.size(); ++i)
      loop->set_invariant_input(parameters[states + 1 + i], captured[i]);
    if (lengths_)
      slices(parameters.size() - 1, range(int_scalar(0), extent_of(x, 0), int_scalar(1), ElementType::kI64));
    const Out all = loop->get_concatenated_slices(made[0]->output(0), backwards ? -1 : 0, backwards ? -1 : 1, 1,
                                                  backwards ? 0 : -1, 0);
    OutputVector outputs{turns ? reversed(all) : all};
    for (std::size_t s = 0; s < states; ++s) outputs.push_back(loop->get_iter_value(made[s + 1]->output(0)));
    return outputs;
  }

  const NodeContext& node_;
  std::int64_t gates_, hidden_ = 0, directions_ = 1;
  std::size_t functions_per_direction_;
  bool batch_first_ = false, first_is_reverse_ = false;
  double clip_ = 0;
  std::vector<Activation> functions_;
  Out x_, lengths_;
};

Out biased(const Out& x, const Out& bias) { return bias ? add(x, bias) : x; }

// --- as sequence operations
// ------------------------------------------------------------------------------------------

/// Activations of one direction, in lower case; nothing if the sequence operations lack them.
std::optional<ActivationNames> plain_activations(const NodeContext& node, const ActivationNames& defaults,
                                                 std::size_t directions) {
  const ActivationNames names = activation_names(node, defaults, directions);
  if (names.size() != defaults.size() * directions) return std::nullopt;
  for (const std::string& name : names)
    if (name != "sigmoid" && name != "tanh" && name != "relu") return std::nullopt;
  const ActivationNames first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(defaults.size()));
  if (!std::equal(first.begin(), first.end(), names.end() - static_cast<std::ptrdiff_t>(defaults.size())))
    return std::nullopt;
  return first;
}

/// Reorders blocks of `hidden` rows along axis 1.
Out blocks(const Out& x, std::int64_t hidden, const Ints& order) {
  OutputVector parts;
  for (std::int64_t index : order) parts.push_back(slice(x, index * hidden, (index + 1) * hidden, 1));
  return concat(parts, 1);
}

/// `order`: the position of each of our gates among ONNX's. Nothing if the operation lacks a feature of the layer.
std::optional<OutputVector> sequence_layer(const NodeContext& node, std::string_view type, std::size_t states,
                                           const Ints& order, const ActivationNames& defaults) {
  const std::string direction = node.get_string("direction", "forward");
  const std::size_t directions = direction == "bidirectional" ? 2 : 1;
  const auto activations = plain_activations(node, defaults, directions);
  if (!activations || node.has_input(7) || node.get_int("input_forget", 0) != 0) return std::nullopt;
  const std::int64_t hidden = node.get_int("hidden_size"), gates = static_cast<std::int64_t>(order.size());
  if (hidden < 1) fail("hidden_size is " + std::to_string(hidden));
  const bool batch_first = node.get_int("layout", 0) != 0;
  const auto turned = [&](const Out& value) { return batch_first ? value : transpose(value, {1, 0, 2}); };
  const Out x = turned(node.input(0));
  const Out batch = slice(shape_of(x), 0, 1, 0);
  OutputVector inputs{x};
  for (std::size_t s = 0; s < states; ++s) {
    inputs.push_back(node.has_input(5 + s)
                         ? turned(node.input(5 + s))
                         : broadcast_to(scalar_like(x, 0),
                                        concat({batch, ints({static_cast<std::int64_t>(directions), hidden})}, 0)));
  }
  inputs.push_back(node.has_input(4) ? convert(node.input(4), ElementType::kI32)
                                     : convert(broadcast_to(extent_of(x, 1), batch), ElementType::kI32));
  inputs.push_back(blocks(node.input(1), hidden, order));
  inputs.push_back(blocks(node.input(2), hidden, order));
  Attributes attributes{{"hidden_size", hidden},
                        {"direction", direction},
                        {"activations", *activations},
                        {"clip", node.get_float("clip", 0)}};
  const bool splits_bias = type == "GRUSequence" && node.get_int("linear_before_reset", 0) != 0;
  if (splits_bias) attributes.set("linear_before_reset", true);
  if (node.has_input(3)) {
    const Out of_input = slice(node.input(3), 0, gates * hidden, 1),
              of_state = slice(node.input(3), gates * hidden, 2 * gates * hidden, 1);
    if (splits_bias) {
      const Out sums = add(slice(of_input, 0, 2 * hidden, 1), slice(of_state, 0, 2 * hidden, 1));
      inputs.push_back(
          concat({sums, slice(of_input, 2 * hidden, 3 * hidden, 1), slice(of_state, 2 * hidden, 3 * hidden, 1)}, 1));
    } else {
      inputs.push_back(blocks(add(of_input, of_state), hidden, order));
    }
  } else {
    // The IR's form of the operation has no default for the bias.
    const std::int64_t rows = (gates + (splits_bias ? 1 : 0)) * hidden;
    inputs.push_back(broadcast_to(scalar_like(x, 0), ints({static_cast<std::int64_t>(directions), rows})));
  }
  OutputVector outputs = ops(type, 5, inputs, std::move(attributes));
  outputs[0] = transpose(outputs[0], batch_first ? Ints{0, 2, 1, 3} : Ints{2, 1, 0, 3});
  for (std::size_t i = 1; i < outputs.size(); ++i) outputs[i] = turned(outputs[i]);
  return outputs;
}

OutputVector rnn(const NodeContext& node) {
  const ActivationNames defaults{"tanh"};
  if (auto made = sequence_layer(node, "RNNSequence", 1, {0}, defaults)) return *made;
  const Recurrence r(node, 1, defaults);
  return r.run(1, [&](const Operands& o, std::int64_t direction, const Out& x, OutputVector& state) {
    const auto [wb, rb] = r.biases(o);
    const Out sum =
        add(biased(matmul(x, o.weights, false, true), wb), biased(matmul(state[0], o.recurrent, false, true), rb));
    state[0] = r.activate(sum, 0, direction);
  });
}

// Gates in the order z, r, h.
OutputVector gru(const NodeContext& node) {
  const ActivationNames defaults{"sigmoid", "tanh"};
  if (auto made = sequence_layer(node, "GRUSequence", 1, {0, 1, 2}, defaults)) return *made;
  const Recurrence r(node, 3, defaults);
  const bool linear_before_reset = node.get_int("linear_before_reset", 0) != 0;
  return r.run(1, [&](const Operands& o, std::int64_t direction, const Out& x, OutputVector& state) {
    const Out &w = o.weights, &u = o.recurrent, h = state[0];
    const auto [wb, rb] = r.biases(o);
    const auto part = [&](const Out& operand, const Out& weights, const Out& bias, std::int64_t gate) {
      const Out product = matmul(operand, r.gate(weights, gate), false, true);
      return bias ? add(product, r.gate(bias, gate)) : product;
    };
    const Out z = r.activate(add(part(x, w, wb, 0), part(h, u, rb, 0)), 0, direction);
    const Out reset = r.activate(add(part(x, w, wb, 1), part(h, u, rb, 1)), 0, direction);
    const Out recurrent = linear_before_reset ? mul(reset, part(h, u, rb, 2)) : part(mul(reset, h), u, rb, 2);
    const Out candidate = r.activate(add(part(x, w, wb, 2), recurrent), 1, direction);
    state[0] = add(mul(sub(scalar_like(z, 1), z), candidate), mul(z, h));
  });
}

// Gates in the order i, o, f, c; peepholes i, o, f.
OutputVector lstm(const NodeContext& node) {
  const ActivationNames defaults{"sigmoid", "tanh", "tanh"};
  if (auto made = sequence_layer(node, "LSTMSequence", 2, {2, 0, 3, 1}, defaults)) return *made;
  const Recurrence r(node, 4, defaults);
  const bool couples = node.get_int("input_forget", 0) != 0;  // The input gate is one minus the forget gate.
  return r.run(2, [&](const Operands& o, std::int64_t direction, const Out& x, OutputVector& state) {
    const auto [wb, rb] = r.biases(o);
    const Out sum =
        add(biased(matmul(x, o.weights, false, true), wb), biased(matmul(state[0], o.recurrent, false, true), rb));
    const OutputVector gates = ops("Split", 1, {sum, int_scalar(1)}, {{"num_splits", 4}});
    const auto peep = [&](const Out& gate, const Out& cell, std::int64_t index) {
      return o.peepholes ? add(gate, mul(r.gate(o.peepholes, index), cell)) : gate;
    };
    const Out in = r.activate(peep(gates[0], state[1], 0), 0, direction);
    const Out forget = couples ? sub(scalar_like(in, 1), in) : r.activate(peep(gates[2], state[1], 2), 0, direction);
    const Out cell = add(mul(forget, state[1]), mul(in, r.activate(gates[3], 1, direction)));
    const Out out = r.activate(peep(gates[1], cell, 1), 0, direction);
    state[0] = mul(out, r.activate_whole(cell, 2, direction));
    state[1] = cell;
  });
}

}  // namespace

void add_recurrent(ConverterTable& table) {
  table[":RNN"] = rnn;
  table[":GRU"] = gru;
  table[":LSTM"] = lstm;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
