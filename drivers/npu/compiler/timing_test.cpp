// SPDX-License-Identifier: Apache-2.0
// Estimated times in native binaries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/drivers/npu/testing/compiled.hpp>

namespace tenon::npu::compiler {
namespace timing_test {

using ::testing::HasSubstr;

TEST(Timing, IsKeptInTheBinaryAndFollowsTheTarget) {
  const auto program = program_of(*product_model(4096), "--config NPU_TILES=\"2\"");
  ASSERT_EQ(program->timing().layers.size(), 2U);
  EXPECT_EQ(program->timing().layers[0].type, "MatMul");
  EXPECT_GT(program->estimated().count(), 600) << "two transfers, of 300 ns each at least";
  const Program again(program->bytes());
  EXPECT_EQ(again.estimated(), program->estimated());
  EXPECT_EQ(again.timing().load, program->timing().load);
  EXPECT_EQ(again.timing().layers[1].name, program->timing().layers[1].name);
  EXPECT_EQ(again.timing().layers[1].memory_ps, program->timing().layers[1].memory_ps);
  const auto slower = program_of(*product_model(4096), "--config NPU_PLATFORM=\"3720\"");
  EXPECT_GT(slower->estimated(), 2 * program->estimated()) << "a fifth of the bandwidth, three times the latency";
  EXPECT_GT(slower->timing().load, 2 * program->timing().load);
}

TEST(Timing, SaysWhyItIsNotKnown) {
  const auto program = program_of(*small_model(PartialShape{Dimension(1, 8), 4}));
  EXPECT_TRUE(program->timing().layers.empty());
  EXPECT_EQ(program->estimated().count(), 0);
  EXPECT_THAT(program->timing().unknown, HasSubstr("shape that is not known"));
}

TEST(Timing, NumbersOfABinaryAreBounded) {
  const auto damaged = [](const std::string&) { throw Error(Code::kDataLoss, "damaged"); };
  const auto table = [](std::uint64_t load_ns, std::uint64_t layers) {
    store::TableWriter writer;
    writer.text("");
    writer.number(load_ns);
    writer.number(layers);
    return std::move(writer).bytes();
  };
  for (const std::string& bytes : {table(std::uint64_t{1} << 52, 0), table(0, std::uint64_t{1} << 60)}) {
    store::TableReader reader(bytes, damaged);
    EXPECT_THROW(read_timing(reader), Error);
  }
  constexpr std::uint64_t kHourPs = 3'600'000'000'000'000;
  Timing timing;
  timing.layers.resize(10'000, {"layer", "MatMul", planning::NpuEngine::kMatrix, kHourPs, 0});
  EXPECT_LT(timing.inference(), std::chrono::hours(2)) << "the sum is bounded, too";
}

TEST(Timing, ThePlatformFiveThousandAndTenHasThreeTiles) {
  const auto program = program_of(*small_model(), "--config NPU_PLATFORM=\"5010\"");
  EXPECT_EQ(program->settings().target.platform.number, 5010U);
  EXPECT_EQ(program->settings().target.tiles, 3);
  EXPECT_EQ(program_of(*small_model(), "--config NPU_PLATFORM=\"5010\" PERFORMANCE_HINT=\"THROUGHPUT\"")
                ->settings()
                .target.tiles,
            1);
}

}  // namespace timing_test
}  // namespace tenon::npu::compiler
