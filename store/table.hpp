// SPDX-License-Identifier: Apache-2.0
// Serialisation of numbers, texts and hashes in sequence: the form of variable-size data in all formats here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::store {

/// Throws a format's error for damaged bytes: an Error (kDataLoss) that names the object and contains `what`.
using Damaged = std::function<void(const std::string& what)>;
/// Calls `damaged`, which must throw; never returns.
[[noreturn]] void say_damaged(const Damaged& damaged, const std::string& what);

/// Writes little-endian, the byte order of all supported machines.
class TableWriter {
 public:
  void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  void hash(const ContentHash& value) {
    number(value.low);
    number(value.high);
  }
  const std::string& bytes() const& { return bytes_; }
  std::string bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Descriptions of damage, for formats with more specific words.
struct TableDamage {
  const char* ends_early = "its table ends early";
  const char* too_many = "its table names more entries than it has";
  const char* out_of_range = "a number in its table is out of range";
};

/// Reads the output of a TableWriter, never past its end. All members may throw the error of `damaged`.
/// @thread one at a time.
class TableReader {
 public:
  /// @param bytes  kept, not copied: they must outlive the reader and its views.
  TableReader(std::string_view bytes, Damaged damaged, const TableDamage& words = {})
      : rest_(bytes), damaged_(std::move(damaged)), words_(words) {}

  std::uint64_t number();
  /// Reads a number; damaged if it exceeds `max`.
  std::uint64_t number(std::uint64_t max);
  /// Reads the number of entries of at least 8 bytes each; damaged if the rest is too short for them.
  std::uint64_t count();
  std::string text() { return std::string(view()); }
  /// A text in place.
  std::string_view view() { return take(number()); }
  ContentHash hash();
  [[noreturn]] void damaged(const std::string& what) const { say_damaged(damaged_, what); }

 private:
  std::string_view take(std::uint64_t size_bytes);
  std::string_view rest_;
  Damaged damaged_;
  TableDamage words_;
};

}  // namespace tenon::inline v1::store
