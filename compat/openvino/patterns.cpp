// SPDX-License-Identifier: Apache-2.0
// Patterns, and what matches them.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include <openvino/op/util/make.hpp>
#include <openvino/op/util/op_types.hpp>
#include <openvino/pass/pattern/matcher.hpp>
#include <openvino/pass/pattern/multi_matcher.hpp>
#include <openvino/pass/pattern/op/op.hpp>
#include <openvino/pass/pattern/op/optional.hpp>
#include <openvino/pass/pattern/op/or.hpp>
#include <openvino/pass/pattern/op/true.hpp>
#include <openvino/pass/pattern/op/wrap_type.hpp>
#include <tenon/graph/operation_table.hpp>

#include "graph.hpp"

namespace ov {

bool Node::match_value(pass::pattern::Matcher* matcher, const Output<Node>& pattern_value,
                       const Output<Node>& graph_value) {
  if (pattern_value.get_index() != graph_value.get_index()) return false;
  if (matcher->is_strict_mode() && !(pattern_value.get_element_type().compatible(graph_value.get_element_type()) &&
                                     pattern_value.get_partial_shape().compatible(graph_value.get_partial_shape())))
    return false;
  return match_node(matcher, graph_value);
}
bool Node::match_node(pass::pattern::Matcher* matcher, const Output<Node>& graph_value) {
  matcher->add_node(graph_value);
  const auto node = graph_value.get_node_shared_ptr();
  if (!node->get_type_info().is_castable(get_type_info()) || !matcher->match_arguments(this, node)) return false;
  matcher->get_pattern_value_map()[shared_from_this()] = graph_value;
  return true;
}

namespace pass {
namespace pattern {

// ---------------------------------------------------------------- conditions
PatternMap as_pattern_map(const PatternValueMap& values) {
  PatternMap nodes;
  for (const auto& [pattern, value] : values) nodes[pattern] = value.get_node_shared_ptr();
  return nodes;
}
PatternValueMap as_pattern_value_map(const PatternMap& nodes) {
  PatternValueMap values;
  for (const auto& [pattern, node] : nodes) values[pattern] = node->output(0);
  return values;
}
namespace {
template <typename F>
op::Predicate over_output(F&& holds, const char* name) {
  return op::Predicate(op::ValuePredicate(std::forward<F>(holds)), name);
}
std::size_t consumers(const Output<Node>& output) { return output.get_target_inputs().size(); }
Rank rank_of(const Output<Node>& output) { return output.get_partial_shape().rank(); }
/// Whether an attribute has a value that a program gave as whatever it had at hand: 1 for an int64, a text for an enumerator.
bool is_equal(const detail::AttributeValue::Value& found, const ov::Any& expected) {
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_arithmetic_v<T>) {
          if (expected.is<bool>()) return value == static_cast<T>(expected.as<bool>());
          if (expected.is<int>()) return value == static_cast<T>(expected.as<int>());
          if (expected.is<std::int64_t>()) return value == static_cast<T>(expected.as<std::int64_t>());
          if (expected.is<std::size_t>()) return value == static_cast<T>(expected.as<std::size_t>());
          if (expected.is<float>()) return value == static_cast<T>(expected.as<float>());
          if (expected.is<double>()) return value == static_cast<T>(expected.as<double>());
          return detail::joined(value) == expected.as<std::string>();
        } else if constexpr (std::is_same_v<T, std::string>) {
          return detail::same_ignoring_case(value, expected.as<std::string>());
        } else if constexpr (std::is_same_v<T, element::Type>) {
          return value.to_string() == expected.as<std::string>();
        } else {
          if (expected.is<T>()) return value == expected.as<T>();
          return ov::Any(value).template as<std::string>() == expected.as<std::string>();
        }
      },
      found);
}
}  // namespace
op::Predicate consumers_count(std::size_t n) {
  return over_output([=](const Output<Node>& output) { return consumers(output) == n; }, "consumers_count");
}
op::Predicate consumers_more_than(std::size_t n) {
  return over_output([=](const Output<Node>& output) { return consumers(output) > n; }, "consumers_more_than");
}
op::Predicate has_static_dims(const std::vector<std::size_t>& dims) {
  return over_output(
      [=](const Output<Node>& output) {
        const PartialShape& shape = output.get_partial_shape();
        return shape.rank().is_static() && std::all_of(dims.begin(), dims.end(), [&](std::size_t axis) {
                 return axis < shape.size() && shape[static_cast<std::ptrdiff_t>(axis)].is_static();
               });
      },
      "has_static_dims");
}
op::Predicate has_static_dim(std::size_t pos) { return has_static_dims({pos}); }
op::Predicate has_static_shape() {
  return over_output([](const Output<Node>& output) { return output.get_partial_shape().is_static(); },
                     "has_static_shape");
}
op::Predicate has_static_rank() {
  return over_output([](const Output<Node>& output) { return rank_of(output).is_static(); }, "has_static_rank");
}
op::Predicate rank_equals(const Dimension& expected_rank) {
  return over_output([=](const Output<Node>& output) { return rank_of(output) == expected_rank; }, "rank_equals");
}
op::Predicate rank_more_than(const Dimension& expected_rank) {
  return over_output(
      [=](const Output<Node>& output) {
        return rank_of(output).is_static() && rank_of(output).get_length() > expected_rank.get_length();
      },
      "rank_more_than");
}
op::Predicate type_matches_any(const std::vector<element::Type>& types) {
  return over_output(
      [=](const Output<Node>& output) {
        return std::find(types.begin(), types.end(), output.get_element_type()) != types.end();
      },
      "type_matches_any");
}
op::Predicate type_matches(const element::Type& type) { return type_matches_any({type}); }
op::Predicate all_of(const std::vector<std::function<bool(Output<Node>)>>& predicates) {
  return over_output(
      [=](const Output<Node>& output) {
        return std::all_of(predicates.begin(), predicates.end(), [&](const auto& each) { return each(output); });
      },
      "all_of");
}
op::Predicate attrs_match(const Attributes& expected_attrs) {
  return over_output(
      [=](const Output<Node>& output) {
        const Node& node = *output.get_node();
        return std::all_of(expected_attrs.begin(), expected_attrs.end(), [&](const auto& each) {
          return node.impl().node->get_attributes().has(each.first) &&
                 is_equal(detail::attribute_of(node, each.first.c_str()), each.second);
        });
      },
      "attrs_match");
}
op::Predicate output_index_matches(const std::vector<std::size_t>& expected_indices) {
  return over_output(
      [=](const Output<Node>& output) {
        return std::find(expected_indices.begin(), expected_indices.end(), output.get_index()) !=
               expected_indices.end();
      },
      "output_index_matches");
}
op::Predicate output_index_matches(std::size_t expected_index) {
  return output_index_matches(std::vector<std::size_t>{expected_index});
}

