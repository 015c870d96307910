// SPDX-License-Identifier: Apache-2.0
// ONNX: recurrent layers, as sequence operations where possible, else unrolled over a known number of steps.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

#include <algorithm>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

// Unrolling longer sequences makes graphs too large to compile.
constexpr std::int64_t kMaxSteps = 1024;

/// Shared by the three layers: shapes, directions, activations, and the operands of one direction.
class Recurrence {
 public:
  Recurrence(const NodeContext& node, std::int64_t gates, std::size_t activations_per_direction,
             std::vector<std::string> defaults)
      : node_(node), gates_(gates), functions_per_direction_(activations_per_direction) {
    hidden_ = node.get_int("hidden_size");
    batch_first_ = node.get_int("layout", 0) != 0;
    const std::string direction = node.get_string("direction", "forward");
    directions_ = direction == "bidirectional" ? 2 : 1;
    first_is_reverse_ = direction == "reverse";
    clip_ = node.get_float("clip", 0);
    functions_ = node.get_strings("activations");
    if (functions_.empty()) {
      for (std::int64_t d = 0; d < directions_; ++d)
        functions_.insert(functions_.end(), defaults.begin(), defaults.end());
    }
    alphas_ = node.get_floats("activation_alpha");
    betas_ = node.get_floats("activation_beta");
    if (functions_.size() != functions_per_direction_ * static_cast<std::size_t>(directions_)) {
      fail("has " + std::to_string(functions_.size()) + " activations, expected " +
           std::to_string(functions_per_direction_ * static_cast<std::size_t>(directions_)));
    }
    x_ = batch_first_ ? transpose(node.input(0), {1, 0, 2}) : node.input(0);
    const PartialShape& shape = x_.get_partial_shape();
    if (shape.rank() != Rank(3) || shape[0].is_dynamic())
      unimplemented("the number of steps must be known and the rank 3");
    steps_ = shape[0].get_length();
    if (steps_ < 1 || steps_ > kMaxSteps)
      unimplemented(std::to_string(steps_) + " steps; supported are 1 to " + std::to_string(kMaxSteps));
    if (node.has_input(4)) {
      const auto lengths = node.known_ints(4);
      const bool full =
          lengths && std::all_of(lengths->begin(), lengths->end(), [&](std::int64_t n) { return n == steps_; });
      if (!full) lengths_ = convert(node.input(4), ElementType::kI64);
    }
    inputs_ = steps_of(x_);
    // Short sequences are reversed within their own length.
    reversed_inputs_ = lengths_ ? steps_of(reversed(x_)) : OutputVector(inputs_.rbegin(), inputs_.rend());
  }

  std::int64_t directions() const { return directions_; }
  std::int64_t steps() const { return steps_; }
  std::int64_t hidden() const { return hidden_; }
  bool is_reverse(std::int64_t direction) const { return direction == 1 || first_is_reverse_; }

  Out of_direction(std::size_t input, std::int64_t direction) const {
    return squeeze(slice(node_.input(input), direction, direction + 1, 0), {0});
  }
  /// One gate's rows of a stacked operand.
  Out gate(const Out& stacked, std::int64_t index) const {
    return slice(stacked, index * hidden_, (index + 1) * hidden_, 0);
  }

  Out initial(std::size_t input, std::int64_t direction) const {
    if (node_.has_input(input)) {
      const Out state = batch_first_ ? transpose(node_.input(input), {1, 0, 2}) : node_.input(input);
      return squeeze(slice(state, direction, direction + 1, 0), {0});
    }
    const Out batch = slice(shape_of(x_), 1, 2, 0);
    return broadcast_to(scalar_like(x_, 0), concat({batch, ints({hidden_})}, 0));
  }

  Out step_input(std::int64_t step, std::int64_t direction) const {
    return (is_reverse(direction) ? reversed_inputs_ : inputs_)[static_cast<std::size_t>(step)];
  }

  /// Activates a gate after clipping it.
  Out activate(const Out& x, std::size_t index, std::int64_t direction) const {
    return activate_whole(clip_ > 0 ? op("Clamp", 1, {x}, {{"min", -clip_}, {"max", clip_}}) : x, index, direction);
  }
  /// Activates without clipping, as for a cell's state.
  Out activate_whole(const Out& in, std::size_t index, std::int64_t direction) const {
    const std::size_t at = static_cast<std::size_t>(direction) * functions_per_direction_ + index;
    const std::string& name = functions_[at];
    const auto value = [&](const std::vector<double>& values, double fallback) {
      return at < values.size() ? values[at] : fallback;
    };
    if (name == "Sigmoid" || name == "Tanh" || name == "Relu") return unary(name, in);
    if (name == "HardSigmoid") {
      return op("HardSigmoid", 1, {in, scalar_like(in, value(alphas_, 0.2)), scalar_like(in, value(betas_, 0.5))});
    }
    if (name == "LeakyRelu") return op("PRelu", 1, {in, reals(in.get_element_type(), {value(alphas_, 0.01)})});
    if (name == "Elu") return op("Elu", 1, {in}, {{"alpha", value(alphas_, 1)}});
    if (name == "Affine") return add(mul(in, scalar_like(in, value(alphas_, 1))), scalar_like(in, value(betas_, 0)));
    if (name == "ScaledTanh")
      return mul(unary("Tanh", mul(in, scalar_like(in, value(betas_, 1)))), scalar_like(in, value(alphas_, 1)));
    if (name == "ThresholdedRelu")
      return select(op("Greater", 1, {in, scalar_like(in, value(alphas_, 1))}), in, scalar_like(in, 0));
    if (name == "Softplus") return op("SoftPlus", 4, {in});
    if (name == "Softsign") return div(in, add(scalar_like(in, 1), unary("Abs", in)));
    fail("activation \"" + name + "\" is not one of ONNX's");
  }

