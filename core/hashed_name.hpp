// SPDX-License-Identifier: Apache-2.0
// Names as values: the base of the open sets of kinds.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {
inline namespace v1 {

/// A constexpr name with its 64-bit hash (FNV-1a), by which it is compared. The text must be a literal, because it is
/// not copied.
class HashedName {
 public:
  constexpr HashedName() = default;
  explicit constexpr HashedName(std::string_view name) : name_(name), hash_(hash_of(name)) {}
  constexpr std::string_view name() const { return name_; }
  /// 0 for the default, which has no name.
  constexpr std::uint64_t hash() const { return hash_; }

 private:
  static constexpr std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return hash;
  }
  std::string_view name_;
  std::uint64_t hash_ = 0;
};

/// The base of one open set of names: `class MemoryKind : public NameOf<MemoryKind>`. Names of one set are equal when their
/// hashes are; names of different sets do not compare.
template <typename Set>
class NameOf : public HashedName {
 public:
  using HashedName::HashedName;
  friend constexpr bool operator==(const Set& a, const Set& b) { return a.hash() == b.hash(); }
};

}  // namespace v1
}  // namespace tenon
