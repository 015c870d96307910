// SPDX-License-Identifier: Apache-2.0
// The passes, and the walk over the nodes.
#include <tenon/devices/gpu/lower/lower.hpp>

#include <string>

#include <tenon/devices/gpu/lower/build/few_bits.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/passes/original_names.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::gpu_device {

namespace {

/// Loops in loops.
constexpr int kMostNesting = 8;

bool has_control_flow(const Model& model) {
  for (const auto& node : model.get_ops())
    if (dynamic_cast<const op::util::MultiSubGraphOp*>(node.get())) return true;
  return false;
}

}  // namespace

std::shared_ptr<Model> run_passes(const Model& model, const TimeLimit& time, bool fuses_attention,
                                  const Target& target) {
  const bool multiplies_numbers = target.multiplies_numbers;
  const auto mine = model.clone();
  const auto check_time = [&] { time.check("compiling", model.get_friendly_name(), limit_property::kCompileSeconds); };
  const auto check = [&](const Model&, const std::string&, bool) { check_time(); };
  const pass::FoldOptions folding{.keep_decompression = false,
                                  .keep_dequantization = multiplies_numbers || keeps_few_bits(target),
                                  .check = check_time};
  if (keeps_few_bits(target)) {
    pass::Manager widening;
    widening.add(widen_few_bits()).set_hook(check);
    widening.run(mine);
  }
  if (multiplies_numbers) {
    pass::Manager rounding;  // Before what it finds is folded.
    rounding.add(pass::fuse_quantize_dequantize());
    rounding.set_hook(check);
    rounding.run(mine);
  }
  // Folding says how often loops run, and what they hold is folded then.
  pass::Manager unroll;
  unroll.add(pass::fold_constants(folding)).add(pass::unroll_loops()).add(pass::peel_loops());
  unroll.set_hook(check);
  for (int depth = 0; has_control_flow(*mine) && depth < kMostNesting; ++depth) unroll.run(mine);
  pass::Manager passes = pass::common_passes(folding);
  if (fuses_attention) passes.add(pass::fuse_attention());
  passes.add(pass::fold_input_stage(false)).add(fold_expansions(target));
  passes.set_hook(check);
  passes.run(mine);
  pass::note_original_nodes(model, *mine);
  return mine;
}

std::shared_ptr<Model> run_moving_passes(const Model& prepared, const TimeLimit& time, bool fuses_attention) {
  const auto mine = prepared.clone();
  pass::Manager passes;
  if (fuses_attention) passes.add(pass::fuse_moving_attention());
  passes.set_hook([&](const Model&, const std::string&, bool) {
    time.check("compiling", prepared.get_friendly_name(), limit_property::kCompileSeconds);
  });
  passes.run(mine);
  pass::note_original_nodes(prepared, *mine);
  return mine;
}

namespace {

void lower_read_value(Builder& builder, const Node& node) {
  const std::string& id = node.get_attributes().get_string("variable_id");
  builder.set(node, 0, builder.state(id, node.get_output_element_type(0), node.get_output_shape(0), false));
}

void lower_assign(Builder& builder, const Node& node) {
  const std::string& id = node.get_attributes().get_string("variable_id");
  const View value = builder.view(node.input_value(0));
  builder.copy(value, builder.state(id, node.get_output_element_type(0), value.shape, true), node);
  builder.set(node, 0, value);
}

void check_supported(const Model& model, const Target& target) {
  std::string lacking;
  for (const auto& node : model.get_ordered_ops())
    if (const std::string why = refusal(*node, target); !why.empty())
      lacking += (lacking.empty() ? "" : "; ") + node->describe() + ": " + why;
  if (!lacking.empty()) throw NotImplemented("GPU: " + lacking + "; HETERO:GPU,CPU runs these nodes on the CPU");
}

}  // namespace

LaunchPlan lower_model(const Model& model, const Target& target, PackedWeights& weights, bool is_special,
                       const std::vector<InputForm>& forms, const TimeLimit& time, const Choosing& choosing) {
  check_supported(model, target);
  Builder builder(model, target, weights, is_special, forms, choosing);
  std::uint32_t inputs = 0, results = 0;
  // Ports keep the order of the model, whatever the order of the walk.
  for (const auto& parameter : model.get_parameters()) builder.add_input(*parameter, inputs++);
  for (const auto& node : model.get_ordered_ops()) {
    time.check("compiling", model.get_friendly_name(), limit_property::kCompileSeconds);
    const std::string_view type = node->get_type_name();
    if (type == "Parameter" || type == "Result" || builder.is_expansion(*node)) continue;
    if (type == "Constant")
      builder.add_constant(*node, static_cast<const op::v0::Constant&>(*node).get_tensor());
    else if (type == "ReadValue")
      lower_read_value(builder, *node);
    else if (type == "Assign")
      lower_assign(builder, *node);
    else
      lowering_table().at(type).lower(builder, *node);
  }
  for (const auto& result : model.get_results()) builder.add_result(*result, results++);
  return builder.finish();
}

}  // namespace tenon::inline v1::gpu_device
