// SPDX-License-Identifier: Apache-2.0
// The walk over the model: folding, chains, the table, fallbacks, steps, and parts of joined buffers. Values:
// lowering_values.cpp.
#include <algorithm>
#include <cstring>
#include <tuple>

#include <tenon/core/error.hpp>
#include <tenon/devices/cpu/engine/chain.hpp>
#include <tenon/devices/cpu/engine/lower_pictures.hpp>
#include <tenon/devices/cpu/engine/lowering.hpp>
#include <tenon/devices/cpu/engine/precise.hpp>
#include <tenon/devices/cpu/engine/precision.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {

const LoweringTable& lowering_table() {
  static const LoweringTable table = [] {
    LoweringTable made;
    register_convolution(made);
    register_matmul(made);
    register_pooling(made);
    register_elementwise(made);
    register_normalization(made);
    register_movement(made);
    register_gather(made);
    register_resize(made);
    register_reduction(made);
    register_state(made);
    register_attention(made);
    register_input_stage(made);
    register_control_flow(made);
    register_recurrent(made);
    register_quantization(made);
    register_colours(made);
    return made;
  }();
  return table;
}

namespace {
bool is_plumbing(const Node& node) {
  const std::string_view type = node.get_type_name();
  return type == "Parameter" || type == "Result" || type == "Constant";
}
}  // namespace

bool is_supported(const Node& node) {
  if (const auto* outer = as_type<op::util::MultiSubGraphOp>(&node)) {
    bool all = true;
    for (const auto& body : outer->get_functions())
      for_each_node(*body, [&](const auto& inner) {
        all &= is_plumbing(*inner) || inner->operation().evaluate || lowering_table().count(inner->get_type_name()) > 0;
      });
    return all;
  }
  return is_plumbing(node) || node.operation().evaluate != nullptr || lowering_table().count(node.get_type_name()) > 0;
}

Lowering::Lowering(PlanImpl& plan, const Model& model) : plan_(plan), model_(model), order_(model.get_ordered_ops()) {
  // The block that oneDNN's convolutions take on this instruction set.
  const auto isa = dnnl::get_effective_cpu_isa();
  using dnnl::cpu_isa;
  if (!plan.options.blocked_layouts) return;
  channel_block_ = isa >= cpu_isa::avx512_core ? 16 : isa >= cpu_isa::avx2 ? 8 : 0;
  if (plan.options.images != Options::Images::kAuto || isa >= cpu_isa::avx512_core_amx) images_ = plan.options.images;
}

