// SPDX-License-Identifier: Apache-2.0
// The source of a generator's decisions: a seed, or bytes that a fuzzer or a shrinker changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tenon::graphs {

/// One byte per decision; records all decisions, so that they can be replayed.
class Choices {
 public:
  /// Endless decisions from a seed.
  explicit Choices(std::uint64_t seed) : seed_(seed), endless_(true) {}
  /// Zeros when the bytes run out: the first, simplest choice.
  explicit Choices(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}

  /// A number below `count`, which is at most 256; uses no byte if there is no choice.
  std::size_t below(std::size_t count) {
    if (count < 2) return 0;
    const std::uint8_t byte = next();
    taken_.push_back(byte);
    return byte * count / 256;
  }
  std::size_t between(std::size_t low, std::size_t high) { return low + below(high - low + 1); }
  /// False for a byte of 0.
  bool once_in(std::size_t count) { return below(count) == count - 1; }
  template <typename T>
  const T& one_of(const std::vector<T>& values) {
    return values[below(values.size())];
  }
  const std::vector<std::uint8_t>& taken() const { return taken_; }
  /// Whether only zeros will follow.
  bool is_spent() const { return !endless_ && at_ >= bytes_.size(); }

 private:
  std::uint8_t next() {
    if (!endless_) return at_ < bytes_.size() ? bytes_[at_++] : 0;
    // splitmix64
    std::uint64_t z = (seed_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return static_cast<std::uint8_t>((z ^ (z >> 31)) >> 24);
  }

  std::uint64_t seed_ = 0;
  bool endless_ = false;
  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::vector<std::uint8_t> taken_;
};

}  // namespace tenon::graphs
