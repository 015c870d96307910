// SPDX-License-Identifier: Apache-2.0
// The elements of this module.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace publish {

KnownElement json();
KnownElement publish();
std::vector<KnownElement> elements();

}  // namespace publish
}  // namespace elements
}  // namespace v1
}  // namespace tenon
