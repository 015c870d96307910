// SPDX-License-Identifier: Apache-2.0
// Rows that fill no whole vectors, at addresses that are not aligned, on every instruction set: right, and nothing
// beside them is written.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <tenon/engine/kernels/low_bit/quantize.hpp>
#include <tenon/engine/kernels/reductions/softmax.hpp>
#include <tenon/engine/kernels/simd/elementwise.hpp>

namespace tenon::engine_test {
namespace tails_test {

using namespace engine::kernels;

void on_every_instruction_set(const std::function<void()>& body) {
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t left = all; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(left & -left));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

constexpr float kGuard = 12345.f;

/// Numbers one float past an aligned address, and guards on both sides.
struct Row {
  explicit Row(std::size_t count) : count(count), memory(count + 64, kGuard) {
    begin = memory.data();
    while (reinterpret_cast<std::uintptr_t>(begin) % 64 != 0) ++begin;
    begin += 1;
    for (std::size_t i = 0; i < count; ++i) begin[i] = std::sin(static_cast<float>(i + 1)) * 3;
  }
  bool guards_are_whole() const {
    return std::all_of(memory.data(), static_cast<const float*>(begin), [](float x) { return x == kGuard; }) &&
           std::all_of(static_cast<const float*>(begin) + count, memory.data() + memory.size(),
                       [](float x) { return x == kGuard; });
  }
  std::size_t count;
  std::vector<float> memory;
  float* begin;
};

constexpr std::size_t kCounts[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33};

TEST(Tails, OfElementwiseFunctions) {
  on_every_instruction_set([] {
    for (const std::size_t count : kCounts) {
      const Row x(count), y(count);
      Row out(count);
      elementwise(Elementwise::kSubtract)(x.begin, y.begin, nullptr, out.begin, count, 0, 0);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(out.begin[i], 0) << count;
      elementwise(Elementwise::kRelu)(x.begin, nullptr, nullptr, out.begin, count, 0, 0);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(out.begin[i], std::max(x.begin[i], 0.f)) << count;
      EXPECT_TRUE(out.guards_are_whole()) << count;
    }
  });
}

TEST(Tails, OfSoftmax) {
  on_every_instruction_set([] {
    for (const std::size_t inner : kCounts) {
      constexpr std::size_t kExtent = 3;
      const Row x(kExtent * inner);
      Row out(kExtent * inner);
      softmax_columns(x.begin, out.begin, 1, kExtent, inner);
      for (std::size_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < kExtent; ++k) sum += std::exp(static_cast<double>(x.begin[k * inner + i]));
        for (std::size_t k = 0; k < kExtent; ++k)
          EXPECT_NEAR(out.begin[k * inner + i], std::exp(static_cast<double>(x.begin[k * inner + i])) / sum, 1e-6);
      }
      EXPECT_TRUE(out.guards_are_whole()) << inner;
    }
  });
}

TEST(Tails, OfLevels) {
  on_every_instruction_set([] {
    for (const std::size_t columns : kCounts) {
      constexpr std::size_t kRows = 3;
      const Row x(kRows * columns);
      Row out(kRows * columns);
      const Levels levels{-3.f, 255.f / 6, 255.f, 0.f, 6.f / 255, -3.f};
      round_to_levels({levels}, x.begin, out.begin, kRows, columns);
      for (std::size_t i = 0; i < kRows * columns; ++i) EXPECT_NEAR(out.begin[i], x.begin[i], 3.001f / 255) << columns;
      EXPECT_TRUE(out.guards_are_whole()) << columns;
    }
  });
}

}  // namespace tails_test
}  // namespace tenon::engine_test
