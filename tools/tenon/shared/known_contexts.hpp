// SPDX-License-Identifier: Apache-2.0
// The contexts of this machine in a router, and finding one by its name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tenon/core/router.hpp>

namespace tenon::tool {

/// A framework whose module lies beside the tool and cannot be loaded.
struct AbsentFramework {
  std::string name, reason;
};

struct KnownContexts {
  std::vector<Context> contexts;
  std::vector<AbsentFramework> absent;
};

/// What the modules libtenon_contexts_<framework>.so in `folders` have on this machine; of two by one name the first
/// folder's. A module that cannot be loaded, since its library is not there, is absent with the loader's reason. Loaded
/// modules stay for the process.
KnownContexts load_contexts(const std::vector<std::filesystem::path>& folders);

/// Those beside this tool, loaded on first use.
const KnownContexts& known_contexts();

void add_known_contexts(Router& router);

/// By name, else by kind of memory. @errors kNotFound, listing the names, and the frameworks that are absent with their
/// reasons.
Context find_context(const Router& router, const std::string& name);

}  // namespace tenon::tool
