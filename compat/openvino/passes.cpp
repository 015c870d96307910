// SPDX-License-Identifier: Apache-2.0
// Passes, and the order in which they run.
#include <algorithm>
#include <iomanip>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

#include <openvino/core/rt_info.hpp>
#include <openvino/op/ops.hpp>
#include <openvino/op/util/multi_subgraph_base.hpp>
#include <openvino/pass/backward_graph_rewrite.hpp>
#include <openvino/pass/constant_folding.hpp>
#include <openvino/pass/convert_fp32_to_fp16.hpp>
#include <openvino/pass/graph_rewrite.hpp>
#include <openvino/pass/low_latency.hpp>
#include <openvino/pass/make_stateful.hpp>
#include <openvino/pass/manager.hpp>
#include <openvino/pass/serialize.hpp>
#include <openvino/pass/visualize_tree.hpp>
#include <tenon/core/file_stream.hpp>
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

#include "graph.hpp"

namespace ov {
namespace pass {

PassBase::~PassBase() = default;
ModelPass::~ModelPass() = default;
MatcherPass::MatcherPass(const std::string& name, const std::shared_ptr<pattern::Matcher>& m,
                         const handler_callback& handler, const PassPropertyMask& property)
    : handler_(handler), matcher_(m) {
  set_name(name);
  set_property(property, true);
}
MatcherPass::MatcherPass(const std::shared_ptr<pattern::Matcher>& m, const matcher_pass_callback& callback) {
  register_matcher(m, callback);
}
void MatcherPass::register_matcher(const std::shared_ptr<pattern::Matcher>& m, const matcher_pass_callback& callback,
                                   const PassPropertyMask& property) {
  OPENVINO_ASSERT(m, "register_matcher of null");
  set_name(m->get_name());
  set_property(property, true);
  matcher_ = m;
  handler_ = [m, callback](const std::shared_ptr<Node>& node) {
    const bool changed = node->get_output_size() != 0 && m->match(node->output(0)) && callback(*m);
    m->clear_state();
    return changed;
  };
}
bool MatcherPass::apply(std::shared_ptr<Node> node) {
  clear_new_nodes();
  return handler_ && handler_(node);
}

std::shared_ptr<MatcherPass> GraphRewrite::add_matcher(const std::shared_ptr<MatcherPass>& pass) {
  OPENVINO_ASSERT(pass, "add_matcher of null");
  pass->set_pass_config(get_pass_config());
  m_matchers.push_back(pass);
  return pass;
}
void GraphRewrite::set_pass_config(const std::shared_ptr<PassConfig>& pass_config) {
  PassBase::set_pass_config(pass_config);
  for (const auto& matcher : m_matchers) matcher->set_pass_config(pass_config);
}
namespace {
/// The model's nodes, none of which is held: one that a pass takes out is gone when its turn comes.
std::deque<std::weak_ptr<Node>> nodes_of(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  const NodeVector nodes = model->get_ordered_ops();
  return {nodes.begin(), nodes.end()};
}
}  // namespace
bool GraphRewrite::run_on_model(const std::shared_ptr<Model>& model) {
  return apply_matcher_passes(model, nodes_of(model));
}
bool BackwardGraphRewrite::run_on_model(const std::shared_ptr<Model>& model) {
  auto nodes = nodes_of(model);
  std::reverse(nodes.begin(), nodes.end());
  return apply_matcher_passes(model, std::move(nodes));
}
bool GraphRewrite::apply_matcher_passes(std::shared_ptr<Model>, std::deque<std::weak_ptr<Node>> nodes_to_run) {
  bool rewritten = false;
  while (!nodes_to_run.empty()) {
    const std::shared_ptr<Node> node = nodes_to_run.front().lock();
    nodes_to_run.pop_front();
    if (!node) continue;  // An earlier change took it out of the model.
    if (const auto bodies = std::dynamic_pointer_cast<ov::op::util::MultiSubGraphOp>(node)) {
      for (const auto& body : bodies->get_functions())
        if (body && run_on_model(body)) rewritten = true;
    }
    if (m_enable_shape_inference) node->revalidate_and_infer_types();
    for (const auto& matcher : m_matchers) {
      if (get_pass_config()->is_disabled(matcher->get_type_info()) ||
          (matcher->get_property(PassProperty::REQUIRE_STATIC_SHAPE) && node->is_dynamic()))
        continue;
      const bool changed = matcher->apply(node);
      const auto& made = matcher->get_new_nodes();
      for (auto each = made.rbegin(); each != made.rend(); ++each) nodes_to_run.emplace_front(*each);
      matcher->clear_new_nodes();
      rewritten |= changed;
      if (changed) break;
    }
  }
  return rewritten;
}

Manager::Manager() = default;
Manager::~Manager() = default;
Manager::Manager(std::string name) : name_(std::move(name)) {}
Manager::Manager(std::shared_ptr<PassConfig> pass_config, std::string name)
    : name_(std::move(name)), config_(std::move(pass_config)) {
  OPENVINO_ASSERT(config_, "the configuration of passes is null");
}
Manager::Manager(const PassConfig& pass_config, std::string name)
    : Manager(std::make_shared<PassConfig>(pass_config), std::move(name)) {}
std::shared_ptr<PassBase> Manager::register_pass_instance(std::shared_ptr<PassBase> pass) {
  OPENVINO_ASSERT(pass, "a pass is null");
  pass->set_pass_config(config_);
  passes_.push_back({pass, validates_});
  return pass;
}
bool Manager::run_passes(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  bool changed = false;
  for (const auto& [pass, validates] : passes_) {
    if (config_->is_disabled(pass->get_type_info()) ||
        (pass->get_property(PassProperty::REQUIRE_STATIC_SHAPE) && model->is_dynamic()))
      continue;
    bool by_this = false;
    if (const auto matcher = std::dynamic_pointer_cast<MatcherPass>(pass)) {
      GraphRewrite walk(matcher);
      walk.set_pass_config(config_);
      by_this = walk.run_on_model(model);
    } else if (const auto on_model = std::dynamic_pointer_cast<ModelPass>(pass)) {
      by_this = on_model->run_on_model(model);
    } else {
      OPENVINO_THROW("the pass ", pass->get_name(), " is neither a ModelPass nor a MatcherPass");
    }
    if (by_this && validates) model->validate_nodes_and_infer_types();
    changed |= by_this;
  }
  return changed;
}

namespace {
void refuse_old(Serialize::Version version) {
  OPENVINO_ASSERT(version != Serialize::Version::IR_V10,
                  "models are written as IR of version 11, and not as version 10");
}
}  // namespace
Serialize::Serialize(std::filesystem::path xml_path, std::filesystem::path bin_path, Version version)
    : xml_path_(std::move(xml_path)), bin_path_(std::move(bin_path)) {
  refuse_old(version);
}
Serialize::Serialize(std::ostream& xml_file, std::ostream& bin_file, Version version)
    : Serialize(std::filesystem::path(), std::filesystem::path(), version) {
  xml_ = &xml_file;
  bin_ = &bin_file;
}
bool Serialize::run_on_model(const std::shared_ptr<Model>& model) {
  if (!xml_) {
    serialize(model, xml_path_, bin_path_);
    return false;
  }
  const tenon::SerializedModel written = detail::guarded([&] { return tenon::serialize(*detail::model_of(model)); });
  *xml_ << written.xml;
  bin_->write(static_cast<const char*>(written.weights.data()),
              static_cast<std::streamsize>(written.weights.get_byte_size()));
  OPENVINO_ASSERT(*xml_ && *bin_, "a stream that the model is written to has failed");
  return false;
}
StreamSerialize::StreamSerialize(std::ostream& stream, const std::function<void(std::ostream&)>& custom_data_serializer,
                                 const std::function<std::string(const std::string&)>& cache_encrypt,
                                 Serialize::Version version)
    : stream_(stream), custom_data_(custom_data_serializer), encrypt_(cache_encrypt) {
  refuse_old(version);
}
bool StreamSerialize::run_on_model(const std::shared_ptr<Model>& model) {
  tenon::SerializedModel written = detail::guarded([&] { return tenon::serialize(*detail::model_of(model)); });
  const auto at = [&] { return static_cast<std::size_t>(stream_.tellp()); };
  const auto header_at = stream_.tellp();
  OPENVINO_ASSERT(header_at != std::ostream::pos_type(-1), "StreamSerialize: the stream has no positions");
  DataHeader header{};
  const auto write = [&](const void* data, std::size_t bytes) {
    stream_.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  };
  write(&header, sizeof(header));
  header.custom_data_offset = at();
  if (custom_data_) custom_data_(stream_);
  header.consts_offset = at();
  header.custom_data_size = header.consts_offset - header.custom_data_offset;
  header.consts_size = written.weights.get_byte_size();
  if (header.consts_size != 0) write(written.weights.data(), header.consts_size);
  if (encrypt_) written.xml = encrypt_(written.xml);
  header.model_offset = at();
  header.model_size = written.xml.size();
  write(written.xml.data(), written.xml.size());
  const auto end = stream_.tellp();
  stream_.seekp(header_at);
  write(&header, sizeof(header));
  stream_.seekp(end);
  OPENVINO_ASSERT(stream_, "a stream that the model is written to has failed");
  return false;
}
namespace {
template <typename T>
std::shared_ptr<T> of_name(const std::vector<std::shared_ptr<T>>& nodes, const std::string& name, const char* what) {
  for (const auto& node : nodes)
    if (node->get_friendly_name() == name || node->output(0).get_names().count(name)) return node;
  OPENVINO_THROW("MakeStateful: the model has no ", what, " of the name ", name);
}
}  // namespace
bool MakeStateful::run_on_model(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  ParamResPairs pairs = pairs_;
  for (const auto& [parameter, result] : names_)
    pairs.emplace_back(of_name(model->get_parameters(), parameter, "input"),
                       of_name(model->get_results(), result, "output"));
  std::set<const Node*> used;
  for (const auto& [parameter, result] : pairs) {
    OPENVINO_ASSERT(parameter && result, "MakeStateful: an input or an output is null");
    OPENVINO_ASSERT(used.insert(parameter.get()).second && used.insert(result.get()).second,
                    "MakeStateful: ", parameter->get_friendly_name(), " or ", result->get_friendly_name(),
                    " is in two pairs");
  }
  for (const auto& [parameter, result] : pairs) {
    const PartialShape shape = parameter->get_partial_shape();
    const auto variable = std::make_shared<ov::op::util::Variable>(ov::op::util::VariableInfo{
        shape, parameter->get_element_type(), parameter->get_friendly_name() + result->get_friendly_name()});
    std::shared_ptr<Node> read;
    if (shape.is_static())
      read = std::make_shared<ov::op::v6::ReadValue>(
          ov::op::v0::Constant::create(parameter->get_element_type(), shape.to_shape(), {0}), variable);
    else
      read = std::make_shared<ov::op::v6::ReadValue>(variable);
    read->set_friendly_name(parameter->get_friendly_name());
    copy_runtime_info(parameter, read);
    parameter->output(0).replace(read->output(0));
    const auto write = std::make_shared<ov::op::v6::Assign>(result->input_value(0), variable);
    copy_runtime_info(result, write);
    model->add_sinks({write});
    model->remove_result(result);
    model->remove_parameter(parameter);
    model->add_variables({variable});
  }
  return !pairs.empty();
}
namespace {
const std::string& fold_mark() {
  static const std::string key = DisableConstantFolding::get_type_info_static();
  return key;
}
/// Node by node, around those that have the mark.
bool fold_unmarked(const Model& model) {
  bool changed = false;
  for (const auto& node : model.get_ordered_ops()) {
    const OutputVector inputs = node->input_values();
    OutputVector values(node->get_output_size());
    if (constant_folding_is_disabled(node) || inputs.empty() || is_type<ov::op::v0::Result>(node)) continue;
    if (std::string_view(node->get_type_name()) == "ShapeOf" && node->get_input_partial_shape(0).is_static())
      values = {std::make_shared<ov::op::v0::Constant>(node->get_output_tensor(0).get_lower_value())};
    else if (!node->constant_fold(values, inputs))
      continue;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].get_node_shared_ptr()->set_friendly_name(node->get_friendly_name());
      copy_runtime_info(node, values[i].get_node_shared_ptr());
      node->output(i).replace(values[i]);
    }
    changed = true;
  }
  return changed;
}
}  // namespace
void disable_constant_folding(const std::shared_ptr<Node>& node) {
  OPENVINO_ASSERT(node, "a node is null");
  node->get_rt_info()[fold_mark()] = std::shared_ptr<RuntimeAttribute>(std::make_shared<DisableConstantFolding>());
}
void enable_constant_folding(const std::shared_ptr<Node>& node) {
  OPENVINO_ASSERT(node, "a node is null");
  node->get_rt_info().erase(fold_mark());
}
bool constant_folding_is_disabled(const Node* node) {
  OPENVINO_ASSERT(node, "a node is null");
  return node->get_rt_info().count(fold_mark()) != 0;
}
bool constant_folding_is_disabled(const std::shared_ptr<Node>& node) {
  return constant_folding_is_disabled(node.get());
}
bool ConstantFolding::run_on_model(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  const NodeVector nodes = model->get_ordered_ops();
  if (std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return constant_folding_is_disabled(node); }))
    return fold_unmarked(*model);
  return detail::guarded([&] {
    const auto& there = detail::model_of(model);
    const bool changed =
        tenon::pass::Manager().add(tenon::pass::fold_constants({false, false, std::size_t{1} << 62})).run(there);
    detail::read_again(*model);
    return changed;
  });
}
namespace {
using Bodies = ov::op::util::MultiSubGraphOp;
/// The output that has a body's value of the last iteration; it is made where there is none.
Output<Node> last_value(ov::op::util::SubGraphOp& loop, std::size_t result) {
  for (const auto& each : std::as_const(loop).get_output_descriptions()) {
    const auto* body = dynamic_cast<const Bodies::BodyOutputDescription*>(each.get());
    if (body && body->m_body_value_index == result && body->m_iteration == -1) return loop.output(body->m_output_index);
  }
  return loop.get_iter_value(loop.get_function()->get_results()[result]->output(0), -1);
}
/// A loop of one iteration, whose slices are whole inputs, becomes the operations of its body.
void unroll_one(ov::op::util::SubGraphOp& loop) {
  const auto& inputs = std::as_const(loop).get_input_descriptions();
  const auto is_whole = [&](const Bodies::InputDescription::Ptr& each) {
    const auto* slice = dynamic_cast<const Bodies::SliceInputDescription*>(each.get());
    return !slice || loop.get_input_partial_shape(each->m_input_index)[slice->m_axis] == Dimension(slice->m_part_size);
  };
  if (loop.get_num_iterations() != 1 || !std::all_of(inputs.begin(), inputs.end(), is_whole)) return;
  const std::shared_ptr<Model> body = loop.get_function()->clone();
  for (const auto& each : inputs)
    body->get_parameters()[each->m_body_parameter_index]->output(0).replace(loop.input_value(each->m_input_index));
  if (const auto* counted = dynamic_cast<const ov::op::v5::Loop*>(&loop)) {
    const std::int64_t number = counted->get_special_body_ports().current_iteration_input_idx;
    if (number >= 0) {
      const auto& parameter = body->get_parameters()[static_cast<std::size_t>(number)];
      parameter->output(0).replace(
          ov::op::v0::Constant::create(parameter->get_element_type(), parameter->get_shape(), {0})->output(0));
    }
  }
  for (const auto& each : std::as_const(loop).get_output_descriptions())
    loop.output(each->m_output_index).replace(body->get_results()[each->m_body_value_index]->input_value(0));
}
}  // namespace
bool LowLatency2::run_on_model(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  bool changed = false;
  for (const auto& node : model->get_ordered_ops()) {
    const auto loop = std::dynamic_pointer_cast<ov::op::util::SubGraphOp>(node);
    if (!loop || !loop->get_function()) continue;
    const auto inputs = std::as_const(*loop).get_input_descriptions();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto merged = std::dynamic_pointer_cast<Bodies::MergedInputDescription>(inputs[i]);
      const Output<Node> start = loop->input_value(inputs[i]->m_input_index);
      if (!merged || is_type_any_of<ov::op::v3::ReadValue, ov::op::v6::ReadValue>(start.get_node_shared_ptr()))
        continue;
      const std::string parameter =
          loop->get_function()->get_parameters()[merged->m_body_parameter_index]->get_friendly_name();
      const auto variable = std::make_shared<ov::op::util::Variable>(
          ov::op::util::VariableInfo{start.get_partial_shape(), start.get_element_type(),
                                     loop->get_friendly_name() + "/" + parameter + "/variable_" + std::to_string(i)});
      Output<Node> first = start;
      if (starts_with_zeros_)
        first = std::make_shared<ov::op::v3::Broadcast>(
            ov::op::v0::Constant::create(start.get_element_type(), Shape{1}, {0}),
            std::make_shared<ov::op::v3::ShapeOf>(start));
      const auto read = std::make_shared<ov::op::v6::ReadValue>(first, variable);
      loop->set_argument(merged->m_input_index, read);
      const auto write = std::make_shared<ov::op::v6::Assign>(last_value(*loop, merged->m_body_value_index), variable);
      write->add_control_dependency(read);
      copy_runtime_info(node, {read, write});
      model->add_sinks({write});
      model->add_variables({variable});
      changed = true;
    }
    unroll_one(*loop);
  }
  if (changed) model->validate_nodes_and_infer_types();
  return changed;
}

