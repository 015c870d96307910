// SPDX-License-Identifier: Apache-2.0
// The contexts of this machine in a router, and looking one up by name.
#pragma once

#include <string>

#include <tenon/core/context_modules.hpp>
#include <tenon/core/router.hpp>

namespace tenon::tool {

/// The contexts beside this tool, loaded on first use.
const ContextModules& known_contexts();

void add_known_contexts(Router& router);

/// As tenon::find_context(), with the frameworks that are absent beside this tool.
Context find_context(const Router& router, const std::string& name);

}  // namespace tenon::tool
