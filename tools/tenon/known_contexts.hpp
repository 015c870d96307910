// SPDX-License-Identifier: Apache-2.0
// The contexts of this machine in a router, and finding one by its name.
#pragma once

#include <string>

#include <tenon/core/router.hpp>

#include "commands.hpp"

namespace tenon::tool {

inline void add_known_contexts(Router& router) {
  for (const Context& context : known_contexts()) router.add(context);
}

/// By name, else by kind of memory. @errors kNotFound, listing the names.
inline Context find_context(const Router& router, const std::string& name) {
  for (const Context& context : router.contexts()) {
    if (context->name() == name) return context;
  }
  std::string names;
  for (const Context& context : router.contexts()) {
    if (context->kind().name() == name) return context;
    names += " '" + std::string(context->name()) + "'";
  }
  throw Error(Code::kNotFound, "no context '" + name + "' on this machine; there are:" + names);
}

}  // namespace tenon::tool