  /// The biases split in two: sums for the input and for the recurrence.
  std::pair<Out, Out> biases(std::int64_t direction) const {
    if (!node_.has_input(3)) return {};
    const Out both = of_direction(3, direction);
    return {slice(both, 0, gates_ * hidden_, 0), slice(both, gates_ * hidden_, 2 * gates_ * hidden_, 0)};
  }

  /// Y from per-direction lists of states in time order, and the last state.
  Out all_steps(const std::vector<OutputVector>& states) const {
    OutputVector by_direction;
    for (const OutputVector& sequence : states) {
      OutputVector steps;
      for (const Out& state : sequence) steps.push_back(unsqueeze(state, {0, 1}));
      by_direction.push_back(concat(steps, 0));
    }
    const Out y = concat(by_direction, 1);  // [steps, directions, batch, hidden]
    return batch_first_ ? transpose(y, {2, 0, 1, 3}) : y;
  }
  Out last(const OutputVector& states) const {
    OutputVector parts;
    for (const Out& state : states) parts.push_back(unsqueeze(state, {0}));
    const Out y = concat(parts, 0);
    return batch_first_ ? transpose(y, {1, 0, 2}) : y;
  }

  /// Runs `step(direction, x, state)` over every direction; `state` comes from initial() and is updated in place.
  template <typename State, typename Initial, typename Step>
  OutputVector run(Initial&& start, Step&& step, std::vector<State>& finals) const {
    std::vector<OutputVector> states;
    OutputVector lasts;
    for (std::int64_t direction = 0; direction < directions_; ++direction) {
      State state = start(direction);
      OutputVector sequence;
      for (std::int64_t t = 0; t < steps_; ++t) {
        const State before = state;
        step(direction, step_input(t, direction), state);
        Out output = state[0];
        if (lengths_) {
          // Beyond its length a sequence keeps its state and outputs zeros.
          const Out active = unsqueeze(op("Greater", 1, {lengths_, int_scalar(t)}), {1});
          output = select(active, output, scalar_like(output, 0));
          for (std::size_t i = 0; i < state.size(); ++i) state[i] = select(active, state[i], before[i]);
        }
        sequence.push_back(output);
      }
      if (is_reverse(direction)) {
        if (lengths_)
          sequence = steps_of(reversed(stacked(sequence)));
        else
          std::reverse(sequence.begin(), sequence.end());
      }
      states.push_back(std::move(sequence));
      lasts.push_back(state[0]);
      finals.push_back(std::move(state));
    }
    return {all_steps(states), last(lasts)};
  }

 private:
  OutputVector steps_of(const Out& sequence) const {
    OutputVector steps = ops("Split", 1, {sequence, int_scalar(0)}, {{"num_splits", steps_}});
    for (Out& step : steps) step = squeeze(step, {0});
    return steps;
  }
  static Out stacked(const OutputVector& steps) {
    OutputVector parts;
    for (const Out& step : steps) parts.push_back(unsqueeze(step, {0}));
    return concat(parts, 0);
  }
  Out reversed(const Out& sequence) const {
    return op("ReverseSequence", 1, {sequence, lengths_}, {{"batch_axis", 1}, {"seq_axis", 0}});
  }

  const NodeContext& node_;
  std::int64_t gates_, hidden_ = 0, directions_ = 1, steps_ = 0;
  std::size_t functions_per_direction_;
  bool batch_first_ = false, first_is_reverse_ = false;
  double clip_ = 0;
  std::vector<std::string> functions_;
  std::vector<double> alphas_, betas_;
  Out x_, lengths_;
  OutputVector inputs_, reversed_inputs_;
};

Out biased(const Out& x, const Out& bias) { return bias ? add(x, bias) : x; }

// --- as sequence operations
// ------------------------------------------------------------------------------------------

