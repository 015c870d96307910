// SPDX-License-Identifier: Apache-2.0
// Elements over PipeWire.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace pipewire {

std::vector<KnownElement> elements();

}  // namespace pipewire
}  // namespace elements
}  // namespace v1
}  // namespace tenon
