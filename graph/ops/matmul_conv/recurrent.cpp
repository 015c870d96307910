// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: cells, and cells run over sequences.
#include <algorithm>
#include <cmath>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
using Names = std::vector<std::string>;
enum class Kind { kRnn, kGru, kLstm };

/// How the six operations differ: number of gates, states, and positions of inputs.
struct Form {
  Kind kind;
  bool is_sequence;
  std::size_t gates() const { return kind == Kind::kRnn ? 1 : kind == Kind::kGru ? 3 : 4; }
  std::size_t states() const { return kind == Kind::kLstm ? 2 : 1; }
  std::size_t lengths() const { return 1 + states(); }  // sequences only
  std::size_t weights() const { return 1 + states() + (is_sequence ? 1 : 0); }
};

Form form_of(const Node& node) {
  const std::string_view type = node.get_type_info().name;
  const Kind kind = type.substr(0, 3) == "RNN" ? Kind::kRnn : type.substr(0, 3) == "GRU" ? Kind::kGru : Kind::kLstm;
  return {kind, type.find("Sequence") != type.npos};
}

std::size_t bias_gates(const Node& node, const Form& form) {
  const bool split = form.kind == Kind::kGru && node.get_attributes().get_bool("linear_before_reset");
  return form.gates() + (split ? 1 : 0);
}

std::size_t directions(const Node& node) {
  return node.get_attributes().get_string("direction") == "bidirectional" ? 2 : 1;
}

void expect(const Node& node, std::size_t input, const char* what, const PartialShape& shape) {
  if (input >= node.get_input_size() || node.get_input_partial_shape(input).compatible(shape)) return;
  fail(std::string(what) + " (input " + std::to_string(input) + ") has shape " +
       node.get_input_partial_shape(input).to_string() + ", expected " + shape.to_string());
}

/// Activations of the gates and of later values; defaults if the node names none.
std::vector<std::string> activations(const Node& node, const Form& form) {
  const std::size_t wanted = form.kind == Kind::kRnn ? 1 : form.kind == Kind::kGru ? 2 : 3;
  std::vector<std::string> names = node.get_attributes().get_strings("activations");
  if (names.empty()) names = form.kind == Kind::kRnn ? Names{"tanh"} : Names{"sigmoid", "tanh", "tanh"};
  if (names.size() < wanted)
    fail("attribute 'activations': expected " + std::to_string(wanted) + " names, found " +
         std::to_string(names.size()));
  for (const std::string& name : names) {
    if (name != "sigmoid" && name != "tanh" && name != "relu")
      fail("activation '" + name + "' is not supported; sigmoid, tanh and relu are");
  }
  return names;
}

void infer_recurrent(Node& node) {
  const Form form = form_of(node);
  const std::int64_t hidden = node.get_attributes().get_int("hidden_size");
  if (hidden < 1 || hidden > (std::int64_t{1} << 30))
    fail("attribute 'hidden_size': " + std::to_string(hidden) + " is outside 1..2^30");
  activations(node, form);
  if (form.kind == Kind::kLstm && node.get_attributes().has("input_forget") &&
      node.get_attributes().get_bool("input_forget"))
    fail("input_forget is not supported");
  const std::size_t w = form.weights();
  const element::Type type = common_type(node, 0, form.lengths());
  common_type(node, w, node.get_input_size());
  require_real(node, 0);
  const auto gates = static_cast<std::int64_t>(form.gates()) * hidden;
  const auto biases = static_cast<std::int64_t>(bias_gates(node, form)) * hidden;
  const std::size_t rank = form.is_sequence ? 3 : 2;
  require_rank(node, 0, rank, rank);
  Dimension batch = Dimension::dynamic(), steps = Dimension::dynamic(), features = Dimension::dynamic();
  const PartialShape& x = node.get_input_partial_shape(0);
  if (x.rank().is_static()) {
    batch = x[0];
    features = x[rank - 1];
    if (form.is_sequence) steps = x[1];
  }
  const PartialShape& initial = node.get_input_partial_shape(1);
  if (initial.rank() == Rank(static_cast<std::int64_t>(rank)) && batch.is_dynamic()) batch = initial[0];
  if (!form.is_sequence) {
    for (std::size_t s = 0; s < form.states(); ++s) expect(node, 1 + s, "a state", {batch, hidden});
    expect(node, w, "W", {gates, features});
    expect(node, w + 1, "R", {gates, hidden});
    expect(node, w + 2, "B", {biases});
    for (std::size_t s = 0; s < form.states(); ++s) node.set_output_type(s, type, {batch, hidden});
    return;
  }
  const auto d = static_cast<std::int64_t>(directions(node));
  for (std::size_t s = 0; s < form.states(); ++s) expect(node, 1 + s, "a state", {batch, d, hidden});
  expect(node, form.lengths(), "the lengths", {batch});
  expect(node, w, "W", {d, gates, features});
  expect(node, w + 1, "R", {d, gates, hidden});
  expect(node, w + 2, "B", {d, biases});
  node.set_output_type(0, type, {batch, d, steps, hidden});
  for (std::size_t s = 0; s < form.states(); ++s) node.set_output_type(1 + s, type, {batch, d, hidden});
}

