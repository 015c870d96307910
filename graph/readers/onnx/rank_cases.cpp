// SPDX-License-Identifier: Apache-2.0
// An operation that is written out for a known rank, for a value whose rank is known only when the model runs: exporters squeeze an axis
// in one branch of an If and keep it in the other.
#include <tenon/graph/readers/onnx/internal/rank_cases.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/readers/onnx/internal/sequence.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

using Ranks = std::set<std::int64_t>;

/// Where nothing tells; few models have more axes.
const Ranks kAnyRank{0, 1, 2, 3, 4, 5, 6};

bool lacks_rank(const Out& value) { return value && value.get_partial_shape().rank().is_dynamic(); }

/// Finds the ranks that values can have.
class RankFinder {
 public:
  const Ranks& of(const Out& value) {
    const std::pair<const Node*, std::size_t> key{value.get_node(), value.get_index()};
    if (const auto known = found_.find(key); known != found_.end()) return known->second;
    if (depth_ == kDeepest) return kAnyRank;
    ++depth_;
    Ranks ranks = find(value);
    --depth_;
    return found_[key] = std::move(ranks);
  }

 private:
  static constexpr int kDeepest = 32;

  Ranks find(const Out& value) {
    const Rank rank = value.get_partial_shape().rank();
    if (rank.is_static()) return {rank.get_length()};
    const Node& node = *value.get_node();
    if (const auto* branches = as_type<op::v8::If>(&node)) return of_branches(*branches, value.get_index());
    return node.get_input_size() == 0 || as_type<op::util::MultiSubGraphOp>(&node)
               ? kAnyRank
               : of_node(node, value.get_index(), 0);
  }

  Ranks of_branches(const op::v8::If& branches, std::size_t index) {
    Ranks ranks;
    for (int body = 0; body < 2; ++body) {
      for (const auto& output : branches.get_output_descriptions(body)) {
        if (output->m_output_index != index) continue;
        const auto& results = branches.get_function(static_cast<std::size_t>(body))->get_results();
        ranks.merge(Ranks(of(results.at(output->m_body_value_index)->input_value(0))));
      }
    }
    return ranks;
  }

  /// By the node's shape function, for each rank of the inputs that have none.
  Ranks of_node(const Node& node, std::size_t index, int given) {
    constexpr int kMostInputs = 2;  // Their ranks are combined.
    OutputVector inputs = node.input_values();
    const auto open = std::find_if(inputs.begin(), inputs.end(), lacks_rank);
    const Rank rank = node.get_output_partial_shape(index).rank();
    if (rank.is_static()) return {rank.get_length()};
    if (open == inputs.end() || given == kMostInputs) return kAnyRank;
    const Out value = *open;
    Ranks ranks;
    for (const std::int64_t each : Ranks(of(value))) {
      const auto stand_in = std::make_shared<op::v0::Parameter>(value.get_element_type(), PartialShape::dynamic(each));
      std::replace(inputs.begin(), inputs.end(), value, stand_in->output(0));
      try {
        ranks.merge(of_node(*node.clone_with_new_inputs(inputs), index, given + 1));
      } catch (const Error&) {  // A rank that the operation refuses.
      }
      std::replace(inputs.begin(), inputs.end(), stand_in->output(0), value);
    }
    return ranks;
  }

  std::map<std::pair<const Node*, std::size_t>, Ranks> found_;
  int depth_ = 0;
};

/// A 0 keeps an extent, so this refuses any other rank when the model runs.
Out with_rank(const Out& x, std::int64_t rank) { return reshape_like(x, Ints(static_cast<std::size_t>(rank), 0)); }

/// The node as it is for one rank.
struct Case {
  std::int64_t rank;
  std::shared_ptr<Model> model;
  std::vector<std::shared_ptr<op::v0::Parameter>> parameters;  ///< In the places of the inputs; null for constants.
};

