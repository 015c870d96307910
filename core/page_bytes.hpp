// SPDX-License-Identifier: Apache-2.0
// The size of the system's pages.
#pragma once

#include <unistd.h>
#include <cstddef>

namespace tenon {
inline namespace v1 {

/// Bytes of a page of memory. @thread any. @cost one system call per process.
inline std::size_t page_bytes() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace v1
}  // namespace tenon
