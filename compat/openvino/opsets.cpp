// SPDX-License-Identifier: Apache-2.0
// Operation sets as objects, from the same list as the headers of operations.
#include <algorithm>

#include <openvino/op/ops.hpp>
#include <openvino/opsets/opset.hpp>

#include "convert.hpp"

namespace ov {

OpSet::~OpSet() = default;
void OpSet::put(const std::string& name, const NodeTypeInfo& type, Factory factory) {
  types_.insert(type);
  names_[name] = type;
  factories_[name] = std::move(factory);
}
namespace {
template <typename Found, typename Factories>
Node* made(const Found& found, const Factories& factories) {
  if (found == factories.end()) return nullptr;
  OPENVINO_ASSERT(found->second, "the operation ", found->first,
                  " is made by its class's constructor, with what it needs");
  return found->second();
}
}  // namespace
Node* OpSet::create(const std::string& name) const { return made(factories_.find(name), factories_); }
Node* OpSet::create_insensitive(const std::string& name) const {
  return made(std::find_if(factories_.begin(), factories_.end(),
                           [&](const auto& each) { return detail::same_ignoring_case(each.first, name); }),
              factories_);
}
bool OpSet::contains_type_insensitive(const std::string& name) const {
  return std::any_of(names_.begin(), names_.end(),
                     [&](const auto& each) { return detail::same_ignoring_case(each.first, name); });
}
#define _OPENVINO_OP_REG(name, space) set.insert<space::name>();
#include "opsets.inc"
#undef _OPENVINO_OP_REG
const std::map<std::string, std::function<const OpSet&()>>& get_available_opsets() {
  static const std::map<std::string, std::function<const OpSet&()>> kSets = {
      {"opset1", get_opset1},   {"opset2", get_opset2},   {"opset3", get_opset3},   {"opset4", get_opset4},
      {"opset5", get_opset5},   {"opset6", get_opset6},   {"opset7", get_opset7},   {"opset8", get_opset8},
      {"opset9", get_opset9},   {"opset10", get_opset10}, {"opset11", get_opset11}, {"opset12", get_opset12},
      {"opset13", get_opset13}, {"opset14", get_opset14}, {"opset15", get_opset15}, {"opset16", get_opset16},
  };
  return kSets;
}

}  // namespace ov
