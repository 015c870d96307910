// SPDX-License-Identifier: Apache-2.0
// Bodies of control flow: their inputs and outputs, types and shapes.
#include <tenon/graph/subgraph.hpp>

#include <algorithm>
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {
namespace op {

namespace {
/// A body may contain control flow again; one built by code may even contain itself.
class Depth {
 public:
  /// @param what  The node or model being entered.
  explicit Depth(const void* what) {
    auto& within = path();
    if (std::find(within.begin(), within.end(), what) != within.end()) fail("its bodies contain each other");
    const std::uint64_t limit = model_limits().depth;
    if (within.size() >= limit)
      throw Error(Code::kResourceExhausted, "its bodies are nested deeper than " + std::to_string(limit) + " levels" +
                                                limit_text(limit_property::kDepth, limit));
    within.push_back(what);
  }
  ~Depth() { path().pop_back(); }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  static std::vector<const void*>& path() {
    static thread_local std::vector<const void*> all;
    return all;
  }
};

std::string count_text(std::size_t count, const char* what) { return std::to_string(count) + " " + what; }

/// The shape that covers both values: extents that differ become unknown.
PartialShape widened(const PartialShape& a, const PartialShape& b) {
  if (a.rank().is_dynamic() || b.rank().is_dynamic() || a.size() != b.size()) return PartialShape::dynamic();
  PartialShape shape = a;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!(shape[i] == b[i])) shape[i] = Dimension::dynamic();
  }
  return shape;
}

element::Type joined(element::Type a, element::Type b) {
  if (a.is_dynamic()) return b;
  if (!b.is_dynamic() && !(a == b)) fail("a value is " + a.to_string() + " here and " + b.to_string() + " there");
  return a;
}
}  // namespace

