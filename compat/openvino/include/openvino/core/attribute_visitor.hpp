// SPDX-License-Identifier: Apache-2.0
// Objects that are shown the attributes of an operation, and may change them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "openvino/core/core_visibility.hpp"

namespace ov {

class Node;
class Model;
template <typename T>
class ValueAccessor;
template <typename T>
class AttributeAdapter;
class VisitorAdapter;

/// node->visit_attributes(visitor) calls on_adapter() for each attribute, by the type in which it is read. What a program does not
/// overload arrives at on_adapter(name, ValueAccessor<void>&).
class OPENVINO_API AttributeVisitor {
 public:
  virtual ~AttributeVisitor();
  virtual void on_adapter(const std::string& name, ValueAccessor<void>& adapter) = 0;
#define OV_TENON_ON_ADAPTER(...) virtual void on_adapter(const std::string& name, ValueAccessor<__VA_ARGS__>& adapter);
#define OV_TENON_EACH_ACCESSED(with)                                                                                  \
  with(void*) with(std::string) with(bool) with(std::int8_t) with(std::int16_t) with(std::int32_t) with(std::int64_t) \
      with(std::uint8_t) with(std::uint16_t) with(std::uint32_t) with(std::uint64_t) with(float) with(double)         \
          with(std::vector<std::int8_t>) with(std::vector<std::int16_t>) with(std::vector<std::int32_t>)              \
              with(std::vector<std::int64_t>) with(std::vector<std::uint8_t>) with(std::vector<std::uint16_t>)        \
                  with(std::vector<std::uint32_t>) with(std::vector<std::uint64_t>) with(std::vector<float>)          \
                      with(std::vector<double>) with(std::vector<std::string>) with(std::shared_ptr<Model>)
  OV_TENON_EACH_ACCESSED(OV_TENON_ON_ADAPTER)
#undef OV_TENON_ON_ADAPTER
  virtual void on_adapter(const std::string& name, VisitorAdapter& adapter);

  template <typename T>
  void on_attribute(const std::string& name, T& value) {
    AttributeAdapter<T> adapter(value);
    start_structure(name);
    on_adapter(get_name_with_context(), adapter);
    finish_structure();
  }
  const std::vector<std::string>& get_context() const { return m_context; }
  /// "outer.inner".
  virtual std::string get_name_with_context();
  virtual void start_structure(const std::string& name);
  virtual std::string finish_structure();

  using node_id_t = std::string;
  static constexpr const char* invalid_node_id = "";
  virtual void register_node(const std::shared_ptr<Node>& node, node_id_t id = invalid_node_id);
  virtual std::shared_ptr<Node> get_registered_node(node_id_t id);
  virtual node_id_t get_registered_node_id(const std::shared_ptr<Node>& node);

 protected:
  std::vector<std::string> m_context;
  std::unordered_map<std::shared_ptr<Node>, node_id_t> m_node_id_map;
  std::unordered_map<node_id_t, std::shared_ptr<Node>> m_id_node_map;
};

}  // namespace ov
