// SPDX-License-Identifier: Apache-2.0
// infer: frames, or objects in them, through a model.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {

std::vector<KnownElement> elements();

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
