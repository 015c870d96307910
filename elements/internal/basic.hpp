// SPDX-License-Identifier: Apache-2.0
// The elements that need no library.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

std::vector<KnownElement> basic_elements();
/// "convert", which leaves the work to one of the modules' converters.
KnownElement convert_element();

}  // namespace elements
}  // namespace v1
}  // namespace tenon
