// SPDX-License-Identifier: Apache-2.0
// Repairs hashes, for tests and fuzzers of the code behind the hash checks.
#pragma once

#include <cstring>
#include <string>

#include <tenon/store/content_hash.hpp>
#include <tenon/store/sealed_header.hpp>

namespace tenon::inline v1::store {

/// Recomputes the hashes of sealed data after a change. Data that is too short for a header is left unchanged.
/// @param behind  Start of the bytes that the content's hash covers; they end at `total`.
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
