// SPDX-License-Identifier: Apache-2.0
// Nodes that are made part by part, inputs that constructors leave out, constants over memory, attributes in rt_info, passes that write and match.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <openvino/core/graph_util.hpp>
#include <openvino/op/ops.hpp>
#include <openvino/opsets/opset.hpp>
#include <openvino/pass/low_latency.hpp>
#include <openvino/pass/pattern/multi_matcher.hpp>
#include <openvino/pass/pattern/op/wrap_type.hpp>
#include <openvino/pass/serialize.hpp>
#include <openvino/pass/visualize_tree.hpp>
#include <openvino/runtime/auto/properties.hpp>

#include "programs.hpp"

namespace {

namespace op = ov::op;
namespace pattern = ov::pass::pattern;
using op::v0::Constant;

void empty_nodes(const ov::Output<ov::Node>& x) {
  auto relu = std::make_shared<op::v0::Relu>();
  line("empty ", relu->get_type_name(), ' ', relu->get_input_size(), relu->get_output_size());
  relu->set_friendly_name("made later");
  relu->set_arguments(ov::OutputVector{x});
  relu->validate_and_infer_types();
  line(relu->get_output_partial_shape(0), ' ', relu->get_friendly_name(), ' ', x.get_target_inputs().size());
  auto window = std::make_shared<op::v1::Convolution>();
  window->set_strides({1, 1});
  window->set_dilations({1, 1});
  window->set_pads_begin({0, 0});
  window->set_pads_end({0, 0});
  window->set_argument(0, f32_input({1, 3, 4, 4}));
  window->set_argument(1, f32_input({2, 3, 1, 1}));
  window->validate_and_infer_types();
  line(window->get_output_partial_shape(0), ' ', window->get_auto_pad() == op::PadType::EXPLICIT);
  auto joined = std::make_shared<op::v0::Concat>();
  joined->set_axis(1);
  joined->set_arguments(ov::NodeVector{f32_input({1, 2}), f32_input({1, 3})});
  joined->validate_and_infer_types();
  line(joined->get_output_partial_shape(0), ' ', joined->get_axis());
  auto limits = std::make_shared<op::v0::Clamp>();
  limits->set_min(-1);
  limits->set_max(2);
  limits->set_arguments(ov::OutputVector{x});
  limits->validate_and_infer_types();
  line(limits->get_output_partial_shape(0), ' ', limits->get_min(), ' ', limits->get_max());
  refused("no inputs", [] { std::make_shared<op::v1::Add>()->validate_and_infer_types(); });

  const ov::OpSet& set = ov::get_opset8();
  const std::shared_ptr<ov::Node> sum(set.create_insensitive("aDD"));
  sum->set_arguments(ov::NodeVector{f32_input({2, 1}), f32_input({1, 3})});
  sum->validate_and_infer_types();
  line(sum->get_type_name(), sum->get_output_partial_shape(0), ' ', set.create("Nothing") == nullptr);
  const std::shared_ptr<ov::Node> copy = sum->copy_with_new_inputs(ov::OutputVector{x, x}, ov::NodeVector{limits});
  line(copy->get_output_partial_shape(0), ' ', copy->get_control_dependencies().size());
  auto model = std::make_shared<ov::Model>(
      ov::OutputVector{relu, limits}, ov::ParameterVector{ov::as_type_ptr<op::v0::Parameter>(x.get_node_shared_ptr())});
  ov::TensorVector outputs(2);
  ov::EvaluationContext context;
  ov::Tensor input(ov::element::f32, x.get_shape());
  for (std::size_t i = 0; i < input.get_size(); ++i) input.data<float>()[i] = static_cast<float>(i) - 3;
  line(model->evaluate(outputs, {input}, context));
  print_values("relu", outputs[0]);
  print_values("limits", outputs[1]);
}

void left_out(const ov::Output<ov::Node>& x) {
  const auto in = [](const ov::PartialShape& shape) { return f32_input(shape); };
  auto lstm = std::make_shared<op::v4::LSTMCell>(in({1, 3}), in({1, 2}), in({1, 2}), in({8, 3}), in({8, 2}), 2);
  line("LSTMCell ", lstm->get_input_size(), lstm->get_output_partial_shape(1), lstm->get_input_partial_shape(5));
  auto gru = std::make_shared<op::v3::GRUCell>(in({1, 3}), in({1, 2}), in({6, 3}), in({6, 2}), 2);
  line("GRUCell ", gru->get_input_size(), gru->get_output_partial_shape(0), gru->get_input_partial_shape(4));
  gru = std::make_shared<op::v3::GRUCell>(in({1, 3}), in({1, 2}), in({6, 3}), in({6, 2}), 2,
                                          std::vector<std::string>{"sigmoid", "tanh"}, std::vector<float>{},
                                          std::vector<float>{}, 0.0F, true);
  line("GRUCell ", gru->get_input_partial_shape(4));
  auto rnn = std::make_shared<op::v0::RNNCell>(in({1, 3}), in({1, 2}), in({2, 3}), in({2, 2}), 2);
  line("RNNCell ", rnn->get_output_partial_shape(0), rnn->get_input_partial_shape(4));
  auto sums = std::make_shared<op::v0::CumSum>(x);
  line("CumSum ", sums->get_input_element_type(1), sums->get_input_shape(1));
  auto lrn = std::make_shared<op::v0::LRN>(x, 1.0, 2.0, 3.0, 3);
  line("LRN ", lrn->get_input_element_type(1), lrn->get_input_shape(1), lrn->get_reduction_axes());
  auto mvn = std::make_shared<op::v0::MVN>(x, ov::AxisSet{1, 2, 3});
  line("MVN ", mvn->get_across_channels(), mvn->get_reduction_axes());
  line("MVN ", std::make_shared<op::v0::MVN>(x, false)->get_reduction_axes());
  line("NonZero ", std::make_shared<op::v3::NonZero>(x, std::string("i32"))->get_output_element_type(0));
  const auto node = x.get_node_shared_ptr();
  line("Concat ", std::make_shared<op::v0::Concat>(ov::NodeVector{node, node}, 0)->get_output_shape(0));
  auto wider = std::make_shared<op::v1::GroupConvolutionBackpropData>(in({1, 2, 4, 4}), in({1, 2, 3, 2, 2}),
                                                                      i64_values({8, 8}), ov::Strides{2, 2},
                                                                      ov::Strides{1, 1}, op::PadType::SAME_UPPER);
  line("GroupConvolutionBackpropData ", wider->get_output_partial_shape(0));
  auto means = std::make_shared<op::v16::AvgPool>(in({1, 2, 4, 4}), ov::Strides{1, 1}, ov::Shape{0, 0}, ov::Shape{0, 0},
                                                  ov::Shape{2, 2}, true);
  line("AvgPool ", means->get_output_partial_shape(0), means->get_dilations());
  auto repeated = std::make_shared<op::v1::Broadcast>(in({3}), i64_values({3, 4}), i64_values({0}));
  line("Broadcast ", repeated->get_output_partial_shape(0), ' ',
       repeated->get_broadcast_spec().m_type == op::AutoBroadcastType::EXPLICIT);
  auto attention = std::make_shared<op::v13::ScaledDotProductAttention>(
      ov::OutputVector{in({1, 2, 4}), in({1, 3, 4}), in({1, 3, 4})}, false);
  line("ScaledDotProductAttention ", attention->get_output_partial_shape(0));
  using Encoding = op::v3::NonMaxSuppression::BoxEncodingType;
  auto boxes = std::make_shared<op::v4::NonMaxSuppression>(
      in({1, 5, 4}), in({1, 2, 5}), Constant::create(ov::element::i64, {}, {2}),
      Constant::create(ov::element::f32, {}, {0.5}), Constant::create(ov::element::f32, {}, {0.5}), Encoding::CENTER);
  line("NonMaxSuppression ", boxes->get_box_encoding() == Encoding::CENTER);
  line(ov::PartialShape{1, 2} + ov::PartialShape{3, ov::Dimension(1, 4)});
}

void texts_and_memory() {
  const Constant texts(ov::element::string, ov::Shape{2}, std::vector<std::string>{"a", "b"});
  line(texts.get_vector<std::string>()[1], texts.cast_vector<std::string>()[0]);
  line(Constant::create(ov::element::string, ov::Shape{2}, std::vector<std::string>{"u", "v"})
           ->get_vector<std::string>()[0]);
  auto memory = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  auto over = std::make_shared<Constant>(ov::element::f32, ov::Shape{2, 2}, memory->data(), memory);
  const Constant flat(*over, ov::Shape{4}), same(*over);
  line(over->get_data_ptr() == memory->data(), flat.get_data_ptr() == memory->data(), flat.get_shape(),
       same.get_shape(), same.cast_vector<int>()[3]);
  refused("another count", [&] { Constant(*over, ov::Shape{3}); });
  line("kept ", memory.use_count() > 1);
}

void attributes_in_rt_info(ov::Core& core) {
  using MemoryType = ov::preprocess::TensorInfoMemoryType;
  auto model = small_model(core);
  ov::preprocess::PrePostProcessor p(model);
  p.input().tensor().set_layout("NHWC").set_memory_type("GPU_SURFACE").set_shape({1, 4, 4, 3});
  p.input().model().set_layout("NCHW");
  model = p.build();
  auto& info = model->input().get_rt_info();
  line(std::string(MemoryType::get_type_info_static()), ' ', std::string(ov::LayoutAttribute::get_type_info_static()));
  line(info.at("memory_type_0").as<MemoryType>().value, ' ',
       info.at("layout_0").as<ov::LayoutAttribute>().value.to_string());

  auto x = f32_input({1, 3});
  x->output(0).get_rt_info()[ov::LayoutAttribute::get_type_info_static()] = ov::LayoutAttribute(ov::Layout("NC"));
  line(ov::layout::get_layout(x->output(0)).to_string(), x->get_layout().to_string());
  x->set_layout("?C");
  line(x->output(0).get_rt_info().at("layout_0").as<ov::LayoutAttribute>().to_string());
  x->output(0).get_rt_info()[MemoryType::get_type_info_static()] = MemoryType("mine");
  auto written =
      std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<op::v0::Relu>(x)}, ov::ParameterVector{x});
  std::stringstream xml, bin;
  ov::pass::Serialize(xml, bin).run_on_model(written);
  auto again = core.read_model(xml.str(), ov::Tensor());
  for (const auto& [key, value] : again->input().get_rt_info())
    line(key, ' ',
         value.is<MemoryType>() ? value.as<MemoryType>().value : value.as<ov::LayoutAttribute>().value.to_string());
}

