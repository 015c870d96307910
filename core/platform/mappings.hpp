// SPDX-License-Identifier: Apache-2.0
// Files mapped into memory, and addresses without memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/export.hpp>
#include <tenon/core/platform/files.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

/// Maps the first `size` bytes of a file for reading; the mapping keeps the file open. @param size  Not 0.
TENON_API Failure map_file(int fd, std::size_t size, void*& address);
/// What becomes of bytes that are written to a part of a file: they stay in this mapping, or go to the file, which is open for writing.
enum class Writes : std::uint8_t { kPrivate, kToFile };
/// Maps `size` bytes of a file from `offset` on, for reading and writing; unmap() ends it. @param size  Not 0.
/// @param offset  A multiple of mapping_granularity(); the part lies within the file.
TENON_API Failure map_part(int fd, std::uint64_t offset, std::size_t size, Writes writes, void*& address);
/// What offsets of mapped parts are multiples of: a page; on Windows 64 KiB.
TENON_API std::size_t mapping_granularity() noexcept;
TENON_API void unmap(void* address, std::size_t size) noexcept;
/// Gives pages of a mapped file back; touching them reads the file again. @param address  A page's begin.
TENON_API void drop_pages(void* address, std::size_t size) noexcept;

/// Addresses that read as zeros, and take memory only when they are read. Windows counts them as memory that the process may want.
/// @param size  Bytes; a multiple of page_bytes().
TENON_API Failure map_zeros(std::size_t size, void*& address);
TENON_API void unmap_zeros(void* address, std::size_t size) noexcept;
/// Whether one of these pages was read since map_zeros(); true where the system does not say.
TENON_API bool were_touched(const void* address, std::size_t size);

}  // namespace platform
}  // namespace v1
}  // namespace tenon
