// SPDX-License-Identifier: Apache-2.0
// Loads the modules of frameworks as the runtime loads devices: a module whose library is missing does not affect others.
#include <tenon/core/context_modules.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/module_files.hpp>
#include <tenon/core/platform/modules.hpp>
#include <tenon/core/version.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

/// The symbol of a module: its name holds the release, whose classes the contexts are ("tenon_contexts_1_2").
TENON_INLINE void* module_symbol(void* library, const std::string& name) {
  constexpr std::string_view version = TENON_VERSION;
  std::string symbol = name + "_" + std::string(version.substr(0, version.rfind('.')));
  std::replace(symbol.begin(), symbol.end(), '.', '_');
  return platform::symbol_of(library, symbol.c_str());
}

/// The reason that a module gives on a machine on which it has no contexts.
TENON_INLINE std::string why_none(void* library) {
  std::string why = "it has no device on this machine";
  const auto function = reinterpret_cast<void (*)(std::string*)>(module_symbol(library, "tenon_why_none"));
  if (function) function(&why);
  return why;
}

/// Loads a module. @return The module and the reason why it is absent: it failed or has no contexts; else an empty reason.
TENON_INLINE AbsentFramework load_contexts(const std::string& name, const std::filesystem::path& module,
                                           Symbols symbols, ContextModules& known) {
  // Shared: state that a library keeps once per process must be shared by all modules, as it is in a program that links them.
  std::string why;
  void* const library = platform::load_module(module, symbols == Symbols::kShared, why);
  if (!library) return {name, why};
  const auto function = reinterpret_cast<void (*)(std::vector<Context>*)>(module_symbol(library, "tenon_contexts"));
  if (!function) return {name, module.string() + " has no contexts of this release: it was built for another release"};
  const std::size_t before = known.contexts.size();
  try {
    function(&known.contexts);
    const auto edges = reinterpret_cast<void (*)(std::vector<const Edge*>*)>(module_symbol(library, "tenon_edges"));
    if (edges) edges(&known.edges);
    for (std::size_t i = before; i < known.contexts.size(); ++i)
      known.names[name].emplace_back(known.contexts[i]->name());
    return {name, known.contexts.size() == before ? why_none(library) : "", true};
  } catch (const std::exception& error) {
    return {name, error.what()};
  }
}

}  // namespace detail

TENON_INLINE ContextModules load_context_modules(const std::vector<std::filesystem::path>& folders, Symbols symbols) {
  ContextModules known;
  for (const auto& [name, path] : find_modules("libtenon_contexts_", folders)) {
    AbsentFramework framework = detail::load_contexts(name, path, symbols, known);
    if (!framework.reason.empty()) known.absent.push_back(std::move(framework));
  }
  return known;
}

TENON_INLINE Context find_context(const Router& router, const std::string& name,
                                  const std::vector<AbsentFramework>& absent) {
  for (const Context& context : router.contexts()) {
    if (context->name() == name) return context;
  }
  std::string names;
  for (const Context& context : router.contexts()) {
    if (context->kind().name() == name) return context;
    names += " '" + std::string(context->name()) + "'";
  }
  for (const AbsentFramework& each : absent) names += "; " + each.name + " is absent: " + each.reason;
  throw Error(Code::kNotFound, "no context '" + name + "' on this machine; there are:" + names);
}

}  // namespace v1
}  // namespace tenon
