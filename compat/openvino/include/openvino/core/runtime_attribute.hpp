// SPDX-License-Identifier: Apache-2.0
// A user's own value in the rt_info of nodes.
#pragma once

#include <memory>
#include <string>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/rtti.hpp"

namespace ov {

/// Kept in rt_info as long as the model lives; it is not written to files.
class OPENVINO_API RuntimeAttribute {
 public:
  OPENVINO_RTTI_BASE("RuntimeAttribute")
  using Ptr = std::shared_ptr<RuntimeAttribute>;
  virtual ~RuntimeAttribute();
  virtual bool is_copyable() const { return true; }
  virtual std::string to_string() const { return {}; }
};

}  // namespace ov
