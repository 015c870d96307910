// SPDX-License-Identifier: Apache-2.0
// File descriptors with owners, under the names of this framework. posix/poll.hpp waits for them.
#pragma once

#include <tenon/core/fd.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

using tenon::SharedFd;
using tenon::UniqueFd;

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