/// Activations of one direction, in lower case; nothing if the sequence operations lack them.
std::optional<std::vector<std::string>> plain_activations(const NodeContext& node, std::vector<std::string> defaults,
                                                          std::size_t directions) {
  std::vector<std::string> names = node.get_strings("activations");
  if (names.empty()) return defaults;
  for (std::string& name : names) {
    for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (name != "sigmoid" && name != "tanh" && name != "relu") return std::nullopt;
  }
  if (names.size() != defaults.size() * directions) return std::nullopt;
  const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(defaults.size()));
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
                                        const Ints& order, std::vector<std::string> defaults) {
  const std::string direction = node.get_string("direction", "forward");
  const std::size_t directions = direction == "bidirectional" ? 2 : 1;
  const auto activations = plain_activations(node, std::move(defaults), directions);
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
  if (auto made = sequence_layer(node, "RNNSequence", 1, {0}, {"tanh"})) return *made;
  const Recurrence r(node, 1, 1, {"Tanh"});
  std::vector<OutputVector> finals;
  return r.run<OutputVector>([&](std::int64_t direction) { return OutputVector{r.initial(5, direction)}; },
                             [&](std::int64_t direction, const Out& x, OutputVector& state) {
                               const auto [wb, rb] = r.biases(direction);
                               const Out sum =
                                   add(biased(matmul(x, r.of_direction(1, direction), false, true), wb),
                                       biased(matmul(state[0], r.of_direction(2, direction), false, true), rb));
                               state[0] = r.activate(sum, 0, direction);
                             },
                             finals);
}

// Gates in the order z, r, h.
OutputVector gru(const NodeContext& node) {
  if (auto made = sequence_layer(node, "GRUSequence", 1, {0, 1, 2}, {"sigmoid", "tanh"})) return *made;
  const Recurrence r(node, 3, 2, {"Sigmoid", "Tanh"});
  const bool linear_before_reset = node.get_int("linear_before_reset", 0) != 0;
  std::vector<OutputVector> finals;
  return r.run<OutputVector>(
      [&](std::int64_t direction) { return OutputVector{r.initial(5, direction)}; },
      [&](std::int64_t direction, const Out& x, OutputVector& state) {
        const Out w = r.of_direction(1, direction), u = r.of_direction(2, direction), h = state[0];
        const auto [wb, rb] = r.biases(direction);
        const auto part = [&](const Out& operand, const Out& weights, const Out& bias, std::int64_t gate) {
          const Out product = matmul(operand, r.gate(weights, gate), false, true);
          return bias ? add(product, r.gate(bias, gate)) : product;
        };
        const Out z = r.activate(add(part(x, w, wb, 0), part(h, u, rb, 0)), 0, direction);
        const Out reset = r.activate(add(part(x, w, wb, 1), part(h, u, rb, 1)), 0, direction);
        const Out recurrent = linear_before_reset ? mul(reset, part(h, u, rb, 2)) : part(mul(reset, h), u, rb, 2);
        const Out candidate = r.activate(add(part(x, w, wb, 2), recurrent), 1, direction);
        state[0] = add(mul(sub(scalar_like(z, 1), z), candidate), mul(z, h));
      },
      finals);
}

// Gates in the order i, o, f, c; peepholes i, o, f.
OutputVector lstm(const NodeContext& node) {
  if (auto made = sequence_layer(node, "LSTMSequence", 2, {2, 0, 3, 1}, {"sigmoid", "tanh", "tanh"})) return *made;
  const Recurrence r(node, 4, 3, {"Sigmoid", "Tanh", "Tanh"});
  const bool couples = node.get_int("input_forget", 0) != 0;  // The input gate is one minus the forget gate.
  std::vector<OutputVector> finals;
  OutputVector outputs = r.run<OutputVector>(
      [&](std::int64_t direction) {
        return OutputVector{r.initial(5, direction), r.initial(6, direction)};
      },
      [&](std::int64_t direction, const Out& x, OutputVector& state) {
        const auto [wb, rb] = r.biases(direction);
        const Out sum = add(biased(matmul(x, r.of_direction(1, direction), false, true), wb),
                            biased(matmul(state[0], r.of_direction(2, direction), false, true), rb));
        const OutputVector gates = ops("Split", 1, {sum, int_scalar(1)}, {{"num_splits", 4}});
        const auto peep = [&](const Out& gate, const Out& cell, std::int64_t index) {
          if (!node.has_input(7)) return gate;
          return add(gate, mul(r.gate(r.of_direction(7, direction), index), cell));
        };
        const Out in = r.activate(peep(gates[0], state[1], 0), 0, direction);
        const Out forget =
            couples ? sub(scalar_like(in, 1), in) : r.activate(peep(gates[2], state[1], 2), 0, direction);
        const Out cell = add(mul(forget, state[1]), mul(in, r.activate(gates[3], 1, direction)));
        const Out out = r.activate(peep(gates[1], cell, 1), 0, direction);
        state[0] = mul(out, r.activate_whole(cell, 2, direction));
        state[1] = cell;
      },
      finals);
  OutputVector cells;
  for (const OutputVector& state : finals) cells.push_back(state[1]);
  outputs.push_back(r.last(cells));
  return outputs;
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