namespace util {

MultiSubGraphOp::InputDescription::~InputDescription() = default;
MultiSubGraphOp::OutputDescription::~OutputDescription() = default;

AxisParts axis_parts(std::int64_t start, std::int64_t stride, std::int64_t part_size, std::int64_t end,
                     std::int64_t extent) {
  if (stride == 0) fail("the stride of a sliced axis is 0");
  if (part_size < 1) fail("the parts of a sliced axis have " + std::to_string(part_size) + " elements");
  if (extent == 0) return {0, part_size, 0};
  const auto position = [&](std::int64_t at) {
    const std::int64_t found = at < 0 ? at + extent : at;
    if (found < 0 || found >= extent) {
      fail("position " + std::to_string(at) + " lies outside a sliced axis of " + std::to_string(extent) + " elements");
    }
    return found;
  };
  const std::int64_t first = position(start), last = position(end);
  const std::int64_t span = stride > 0 ? last - first + 1 : first - last + 1;
  if (stride < -extent || stride > extent) return {stride > 0 ? first : first - part_size + 1, 0, span >= part_size};
  AxisParts parts;
  parts.step = stride;
  parts.first = stride > 0 ? first : first - part_size + 1;
  parts.count = span < part_size ? 0 : (span - part_size) / std::abs(stride) + 1;
  return parts;
}

MultiSubGraphOp::MultiSubGraphOp(const Operation& operation, const OutputVector& inputs, std::size_t bodies)
    : Node(operation, inputs, {}, Deferred{}),
      m_bodies(bodies),
      m_input_descriptions(bodies),
      m_output_descriptions(bodies) {}

namespace {
template <typename T>
auto& at(T& all, std::size_t index, const Node& node) {
  if (index < all.size()) return all[index];
  throw Error(Code::kOutOfRange, node.describe() + " has " + count_text(all.size(), "bodies") + ", asked for number " +
                                     std::to_string(index));
}

template <typename Descriptions>
void refuse_nulls(const Descriptions& all, const Node& node) {
  if (std::find(all.begin(), all.end(), nullptr) != all.end())
    throw Error(Code::kInvalidArgument, node.describe() + ": a description is null");
}
}  // namespace

const std::shared_ptr<Model>& MultiSubGraphOp::get_function(std::size_t index) const {
  return at(m_bodies, index, *this);
}
void MultiSubGraphOp::set_function(int index, const std::shared_ptr<Model>& body) {
  if (!body) throw Error(Code::kInvalidArgument, describe() + ": a body is null");
  at(m_bodies, static_cast<std::size_t>(index), *this) = body;
}
const MultiSubGraphOp::MultiSubgraphInputDescriptionVector& MultiSubGraphOp::get_input_descriptions(int index) const {
  return at(m_input_descriptions, static_cast<std::size_t>(index), *this);
}
MultiSubGraphOp::MultiSubgraphInputDescriptionVector& MultiSubGraphOp::get_input_descriptions(int index) {
  return at(m_input_descriptions, static_cast<std::size_t>(index), *this);
}
const MultiSubGraphOp::MultiSubgraphOutputDescriptionVector& MultiSubGraphOp::get_output_descriptions(int index) const {
  return at(m_output_descriptions, static_cast<std::size_t>(index), *this);
}
MultiSubGraphOp::MultiSubgraphOutputDescriptionVector& MultiSubGraphOp::get_output_descriptions(int index) {
  return at(m_output_descriptions, static_cast<std::size_t>(index), *this);
}
void MultiSubGraphOp::set_input_descriptions(int index, const MultiSubgraphInputDescriptionVector& inputs) {
  refuse_nulls(inputs, *this);
  at(m_input_descriptions, static_cast<std::size_t>(index), *this) = inputs;
}
void MultiSubGraphOp::set_output_descriptions(int index, const MultiSubgraphOutputDescriptionVector& outputs) {
  refuse_nulls(outputs, *this);
  at(m_output_descriptions, static_cast<std::size_t>(index), *this) = outputs;
}

std::uint64_t MultiSubGraphOp::add_input(const Output<Node>& value) {
  append_argument(value);
  return get_input_size() - 1;
}

// One input per description, even for the same value: OpenVINO computes wrong results if two share one.
std::uint64_t MultiSubGraphOp::input_for(const Output<Node>& value) { return add_input(value); }

std::uint64_t MultiSubGraphOp::parameter_index(std::size_t body,
                                               const std::shared_ptr<op::v0::Parameter>& parameter) const {
  const auto& model = get_function(body);
  const std::int64_t index = model && parameter ? model->get_parameter_index(parameter) : -1;
  if (index < 0) {
    throw Error(Code::kInvalidArgument, describe() + ": " + (parameter ? parameter->describe() : "a null parameter") +
                                            " is not its body's parameter" + (model ? "" : ", which is not set yet"));
  }
  return static_cast<std::uint64_t>(index);
}
std::uint64_t MultiSubGraphOp::result_index(std::size_t body, const Output<Node>& value) const {
  const auto& model = get_function(body);
  const std::int64_t index = model && value ? model->get_result_index(value) : -1;
  if (index < 0) {
    throw Error(Code::kInvalidArgument, describe() + ": " + (value ? value.get_node()->describe() : "a null value") +
                                            " is not a result of its body" + (model ? "" : ", which is not set yet"));
  }
  return static_cast<std::uint64_t>(index);
}

Output<Node> MultiSubGraphOp::add_output(std::size_t body, OutputDescription::Ptr description) {
  const std::size_t index = description->m_output_index;
  m_output_descriptions[body].push_back(std::move(description));
  if (index >= get_output_size()) set_output_size(index + 1);
  infer_when_complete();
  return output(index);
}

void MultiSubGraphOp::set_invariant_inputs(const Output<Node>& value, const ParameterVector& bodies_parameters) {
  const std::uint64_t input = input_for(value);
  for (std::size_t body = 0; body < bodies_parameters.size(); ++body) {
    if (!bodies_parameters[body]) continue;
    const std::uint64_t parameter = parameter_index(body, bodies_parameters[body]);
    m_input_descriptions[body].push_back(std::make_shared<InvariantInputDescription>(input, parameter));
  }
}

Output<Node> MultiSubGraphOp::set_body_outputs(const ResultVector& bodies_results) {
  if (bodies_results.size() != m_bodies.size()) {
    throw Error(Code::kInvalidArgument, describe() + " has " + count_text(m_bodies.size(), "bodies") + ", but " +
                                            count_text(bodies_results.size(), "results were given"));
  }
  std::vector<std::uint64_t> values;
  for (std::size_t body = 0; body < m_bodies.size(); ++body) {
    if (!bodies_results[body]) throw Error(Code::kInvalidArgument, describe() + ": a result is null");
    values.push_back(result_index(body, bodies_results[body]->output(0)));
  }
  const std::size_t index = get_output_size();
  for (std::size_t body = 0; body + 1 < m_bodies.size(); ++body)
    m_output_descriptions[body].push_back(std::make_shared<BodyOutputDescription>(values[body], index));
  return add_output(m_bodies.size() - 1, std::make_shared<BodyOutputDescription>(values.back(), index));
}

void MultiSubGraphOp::infer_when_complete() {
  for (std::size_t body = 0; body < m_bodies.size(); ++body) {
    if (!m_bodies[body]) return;
    std::size_t fed = m_input_descriptions[body].size();
    if (const auto* loop = as_type<op::v5::Loop>(this)) {
      if (loop->get_special_body_ports().body_condition_output_idx < 0) return;
      fed += loop->get_special_body_ports().current_iteration_input_idx >= 0;
    }
    if (fed < m_bodies[body]->get_parameters().size()) return;
  }
  validate_and_infer_types();
}

std::shared_ptr<Node> MultiSubGraphOp::clone_with_new_inputs(const OutputVector& inputs) const {
  auto copy = empty_copy(inputs);
  for (std::size_t body = 0; body < m_bodies.size(); ++body) {
    if (!m_bodies[body]) fail("a body is missing");
    const Depth depth(this);
    copy->m_bodies[body] = m_bodies[body]->clone();
    for (const auto& description : m_input_descriptions[body])
      copy->m_input_descriptions[body].push_back(description->copy());
    for (const auto& description : m_output_descriptions[body])
      copy->m_output_descriptions[body].push_back(description->copy());
  }
  if (has_friendly_name()) copy->set_friendly_name(get_friendly_name());
  copy->get_rt_info() = get_rt_info();
  copy->set_output_size(get_output_size());
  copy->validate_and_infer_types();
  return copy;
}

void MultiSubGraphOp::infer_bodies() {
  const Depth depth(this);
  for (std::size_t body = 0; body < m_bodies.size(); ++body) {
    if (!m_bodies[body]) fail("body " + std::to_string(body) + " is missing");
    for (const auto& node : m_bodies[body]->get_ordered_ops()) {
      if (is_op(node, "ReadValue") || is_op(node, "Assign"))
        throw Error(Code::kUnimplemented, "its body has the state " + node->describe() +
                                              "; states are supported outside of bodies, merged inputs within");
    }
    for (const auto& description : m_output_descriptions[body]) {
      if (!description || description->m_body_value_index >= m_bodies[body]->get_results().size())
        fail("an output refers to a result that its body does not have");
    }
  }
  infer_outputs();
}

void MultiSubGraphOp::feed_parameters(std::size_t body, bool has_iterations) {
  const ParameterVector& parameters = m_bodies[body]->get_parameters();
  std::vector<bool> fed(parameters.size(), false);
  if (const auto* loop = as_type<op::v5::Loop>(this)) {
    const std::int64_t index = loop->get_special_body_ports().current_iteration_input_idx;
    if (index >= static_cast<std::int64_t>(parameters.size())) fail("the iteration number has no parameter");
    if (index >= 0) fed[static_cast<std::size_t>(index)] = true;
  }
  for (const auto& description : m_input_descriptions[body]) {
    if (!description || description->m_input_index >= get_input_size())
      fail("a parameter of its body is fed by an input that it does not have");
    const std::size_t index = description->m_body_parameter_index;
    if (index >= parameters.size()) fail("input " + std::to_string(description->m_input_index) + " feeds no parameter");
    if (fed[index]) fail(parameters[index]->describe() + " is fed twice");
    fed[index] = true;
    const std::size_t input = description->m_input_index;
    PartialShape shape = get_input_partial_shape(input);
    if (const auto* slice = dynamic_cast<const SliceInputDescription*>(description.get())) {
      if (!has_iterations) fail("only loops have sliced inputs");
      if (slice->m_part_size < 1) fail("the parts of a sliced axis have no elements");
      if (shape.rank().is_static()) shape[normalized_axis(slice->m_axis, shape.size())] = slice->m_part_size;
    } else if (const auto* merged = dynamic_cast<const MergedInputDescription*>(description.get())) {
      if (!has_iterations) fail("only loops have merged inputs");
      if (merged->m_body_value_index >= m_bodies[body]->get_results().size())
        fail(parameters[index]->describe() + " is fed back from a result that its body does not have");
    }
    op::v0::Parameter& parameter = *parameters[index];
    const element::Type type = get_input_element_type(input);
    if (!type.is_dynamic() && !parameter.get_element_type().is_dynamic() && !(type == parameter.get_element_type())) {
      fail("input " + std::to_string(input) + " is " + type.to_string() + ", but " + parameter.describe() +
           ", which it feeds, is " + parameter.get_element_type().to_string());
    }
    if (!type.is_dynamic() && parameter.get_element_type().is_dynamic()) parameter.set_element_type(type);
    if (!(parameter.get_partial_shape() == shape)) parameter.set_partial_shape(shape);
  }
  for (std::size_t i = 0; i < fed.size(); ++i) {
    if (!fed[i]) fail(parameters[i]->describe() + " of its body is fed by nothing");
  }
}

void SubGraphOp::set_sliced_input(const std::shared_ptr<op::v0::Parameter>& parameter, const Output<Node>& value,
                                  std::int64_t start, std::int64_t stride, std::int64_t part_size, std::int64_t end,
                                  std::int64_t axis) {
  const std::uint64_t index = parameter_index(0, parameter);
  m_input_descriptions[0].push_back(
      std::make_shared<SliceInputDescription>(input_for(value), index, start, stride, part_size, end, axis));
}
void SubGraphOp::set_merged_input(const std::shared_ptr<op::v0::Parameter>& parameter,
                                  const Output<Node>& initial_value, const Output<Node>& successive_value) {
  const std::uint64_t index = parameter_index(0, parameter), value = result_index(0, successive_value);
  m_input_descriptions[0].push_back(std::make_shared<MergedInputDescription>(input_for(initial_value), index, value));
}
void SubGraphOp::set_invariant_input(const std::shared_ptr<op::v0::Parameter>& parameter, const Output<Node>& value) {
  const std::uint64_t index = parameter_index(0, parameter);
  m_input_descriptions[0].push_back(std::make_shared<InvariantInputDescription>(input_for(value), index));
}
Output<Node> SubGraphOp::get_iter_value(const Output<Node>& body_value, std::int64_t iteration) {
  return add_output(0,
                    std::make_shared<BodyOutputDescription>(result_index(0, body_value), get_output_size(), iteration));
}
Output<Node> SubGraphOp::get_concatenated_slices(const Output<Node>& value, std::int64_t start, std::int64_t stride,
                                                 std::int64_t part_size, std::int64_t end, std::int64_t axis) {
  return add_output(0, std::make_shared<ConcatOutputDescription>(result_index(0, value), get_output_size(), start,
                                                                 stride, part_size, end, axis));
}

std::int64_t SubGraphOp::sliced_iterations() const {
  std::int64_t found = -1;
  for (const auto& description : m_input_descriptions[0]) {
    const auto* slice = dynamic_cast<const SliceInputDescription*>(description.get());
    if (!slice || slice->m_input_index >= get_input_size()) continue;
    const PartialShape& shape = get_input_partial_shape(slice->m_input_index);
    if (shape.rank().is_dynamic()) continue;
    const Dimension& extent = shape[normalized_axis(slice->m_axis, shape.size())];
    if (extent.is_dynamic()) continue;
    const std::int64_t count =
        axis_parts(slice->m_start, slice->m_stride, slice->m_part_size, slice->m_end, extent.get_length()).count;
    if (found >= 0 && found != count) {
      fail("one sliced input has " + std::to_string(found) + " parts, another " + std::to_string(count));
    }
    found = count;
  }
  return found;
}

bool SubGraphOp::widen_merged_parameters(bool whole_shapes) {
  bool changed = false;
  for (const auto& description : m_input_descriptions[0]) {
    const auto* merged = dynamic_cast<const MergedInputDescription*>(description.get());
    if (!merged) continue;
    op::v0::Parameter& parameter = *m_bodies[0]->get_parameters()[merged->m_body_parameter_index];
    const op::v0::Result& result = *m_bodies[0]->get_results()[merged->m_body_value_index];
    joined(parameter.get_element_type(), result.get_output_element_type(0));
    const PartialShape &before = parameter.get_partial_shape(), &after = result.get_output_partial_shape(0);
    if (before.relaxes(after)) continue;
    const bool keeps_rank = before.rank().is_static() && before.rank() == after.rank();
    parameter.set_partial_shape(whole_shapes ? PartialShape::dynamic(keeps_rank ? before.rank() : Rank::dynamic())
                                             : widened(before, after));
    changed = true;
  }
  return changed;
}

void SubGraphOp::infer_outputs() {
  feed_parameters(0, true);
  m_num_iterations = find_iterations();
  Model& body = *m_bodies[0];
  body.validate_nodes_and_infer_types();
  // Extents that change become unknown first, then whole shapes: nested loops must not multiply many rounds.
  for (int round = 0; m_num_iterations != 1 && m_num_iterations != 0 && widen_merged_parameters(round > 0); ++round)
    body.validate_nodes_and_infer_types();
  std::size_t count = 0;
  for (const auto& description : m_output_descriptions[0]) {
    const op::v0::Result& result = *body.get_results()[description->m_body_value_index];
    PartialShape shape = result.get_output_partial_shape(0);
    if (const auto* joint = dynamic_cast<const ConcatOutputDescription*>(description.get())) {
      if (joint->m_part_size < 1 || joint->m_stride == 0) fail("a joined output has parts of no extent");
      if (shape.rank().is_static()) {
        Dimension& extent = shape[normalized_axis(joint->m_axis, shape.size())];
        extent =
            m_num_iterations < 0 ? Dimension::dynamic() : Dimension(m_num_iterations) * Dimension(joint->m_part_size);
      }
    } else if (m_num_iterations <= 0) {
      // If there is no iteration at all, the incoming value remains.
      for (const auto& input : m_input_descriptions[0]) {
        const auto* merged = dynamic_cast<const MergedInputDescription*>(input.get());
        if (!merged || merged->m_body_value_index != description->m_body_value_index) continue;
        const PartialShape& initial = get_input_partial_shape(merged->m_input_index);
        shape = m_num_iterations == 0 ? initial : widened(shape, initial);
      }
    }
    if (description->m_output_index >= m_output_descriptions[0].size()) fail("its outputs are not numbered in a row");
    set_output_type(description->m_output_index, result.get_output_element_type(0), shape);
    ++count;
  }
  set_output_size(count);
}

}  // namespace util

