// SPDX-License-Identifier: Apache-2.0
// The contexts of this framework on this machine. A real framework queries its library here, and returns none if there
// are none.
#pragma once

#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/null/null.hpp>

namespace tenon {
inline namespace v1 {
namespace null {

inline std::vector<Context> contexts() { return {context()}; }

}  // namespace null
}  // namespace v1
}  // namespace tenon