/// One cell with the weights of one direction, applied to the state of one batch element at a time.
template <typename T>
class Cell {
 public:
  Cell(const Node& node, const Form& form, const T* w, const T* r, const T* b, std::size_t features)
      : form_(form),
        hidden_(static_cast<std::size_t>(node.get_attributes().get_int("hidden_size"))),
        features_(features),
        w_(w),
        r_(r),
        b_(b),
        clip_(static_cast<T>(node.get_attributes().get_double("clip"))),
        activations_(activations(node, form)),
        linear_before_reset_(bias_gates(node, form) > form.gates()),
        from_input_(form.gates() * hidden_),
        from_state_(form.gates() * hidden_),
        reset_(hidden_) {}

  /// Reads and replaces h and (for LSTM) c.
  void step(const T* x, T* h, T* c) {
    multiply(w_, x, features_, 0, form_.gates(), from_input_.data());
    if (form_.kind == Kind::kGru)
      gru(h);
    else if (form_.kind == Kind::kLstm)
      lstm(h, c);
    else
      rnn(h);
  }

 private:
  /// Multiplies rows of gates [first, first + count) by a vector.
  void multiply(const T* matrix, const T* vector, std::size_t length, std::size_t first, std::size_t count, T* result) {
    for (std::size_t row = first * hidden_; row < (first + count) * hidden_; ++row) {
      T sum = 0;
      for (std::size_t k = 0; k < length; ++k) sum += matrix[row * length + k] * vector[k];
      result[row] = sum;
    }
  }
  T bias(std::size_t gate, std::size_t i) const { return b_ ? b_[gate * hidden_ + i] : T{0}; }
  T activate(std::size_t index, T x) const {
    if (clip_ > 0) x = std::clamp(x, -clip_, clip_);
    const char kind = activations_[index][0];
    if (kind == 's') return T{1} / (T{1} + std::exp(-x));
    return kind == 't' ? std::tanh(x) : std::max(x, T{0});
  }

