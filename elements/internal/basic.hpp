// SPDX-License-Identifier: Apache-2.0
// The elements that need no library.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

std::vector<KnownElement> basic_elements();
/// The element "convert", which delegates to a converter of one of the modules.
KnownElement convert_element();
KnownElement throttle_element();
KnownElement aggregate_element();

}  // namespace elements
}  // namespace v1
}  // namespace tenon
