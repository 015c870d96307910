// SPDX-License-Identifier: Apache-2.0
// XXH3 behind ContentHash.
#include <tenon/store/content_hash.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tenon::inline v1::store {

struct ContentHasher::State {
  XXH3_state_t xxh;
};

std::string ContentHash::to_text() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t word : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[word >> shift & 15];
  return text;
}

ContentHash content_hash(const void* data, std::size_t size_bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, size_bytes);
  return {hash.low64, hash.high64};
}

ContentHasher::ContentHasher() : state_(new State) { XXH3_128bits_reset(&state_->xxh); }
ContentHasher::~ContentHasher() = default;
void ContentHasher::add(const void* data, std::size_t size_bytes) {
  if (size_bytes) XXH3_128bits_update(&state_->xxh, data, size_bytes);
}
void ContentHasher::add(std::string_view text) {
  add(static_cast<std::uint64_t>(text.size()));
  add(text.data(), text.size());
}
void ContentHasher::add(std::uint64_t number) { add(&number, sizeof number); }
void ContentHasher::add(const ContentHash& hash) {
  add(hash.low);
  add(hash.high);
}
ContentHash ContentHasher::result() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
  return {hash.low64, hash.high64};
}

}  // namespace tenon::inline v1::store
