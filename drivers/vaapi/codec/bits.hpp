// SPDX-License-Identifier: Apache-2.0
// Bits of parameter sets and headers: writing and reading, Exp-Golomb codes, NAL units with emulation prevention.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon::va {

using Bytes = std::vector<std::uint8_t>;

class BitWriter {
 public:
  void bit(bool value) {
    if (count_ % 8 == 0) bytes_.push_back(0);
    if (value) bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | 0x80u >> count_ % 8);
    ++count_;
  }
  /// The low `count` bits, the highest first.
  void bits(int count, std::uint32_t value) {
    while (count-- > 0) bit(value >> count & 1);
  }
  void ue(std::uint32_t value) {  // NOLINT: the standards' own name.
    const std::uint64_t code = std::uint64_t{value} + 1;
    const int length = std::bit_width(code);
    for (int zero = 1; zero < length; ++zero) bit(false);
    for (int at = length - 1; at >= 0; --at) bit(code >> at & 1);
  }
  void se(std::int32_t value) {
    ue(value > 0 ? 2 * static_cast<std::uint32_t>(value) - 1
                 : 2 * static_cast<std::uint32_t>(-static_cast<std::int64_t>(value)));
  }
  /// A one, then zeros to the next byte: rbsp_trailing_bits and byte_alignment.
  void stop() {
    bit(true);
    align();
  }
  void align() {
    while (count_ % 8 != 0) bit(false);
  }
  const Bytes& bytes() const noexcept { return bytes_; }

 private:
  Bytes bytes_;
  std::size_t count_ = 0;
};

/// Reads zeros past the end.
class BitReader {
 public:
  explicit BitReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool bit() {
    const std::size_t at = count_++;
    return at / 8 < bytes_.size() && (bytes_[at / 8] >> (7 - at % 8) & 1);
  }
  std::uint32_t bits(int count) {
    std::uint32_t value = 0;
    while (count-- > 0) value = value << 1 | static_cast<std::uint32_t>(bit());
    return value;
  }
  std::uint32_t ue() {
    int zeros = 0;
    while (zeros < 32 && !bit()) ++zeros;
    return zeros == 32 ? 0xffffffffu : (1u << zeros) - 1 + bits(zeros);
  }
  std::int32_t se() {
    const std::uint32_t code = ue();
    return code & 1 ? static_cast<std::int32_t>(code / 2 + 1) : -static_cast<std::int32_t>(code / 2);
  }
  std::size_t position() const noexcept { return count_; }
  bool is_past_end() const noexcept { return count_ > bytes_.size() * 8; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t count_ = 0;
};

/// Appends a payload in which no start code can appear.
inline void append_escaped(Bytes& to, std::span<const std::uint8_t> payload) {
  int zeros = 0;
  for (const std::uint8_t byte : payload) {
    if (zeros >= 2 && byte <= 3) {
      to.push_back(3);
      zeros = 0;
    }
    to.push_back(byte);
    zeros = byte ? 0 : zeros + 1;
  }
}

inline constexpr std::uint8_t kStartCode[] = {0, 0, 0, 1};
inline void append_start_code(Bytes& to) { to.insert(to.end(), std::begin(kStartCode), std::end(kStartCode)); }

/// The first bytes of a NAL unit without emulation prevention, at most `limit`.
inline Bytes unescape(std::span<const std::uint8_t> unit, std::size_t limit) {
  Bytes plain;
  int zeros = 0;
  for (const std::uint8_t byte : unit) {
    if (plain.size() == limit) break;
    if (zeros >= 2 && byte == 3) {
      zeros = 0;
      continue;
    }
    plain.push_back(byte);
    zeros = byte ? 0 : zeros + 1;
  }
  return plain;
}

/// The position of the next zigzag scan in raster order, of a square of `side` (4 or 8).
std::span<const std::uint8_t> zigzag(int side);

}  // namespace tenon::va
