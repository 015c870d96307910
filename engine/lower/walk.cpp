// SPDX-License-Identifier: Apache-2.0
// The walk over the model: folding, chains, the table, fallbacks.
#include <tenon/engine/lower/walk.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/engine/lower/build/growth.hpp>
#include <tenon/engine/lower/build/precise.hpp>
#include <tenon/engine/lower/build/precision.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/chain_finder.hpp>
#include <tenon/engine/lower/matmul_conv/weight_only.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {
namespace {

void check_supported(const NodeVector& order) {
  std::string missing;
  std::size_t count = 0;
  for (const auto& node : order) {
    if (has_strings(*node) && !is_op(node, "Parameter") && !is_op(node, "Constant"))
      throw Error(
          Code::kUnimplemented,
          "CPU: " + node->describe() + " takes or makes strings, which no plan moves; the CPU device runs such models");
    for (std::size_t i = 0; i < node->get_output_size(); ++i) {
      if (node->get_output_partial_shape(i).is_dynamic() || node->get_output_element_type(i).is_dynamic()) {
        throw Error(Code::kFailedPrecondition, "CPU: " + node->describe() + " has the dynamic shape " +
                                                   node->get_output_partial_shape(i).to_string() +
                                                   "; reshape the model to static shapes before compiling a plan");
      }
    }
    if (is_supported(*node)) continue;
    missing += (count++ ? ", " : "") + node->describe();
  }
  if (count) {
    throw Error(Code::kUnimplemented, "CPU: " + std::to_string(count) + " node(s) have no kernel: " + missing +
                                          "; rewrite them with operations of the table (see operations())");
  }
}

/// Nodes whose values a convolution, matrix product or attention reads, directly or through other operations that do
/// not take them for places.
std::unordered_set<const Node*> before_products(const NodeVector& order) {
  std::unordered_set<const Node*> found;
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    const std::string_view type = (*node)->get_type_name();
    const bool leads =
        !is_softmax(**node) && (type.find("Convolution") != type.npos || type == "MatMul" || type == "GroupedMatMul" ||
                                type == "ScaledDotProductAttention" || found.count(node->get()) > 0);
    for (std::size_t i = 0; leads && i < (*node)->get_input_size(); ++i)
      if (!names_places(type, i)) found.insert((*node)->get_input_node_ptr(i));
  }
  return found;
}

/// Whether only products and convolutions read the node, as their weights.
bool is_weight(const Node& node) {
  const auto readers = node.get_output_target_inputs(0);
  return std::all_of(readers.begin(), readers.end(), [](const auto& reader) {
    const std::string_view type = reader.get_node()->get_type_name();
    if (type == "DeformableConvolution") return reader.get_index() == 2;
    return reader.get_index() == 1 && (type == "MatMul" || type.find("Convolution") != type.npos);
  });
}

}  // namespace

Walk::Walk(PlanImpl& plan, const Model& model, bool is_kept)
    : plan_(plan), model_(model), is_kept_(is_kept), order_(model.get_ordered_ops()), builder_(plan) {}

Walk::Marks Walk::marks() {
  return {plan_.buffers.size(),       plan_.steps.size(),  plan_.made.size(),
          plan_.optimized_out.size(), plan_.packed.size(), builder_.part_requests().size()};
}

void Walk::begin_unit(Unit::Kind kind, Chain chain, std::size_t port) {
  if (!is_kept_) return builder_.begin_unit(0, nullptr);
  Unit unit{kind, std::move(chain), port, marks(), {}, {}, {}};
  const auto& nodes = unit.chain.nodes;
  for (const auto& node : nodes) {
    for (std::size_t i = 0; i < node->get_output_size(); ++i)
      unit.writes.push_back(builder_.id_of(builder_.value(node->output(i))));
    for (const auto& source : node->input_values()) {
      const planning::ValueId id = builder_.id_of(builder_.value(source));
      const auto is_source = [&](const auto& other) { return other.get() == source.get_node(); };
      if (std::none_of(nodes.begin(), nodes.end(), is_source) &&
          std::find(unit.reads.begin(), unit.reads.end(), id) == unit.reads.end())
        unit.reads.push_back(id);
    }
  }
  units_.push_back(std::move(unit));
  builder_.begin_unit(static_cast<std::uint32_t>(units_.size() - 1), &units_.back().overwrites);
}

