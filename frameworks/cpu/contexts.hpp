// SPDX-License-Identifier: Apache-2.0
// The contexts of this framework on this machine: always host memory, nothing else.
#pragma once

#include <vector>

#include <tenon/core/context.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

std::vector<Context> contexts();

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
