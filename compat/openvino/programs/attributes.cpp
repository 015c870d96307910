// SPDX-License-Identifier: Apache-2.0
// Attributes of operations: visitors, functions that read and set them, structures, enumerations; and what is done with nodes.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include <openvino/core/attribute_visitor.hpp>
#include <openvino/core/enum_names.hpp>
#include <openvino/core/graph_util.hpp>
#include <openvino/core/interval.hpp>
#include <openvino/core/rt_info.hpp>
#include <openvino/op/ops.hpp>
#include <openvino/op/util/op_types.hpp>
#include <openvino/opsets/opset13.hpp>
#include <openvino/pass/manager.hpp>

#include "programs.hpp"

namespace {
/// An enumeration of the program's own.
enum class Colour { RED, GREEN };
}  // namespace
template <>
ov::EnumNames<Colour>& ov::EnumNames<Colour>::get() {
  static auto names = ov::EnumNames<Colour>("Colour", {{"red", Colour::RED}, {"green", Colour::GREEN}});
  return names;
}

namespace {
namespace op = ov::op;
using Changes = std::map<std::string, std::string>;

/// Collects what it is shown, as text; renames and changes what the map names.
class Collector final : public ov::AttributeVisitor {
 public:
  explicit Collector(Changes changes = {}) : changes_(std::move(changes)) {}
  using AttributeVisitor::on_adapter;
  void on_adapter(const std::string& name, ov::ValueAccessor<void>&) override { seen_[name] = "?"; }
  void on_adapter(const std::string& name, ov::ValueAccessor<void*>& adapter) override {
    seen_[name] = std::to_string(adapter.size()) + " bytes";
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<std::string>& adapter) override {
    if (changes_.count(name)) adapter.set(changes_[name]);
    seen_[name] = adapter.get();
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<bool>& adapter) override {
    if (changes_.count(name)) adapter.set(changes_[name] == "true");
    seen_[name] = adapter.get() ? "true" : "false";
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<std::int64_t>& adapter) override {
    if (changes_.count(name)) adapter.set(std::stoll(changes_[name]));
    seen_[name] = std::to_string(adapter.get());
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<double>& adapter) override {
    std::ostringstream text;
    text << adapter.get();
    seen_[name] = text.str();
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<std::vector<std::int64_t>>& adapter) override {
    for (const auto each : adapter.get()) seen_[name] += std::to_string(each) + ",";
  }
  void print(const std::string& what, const std::vector<std::string>& names) const {
    std::cout << what << ':';
    for (const std::string& name : names) {
      const auto found = seen_.find(name);
      std::cout << ' ' << name << '=' << (found == seen_.end() ? "missing" : found->second);
    }
    std::cout << '\n';
  }

