// SPDX-License-Identifier: Apache-2.0
// Cuts input stages off a model and runs them on the CPU engine.
#include <tenon/devices/openvino/frames.hpp>

#include <algorithm>
#include <map>

#include <tenon/core/error.hpp>
#include <tenon/graph/model_ops.hpp>
#ifdef TENON_OPENVINO_TAKES_FRAMES
#include <tenon/engine/engine.hpp>
#endif

namespace tenon::inline v1::openvino_device {
namespace {

#ifdef TENON_OPENVINO_TAKES_FRAMES
class EngineStage final : public FrameStage {
 public:
  explicit EngineStage(const std::shared_ptr<const Model>& model) : plan_(engine::Plan::compile(model)) {}
  std::unique_ptr<Run> make_run() const override { return std::make_unique<EngineRun>(*this); }

 private:
  class EngineRun final : public Run {
   public:
    explicit EngineRun(const EngineStage& stage)
        : stage_(stage.plan_), workers_(stage.workers_), execution_(stage.plan_) {
      const engine::Port& port = stage_->outputs().at(0);
      output_ = Tensor(port.type, port.shape);
      execution_.bind_output(0, output_);
    }
    void bind_plane(std::size_t plane, const Tensor& tensor) override { execution_.bind_input(plane, tensor); }
    const Tensor& output() const override { return output_; }
    void run() override { execution_.run(*workers_); }

   private:
    std::shared_ptr<const engine::Plan> stage_;
    std::shared_ptr<engine::Workers> workers_;
    engine::Execution execution_;
    Tensor output_;
  };

  std::shared_ptr<const engine::Plan> plan_;
  std::shared_ptr<engine::Workers> workers_ = std::make_shared<engine::Workers>();
};

std::shared_ptr<const FrameStage> compile_stage(const std::shared_ptr<const Model>& model) {
  return std::make_shared<EngineStage>(model);
}
#else
std::shared_ptr<const FrameStage> compile_stage(const std::shared_ptr<const Model>&) {
  throw Error(Code::kUnimplemented,
              "OPENVINO: this build has no CPU engine, which would turn frames into tensors; set tensors instead, or "
              "build with oneDNN");
}
#endif

NodeVector stages_of(const Model& model) {
  NodeVector stages;
  for (const auto& node : model.get_ordered_ops())
    if (is_op(node, "InputStage")) stages.push_back(node);
  return stages;
}

/// The node in `model` that was copied from the one with this name.
std::shared_ptr<Node> find(const Model& model, const std::string& name) {
  for (const auto& node : model.get_ordered_ops())
    if (node->get_friendly_name() == name) return node;
  throw Error(Code::kInternal, "OPENVINO: a copy of the model has no node " + name);
}

/// A model of only the stage, with its planes as inputs.
std::shared_ptr<Model> stage_model(const Model& model, const std::string& name) {
  const auto copy = model.clone();
  const auto stage = find(*copy, name);
  ParameterVector planes;
  for (const auto& input : stage->input_values())
    planes.push_back(std::static_pointer_cast<op::v0::Parameter>(input.get_node_shared_ptr()));
  return std::make_shared<Model>(OutputVector{stage->output(0)}, planes, name);
}

}  // namespace

SplitModel split(const std::shared_ptr<const Model>& model) {
  SplitModel result;
  if (stages_of(*model).empty()) {
    result.rest = model;
    for (std::size_t i = 0; i < model->get_parameters().size(); ++i) result.inputs.push_back({-1, i});
    return result;
  }
  const auto rest = model->clone();
  const ParameterVector before = rest->get_parameters();
  result.inputs.resize(before.size());
  ParameterVector made;
  std::map<const Node*, bool> is_plane;
  for (const auto& stage : stages_of(*rest)) {
    result.stages.push_back(compile_stage(stage_model(*model, stage->get_friendly_name())));
    for (std::size_t plane = 0; plane < stage->get_input_size(); ++plane) {
      const Node* source = stage->input_value(plane).get_node();
      is_plane[source] = true;
      for (std::size_t i = 0; i < before.size(); ++i)
        if (before[i].get() == source) result.inputs[i] = {static_cast<int>(result.stages.size()) - 1, plane};
    }
    auto filled =
        std::make_shared<op::v0::Parameter>(stage->get_output_element_type(0), stage->get_output_partial_shape(0));
    filled->set_friendly_name(stage->get_friendly_name());
    stage->output(0).replace(filled->output(0));
    made.push_back(std::move(filled));
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (is_plane.count(before[i].get()))
      rest->remove_parameter(before[i]);
    else
      result.inputs[i] = {-1, kept++};
  }
  for (std::size_t i = 0; i < made.size(); ++i) result.stage_targets.push_back(kept + i);
  rest->add_parameters(made);
  rest->validate_nodes_and_infer_types();
  result.rest = rest;
  return result;
}

}  // namespace tenon::inline v1::openvino_device
