// SPDX-License-Identifier: Apache-2.0
// ONNX: If, Loop and Scan.
#include <algorithm>
#include <optional>

#include <tenon/graph/readers/onnx/internal/sequence.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

std::shared_ptr<op::v0::Parameter> parameter_of(ElementType type, const PartialShape& shape, const std::string& name) {
  auto parameter = std::make_shared<op::v0::Parameter>(type, shape);
  parameter->set_friendly_name(name);
  return parameter;
}

std::shared_ptr<Model> model_of(const ParameterVector& parameters, const Body& body) {
  ParameterVector all = parameters;
  all.insert(all.end(), body.captured_parameters.begin(), body.captured_parameters.end());
  return std::make_shared<Model>(body.outputs, all);
}

/// Widens a loop state's shape to cover any number of rounds: extents that change become unknown, then all of them, and a rank that changes:
/// loops within loops must not multiply many rounds of inference.
bool widen(PartialShape& shape, const PartialShape& next, int round) {
  if (shape.relaxes(next)) return false;
  const bool keeps_rank = shape.rank().is_static() && shape.rank() == next.rank();
  if (round > 0 || !keeps_rank) {
    shape = PartialShape::dynamic(keeps_rank ? shape.rank() : Rank::dynamic());
    return true;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].relaxes(next[i])) shape[i] = Dimension::dynamic();
  }
  return true;
}

/// Replaces lists among the outputs of a body by their elements, and puts these together again.
class Flattened {
 public:
  explicit Flattened(Body& body) {
    OutputVector flat;
    for (const Out& output : body.outputs) {
      const Sequence* sequence = as_sequence(output);
      lengths_.push_back(sequence ? static_cast<std::int64_t>(elements_of(*sequence).size()) : -1);
      for (const Out& part : sequence ? elements_of(*sequence) : OutputVector{output}) flat.push_back(part);
    }
    body.outputs = std::move(flat);
  }
  bool operator==(const Flattened& other) const { return lengths_ == other.lengths_; }
  OutputVector restore(const OutputVector& flat) const {
    OutputVector outputs;
    std::size_t next = 0;
    for (const std::int64_t length : lengths_) {
      if (length < 0) {
        outputs.push_back(flat[next++]);
        continue;
      }
      const auto first = flat.begin() + static_cast<std::ptrdiff_t>(next);
      outputs.push_back(sequence_of(Sequence::Form::kList, OutputVector(first, first + length)));
      next += static_cast<std::size_t>(length);
    }
    return outputs;
  }

 private:
  std::vector<std::int64_t> lengths_;  ///< -1: a tensor.
};

OutputVector convert_if(const NodeContext& node) {
  const auto& then_graph = node.get_graph("then_branch");
  const auto& else_graph = node.get_graph("else_branch");
  const auto known = node.known_ints(0);
  if (known && known->size() == 1) return node.bodies().read_inline((*known)[0] != 0 ? then_graph : else_graph);
  Body then_body = node.bodies().read(then_graph, {}), else_body = node.bodies().read(else_graph, {});
  const Flattened flattened(then_body), other(else_body);
  if (then_body.outputs.size() == else_body.outputs.size() && !(flattened == other))
    unimplemented("its branches give sequences of different lengths, and these must be known");
  if (then_body.outputs.size() != else_body.outputs.size()) {
    fail("its branches have " + std::to_string(then_body.outputs.size()) + " and " +
         std::to_string(else_body.outputs.size()) + " outputs");
  }
  auto made = std::make_shared<op::v8::If>(node.input(0));
  made->set_then_body(model_of({}, then_body));
  made->set_else_body(model_of({}, else_body));
  for (std::size_t i = 0; i < then_body.captured.size(); ++i)
    made->set_input(then_body.captured[i], then_body.captured_parameters[i], nullptr);
  for (std::size_t i = 0; i < else_body.captured.size(); ++i)
    made->set_input(else_body.captured[i], nullptr, else_body.captured_parameters[i]);
  OutputVector outputs;
  for (std::size_t i = 0; i < then_body.outputs.size(); ++i) {
    outputs.push_back(
        made->set_output(made->get_then_body()->get_results()[i], made->get_else_body()->get_results()[i]));
  }
  return flattened.restore(outputs);
}

Out truth() {
  return std::make_shared<op::v0::Constant>(element::boolean, Shape{}, std::vector<std::int64_t>{1})->output(0);
}

/// The elements that an iteration appends to each sequence among the states; none for tensors and unchanged sequences.
std::vector<Out> appended_elements(const NodeContext& node, const Body& body, std::size_t states) {
  std::vector<Out> elements(states);
  for (std::size_t i = 0; i < states; ++i) {
    if (!as_sequence(node.input(i + 2))) continue;
    const Sequence* after = as_sequence(body.outputs[i + 1]);
    if (after && after->form() == Sequence::Form::kState) continue;
    if (!after || after->form() != Sequence::Form::kAppended || after->state() == nullptr)
      unimplemented("its body changes the sequence of input " + std::to_string(i + 2) +
                    " by other means than putting one element at its end, which is the form that is written out");
    elements[i] = after->input_value(0);
  }
  return elements;
}

