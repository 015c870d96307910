// SPDX-License-Identifier: Apache-2.0
// The kernels of attention against sums in f64, for every instruction set that this machine has.
#include <tenon/engine/kernels/attention/attention_tasks.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/aligned_allocator.h>

#include <tenon/engine/kernels/attention/kv_cache_quant.hpp>
#include <tenon/engine/kernels/simd/bf16.hpp>
#include <tenon/engine/testing/instruction_sets.hpp>

namespace tenon::engine_test {
namespace attention_attention_test {

using engine::kernels::Attention;
using engine::kernels::AttentionTasks;
using engine::kernels::Bf16;
using engine::kernels::KvCacheQuant;
using engine::kernels::narrow_rows;
using engine::kernels::widen_rows;
using Mask = Attention::Mask;

constexpr float kNone = -std::numeric_limits<float>::infinity();

/// Numbers in memory of either type, with room between rows. `real` is what was put in, rounded to the type.
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
  bool has_sinks = false, sinks_rows = false;

  std::string name() const {
    return std::to_string(queries) + " x " + std::to_string(keys) + ", " + std::to_string(depth) + " and " +
           std::to_string(width) + ", heads " + std::to_string(heads) + " / " + std::to_string(share) + ", threads " +
           std::to_string(threads) + ", causal " + std::to_string(is_causal) + ", mask " +
           std::to_string(static_cast<int>(mask)) + std::to_string(masks_rows) + std::to_string(masks_columns) +
           (type == ElementType::kF32 ? "" : ", bf16") + (is_narrow ? ", narrow" : "") + (has_sinks ? ", sinks" : "");
  }
};

/// The sums are made once, and the kernels of each instruction set give them.
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
                          h * c.queries * what.out_row, h % 2 * c.queries * c.keys,
                          h * (c.sinks_rows ? c.queries : 1)});
  Numbers q(c.type, c.queries * what.q_row, random), k(c.type, own * c.keys * what.k_row + 1, random),
      v(c.type, c.keys * what.v_row + 1, random), out(c.type, c.heads * c.queries * what.out_row, random);
  what.has_sinks = c.has_sinks;
  what.sink_row = c.sinks_rows ? 1 : 0;
  std::vector<float> sinks(c.heads * c.queries);
  for (float& sink : sinks) sink = std::uniform_real_distribution<float>(-2, 3)(random);
  sinks[0] = kNone;
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

  std::vector<double> wanted(c.heads * c.queries * c.width);
  for (std::size_t h = 0; h < c.heads; ++h) {
    const Attention::Head& head = what.heads[h];
    for (std::size_t l = 0; l < c.queries; ++l) {
      std::vector<double> weights(c.keys);
      const double sink = c.has_sinks ? sinks[head.sink + l * what.sink_row] : kNone;
      double most = sink, sum = 0;
      for (std::size_t s = 0; s < c.keys; ++s) {
        // Plain pointers, since tests are compiled without inlining.
        const float *const query = &q.real[head.q + l * what.q_row], *const key = &k.real[head.k + s * what.k_row];
        double score = 0;
        for (std::size_t e = 0; e < c.depth; ++e) score += static_cast<double>(query[e]) * key[e];
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
      if (most != kNone) sum = std::exp(sink - most);
      for (double& weight : weights) sum += weight = most == kNone ? 0 : std::exp(weight - most);
      for (std::size_t s = 0; s < c.keys && sum > 0; ++s) {
        const float* const value = &v.real[head.v + s * what.v_row];
        const double weight = weights[s] / sum;
        double* const to = &wanted[(h * c.queries + l) * c.width];
        for (std::size_t e = 0; e < c.width; ++e) to[e] += weight * value[e];
      }
    }
  }
  const Numbers before = out;
  for_each_instruction_set([&] {
    const AttentionTasks tasks(what, c.threads);
    const auto scratch = hwy::AllocateAligned<std::byte>(tasks.scratch_bytes() + 64);
    std::fill_n(scratch.get(), tasks.scratch_bytes(), std::byte{0xff});
    out = before;
    tasks.run(q.data(), k.data(), v.data(), mask, sinks.data(), out.data(), scratch.get(), 0.5f);
    double worst = 0;
    const double* expected = wanted.data();
    for (const Attention::Head& head : what.heads) {
      for (std::size_t l = 0; l < c.queries; ++l) {
        for (std::size_t e = 0; e < c.width; ++e)
          worst = std::max(worst, std::abs(*expected++ - out.at(head.out + l * what.out_row + e)));
        // Nothing is written between rows.
        const std::size_t behind = head.out + l * what.out_row + c.width;
        if (c.type == ElementType::kF32) {
          EXPECT_TRUE(std::equal(&out.real[behind], &out.real[behind] + kGap, &before.real[behind]));
        }
      }
    }
    EXPECT_LE(worst, c.type == ElementType::kF32 && !c.is_narrow ? 2e-5 : 4e-2);
  });
}

