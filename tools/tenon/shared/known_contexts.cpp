// SPDX-License-Identifier: Apache-2.0
// Loads the modules of frameworks as the runtime loads devices: a module whose library is missing does not affect others.
#include <tenon/tools/tenon/shared/known_contexts.hpp>

#include <dlfcn.h>

#include <tenon/core/error.hpp>
#include <tenon/core/module_files.hpp>

#include <tenon/tools/tenon/shared/software_npu.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

/// The reason that a module gives on a machine on which it has no contexts.
std::string why_none(void* library) {
  std::string why = "it has no device on this machine";
  const auto function = reinterpret_cast<void (*)(std::string*)>(::dlsym(library, TENON_WHY_NONE_SYMBOL));
  if (function) function(&why);
  return why;
}

/// Loads a module. @return The module and the reason why it is absent: it failed or has no contexts; else an empty reason.
AbsentFramework load(const std::string& name, const fs::path& module, KnownContexts& known) {
  // RTLD_GLOBAL: frameworks are headers. State that they keep once per process (OpenCL's contexts, say, which cv::UMat shares)
  // must be shared by all modules, as it is in a program that links them.
  void* const library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char* const why = ::dlerror();
    return {name, why ? why : "the loader gives no reason"};
  }
  const auto function = reinterpret_cast<void (*)(std::vector<Context>*)>(::dlsym(library, TENON_CONTEXTS_SYMBOL));
  if (!function) return {name, module.string() + " has no " TENON_CONTEXTS_SYMBOL ": it was built for another release"};
  const std::size_t before = known.contexts.size();
  try {
    function(&known.contexts);
    const auto edges = reinterpret_cast<void (*)(std::vector<const Edge*>*)>(::dlsym(library, TENON_EDGES_SYMBOL));
    if (edges) edges(&known.edges);
    for (std::size_t i = before; i < known.contexts.size(); ++i)
      known.names[name].emplace_back(known.contexts[i]->name());
    return {name, known.contexts.size() == before ? why_none(library) : "", true};
  } catch (const std::exception& error) {
    return {name, error.what()};
  }
}

}  // namespace

KnownContexts load_contexts(const std::vector<fs::path>& folders) {
  KnownContexts known;
  for (const auto& [name, path] : find_modules("libtenon_contexts_", folders)) {
    AbsentFramework framework = load(name, path, known);
    if (!framework.reason.empty()) known.absent.push_back(std::move(framework));
  }
  return known;
}

const KnownContexts& known_contexts() {
  static const auto* known = new KnownContexts(load_contexts(library_folders()));  // Outlives static destructors.
  return *known;
}

void add_known_contexts(Router& router) {
  for (const Context& context : known_contexts().contexts) router.add(context);
  router.add(known_contexts().edges);
}

Context find_context(const Router& router, const std::string& name) {
  for (const Context& context : router.contexts()) {
    if (context->name() == name) return context;
  }
  std::string names;
  for (const Context& context : router.contexts()) {
    if (context->kind().name() == name) return context;
    names += " '" + std::string(context->name()) + "'";
  }
  for (const AbsentFramework& absent : known_contexts().absent)
    names += "; " + absent.name + " is absent: " + absent.reason;
  throw Error(Code::kNotFound, "no context '" + name + "' on this machine; there are:" + names);
}

}  // namespace tenon::tool