void passes_that_write(const ov::Output<ov::Node>& x) {
  const auto parameter = ov::as_type_ptr<op::v0::Parameter>(x.get_node_shared_ptr());
  auto first = std::make_shared<op::v0::Tanh>(x), second = std::make_shared<op::v0::Tanh>(first);
  auto positive = std::make_shared<op::v0::Abs>(second);
  auto model = std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<op::v1::Add>(positive, first)},
                                           ov::ParameterVector{parameter});
  auto any = pattern::any_input();
  auto tanh = pattern::wrap_type<op::v0::Tanh>(), abs = pattern::wrap_type<op::v0::Abs>({any});
  ov::pass::MultiMatcher both("both");
  using Matches = std::unordered_map<std::shared_ptr<ov::Node>, std::vector<pattern::PatternValueMap>>;
  both.register_patterns({tanh, abs}, [&](const Matches& all) {
    line("matches ", all.size(), all.at(tanh).size(), all.at(abs).size(), ' ',
         all.at(abs)[0].at(any).get_node() == second.get());
  });
  line(both.run_on_model(model));
  ov::pass::MultiMatcher none;
  none.register_patterns({pattern::wrap_type<op::v0::Exp>()}, [](const Matches&) { line("called"); });
  line(none.run_on_model(model));

  auto sum = std::make_shared<ov::Model>(
      ov::OutputVector{std::make_shared<op::v1::Add>(x, Constant::create(ov::element::f32, {1}, {3}))},
      ov::ParameterVector{parameter});
  std::stringstream stream;
  stream << "before";
  ov::pass::StreamSerialize(
      stream, [](std::ostream& out) { out << "custom!"; }, [](const std::string& text) { return text + "##"; })
      .run_on_model(sum);
  const std::string all = stream.str();
  ov::pass::StreamSerialize::DataHeader header{};
  std::memcpy(&header, all.data() + 6, sizeof(header));
  line(header.custom_data_offset, ' ', header.custom_data_size, ' ', header.consts_offset, ' ', header.consts_size, ' ',
       header.model_offset + header.model_size == all.size(), ' ', all.substr(header.custom_data_offset, 7), ' ',
       all.substr(header.model_offset, 5), all.substr(all.size() - 2));

  const auto file = std::filesystem::temp_directory_path() / ("openvino_parts_" + std::to_string(::getpid()) + ".dot");
  ov::pass::VisualizeTree pictured(file.string(), nullptr, true);
  pictured.set_ops_to_details({{op::v0::Abs::get_type_info_static(), [](const ov::Node& node, std::ostream& out) {
                                  out << "detail of " << node.get_type_name();
                                }}});
  pictured.run_on_model(model);
  std::stringstream picture;
  picture << std::ifstream(file).rdbuf();
  line("detail ", picture.str().find("detail of Abs") != std::string::npos);

  std::ofstream(file, std::ios::binary).write("\1\0\0\0\2\0\0\0\3\0\0\0", 12);
  const ov::Tensor numbers =
      ov::read_tensor_data(::open(file.c_str(), O_RDONLY), ov::element::i32, ov::PartialShape{-1}, 4);
  line(numbers.get_shape(), numbers.data<const std::int32_t>()[0], numbers.data<const std::int32_t>()[1]);
  std::filesystem::remove(file);
}