// ---------------------------------------------------------------- names in patterns
namespace {
template <typename T, typename Variant>
const T& held(const Variant& value, const char* what) {
  const T* found = std::get_if<T>(&value);
  OPENVINO_ASSERT(found, "what a name of a pattern stands for is no ", what);
  return *found;
}
}  // namespace
std::int64_t PatternSymbolValue::i() const { return held<std::int64_t>(value_, "integer"); }
double PatternSymbolValue::d() const { return held<double>(value_, "number with a fraction"); }
const std::vector<PatternSymbolValue>& PatternSymbolValue::g() const {
  return held<std::vector<PatternSymbolValue>>(value_, "group");
}
bool PatternSymbolValue::operator==(const PatternSymbolValue& other) const {
  if (is_group() || other.is_group()) return is_group() && other.is_group() && g() == other.g();
  if (is_integer() && other.is_integer()) return i() == other.i();
  const auto number = [](const PatternSymbolValue& value) {
    return value.is_integer()  ? static_cast<double>(value.i())
           : value.is_double() ? value.d()
                               : std::numeric_limits<double>::quiet_NaN();
  };
  // A text says less of a number than a float has.
  return std::fabs(number(*this) - number(other)) <= std::numeric_limits<float>::epsilon();
}

bool op::Predicate::operator()(Matcher* matcher, const Output<Node>& output) const {
  return matcher ? holds(matcher->get_symbols(), output) : (*this)(output);
}
bool op::Predicate::operator()(const std::shared_ptr<Node>& node) const { return (*this)(node->output(0)); }
bool op::Predicate::operator()(const Output<Node>& output) const {
  OPENVINO_ASSERT(
      !needs_names_, "Predicate ", name_,
      " called with unexpected argument: it needs what the pattern's names stand for, which a Matcher knows");
  PatternSymbolMap none;
  return holds(none, output);
}

