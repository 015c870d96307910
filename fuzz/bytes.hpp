// SPDX-License-Identifier: Apache-2.0
// A fuzzer's input as a stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tenon::fuzz {

/// Takes values off the front of the input; zeros behind its end. @param data  Outlives it.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : left_(data, size) {}
  bool is_empty() const { return left_.empty(); }
  template <typename T>
  T next() {
    T value{};
    const std::size_t count = std::min(sizeof value, left_.size());
    if (count > 0) std::memcpy(&value, left_.data(), count);
    left_ = left_.subspan(count);
    return value;
  }
  std::uint8_t byte() { return next<std::uint8_t>(); }

 protected:
  std::span<const std::uint8_t> left_;
};

}  // namespace tenon::fuzz