void states_of_other_shapes() {
  const auto variable = std::make_shared<op::util::Variable>(op::util::VariableInfo{{1, 2}, ov::element::f32, "state"});
  auto x = f32_input({1, 2});
  auto read = std::make_shared<op::v6::ReadValue>(x, variable);
  auto sum = std::make_shared<op::v1::Add>(read, x);
  auto write = std::make_shared<op::v6::Assign>(sum, variable);
  auto model = std::make_shared<ov::Model>(ov::OutputVector{sum}, ov::SinkVector{write}, ov::ParameterVector{x});
  model->reshape(ov::PartialShape{3, 2}, {{"state", {3, 2}}});
  line(model->output().get_partial_shape(), model->get_variable_by_id("state")->get_info().data_shape);
  refused("a state of the old shape", [&] { model->reshape(ov::PartialShape{4, 2}); });
  model->remove_sink(write);
  line("sinks ", model->get_sinks().size());
}

/// What a bound's reference says stays where it is while nothing changes: another thread may ask for it meanwhile.
void references_to_bounds() {
  auto extents = std::make_shared<op::v3::ShapeOf>(f32_input({ov::Dimension(1, 4), 3}));
  const ov::descriptor::Tensor& tensor = extents->get_output_tensor(0);
  const auto place = [](const ov::Tensor& bound) { return bound ? bound.data() : nullptr; };
  const ov::Tensor &lower = tensor.get_lower_value(), &upper = tensor.get_upper_value();
  const void *lower_at = place(lower), *upper_at = place(upper);
  line("bounds stay ", place(tensor.get_lower_value()) == lower_at, place(tensor.get_upper_value()) == upper_at,
       place(lower) == lower_at, place(upper) == upper_at);
}