/// The sequence with elements behind it that a loop has joined along axis 0.
Out extended(const Sequence& before, const Out& joined) {
  const bool is_empty = before.form() == Sequence::Form::kList && before.get_input_size() == 0;
  return sequence_of(Sequence::Form::kStack, {is_empty ? joined : concat({stack_of(before), joined}, 0)});
}

/// More iterations stay a loop.
constexpr std::int64_t kMaxWrittenOut = 64;

/// A loop over lists with a known number of iterations, one iteration after the other: only so may the elements differ
/// in shape. Nothing if it must stay a loop.
std::optional<OutputVector> written_out(const NodeContext& node, const schema::GraphProto& graph) {
  OutputVector states;
  bool has_list = false;
  for (std::size_t i = 2; i < node.input_count(); ++i) {
    states.push_back(node.input(i));
    const Sequence* sequence = as_sequence(node.input(i));
    if (sequence && sequence->form() != Sequence::Form::kList) return {};
    has_list = has_list || sequence;
  }
  const auto trips = node.has_input(0) ? node.known_ints(0) : std::nullopt;
  auto goes_on = node.has_input(1) ? node.known_ints(1) : Ints{1};
  const bool has_slices = static_cast<std::size_t>(graph.output_size()) != states.size() + 1;
  if (!has_list || has_slices || !trips || trips->size() != 1) return {};
  if ((*trips)[0] < 0 || (*trips)[0] > kMaxWrittenOut) return {};
  for (std::int64_t trip = 0; trip < (*trips)[0]; ++trip) {
    if (!goes_on || goes_on->size() != 1) return {};
    if ((*goes_on)[0] == 0) break;
    OutputVector inputs{int_scalar(trip), truth()};
    inputs.insert(inputs.end(), states.begin(), states.end());
    const OutputVector outputs = node.bodies().read_inline(graph, inputs);
    goes_on = known_ints(outputs[0]);
    states.assign(outputs.begin() + 1, outputs.end());
  }
  return states;
}

OutputVector convert_loop(const NodeContext& node) {
  const auto& graph = node.get_graph("body");
  const Out trips = node.has_input(0) ? node.input(0) : int_scalar(-1);
  const Out condition = node.has_input(1) ? node.input(1) : truth();
  const std::size_t states = node.input_count() > 2 ? node.input_count() - 2 : 0;
  if (static_cast<std::size_t>(graph.input_size()) != states + 2 ||
      static_cast<std::size_t>(graph.output_size()) < states + 1) {
    fail("its body has " + std::to_string(graph.input_size()) + " inputs and " + std::to_string(graph.output_size()) +
         " outputs, which do not fit " + std::to_string(states) + " loop-carried values");
  }
  if (auto outputs = written_out(node, graph)) return *std::move(outputs);
  // Carried tensors, by their index among the states; for sequences, the elements that an iteration appends.
  std::vector<std::size_t> carried;
  std::vector<PartialShape> shapes;
  for (std::size_t i = 0; i < states; ++i) {
    if (as_sequence(node.input(i + 2))) continue;
    carried.push_back(i);
    shapes.push_back(node.input(i + 2).get_partial_shape());
  }
  ParameterVector parameters;
  Body body;
  bool settled = false;
  for (int round = 0; !settled; ++round) {
    const auto name = [&](std::size_t i) { return graph.input(static_cast<int>(i)).name(); };
    parameters = {parameter_of(ElementType::kI64, PartialShape(Shape{}), name(0))};
    // An iteration runs only if the condition holds, so within the body it is always true.
    OutputVector inputs{parameters[0]->output(0), truth()};
    for (std::size_t i = 0; i < states; ++i) {
      if (as_sequence(node.input(i + 2))) {
        inputs.push_back(sequence_of(Sequence::Form::kState, {}));
        continue;
      }
      parameters.push_back(parameter_of(node.type(i + 2), shapes[parameters.size() - 1], name(i + 2)));
      inputs.push_back(parameters.back()->output(0));
    }
    body = node.bodies().read(graph, inputs);
    settled = true;
    for (std::size_t k = 0; k < carried.size(); ++k)
      settled &= !widen(shapes[k], body.outputs[carried[k] + 1].get_partial_shape(), round);
  }
  const std::vector<Out> elements = appended_elements(node, body, states);
  // The condition, carried tensors, then the concatenated outputs: each iteration's part is a slice of extent 1.
  OutputVector flat{body.outputs[0]};
  for (const std::size_t i : carried) flat.push_back(body.outputs[i + 1]);
  for (const Out& element : elements)
    if (element) flat.push_back(unsqueeze(element, {0}));
  for (std::size_t i = states + 1; i < body.outputs.size(); ++i) flat.push_back(unsqueeze(body.outputs[i], {0}));
  body.outputs = flat;
  auto loop = std::make_shared<op::v5::Loop>(trips, condition);
  loop->set_function(model_of(parameters, body));
  loop->set_special_body_ports({0, 0});
  const ResultVector& results = loop->get_function()->get_results();
  for (std::size_t k = 0; k < carried.size(); ++k)
    loop->set_merged_input(parameters[k + 1], node.input(carried[k] + 2), results[k + 1]->output(0));
  for (std::size_t i = 0; i < body.captured.size(); ++i)
    loop->set_invariant_input(body.captured_parameters[i], body.captured[i]);
  OutputVector outputs(states);
  for (std::size_t k = 0; k < carried.size(); ++k)
    outputs[carried[k]] = loop->get_iter_value(results[k + 1]->output(0));
  std::size_t next = carried.size() + 1;
  const auto joined = [&] { return loop->get_concatenated_slices(results[next++]->output(0), 0, 1, 1, -1, 0); };
  for (std::size_t i = 0; i < states; ++i) {
    const Sequence* before = as_sequence(node.input(i + 2));
    if (!before) continue;
    outputs[i] = elements[i] ? extended(*before, joined()) : node.input(i + 2);
  }
  while (next < results.size()) outputs.push_back(joined());
  return outputs;
}

