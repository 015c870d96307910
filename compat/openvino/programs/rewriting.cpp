// SPDX-License-Identifier: Apache-2.0
// What programs ask models and nodes for when they change them: states, constants, kinds of operations.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <openvino/op/ops.hpp>
#include <openvino/op/util/arithmetic_reductions_keep_dims.hpp>
#include <openvino/op/util/binary_elementwise_arithmetic.hpp>
#include <openvino/op/util/convolution_base.hpp>
#include <openvino/op/util/gather_base.hpp>
#include <openvino/op/util/reduction_base.hpp>
#include <openvino/op/util/unary_elementwise_arithmetic.hpp>
#include <openvino/op/util/variable_extension.hpp>
#include <openvino/pass/make_stateful.hpp>
#include <openvino/pass/manager.hpp>
#include <openvino/pass/pattern/matcher.hpp>
#include <openvino/pass/pattern/op/wrap_type.hpp>
#include <openvino/pass/serialize.hpp>

#include "programs.hpp"

namespace {

using ov::op::util::Variable;
using ov::op::v0::Constant;
using ov::op::v0::Parameter;

std::string sorted_ids(const ov::op::util::VariableVector& variables) {
  std::vector<std::string> ids;
  for (const auto& each : variables) ids.push_back(each->get_info().variable_id);
  std::sort(ids.begin(), ids.end());
  std::string text;
  for (const auto& id : ids) text += id + ' ';
  return text;
}

void states(ov::Core& core) {
  auto x = std::make_shared<Parameter>(ov::element::f32, ov::Shape{1, 2});
  auto variable =
      std::make_shared<Variable>(ov::op::util::VariableInfo{ov::PartialShape{1, 2}, ov::element::f32, "sum"});
  auto read = std::make_shared<ov::op::v6::ReadValue>(Constant::create(ov::element::f32, {1, 2}, {0}), variable);
  auto sum = std::make_shared<ov::op::v1::Add>(read, x);
  auto assign = std::make_shared<ov::op::v6::Assign>(sum, variable);
  assign->add_control_dependency(read);
  auto model = std::make_shared<ov::Model>(ov::OutputVector{sum}, ov::SinkVector{assign}, ov::ParameterVector{x},
                                           ov::op::util::VariableVector{variable}, "stateful");
  line("states ", sorted_ids(model->get_variables()), model->get_variable_by_id("sum") == variable, ' ',
       model->get_variable_by_id("other") == nullptr, ' ', read->get_variable_id(), ' ',
       assign->get_variable() == variable, ' ', assign->get_control_dependencies().size(), ' ',
       model->get_sinks().size(), ' ', model->get_sinks()[0] == assign);
  std::size_t nodes = 0;
  for (const auto& node : model->get_ops())
    if (std::dynamic_pointer_cast<ov::op::util::VariableExtension>(node)) ++nodes;
  line("nodes of states ", nodes);

  // From an input and an output that belong together.
  auto past = std::make_shared<Parameter>(ov::element::f32, ov::Shape{2}),
       y = std::make_shared<Parameter>(ov::element::f32, ov::Shape{2});
  past->set_friendly_name("past");
  past->output(0).set_names({"past"});
  y->set_friendly_name("y");
  auto next = std::make_shared<ov::op::v1::Add>(past, y);
  auto present = std::make_shared<ov::op::v0::Result>(next);
  present->set_friendly_name("present");
  next->output(0).set_names({"present"});
  auto doubled = std::make_shared<ov::op::v0::Result>(std::make_shared<ov::op::v1::Add>(next, next));
  auto pairs = std::make_shared<ov::Model>(ov::ResultVector{present, doubled}, ov::ParameterVector{past, y}, "pairs");
  ov::pass::Manager manager;
  manager.register_pass<ov::pass::MakeStateful>(std::map<std::string, std::string>{{"past", "present"}});
  manager.run_passes(pairs);
  line("made stateful ", pairs->inputs().size(), pairs->outputs().size(), pairs->get_sinks().size(), ' ',
       sorted_ids(pairs->get_variables()));
  ov::InferRequest request = core.compile_model(pairs, "CPU").create_infer_request();
  for (int i = 0; i < 2; ++i) {
    request.get_input_tensor().data<float>()[0] = 1;
    request.get_input_tensor().data<float>()[1] = 10;
    request.infer();
    print_values("doubled", request.get_output_tensor());
  }
  line("state ", request.query_state().size(), ' ', request.query_state()[0].get_name());
  refused("a pair that there is not", [] {
    auto only = std::make_shared<Parameter>(ov::element::f32, ov::Shape{2});
    auto model = std::make_shared<ov::Model>(ov::OutputVector{only}, ov::ParameterVector{only});
    ov::pass::MakeStateful(std::map<std::string, std::string>{{"a", "b"}}).run_on_model(model);
  });
}

void constants() {
  auto numbers = Constant::create(ov::element::f32, {3}, {0.5F, -2.0F, 1e6F});
  auto whole = Constant::create(ov::element::i64, {2}, {3, 3});
  for (const auto& text : numbers->get_value_strings()) line("text ", text);
  line("texts ", whole->convert_value_to_string(1), ' ', numbers->get_all_data_elements_bitwise_identical(), ' ',
       whole->get_all_data_elements_bitwise_identical(), ' ', whole->get_axis_set_val().size(), ' ',
       whole->get_coordinate_val(), ' ', whole->get_coordinate_diff_val());
  const std::uint64_t most = ~std::uint64_t{0};
  const void* const bytes = &most;
  line("most ", std::make_shared<Constant>(ov::element::u64, ov::Shape{1}, bytes)->convert_value_to_string(0));
  auto sum = std::make_shared<ov::op::v1::Add>(numbers, numbers);
  ov::OutputVector folded(1);
  line("folded ", sum->constant_fold(folded, sum->input_values()));
  line("to ", ov::as_type_ptr<Constant>(folded[0].get_node_shared_ptr())->cast_vector<float>()[1]);
  auto x = std::make_shared<Parameter>(ov::element::f32, ov::Shape{3});
  auto open = std::make_shared<ov::op::v1::Add>(numbers, x);
  line("not folded ", open->constant_fold(folded, open->input_values()));
}

void kinds() {
  auto x = std::make_shared<Parameter>(ov::element::f32, ov::Shape{1, 4, 6, 6});
  std::shared_ptr<ov::Node> sum = std::make_shared<ov::op::v1::Add>(x, x), relu = std::make_shared<ov::op::v0::Relu>(x);
  std::shared_ptr<ov::Node> mean =
      std::make_shared<ov::op::v1::ReduceMean>(sum, Constant::create(ov::element::i64, {2}, {2, 3}), true);
  std::shared_ptr<ov::Node> depth =
      std::make_shared<ov::op::v0::DepthToSpace>(x, ov::op::v0::DepthToSpace::DepthToSpaceMode::DEPTH_FIRST, 2);
  std::shared_ptr<ov::Node> back =
      std::make_shared<ov::op::v0::SpaceToDepth>(depth, ov::op::v0::SpaceToDepth::SpaceToDepthMode::BLOCKS_FIRST, 2);
  line("kinds ", ov::is_type<ov::op::util::BinaryElementwiseArithmetic>(sum),
       ov::is_type<ov::op::util::BinaryElementwiseArithmetic>(relu),
       ov::is_type<ov::op::util::UnaryElementwiseArithmetic>(relu), ov::is_type<ov::op::util::ReductionBase>(mean),
       ov::is_type<ov::op::Op>(mean), ' ', depth->get_output_shape(0), back->get_output_shape(0));
  auto reduction = ov::as_type_ptr<ov::op::util::ArithmeticReductionKeepDims>(mean);
  line("keeps ", reduction->get_keep_dims(), ' ', reduction->get_reduction_axes().size());
  auto model = std::make_shared<ov::Model>(ov::OutputVector{mean, relu, back}, "found");
  line("found ", model->get_parameters().size());
  std::size_t counted = 0;
  model->map_unordered_ops([&](ov::Node* node) { counted += node->get_output_size(); });
  line("ops ", counted);
  namespace pattern = ov::pass::pattern;
  auto any =
      pattern::wrap_type<ov::op::util::BinaryElementwiseArithmetic>({pattern::any_input(), pattern::any_input()});
  line("matched ", pattern::Matcher(any, "any").match(sum), pattern::Matcher(any, "any").match(mean->output(0)));
  std::stringstream xml, bin;
  ov::pass::Serialize(xml, bin).run_on_model(model);
  line("streams ", xml.str().find("<net") != std::string::npos, ' ', bin.str().size() >= 16);
  auto boxes = std::make_shared<Parameter>(ov::element::f32, ov::Shape{1, 8, 4});
  auto scores = std::make_shared<Parameter>(ov::element::f32, ov::Shape{1, 2, 8});
  auto best = std::make_shared<ov::op::v3::NonMaxSuppression>(
      boxes, scores, Constant::create(ov::element::i64, {}, {2}), Constant::create(ov::element::f32, {}, {0.5F}),
      Constant::create(ov::element::f32, {}, {0.1F}), ov::op::v3::NonMaxSuppression::BoxEncodingType::CENTER, false,
      ov::element::i32);
  line("best ", best->get_output_element_type(0), ' ', best->get_sort_result_descending());
}

}  // namespace

void rewriting() {
  ov::Core core;
  states(core);
  constants();
  kinds();
}
