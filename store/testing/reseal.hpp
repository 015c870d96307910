// SPDX-License-Identifier: Apache-2.0
// For tests and fuzzers that must get past the hashes.
#pragma once

#include <cstring>
#include <string>

#include <tenon/store/content_hash.hpp>
#include <tenon/store/sealed_header.hpp>

namespace tenon::inline v1::store {

/// Makes the hashes of a sealed whole right again after it was changed. What is too short to be one stays as it is.
/// @param behind  Where the bytes begin that the content's hash is of; they end at `total`.
inline void reseal(char* bytes, std::size_t size_bytes, std::size_t header_bytes, std::size_t behind) {
  if (size_bytes < header_bytes) return;
  SealStart start;
  std::memcpy(&start, bytes, sizeof start);
  if (start.total >= behind && start.total <= size_bytes) {
    start.content = content_hash(bytes + behind, start.total - behind);
    std::memcpy(bytes, &start, sizeof start);
  }
  const ContentHash own = content_hash(bytes, header_bytes - sizeof own);
  std::memcpy(bytes + header_bytes - sizeof own, &own, sizeof own);
}
inline void reseal(std::string& bytes, std::size_t header_bytes) {
  reseal(bytes.data(), bytes.size(), header_bytes, header_bytes);
}

}  // namespace tenon::inline v1::store