/// An axis or direction attribute of Scan, one entry per scanned value.
Ints per_value(const NodeContext& node, std::string_view attribute, std::size_t count) {
  Ints values = node.get_ints(attribute, Ints(count, 0));
  if (values.size() != count)
    fail("attribute \"" + std::string(attribute) + "\" has " + std::to_string(values.size()) + " entries, expected " +
         std::to_string(count));
  return values;
}

/// One entry for each scanned, and for each joined value.
struct ScanForm {
  Ints axes, directions, out_axes, out_directions;
};

/// The loop over the slices of `inputs`: the last of them, behind the states.
/// @param inside  (value from outside of the node): what it is in the graph of the inputs.
template <typename Inside>
OutputVector scanned(const NodeContext& node, const OutputVector& inputs, const ScanForm& form, Inside&& inside) {
  const auto& graph = node.get_graph("body");
  const std::size_t slices = form.axes.size(), states = inputs.size() - slices, joined = form.out_axes.size();
  const auto axis_of = [&](std::size_t slice) {
    const Rank rank = inputs[states + slice].get_partial_shape().rank();
    if (rank.is_dynamic()) unimplemented("a scanned value has an unknown number of axes");
    return normalized_axis(form.axes[slice], rank.get_length());
  };
  std::vector<PartialShape> shapes;
  for (std::size_t i = 0; i < states; ++i) shapes.push_back(inputs[i].get_partial_shape());
  ParameterVector parameters;
  Body body;
  bool settled = false;
  for (int round = 0; !settled; ++round) {
    parameters.clear();
    OutputVector parts;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_state = i < states;
      PartialShape shape = is_state ? shapes[i] : inputs[i].get_partial_shape();
      if (!is_state) shape[static_cast<std::size_t>(axis_of(i - states))] = 1;
      parameters.push_back(parameter_of(inputs[i].get_element_type(), shape, graph.input(static_cast<int>(i)).name()));
      const Out part = parameters.back()->output(0);
      parts.push_back(is_state ? part : squeeze(part, {axis_of(i - states)}));
    }
    body = node.bodies().read(graph, parts);
    settled = true;
    for (std::size_t i = 0; i < states; ++i) settled &= !widen(shapes[i], body.outputs[i].get_partial_shape(), round);
  }
  for (std::size_t i = 0; i < joined; ++i)
    body.outputs[states + i] = unsqueeze(body.outputs[states + i], {form.out_axes[i]});
  auto iterator = std::make_shared<op::v0::TensorIterator>();
  iterator->set_body(model_of(parameters, body));
  const ResultVector& results = iterator->get_body()->get_results();
  for (std::size_t i = 0; i < states; ++i) iterator->set_merged_input(parameters[i], inputs[i], results[i]->output(0));
  for (std::size_t i = 0; i < slices; ++i) {
    const bool forward = form.directions[i] == 0;
    iterator->set_sliced_input(parameters[states + i], inputs[states + i], forward ? 0 : -1, forward ? 1 : -1, 1,
                               forward ? -1 : 0, axis_of(i));
  }
  for (std::size_t i = 0; i < body.captured.size(); ++i)
    iterator->set_invariant_input(body.captured_parameters[i], inside(body.captured[i]));
  OutputVector outputs;
  for (std::size_t i = 0; i < states; ++i) outputs.push_back(iterator->get_iter_value(results[i]->output(0)));
  for (std::size_t i = 0; i < joined; ++i) {
    const bool forward = form.out_directions[i] == 0;
    outputs.push_back(iterator->get_concatenated_slices(results[states + i]->output(0), forward ? 0 : -1,
                                                        forward ? 1 : -1, 1, forward ? -1 : 0, form.out_axes[i]));
  }
  return outputs;
}

