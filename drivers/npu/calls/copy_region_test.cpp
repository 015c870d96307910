// SPDX-License-Identifier: Apache-2.0
// Copies of boxes: compared with a byte loop for all kinds of pitches; nonsensical regions are refused.
#include <algorithm>
#include <random>
#include <tuple>

#include <tenon/drivers/npu/testing/client.hpp>
#include <tenon/frameworks/level_zero/abi/core.hpp>

namespace tenon::npu::test {
namespace copy_region_test {

constexpr std::size_t kSize = 1 << 16;

class NpuCopyRegion : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    from = static_cast<unsigned char*>(allocate_host(kSize));
    to = static_cast<unsigned char*>(allocate_host(kSize));
    list = make_immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    std::mt19937 random(7);
    for (std::size_t i = 0; i < kSize; ++i) from[i] = static_cast<unsigned char>(random());
  }
  void TearDown() override {
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeMemFree(context, from), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeMemFree(context, to), ZE_RESULT_SUCCESS);
    NpuTest::TearDown();
  }
  ze_result_t copy(void* target, const ze_copy_region_t& to_region, std::uint32_t to_pitch, std::uint32_t to_slice,
                   const void* source, const ze_copy_region_t& from_region, std::uint32_t from_pitch,
                   std::uint32_t from_slice, ze_event_handle_t signal = nullptr) {
    return zeCommandListAppendMemoryCopyRegion(list, target, &to_region, to_pitch, to_slice, source, &from_region,
                                               from_pitch, from_slice, signal, 0, nullptr);
  }

  unsigned char *from = nullptr, *to = nullptr;
  ze_command_list_handle_t list = nullptr;
};

TEST_F(NpuCopyRegion, TakesRowsAndSlicesFromWhereTheyAreToWhereTheyGo) {
  std::mt19937 random(11);
  const auto up_to = [&](std::uint32_t max) { return std::uniform_int_distribution<std::uint32_t>(0, max)(random); };
  for (int round = 0; round < 500; ++round) {
    const std::uint32_t width = up_to(40), height = up_to(12), depth = up_to(5);
    const auto place = [&] {
      ze_copy_region_t region = {up_to(9), up_to(4), up_to(3), width, height, depth};
      const std::uint32_t pitch = region.originX + width + up_to(7);
      const std::uint32_t slice = (region.originY + height) * pitch + up_to(50);
      return std::tuple(region, pitch, slice);
    };
    const auto [to_region, to_pitch, to_slice] = place();
    const auto [from_region, from_pitch, from_slice] = place();
    std::fill_n(to, kSize, 0);
    std::vector<unsigned char> expected(kSize, 0);
    const auto at = [](const ze_copy_region_t& r, std::size_t pitch, std::size_t slice, std::size_t x, std::size_t y,
                       std::size_t z) {
      return (r.depth == 0 ? 0 : r.originZ + z) * slice + (r.originY + y) * pitch + r.originX + x;
    };
    for (std::size_t z = 0; z < std::max(depth, 1u); ++z)
      for (std::size_t y = 0; y < height; ++y)
        for (std::size_t x = 0; x < width; ++x)
          expected[at(to_region, to_pitch, to_slice, x, y, z)] = from[at(from_region, from_pitch, from_slice, x, y, z)];
    ASSERT_EQ(copy(to, to_region, to_pitch, to_slice, from, from_region, from_pitch, from_slice), ZE_RESULT_SUCCESS)
        << width << "x" << height << "x" << depth << ", round " << round;
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), to))
        << width << "x" << height << "x" << depth << ", round " << round;
  }
}

