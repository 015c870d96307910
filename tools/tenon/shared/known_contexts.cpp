// SPDX-License-Identifier: Apache-2.0
// Loads the frameworks' modules, as the runtime loads devices: one whose library is missing takes nothing else with it.
#include <tenon/tools/tenon/shared/known_contexts.hpp>

#include <dlfcn.h>

#include <map>

#include <tenon/core/error.hpp>

#include <tenon/tools/tenon/shared/software_npu.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "libtenon_contexts_";
constexpr std::string_view kSuffix = ".so";

std::map<std::string, fs::path> find_modules(const std::vector<fs::path>& folders) {
  std::map<std::string, fs::path> modules;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string file = entry->path().filename().string();
      if (file.size() <= kPrefix.size() + kSuffix.size() || !file.starts_with(kPrefix) || !file.ends_with(kSuffix))
        continue;
      modules.emplace(file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size()), entry->path());
    }
  }
  return modules;
}

/// The reason why nothing came of it; empty when something did, if only that this machine has no such device.
std::string load(const fs::path& module, std::vector<Context>& contexts) {
  // Global: frameworks are headers, and what they keep once per process (OpenCL's contexts, say, which cv::UMat shares)
  // must be one for all modules, as it is for a program that links them.
  void* const library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char* const why = ::dlerror();
    return why ? why : "the loader does not say why";
  }
  const auto function = reinterpret_cast<void (*)(std::vector<Context>*)>(::dlsym(library, TENON_CONTEXTS_SYMBOL));
  if (!function) return module.string() + " has no " TENON_CONTEXTS_SYMBOL ": it is of another release";
  try {
    function(&contexts);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

KnownContexts load_contexts(const std::vector<fs::path>& folders) {
  KnownContexts known;
  for (const auto& [name, path] : find_modules(folders)) {
    std::string reason = load(path, known.contexts);
    if (!reason.empty()) known.absent.push_back({name, std::move(reason)});
  }
  return known;
}

const KnownContexts& known_contexts() {
  static const auto* known = new KnownContexts(load_contexts(library_folders()));  // Outlives static destructors.
  return *known;
}

void add_known_contexts(Router& router) {
  for (const Context& context : known_contexts().contexts) router.add(context);
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
