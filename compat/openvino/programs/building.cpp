// SPDX-License-Identifier: Apache-2.0
// Models that are built by code.
#include <algorithm>
#include <memory>
#include <vector>

#include <openvino/op/ops.hpp>
#include <openvino/opsets/opset1.hpp>
#include <openvino/opsets/opset13.hpp>
#include <openvino/opsets/opset8.hpp>
#include <openvino/pass/constant_folding.hpp>
#include <openvino/pass/manager.hpp>

#include "programs.hpp"

namespace {

using ov::op::v0::Constant;

std::shared_ptr<Constant> numbers(const ov::Shape& shape, float first, float step = 0.5F) {
  std::vector<float> values(ov::shape_size(shape));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + step * static_cast<float>(i % 11);
  return Constant::create(ov::element::f32, shape, values);
}
std::shared_ptr<Constant> integers(const std::vector<std::int64_t>& values) {
  return Constant::create(ov::element::i64, {values.size()}, values);
}

/// Builds a model over one input, runs it, and prints every output as floats.
template <typename F>
void built(ov::Core& core, const std::string& name, const ov::Shape& shape, F&& build) {
  auto input = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, shape);
  input->set_friendly_name("input");
  const ov::OutputVector outputs = build(ov::Output<ov::Node>(input));
  ov::OutputVector floats;
  for (const auto& output : outputs) floats.push_back(std::make_shared<ov::op::v0::Convert>(output, ov::element::f32));
  const auto model = std::make_shared<ov::Model>(floats, ov::ParameterVector{input}, name);
  ov::InferRequest request =
      core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32)).create_infer_request();
  ov::Tensor tensor = request.get_input_tensor();
  for (std::size_t i = 0; i < tensor.get_size(); ++i) tensor.data<float>()[i] = static_cast<float>(i % 7) - 2.0F;
  request.infer();
  for (std::size_t i = 0; i < outputs.size(); ++i) print_values(name, request.get_output_tensor(i), 6);
}

}  // namespace