void Lowering::check_supported() {
  std::string missing;
  std::size_t count = 0;
  for (const auto& node : order_) {
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

void Lowering::find_products() {
  for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
    const std::string_view type = (*node)->get_type_name();
    const bool leads = !is_softmax(**node) && (type.find("Convolution") != type.npos || type == "MatMul" ||
                                               type == "ScaledDotProductAttention" || is_before_product(node->get()));
    for (std::size_t i = 0; leads && i < (*node)->get_input_size(); ++i)
      before_products_.insert((*node)->get_input_node_ptr(i));
  }
}

// -- Steps

void Lowering::add_argument(PrimitiveStep& step, int argument, Place place, const md& desc, bool written) {
  step.arguments.emplace_back(argument, desc);
  step.operands.push_back({place, written});
}

void Lowering::add_scratchpad(PrimitiveStep& step, const md& scratchpad) {
  if (scratchpad.get_size() > 0)
    add_argument(step, DNNL_ARG_SCRATCHPAD, scratch(scratchpad.get_size()), scratchpad, true);
}

PrimitiveStep& Lowering::add_primitive(const std::shared_ptr<Node>& node, const dnnl::primitive& primitive,
                                       std::string kernel) {
  auto step = std::make_unique<PrimitiveStep>();
  step->engine = engine();
  step->primitive = primitive;
  step->info = {node->get_friendly_name(), node->get_type_name(), std::move(kernel), {}, false};
  PrimitiveStep& added = *step;
  plan_.steps.push_back(std::move(step));
  return added;
}

void Lowering::add_step(const std::shared_ptr<Node>& node, std::unique_ptr<Step> step, std::string kernel) {
  step->info = {node->get_friendly_name(), node->get_type_name(), std::move(kernel), {}, false};
  plan_.steps.push_back(std::move(step));
}

KernelStep& Lowering::add_kernel(const std::shared_ptr<Node>& node, std::string kernel, const std::vector<Place>& read,
                                 const std::vector<Place>& written, KernelStep::Kernel function) {
  auto step = std::make_unique<KernelStep>();
  step->info = {node->get_friendly_name(), node->get_type_name(), std::move(kernel), {}, false};
  for (Place place : read) step->operands.push_back({place, false});
  for (Place place : written) step->operands.push_back({place, true});
  step->kernel = std::move(function);
  KernelStep& added = *step;
  plan_.steps.push_back(std::move(step));
  return added;
}

void Lowering::note_fused(const Chain& chain) {
  StepInfo& info = plan_.steps.back()->info;
  info.node_name = chain.anchor()->get_friendly_name();
  for (std::size_t i = 1; i < chain.nodes.size(); ++i) {
    info.fused.push_back(chain.nodes[i]->get_friendly_name());
    note_optimized_out(chain.nodes[i]);
  }
}

void Lowering::note_optimized_out(const std::shared_ptr<Node>& node) {
  plan_.optimized_out.emplace_back(node->get_friendly_name(), node->get_type_name());
}

void Lowering::lower_reference(const std::shared_ptr<Node>& node) {
  if (!node->operation().evaluate) {
    throw Error(Code::kUnimplemented, "CPU: " + node->describe() + " has no kernel for these types and shapes");
  }
  auto step = std::make_unique<ReferenceStep>();
  step->info = {node->get_friendly_name(), node->get_type_name(), "reference", {}, true};
  step->node = node;
  step->input_count = node->get_input_size();
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    Value& source = input(node, i);
    step->operands.push_back({plain(source), false});
    step->tensors.emplace_back(source.type, source.shape);
  }
  for (std::size_t i = 0; i < node->get_output_size(); ++i) {
    Value& made = value(node->output(i));
    step->operands.push_back({define_plain(made), true});
    step->tensors.emplace_back(made.type, made.shape);
  }
  plan_.steps.push_back(std::move(step));
}

// -- The walk

namespace {
/// What was computed while compiling (weights made real, say) is held no longer than something may read it.
void drop_folded(Lowering& lowering, const std::shared_ptr<Node>& reader) {
  for (const auto& source : reader->input_values()) {
    Value& value = lowering.value(source);
    if (value.remaining_uses <= 0 && !as_type<op::v0::Constant>(source.get_node())) value.constant = {};
  }
}
}  // namespace

bool Lowering::fold(const std::shared_ptr<Node>& node) {
  if (!node->operation().evaluate || node->get_input_size() == 0) return false;
  // A loop may run for any time: that is no work for the compiler.
  if (as_type<op::util::SubGraphOp>(node.get())) return false;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    inputs.push_back(constant_input(node, i));
    if (!inputs.back()) return false;
  }
  const auto outputs = evaluate_node(*node, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) value(node->output(i)).constant = outputs[i];
  return true;
}

void Lowering::lower_single(const std::shared_ptr<Node>& node) {
  const auto found = lowering_table().find(node->get_type_name());
  if (!options().reference_only && found != lowering_table().end()) {
    const Chain chain{{node}};
    begin_anchor(node);
    if (found->second.lower(*this, chain)) return;
  }
  lower_reference(node);
}

void Lowering::begin_anchor(const std::shared_ptr<Node>& node) {
  is_precise_ = options().precision != ElementType::kF32 && is_precise(*node);
  if (!is_precise_) return;
  for (const auto& source : node->input_values()) {
    Value& read = value(source);
    if (read.constant || read.type != ElementType::kF32 || element_type(native(read).desc) != ElementType::kBf16)
      continue;
    const md wide = retyped(native(read).desc, ElementType::kF32);
    if (wide.get_ndims() == 0) continue;
    in_layout(read, wide);
    const auto made = std::find_if(read.variants.begin(), read.variants.end(),
                                   [&](const auto& variant) { return variant.desc == wide; });
    if (made != read.variants.end()) std::rotate(read.variants.begin(), made, made + 1);
  }
}

void Lowering::use_inputs(const std::shared_ptr<Node>& node, int change) {
  for (const auto& source : node->input_values()) change_uses(value(source), change);
}

