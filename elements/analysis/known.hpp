// SPDX-License-Identifier: Apache-2.0
// Elements of this folder whose classes no other file needs.
#pragma once

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {

KnownElement motion();

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
