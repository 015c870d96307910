// SPDX-License-Identifier: Apache-2.0
// Changes of models.
#pragma once

#include <memory>
#include <string>

#include "openvino/core/model.hpp"
#include "openvino/core/rtti.hpp"

#define OPENVINO_MODEL_PASS_RTTI(...) OPENVINO_RTTI(__VA_ARGS__)

namespace ov {
namespace pass {

class OPENVINO_API PassBase {
 public:
  OPENVINO_RTTI_BASE("ov::pass::PassBase")
  virtual ~PassBase();
  std::string get_name() const { return name_.empty() ? get_type_info().name : name_; }
  void set_name(const std::string& name) { name_ = name; }

 private:
  std::string name_;
};
/// A program may derive its own from it.
class OPENVINO_API ModelPass : public PassBase {
 public:
  OPENVINO_RTTI("ov::pass::ModelPass", "0")
  /// @return Whether it changed the model.
  virtual bool run_on_model(const std::shared_ptr<Model>& model) = 0;
};

}  // namespace pass
}  // namespace ov
