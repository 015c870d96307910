// SPDX-License-Identifier: Apache-2.0
// What all elements have, and how they are made from a description.
#pragma once

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "dlstreamer/base/dictionary.h"
#include "dlstreamer/element.h"

namespace dlstreamer {

/// An element that is prepared once, by init_once(), at the first call of init().
template <class T>
class BaseElement : public T {
 public:
  bool init() override {
    const std::lock_guard lock(_init_mutex);
    if (!_init_flag) {
      _init_result = init_once();
      _init_flag = true;
    }
    return _init_result;
  }
  ContextPtr get_context(MemoryType /*memory_type*/) noexcept override { return nullptr; }

 protected:
  virtual bool init_once() { return true; }

 private:
  std::mutex _init_mutex;
  bool _init_flag = false;
  bool _init_result = false;
};

namespace detail {

/// The element of a description as a Kind. Parameters that are not given have their defaults.
/// @errors std::runtime_error: no description, one that makes nothing, or an element of another kind.
template <typename Kind>
std::shared_ptr<Kind> create(const ElementDesc& desc, const AnyMap& params, const ContextPtr& app_context,
                             const char* kind) {
  const std::string name(desc.name);
  if (desc.magic != ElementDescMagic || !desc.create)
    throw std::runtime_error("create: the description of '" + name +
                             "' is none: it has no magic number or nothing that creates");
  AnyMap all = params;
  if (desc.params)
    for (const ParamDesc& param : *desc.params) all.emplace(param.name, param.default_value);
  const ElementPtr element(desc.create(std::make_shared<BaseDictionary>(name, all), app_context));
  auto made = std::dynamic_pointer_cast<Kind>(element);
  if (!made) throw std::runtime_error("create: '" + name + "' is no " + kind);
  return made;
}

template <typename Ty>
std::unique_ptr<Ty> create(const AnyMap& params, const ContextPtr& app_context) {
  return std::make_unique<Ty>(std::make_shared<BaseDictionary>(params), app_context);
}

}  // namespace detail
}  // namespace dlstreamer
