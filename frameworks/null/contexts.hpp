// SPDX-License-Identifier: Apache-2.0
// Which contexts of this framework exist on this machine. A real one asks its library here, and gives none where there
// is none.
#pragma once

#include <vector>

#include <tenon/frameworks/null/null.hpp>

namespace tenon {
inline namespace v1 {
namespace null {

inline std::vector<Context> contexts() { return {context()}; }

}  // namespace null
}  // namespace v1
}  // namespace tenon