bool ConvertFP32ToFP16::run_on_model(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  bool changed = false;
  for (const auto& node : model->get_ordered_ops()) {
    if (const auto bodies = std::dynamic_pointer_cast<Bodies>(node)) {
      for (const auto& body : bodies->get_functions()) changed |= run_on_model(body);
    } else if (const auto parameter = std::dynamic_pointer_cast<ov::op::v0::Parameter>(node)) {
      if (parameter->get_element_type() != element::f32) continue;
      parameter->set_element_type(element::f16);
      parameter->validate_and_infer_types();
      changed = true;
    } else if (is_type<ov::op::v0::Constant>(node)) {
      if (node->get_output_element_type(0) != element::f32) continue;
      // What f16 does not reach becomes its farthest, as infinities would be no number in sums.
      OutputVector near(1), half(1);
      const auto limits = std::make_shared<ov::op::v0::Clamp>(node, -65504.0, 65504.0);
      if (!limits->constant_fold(near, node->outputs()) ||
          !std::make_shared<ov::op::v0::Convert>(near[0], element::f16)->constant_fold(half, near))
        continue;
      half[0].get_node_shared_ptr()->set_friendly_name(node->get_friendly_name());
      node->output(0).replace(half[0]);
      changed = true;
    } else {
      tenon::Node& there = *node->impl().node;
      for (const auto& [name, value] : tenon::Attributes(there.get_attributes())) {
        const auto* type = std::get_if<tenon::ElementType>(&value.value());
        if (!type || *type != tenon::ElementType::kF32) continue;
        detail::guarded([&] { there.set_attribute(name, tenon::ElementType::kF16); });
        changed = true;
      }
    }
  }
  if (changed) model->validate_nodes_and_infer_types();
  return changed;
}
bool VisualizeTree::run_on_model(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  std::filesystem::path path = file_;
  if (path.extension() != ".dot") path += ".dot";
  std::ostringstream out;
  const auto quoted = [](const std::string& text) {
    std::ostringstream result;
    result << std::quoted(text);
    return result.str();
  };
  out << "digraph " << quoted(model->get_friendly_name()) << " {\n";
  for (const auto& node : model->get_ordered_ops()) {
    const std::string name = quoted(node->get_friendly_name());  // It may have quotes of its own.
    std::string label = std::string(node->get_type_name()) + "\\n" + name.substr(1, name.size() - 2);
    for (const auto& output : node->outputs())
      label += "\\n" + detail::joined(output.get_element_type(), output.get_partial_shape());
    if (const auto details = details_.find(node->get_type_info()); details != details_.end()) {
      std::ostringstream text;
      details->second(*node, text);
      const std::string inside = quoted(text.str());
      label += "\\n" + inside.substr(1, inside.size() - 2);
    }
    std::vector<std::string> attributes{"shape=box", "label=\"" + label + "\""};
    if (modify_) modify_(*node, attributes);
    out << "  " << quoted(node->get_name()) << " [";
    for (std::size_t i = 0; i < attributes.size(); ++i) out << (i ? ", " : "") << attributes[i];
    out << "];\n";
    for (const auto& source : node->input_values())
      out << "  " << quoted(source.get_node()->get_name()) << " -> " << quoted(node->get_name()) << " [label=\""
          << source.get_index() << "\"];\n";
  }
  out << "}\n";
  detail::guarded([&] {
    tenon::NewFileStream file(path);
    file << out.str();
    file.commit();
  });
  return false;
}

}  // namespace pass
}  // namespace ov