namespace {
/// A text that stands for extents or values. An unknown one is matched by ? and ... alone.
struct Notation {
  using Values = std::vector<std::optional<PatternSymbolValue>>;
  explicit Notation(const std::string& text) : of_any_rank(text == "?" || text == "...") {
    std::string inside = text;
    if (!inside.empty() && inside.front() == '[') inside.erase(0, 1);
    if (!inside.empty() && inside.back() == ']') inside.pop_back();
    std::istringstream in(inside);
    for (std::string part; std::getline(in, part, ',');) {
      part.erase(0, part.find_first_not_of(" \t"));
      part.erase(part.find_last_not_of(" \t") + 1);
      if (part.size() >= 3 && part.compare(part.size() - 3, 3, "...") == 0) {
        OPENVINO_ASSERT(several == kNone, "Only one ellipsis is allowed for symbolic predicate notation, and \"", text,
                        "\" has two");
        several = parts.size();
        part.resize(part.size() - 3);
      }
      parts.push_back(part);
    }
  }
  bool matches(const Values& values, PatternSymbolMap& names) const {
    const bool has_several = several != kNone;
    const std::size_t single = parts.size() - (has_several ? 1 : 0);
    if (of_any_rank || (has_several ? values.size() < single : values.size() != single)) return false;
    PatternSymbolMap known = names;
    auto value = values.begin();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i != several) {
        if (!matches_one(parts[i], *value++, known)) return false;
        continue;
      }
      std::vector<PatternSymbolValue> group;
      for (std::size_t left = values.size() - single; left > 0; --left, ++value) {
        if (!parts[i].empty() && !*value) return false;
        if (!parts[i].empty()) group.push_back(**value);
      }
      if (!parts[i].empty() && !stands_for(parts[i], group, known)) return false;
    }
    names = std::move(known);
    return true;
  }
  const bool of_any_rank;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static bool stands_for(const std::string& name, const PatternSymbolValue& value, PatternSymbolMap& known) {
    const auto [found, is_new] = known.try_emplace(name, value);
    return is_new || found->second == value;
  }
  static bool matches_one(const std::string& part, const std::optional<PatternSymbolValue>& value,
                          PatternSymbolMap& known) {
    if (part == "?") return true;
    if (!value) return false;
    double number = 0;
    const char* const end = part.data() + part.size();
    if (const auto [at, error] = std::from_chars(part.data(), end, number); error == std::errc() && at == end)
      return PatternSymbolValue(number) == *value;
    return stands_for(part, *value, known);
  }
  std::vector<std::string> parts;
  std::size_t several = kNone;
};
}  // namespace
op::Predicate shape_matches(const std::string& shape_notation) {
  return op::Predicate(
      [notation = Notation(shape_notation)](PatternSymbolMap& names, const Output<Node>& output) {
        const PartialShape& shape = output.get_partial_shape();
        if (shape.rank().is_dynamic()) return notation.of_any_rank;
        Notation::Values values;
        for (const Dimension& extent : shape)
          values.push_back(extent.is_static() ? std::make_optional<PatternSymbolValue>(extent.get_length())
                                              : std::nullopt);
        return notation.matches(values, names);
      },
      "shape_matches('" + shape_notation + "')");
}
op::Predicate value_matches(const std::string& value_notation) {
  return op::Predicate(
      [notation = Notation(value_notation)](PatternSymbolMap& names, const Output<Node>& output) {
        const auto constant = as_type_ptr<ov::op::v0::Constant>(output.get_node_shared_ptr());
        if (!constant || constant->get_element_type() == element::string) return false;
        Notation::Values values;
        if (constant->get_element_type().is_real()) {
          for (const double value : constant->cast_vector<double>()) values.emplace_back(value);
        } else {
          for (const std::int64_t value : constant->cast_vector<std::int64_t>()) values.emplace_back(value);
        }
        return notation.matches(values, names);
      },
      "value_matches('" + value_notation + "')");
}

