// SPDX-License-Identifier: Apache-2.0
// Operation sets as objects.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <type_traits>

#include "openvino/core/node.hpp"

namespace ov {

/// Types of operations under their names. @thread several threads may read one.
class OPENVINO_API OpSet {
 public:
  OpSet() = default;
  explicit OpSet(const std::string& name) : name_(name) {}
  virtual ~OpSet();
  OpSet(const OpSet&) = default;
  OpSet& operator=(const OpSet&) = default;
  std::size_t size() const { return types_.size(); }
  template <typename T>
  void insert(const std::string& name) {
    if constexpr (std::is_default_constructible_v<T>)
      put(name, T::get_type_info_static(), []() -> Node* { return new T(); });
    else
      put(name, T::get_type_info_static(), {});
  }
  template <typename T>
  void insert() {
    insert<T>(T::get_type_info_static().name);
  }
  /// A node that the caller owns, without inputs: set_arguments() and validate_and_infer_types() make it whole. Null: no such name.
  Node* create(const std::string& name) const;
  Node* create_insensitive(const std::string& name) const;
  const std::set<NodeTypeInfo>& get_types_info() const { return types_; }
  const std::set<NodeTypeInfo>& get_type_info_set() const { return types_; }
  bool contains_type(const NodeTypeInfo& type_info) const { return types_.count(type_info) != 0; }
  template <typename T>
  bool contains_type() const {
    return contains_type(T::get_type_info_static());
  }
  bool contains_type(const std::string& name) const { return names_.count(name) != 0; }
  bool contains_type_insensitive(const std::string& name) const;
  bool contains_op_type(const Node* node) const { return contains_type(node->get_type_info()); }

 private:
  using Factory = std::function<Node*()>;
  void put(const std::string& name, const NodeTypeInfo& type, Factory factory);
  std::string name_;
  std::set<NodeTypeInfo> types_;
  std::map<std::string, NodeTypeInfo> names_;
  std::map<std::string, Factory> factories_;
};
OPENVINO_API const OpSet& get_opset1();
OPENVINO_API const OpSet& get_opset2();
OPENVINO_API const OpSet& get_opset3();
OPENVINO_API const OpSet& get_opset4();
OPENVINO_API const OpSet& get_opset5();
OPENVINO_API const OpSet& get_opset6();
OPENVINO_API const OpSet& get_opset7();
OPENVINO_API const OpSet& get_opset8();
OPENVINO_API const OpSet& get_opset9();
OPENVINO_API const OpSet& get_opset10();
OPENVINO_API const OpSet& get_opset11();
OPENVINO_API const OpSet& get_opset12();
OPENVINO_API const OpSet& get_opset13();
OPENVINO_API const OpSet& get_opset14();
OPENVINO_API const OpSet& get_opset15();
OPENVINO_API const OpSet& get_opset16();
/// "opset1" and so on, and the functions that return them.
OPENVINO_API const std::map<std::string, std::function<const OpSet&()>>& get_available_opsets();

}  // namespace ov