namespace v0 {
TensorIterator::TensorIterator() : TensorIterator(OutputVector{}) {}
TensorIterator::TensorIterator(const OutputVector& inputs) : SubGraphOp(row("TensorIterator", 1), inputs) {}
const DiscreteTypeInfo& TensorIterator::get_type_info_static() { return row("TensorIterator", 1).type_info; }
std::shared_ptr<util::MultiSubGraphOp> TensorIterator::empty_copy(const OutputVector& inputs) const {
  return std::make_shared<TensorIterator>(inputs);
}
std::int64_t TensorIterator::find_iterations() const {
  bool is_sliced = false;
  for (const auto& description : m_input_descriptions[0])
    is_sliced |= dynamic_cast<const SliceInputDescription*>(description.get()) != nullptr;
  if (is_sliced) return sliced_iterations();
  // Without sliced inputs, the joined outputs determine how many parts there are.
  for (const auto& description : m_output_descriptions[0]) {
    const auto* joint = dynamic_cast<const ConcatOutputDescription*>(description.get());
    if (!joint || joint->m_part_size < 1 || joint->m_start < 0 || joint->m_end < 0) continue;
    const auto elements = static_cast<std::uint64_t>(std::abs(joint->m_end - joint->m_start)) + 1;
    constexpr std::int64_t kMost = std::int64_t{1} << 48;  // A larger count cannot fit into memory.
    return std::min<std::int64_t>(kMost,
                                  static_cast<std::int64_t>(elements / static_cast<std::uint64_t>(joint->m_part_size)));
  }
  return 1;
}
}  // namespace v0

