// SPDX-License-Identifier: Apache-2.0
// The kinds of memory: an open set of names, compared by hash.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {
inline namespace v1 {

/// A constexpr name with its 64-bit hash (FNV-1a). Each framework defines its own: there is no central list and no
/// registration. The text must be a literal, because it is not copied.
class MemoryKind {
 public:
  constexpr MemoryKind() = default;
  explicit constexpr MemoryKind(std::string_view name) : name_(name), hash_(hash_of(name)) {}
  constexpr std::string_view name() const { return name_; }
  constexpr std::uint64_t hash() const { return hash_; }
  friend constexpr bool operator==(const MemoryKind& a, const MemoryKind& b) { return a.hash_ == b.hash_; }

 private:
  static constexpr std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return hash;
  }
  std::string_view name_;
  std::uint64_t hash_ = 0;
};

/// Host memory: addressable by any thread of the process.
inline constexpr MemoryKind kCpuMemory{"cpu"};

}  // namespace v1
}  // namespace tenon
