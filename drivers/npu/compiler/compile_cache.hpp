// SPDX-License-Identifier: Apache-2.0
// The driver's cache of compiled graphs: one file per graph in a folder, found by hash, bound to it, bounded in size.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>

#include <tenon/core/tensor.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::npu::compiler {

/// Identity of an entry. The entry stores both hashes and is valid only for them, whatever the name of its file.
struct CacheKey {
  store::ContentHash all;    ///< Hash of the model and of everything that its compilation depends on; the file's name.
  store::ContentHash model;  ///< Hash of the model alone.
};

/// A failure to write or read is never an error of a compilation: the compiler then works without a cache. Mapped
/// entries are executed, so entries that another user may have written are not read: the folder and its entries must
/// belong to the process's user, and no other user may have the right to write them. A folder that violates this is not
/// used, which is reported once on stderr.
/// @thread all members from any thread; several processes share one folder.
class CompileCache {
 public:
  /// @param folder  Created on the first write, accessible to this user only; empty: no cache.
  /// @param limit  Maximum size of all entries, in bytes.
  CompileCache(std::filesystem::path folder, std::uint64_t limit);
  /// The folder and limit from the environment: TENON_NPU_CACHE_DIR (empty: none), TENON_NPU_CACHE_BYTES; by default 1
  /// GiB in the user's cache folder.
  static CompileCache from_environment();

  /// The entry's bytes, mapped; marks it as used. Removes an entry that is damaged or of another key. The bytes are
  /// page-aligned; the caller must verify all but the first page.
  std::optional<Tensor> find(const CacheKey& key) const;
  /// Writes a temporary file and renames it. Then removes the least recently used entries until the limit holds, and
  /// temporary files of processes that died while they wrote.
  /// @return false: not stored, since it is larger than the limit or cannot be written.
  bool store(const CacheKey& key, const Tensor& bytes) const;
  /// Removes an entry whose bytes turned out to be damaged or of another version.
  void remove(const CacheKey& key) const;

  std::uint64_t used_bytes() const;
  std::uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  /// From now on. Removes the least recently used entries until the new limit holds.
  void set_limit(std::uint64_t limit);
  /// Creates the folder if it is not there. @return false: no folder was given, or it cannot be made or trusted.
  bool make_folder() const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::atomic<std::uint64_t> limit_;
};

}  // namespace tenon::npu::compiler
