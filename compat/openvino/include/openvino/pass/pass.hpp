// SPDX-License-Identifier: Apache-2.0
// Changes of models.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "openvino/core/enum_mask.hpp"
#include "openvino/core/model.hpp"
#include "openvino/core/rtti.hpp"
#include "openvino/pass/pass_config.hpp"

#define OV_TENON_PASS_RTTI_1(base, name) OV_TENON_RTTI(, override, name, "0", &base::get_type_info_static())
#define OV_TENON_PASS_RTTI_2(base, name, version) \
  OV_TENON_RTTI(, override, name, version, &base::get_type_info_static())
#define OV_TENON_PASS_RTTI(base, ...) \
  OV_TENON_RTTI_OF(__VA_ARGS__, , OV_TENON_PASS_RTTI_2, OV_TENON_PASS_RTTI_1, )(base, __VA_ARGS__)
#define OPENVINO_MODEL_PASS_RTTI(...) OV_TENON_PASS_RTTI(::ov::pass::ModelPass, __VA_ARGS__)

namespace ov {
namespace pass {

enum class PassProperty : std::uint32_t { REQUIRE_STATIC_SHAPE = 1, CHANGE_DYNAMIC_STATE = 2 };
using PassPropertyMask = EnumMask<PassProperty>;

class OPENVINO_API PassBase {
 public:
  OPENVINO_RTTI_BASE("ov::pass::PassBase")
  using type_info_t = DiscreteTypeInfo;
  PassBase() = default;
  virtual ~PassBase();
  std::string get_name() const { return name_.empty() ? get_type_info().name : name_; }
  void set_name(const std::string& name) { name_ = name; }
  bool get_property(const PassPropertyMask& prop_mask) const { return property_.is_any_set(prop_mask); }
  void set_callback(const param_callback& callback) { config_->set_callback(callback); }
  virtual void set_pass_config(const std::shared_ptr<PassConfig>& pass_config) { config_ = pass_config; }
  std::shared_ptr<PassConfig> get_pass_config() const { return config_; }
  /// Whether the program keeps this pass away from the node.
  bool transformation_callback(const std::shared_ptr<const Node>& node) {
    return config_->get_callback(get_type_info())(node);
  }

 protected:
  void set_property(const PassPropertyMask& prop, bool value) {
    if (value)
      property_.set(prop);
    else
      property_.clear(prop);
  }

 private:
  PassPropertyMask property_;
  std::string name_;
  std::shared_ptr<PassConfig> config_ = std::make_shared<PassConfig>();
};
/// A program may derive its own from it.
class OPENVINO_API ModelPass : public PassBase {
 public:
  OPENVINO_RTTI("ov::pass::ModelPass")
  ~ModelPass() override;
  /// @return Whether it changed the model.
  virtual bool run_on_model(const std::shared_ptr<Model>& model) = 0;
};

}  // namespace pass
}  // namespace ov
