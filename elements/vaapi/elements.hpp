// SPDX-License-Identifier: Apache-2.0
// Elements over VA-API.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace vaapi {

std::vector<KnownElement> elements();

}  // namespace vaapi
}  // namespace elements
}  // namespace v1
}  // namespace tenon