void Lowering::lower_chain(const Chain& chain) {
  if (chain.nodes.size() > 1) {
    for (const auto& node : chain.nodes) use_inputs(node, -1);
    const auto& entry = lowering_table().at(chain.anchor()->get_type_name());
    begin_anchor(chain.anchor());
    if (entry.lower(*this, chain)) return;
    for (const auto& node : chain.nodes) use_inputs(node, +1);
  }
  for (const auto& node : chain.nodes) {
    use_inputs(node, -1);
    lower_single(node);
  }
}

void Lowering::lower_parameter(const std::shared_ptr<Node>& node, std::size_t index) {
  Value& made = value(node->output(0));
  const Place place{
      add_buffer(BufferKind::kInput, *checked_size_bytes(made.type, made.shape), static_cast<std::uint32_t>(index)), 0};
  define_view(made, plain_desc(made.type, made.shape), place);
}

void Lowering::lower_result(const std::shared_ptr<Node>& node, std::size_t index) {
  Value& source = input(node, 0);
  change_uses(source, -1);
  const Place from = plain(source);
  const std::size_t bytes = *checked_size_bytes(source.type, source.shape);
  const Place to{add_buffer(BufferKind::kOutput, bytes, static_cast<std::uint32_t>(index)), 0};
  add_kernel(node, "copy", {from}, {to}, [bytes](std::span<void* const> p) { std::memcpy(p[1], p[0], bytes); });
  request_part(from, bytes, to, step_count() - 1);
}

void Lowering::pass_on(const std::shared_ptr<Node>& node) {
  if (node->get_output_size() == 0) return;
  Value &source = input(node, 0), &made = value(node->output(0));
  const Value::Variant from = native(source);
  made.quantization = source.quantization;
  define_view(made, from.desc, from.place);
}

void Lowering::run(const TimeLimit& time) {
  check_supported();
  find_products();
  for (const auto& node : order_) {
    ids_[node.get()] = static_cast<ValueId>(values_.size());
    for (std::size_t i = 0; i < node->get_output_size(); ++i) {
      Value value;
      value.type = node->get_output_element_type(i);
      value.shape = node->get_output_shape(i);
      value.remaining_uses = static_cast<int>(node->count_output_readers(i));
      if (const auto* constant = as_type<op::v0::Constant>(node.get()))
        value.constant = constant->get_tensor();
      else if (const auto known = node->get_output_tensor(i).value())
        value.constant = *known;
      values_.push_back(std::move(value));
      outputs_.emplace_back(node, i);
    }
  }
  const auto& parameters = model_.get_parameters();
  const auto& results = model_.get_results();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    // A parameter that nothing reads is still a port.
    if (!ids_.count(parameters[i].get())) continue;
    lower_parameter(parameters[i], i);
  }
  for (const auto& node : order_) {
    if (std::string_view(node->get_type_name()) != "ReadValue") continue;
    const std::string& id = node->get_attributes().get_string("variable_id");
    const auto known =
        std::find_if(plan_.variables.begin(), plan_.variables.end(), [&](const Variable& v) { return v.id == id; });
    if (known == plan_.variables.end())
      plan_.variables.push_back({id, node->get_output_element_type(0), node->get_output_shape(0)});
  }
  const std::size_t variables = plan_.variables.size();
  for (std::size_t i = 0; i < 3 * variables; ++i) {
    const Variable& variable = plan_.variables[i % variables];
    const std::size_t bytes = i / variables == 1 ? 1 : *checked_size_bytes(variable.type, variable.shape);
    states_.push_back(add_buffer(BufferKind::kState, bytes, static_cast<std::uint32_t>(i)));
  }
  const ChainFinder chains(*this, order_);
  std::set<const Chain*> folded;                             // Known in part: the rest is lowered node by node.
  std::map<std::string, std::shared_ptr<Node>> assignments;  // The last one of a variable is what counts.
  for (const auto& node : order_) {
    if (is_plumbing(*node)) continue;
    time.check("compiling", model_.get_friendly_name(), limit_property::kCompileSeconds);
    // Variables change when everything has read them, whatever the order of the nodes.
    if (std::string_view(node->get_type_name()) == "Assign") {
      pass_on(node);
      assignments[node->get_attributes().get_string("variable_id")] = node;
      continue;
    }
    const Chain* chain = chains.chain_of(node);
    bool known = node->get_output_size() > 0;
    for (std::size_t i = 0; i < node->get_output_size(); ++i)
      known &= static_cast<bool>(value(node->output(i)).constant);
    if (known || fold(node)) {
      use_inputs(node, -1);
      drop_folded(*this, node);
      note_optimized_out(node);
      if (chain) folded.insert(chain);
      continue;
    }
    const Chain alone{{node}};
    const Chain& whole = chain && !folded.count(chain) ? *chain : alone;
    if (whole.last() != node) continue;
    lower_chain(whole);
    for (const auto& lowered : whole.nodes) drop_folded(*this, lowered);
  }
  for (const auto& [id, node] : assignments) lower_chain({{node}});
  for (std::size_t i = 0; i < results.size(); ++i) lower_result(results[i], i);
  grant_parts();
}

