// SPDX-License-Identifier: Apache-2.0
#include <tenon/tools/tenon/shared/known_contexts.hpp>

#include <tenon/tools/tenon/shared/software_npu.hpp>

namespace tenon::tool {

const ContextModules& known_contexts() {
  static const auto* known =
      new ContextModules(load_context_modules(library_folders()));  // Outlives static destructors.
  return *known;
}

void add_known_contexts(Router& router) {
  for (const Context& context : known_contexts().contexts) router.add(context);
  router.add(known_contexts().edges);
}

Context find_context(const Router& router, const std::string& name) {
  return tenon::find_context(router, name, known_contexts().absent);
}

}  // namespace tenon::tool