// ---------------------------------------------------------------- nodes of patterns
namespace op {
namespace {
/// The row of Tenon's table that a pattern's node has, which is in no table.
const tenon::Operation& pattern_row() {
  static const auto* row = [] {
    auto* made = new tenon::Operation;  // Patterns may go after everything static.
    made->type = "Pattern";
    made->version = "pattern";
    made->type_info = {made->type, made->version};
    made->max_inputs = tenon::kManyInputs;
    made->infer = [](tenon::Node& node) {
      node.set_output_size(1);
      node.set_output_type(0, tenon::element::dynamic, tenon::PartialShape::dynamic());
    };
    return made;
  }();
  return *row;
}
std::shared_ptr<Node::Impl> make_pattern(const OutputVector& inputs) {
  return detail::guarded(
      [&] { return detail::made(std::make_shared<tenon::Node>(pattern_row(), detail::to(inputs)), inputs); });
}
}  // namespace
Pattern::Pattern() : Pattern(OutputVector{}) {}
Pattern::Pattern(const OutputVector& patterns) : Node(make_pattern(patterns)) {}
Pattern::Pattern(const NodeVector& patterns) : Pattern(as_output_vector(patterns)) {}
Pattern::Pattern(const OutputVector& patterns, const Predicate& pred) : Pattern(patterns) { m_predicate = pred; }
Pattern::Pattern(const NodeVector& patterns, const Predicate& pred) : Pattern(patterns) { m_predicate = pred; }
std::shared_ptr<Node> Pattern::clone_with_new_inputs(const OutputVector&) const { OPENVINO_THROW("Uncopyable"); }
std::ostream& Pattern::write_type_description(std::ostream& out) const {
  return out << get_type_info().get_version() << "::" << get_type_name();
}
std::ostream& Pattern::write_description(std::ostream& out, std::uint32_t depth) const {
  write_type_description(out);
  return depth == 0 ? out : detail::write_ports(out, *this);
}

bool True::match_value(Matcher*, const Output<Node>&, const Output<Node>&) { return true; }
bool Or::match_value(Matcher* matcher, const Output<Node>&, const Output<Node>& graph_value) {
  for (const auto& each : input_values()) {
    MatcherState saved = matcher->start_match();
    if (!matcher->match_value(each, graph_value)) continue;
    matcher->get_pattern_value_map()[shared_from_this()] = graph_value;
    return saved.finish(true);
  }
  return false;
}
bool AnyOutput::match_value(Matcher* matcher, const Output<Node>&, const Output<Node>& graph_value) {
  return input_value(0).get_node()->match_node(matcher, graph_value);
}
bool Any::match_value(Matcher* matcher, const Output<Node>& pattern_value, const Output<Node>& graph_value) {
  matcher->add_node(graph_value);
  return m_predicate(matcher, graph_value) &&
         matcher->match_arguments(pattern_value.get_node(), graph_value.get_node_shared_ptr());
}
bool AnyOf::match_value(Matcher* matcher, const Output<Node>&, const Output<Node>& graph_value) {
  matcher->add_node(graph_value);
  if (!m_predicate(matcher, graph_value)) return false;
  for (const auto& each : graph_value.get_node()->input_values()) {
    MatcherState saved = matcher->start_match();
    if (matcher->match_value(input_value(0), each)) return saved.finish(true);
  }
  return false;
}
Output<Node> Label::wrap_values(const OutputVector& wrapped_values) {
  if (wrapped_values.empty()) return std::make_shared<True>()->output(0);
  if (wrapped_values.size() == 1) return wrapped_values.front();
  return std::make_shared<Or>(wrapped_values)->output(0);
}
Output<Node> Label::wrap_values(const NodeVector& wrapped_values) {
  return wrap_values(as_output_vector(wrapped_values));
}
bool Label::match_value(Matcher* matcher, const Output<Node>&, const Output<Node>& graph_value) {
  if (!m_predicate(matcher, graph_value)) return false;
  MatcherState saved = matcher->start_match();
  matcher->add_node(graph_value);
  auto& map = matcher->get_pattern_value_map();
  const auto found = map.find(shared_from_this());
  if (found != map.end()) return saved.finish(found->second == graph_value);
  map[shared_from_this()] = graph_value;
  return saved.finish(matcher->match_value(input_value(0), graph_value));
}
bool WrapType::match_value(Matcher* matcher, const Output<Node>& pattern_value, const Output<Node>& graph_value) {
  const DiscreteTypeInfo& type = graph_value.get_node()->get_type_info();
  if (std::none_of(m_wrapped_types.begin(), m_wrapped_types.end(),
                   [&](const DiscreteTypeInfo& each) { return type.is_castable(each); }) ||
      !m_predicate(matcher, graph_value))
    return false;
  matcher->get_pattern_value_map()[shared_from_this()] = graph_value;
  matcher->add_node(graph_value);
  return get_input_size() == 0 || matcher->match_arguments(pattern_value.get_node(), graph_value.get_node_shared_ptr());
}
std::ostream& WrapType::write_type_description(std::ostream& out) const {
  const bool several = m_wrapped_types.size() > 1;
  if (several) out << '<';
  const char* separator = "";
  for (const auto& type : m_wrapped_types) {
    out << separator << type.get_version() << "::" << type.name;
    separator = ", ";
  }
  return several ? out << '>' : out;
}
NodeTypeInfo WrapType::get_wrapped_type() const {
  OPENVINO_ASSERT(m_wrapped_types.size() == 1, "get_wrapped_type() called on WrapType with more than one type");
  return m_wrapped_types.front();
}
bool Optional::match_value(Matcher* matcher, const Output<Node>&, const Output<Node>& graph_value) {
  const auto there = std::make_shared<WrapType>(optional_types, m_predicate, input_values());
  {
    MatcherState saved = matcher->start_match();
    if (matcher->match_value(there->output(0), graph_value)) {
      matcher->get_pattern_value_map().erase(there);
      matcher->get_pattern_value_map()[shared_from_this()] = graph_value;
      return saved.finish(true);
    }
  }
  return get_input_size() != 0 && matcher->match_value(input_value(0), graph_value);
}
}  // namespace op

