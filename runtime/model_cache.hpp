// SPDX-License-Identifier: Apache-2.0
// Managing a compiled-model cache: listing a folder's entries, verifying them, removing them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace cache {

/// One entry of a cache folder.
struct EntryReport {
  std::filesystem::path file;
  std::string model;   ///< The model's friendly name.
  std::string device;  ///< "CPU"
  std::uint64_t size_bytes = 0;
  std::chrono::system_clock::time_point created, used;  ///< `used` is the file's access time.
  bool encrypted = false;
  bool sound = true;  ///< False: the next compilation will not use it, and `reason` says why.
  std::string reason;
};

/// The entries of a folder, most recently used first. Checks only their headers; skips files that are no entries.
/// @errors kNotFound: no such folder; kPermissionDenied. @cost reads a page per entry.
TENON_API std::vector<EntryReport> list(const std::filesystem::path& folder);
/// Does the same as list(), and compares every entry's bytes with its hash. @cost reads all bytes.
TENON_API std::vector<EntryReport> verify(const std::filesystem::path& folder);
/// Removes all entries, damaged ones too, and left-over temporary files; nothing else. @return the number of entries.
/// Models that are loaded keep working. @errors as list().
TENON_API std::size_t clear(const std::filesystem::path& folder);

/// Receives messages of the cache: why something was not cached, or not taken from the cache. The default writes them
/// to stderr. An empty sink drops them. @thread any; a sink may be called from any thread.
using MessageSink = std::function<void(const std::string&)>;
TENON_API void set_message_sink(MessageSink sink);

}  // namespace cache
}  // namespace v1
}  // namespace tenon
