// SPDX-License-Identifier: Apache-2.0
#include <tenon/elements/python/elements.hpp>

#include <string>
#include <utility>

#include <tenon/elements/python/interpreter.hpp>

namespace tenon {
inline namespace v1 {
namespace elements::python {
namespace {

KnownElement known(Role role, std::string name, std::string about) {
  Description description;
  description.name = std::move(name);
  description.about = std::move(about);
  description.role = role;
  description.has_thread = role != Role::kSource;
  Parameter module{"module", "Python file, or the dotted name of a module", std::string()};
  module.is_required = true;
  description.parameters = {
      std::move(module),
      {"class", "Class or function in it; empty: the only one that fits", std::string()},
      {"kwarg", "Its parameters, as a JSON object: {\"strength\": 3}", std::string()},
  };
  description.files = [](const Parameters& given, const Environment&) -> ElementFiles {
    const std::string& path = given.text("module");
    return path.ends_with(".py") ? ElementFiles{{path}} : ElementFiles();
  };
  auto factory = [role](const Parameters& given, const Environment& environment) -> AnyElement {
    const KnownElement made =
        element_from(given.owner(), given.text("module"), given.text("class"), given.text("kwarg"), role);
    return made.factory(Parameters(given.owner(), {}, {}), environment);
  };
  return {std::move(description), std::move(factory)};
}

}  // namespace

std::vector<KnownElement> elements() {
  return {
      known(Role::kTransform, "python",
            "Passes frames through a class or function of a Python file, which may read, change, replace or drop them"),
      known(Role::kSource, "python_source", "Gives the frames of a class of a Python file"),
      known(Role::kSink, "python_sink", "Gives frames to a class of a Python file")};
}

}  // namespace elements::python
}  // namespace v1
}  // namespace tenon
