// SPDX-License-Identifier: Apache-2.0
// The size of the system's pages.
#pragma once

#include <cstddef>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Bytes of a page of memory. @thread any. @cost one system call per process.
TENON_API std::size_t page_bytes() noexcept;

}  // namespace v1
}  // namespace tenon
