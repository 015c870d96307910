// SPDX-License-Identifier: Apache-2.0
// A table of names.
#include <tenon/elements/registry.hpp>

#include <map>
#include <set>
#include <shared_mutex>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/elements/internal/basic.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

struct Entry {
  Description description;
  Factory factory;
};

struct Registry {
  std::shared_mutex mutex;
  std::map<std::string, Entry> entries;  ///< Never removed: references stay valid.
};

Registry& registry() {
  static Registry& all = []() -> Registry& {
    auto& made = *new Registry;
    for (auto& [description, factory] : basic_elements()) {
      const std::string name = description.name;
      made.entries.try_emplace(name, Entry{description, factory});
    }
    return made;
  }();
  return all;
}

const Entry& find(const std::string& name) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  const auto found = all.entries.find(name);
  if (found != all.entries.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, entry] : all.entries) names.push_back(known);
  const std::string nearest = nearest_name(name, names);
  throw Error(Code::kNotFound,
              "there is no element '" + name + "'; " +
                  (nearest.empty() ? "known_elements() lists what there is" : "did you mean '" + nearest + "'?"));
}

}  // namespace

void register_element(Description description, Factory factory) {
  if (description.name.empty() || !factory)
    throw Error(Code::kInvalidArgument, "register_element: an element needs a name and a factory");
  std::set<std::string> seen;
  for (const Parameter& parameter : description.parameters) {
    if (!seen.insert(parameter.name).second)
      throw Error(Code::kInvalidArgument, "register_element: element '" + description.name + "' describes parameter '" +
                                              parameter.name + "' twice");
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::string name = description.name;
  const auto [at, is_new] = all.entries.try_emplace(name, Entry{std::move(description), std::move(factory)});
  if (!is_new) throw Error(Code::kAlreadyExists, "register_element: there is an element '" + at->first + "' already");
}

std::vector<Description> known_elements() {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  std::vector<Description> list;
  for (const auto& [name, entry] : all.entries) list.push_back(entry.description);
  return list;
}

const Description& find_element(const std::string& name) { return find(name).description; }

AnyElement make_element(const std::string& name, const std::map<std::string, std::string>& parameters,
                        const Environment& environment) {
  const Entry& entry = find(name);
  const std::string owner = environment.name.empty() || environment.name == name
                                ? "element '" + name + "'"
                                : "element '" + environment.name + "' (" + name + ")";
  AnyElement made = entry.factory(Parameters(owner, entry.description.parameters, parameters), environment);
  if (made.index() != static_cast<std::size_t>(entry.description.role))
    throw Error(Code::kInternal, owner + " is not what its description says: source, transform or sink");
  return made;
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