namespace v5 {
Loop::Loop() : SubGraphOp(row("Loop", 5), {}) {}
Loop::Loop(const Output<Node>& trip_count, const Output<Node>& execution_condition)
    : SubGraphOp(row("Loop", 5), {trip_count, execution_condition}) {}
const DiscreteTypeInfo& Loop::get_type_info_static() { return row("Loop", 5).type_info; }
void Loop::set_special_body_ports(const SpecialBodyPorts& ports) { special_ = ports; }
std::shared_ptr<util::MultiSubGraphOp> Loop::empty_copy(const OutputVector& inputs) const {
  auto copy = std::make_shared<Loop>();
  for (const Output<Node>& input : inputs) copy->append_argument(input);
  copy->special_ = special_;
  return copy;
}
std::int64_t Loop::find_iterations() const {
  const auto trips = known_ints(*this, 0), condition = known_ints(*this, 1);
  if (condition && condition->size() == 1 && (*condition)[0] == 0) return 0;
  if (!trips || trips->size() != 1) return -1;
  if ((*trips)[0] == 0) return 0;
  if (!condition || (*trips)[0] < 0) return -1;
  const auto index = static_cast<std::size_t>(special_.body_condition_output_idx);
  const auto goes_on = known_ints(*m_bodies[0]->get_results()[index], 0);
  return goes_on && goes_on->size() == 1 && (*goes_on)[0] != 0 ? (*trips)[0] : -1;
}
void Loop::infer_outputs() {
  if (get_input_size() < 2) fail("a loop needs a trip count and a condition");
  const Model& body = *m_bodies[0];
  if (special_.body_condition_output_idx < 0 ||
      special_.body_condition_output_idx >= static_cast<std::int64_t>(body.get_results().size()))
    fail("the result that is the body's condition is not set, or does not exist");
  for (std::size_t i = 0; i < 2; ++i) {
    const PartialShape& shape = get_input_partial_shape(i);
    if (shape.is_static() && element_count(shape.to_shape()) != 1)
      fail((i ? "the condition has shape " : "the trip count has shape ") + shape.to_string() +
           ", expected one element");
  }
  if (!get_input_element_type(0).is_dynamic()) require_integral(*this, 0);
  if (special_.current_iteration_input_idx >= 0 &&
      special_.current_iteration_input_idx < static_cast<std::int64_t>(body.get_parameters().size())) {
    op::v0::Parameter& number = *body.get_parameters()[static_cast<std::size_t>(special_.current_iteration_input_idx)];
    if (number.get_partial_shape().is_dynamic()) number.set_partial_shape(PartialShape(Shape{}));
    if (number.get_element_type().is_dynamic()) number.set_element_type(element::i64);
  }
  SubGraphOp::infer_outputs();
}
}  // namespace v5