void Lowering::grant_parts() {
  // A buffer becomes a part of another only as a whole: all its bytes must be asked for, each at one and the same
  // distance.
  std::map<BufferId, std::vector<std::size_t>> by_buffer;
  for (std::size_t i = 0; i < requests_.size(); ++i) by_buffer[requests_[i].part.buffer].push_back(i);
  std::vector<bool> dropped(plan_.steps.size(), false);
  std::vector<int> open_copies(plan_.steps.size(), 0);
  for (const PartRequest& request : requests_) ++open_copies[request.step];
  std::vector<bool> granted(requests_.size(), false);
  for (auto& [buffer, all] : by_buffer) {
    if (plan_.buffers[buffer].kind != BufferKind::kArena || !options().fuse) continue;
    // Requests of one step for one buffer at one distance belong together, in the order of their first ones.
    std::vector<std::vector<std::size_t>> groups;
    std::map<std::tuple<std::size_t, BufferId, std::size_t>, std::size_t> group_of;
    for (std::size_t i : all) {
      const PartRequest& request = requests_[i];
      if (request.whole.offset < request.part.offset) continue;
      const auto [entry, is_new] = group_of.emplace(
          std::tuple(request.step, request.whole.buffer, request.whole.offset - request.part.offset), groups.size());
      if (is_new) groups.emplace_back();
      groups[entry->second].push_back(i);
    }
    // The first reader that takes the whole buffer wins; others go on copying.
    for (const std::vector<std::size_t>& members : groups) {
      const PartRequest& first = requests_[members.front()];
      std::vector<std::pair<std::size_t, std::size_t>> ranges;
      for (std::size_t i : members)
        ranges.emplace_back(requests_[i].part.offset, requests_[i].part.offset + requests_[i].size_bytes);
      std::sort(ranges.begin(), ranges.end());
      std::size_t covered = 0;
      for (const auto& [begin, end] : ranges)
        if (begin <= covered) covered = std::max(covered, end);
      if (covered < plan_.buffers[buffer].size_bytes) continue;
      // No rings: the whole must not already lie inside the part.
      if (plan_.settle_root(first.whole.buffer) == buffer) continue;
      plan_.buffers[buffer].parent = first.whole.buffer;
      plan_.buffers[buffer].parent_offset = first.whole.offset - first.part.offset;
      for (std::size_t i : members) {
        granted[i] = true;
        if (--open_copies[requests_[i].step] == 0) dropped[requests_[i].step] = true;
      }
      break;
    }
  }
  for (BufferId id = 0; id < plan_.buffers.size(); ++id) plan_.settle_root(id);
  std::vector<std::unique_ptr<Step>> kept;
  std::vector<std::ptrdiff_t> new_index;
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    new_index.push_back(static_cast<std::ptrdiff_t>(kept.size()) - (dropped[i] ? 1 : 0));
    if (dropped[i])
      plan_.optimized_out.emplace_back(plan_.steps[i]->info.node_name, plan_.steps[i]->info.node_type);
    else
      kept.push_back(std::move(plan_.steps[i]));
  }
  plan_.steps = std::move(kept);
  for (const PartRequest& request : requests_)
    if (!granted[static_cast<std::size_t>(&request - requests_.data())] &&
        plan_.buffers[request.whole.buffer].kind == BufferKind::kState)
      plan_.assigned_copy_bytes += request.size_bytes;
  for (Made& made : plan_.made)
    if (made.step >= 0) made.step = new_index[static_cast<std::size_t>(made.step)];
}

}  // namespace tenon::inline v1::engine
