// SPDX-License-Identifier: Apache-2.0
// The contexts of this machine in a router, and looking one up by name.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/router.hpp>

namespace tenon::tool {

/// A framework or bridge whose module lies beside the tool, but can't be loaded, or has no context on this machine.
struct AbsentFramework {
  std::string name, reason;
  bool loads = false;
};

struct KnownContexts {
  std::vector<Context> contexts;
  std::vector<const Edge*> edges;  ///< The edges of bridges.
  std::vector<AbsentFramework> absent;
  std::map<std::string, std::vector<std::string>> names;  ///< The names of the contexts, by framework or bridge.
};

/// The contexts of the modules libtenon_contexts_<framework>.so in `folders`; of two modules with one name, the first
/// folder's is used. A module that can't be loaded, since its library is missing, is absent with the loader's reason,
/// one without contexts with its own. Loaded modules stay for the process.
KnownContexts load_contexts(const std::vector<std::filesystem::path>& folders);

/// The contexts beside this tool, loaded on first use.
const KnownContexts& known_contexts();

void add_known_contexts(Router& router);

/// Finds a context by name, else by kind of memory. @errors kNotFound: the message lists the names, and the absent frameworks
/// with their reasons.
Context find_context(const Router& router, const std::string& name);

}  // namespace tenon::tool
