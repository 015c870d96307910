// SPDX-License-Identifier: Apache-2.0
// The registry of elements, in which pipelines find elements by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/elements/description.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace elements {

/// Adds an element. @thread any. @errors kAlreadyExists: the name is taken; kInvalidArgument: no name, no factory, or a
/// parameter that is described twice.
TENON_API void register_element(Description description, Factory factory);

/// A module of elements that could not be loaded.
struct AbsentElements {
  std::string module;  ///< For example "gstreamer" for libtenon_elements_gstreamer.so.
  std::string reason;
};

/// All elements, sorted by name: those that were registered, and those of the modules libtenon_elements_*.so beside this
/// library and in the folders that TENON_ELEMENT_PATH lists. Each module is loaded once, when a program asks for an element
/// that no module loaded so far has. @thread any.
TENON_API std::vector<Description> known_elements();
/// Modules that failed to load, for example because a library is missing. @thread any.
TENON_API std::vector<AbsentElements> absent_elements();
/// The description of an element. @errors kNotFound: no such element; the message proposes the nearest name.
TENON_API const Description& find_element(const std::string& name);
/// Checks the parameters without making the element. @errors as Parameters.
TENON_API void check_element(const Description& element, const std::map<std::string, std::string>& parameters,
                             const Environment& environment);
/// The files that it would read and write. @errors as check_element()
TENON_API ElementFiles element_files(const Description& element, const std::map<std::string, std::string>& parameters,
                                     const Environment& environment);
/// Makes an element. @errors as find_element(), check_element() and the factory; kInternal: the factory made an element of
/// another role.
TENON_API AnyElement make_element(const std::string& name, const std::map<std::string, std::string>& parameters,
                                  const Environment& environment);
/// The same for an element that is not registered.
TENON_API AnyElement make_element(const KnownElement& element, const std::map<std::string, std::string>& parameters,
                                  const Environment& environment);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
