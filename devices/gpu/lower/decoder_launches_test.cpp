// SPDX-License-Identifier: Apache-2.0
// The launches of a decoder's token on a device like an H200, which need not be there.
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/testing/decoder.hpp>

namespace tenon {
namespace decoder_launches_test {

using gpu_device::testing::layers::decoder;

gpu_device::LaunchPlan plan_of(std::int64_t tokens, std::int64_t past) {
  gpu_device::Target target;
  target.matrices = gpu_device::Target::Matrices::kNvidia;
  target.has_warpgroups = target.stores_f16 = true;
  target.max_group = 1024;
  target.local_bytes = 49152;
  target.compute_units = 132;
  const auto graph = decoder(tokens, past);
  const Model model(graph.results, graph.parameters, "decoder");
  gpu_device::PackedWeights packed;
  return gpu_device::lower_model(*gpu_device::run_passes(model, TimeLimit(0), true, target), target, packed, true, {},
                                 TimeLimit(0));
}

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(GpuDecoderLaunches, OfATokenAreFew) {
  const auto plan = plan_of(1, 511);
  std::map<std::string, std::size_t> kinds;
  std::string text;
  for (const auto& launch : plan.launches) {
    ++kinds[launch->kernel->kind];
    text += launch->kernel->kind + " of " + launch->node_name + "\n";
  }
  // Besides, the norm of what the program gives, and the last product.
  EXPECT_LE(plan.launches.size(), 2u * 6 + 2) << text;
  EXPECT_LE(kinds["rows"], 1u) << text;
  EXPECT_EQ(kinds["maps"], 2u) << text;
  EXPECT_EQ(kinds["matmuls"], 2u) << text;
  EXPECT_EQ(kinds["matmul"], 2u * 3 + 1) << text;
  EXPECT_EQ(kinds["attention_rows"], 2u) << text;
}

/// A part that did not would read what the kernel before it has not written yet.
TEST(GpuDecoderLaunches, PartsOfAKernelWaitForTheOneBefore) {
  bool is_there = false;
  for (const auto& launch : plan_of(1, 511).launches) {
    const auto& kernel = *launch->kernel;
    if (kernel.kind != "matmuls") continue;
    is_there = true;
    EXPECT_EQ(count_of(kernel.text, "#define GROUP "), 3u);
    EXPECT_EQ(count_of(kernel.text, "#define EARLY_ROW("), 3u);
    EXPECT_EQ(count_of(kernel.text, "WAIT_FOR_KERNELS();"), 3u);
  }
  EXPECT_TRUE(is_there);
}

/// Tiles are no parts of kernels, but have several sets of arguments.
TEST(GpuDecoderLaunches, OfAPromptAreThoseOfTiles) {
  for (const auto& launch : plan_of(64, 64).launches) {
    if (launch->kernel->kind != "matmuls") continue;
    EXPECT_EQ(count_of(launch->kernel->text, "TILE_M "), 1u) << launch->kernel->text;
    EXPECT_EQ(count_of(launch->kernel->text, "const int groups_of_set = "), 1u);
  }
}

}  // namespace decoder_launches_test
}  // namespace tenon