void Walk::drop_folded(const std::shared_ptr<Node>& reader) {
  // A walk that is kept may need small ones again.
  constexpr std::size_t kSmallBytes = 4096;
  for (const auto& source : reader->input_values()) {
    Value& value = builder_.value(source);
    if (!value.constant || value.remaining_uses > 0 || as_type<op::v0::Constant>(source.get_node()) ||
        (is_kept_ && value.constant.size_bytes() <= kSmallBytes))
      continue;
    value.constant = {};
    value.is_dropped = true;
  }
}

bool Walk::fold_weight(const std::shared_ptr<Node>& node) {
  // Smaller ones are not worth an address range.
  constexpr std::size_t kLeastBytes = 16384;
  if (!plan_.shared || !is_op(node, "Convert")) return false;
  const Tensor source = builder_.constant_input(node, 0);
  if (!source || source.size_bytes() < kLeastBytes || !plan_.shared->constants.holds(source.data())) return false;
  const ElementType type = node->get_output_element_type(0);
  // Not by the node, whose shapes may change while another plan is made.
  const auto make = [source, type] {
    const auto constant = std::make_shared<op::v0::Constant>(source);
    const Tensor made = evaluate_node(*make_node("Convert", 1, {constant}, {{"destination_type", type}}), {source})[0];
    drop_pages(source);
    return made;
  };
  const std::string how = "as " + std::string(name(type)) + " " + to_string(source.shape());
  Tensor& constant = builder_.value(node->output(0)).constant;
  if (!is_weight(*node)) {
    constant = plan_.shared->constants.derive(source.data(), how, make);
    return true;
  }
  constant = plan_.shared->constants.derive_to_pack(source.data(), how, type, source.shape(), make);
  plan_.stand_ins.push_back(constant);
  return true;
}

bool Walk::fold(const std::shared_ptr<Node>& node) {
  if (!node->operation().evaluate || node->get_input_size() == 0) return false;
  if (fold_weight(node)) return true;
  // A loop may run for any time, so it is not folded at compile time.
  if (as_type<op::util::SubGraphOp>(node.get())) return false;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    inputs.push_back(builder_.constant_input(node, i));
    if (!inputs.back()) return false;
  }
  const auto outputs = evaluate_node(*node, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) builder_.value(node->output(i)).constant = outputs[i];
  return true;
}

bool Walk::lower_empty(const std::shared_ptr<Node>& node) {
  if (!node->operation().evaluate || node->get_output_size() == 0) return false;
  for (std::size_t i = 0; i < node->get_output_size(); ++i)
    if (element_count(node->get_output_shape(i)) > 0) return false;
  for (std::size_t i = 0; i < node->get_output_size(); ++i) builder_.define_plain(builder_.value(node->output(i)));
  builder_.note_optimized_out(node);
  return true;
}

void Walk::lower_single(const std::shared_ptr<Node>& node) {
  if (!builder_.options().reference_only && lower_empty(node)) return;
  const auto found = lowering_table().find(node->get_type_name());
  if (!builder_.options().reference_only && found != lowering_table().end()) {
    const Chain chain{{node}};
    begin_anchor(node);
    if (found->second.lower(builder_, chain)) return;
  }
  builder_.lower_reference(node);
}

void Walk::begin_anchor(const std::shared_ptr<Node>& node) {
  const bool precise = builder_.options().precision != ElementType::kF32 && is_precise(*node);
  builder_.set_precise(precise);
  if (!precise) return;
  for (const auto& source : node->input_values()) {
    Value& read = builder_.value(source);
    // Weights of few bits are multiplied as they are stored: what makes reals of them is never computed.
    const bool is_made = !read.variants.empty() || read.narrow;
    if (read.constant || !is_made || read.type != ElementType::kF32 ||
        element_type(builder_.native(read).desc) != ElementType::kBf16)
      continue;
    const md wide = retyped(builder_.native(read).desc, ElementType::kF32);
    if (wide.get_ndims() == 0) continue;
    builder_.in_layout(read, wide);
    const auto made = std::find_if(read.variants.begin(), read.variants.end(),
                                   [&](const auto& variant) { return variant.desc == wide; });
    if (made != read.variants.end()) std::rotate(read.variants.begin(), made, made + 1);
  }
}