namespace v8 {
If::If() : MultiSubGraphOp(row("If", 8), {}, 2) {}
If::If(const Output<Node>& execution_condition) : MultiSubGraphOp(row("If", 8), {execution_condition}, 2) {}
const DiscreteTypeInfo& If::get_type_info_static() { return row("If", 8).type_info; }
void If::set_input(const Output<Node>& value, const std::shared_ptr<v0::Parameter>& then_parameter,
                   const std::shared_ptr<v0::Parameter>& else_parameter) {
  set_invariant_inputs(value, {then_parameter, else_parameter});
}
Output<Node> If::set_output(const std::shared_ptr<v0::Result>& then_result,
                            const std::shared_ptr<v0::Result>& else_result) {
  return set_body_outputs({then_result, else_result});
}
std::shared_ptr<util::MultiSubGraphOp> If::empty_copy(const OutputVector& inputs) const {
  auto copy = std::make_shared<If>();
  for (const Output<Node>& input : inputs) copy->append_argument(input);
  return copy;
}
void If::infer_outputs() {
  if (get_input_size() < 1) fail("a condition is missing");
  const PartialShape& condition = get_input_partial_shape(0);
  if (condition.is_static() && element_count(condition.to_shape()) != 1)
    fail("the condition has shape " + condition.to_string() + ", expected one element");
  const std::size_t count = m_output_descriptions[0].size();
  if (m_output_descriptions[1].size() != count) fail("its branches give different numbers of outputs");
  const auto known = known_ints(*this, 0);
  // The number of the branch that is taken, if that is known.
  std::optional<std::size_t> taken;
  if (known && known->size() == 1) taken = (*known)[0] != 0 ? 0 : 1;
  std::vector<std::vector<const op::v0::Result*>> results(2, std::vector<const op::v0::Result*>(count));
  bool fits[2] = {true, true};
  for (std::size_t body = 0; body < 2; ++body) {
    feed_parameters(body, false);
    try {
      m_bodies[body]->validate_nodes_and_infer_types();
    } catch (const Error&) {
      // Conditions ask for shapes: one branch is made for an extent of 1, and the other for all that are not. A branch that does not fit
      // stays as it is for any shape, and fails when it is taken.
      if (taken == body || !fits[0]) throw;
      fits[body] = false;
      for (const auto& parameter : m_bodies[body]->get_parameters())
        parameter->set_partial_shape(PartialShape::dynamic());
      m_bodies[body]->validate_nodes_and_infer_types();
    }
    for (const auto& description : m_output_descriptions[body]) {
      if (description->m_output_index >= count || results[body][description->m_output_index])
        fail("its outputs are not numbered in a row");
      results[body][description->m_output_index] = m_bodies[body]->get_results()[description->m_body_value_index].get();
    }
  }
  set_output_size(count);
  for (std::size_t i = 0; i < count; ++i) {
    const op::v0::Result &a = *results[0][i], &b = *results[1][i];
    const PartialShape shape = taken == 0 || !fits[1] ? a.get_output_partial_shape(0)
                               : taken == 1 || !fits[0]
                                   ? b.get_output_partial_shape(0)
                                   : widened(a.get_output_partial_shape(0), b.get_output_partial_shape(0));
    set_output_type(i, joined(a.get_output_element_type(0), b.get_output_element_type(0)), shape);
  }
}
}  // namespace v8

}  // namespace op

void for_each_node(const Model& model, const std::function<void(const std::shared_ptr<Node>&)>& visit) {
  const op::Depth depth(&model);
  for (const auto& node : model.get_ordered_ops()) {
    visit(node);
    const auto* outer = as_type<op::util::MultiSubGraphOp>(node.get());
    if (!outer) continue;
    for (const auto& body : outer->get_functions()) {
      if (body) for_each_node(*body, visit);
    }
  }
}

}  // namespace v1
}  // namespace tenon
