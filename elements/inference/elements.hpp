// SPDX-License-Identifier: Apache-2.0
// The elements "infer" and "audio_events", which run models.
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