  void rnn(T* h) {
    multiply(r_, h, hidden_, 0, 1, from_state_.data());
    for (std::size_t i = 0; i < hidden_; ++i) h[i] = activate(0, from_input_[i] + from_state_[i] + bias(0, i));
  }
  // Gates z, r, h.
  void gru(T* h) {
    multiply(r_, h, hidden_, 0, linear_before_reset_ ? 3 : 2, from_state_.data());
    const auto gate = [&](std::size_t g, std::size_t i) {
      return activate(0, from_input_[g * hidden_ + i] + from_state_[g * hidden_ + i] + bias(g, i));
    };
    if (!linear_before_reset_) {
      for (std::size_t i = 0; i < hidden_; ++i) reset_[i] = gate(1, i) * h[i];
      multiply(r_, reset_.data(), hidden_, 2, 1, from_state_.data());
    } else {
      for (std::size_t i = 0; i < hidden_; ++i)
        from_state_[2 * hidden_ + i] = gate(1, i) * (from_state_[2 * hidden_ + i] + bias(3, i));
    }
    for (std::size_t i = 0; i < hidden_; ++i) {
      const T z = gate(0, i);
      const T candidate = activate(1, from_input_[2 * hidden_ + i] + from_state_[2 * hidden_ + i] + bias(2, i));
      h[i] = (T{1} - z) * candidate + z * h[i];
    }
  }
  // Gates f, i, c, o.
  void lstm(T* h, T* c) {
    multiply(r_, h, hidden_, 0, 4, from_state_.data());
    const auto sum = [&](std::size_t g, std::size_t i) {
      return from_input_[g * hidden_ + i] + from_state_[g * hidden_ + i] + bias(g, i);
    };
    for (std::size_t i = 0; i < hidden_; ++i) {
      c[i] = activate(0, sum(0, i)) * c[i] + activate(0, sum(1, i)) * activate(1, sum(2, i));
      const T out = activate(0, sum(3, i));
      const char kind = activations_[2][0];
      // Gates are clipped, the cell state is not.
      h[i] = out * (kind == 't'   ? std::tanh(c[i])
                    : kind == 's' ? T{1} / (T{1} + std::exp(-c[i]))
                                  : std::max(c[i], T{0}));
    }
  }

  Form form_;
  std::size_t hidden_, features_;
  const T *w_, *r_, *b_;
  T clip_;
  std::vector<std::string> activations_;
  bool linear_before_reset_;
  std::vector<T> from_input_, from_state_, reset_;
};

/// LSTMCell-1 may have its gates in any order; the kernel expects f, i, c, o.
template <typename T>
std::vector<T> reordered(const Node& node, const Read<T>& rows) {
  std::vector<T> result(rows.data(), rows.data() + rows.size());
  if (!node.get_attributes().has("weights_format")) return result;
  const std::string& format = node.get_attributes().get_string("weights_format");
  const std::string_view wanted = "fico";
  const std::size_t gate = rows.size() / 4;
  for (std::size_t g = 0; g < 4; ++g) {
    const std::size_t from = format.find(wanted[g]);
    if (from == format.npos) fail("weights_format \"" + format + "\" lacks the gate " + wanted[g]);
    std::copy_n(rows.data() + from * gate, gate, result.data() + g * gate);
  }
  return result;
}

template <typename T>
void run_cell(const Node& node, const Form& form, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::size_t w = form.weights();
  const Read<T> x(inputs[0]), h(inputs[1]), weights(inputs[w]), recurrence(inputs[w + 1]);
  const std::size_t batch = inputs[0].shape()[0], features = inputs[0].shape()[1], hidden = outputs[0].shape()[1];
  const std::vector<T> gates = reordered(node, weights), back = reordered(node, recurrence);
  std::vector<T> bias;
  if (inputs.size() > w + 2) bias = reordered(node, Read<T>(inputs[w + 2]));
  Cell<T> cell(node, form, gates.data(), back.data(), bias.empty() ? nullptr : bias.data(), features);
  Write<T> next(outputs[0]);
  std::copy_n(h.data(), h.size(), next.data());
  std::vector<T> c;
  if (form.states() == 2) {
    const Read<T> initial(inputs[2]);
    c.assign(initial.data(), initial.data() + initial.size());
  }
  for (std::size_t i = 0; i < batch; ++i)
    cell.step(x.data() + i * features, next.data() + i * hidden, c.empty() ? nullptr : c.data() + i * hidden);
  next.commit();
  if (form.states() < 2) return;
  Write<T> cells(outputs[1]);
  std::copy(c.begin(), c.end(), cells.data());
  cells.commit();
}

