// SPDX-License-Identifier: Apache-2.0
// The elements that need no library.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

std::vector<KnownElement> basic_elements();

}  // namespace elements
}  // namespace v1
}  // namespace tenon
