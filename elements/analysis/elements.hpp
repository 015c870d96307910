// SPDX-License-Identifier: Apache-2.0
// The element "track", which follows objects from frame to frame.
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