void Walk::use_inputs(const std::shared_ptr<Node>& node, int change) {
  for (const auto& source : node->input_values()) builder_.change_uses(builder_.value(source), change);
}

void Walk::lower_chain(const Chain& chain) {
  if (chain.nodes.size() > 1 || chain.lower) {
    for (const auto& node : chain.nodes) use_inputs(node, -1);
    begin_anchor(chain.anchor());
    const LowerFunction lower = chain.lower ? chain.lower : lowering_table().at(chain.anchor()->get_type_name()).lower;
    if (lower(builder_, chain)) return;
    for (const auto& node : chain.nodes) use_inputs(node, +1);
  }
  for (const auto& node : chain.nodes) {
    use_inputs(node, -1);
    lower_single(node);
  }
}

void Walk::find_grown() {
  for (const Growth& growth : plan_.growths) {
    const Node* concat = model_.get_results()[growth.result]->get_input_node_ptr(0);
    grown_[concat] = &growth;
    if (const Node* gather = concat->get_input_node_ptr(0); is_op(gather, "Gather")) grown_[gather] = &growth;
  }
}

const Growth* Walk::growth_of(std::size_t index, std::size_t Growth::*port) const {
  const auto found = std::find_if(plan_.growths.begin(), plan_.growths.end(),
                                  [&](const Growth& growth) { return growth.*port == index; });
  return found == plan_.growths.end() ? nullptr : &*found;
}

void Walk::lower_parameter(const std::shared_ptr<Node>& node, std::size_t index) {
  Value& made = builder_.value(node->output(0));
  if (const Growth* growth = growth_of(index, &Growth::parameter)) {
    Shape whole = made.shape;
    whole[growth->axis] = growth->capacity;
    const std::size_t bytes =
        growth->format.is_narrow() ? growth->format.size_bytes(whole) : *checked_size_bytes(made.type, whole);
    define_cache(builder_, made, *growth, builder_.add_port(BufferKind::kInput, bytes, index));
    return;
  }
  const BufferSlice place = builder_.add_port(BufferKind::kInput, *checked_size_bytes(made.type, made.shape), index);
  builder_.define_view(made, plain_desc(made.type, made.shape), place);
}

void Walk::lower_result(const std::shared_ptr<Node>& node, std::size_t index) {
  Value& source = builder_.input(node, 0);
  builder_.change_uses(source, -1);
  if (growth_of(index, &Growth::result)) return;
  const BufferSlice from = builder_.plain(source);
  const std::size_t bytes = *checked_size_bytes(source.type, source.shape);
  const BufferSlice to = builder_.add_port(BufferKind::kOutput, bytes, index);
  builder_.add_kernel(node, "copy", {from}, {to},
                      [bytes](std::span<void* const> p) { std::memcpy(p[1], p[0], bytes); });
  builder_.request_part(from, bytes, to, builder_.step_count() - 1);
}

void Walk::pass_on(const std::shared_ptr<Node>& node) {
  if (node->get_output_size() == 0) return;
  Value &source = builder_.input(node, 0), &made = builder_.value(node->output(0));
  const Value::Variant from = builder_.native(source);
  made.quantization = source.quantization;
  builder_.define_view(made, from.desc, from.place);
}

void Walk::find_variables() {
  for (const auto& node : order_) {
    if (std::string_view(node->get_type_name()) != "ReadValue") continue;
    const std::string& id = node->get_attributes().get_string("variable_id");
    const auto known =
        std::find_if(plan_.variables.begin(), plan_.variables.end(), [&](const Variable& v) { return v.id == id; });
    if (known == plan_.variables.end())
      plan_.variables.push_back({id, node->get_output_element_type(0), node->get_output_shape(0)});
  }
  builder_.add_variables();
}

bool Walk::is_known(const std::shared_ptr<Node>& node) {
  for (std::size_t i = 0; i < node->get_output_size(); ++i)
    if (!builder_.value(node->output(i)).constant) return false;
  return node->get_output_size() > 0;
}

