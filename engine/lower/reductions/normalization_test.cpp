// SPDX-License-Identifier: Apache-2.0
// Norms over channels and groups of them against the reference kernels, in every layout.
#include <gtest/gtest.h>

#include <tenon/engine/testing/instruction_sets.hpp>
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace normalization_test {

TEST(LowerNormalization, GroupsInEveryLayout) {
  for_each_instruction_set([] {
    for (const auto& [channels, groups] :
         {std::pair<std::size_t, std::int64_t>{6, 3}, {32, 2}, {48, 3}, {20, 20}, {5, 1}}) {
      SCOPED_TRACE(std::to_string(channels) + " in " + std::to_string(groups));
      const Attributes attributes{{"num_groups", groups}, {"epsilon", 1e-5}};
      const auto x = parameter({2, 3, 7, 9}), scale = parameter({channels}), bias = parameter({channels});
      const Out seen = convolution(x, channels, 3, 1, 1);
      EXPECT_EQ(judge(op1("GroupNormalization", 12, {seen, scale, bias}, attributes), {x, scale, bias}).references, 0u);
      const auto y = parameter({3, channels, 11});
      EXPECT_EQ(judge(op1("GroupNormalization", 12, {y, scale, bias}, attributes), {y, scale, bias}).references, 0u);
    }
  });
}

TEST(LowerNormalization, ChannelsInTheLayoutOfConvolutions) {
  for_each_instruction_set([] {
    for (const std::size_t channels : {3, 16, 40}) {
      for (const char* mode : {"inside_sqrt", "outside_sqrt"}) {
        for (const bool divides : {true, false}) {
          const auto x = parameter({2, 3, 7, 33});
          const Out normed = op1("MVN", 6, {convolution(x, channels, 3, 1, 1), ints({2, 3})},
                                 {{"normalize_variance", divides}, {"eps", 1e-3}, {"eps_mode", std::string(mode)}});
          const Judged judged = judge(convolution(op1("Relu", 1, {normed}), channels, 3, 1, 1, 9), {x});
          // Without blocks of channels oneDNN norms them, in the common form alone.
          if (!has_channel_blocks()) continue;
          EXPECT_EQ(judged.references, 0u);
          std::size_t reorders = 0;
          for (const auto& info : judged.infos) reorders += info.node_type == "Reorder";
          EXPECT_LE(reorders, 2u);  // At the model's ends alone.
        }
      }
    }
  });
}

TEST(LowerNormalization, ResponsesOfNeighbouringChannels) {
  for (const std::size_t channels : {3, 16, 20}) {
    for (const std::int64_t size : {1, 3, 5}) {
      const auto x = parameter({2, channels, 5, 6});
      const Attributes attributes{{"alpha", 0.9}, {"beta", 0.75}, {"bias", 1.5}, {"size", size}};
      EXPECT_EQ(judge(op1("LRN", 1, {x, ints({1})}, attributes), {x}).references, 0u);
      const Out seen = convolution(x, channels, 3, 1, 1);
      EXPECT_EQ(judge(op1("LRN", 1, {seen, ints({1})}, attributes), {x}).references, 0u);
    }
  }
}

TEST(LowerNormalization, NumbersFarFromZeroKeepTheirVariance) {
  const auto x = parameter({1, 16, 60, 70}), scale = parameter({16}), bias = parameter({16});
  const Out far = op1("Add", 1, {x, scalar(1000)});
  judge(op1("GroupNormalization", 12, {far, scale, bias}, {{"num_groups", std::int64_t{4}}, {"epsilon", 1e-5}}),
        {x, scale, bias}, 2e-3);
}

}  // namespace normalization_test
}  // namespace tenon::engine_test
