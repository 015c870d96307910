// SPDX-License-Identifier: Apache-2.0
// Passes, and the order in which they run.
#include <fstream>
#include <iomanip>
#include <set>
#include <sstream>

#include <openvino/core/rt_info.hpp>
#include <openvino/op/assign.hpp>
#include <openvino/op/read_value.hpp>
#include <openvino/op/util/multi_subgraph_base.hpp>
#include <openvino/pass/backward_graph_rewrite.hpp>
#include <openvino/pass/constant_folding.hpp>
#include <openvino/pass/graph_rewrite.hpp>
#include <openvino/pass/make_stateful.hpp>
#include <openvino/pass/manager.hpp>
#include <openvino/pass/serialize.hpp>
#include <openvino/pass/visualize_tree.hpp>
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
bool GraphRewrite::run_on_model(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  const NodeVector nodes = model->get_ordered_ops();
  return apply_matcher_passes(model, std::deque<std::weak_ptr<Node>>(nodes.begin(), nodes.end()));
}
bool BackwardGraphRewrite::run_on_model(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  const NodeVector nodes = model->get_ordered_ops();
  return apply_matcher_passes(model, std::deque<std::weak_ptr<Node>>(nodes.rbegin(), nodes.rend()));
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

Serialize::Serialize(std::filesystem::path xml_path, std::filesystem::path bin_path, Version version)
    : xml_path_(std::move(xml_path)), bin_path_(std::move(bin_path)) {
  OPENVINO_ASSERT(version != Version::IR_V10, "models are written as IR of version 11, and not as version 10");
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
bool ConstantFolding::run_on_model(const std::shared_ptr<Model>& model) {
  return detail::guarded([&] {
    const auto& there = detail::model_of(model);
    const bool changed =
        tenon::pass::Manager().add(tenon::pass::fold_constants({false, false, std::size_t{1} << 62})).run(there);
    detail::read_again(*model);
    return changed;
  });
}
bool VisualizeTree::run_on_model(const std::shared_ptr<Model>& model) {
  OPENVINO_ASSERT(model, "the model is null");
  std::filesystem::path path = file_;
  if (path.extension() != ".dot") path += ".dot";
  std::ofstream out(path);
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
  out.close();
  if (!out) OPENVINO_THROW("VisualizeTree cannot write ", path.string());
  return false;
}

}  // namespace pass
}  // namespace ov
