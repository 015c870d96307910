// SPDX-License-Identifier: Apache-2.0
// The elements that pipelines name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/elements/description.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace elements {

/// @thread any. @errors kAlreadyExists: the name is taken; kInvalidArgument: no name, no factory, a parameter described
/// twice.
TENON_API void register_element(Description description, Factory factory);

/// A module of elements that could not be loaded.
struct AbsentElements {
  std::string module;  ///< "gstreamer" of libtenon_elements_gstreamer.so.
  std::string reason;
};

/// By name: those that were registered, and those of the modules libtenon_elements_*.so beside this library and in the folders
/// that TENON_ELEMENT_PATH lists. Modules are loaded once, when an element is asked for that is in none of those loaded before.
/// @thread any.
TENON_API std::vector<Description> known_elements();
/// Modules that failed to load: another's library is missing, say. @thread any.
TENON_API std::vector<AbsentElements> absent_elements();
/// @errors kNotFound: no such element; the nearest name is proposed.
TENON_API const Description& find_element(const std::string& name);
/// Whether the parameters are right, without making the element. @errors as Parameters.
TENON_API void check_element(const Description& element, const std::map<std::string, std::string>& parameters,
                             const Environment& environment);
/// @errors as find_element(), check_element() and the factory; kInternal: the factory made something of another role.
TENON_API AnyElement make_element(const std::string& name, const std::map<std::string, std::string>& parameters,
                                  const Environment& environment);
/// The same of an element that is not registered.
TENON_API AnyElement make_element(const KnownElement& element, const std::map<std::string, std::string>& parameters,
                                  const Environment& environment);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
