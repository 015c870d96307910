// SPDX-License-Identifier: Apache-2.0
// Bytes that a device keeps in the cache folder for the next process, under a key that says what they are of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <tenon/core/tensor.hpp>
#include <tenon/store/cache_folder.hpp>
#include <tenon/store/content_hash.hpp>
#include <tenon/store/sealed_header.hpp>

namespace tenon::inline v1::gpu_device {

/// One kind of entry.
struct KeptKind {
  store::CacheFolder::Rules rules;
  store::Format format;
  std::uint64_t folder_bytes =
      0;  ///< The bound for all entries of the kind together; the least recently used ones are deleted.
};

struct KeptBytes {
  Tensor file;             ///< Keeps `bytes`.
  std::string_view bytes;  ///< Empty: there is no such entry.
  std::string distrust{};  ///< Why the folder must not be trusted; empty: it is not that.
};

/// @errors kDataLoss: the entry is damaged, of another format's version, or has another key.
KeptBytes read_kept(const std::filesystem::path& folder, const KeptKind& kind, const store::ContentHash& key);
/// Makes the folder if need be, and replaces the entry. A folder that must not be trusted gets nothing.
/// @errors those of files.
void write_kept(const std::filesystem::path& folder, const KeptKind& kind, const store::ContentHash& key,
                std::string_view bytes);

}  // namespace tenon::inline v1::gpu_device
