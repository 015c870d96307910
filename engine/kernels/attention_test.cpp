// SPDX-License-Identifier: Apache-2.0
// The kernels of attention against sums in f64, for every instruction set that this machine has.
#include <tenon/engine/kernels/attention_tasks.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/aligned_allocator.h>
#include <hwy/targets.h>

#include <tenon/engine/kernels/bf16.hpp>

namespace tenon::engine_test {
namespace {

using engine::kernels::Attention;
using engine::kernels::AttentionTasks;
using engine::kernels::Bf16;
using Mask = Attention::Mask;

constexpr float kNone = -std::numeric_limits<float>::infinity();

/// Numbers in memory of either type, with room between rows.
struct Numbers {
  ElementType type = ElementType::kF32;
  std::vector<float> real;
  std::vector<std::uint16_t> narrow;

  Numbers(ElementType of, std::size_t count, std::mt19937& random) : type(of), real(count), narrow(count) {
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < count; ++i) {
      real[i] = normal(random);
      narrow[i] = Bf16(real[i]).bits;
      if (type == ElementType::kBf16) real[i] = Bf16(real[i]).to_float();
    }
  }
  void* data() { return type == ElementType::kF32 ? static_cast<void*>(real.data()) : narrow.data(); }
  float at(std::size_t i) const {
    Bf16 half;
    half.bits = narrow[i];
    return type == ElementType::kF32 ? real[i] : half.to_float();
  }
};

struct Case {
  std::size_t queries = 1, keys = 1, depth = 16, width = 16, heads = 2, share = 1, threads = 1;
  ElementType type = ElementType::kF32;
  bool is_narrow = false, is_causal = false;
  Mask mask = Mask::kNone;
  bool masks_rows = true, masks_columns = true;
  float masked = kNone;
  float softcap = 0;

  std::string name() const {
    return std::to_string(queries) + " x " + std::to_string(keys) + ", " + std::to_string(depth) + " and " +
           std::to_string(width) + ", heads " + std::to_string(heads) + " / " + std::to_string(share) + ", threads " +
           std::to_string(threads) + ", causal " + std::to_string(is_causal) + ", mask " +
           std::to_string(static_cast<int>(mask)) + std::to_string(masks_rows) + std::to_string(masks_columns) +
           (type == ElementType::kF32 ? "" : ", bf16") + (is_narrow ? ", narrow" : "");
  }
};

void expect_right(const Case& c) {
  SCOPED_TRACE(c.name());
  std::mt19937 random(7);
  constexpr std::size_t kGap = 3;
  const std::size_t own = c.heads / c.share;
  Attention what;
  what.queries = c.queries;
  what.keys = c.keys;
  what.depth = c.depth;
  what.width = c.width;
  what.q_type = what.k_type = what.v_type = what.out_type = c.type;
  // Heads lie inside rows, or rows inside heads.
  what.q_row = c.heads * c.depth;
  what.k_row = c.depth + kGap;
  what.v_row = own * c.width;
  what.out_row = c.width + kGap;
  what.is_narrow = c.is_narrow;
  what.scale = 0.4f;
  what.softcap = c.softcap;
  what.is_causal = c.is_causal;
  what.mask = c.mask;
  what.masked = c.masked;
  what.mask_row = c.masks_rows ? c.keys : 0;
  what.mask_column = c.masks_columns ? 1 : 0;
  for (std::size_t h = 0; h < c.heads; ++h)
    what.heads.push_back({h * c.depth, h / c.share * c.keys * what.k_row, h / c.share * c.width,
                          h * c.queries * what.out_row, h % 2 * c.queries * c.keys});
  Numbers q(c.type, c.queries * what.q_row, random), k(c.type, own * c.keys * what.k_row + 1, random),
      v(c.type, c.keys * what.v_row + 1, random), out(c.type, c.heads * c.queries * what.out_row, random);
  std::vector<float> added(2 * c.queries * c.keys + 1);
  std::vector<std::uint8_t> chosen(added.size());
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < added.size(); ++i) {
    added[i] = random() % 4 == 0 ? kNone : normal(random);
    chosen[i] = random() % 3 != 0;
  }
  // A row that sees nothing.
  for (std::size_t s = 0; s < c.keys; ++s) {
    added[c.queries / 2 * what.mask_row + s] = kNone;
    chosen[c.queries / 2 * what.mask_row + s] = c.mask == Mask::kVisible ? 0 : 1;
  }
  const void* mask = c.mask == Mask::kAdded ? static_cast<const void*>(added.data()) : chosen.data();

  const AttentionTasks tasks(what, c.threads);
  const auto scratch = hwy::AllocateAligned<std::byte>(tasks.scratch_bytes() + 64);
  std::fill_n(scratch.get(), tasks.scratch_bytes(), std::byte{0xff});
  const std::vector<float> before = out.real;
  tasks.run(q.data(), k.data(), v.data(), mask, out.data(), scratch.get(), 0.5f);