void Walk::lower_grown(const std::shared_ptr<Node>& node) {
  use_inputs(node, -1);
  const Growth& growth = *grown_.at(node.get());
  if (is_op(node, "Gather"))
    lower_reorder_rows(builder_, node, growth);
  else
    lower_append(builder_, node, growth);
}

void Walk::lower_product_of_weight_only(const Chain& chain) {
  for (const auto& node : chain.nodes) use_inputs(node, -1);
  begin_anchor(chain.anchor());
  if (const WeightOnlyWeights* weights = weight_only_->find(chain.anchor().get()))
    lower_weight_only(builder_, chain, *weights);
  else
    builder_.note_optimized_out(chain.anchor());
}

Chain Walk::with_bias(const std::shared_ptr<Node>& node, const ChainFinder& chains) {
  const WeightOnlyWeights* const weights = weight_only_->find(node.get());
  // Not if a pattern has it, attention say.
  if (!weights || !weights->bias_node || chains.chain_of(weights->bias_node) != chains.chain_of(node)) return {{node}};
  biases_.insert(weights->bias_node.get());
  return {{node, weights->bias_node}};
}

void Walk::lower_folded(const std::shared_ptr<Node>& node) {
  use_inputs(node, -1);
  drop_folded(node);
  builder_.note_optimized_out(node);
}

void Walk::lower_node(const std::shared_ptr<Node>& node, const ChainFinder& chains) {
  const Chain* chain = chains.chain_of(node);
  const auto break_chain = [&] {
    if (!chain || !broken_.insert(chain).second) return;
    for (const auto& earlier : waiting_[chain]) {
      begin_unit(Unit::Kind::kLowered, {{earlier}});
      lower_chain({{earlier}});
    }
  };
  if (biases_.count(node.get())) return;
  if (grown_.count(node.get())) {
    begin_unit(Unit::Kind::kGrown, {{node}});
    lower_grown(node);
    return break_chain();
  }
  if (weight_only_->find(node.get()) || weight_only_->absorbs(node.get())) {
    const Chain product = with_bias(node, chains);
    begin_unit(Unit::Kind::kWeightOnly, product);
    lower_product_of_weight_only(product);
    return break_chain();
  }
  if (is_known(node) || fold(node)) {
    begin_unit(Unit::Kind::kFolded, {{node}});
    lower_folded(node);
    return break_chain();
  }
  const Chain alone{{node}};
  const Chain& whole = chain && !broken_.count(chain) ? *chain : alone;
  if (whole.last() != node) {
    waiting_[chain].push_back(node);
    return;
  }
  begin_unit(Unit::Kind::kLowered, whole);
  lower_chain(whole);
  for (const auto& lowered : whole.nodes) drop_folded(lowered);
}

void Walk::run(const TimeLimit& time) {
  check_supported(order_);
  builder_.set_before_products(before_products(order_));
  builder_.add_values(order_);
  find_grown();
  const auto& parameters = model_.get_parameters();
  const auto& results = model_.get_results();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    // A parameter that nothing reads is still a port.
    if (!builder_.has_values_of(parameters[i].get())) continue;
    begin_unit(Unit::Kind::kParameter, {{parameters[i]}}, i);
    lower_parameter(parameters[i], i);
  }
  find_variables();
  const ChainFinder chains(builder_, order_);
  weight_only_.emplace(builder_, builder_.options().fuse ? order_ : NodeVector());
  for (const auto& node : order_) {
    if (is_port_or_constant(*node)) continue;
    time.check("compiling", model_.get_friendly_name(), limit_property::kCompileSeconds);
    // Variables change once everything has read them, whatever the order of the nodes.
    if (std::string_view(node->get_type_name()) == "Assign") {
      pass_on(node);
      assignments_[node->get_attributes().get_string("variable_id")] = node;
      continue;
    }
    lower_node(node, chains);
  }
  for (const auto& [id, node] : assignments_) lower_chain({{node}});
  for (std::size_t i = 0; i < results.size(); ++i) {
    begin_unit(Unit::Kind::kResult, {{results[i]}}, i);
    lower_result(results[i], i);
  }
}

}  // namespace tenon::inline v1::engine