TEST(AttentionKernel, AgreesWithSumsInF64OnEveryInstructionSet) {
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
  for (const std::size_t queries : {1, 3, 30, 97})
    for (const std::size_t keys : {0, 1, 65, 600})
      for (const bool rows : {false, true})
        for (const bool narrow : {false, true})
          for (const Mask mask : {Mask::kNone, Mask::kAdded})
            expect_right({.queries = queries,
                          .keys = keys,
                          .depth = 32,
                          .width = 48,
                          .heads = 4,
                          .share = 2,
                          .threads = 4,
                          .is_narrow = narrow,
                          .is_causal = !rows && keys > 1,
                          .mask = mask,
                          .has_sinks = true,
                          .sinks_rows = rows});
  // Hidden by a number, as most exporters do; keys in parts; many heads that share keys.
  expect_right({.queries = 9, .keys = 40, .mask = Mask::kHidden, .masked = std::numeric_limits<float>::lowest()});
  for (const std::size_t queries : {1, 4, 30}) {
    expect_right({.queries = queries, .keys = 1100, .depth = 40, .width = 136, .heads = 2, .threads = 4});
    expect_right({.queries = queries, .keys = 1100, .heads = 8, .share = 4, .threads = 8, .is_causal = true});
    expect_right({.queries = queries, .keys = 1100, .threads = 8, .type = ElementType::kBf16, .mask = Mask::kAdded});
  }
  expect_right({.queries = 7, .keys = 20, .heads = 32, .share = 32, .threads = 2});
}

/// A cache of [heads, room, length] numbers in that format, and the same widened.
struct Cache {
  KvCacheQuant format;
  std::vector<float> real;
  std::vector<std::byte> bytes;
  std::size_t offset = 0;
  Attention::Scales scales() const {
    return format.group ? Attention::Scales{offset, format.group, format.groups() * 2} : Attention::Scales{};
  }
  Cache(KvCacheQuant of, std::size_t rows, std::mt19937& random) : format(of), real(rows * of.length) {
    std::normal_distribution<float> normal(0.5f);
    for (float& x : real) x = normal(random);
    offset = (real.size() * size_bytes(of.type) + 63) / 64 * 64;
    bytes.resize(offset + rows * of.groups() * 2 * sizeof(float));
    auto* const scales = of.group ? reinterpret_cast<float*>(bytes.data() + offset) : nullptr;
    narrow_rows(of, real.data(), rows, bytes.data(), scales);
    const std::vector<float> exact = real;
    widen_rows(of, bytes.data(), scales, rows, real.data());
    // Half a step of 255 of what a row spans; a part of 2^9, or of 2^11 where the CPU cuts off instead of rounding.
    const float worst = of.type == ElementType::kU8 ? 0.02f : of.type == ElementType::kBf16 ? 0.016f : 0.004f;
    for (std::size_t i = 0; i < real.size(); ++i) EXPECT_NEAR(real[i], exact[i], worst);
  }
};

