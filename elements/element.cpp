// SPDX-License-Identifier: Apache-2.0
// Elements that want nothing in particular.
#include <tenon/elements/element.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

Requirements Element::wanted(const StreamInfo&) const { return {}; }

}  // namespace elements
}  // namespace v1
}  // namespace tenon
