// SPDX-License-Identifier: Apache-2.0
// A 128-bit hash of bytes: names cache entries, and finds damage in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tenon::inline v1::store {

/// XXH3, 128 bits: runs at the speed of memory and detects damage. It has no key: any process that can write a file can
/// also write its hash, so it does not protect against tampering (authenticated encryption does).
struct ContentHash {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const ContentHash&, const ContentHash&) = default;
  friend auto operator<=>(const ContentHash&, const ContentHash&) = default;
  /// 32 hexadecimal digits.
  std::string to_text() const;
};

/// @cost one read of the bytes.
ContentHash content_hash(const void* data, std::size_t size_bytes);

/// Hashes data in parts. Numbers and texts are delimited, so that neighbours cannot be confused.
/// @thread one at a time.
class ContentHasher {
 public:
  ContentHasher();
  ~ContentHasher();
  ContentHasher(const ContentHasher&) = delete;
  ContentHasher& operator=(const ContentHasher&) = delete;
  void add(const void* data, std::size_t size_bytes);
  void add(std::string_view text);
  void add(std::uint64_t number);
  void add(const ContentHash& hash);
  ContentHash result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::inline v1::store
