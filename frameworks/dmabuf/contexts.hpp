// SPDX-License-Identifier: Apache-2.0
// The contexts of this framework on this machine: always one, whose name says if it is a stand-in.
#pragma once

#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {

inline std::vector<Context> contexts() { return {context()}; }

}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
