// SPDX-License-Identifier: Apache-2.0
// The driver's cache of compiled graphs: one file per graph in a folder, found by hash, verified, bounded in size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <tenon/core/tensor.hpp>
#include <tenon/drivers/npu/compiler/hash.hpp>

namespace tenon::npu::compiler {

/// Failing to write or read is never an error of a compilation: it is then as if there were no cache.
/// @thread all members from any thread; several processes share one folder.
class CompileCache {
 public:
  /// @param folder  Made when first written to; empty: no cache. @param limit  Bytes of all entries.
  CompileCache(std::filesystem::path folder, std::uint64_t limit);
  /// The folder and limit that the environment names: TENON_NPU_CACHE_DIR (empty: none), TENON_NPU_CACHE_BYTES; by
  /// default 1 GiB in the user's cache folder.
  static CompileCache from_environment();

  /// The entry's bytes, mapped; marks it as used. What it holds is for the caller to verify.
  std::optional<Tensor> find(const Hash& key) const;
  /// Writes it beside its place and renames; then removes what was longest unused until the limit holds.
  void store(const Hash& key, const Tensor& bytes) const;
  /// For entries that turned out to be damaged or of another version.
  void remove(const Hash& key) const;

  std::uint64_t used_bytes() const;
  std::uint64_t limit() const { return limit_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path path_of(const Hash& key) const;
  void make_room(const std::filesystem::path& newest) const;

  std::filesystem::path folder_;
  std::uint64_t limit_;
};

}  // namespace tenon::npu::compiler
