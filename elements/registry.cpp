// SPDX-License-Identifier: Apache-2.0
// The registry: a table of elements by name, filled from modules.
#include <tenon/elements/registry.hpp>

#include <filesystem>
#include <map>
#include <set>
#include <shared_mutex>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/module_files.hpp>
#include <tenon/core/platform/modules.hpp>
#include <tenon/core/version.hpp>
#include <tenon/elements/internal/basic.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::map<std::string, KnownElement> entries;           ///< Never removed: references stay valid.
  std::map<std::string, std::filesystem::path> modules;  ///< Modules that are not loaded yet.
  std::vector<AbsentElements> absent;
};

/// Adds an element. @errors kInvalidArgument, kAlreadyExists, as register_element().
/// @pre The registry is locked, or not shared yet.
void add(Registry& all, KnownElement element) {
  const Description& description = element.description;
  if (description.name.empty() || !element.factory)
    throw Error(Code::kInvalidArgument, "register_element: an element needs a name and a factory");
  std::set<std::string> seen;
  for (const Parameter& parameter : description.parameters) {
    if (!seen.insert(parameter.name).second)
      throw Error(Code::kInvalidArgument, "register_element: element '" + description.name + "' describes parameter '" +
                                              parameter.name + "' twice");
  }
  const std::string name = description.name;
  if (!all.entries.try_emplace(name, std::move(element)).second)
    throw Error(Code::kAlreadyExists, "register_element: there is an element '" + name + "' already");
}

/// The part "1.2" of "1.2.3".
std::string_view major_and_minor(std::string_view version) { return version.substr(0, version.rfind('.')); }

/// Loads a module and adds its elements. @return Why not all of its elements are available; empty: they are.
std::string load(const std::filesystem::path& module, Registry& all) {
  // Its symbols serve no other library: the process may have other releases of what a module brings, as packages of Python do. What exists
  // once per process lies in libraries that modules share.
  std::string why;
  void* const library = platform::load_module(module, false, why);
  if (!library) return why;
  const auto release = reinterpret_cast<const char* (*)()>(platform::symbol_of(library, "tenon_elements_release"));
  const auto function =
      reinterpret_cast<void (*)(std::vector<KnownElement>*)>(platform::symbol_of(library, "tenon_elements"));
  if (!release || !function) return module.string() + " is not a module of elements: TENON_ELEMENT_MODULE makes one";
  if (major_and_minor(release()) != major_and_minor(TENON_VERSION))
    return module.string() + " was built for another release: " + release() + ", and this is " TENON_VERSION;
  try {
    std::vector<KnownElement> elements;
    function(&elements);
    for (KnownElement& element : elements) add(all, std::move(element));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

Registry& registry() {
  static Registry& all = []() -> Registry& {
    auto& made = *new Registry;  // Outlives static destructors.
    for (KnownElement& element : basic_elements()) add(made, std::move(element));
    const auto folders = module_folders("TENON_ELEMENT_PATH", reinterpret_cast<const void*>(&known_elements));
    made.modules = find_modules("libtenon_elements_", folders);
    return made;
  }();
  return all;
}

/// Loads modules in the order of their names until one brings the element `wanted`; if it is null, loads all of them. Modules
/// bring the libraries of their frameworks, so a program loads no more than it needs. @pre The registry is locked.
void load_until(Registry& all, const std::string* wanted) {
  while (!all.modules.empty() && !(wanted && all.entries.count(*wanted))) {
    const auto next = all.modules.extract(all.modules.begin());
    std::string reason = load(next.mapped(), all);
    if (!reason.empty()) all.absent.push_back({next.key(), std::move(reason)});
  }
}

/// The registry with all modules loaded.
Registry& whole_registry() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  load_until(all, nullptr);
  return all;
}

const KnownElement& find(const std::string& name) {
  Registry& all = registry();
  {
    const std::shared_lock lock(all.mutex);
    const auto found = all.entries.find(name);
    if (found != all.entries.end()) return found->second;
  }
  const std::lock_guard lock(all.mutex);
  load_until(all, &name);
  const auto found = all.entries.find(name);
  if (found != all.entries.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, entry] : all.entries) names.push_back(known);
  const std::string nearest = nearest_name(name, names);
  std::string absent;
  for (const AbsentElements& module : all.absent)
    absent += "; those of '" + module.module + "' are absent: " + module.reason;
  throw Error(Code::kNotFound,
              "there is no element '" + name + "'; " +
                  (nearest.empty() ? "`tenon elements` lists what there is" : "did you mean '" + nearest + "'?") +
                  absent);
}

Parameters checked(const Description& description, const std::map<std::string, std::string>& given,
                   const Environment& environment) {
  const std::string& name = description.name;
  const std::string owner = environment.name.empty() || environment.name == name
                                ? "element '" + name + "'"
                                : "element '" + environment.name + "' (" + name + ")";
  return {owner, description.parameters, given};
}

}  // namespace

void register_element(Description description, Factory factory) {
  Registry& all = whole_registry();
  const std::lock_guard lock(all.mutex);
  add(all, {std::move(description), std::move(factory)});
}

std::vector<Description> known_elements() {
  Registry& all = whole_registry();
  const std::shared_lock lock(all.mutex);
  std::vector<Description> list;
  for (const auto& [name, entry] : all.entries) list.push_back(entry.description);
  return list;
}

std::vector<AbsentElements> absent_elements() { return whole_registry().absent; }

const Description& find_element(const std::string& name) { return find(name).description; }

void check_element(const Description& element, const std::map<std::string, std::string>& parameters,
                   const Environment& environment) {
  checked(element, parameters, environment);
}

ElementFiles element_files(const Description& element, const std::map<std::string, std::string>& parameters,
                           const Environment& environment) {
  return element.files ? element.files(checked(element, parameters, environment), environment) : ElementFiles();
}

AnyElement make_element(const std::string& name, const std::map<std::string, std::string>& parameters,
                        const Environment& environment) {
  return make_element(find(name), parameters, environment);
}

AnyElement make_element(const KnownElement& entry, const std::map<std::string, std::string>& parameters,
                        const Environment& environment) {
  const Parameters given = checked(entry.description, parameters, environment);
  AnyElement made = entry.factory(given, environment);
  if (made.index() != static_cast<std::size_t>(entry.description.role))
    throw Error(Code::kInternal, given.owner() + " is not what its description says: source, transform or sink");
  return made;
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
