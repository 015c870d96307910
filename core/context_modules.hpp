// SPDX-License-Identifier: Apache-2.0
// Modules of contexts: the frameworks and bridges of an installation, for programs that know none of them by name.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/router.hpp>

namespace tenon {
inline namespace v1 {

/// A framework or bridge whose module is there, but can't be loaded, or has no context on this machine.
struct AbsentFramework {
  std::string name, reason;
  bool loads = false;
};

/// What modules brought.
struct ContextModules {
  std::vector<Context> contexts;
  std::vector<const Edge*> edges;  ///< The edges of bridges.
  std::vector<AbsentFramework> absent;
  std::map<std::string, std::vector<std::string>> names;  ///< The names of the contexts, by framework or bridge.
};

/// Whether the symbols of modules and of their libraries serve libraries that are loaded later. Not in a process of others' libraries, such
/// as Python's, which may bring another release of the same one.
enum class Symbols : std::uint8_t { kShared, kOwn };

/// The contexts of the modules libtenon_contexts_<framework>.so in `folders`; of two modules with one name, the first
/// folder's is used. A module that can't be loaded, since its library is missing, is absent with the loader's reason,
/// one without contexts with its own. Loaded modules stay for the process.
TENON_API ContextModules load_context_modules(const std::vector<std::filesystem::path>& folders,
                                              Symbols symbols = Symbols::kShared);

/// Finds a context by name, else by kind of memory. @errors kNotFound: the message lists the names, and the absent frameworks
/// with their reasons.
TENON_API Context find_context(const Router& router, const std::string& name,
                               const std::vector<AbsentFramework>& absent);

}  // namespace v1
}  // namespace tenon