void building() {
  ov::Core core;
  built(core, "convolution", {1, 2, 6, 6}, [](const auto& x) -> ov::OutputVector {
    auto convolution = std::make_shared<ov::op::v1::Convolution>(x, numbers({3, 2, 3, 3}, -1), ov::Strides{1, 1},
                                                                 ov::CoordinateDiff{1, 1}, ov::CoordinateDiff{1, 1},
                                                                 ov::Strides{1, 1});
    auto bias = std::make_shared<ov::op::v1::Add>(convolution, numbers({1, 3, 1, 1}, 1));
    auto relu = std::make_shared<ov::op::v0::Relu>(bias);
    auto pool =
        std::make_shared<ov::op::v1::MaxPool>(relu, ov::Strides{2, 2}, ov::Shape{0, 0}, ov::Shape{0, 0},
                                              ov::Shape{2, 2}, ov::op::RoundingType::FLOOR, ov::op::PadType::VALID);
    auto mean = std::make_shared<ov::op::v1::AvgPool>(relu, ov::Strides{3, 3}, ov::Shape{0, 0}, ov::Shape{0, 0},
                                                      ov::Shape{3, 3}, true);
    auto group = std::make_shared<ov::opset8::GroupConvolution>(pool, numbers({3, 1, 1, 1, 1}, 2), ov::Strides{1, 1},
                                                                ov::CoordinateDiff{0, 0}, ov::CoordinateDiff{0, 0},
                                                                ov::Strides{1, 1});
    return {pool, mean, group};
  });
  built(core, "dense", {2, 3}, [](const auto& x) -> ov::OutputVector {
    auto product = std::make_shared<ov::op::v0::MatMul>(x, numbers({4, 3}, 0.25F), false, true);
    auto softmax = std::make_shared<ov::op::v8::Softmax>(product, -1);
    auto top =
        std::make_shared<ov::op::v11::TopK>(product, Constant::create(ov::element::i64, {}, {2}), 1,
                                            ov::op::v11::TopK::Mode::MAX, ov::op::v11::TopK::SortType::SORT_VALUES);
    auto sum = std::make_shared<ov::opset13::ReduceSum>(softmax, integers({1}), true);
    return {softmax, top->output(0), top->output(1), sum};
  });
  built(core, "shapes", {2, 3, 4}, [](const auto& x) -> ov::OutputVector {
    auto reshaped = std::make_shared<ov::op::v1::Reshape>(x, integers({0, -1}), true);
    auto transposed = std::make_shared<ov::op::v1::Transpose>(x, integers({2, 0, 1}));
    auto joined = std::make_shared<ov::op::v0::Concat>(ov::OutputVector{x, x}, 1);
    auto parts = std::make_shared<ov::op::v1::Split>(x, Constant::create(ov::element::i64, {}, {1}), 3);
    auto gathered = std::make_shared<ov::op::v8::Gather>(x, integers({1, 0}), integers({0}));
    auto sliced = std::make_shared<ov::op::v8::Slice>(x, integers({1}), integers({4}), integers({2}), integers({2}));
    auto strided = std::make_shared<ov::op::v1::StridedSlice>(x, integers({0, 1, 0}), integers({2, 3, 4}),
                                                              integers({1, 1, 2}), std::vector<std::int64_t>{0, 0, 0},
                                                              std::vector<std::int64_t>{0, 0, 0});
    auto squeezed = std::make_shared<ov::op::v0::Squeeze>(parts->output(1), integers({1}));
    auto raised = std::make_shared<ov::op::v0::Unsqueeze>(squeezed, integers({0}));
    auto shape = std::make_shared<ov::op::v3::ShapeOf>(joined);
    auto padded = std::make_shared<ov::op::v1::Pad>(x, integers({0, 0, 1}), integers({0, 0, 1}), numbers({}, 5),
                                                    ov::op::PadMode::CONSTANT);
    auto spread = std::make_shared<ov::op::v3::Broadcast>(squeezed, integers({2, 2, 4}));
    auto tiled = std::make_shared<ov::op::v0::Tile>(squeezed, integers({1, 2}));
    return {reshaped, transposed, joined, gathered, sliced, strided, raised, shape, padded, spread, tiled};
  });
  built(core, "elements", {2, 3}, [](const auto& x) -> ov::OutputVector {
    auto two = numbers({}, 2);
    auto clamped = std::make_shared<ov::op::v0::Clamp>(x, -1, 1);
    auto power = std::make_shared<ov::op::v1::Power>(x, two);
    auto greater = std::make_shared<ov::op::v1::Greater>(x, two);
    auto chosen = std::make_shared<ov::op::v1::Select>(greater, x, two);
    auto sigmoid = std::make_shared<ov::op::v0::Sigmoid>(x);
    auto gelu = std::make_shared<ov::op::v7::Gelu>(x, ov::op::GeluApproximationMode::ERF);
    auto swish = std::make_shared<ov::op::v4::Swish>(x);
    auto elu = std::make_shared<ov::op::v0::Elu>(x, 0.5);
    auto rounded = std::make_shared<ov::op::v5::Round>(sigmoid, ov::op::v5::Round::RoundMode::HALF_TO_EVEN);
    auto floor = std::make_shared<ov::op::v0::Floor>(sigmoid);
    auto mvn = std::make_shared<ov::op::v6::MVN>(x, integers({1}), true, 1e-5F, ov::op::MVNEpsMode::INSIDE_SQRT);
    auto normal = std::make_shared<ov::op::v0::NormalizeL2>(x, integers({1}), 1e-5F, ov::op::EpsMode::ADD);
    auto quantized = std::make_shared<ov::op::v0::FakeQuantize>(x, numbers({}, -2), numbers({}, 2), numbers({}, -2),
                                                                numbers({}, 2), 5);
    return {clamped, power, greater, chosen, sigmoid, gelu, swish, elu, rounded, floor, mvn, normal, quantized};
  });
  built(core, "resized", {1, 1, 2, 2}, [](const auto& x) -> ov::OutputVector {
    using Base = ov::op::v4::Interpolate;
    Base::InterpolateAttrs attributes;
    attributes.mode = Base::InterpolateMode::LINEAR_ONNX;
    attributes.shape_calculation_mode = Base::ShapeCalcMode::SIZES;
    attributes.pads_begin = {0, 0, 0, 0};
    attributes.pads_end = {0, 0, 0, 0};
    return {std::make_shared<Base>(x, integers({4, 4}), numbers({2}, 2, 0), integers({2, 3}), attributes)};
  });

  // Results that are given, and a network as OpenVINO's sample builds it.
  {
    using namespace ov;
    auto image = std::make_shared<opset8::Parameter>(element::Type_t::f32, Shape({2, 1, 4, 4}));
    const std::vector<float> weights(18, 0.5F);
    const auto* data = reinterpret_cast<const std::uint8_t*>(weights.data());
    std::vector<std::ptrdiff_t> none{0, 0};
    auto filters = std::make_shared<opset8::Constant>(element::Type_t::f32, Shape{2, 1, 3, 3}, data);
    auto filtered = std::make_shared<opset8::Convolution>(image->output(0), filters->output(0), Strides({1, 1}),
                                                          CoordinateDiff(none), CoordinateDiff(none), Strides({1, 1}));
    auto flat = std::make_shared<opset8::Reshape>(filtered->output(0),
                                                  opset8::Constant::create(element::i64, {2}, {0, -1}), true);
    auto chances = std::make_shared<opset8::Softmax>(flat->output(0), 1);
    chances->get_output_tensor(0).set_names({"chances"});
    auto result = std::make_shared<opset8::Result>(chances->output(0));
    auto model = std::make_shared<ov::Model>(result, ParameterVector{image}, "network");
    line(model->get_results().at(0) == result, ' ', model->get_ops().size(), ' ', model->output("chances").get_shape(),
         ' ', shape_size(model->input().get_shape()));
    layout::set_layout(model->input(), "NCHW");
    set_batch(model, 3);
    line(model->input().get_shape(), ' ', model->output().get_shape());
    char device[] = "CPU";
    InferRequest request = Core{}.compile_model(model, device).create_infer_request();
    const Tensor input = request.get_input_tensor();
    std::fill_n(const_cast<float*>(input.data<float>()), input.get_size(), 1.0F);
    request.infer();
    print_values("chances", request.get_tensor("chances"), 2);
    const opset13::ScatterElementsUpdate scatter(numbers({2, 2}, 1), Constant::create(element::i64, {1, 2}, {0, 1}),
                                                 numbers({1, 2}, 5), integers({0}),
                                                 opset13::ScatterElementsUpdate::Reduction::SUM);
    line(scatter.get_output_shape(0), ' ', scatter.get_type_info().version_id);
  }

  // A state.
  auto input = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{1, 2});
  auto variable =
      std::make_shared<ov::op::util::Variable>(ov::op::util::VariableInfo{{1, 2}, ov::element::f32, "count"});
  auto read = std::make_shared<ov::op::v6::ReadValue>(numbers({1, 2}, 1), variable);
  auto next = std::make_shared<ov::op::v1::Add>(read, input);
  auto assign = std::make_shared<ov::op::v6::Assign>(next, variable);
  auto model = std::make_shared<ov::Model>(ov::OutputVector{next}, ov::SinkVector{assign}, ov::ParameterVector{input},
                                           "counting");
  line(model->get_sinks().size(), ' ', model->get_ops().size());
  ov::InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  std::fill_n(request.get_input_tensor().data<float>(), 2, 3.0F);
  request.infer();
  request.infer();
  print_values("count", request.get_output_tensor());

  // Attributes, and passes.
  const ov::op::v1::Convolution convolution(
      std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::Shape{1, 2, 6, 6}), numbers({3, 2, 3, 3}, 0),
      ov::Strides{2, 1}, ov::CoordinateDiff{1, 0}, ov::CoordinateDiff{0, 1}, ov::Strides{1, 1});
  line(convolution.get_strides(), ' ', convolution.get_pads_begin(), ' ', convolution.get_dilations());
  const ov::op::v0::MatMul matrices(input, numbers({2, 2}, 0), false, true);
  const ov::op::v0::Convert converted(input, ov::element::i32);
  line(matrices.get_transpose_a(), matrices.get_transpose_b(), ' ', converted.get_destination_type());
  auto folded_input = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::Shape{2});
  auto folded = std::make_shared<ov::Model>(
      ov::OutputVector{std::make_shared<ov::op::v1::Add>(
          folded_input, std::make_shared<ov::op::v1::Add>(numbers({2}, 1), numbers({2}, 2)))},
      ov::ParameterVector{folded_input});
  const std::size_t before = folded->get_ops().size();
  ov::pass::Manager manager;
  manager.register_pass_instance(std::make_shared<ov::pass::ConstantFolding>());
  manager.run_passes(folded);
  line(before, ' ', folded->get_ops().size());

  // Classes of nodes, of a model that is read, too.
  for (const auto& node : small_model(core)->get_ordered_ops()) {
    if (ov::as_type_ptr<ov::op::v1::Add>(node)) line("an addition: ", node->get_friendly_name());
    if (ov::is_type<ov::op::v0::Relu>(node))
      line("a ReLU: ", node->get_type_info().name, ' ', node->get_type_info().version_id);
    if (std::dynamic_pointer_cast<ov::opset1::Relu>(node)) line("by its operation set");
    if (ov::is_type_any_of<ov::op::v0::MatMul, ov::op::v1::Convolution>(node)) line("never");
  }
  line(next->get_friendly_name() == next->get_name(), ' ', next->get_input_size(), ' ',
       next->input_value(0).get_node() == read.get(), ' ', next->get_default_output() == next->output(0), ' ',
       read->get_users().size(), ' ', next->get_output_partial_shape(0));
  line(ov::as_output_vector({input, next}).size(), ' ', ov::as_node_vector({input->output(0)}).at(0) == input, ' ',
       ov::as_result_vector({next->output(0)}).at(0)->get_input_size());
  const auto other = next->clone_with_new_inputs({input, input});
  line(ov::is_type<ov::op::v1::Add>(other), ' ', other != next, ' ', other->input_value(1).get_node() == input.get());
  ov::replace_node(read, input);
  line(next->input_value(0).get_node() == input.get());
  refused("shapes that do not fit", [&] { std::make_shared<ov::op::v1::Add>(input, numbers({3, 5}, 0)); });
  refused("matrices that do not fit", [&] { std::make_shared<ov::op::v0::MatMul>(input, numbers({3, 5}, 0)); });
  refused("a parameter that is not listed", [&] { ov::Model(ov::OutputVector{next}, ov::ParameterVector{}); });
}
