// SPDX-License-Identifier: Apache-2.0
// The elements of this folder.
#pragma once

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {

KnownElement blur();
KnownElement draw();
KnownElement mosaic();
KnownElement histogram();
KnownElement normalise();
KnownElement turn();

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
