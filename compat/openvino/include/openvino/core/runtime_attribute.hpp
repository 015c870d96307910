// SPDX-License-Identifier: Apache-2.0
// A user's own value in the rt_info of nodes.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/rtti.hpp"

namespace ov {

class Any;
class AttributeVisitor;
class Node;

/// Kept in rt_info as long as the model lives; it is not written to files.
class OPENVINO_API RuntimeAttribute {
 public:
  OPENVINO_RTTI_BASE("RuntimeAttribute")
  using Ptr = std::shared_ptr<RuntimeAttribute>;
  using Base = std::tuple<RuntimeAttribute>;
  virtual ~RuntimeAttribute();
  virtual bool is_copyable() const { return true; }
  virtual bool is_copyable(const std::shared_ptr<Node>&) const { return is_copyable(); }
  virtual bool is_deterministic() const { return true; }
  virtual std::string to_string() const { return {}; }
  /// What copies for one node make of several: none, unless the program says.
  virtual Any init(const std::shared_ptr<Node>& node) const;
  virtual Any merge(const std::vector<std::shared_ptr<Node>>& nodes) const;
  virtual bool visit_attributes(AttributeVisitor&) { return false; }
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const RuntimeAttribute& attribute);

}  // namespace ov