std::optional<Case> case_of(std::int64_t rank, const OutputVector& inputs, std::size_t index,
                            const std::function<OutputVector(const OutputVector&)>& convert) {
  Case made{rank, nullptr, {}};
  Body body;
  OutputVector inside;
  for (const Out& input : inputs) {
    const std::size_t before = body.captured_parameters.size();
    inside.push_back(input ? captured(input, input.get_node()->get_friendly_name(), body) : Out());
    made.parameters.push_back(body.captured_parameters.size() > before ? body.captured_parameters.back() : nullptr);
  }
  inside[index] = with_rank(inside[index], rank);
  try {
    const OutputVector outputs = convert(inside);
    const auto is_tensor = [](const Out& output) { return output && !as_sequence(output); };
    if (!std::all_of(outputs.begin(), outputs.end(), is_tensor)) return std::nullopt;
    made.model = std::make_shared<Model>(outputs, body.captured_parameters);
  } catch (const Error&) {
    return std::nullopt;
  }
  return made;
}

/// An If that runs the first case where the rank is that one, and otherwise the others.
OutputVector chosen(const std::vector<Case>& cases, std::size_t first, const OutputVector& inputs, std::size_t index) {
  const Out is_first = op("Equal", 1, {rank_of(inputs[index]), int_scalar(cases[first].rank)});
  auto made = std::make_shared<op::v8::If>(is_first);
  Case others = cases[first + 1];
  if (first + 2 < cases.size()) {
    ParameterVector parameters;
    OutputVector inside = inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!others.parameters[i]) continue;
      others.parameters[i] =
          std::make_shared<op::v0::Parameter>(inputs[i].get_element_type(), inputs[i].get_partial_shape());
      parameters.push_back(others.parameters[i]);
      inside[i] = others.parameters[i]->output(0);
    }
    const OutputVector outputs = chosen(cases, first + 1, inside, index);
    others.model = std::make_shared<Model>(outputs, parameters);
  }
  made->set_then_body(cases[first].model);
  made->set_else_body(others.model);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (cases[first].parameters[i]) made->set_input(inputs[i], cases[first].parameters[i], others.parameters[i]);
  const ResultVector &yes = made->get_then_body()->get_results(), &no = made->get_else_body()->get_results();
  OutputVector outputs;
  for (std::size_t i = 0; i < yes.size(); ++i) outputs.push_back(made->set_output(yes[i], no[i]));
  return outputs;
}

}  // namespace

Out captured(const Out& outer, const std::string& name, Body& body) {
  if (const Sequence* sequence = as_sequence(outer)) {
    OutputVector parts;
    for (const Out& part : sequence->input_values()) parts.push_back(captured(part, name, body));
    return sequence_of(sequence->form(), std::move(parts), sequence->state());
  }
  if (const auto& known = outer.get_tensor().value()) {
    auto constant = std::make_shared<op::v0::Constant>(*known);
    constant->set_friendly_name(name);
    return constant->output(0);
  }
  auto parameter = std::make_shared<op::v0::Parameter>(outer.get_element_type(), outer.get_partial_shape());
  parameter->set_friendly_name(name);
  body.captured.push_back(outer);
  body.captured_parameters.push_back(parameter);
  return parameter->output(0);
}

std::optional<OutputVector> converted_by_rank(const OutputVector& inputs,
                                              const std::function<OutputVector(const OutputVector&)>& convert) {
  const auto open = std::find_if(inputs.begin(), inputs.end(), lacks_rank);
  if (open == inputs.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(open - inputs.begin());
  std::vector<Case> cases;
  RankFinder finder;
  for (const std::int64_t rank : finder.of(*open)) {
    auto made = case_of(rank, inputs, index, convert);
    const bool fits =
        made && (cases.empty() || cases[0].model->get_results().size() == made->model->get_results().size());
    if (fits) cases.push_back(*std::move(made));
  }
  if (cases.empty()) return std::nullopt;
  if (cases.size() > 1) return chosen(cases, 0, inputs, index);
  OutputVector ranked = inputs;
  ranked[index] = with_rank(inputs[index], cases[0].rank);
  return convert(ranked);
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
