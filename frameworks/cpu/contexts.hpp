// SPDX-License-Identifier: Apache-2.0
// Which contexts of this framework exist on this machine: always the one of host memory.
#pragma once

#include <vector>

#include <tenon/frameworks/cpu/cpu.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

inline std::vector<Context> contexts() { return {context()}; }

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
