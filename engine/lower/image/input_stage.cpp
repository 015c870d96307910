// SPDX-License-Identifier: Apache-2.0
// InputStage: reads the decoder's planes in place and makes the model's input in one pass.
#include <tenon/engine/kernels/image/input_stage.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/step_info.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>

namespace tenon::inline v1::engine {
namespace {

bool lower_stage(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const InputStageSpec spec = spec_of(*node);
  auto step = std::make_unique<TensorStep>();
  step->info = step_info(*node, "input stage");
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    Value& plane = builder.input(node, i);
    step->operands.push_back({builder.plain(plane), false});
    step->tensors.emplace_back(plane.type, plane.shape);
  }
  Value& made = builder.value(node->output(0));
  step->operands.push_back({builder.define_plain(made), true});
  step->tensors.emplace_back(made.type, made.shape);
  const auto stage = std::make_shared<const InputStagePlan>(spec);
  step->kernel = [stage](std::span<const Tensor> tensors) {
    const auto planes = tensors.first(tensors.size() - 1);
    const auto views = plane_views(stage->spec(), planes);
    stage->run(std::span(views).first(planes.size()), tensors.back().data());
  };
  builder.plan().steps.push_back(std::move(step));
  return true;
}

}  // namespace

void register_input_stage(LoweringTable& table) { table["InputStage"] = {lower_stage, false}; }

}  // namespace tenon::inline v1::engine
