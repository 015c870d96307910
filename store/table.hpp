// SPDX-License-Identifier: Apache-2.0
// Numbers, texts and hashes, one after the other: how every format here writes what has no fixed size.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::store {

/// Throws what a format says of bytes that are damaged: an Error (kDataLoss) that names the object and holds `what`.
using Damaged = std::function<void(const std::string& what)>;
/// Calls it, and is not left otherwise.
[[noreturn]] void say_damaged(const Damaged& damaged, const std::string& what);

/// Little-endian, as every machine that these formats are made for.
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

/// What a reader says is wrong, where its format has better words.
struct TableDamage {
  const char* ends_early = "its table ends early";
  const char* too_many = "its table names more entries than it has";
  const char* out_of_range = "a number in its table is out of range";
};

/// Reads what a TableWriter wrote, never past its end. All members may throw what `damaged` throws.
/// @thread one at a time.
class TableReader {
 public:
  /// @param bytes  kept, not copied: they must outlive the reader and its views.
  TableReader(std::string_view bytes, Damaged damaged, const TableDamage& words = {})
      : rest_(bytes), damaged_(std::move(damaged)), words_(words) {}

  std::uint64_t number();
  /// One of at most that.
  std::uint64_t number(std::uint64_t most);
  /// Of entries that take at least 8 bytes each: what it names is there, or it is damaged.
  std::uint64_t count();
  std::string text() { return std::string(view()); }
  /// A text where it lies.
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
