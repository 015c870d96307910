// SPDX-License-Identifier: Apache-2.0
// The driver's cache of compiled graphs: one file per graph in a folder, found by hash, bound to it, bounded in size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <tenon/core/tensor.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::npu::compiler {

/// What an entry is of: it carries both, and is no entry for anything else, whatever its file is called.
struct CacheKey {
  store::ContentHash all;    ///< Of the model and of everything that its compilation depends on: names the file.
  store::ContentHash model;  ///< Of the model alone.
};

/// Failing to write or read is never an error of a compilation: it is then as if there were no cache. What is mapped
/// from it is run, so nothing is read that another user may have written: the folder and its entries must belong to the
/// process's user, and nobody else may have the right to write them. A folder that does not is left alone, and said so
/// on the standard error, once.
/// @thread all members from any thread; several processes share one folder.
class CompileCache {
 public:
  /// @param folder  Made when first written to, for this user alone; empty: no cache.
  /// @param limit  Bytes of all entries.
  CompileCache(std::filesystem::path folder, std::uint64_t limit);
  /// The folder and limit that the environment names: TENON_NPU_CACHE_DIR (empty: none), TENON_NPU_CACHE_BYTES; by
  /// default 1 GiB in the user's cache folder.
  static CompileCache from_environment();

  /// The entry's bytes, mapped; marks it as used. Removes an entry that is damaged or of another key. The bytes have a
  /// page's alignment; all but their first page is for the caller to verify.
  std::optional<Tensor> find(const CacheKey& key) const;
  /// Writes it beside its place and renames; then removes what was longest unused until the limit holds, and what
  /// processes left that died while they wrote.
  void store(const CacheKey& key, const Tensor& bytes) const;
  /// For entries whose bytes turned out to be damaged or of another version.
  void remove(const CacheKey& key) const;

  std::uint64_t used_bytes() const;
  std::uint64_t limit() const { return limit_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::uint64_t limit_;
};

}  // namespace tenon::npu::compiler