/// Operation set 8: each item of the batch is scanned by itself, for as many steps as its length says; zeros follow.
/// @param given  The states and the scanned values; their axis 0 is the batch.
OutputVector scanned_by_item(const NodeContext& node, const OutputVector& given, const ScanForm& form) {
  auto batch = std::make_shared<op::v0::TensorIterator>();
  const std::size_t states = given.size() - form.axes.size();
  ParameterVector parameters;
  OutputVector items, captured;
  const auto item_of = [&](const Out& whole) {
    PartialShape shape = whole.get_partial_shape();
    if (shape.rank().is_dynamic() || shape.size() < 1) unimplemented("an input has no known axis for the batch");
    shape[0] = 1;
    parameters.push_back(parameter_of(whole.get_element_type(), shape, ""));
    return parameters.back()->output(0);
  };
  for (const Out& each : given) items.push_back(squeeze(item_of(each), {0}));
  const Out longest = reshape(extent_of(items[states], 0), Ints{1});
  OutputVector sliced = given;
  Out length;
  if (node.has_input(0)) {
    sliced.push_back(convert(node.input(0), ElementType::kI64));
    length = item_of(sliced.back());
    for (std::size_t i = states; i < items.size(); ++i)
      items[i] = op("Slice", 8, {items[i], ints({0}), length, ints({1}), ints({0})});
  }
  OutputVector made = scanned(node, items, form, [&](const Out& value) {
    captured.push_back(value);
    parameters.push_back(parameter_of(value.get_element_type(), value.get_partial_shape(), ""));
    return parameters.back()->output(0);
  });
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i >= states && length) {
      const Rank rank = made[i].get_partial_shape().rank();
      if (rank.is_dynamic()) unimplemented("its body gives a value with an unknown number of axes");
      const Ints none(static_cast<std::size_t>(rank.get_length()), 0);
      const Out behind = concat({sub(longest, length), ints(Ints(none.size() - 1, 0))}, 0);
      made[i] = op("Pad", 12, {made[i], ints(none), behind, scalar_like(made[i], 0)}, {{"pad_mode", "constant"}});
    }
    made[i] = unsqueeze(made[i], {0});
  }
  batch->set_body(std::make_shared<Model>(made, parameters));
  for (std::size_t i = 0; i < sliced.size(); ++i) batch->set_sliced_input(parameters[i], sliced[i], 0, 1, 1, -1, 0);
  for (std::size_t i = 0; i < captured.size(); ++i)
    batch->set_invariant_input(parameters[sliced.size() + i], captured[i]);
  OutputVector outputs;
  for (const auto& result : batch->get_body()->get_results())
    outputs.push_back(batch->get_concatenated_slices(result->output(0), 0, 1, 1, -1, 0));
  return outputs;
}

OutputVector convert_scan(const NodeContext& node) {
  const bool by_item = node.opset() < 9;
  const auto& graph = node.get_graph("body");
  OutputVector inputs;
  // Operation set 8 has lengths first, which may be absent.
  for (std::size_t i = by_item ? 1 : 0; i < node.input_count(); ++i) inputs.push_back(node.input(i));
  const std::int64_t scans = node.get_int("num_scan_inputs");
  if (scans < 1 || static_cast<std::size_t>(scans) > inputs.size() ||
      static_cast<std::size_t>(graph.input_size()) != inputs.size())
    fail("num_scan_inputs " + std::to_string(scans) + " does not fit its inputs");
  const std::size_t slices = static_cast<std::size_t>(scans), states = inputs.size() - slices;
  if (static_cast<std::size_t>(graph.output_size()) < states) fail("its body gives fewer values than it has states");
  const std::size_t joined = static_cast<std::size_t>(graph.output_size()) - states;
  if (by_item)
    return scanned_by_item(node, inputs,
                           {Ints(slices, 0), per_value(node, "directions", slices), Ints(joined, 0), Ints(joined, 0)});
  const ScanForm form{per_value(node, "scan_input_axes", slices), per_value(node, "scan_input_directions", slices),
                      per_value(node, "scan_output_axes", joined), per_value(node, "scan_output_directions", joined)};
  return scanned(node, inputs, form, [](const Out& value) { return value; });
}

}  // namespace

void add_control_flow(ConverterTable& table) {
  table[":If"] = convert_if;
  table[":Loop"] = convert_loop;
  table[":Scan"] = convert_scan;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