 private:
  Changes changes_, seen_;
};

void visitors() {
  auto x = std::make_shared<op::v0::Parameter>(ov::element::f32, ov::Shape{1, 2, 8, 8});
  auto filters = op::v0::Constant::create(ov::element::f32, {3, 2, 3, 3}, std::vector<float>(54, 1.0F));
  auto convolution = std::make_shared<op::v1::Convolution>(x, filters, ov::Strides{1, 2}, ov::CoordinateDiff{1, 0},
                                                           ov::CoordinateDiff{0, 1}, ov::Strides{1, 1});
  Collector seen;
  convolution->visit_attributes(seen);
  seen.print("convolution", {"strides", "pads_begin", "pads_end", "dilations", "auto_pad"});
  Collector changed(Changes{{"auto_pad", "same_upper"}});
  convolution->visit_attributes(changed);
  convolution->validate_and_infer_types();
  line("padded ", convolution->get_auto_pad() == op::PadType::SAME_UPPER, ' ', convolution->get_shape());
  Collector constant;
  filters->visit_attributes(constant);
  constant.print("constant", {"element_type", "shape", "value"});
  auto soft = std::make_shared<op::v8::Softmax>(x, 1);
  Collector axis(Changes{{"axis", "-1"}});
  soft->visit_attributes(axis);
  line("axis ", soft->get_axis());
  Collector elu;
  std::make_shared<op::v0::Elu>(x, 0.25)->visit_attributes(elu);
  elu.print("elu", {"alpha"});
  Collector cast;
  std::make_shared<op::v0::Convert>(x, ov::element::f16)->visit_attributes(cast);
  cast.print("convert", {"destination_type"});
}

void getters() {
  auto x = std::make_shared<op::v0::Parameter>(ov::element::f32, ov::Shape{1, 4, 6, 6});
  auto pool = std::make_shared<op::v1::MaxPool>(x, ov::Strides{2, 2}, ov::Shape{0, 0}, ov::Shape{0, 0}, ov::Shape{3, 3},
                                                op::RoundingType::FLOOR, op::PadType::EXPLICIT);
  line("pool ", pool->get_rounding_type() == op::RoundingType::FLOOR, ' ',
       pool->get_auto_pad() == op::PadType::EXPLICIT, ' ', pool->get_kernel(), pool->get_strides(),
       pool->get_output_shape(0));
  pool->set_rounding_type(op::RoundingType::CEIL);
  pool->set_pads_begin({1, 1});
  pool->validate_and_infer_types();
  line("pool ", pool->get_output_shape(0));
  auto k = op::v0::Constant::create(ov::element::i64, {}, {2});
  auto top = std::make_shared<op::v11::TopK>(x, k, 1, op::TopKMode::MIN, op::TopKSortType::SORT_INDICES);
  line("top ", top->get_mode() == op::TopKMode::MIN, ' ', top->get_sort_type() == op::TopKSortType::SORT_INDICES, ' ',
       top->get_index_element_type(), ' ', top->get_axis());
  auto axes = op::v0::Constant::create(ov::element::i64, {2}, {1, -1});
  auto mean = std::make_shared<op::v1::ReduceMean>(x, axes, true);
  line("mean ", mean->get_reduction_axes(), ' ', mean->get_keep_dims());
  auto sum = std::make_shared<op::v1::Add>(x, x);
  line("sum ", sum->get_autob().m_type == op::AutoBroadcastType::NUMPY);
  auto gather = std::make_shared<op::v8::Gather>(x, k, op::v0::Constant::create(ov::element::i64, {}, {1}));
  line("gather ", gather->get_axis(), ' ', gather->get_batch_dims());
  auto gelu = std::make_shared<op::v7::Gelu>(x, op::GeluApproximationMode::TANH);
  line("gelu ", gelu->get_approximation_mode() == op::GeluApproximationMode::TANH);
  auto round = std::make_shared<op::v5::Round>(x, op::v5::Round::RoundMode::HALF_TO_EVEN);
  line("round ", round->get_mode() == op::v5::Round::RoundMode::HALF_TO_EVEN);
  auto cumulated = std::make_shared<op::v0::CumSum>(x, k, true, false);
  line("cumulated ", cumulated->is_exclusive(), ' ', cumulated->is_reverse());
  op::v9::GridSample::Attributes sampled(true, op::v9::GridSample::InterpolationMode::NEAREST,
                                         op::v9::GridSample::PaddingMode::BORDER);
  auto grid = std::make_shared<op::v0::Parameter>(ov::element::f32, ov::Shape{1, 2, 2, 2});
  auto sample = std::make_shared<op::v9::GridSample>(x, grid, sampled);
  line("sample ", sample->get_attributes().align_corners, ' ',
       sample->get_attributes().mode == op::v9::GridSample::InterpolationMode::NEAREST, ' ', sample->get_shape());
  op::v8::PriorBox::Attributes boxes;
  boxes.min_size = {2.0F, 3.0F};
  boxes.aspect_ratio = {2.0F};
  boxes.flip = true;
  boxes.variance = {0.1F};
  auto layer = op::v0::Constant::create(ov::element::i64, {2}, {2, 3}),
       image = op::v0::Constant::create(ov::element::i64, {2}, {10, 10});
  auto prior = std::make_shared<op::v8::PriorBox>(layer, image, boxes);
  line("prior ", prior->get_output_partial_shape(0), ' ', prior->get_attrs().min_size.size(), ' ',
       prior->get_attrs().flip);
  op::v8::DetectionOutput::Attributes detection;
  detection.keep_top_k = {5};
  detection.nms_threshold = 0.5F;
  detection.code_type = "caffe.PriorBoxParameter.CENTER_SIZE";
  detection.normalized = true;
  const auto input = [](const ov::Shape& shape) {
    return std::make_shared<op::v0::Parameter>(ov::element::f32, shape);
  };
  auto found = std::make_shared<op::v8::DetectionOutput>(input({1, 8}), input({1, 6}), input({1, 2, 8}), detection);
  line("detection ", found->get_output_partial_shape(0), ' ', found->get_attrs().keep_top_k[0]);
}

void enumerations() {
  line(ov::as_string(op::PadType::SAME_LOWER), ' ', ov::as_string(op::RoundingType::CEIL), ' ',
       ov::as_enum<op::PadMode>("REFLECT") == op::PadMode::REFLECT, ' ',
       ov::as_enum<op::TopKMode>("min") == op::TopKMode::MIN, ' ', ov::as_string(Colour::GREEN));
  refused(
      "no such padding", [] { ov::as_enum<op::PadType>("wide"); }, "wide");
  const ov::Interval some(2, 5), open(3, ov::Interval::s_max);
  line(some, ' ', open, ' ', (some & open), ' ', some + open, ' ', some * some, ' ', some.size(), ' ',
       some.contains(3));
  line(ov::Dimension(2, 5).get_interval(), ' ', ov::Dimension::dynamic().get_interval().has_upper_bound());
}

void nodes() {
  ov::Core core;
  auto model = small_model(core);
  std::vector<std::string> names;
  ov::traverse_nodes(model, [&](const std::shared_ptr<ov::Node>& node) { names.push_back(node->get_type_name()); });
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) std::cout << name << ' ';
  std::cout << '\n';
  std::shared_ptr<ov::Node> relu;
  for (const auto& node : model->get_ops())
    if (ov::is_type<op::v0::Relu>(node)) relu = node;
  line(op::util::is_unary_elementwise_arithmetic(relu), op::util::is_parameter(relu), op::util::is_op(relu),
       op::util::is_output(model->get_results()[0]), op::util::is_constant(relu->get_input_node_ptr(0)));
  relu->get_rt_info()["note"] = std::string("kept");
  auto absolute = std::make_shared<op::v0::Abs>(relu->input_value(0));
  ov::copy_runtime_info(relu, absolute);
  ov::replace_node(relu, absolute);
  absolute->set_friendly_name(relu->get_friendly_name());
  line(absolute->get_rt_info().at("note").as<std::string>(), ' ',
       model->get_results()[0]->get_input_node_ptr(0)->get_type_name());
  auto first = op::v0::Constant::create(ov::element::f32, {2}, {1, 2}),
       second = op::v0::Constant::create(ov::element::f32, {2}, {1, 3});
  line(ov::compare_constants(first, first), ov::compare_constants(first, second));
  const auto sorted = ov::topological_sort(ov::NodeVector{model->get_results()[0]});
  line(sorted.size(), ' ', sorted.back()->get_type_name());
  refused("replaced by another count of outputs", [&] { ov::replace_node(absolute, ov::OutputVector{}); });
}

}  // namespace

void attributes() {
  visitors();
  getters();
  enumerations();
  nodes();
}
