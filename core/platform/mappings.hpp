// SPDX-License-Identifier: Apache-2.0
// Files mapped into memory.
#pragma once

#include <cstddef>

#include <tenon/core/export.hpp>
#include <tenon/core/platform/files.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

/// Maps the first `size` bytes of a file for reading; the mapping keeps the file open. @param size  Not 0.
TENON_API Failure map_file(int fd, std::size_t size, void*& address);
TENON_API void unmap(void* address, std::size_t size) noexcept;
/// Gives pages of a mapped file back; touching them reads the file again. @param address  A page's begin.
TENON_API void drop_pages(void* address, std::size_t size) noexcept;

}  // namespace platform
}  // namespace v1
}  // namespace tenon
