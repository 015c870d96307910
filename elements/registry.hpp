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

/// By name. @thread any.
TENON_API std::vector<Description> known_elements();
/// @errors kNotFound: no such element; the nearest name is proposed.
TENON_API const Description& find_element(const std::string& name);
/// @errors as Parameters and the factory; kInternal: the factory made something of another role.
TENON_API AnyElement make_element(const std::string& name, const std::map<std::string, std::string>& parameters,
                                  const Environment& environment);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
