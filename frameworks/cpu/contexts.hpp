// SPDX-License-Identifier: Apache-2.0
// The contexts of this framework on this machine: always host memory, nothing else.
#pragma once

#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

inline std::vector<Context> contexts() { return {context()}; }

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