template <typename T>
void run_sequence(const Node& node, const Form& form, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::size_t w = form.weights();
  const Read<T> x(inputs[0]), h0(inputs[1]), weights(inputs[w]), recurrence(inputs[w + 1]);
  const Shape& shape = inputs[0].shape();
  const std::size_t batch = shape[0], steps = shape[1], features = shape[2];
  const std::size_t count = outputs[0].shape()[1], hidden = outputs[0].shape()[3];
  const std::vector<std::int64_t> lengths = to_vector<std::int64_t>(inputs[form.lengths()]);
  const bool has_bias = inputs.size() > w + 2;
  const std::vector<T> bias = has_bias ? to_vector<T>(inputs[w + 2]) : std::vector<T>();
  const std::vector<T> c0 = form.states() == 2 ? to_vector<T>(inputs[2]) : std::vector<T>();
  Write<T> y(outputs[0]), last(outputs[1]);
  std::vector<T> cells(c0);
  std::fill_n(y.data(), y.size(), T{0});
  std::copy_n(h0.data(), h0.size(), last.data());
  const bool first_is_reverse = node.get_attributes().get_string("direction") == "reverse";
  for (std::size_t d = 0; d < count; ++d) {
    Cell<T> cell(node, form, weights.data() + d * (weights.size() / count),
                 recurrence.data() + d * (recurrence.size() / count),
                 has_bias ? bias.data() + d * (bias.size() / count) : nullptr, features);
    const bool is_reverse = d == 1 || first_is_reverse;
    for (std::size_t b = 0; b < batch; ++b) {
      T* h = last.data() + (b * count + d) * hidden;
      T* c = cells.empty() ? nullptr : cells.data() + (b * count + d) * hidden;
      const auto length =
          static_cast<std::size_t>(std::clamp<std::int64_t>(lengths[b], 0, static_cast<std::int64_t>(steps)));
      for (std::size_t t = 0; t < length; ++t) {
        const std::size_t at = is_reverse ? length - 1 - t : t;
        cell.step(x.data() + (b * steps + at) * features, h, c);
        std::copy_n(h, hidden, y.data() + ((b * count + d) * steps + at) * hidden);
      }
    }
  }
  y.commit();
  last.commit();
  if (form.states() < 2) return;
  Write<T> last_cells(outputs[2]);
  std::copy(cells.begin(), cells.end(), last_cells.data());
  last_cells.commit();
}

void evaluate_recurrent(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Form form = form_of(node);
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    if (form.is_sequence)
      run_sequence<T>(node, form, inputs, outputs);
    else
      run_cell<T>(node, form, inputs, outputs);
  });
}

OperationTable::Row add_row(OperationTable& table, const char* type, unsigned opset, std::size_t min, std::size_t max,
                            Names activations, const char* description) {
  auto row = table.add(type, opset, min, max, infer_recurrent, evaluate_recurrent, description);
  row.integer("hidden_size")
      .texts("activations", std::move(activations))
      .reals("activations_alpha", std::vector<double>{})
      .reals("activations_beta", std::vector<double>{})
      .real("clip", 0.0);
  if (std::string_view(type).find("Sequence") != std::string_view::npos)
    row.text("direction", "forward", {"forward", "reverse", "bidirectional"});
  return row;
}
}  // namespace

void add_recurrent_rows(OperationTable& table) {
  const Names rnn{"tanh"}, gru{"sigmoid", "tanh"}, lstm{"sigmoid", "tanh", "tanh"};
  add_row(table, "RNNCell", 1, 4, 5, rnn, "One step of a plain recurrent layer.");
  add_row(table, "GRUCell", 3, 4, 5, gru, "One step of a gated recurrent unit.").flag("linear_before_reset", false);
  add_row(table, "LSTMCell", 1, 5, 6, lstm, "One step of a long short-term memory, gates in a given order.")
      .text("weights_format", "fico", {"fico", "icof", "ifco", "ifoc", "iofc"})
      .flag("input_forget", false);
  add_row(table, "LSTMCell", 4, 5, 6, lstm, "One step of a long short-term memory.");
  add_row(table, "RNNSequence", 5, 5, 6, rnn, "A plain recurrent layer over sequences.");
  add_row(table, "GRUSequence", 5, 5, 6, gru, "A gated recurrent unit over sequences.")
      .flag("linear_before_reset", false);
  add_row(table, "LSTMSequence", 5, 6, 7, lstm, "A long short-term memory over sequences.");
}

}  // namespace v1
}  // namespace tenon
