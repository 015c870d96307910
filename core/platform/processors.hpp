// SPDX-License-Identifier: Apache-2.0
// The processors on which a thread may run.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

/// Numbers of processors, as the system counts them; on Windows 64 times the group plus the number in it. A value.
class ProcessorSet {
 public:
  static constexpr int kMost = 1024;
  ProcessorSet() = default;
  explicit ProcessorSet(int processor) { words.at(static_cast<std::size_t>(processor) / 64) = bit_of(processor); }
  bool contains(int processor) const noexcept {
    return (words[static_cast<std::size_t>(processor) / 64] & bit_of(processor)) != 0;
  }
  int count() const noexcept {
    int sum = 0;
    for (const std::uint64_t word : words) sum += std::popcount(word);
    return sum;
  }
  std::array<std::uint64_t, kMost / 64> words{};

 private:
  static std::uint64_t bit_of(int processor) noexcept {
    return std::uint64_t{1} << (static_cast<unsigned>(processor) % 64);
  }
};

/// Those of the calling thread; none where the system does not say.
TENON_API ProcessorSet processors_of_thread() noexcept;
/// Keeps the calling thread on them. Windows: on those of the first group that the set names. @param processors  At least one.
/// @return false: the system refuses, as in some containers; the thread stays where it was.
TENON_API bool keep_thread_on(const ProcessorSet& processors) noexcept;

}  // namespace platform
}  // namespace v1
}  // namespace tenon
