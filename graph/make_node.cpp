// SPDX-License-Identifier: Apache-2.0
// Makes nodes from the operation table, by name or like another node.
#include <memory>

#include <tenon/core/error.hpp>
#include <tenon/graph/internal/schema.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon {
inline namespace v1 {

namespace {

class GenericNode final : public Node {
 public:
  GenericNode(const Operation& operation, OutputVector inputs, Attributes attributes, const std::string& friendly_name)
      : Node(operation, std::move(inputs), std::move(attributes), Deferred{}) {
    set_friendly_name(friendly_name);
    constructor_validate_and_infer_types();
  }
};

}  // namespace

std::shared_ptr<Node> Node::clone_with_new_inputs(const OutputVector& inputs) const {
  auto copy = std::make_shared<GenericNode>(*operation_, inputs, attributes_, friendly_name_);
  copy->rt_info_ = rt_info_;
  return copy;
}

std::shared_ptr<Node> make_node(std::string_view type, unsigned version, OutputVector inputs, Attributes attributes,
                                const std::string& friendly_name) {
  const Operation* operation = find_operation(type, version);
  const std::string subject = std::string(type) + (friendly_name.empty() ? "" : " node '" + friendly_name + "'");
  if (!operation) {
    const std::string versions = known_versions(type);
    throw Error(
        Code::kNotFound,
        subject + ": there is no operation " + std::string(type) + " in opset" + std::to_string(version) +
            (versions.empty() ? "; no operation set known here has it" : "; it exists since opset " + versions));
  }
  try {
    if (operation->type == "Constant") {
      throw Error(Code::kInvalidArgument, "a Constant needs data: make it by op::v0::Constant's constructors");
    }
    std::shared_ptr<Node> made;
    if (operation->type == "Parameter") {
      check_inputs(*operation, inputs);
      const Attributes checked = checked_attributes(*operation, attributes);
      made = std::make_shared<op::v0::Parameter>(checked.get_type("element_type"), checked.get_shape("shape"));
      made->set_friendly_name(friendly_name);
    } else if (operation->type == "Result") {
      check_inputs(*operation, inputs);
      checked_attributes(*operation, attributes);
      made = std::make_shared<op::v0::Result>(inputs[0]);
      made->set_friendly_name(friendly_name);
    } else {
      // Checked here first, because the node does not have its friendly name yet and the message needs it.
      check_inputs(*operation, inputs);
      attributes = checked_attributes(*operation, attributes);
      made = std::make_shared<GenericNode>(*operation, std::move(inputs), std::move(attributes), friendly_name);
    }
    return made;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.find("'" + friendly_name + "'") != message.npos || message.substr(0, type.size()) == type) throw;
    rethrow_naming(subject);
  }
}

}  // namespace v1
}  // namespace tenon
