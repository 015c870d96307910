// SPDX-License-Identifier: Apache-2.0
// Passes of the original's that change models: folding, half precision, loops that keep states; and what a rewrite still visits.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <openvino/core/graph_util.hpp>
#include <openvino/op/ops.hpp>
#include <openvino/pass/constant_folding.hpp>
#include <openvino/pass/convert_fp32_to_fp16.hpp>
#include <openvino/pass/graph_rewrite.hpp>
#include <openvino/pass/low_latency.hpp>
#include <openvino/pass/manager.hpp>
#include <openvino/pass/pattern/matcher.hpp>
#include <openvino/pass/pattern/op/wrap_type.hpp>

#include "programs.hpp"

namespace {

namespace pattern = ov::pass::pattern;
using ov::op::v0::Constant;

void folding() {
  auto two = i64_values({2, 2});
  auto sum = std::make_shared<ov::op::v1::Add>(two, two);
  auto product = std::make_shared<ov::op::v1::Multiply>(sum, std::make_shared<ov::op::v1::Subtract>(two, two));
  auto model = std::make_shared<ov::Model>(ov::OutputVector{product}, ov::ParameterVector{});
  ov::pass::disable_constant_folding(sum);
  line("marked ", ov::pass::constant_folding_is_disabled(sum), ' ', sum->get_rt_info().begin()->first);
  ov::pass::Manager manager;
  manager.register_pass<ov::pass::ConstantFolding>();
  manager.run_passes(model);
  line("around the mark", sorted_types(model));
  ov::pass::enable_constant_folding(sum);
  manager.run_passes(model);
  line("whole", sorted_types(model));

  auto x = f32_input({2});
  auto half = std::make_shared<ov::Model>(
      ov::OutputVector{std::make_shared<ov::op::v1::Add>(x, Constant::create(ov::element::f32, {2}, {1e9F, -3e38F}))},
      ov::ParameterVector{x});
  ov::pass::Manager halves;
  halves.register_pass<ov::pass::ConvertFP32ToFP16>();
  halves.run_passes(half);
  line("half ", half->input().get_element_type(), ' ', half->output().get_element_type());
  const auto sum_of_half = half->get_results()[0]->get_input_node_shared_ptr(0);
  const auto far = ov::as_type_ptr<Constant>(sum_of_half->get_input_node_shared_ptr(1))->cast_vector<float>();
  line("far ", far[0], ' ', far[1]);
}

/// One pass takes out the second of two nodes at the first one, so none comes to the second.
void taken_out() {
  class Seen : public ov::pass::MatcherPass {
   public:
    OPENVINO_MATCHER_PASS_RTTI("Seen");
    std::string names;
    Seen() {
      auto any = pattern::wrap_type<ov::op::v0::Relu, ov::op::v0::Tanh, ov::op::v0::Abs>();
      register_matcher(std::make_shared<pattern::Matcher>(any, "Seen"), [this](pattern::Matcher& m) {
        auto node = m.get_match_root();
        names += ' ' + node->get_friendly_name();
        if (node->get_friendly_name() != "first") return false;
        auto reader = node->output(0).get_target_inputs().begin()->get_node()->shared_from_this();
        ov::replace_node(reader, std::make_shared<ov::op::v0::Abs>(node));
        return true;
      });
    }
  };
  auto x = f32_input({1, 2});
  std::shared_ptr<ov::Node> last = x;
  for (const char* name : {"first", "second", "third"}) {
    last = std::make_shared<ov::op::v0::Tanh>(last);
    last->set_friendly_name(name);
  }
  auto model = std::make_shared<ov::Model>(ov::OutputVector{last}, ov::ParameterVector{x});
  last.reset();
  ov::pass::GraphRewrite rewrite;
  auto seen = rewrite.add_matcher<Seen>();
  rewrite.run_on_model(model);
  line("seen", seen->names, ';', sorted_types(model));
}

void loops_with_states(ov::Core& core, std::size_t length, bool zeros) {
  auto x = f32_input({1, static_cast<std::int64_t>(length), 2}, "sequence"), start = f32_input({1, 1, 2}, "start");
  auto part = f32_input({1, 1, 2}, "part"), state = f32_input({1, 1, 2}, "state");
  auto result = std::make_shared<ov::op::v0::Result>(std::make_shared<ov::op::v1::Add>(part, state));
  auto body = std::make_shared<ov::Model>(ov::ResultVector{result}, ov::ParameterVector{part, state});
  auto loop = std::make_shared<ov::op::v0::TensorIterator>();
  loop->set_friendly_name("loop");
  loop->set_body(body);
  loop->set_sliced_input(part, x, 0, 1, 1, -1, 1);
  loop->set_merged_input(state, start, result);
  auto last = loop->get_iter_value(result, -1);
  auto all = loop->get_concatenated_slices(result, 0, 1, 1, -1, 1);
  auto model = std::make_shared<ov::Model>(ov::OutputVector{last, all}, ov::ParameterVector{x, start});
  ov::pass::Manager manager;
  manager.register_pass<ov::pass::LowLatency2>(zeros);
  manager.run_passes(model);
  std::size_t loops = 0;
  for (const auto& node : model->get_ordered_ops()) loops += ov::is_type<ov::op::v0::TensorIterator>(node) ? 1 : 0;
  line("states of a loop ", length, zeros, ": ", model->get_variables().size(), ' ',
       model->get_variables()[0]->get_info().variable_id, ' ', model->get_variables()[0]->get_info().data_shape, ' ',
       model->get_sinks().size(), loops);
  ov::InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  for (int step = 0; step < 3; ++step) {
    if (step == 2) request.reset_state();
    for (std::size_t i = 0; i < 2; ++i) {
      ov::Tensor tensor = request.get_input_tensor(i);
      for (std::size_t k = 0; k < tensor.get_size(); ++k) tensor.data<float>()[k] = static_cast<float>(k + 1);
    }
    request.infer();
    print_values("last", request.get_output_tensor(0));
    print_values("all", request.get_output_tensor(1));
  }
}

}  // namespace

void states_and_folding() {
  folding();
  taken_out();
  ov::Core core;
  for (const std::size_t length : {1, 2})
    for (const bool zeros : {true, false}) loops_with_states(core, length, zeros);
}
