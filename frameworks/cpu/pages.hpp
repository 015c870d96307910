// SPDX-License-Identifier: Apache-2.0
// The size of the system's pages.
#pragma once

#include <cstddef>

namespace tenon {
inline namespace v1 {
namespace cpu {

/// Bytes of a page. @thread any. @cost one system call per process.
std::size_t page_bytes();

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