std::shared_ptr<Node> any_input(const Attributes& attrs) {
  return std::make_shared<op::Label>(element::dynamic, PartialShape::dynamic(),
                                     attrs.empty() ? op::Predicate() : attrs_match(attrs));
}
std::shared_ptr<Node> wrap_const() { return wrap_type<ov::op::v0::Constant>(); }
namespace {
Output<Node> output_of(const std::shared_ptr<Node>& node) {
  OPENVINO_ASSERT(node, "a node of a pattern is null");
  return node->get_output_size() == 1 ? node->output(0) : std::make_shared<op::AnyOutput>(node)->output(0);
}
}  // namespace
Output<Node> PatternOp::of(const std::shared_ptr<Node>& node) { return output_of(node); }
PatternOp::PatternOp(Rank rank) : output_(any_input(rank_equals(rank))->output(0)) {}
Output<Node> PatternOp::constant(const std::string& value_notation) {
  return wrap_type<ov::op::v0::Constant>(value_matches(value_notation))->output(0);
}

// ---------------------------------------------------------------- matchers
MatcherState::MatcherState(Matcher* matcher)
    : matcher_(matcher),
      map_(matcher->m_pattern_map),
      maps_(matcher->m_pattern_value_maps),
      symbols_(matcher->m_pattern_symbols),
      watermark_(matcher->m_matched_list.size()) {}
bool MatcherState::finish(bool is_successful) {
  restores_ = !is_successful;
  return is_successful;
}
MatcherState::~MatcherState() {
  if (!restores_) return;
  matcher_->m_pattern_map = std::move(map_);
  matcher_->m_pattern_value_maps = std::move(maps_);
  matcher_->m_pattern_symbols = std::move(symbols_);
  matcher_->m_matched_list.erase(matcher_->m_matched_list.begin() + static_cast<std::ptrdiff_t>(watermark_),
                                 matcher_->m_matched_list.end());
}
Matcher::Matcher(std::shared_ptr<Node> pattern_node) : m_pattern_node(output_of(pattern_node)) {}
Matcher::Matcher(std::shared_ptr<Node> pattern_node, const std::string& name)
    : Matcher(output_of(pattern_node), name, false) {}
Matcher::Matcher(std::shared_ptr<Node> pattern_node, const std::string& name, bool strict_mode)
    : Matcher(output_of(pattern_node), name, strict_mode) {}
