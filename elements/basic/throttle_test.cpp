// SPDX-License-Identifier: Apache-2.0
// The element "throttle": which frames pass, and when.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/asleep.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace throttle_test {

using namespace std::chrono_literals;

struct Passed final : Output {
  std::vector<std::int64_t> times;
  void emit(Item item) override { times.push_back(item.frame.timestamp_ns()); }
};

std::unique_ptr<Transform> throttle(const std::map<std::string, std::string>& given, double fps) {
  auto made = std::get<std::unique_ptr<Transform>>(make_element("throttle", given, {"slow", nullptr}));
  EXPECT_EQ(made->open(0, {{kGray8, 4, 4}, fps, false}).frames_per_second,
            given.count("how") ? fps : std::min(fps, std::stod(given.at("fps"))));
  return made;
}

Item frame_at(std::int64_t time_ns) {
  Frame frame = Frame::allocate({kGray8, 4, 4});
  frame.set_timestamp_ns(time_ns);
  return {0, std::move(frame)};
}

std::vector<std::int64_t> passed(Transform& element, const std::vector<std::int64_t>& times_ns) {
  Passed all;
  for (const std::int64_t time_ns : times_ns) element.process(frame_at(time_ns), all);
  return all.times;
}

TEST(Throttle, KeepsTheRateOfTheStreamsTime) {
  for (const double to : {10.0, 20.0, 29.0, 60.0}) {
    std::vector<std::int64_t> times;
    for (int i = 0; i < 3000; ++i) times.push_back(i * 33'333'333LL + (i * 7919 % 5 - 2) * 1'000'000LL);
    const auto element = throttle({{"fps", std::to_string(to)}}, 30);
    EXPECT_NEAR(static_cast<double>(passed(*element, times).size()), 100 * std::min(to, 30.0), 2 + to / 10) << to;
  }
  std::vector<std::int64_t> third;
  for (int i = 0; i < 10; ++i) third.push_back(i * 33'333'333LL);
  const auto element = throttle({{"fps", "10"}}, 30);
  EXPECT_EQ(passed(*element, third), (std::vector<std::int64_t>{third[0], third[3], third[6], third[9]}));
}

TEST(Throttle, ClocksThatGoBackJumpOrAreMissing) {
  const auto element = throttle({{"fps", "10"}}, 10);
  std::vector<std::int64_t> times;
  for (int i = 0; i < 100; ++i)
    times.push_back(i < 40 ? i * 100'000'000LL : i < 70 ? (i - 40) * 100'000'000LL : kNoTimestamp);
  EXPECT_NEAR(static_cast<double>(passed(*element, times).size()), 100, 2);
  const auto half = throttle({{"fps", "5"}}, 10);
  EXPECT_NEAR(static_cast<double>(passed(*half, times).size()), 50, 3);
  const auto gap = throttle({{"fps", "1"}}, 10);
  EXPECT_EQ(passed(*gap, {0, 5'000'000'000, 5'100'000'000, 5'200'000'000, 6'000'000'000}).size(), 3u)
      << "a gap is not caught up";
}

TEST(Throttle, WaitsWithoutDroppingAndCanBeInterrupted) {
  const auto element = throttle({{"fps", "100"}, {"how", "wait"}}, 30);
  const auto begin = Clock::now();
  EXPECT_EQ(passed(*element, {1, 2, 3, 4, 5, 6}).size(), 6u);
  EXPECT_GE(Clock::now() - begin, 40ms);
  const auto slow = throttle({{"fps", "0.01"}, {"how", "wait"}}, 30);
  Passed all;
  slow->process(frame_at(0), all);
  std::thread other = tenon_test::once_this_thread_sleeps([&] { slow->interrupt(); });
  error_of([&] { slow->process(frame_at(1), all); }, Code::kCancelled);
  other.join();
  EXPECT_LT(Clock::now() - begin, 50s);
  error_of([] { make_element("throttle", {{"fps", "0"}}, {"slow", nullptr}); }, Code::kInvalidArgument);
}

}  // namespace throttle_test
}  // namespace tenon::elements