TEST_F(NpuCopyRegion, TakesNothingAndSignals) {
  const auto pool = make_pool(1);
  const auto event = make_event(pool, 0);
  const ze_copy_region_t nothing = {};
  EXPECT_EQ(copy(to, nothing, 0, 0, from, nothing, 0, 0, event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventQueryStatus(event), ZE_RESULT_SUCCESS);
  // One row, one slice: unused pitches may have any value.
  const ze_copy_region_t row = {0, 0, 0, 512, 1, 1};
  EXPECT_EQ(copy(to, row, 512, 0, from, row, 0, 0), ZE_RESULT_SUCCESS);
  EXPECT_TRUE(std::equal(from, from + 512, to));
  EXPECT_EQ(zeEventDestroy(event), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeEventPoolDestroy(pool), ZE_RESULT_SUCCESS);
}

TEST_F(NpuCopyRegion, RegionsThatMakeNoSenseAreRefused) {
  const ze_copy_region_t box = {0, 0, 0, 16, 4, 2}, flat = {0, 0, 0, 16, 4, 1}, wide = {0, 0, 0, 17, 4, 2};
  EXPECT_EQ(copy(to, box, 16, 64, from, flat, 16, 64), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(copy(to, box, 17, 68, from, wide, 17, 68), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(copy(to, box, 15, 64, from, box, 16, 64), ZE_RESULT_ERROR_INVALID_SIZE) << "rows run into each other";
  EXPECT_EQ(copy(to, box, 16, 64, from, box, 16, 63), ZE_RESULT_ERROR_INVALID_SIZE) << "slices do";
  EXPECT_EQ(copy(nullptr, box, 16, 64, from, box, 16, 64), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(zeCommandListAppendMemoryCopyRegion(list, to, nullptr, 16, 64, from, &box, 16, 64, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(zeCommandListAppendMemoryCopyRegion(nullptr, to, &box, 16, 64, from, &box, 16, 64, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  // Beyond the memory, by one byte and by the most that 32 bits can express.
  const ze_copy_region_t rows = {0, 0, 0, 16, kSize / 16, 0}, more = {1, 0, 0, 15, kSize / 16 + 1, 0};
  EXPECT_EQ(copy(to, rows, 16, 0, from, rows, 16, 0), ZE_RESULT_SUCCESS);
  EXPECT_EQ(copy(to, more, 16, 0, from, more, 16, 0), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  const std::uint32_t max = UINT32_MAX;
  const ze_copy_region_t far = {0, max, max, 1, 1, 1}, huge = {0, 0, 0, max, max, max};
  EXPECT_EQ(copy(to, far, max, max, from, far, max, max), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(copy(to, huge, max, max, from, huge, max, max), ZE_RESULT_ERROR_INVALID_SIZE);
  unsigned char outside[64] = {};
  const ze_copy_region_t small = {0, 0, 0, 8, 2, 0};
  EXPECT_EQ(copy(to, small, 8, 0, outside, small, 8, 0), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(NpuCopyRegion, OverlapIsOfBytesAndNotOfWhatLiesBetween) {
  // From the left half of an image to its right half: interleaved rows that share no byte.
  const ze_copy_region_t left = {0, 0, 0, 32, 16, 0}, right = {32, 0, 0, 32, 16, 0}, shifted = {31, 0, 0, 32, 16, 0};
  std::vector<unsigned char> before(from, from + 1024);
  EXPECT_EQ(copy(from, right, 64, 0, from, left, 64, 0), ZE_RESULT_SUCCESS);
  for (std::size_t y = 0; y < 16; ++y)
    for (std::size_t x = 0; x < 32; ++x) ASSERT_EQ(from[64 * y + 32 + x], before[64 * y + x]);
  EXPECT_EQ(copy(from, shifted, 64, 0, from, left, 64, 0), ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  EXPECT_EQ(copy(from, left, 64, 0, from, left, 64, 0), ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  const ze_copy_region_t low = {0, 15, 0, 32, 16, 0}, below = {0, 16, 0, 32, 16, 0};
  EXPECT_EQ(copy(from, low, 64, 0, from, left, 64, 0), ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  EXPECT_EQ(copy(from, below, 64, 0, from, left, 64, 0), ZE_RESULT_SUCCESS);
  // Interleaved slices.
  const ze_copy_region_t even = {0, 0, 0, 8, 2, 3};
  EXPECT_EQ(copy(from + 16, even, 8, 32, from, even, 8, 32), ZE_RESULT_SUCCESS);
  EXPECT_EQ(copy(from + 15, even, 8, 32, from, even, 8, 32), ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  EXPECT_EQ(copy(from, even, 8, 32, from + 15, even, 8, 32), ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
}

TEST_F(NpuCopyRegion, AdviceOfNewerVersionsIsTaken) {
  for (std::uint32_t advice = 0; advice <= 9; ++advice)
    EXPECT_EQ(zeCommandListAppendMemAdvise(list, device, to, 64, static_cast<ze_memory_advice_t>(advice)),
              ZE_RESULT_SUCCESS)
        << advice;
  EXPECT_EQ(zeCommandListAppendMemAdvise(list, device, to, 64, static_cast<ze_memory_advice_t>(10)),
            ZE_RESULT_ERROR_INVALID_ENUMERATION);
}

TEST_F(NpuCopyRegion, ImmediateListsAreNotClosedAndResetWithoutEffect) {
  EXPECT_EQ(zeCommandListClose(list), ZE_RESULT_ERROR_UNINITIALIZED);
  EXPECT_EQ(zeCommandListReset(list), ZE_RESULT_SUCCESS);
  const unsigned char six = 6;
  EXPECT_EQ(zeCommandListAppendMemoryFill(list, to, &six, 1, 1, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(to[0], 6);
}

}  // namespace copy_region_test
}  // namespace tenon::npu::test
