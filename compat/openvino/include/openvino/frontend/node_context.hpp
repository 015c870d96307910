// SPDX-License-Identifier: Apache-2.0
// What a converter of one operation is given by a front end of the original's. No front end here calls converters.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "openvino/core/any.hpp"
#include "openvino/core/model.hpp"
#include "openvino/frontend/exception.hpp"

namespace ov {
namespace frontend {

class FRONTEND_API NodeContext {
 public:
  explicit NodeContext(const std::string& op_type) : op_type_(op_type) {}
  virtual ~NodeContext();
  virtual std::size_t get_input_size() const { FRONT_END_NOT_IMPLEMENTED(get_input_size); }
  virtual std::size_t get_input_size(const std::string&) const { FRONT_END_NOT_IMPLEMENTED(get_input_size); }
  virtual Output<Node> get_input(int) const { FRONT_END_NOT_IMPLEMENTED(get_input); }
  virtual Output<Node> get_input(const std::string&) const { FRONT_END_NOT_IMPLEMENTED(get_input); }
  virtual Output<Node> get_input(const std::string&, int) const { FRONT_END_NOT_IMPLEMENTED(get_input); }
  virtual Output<Node> get_input_by_reference(int) const { FRONT_END_NOT_IMPLEMENTED(get_input_by_reference); }
  virtual bool input_is_none(std::size_t index) const {
    FRONT_END_GENERAL_CHECK(index < get_input_size(), "there is no input ", index);
    return false;
  }
  virtual std::shared_ptr<Node> mark_node(std::shared_ptr<Node> node) const { return node; }
  virtual Any get_values_from_const_input(int) const { FRONT_END_NOT_IMPLEMENTED(get_values_from_const_input); }
  virtual const std::string& get_op_type() const { return op_type_; }
  virtual const std::string& get_name() const { FRONT_END_NOT_IMPLEMENTED(get_name); }
  virtual Any get_attribute_as_any(const std::string& name) const = 0;
  template <typename T>
  T get_attribute(const std::string& name) const {
    const Any value = get_attribute_as_any(name);
    FRONT_END_GENERAL_CHECK(!value.empty(), "Attribute with name '", name, "' does not exist");
    return value.as<T>();
  }
  template <typename T>
  T get_attribute(const std::string& name, const T& fallback) const {
    const Any value = get_attribute_as_any(name);
    return value.empty() ? fallback : value.as<T>();
  }
  bool has_attribute(const std::string& name) const { return !get_attribute_as_any(name).empty(); }
  virtual std::size_t get_subgraph_size() const { FRONT_END_NOT_IMPLEMENTED(get_subgraph_size); }
  virtual std::shared_ptr<Model> get_subgraph(int) const { FRONT_END_NOT_IMPLEMENTED(get_subgraph); }

 private:
  std::string op_type_;
};
struct NamedOutput {
  NamedOutput(const Output<Node>& from) : port(from) {}
  NamedOutput(const std::string& of, const Output<Node>& from) : name(of), port(from) {}
  std::string name;
  Output<Node> port;
};
using NamedOutputVector = std::vector<NamedOutput>;
inline OutputVector indexed_from_named(const NamedOutputVector& outputs) {
  OutputVector ports;
  for (const NamedOutput& output : outputs) ports.push_back(output.port);
  return ports;
}
inline NamedOutputVector named_from_indexed(const OutputVector& outputs) { return {outputs.begin(), outputs.end()}; }
using CreatorFunction = std::function<OutputVector(const NodeContext&)>;
using CreatorFunctionNamed = std::function<std::map<std::string, OutputVector>(const NodeContext&)>;
using CreatorFunctionNamedAndIndexed = std::function<NamedOutputVector(const NodeContext&)>;

}  // namespace frontend
}  // namespace ov