void orders_and_regions() {
  auto x = f32_input({1, 3, 2}, "x"), y = f32_input({1, 3, 2}, "y");
  auto parts = std::make_shared<op::v1::Split>(x, Constant::create(ov::element::i64, {}, {1}), 3);
  parts->set_friendly_name("parts");
  auto relu = std::make_shared<op::v0::Relu>(parts->output(1));
  relu->set_friendly_name("relu");
  auto sum = std::make_shared<op::v1::Add>(relu, y);
  sum->set_friendly_name("sum");
  ov::ResultVector results;
  for (const auto& output : ov::OutputVector{parts->output(0), relu, sum}) {
    results.push_back(std::make_shared<op::v0::Result>(output));
    results.back()->set_friendly_name("r" + std::to_string(results.size()));
  }
  auto model = std::make_shared<ov::Model>(results, ov::ParameterVector{x, y});
  std::string names;
  for (const auto& node : model->get_ordered_ops())
    if (!ov::is_type<Constant>(node)) names += ' ' + node->get_friendly_name();
  line("order", names);
  std::ostringstream printed;
  printed << *model;
  line(printed.str() == "Model(" + model->get_name() + ")");

  // What is left over from a change is no reader of what stays.
  auto kept = std::make_shared<op::v0::Tanh>(std::make_shared<op::v0::Abs>(x));
  auto last = std::make_shared<op::v0::Negative>(kept);
  last->set_friendly_name("last");
  auto chain = std::make_shared<ov::Model>(ov::OutputVector{last}, ov::ParameterVector{x});
  auto left_over = std::make_shared<op::v0::Relu>(kept);
  line(kept->get_users().size(), kept->get_users(true).size(), left_over->get_users(true).size());
  const bool replaced = ov::replace_output_update_name(last->output(0), kept->output(0));
  line(replaced, ' ', kept->get_friendly_name(), ' ', chain->get_ordered_ops().size());

  ov::Tensor whole(ov::element::f32, {4, 6});
  for (std::size_t i = 0; i < whole.get_size(); ++i) whole.data<float>()[i] = static_cast<float>(i);
  ov::Tensor part(whole, {1, 2}, {3, 5});
  part.set_shape({1, 3});
  line(part.get_shape(), part.get_strides(), part.data<float>()[2]);
  part.set_shape({2, 2});
  line(part.get_shape(), part.get_strides());
  refused("a part that grows", [&] { part.set_shape({3, 3}); });
  float numbers[12] = {};
  refused("rows that overlap", [&] { ov::Tensor(ov::element::f32, {3, 4}, numbers, ov::Strides{8, 4}); });
  refused("half an element", [&] { ov::Tensor(ov::element::f32, {2, 2}, numbers, ov::Strides{18, 4}); });
  line(ov::Dimension(1, 5).same_scheme(ov::Dimension(3, 9)), ov::Dimension(3).same_scheme(4),
       ov::PartialShape{2, -1}.same_scheme(ov::PartialShape{2, ov::Dimension(1, 4)}),
       ov::PartialShape{2, -1}.same_scheme(ov::PartialShape{2, 3}));
}