Matcher::~Matcher() = default;
std::size_t Matcher::add_node(Output<Node> node) {
  m_matched_list.push_back(std::move(node));
  return m_matched_list.size() - 1;
}
void Matcher::clear_state() {
  m_match_root.reset();
  m_pattern_map.clear();
  m_pattern_value_maps.clear();
  m_pattern_symbols.clear();
  m_matched_list.clear();
}
bool Matcher::match(const Output<Node>& graph_value) { return match(graph_value, PatternValueMap{}); }
bool Matcher::match(std::shared_ptr<Node> graph_node) {
  const OutputVector outputs = graph_node->outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&](const Output<Node>& output) { return match(output); });
}
bool Matcher::match(const Output<Node>& graph_value, const PatternMap& previous_matches) {
  return match(graph_value, as_pattern_value_map(previous_matches));
}
bool Matcher::match(const Output<Node>& graph_value, const PatternValueMap& previous_matches) {
  clear_state();
  m_match_root = graph_value;
  m_pattern_map.insert(previous_matches.begin(), previous_matches.end());
  MatcherState saved = start_match();
  return saved.finish(match_value(m_pattern_node, graph_value));
}
bool Matcher::match_value(const Output<Node>& pattern_value, const Output<Node>& graph_value) {
  return pattern_value.get_node()->match_value(this, pattern_value, graph_value);
}
bool Matcher::match_permutation(const OutputVector& pattern_args, const OutputVector& args) {
  return std::equal(
      pattern_args.begin(), pattern_args.end(), args.begin(), args.end(),
      [&](const Output<Node>& pattern, const Output<Node>& value) { return match_value(pattern, value); });
}
bool Matcher::match_arguments(Node* pattern_node, const std::shared_ptr<Node>& graph_node) {
  const OutputVector args = graph_node->input_values();
  OutputVector pattern_args = pattern_node->input_values();
  if (args.size() != pattern_args.size()) return false;
  if (!ov::op::util::is_commutative(graph_node)) return match_permutation(pattern_args, args);
  std::sort(pattern_args.begin(), pattern_args.end(),
            [](const Output<Node>& a, const Output<Node>& b) { return a < b; });
  do {
    MatcherState saved = start_match();
    if (saved.finish(match_permutation(pattern_args, args))) return true;
  } while (std::next_permutation(pattern_args.begin(), pattern_args.end(),
                                 [](const Output<Node>& a, const Output<Node>& b) { return a < b; }));
  return false;
}
bool Matcher::is_contained_match(const NodeVector& exclusions, bool ignore_unused) {
  NodeVector excluded = exclusions;
  if (excluded.empty()) {
    for (const auto& [pattern, value] : m_pattern_map)
      if (std::dynamic_pointer_cast<op::Label>(pattern)) excluded.push_back(value.get_node_shared_ptr());
  }
  const NodeVector matched = get_matched_nodes();
  const auto has = [](const NodeVector& all, const Node* node) {
    return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.get() == node; });
  };
  std::set<const Node*> read_outside;
  for (const auto& node : matched) {
    if (has(excluded, node.get())) continue;
    for (const auto& output : node->outputs())
      for (const auto& input : output.get_target_inputs())
        if (!has(matched, input.get_node()) &&
            !(ignore_unused && !ov::op::util::is_output(input.get_node()) && input.get_node()->get_users().empty()))
          read_outside.insert(node.get());
  }
  return read_outside.size() < 2;
}
NodeVector Matcher::get_bound_nodes_for_pattern(const Output<Node>& pattern) const {
  NodeVector bound;
  for (const PatternValueMap& map : m_pattern_value_maps) {
    const auto found = map.find(pattern.get_node_shared_ptr());
    OPENVINO_ASSERT(found != map.end(), "the pattern has no such node");
    bound.push_back(found->second.get_node_shared_ptr());
  }
  return bound;
}
std::size_t Matcher::get_number_of_bound_labels() const {
  return m_pattern_value_maps.empty() ? 0 : m_pattern_value_maps.front().size();
}

}  // namespace pattern

std::shared_ptr<Node> operator|(const Output<Node>& lhs, const Output<Node>& rhs) {
  return std::make_shared<pattern::op::Or>(OutputVector{lhs, rhs});
}
std::shared_ptr<Node> operator|(const std::shared_ptr<Node>& lhs, const std::shared_ptr<Node>& rhs) {
  return std::make_shared<pattern::op::Or>(OutputVector{lhs, rhs});
}

void MultiMatcher::register_patterns(const std::vector<std::shared_ptr<Node>>& patterns, Callback callback,
                                     bool strict) {
  for (const auto& each : patterns) OPENVINO_ASSERT(each, "register_patterns: a pattern is null");
  patterns_ = patterns;
  callback_ = std::move(callback);
  strict_ = strict;
}
bool MultiMatcher::run_on_model(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  std::unordered_map<std::shared_ptr<Node>, std::vector<pattern::PatternValueMap>> matches;
  for (const auto& node : model->get_ordered_ops()) {
    for (const auto& root : patterns_) {
      pattern::Matcher matcher(root, get_name(), strict_);
      if (node->get_output_size() != 0 && matcher.match(node->output(0)))
        matches[root].push_back(matcher.get_pattern_value_map());
    }
  }
  if (matches.empty() || !callback_) return false;
  callback_(matches);
  return true;
}
}  // namespace pass
}  // namespace ov
