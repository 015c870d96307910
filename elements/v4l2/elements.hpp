// SPDX-License-Identifier: Apache-2.0
// Elements over V4L2.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace v4l2 {

std::vector<KnownElement> elements();

}  // namespace v4l2
}  // namespace elements
}  // namespace v1
}  // namespace tenon
