// SPDX-License-Identifier: Apache-2.0
// Elements that work on what models have found: they follow objects, and count them in zones.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {

std::vector<KnownElement> elements();

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
