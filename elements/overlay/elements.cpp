// SPDX-License-Identifier: Apache-2.0
// The list of the elements of this module.
#include <tenon/elements/overlay/elements.hpp>

#include <tenon/elements/overlay/known.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {

std::vector<KnownElement> elements() { return {blur(), draw(), mosaic(), histogram(), normalise(), turn()}; }

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