void kept_properties(ov::Core& core) {
  core.set_property("AUTO", ov::intel_auto::low_power_device("CPU"));
  line(core.get_property("AUTO", ov::intel_auto::low_power_device));
  core.set_property("AUTO",
                    ov::intel_auto::devices_utilization_threshold(std::map<std::string, unsigned>{{"CPU", 80}}));
  line(core.get_property("AUTO", ov::intel_auto::devices_utilization_threshold).at("CPU"));
  core.set_property("AUTO", ov::intel_auto::perf_curve_table(ov::intel_auto::PerfCurveTable{{"CPU", {{50, 1.5F}}}}));
  line(core.get_property("AUTO", ov::intel_auto::perf_curve_table).at("CPU").at(50));
  core.set_property("AUTO", ov::intel_auto::device_bind_buffer(true));
  line(core.get_property("AUTO", ov::intel_auto::device_bind_buffer));
  refused("no percent", [&] { core.set_property("AUTO", {{"DEVICES_UTILIZATION_THRESHOLD", "CPU"}}); });
}

}  // namespace

void parts() {
  ov::Core core;
  auto x = f32_input({1, 2, 2, 3});
  empty_nodes(x);
  left_out(x);
  texts_and_memory();
  attributes_in_rt_info(core);
  passes_that_write(x);
  states_of_other_shapes();
  references_to_bounds();
  orders_and_regions();
  kept_properties(core);
}
