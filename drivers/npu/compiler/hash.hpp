// SPDX-License-Identifier: Apache-2.0
// A 128-bit hash: names entries of the compile cache, and finds damage in blobs. No protection against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tenon::npu::compiler {

struct Hash {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Hash&, const Hash&) = default;
  /// 32 hexadecimal digits.
  std::string to_text() const;
};

/// XXH3 of the bytes. @cost one read of them.
Hash hash_of(const void* data, std::size_t size_bytes);

/// The same for parts; texts and numbers are kept apart from their neighbours.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(const void* data, std::size_t size_bytes);
  void add(std::string_view text);
  void add(std::uint64_t number);
  Hash result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::npu::compiler