void expect_right_from_cache(ElementType type, std::size_t queries, std::size_t keys, std::size_t length,
                             std::size_t group, bool is_narrow, std::size_t threads = 1) {
  SCOPED_TRACE(std::string(name(type)) + " " + std::to_string(queries) + " x " + std::to_string(keys) + ", " +
               std::to_string(length) + " in groups of " + std::to_string(group) + (is_narrow ? ", narrow" : ""));
  constexpr std::size_t kHeads = 4, kShare = 2, kRoom = 5;
  std::mt19937 random(11);
  const KvCacheQuant format{type, length, type == ElementType::kU8 ? group : 0};
  const std::size_t room = keys + kRoom;
  Cache k(format, kHeads / kShare * room, random), v(format, kHeads / kShare * room, random);
  std::vector<float> q(kHeads * queries * length), out(q.size());
  std::normal_distribution<float> normal;
  for (float& x : q) x = normal(random);
  Attention what;
  what.queries = queries;
  what.keys = keys;
  what.depth = what.width = what.q_row = what.k_row = what.v_row = what.out_row = length;
  what.k_type = what.v_type = type;
  what.k_scales = k.scales();
  what.v_scales = v.scales();
  what.is_narrow = is_narrow;
  what.scale = 0.3f;
  for (std::size_t h = 0; h < kHeads; ++h) {
    const std::size_t of_cache = h / kShare * room * length;
    what.heads.push_back({h * queries * length, of_cache, of_cache, h * queries * length, 0});
  }
  std::vector<double> wanted;
  for (const auto& head : what.heads)
    for (std::size_t l = 0; l < queries; ++l) {
      std::vector<double> weights(keys), mixed(length);
      double sum = 0;
      for (std::size_t s = 0; s < keys; ++s) {
        const float *const query = &q[head.q + l * length], *const key = &k.real[head.k + s * length];
        double score = 0;
        for (std::size_t e = 0; e < length; ++e) score += static_cast<double>(query[e]) * key[e];
        sum += weights[s] = std::exp(0.3 * score);
      }
      double* const to = mixed.data();
      for (std::size_t s = 0; s < keys; ++s) {
        const float* const value = &v.real[head.v + s * length];
        const double weight = weights[s] / sum;
        for (std::size_t e = 0; e < length; ++e) to[e] += weight * value[e];
      }
      wanted.insert(wanted.end(), mixed.begin(), mixed.end());
    }
  for_each_instruction_set([&] {
    const AttentionTasks tasks(what, threads);
    const auto scratch = hwy::AllocateAligned<std::byte>(tasks.scratch_bytes() + 64);
    std::fill_n(scratch.get(), tasks.scratch_bytes(), std::byte{0xff});
    std::fill(out.begin(), out.end(), kNone);
    tasks.run(q.data(), k.bytes.data(), v.bytes.data(), nullptr, nullptr, out.data(), scratch.get());
    // Heads and queries follow each other without gaps.
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_NEAR(out[i], wanted[i], is_narrow ? 5e-2 : 5e-5) << i / length << ", " << i % length;
  });
}

TEST(AttentionKernel, ReadsCachesInFewerBits) {
  for (const ElementType type : {ElementType::kU8, ElementType::kF16, ElementType::kBf16})
    for (const bool is_narrow : {false, true})
      for (const std::size_t queries : {1, 3, 20, 50})
        for (const std::size_t keys : {1, 70, 300}) {
          expect_right_from_cache(type, queries, keys, 64, 64, is_narrow);
          expect_right_from_cache(type, queries, keys, 24, 24, is_narrow);
          expect_right_from_cache(type, queries, keys, 5, 5, is_narrow);
          if (type == ElementType::kU8) expect_right_from_cache(type, queries, keys, 96, 32, is_narrow);
        }
  expect_right_from_cache(ElementType::kU8, 1, 1500, 128, 64, false, 4);
}

TEST(KvCacheQuant, RangesOfAnySizeAndNumbersThatAreNone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::size_t length : {1, 16, 19, 40}) {
    const KvCacheQuant format{ElementType::kU8, length, length};
    const auto there_and_back = [&](std::vector<float> x) {
      std::vector<std::uint8_t> numbers(length);
      float scale[2];
      narrow_rows(format, x.data(), 1, numbers.data(), scale);
      widen_rows(format, numbers.data(), scale, 1, x.data());
      return x;
    };
    // All the same: nothing is lost.
    for (const float all : {0.f, 3.7f, -1e30f, 1e-40f})
      for (const float x : there_and_back(std::vector<float>(length, all))) EXPECT_FLOAT_EQ(x, all);
    for (const float size : {1e-20f, 1.f, 1e20f, 1e38f}) {
      std::vector<float> x(length);
      for (std::size_t i = 0; i < length; ++i) x[i] = size * std::sin(static_cast<float>(i));
      const auto back = there_and_back(x);
      for (std::size_t i = 0; i < length; ++i) EXPECT_NEAR(back[i], x[i], size * 0.0041);
    }
    for (const float odd : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()})
      for (const std::size_t at : {std::size_t{0}, length - 1}) {
        std::vector<float> x(length, 1.f);
        x[at] = odd;
        for (const float y : there_and_back(x)) EXPECT_TRUE(std::isnan(y)) << y;
      }
  }
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
    tasks.run(q.data(), k.data(), v.data(), nullptr, nullptr, out.data(), scratch.get());
    for (const float y : out) EXPECT_FLOAT_EQ(y, 299.f);
  }
}

}  // namespace attention_attention_test
}  // namespace tenon::engine_test