  double worst = 0;
  for (std::size_t h = 0; h < c.heads; ++h) {
    const Attention::Head& head = what.heads[h];
    for (std::size_t l = 0; l < c.queries; ++l) {
      std::vector<double> weights(c.keys);
      double most = kNone, sum = 0;
      for (std::size_t s = 0; s < c.keys; ++s) {
        double score = 0;
        for (std::size_t e = 0; e < c.depth; ++e)
          score += static_cast<double>(q.at(head.q + l * what.q_row + e)) * k.at(head.k + s * what.k_row + e);
        score *= 0.2;
        if (c.softcap != 0) score = c.softcap * std::tanh(score);
        const std::size_t at = head.mask + l * what.mask_row + s * what.mask_column;
        if (c.mask == Mask::kAdded) score += added[at];
        if (c.mask == Mask::kVisible && !chosen[at]) score = c.masked;
        if (c.mask == Mask::kHidden && chosen[at]) score = c.masked;
        if (c.is_causal && s > l) score = kNone;
        weights[s] = score;
        most = std::max(most, score);
      }
      for (double& weight : weights) sum += weight = most == kNone ? 0 : std::exp(weight - most);
      for (std::size_t e = 0; e < c.width; ++e) {
        double wanted = 0;
        for (std::size_t s = 0; s < c.keys && sum > 0; ++s)
          wanted += weights[s] / sum * v.at(head.v + s * what.v_row + e);
        worst = std::max(worst, std::abs(wanted - out.at(head.out + l * what.out_row + e)));
      }
      // Nothing is written between rows.
      const std::size_t behind = head.out + l * what.out_row + c.width;
      if (c.type == ElementType::kF32) {
        EXPECT_TRUE(std::equal(&out.real[behind], &out.real[behind] + kGap, &before[behind]));
      }
    }
  }
  EXPECT_LE(worst, c.type == ElementType::kF32 && !c.is_narrow ? 2e-5 : 4e-2);
}

void expect_all_right() {
  for (const std::size_t queries : {1, 2, 5, 12, 47, 50, 97})
    for (const std::size_t keys : {0, 1, 3, 63, 65, 130}) {
      expect_right({.queries = queries, .keys = keys});
      expect_right({.queries = queries, .keys = keys, .depth = 5, .width = 3, .is_causal = true});
      expect_right(
          {.queries = queries, .keys = keys, .depth = 33, .width = 70, .heads = 4, .share = 2, .mask = Mask::kAdded});
      expect_right({.queries = queries,
                    .keys = keys,
                    .depth = 64,
                    .width = 64,
                    .heads = 6,
                    .share = 3,
                    .type = ElementType::kBf16});
      for (const ElementType type : {ElementType::kF32, ElementType::kBf16}) {
        expect_right({.queries = queries, .keys = keys, .depth = 5, .width = 3, .type = type, .is_narrow = true});
        // In whole tiles.
        expect_right({.queries = queries, .keys = keys, .depth = 32, .width = 48, .type = type, .is_narrow = true});
        expect_right({.queries = queries,
                      .keys = keys,
                      .depth = 38,
                      .width = 70,
                      .heads = 4,
                      .share = 2,
                      .type = type,
                      .is_narrow = true,
                      .mask = Mask::kAdded});
      }
    }
  for (const std::size_t queries : {1, 3, 20})
    for (const Mask mask : {Mask::kAdded, Mask::kVisible, Mask::kHidden})
      for (const bool rows : {false, true})
        for (const bool columns : {false, true})
          expect_right({.queries = queries, .keys = 70, .mask = mask, .masks_rows = rows, .masks_columns = columns});
  for (const std::size_t queries : {1, 30})
    for (const Mask mask : {Mask::kNone, Mask::kAdded})
      for (const float softcap : {2.f, -0.5f})
        expect_right({.queries = queries, .keys = 70, .depth = 40, .mask = mask, .softcap = softcap});
  // Hidden by a number, as most exporters do; keys in parts; many heads that share keys.
  expect_right({.queries = 9, .keys = 40, .mask = Mask::kHidden, .masked = std::numeric_limits<float>::lowest()});
  for (const std::size_t queries : {1, 4, 30}) {
    expect_right({.queries = queries, .keys = 1100, .depth = 40, .width = 136, .heads = 2, .threads = 4});
    expect_right({.queries = queries, .keys = 1100, .heads = 8, .share = 4, .threads = 8, .is_causal = true});
    expect_right({.queries = queries, .keys = 1100, .threads = 8, .type = ElementType::kBf16, .mask = Mask::kAdded});
  }
  expect_right({.queries = 7, .keys = 20, .heads = 32, .share = 32, .threads = 2});
}

TEST(AttentionKernel, AgreesWithSumsInF64OnEveryInstructionSet) {
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t left = all; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(left & -left));
    expect_all_right();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(AttentionKernel, ScoresFarApartAndHugeStayNumbers) {
  // Scores of some hundreds: all but the greatest weights vanish, and none overflows.
  for (const std::size_t queries : {1, 20}) {
    Attention what;
    what.queries = queries;
    what.keys = 300;
    what.depth = what.width = what.q_row = what.k_row = what.v_row = what.out_row = 8;
    what.heads.resize(1);
    std::vector<float> q(queries * 8, 30.f), k(300 * 8), v(300 * 8), out(queries * 8);
    for (std::size_t i = 0; i < k.size(); ++i) {
      k[i] = static_cast<float>(i / 8) - 150.f;
      v[i] = static_cast<float>(i / 8);
    }
    const AttentionTasks tasks(what, 1);
    const auto scratch = hwy::AllocateAligned<std::byte>(tasks.scratch_bytes() + 64);
    tasks.run(q.data(), k.data(), v.data(), nullptr, out.data(), scratch.get());
    for (const float y : out) EXPECT_FLOAT_EQ(y, 299.f);
  }
}

}  // namespace
}  // namespace tenon::engine_test
