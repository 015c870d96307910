// SPDX-License-Identifier: Apache-2.0
// What programs and their tests ask of nodes, and what values can be.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <openvino/core/graph_util.hpp>
#include <openvino/op/ops.hpp>
#include <openvino/op/roi_pooling.hpp>
#include <openvino/op/util/broadcast_base.hpp>
#include <openvino/op/util/reduction_base.hpp>
#include <openvino/op/util/rnn_cell_base.hpp>
#include <openvino/opsets/opset.hpp>

#include "programs.hpp"

namespace {

using ov::op::v0::Constant;
using ov::op::v0::Parameter;

void queries() {
  auto x = f32_input({2, 4, 8, 8});
  auto sum = std::make_shared<ov::op::v1::ReduceSum>(x, i64_values({-1, 2}), true);
  line("reduction ", sum->reduction_axes_constant(), sum->get_reduction_axes().size(), sum->get_keep_dims());
  sum->set_reduction_axes(ov::AxisSet{1});
  sum->validate_and_infer_types();
  line("other axes ", sum->get_output_shape(0), sum->get_reduction_axes().to_vector().front());
  auto best = std::make_shared<ov::op::v11::TopK>(x, Constant::create(ov::element::i64, {}, {2}), -1, "max", "value");
  line("best ", best->get_axis(), ' ', best->get_provided_axis(), ' ', best->get_k());
  best->set_k(3);
  best->validate_and_infer_types();
  line("more ", best->get_k(), ' ', best->get_output_shape(0));
  refused("a default of two outputs", [&] { std::make_shared<ov::op::v0::Relu>(best); });
  auto pool = std::make_shared<ov::op::v8::MaxPool>(x, ov::Strides{1, 1}, ov::Strides{1, 1}, ov::Shape{0, 0},
                                                    ov::Shape{0, 0}, ov::Shape{2, 2});
  line("first output ", std::make_shared<ov::op::v0::Relu>(pool)->input_value(0).get_index());
  auto wide = std::make_shared<ov::op::v3::Broadcast>(f32_input({1, 4}), i64_values({3, 2, 4}));
  line("repeated ", wide->get_broadcast_axes().first, ' ', wide->get_broadcast_axes().second.size(), ' ',
       wide->get_broadcast_spec().m_type == ov::op::BroadcastType::NUMPY);
  auto boxes = f32_input({1, 8, 4}), scores = f32_input({1, 2, 8});
  auto nms = std::make_shared<ov::op::v9::NonMaxSuppression>(
      boxes, scores, Constant::create(ov::element::i64, {}, {5}), Constant::create(ov::element::f32, {}, {0.5F}),
      Constant::create(ov::element::f32, {}, {0.25F}), Constant::create(ov::element::f32, {}, {0.0F}));
  line("selection ", nms->max_boxes_output_from_input(), ' ', nms->iou_threshold_from_input(), ' ',
       nms->score_threshold_from_input(), ' ', nms->soft_nms_sigma_from_input(), ' ',
       nms->is_soft_nms_sigma_constant_and_default());
  ov::op::v8::PriorBox::Attributes priors;
  priors.min_size = {16, 32};
  priors.max_size = {64};
  priors.aspect_ratio = {2, 3, 2};
  priors.flip = true;
  line("priors ", ov::op::v8::PriorBox::number_of_priors(priors), ' ',
       ov::op::v8::PriorBox::normalized_aspect_ratio(priors.aspect_ratio, true).size());
  std::ostringstream ratios;
  for (const float ratio : ov::op::v8::PriorBox::normalized_aspect_ratio({3, 2, 2.00000012F}, true))
    ratios << ' ' << ratio;
  line("ratios", ratios.str());
  priors.scale_all_sizes = false;
  priors.fixed_size = {8, 16};
  priors.density = {2, 4};
  line("dense priors ", ov::op::v8::PriorBox::number_of_priors(priors));
  std::vector<std::string> subscripts;
  std::string output;
  ov::op::v7::Einsum::parse_equation("ab...,bc->ac", subscripts, output);
  line("equation ", subscripts.size(), ' ', subscripts[0], ' ', output, ' ',
       ov::op::v7::Einsum::extract_labels("ab...c").size());
  ov::op::v7::Einsum::parse_equation("cb,ba", subscripts, output);
  line("implied ", output);
  refused("no labels", [&] { ov::op::v7::Einsum::extract_labels("a..b"); });
  auto infinite = std::make_shared<ov::op::v10::IsInf>(x, ov::op::v10::IsInf::Attributes{false, true});
  line("infinite ", infinite->get_attributes().detect_negative, infinite->get_attributes().detect_positive);
  auto quotient = std::make_shared<ov::op::v1::Divide>(x, x, false);
  line("quotient ", quotient->is_pythondiv(), std::make_shared<ov::op::v1::Divide>(x, x)->is_pythondiv());
  auto regions = std::make_shared<ov::op::v0::ROIPooling>(x, f32_input({5, 5}), ov::Shape{2, 3}, 0.5F, "bilinear");
  line("regions ", regions->get_output_shape(0), ' ', regions->get_output_roi(), ' ', regions->get_method());
  ov::op::v0::Interpolate::Attributes resize;
  resize.axes = ov::AxisSet{2, 3};
  resize.mode = "nearest";
  auto larger = std::make_shared<ov::op::v0::Interpolate>(x, i64_values({16, 16}), resize);
  line("larger ", larger->get_output_shape(0), ' ', larger->get_attrs().axes.size(), ' ', larger->get_attrs().mode);
  auto updated = std::make_shared<ov::op::v12::ScatterElementsUpdate>(
      f32_input({3, 3}), Constant::create(ov::element::i64, {2, 3}, {0}), f32_input({2, 3}), i64_values({0}),
      ov::op::v12::ScatterElementsUpdate::Reduction::MEAN);
  line("updated ", updated->get_reduction() == ov::op::v12::ScatterElementsUpdate::Reduction::MEAN);
  auto shuffled = std::make_shared<ov::op::v0::ShuffleChannels>(x, -3, 2);
  line("shuffled ", shuffled->get_zero_based_axis());
  auto sliced = std::make_shared<ov::op::v8::Slice>(x, i64_values({0, 0}), i64_values({1, 1}), i64_values({1, 1}));
  line("axes ", sliced->get_default_const_axes(sliced->input_value(1))->cast_vector<int>().back());
  const auto broadcast = [](ov::PartialShape dst, const ov::PartialShape& src, const ov::op::AutoBroadcastSpec& spec) {
    const bool fits = ov::PartialShape::broadcast_merge_into(dst, src, spec);
    line("broadcast ", fits, ' ', fits ? dst : ov::PartialShape{});
  };
  broadcast({2, 1, 4}, {3, 1}, ov::op::AutoBroadcastType::NUMPY);
  broadcast({2, 1, -1}, {5, 5, 3, {1, 6}}, ov::op::AutoBroadcastType::NUMPY);
  broadcast({2, 3}, {2, 4}, ov::op::AutoBroadcastType::NUMPY);
  broadcast({2, 3, 4}, {3, 1}, {ov::op::AutoBroadcastType::PDPD, 1});
  broadcast({2, 3, 4}, {4}, ov::op::AutoBroadcastType::PDPD);
  broadcast({2, 3, 4}, {5}, ov::op::AutoBroadcastType::PDPD);
  broadcast({2, -1}, {-1, 3}, ov::op::AutoBroadcastType::NONE);
  // Marks, orders and replacements.
  auto relu = std::make_shared<ov::op::v0::Relu>(x);
  line("same source ", ov::op::util::input_sources_are_equal(sum, relu, 0),
       relu->get_instance_id() > x->get_instance_id());
  relu->input(0).get_rt_info()["mark"] = 3;
  line("mark ", relu->input(0).get_rt_info().at("mark").as<int>());
  auto later = std::make_shared<ov::op::v0::Tanh>(x);
  later->add_control_dependency(relu);
  line("dependents ", relu->get_control_dependents().size(), ' ', relu->get_control_dependents()[0] == later.get());
  relu->transfer_control_dependents(quotient);
  line("moved ", relu->get_control_dependents().size(), quotient->get_control_dependents().size(),
       later->get_control_dependencies()[0] == quotient);
  auto model = std::make_shared<ov::Model>(ov::OutputVector{relu}, ov::ParameterVector{x});
  auto other = f32_input({1, 4, 8, 8}, "other");
  ov::replace_nodes(model, {{x, other}}, {{relu, std::make_shared<ov::op::v0::Sigmoid>(other)}});
  model->validate_nodes_and_infer_types();
  line("replaced", sorted_types(model), ' ', model->output().get_shape());
  model->set_topological_sort([](const ov::NodeVector& roots) {
    auto sorted = ov::topological_sort(roots);
    std::reverse(sorted.begin(), sorted.end());
    return sorted;
  });
  line("ordered ", model->get_ordered_ops().size());
  const auto one = std::make_shared<Parameter>(ov::element::f32, ov::Shape{1, 8});
  auto gates = Constant::create(ov::element::f32, {4}, {1, 2, 3, 4});
  auto other_order = ov::op::util::convert_lstm_node_format(gates, ov::op::util::LSTMWeightsFormat::IOFC);
  auto ordered = std::make_shared<ov::Model>(ov::OutputVector{other_order}, ov::ParameterVector{one});
  ov::TensorVector parts{ov::Tensor(ov::element::f32, {4})};
  ordered->evaluate(parts, {ov::Tensor(ov::element::f32, {1, 8})});
  print_values("gates", parts[0]);
  line("clips ", ov::op::util::are_clips_equal(0, 2), ov::op::util::are_clips_equal(2, 2),
       ov::op::util::classify_rnn_clip(-1) == ov::op::util::RNNClipMode::INVALID);
  line("strides ", Constant::create(ov::element::f32, {2, 3}, {0})->get_strides());
  const ov::OpSet& set = ov::get_opset13();
  line("set ", set.contains_type(std::string("Relu")), set.contains_type(std::string("relu")),
       set.contains_type_insensitive("relu"), set.contains_type<ov::op::v1::Add>(),
       set.contains_type<ov::op::v1::TopK>(), set.contains_op_type(relu.get()),
       ov::get_available_opsets().count("opset16"), ov::get_opset1().contains_type(std::string("Loop")));
  int counted = 0;
#define _OPENVINO_OP_REG(name, space) counted += ov::is_type<space::name>(relu) ? 1 : 0;
#include <openvino/opsets/opset8_tbl.hpp>
#undef _OPENVINO_OP_REG
  line("by a macro ", counted);
  line("traits ", ov::util::Readable<int>::value, ov::util::Readable<ov::Shape>::value,
       ov::util::Istreamable<int>::value, ov::util::Ostreamable<ov::Shape>::value, ov::util::Writable<bool>::value,
       ov::util::Writable<std::vector<int>>::value, ov::util::ValueTyped<std::vector<int>>::value,
       ov::util::ValueTyped<int>::value, ov::util::equal(typeid(int), typeid(int)));
  line("upper halves ", ov::bfloat16::round_to_nearest(1.01F), ' ', ov::bfloat16::truncate(1.01F), ' ',
       ov::bfloat16::to_float_vector(ov::bfloat16::from_float_vector({0.5F, 3}))[1]);
}

void bounds() {
  auto x = f32_input({{1, 4}, 3, {2, 9}});
  auto shape = std::make_shared<ov::op::v3::ShapeOf>(x);
  auto larger = std::make_shared<ov::op::v1::Add>(shape, i64_values({2, 2, 2}));
  for (const std::shared_ptr<ov::Node>& node : ov::NodeVector{shape, larger}) {
    ov::TensorVector least{ov::Tensor(ov::element::i64, {3})}, most{ov::Tensor(ov::element::i64, {3})};
    const bool low = node->evaluate_lower(least), high = node->evaluate_upper(most);
    std::ostringstream text;
    for (int i = 0; i < 3; ++i)
      text << ' ' << least[0].data<std::int64_t>()[i] << ".." << most[0].data<std::int64_t>()[i];
    line(node->get_type_name(), ' ', low, high, text.str());
  }
  auto fixed = i64_values({2, 5});
  ov::TensorVector value{ov::Tensor(ov::element::i64, {2})};
  const bool is_known = fixed->evaluate_lower(value);
  line("constant ", is_known, ' ', value[0].data<std::int64_t>()[1]);
  auto unknown = f32_input({2});
  ov::Tensor low(ov::element::f32, {2}), high(ov::element::f32, {2});
  low.data<float>()[0] = -1, low.data<float>()[1] = 1, high.data<float>()[0] = 3, high.data<float>()[1] = 4;
  unknown->get_output_tensor(0).set_lower_value(low);
  unknown->get_output_tensor(0).set_upper_value(high);
  auto positive = std::make_shared<ov::op::v1::Maximum>(unknown, Constant::create(ov::element::f32, {1}, {0}));
  ov::TensorVector found{ov::Tensor(ov::element::f32, {2})};
  const bool is_said = positive->evaluate_lower(found);
  line("said ", is_said, ' ', found[0].data<float>()[0], ' ', found[0].data<float>()[1]);
  auto places = std::make_shared<ov::op::v0::Parameter>(ov::element::i64, ov::PartialShape{1});
  ov::Tensor first(ov::element::i64, {1}), second(ov::element::i64, {1});
  first.data<std::int64_t>()[0] = 0, second.data<std::int64_t>()[0] = 1;
  places->get_output_tensor(0).set_lower_value(first);
  places->get_output_tensor(0).set_upper_value(second);
  auto one = std::make_shared<ov::op::v8::Gather>(i64_values({7, 3}), places, i64_values({0}));
  ov::TensorVector taken{ov::Tensor(ov::element::i64, {1})};
  line("at an unknown place ", one->evaluate_lower(taken), one->evaluate_upper(taken));
  unknown->invalidate_values();
  line("forgotten ", static_cast<bool>(unknown->get_output_tensor(0).get_lower_value()),
       std::make_shared<ov::op::v0::Relu>(f32_input({2}))->evaluate_lower(found));
}

}  // namespace

void asking() {
  queries();
  bounds();
}
