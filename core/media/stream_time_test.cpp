// SPDX-License-Identifier: Apache-2.0
// Times of clocks that jump, on one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include <tenon/core/stream_time.hpp>

namespace media_stream_time_test {

using tenon::kNoTimestamp;
using tenon::StreamTime;
using ::testing::ElementsAre;

constexpr std::int64_t kMs = 1'000'000;

/// The line of these times in milliseconds, with steps of 40 ms and jumps from 10 s on.
std::vector<std::int64_t> line_of(const std::vector<std::int64_t>& own_ms) {
  StreamTime line;
  std::vector<std::int64_t> all;
  for (const std::int64_t own : own_ms) all.push_back(line.next(own * kMs, 40 * kMs, 10'000 * kMs) / kMs);
  return all;
}

TEST(StreamTime, KeepsTimesThatMoveOn) {
  EXPECT_THAT(line_of({1000, 1040, 1050, 5000, 4950}), ElementsAre(1000, 1040, 1050, 5000, 4950));
}

TEST(StreamTime, JoinsAClockThatBeginsAnew) {
  EXPECT_THAT(line_of({1400, 1440, 1480, 0, 40, 120}), ElementsAre(1400, 1440, 1480, 1520, 1560, 1640));
  EXPECT_THAT(line_of({0, 40, 100'000, 100'040}), ElementsAre(0, 40, 80, 120));
}

TEST(StreamTime, GoesOnAsBeforeAfterAStrayTime) {
  EXPECT_THAT(line_of({0, 40, 9'800'000, 120, 160}), ElementsAre(0, 40, 80, 120, 160));
  EXPECT_THAT(line_of({5000, 5040, 4000, 5120, 5160}), ElementsAre(5000, 5040, 5080, 5120, 5160));
}

TEST(StreamTime, GoesOnByAnotherClockWhenTold) {
  StreamTime line;
  line.begin_again();
  EXPECT_EQ(line.next(0, 0), 0);
  EXPECT_EQ(line.next(20, 0), 20);
  line.begin_again();
  EXPECT_EQ(line.next(kNoTimestamp, 0), 40);
  EXPECT_EQ(line.next(500, 0), 60);
  EXPECT_EQ(line.next(510, 0), 70);
}

TEST(StreamTime, TakesAnyTime) {
  StreamTime line;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t own : {kMost, std::int64_t{0}, -kMost, kMost, kNoTimestamp, std::int64_t{1}})
    line.next(own, 40, 10'000);
}

}  // namespace media_stream_time_test
