// SPDX-License-Identifier: Apache-2.0
// Numbers and texts as blobs hold them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon::inline v1::npu_device {

[[noreturn]] inline void damaged(const std::string& what) {
  throw Error(Code::kDataLoss, "NPU: the compiled blob is damaged or truncated: " + what + "; compile the model anew");
}

/// Numbers and texts, one after the other.
class TableWriter {
 public:
  void number(std::uint64_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    bytes.append(value);
  }
  void text(const void* data, std::size_t size) { text({static_cast<const char*>(data), size}); }
  void names(const std::unordered_set<std::string>& values) {
    std::vector<std::string> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    number(sorted.size());
    for (const std::string& value : sorted) text(value);
  }
  std::string bytes;
};

/// Reads what a TableWriter wrote, never past its end. @errors kDataLoss.
class TableReader {
 public:
  explicit TableReader(std::span<const char> bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  /// A count of things that take at least 8 bytes each.
  std::uint64_t count() {
    const std::uint64_t value = number();
    if (value > (bytes_.size() - at_) / 8) damaged("its table names more entries than it has");
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    return std::string(take(size), size);
  }
  /// A text where it lies.
  std::string_view view() {
    const std::uint64_t size = number();
    return {take(size), size};
  }
  std::unordered_set<std::string> names() {
    std::unordered_set<std::string> values;
    for (std::uint64_t left = count(); left > 0; --left) values.insert(text());
    return values;
  }

 private:
  const char* take(std::uint64_t size) {
    if (size > bytes_.size() - at_) damaged("its table ends early");
    const char* start = bytes_.data() + at_;
    at_ += size;
    return start;
  }
  std::span<const char> bytes_;
  std::size_t at_ = 0;
};

}  // namespace tenon::inline v1::npu_device
