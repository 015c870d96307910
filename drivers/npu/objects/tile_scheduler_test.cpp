// SPDX-License-Identifier: Apache-2.0
// Scheduling on a device's workers, waits with deadlines, and the platform list.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/drivers/npu/objects/platform.hpp>
#include <tenon/drivers/npu/objects/tile_scheduler.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon::npu {
namespace tile_scheduler_test {

using namespace std::chrono_literals;

TEST(NpuTileScheduler, AreAsManyAsTilesAndNoMoreThanCpus) {
  const int cpus = engine::Workers::available_cpus();
  EXPECT_EQ(TileScheduler(1).threads(), 1);
  EXPECT_EQ(TileScheduler(6).threads(), std::min(6, cpus));
  EXPECT_EQ(TileScheduler(0xffffffff).threads(), std::min(1024, cpus));
  TileScheduler workers(6);
  EXPECT_EQ(workers.threads_for(0), workers.threads());
  EXPECT_EQ(workers.threads_for(1), 1);
  EXPECT_EQ(workers.threads_for(100), workers.threads());
  workers.run(1, [](engine::Workers& bounded) { EXPECT_EQ(bounded.threads(), 1); });
  workers.run(0, [&](engine::Workers& bounded) { EXPECT_EQ(bounded.threads(), workers.threads()); });
}

TEST(NpuTileScheduler, RunsNeverTakeMoreThanThereAre) {
  TileScheduler workers(4);
  std::atomic<int> taken{0}, most{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i)
        workers.run(t % 3, [&](engine::Workers& bounded) {
          const int now = taken += bounded.threads();
          int seen = most.load();
          while (seen < now && !most.compare_exchange_weak(seen, now)) {
          }
          std::this_thread::yield();
          taken -= bounded.threads();
        });
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(taken.load(), 0);
  EXPECT_LE(most.load(), workers.threads());
}

TEST(NpuTileScheduler, RunsThatFitComputeAtTheSameTime) {
  TileScheduler workers(2);
  if (workers.threads() < 2) GTEST_SKIP() << "there is one CPU, and every run takes it";
  std::atomic<int> inside{0}, met{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      workers.run(1, [&](engine::Workers& bounded) {
        bounded.run([&] {
          ++inside;
          const auto end = std::chrono::steady_clock::now() + 10s;
          while (inside < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
          met += inside == 2;
        });
      });
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(met.load(), 2) << "each run has workers of its own";
}

TEST(NpuTileScheduler, FewThreadsAreSharedByTheTilesThatRunsTake) {
  const int cpus = engine::Workers::available_cpus();
  TileScheduler workers(4 * static_cast<std::uint32_t>(cpus));
  EXPECT_EQ(workers.threads_for(1), 1);
  EXPECT_EQ(workers.threads_for(4), 1);
  EXPECT_EQ(workers.threads_for(5), std::min(2, cpus));
  EXPECT_EQ(workers.threads_for(4 * static_cast<std::uint32_t>(cpus) - 1), cpus);
}

/// A thread that takes part in the tiles, once it waits for them.
template <typename Run>
std::thread queued(Run run) {
  std::atomic<long> number{0};
  std::thread made([&number, run] {
    number = tenon_test::this_thread();
    run();
  });
  while (number == 0) std::this_thread::yield();
  tenon_test::await_sleep(number);
  return made;
}

TEST(NpuTileScheduler, TheMoreUrgentGoesFirstThenTheEarlier) {
  static constexpr Priority priorities[] = {Priority::kBackground, Priority::kLow,  Priority::kNormal,
                                            Priority::kHigh,       Priority::kHigh, Priority::kNormal};
  TileScheduler workers(1);
  std::vector<int> order;  // Written by one run at a time.
  std::vector<std::thread> threads;
  workers.run(1, [&](engine::Workers&) {
    for (int i = 0; i < 6; ++i) {
      threads.push_back(queued([&, i] {
        TileScheduler::set_thread_priority(priorities[i]);
        workers.run(1, [&](engine::Workers&) { order.push_back(i); });
      }));
    }
  });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{3, 4, 2, 5, 1, 0}));
}

TEST(NpuTileScheduler, WhatFitsDoesNotOvertakeWhatWaitsForMore) {
  TileScheduler workers(2);
  if (workers.threads() < 2) GTEST_SKIP() << "there is one CPU, and every run takes it";
  std::atomic<int> first{0};
  const auto run = [&](std::uint32_t tiles) {
    return queued([&workers, &first, tiles] {
      workers.run(tiles, [&](engine::Workers&) {
        int none = 0;
        first.compare_exchange_strong(none, static_cast<int>(tiles));
      });
    });
  };
  std::thread large, small;
  workers.run(1, [&](engine::Workers&) {
    large = run(2);
    small = run(1);
    EXPECT_EQ(first, 0) << "a run of " << first << " tiles did not wait";
  });
  large.join();
  small.join();
  EXPECT_EQ(first, 2);
}

TEST(NpuTileScheduler, AreReservedOnlyWhenNothingRunsAndOthersWait) {
  TileScheduler workers(2);
  workers.run(1, [&](engine::Workers&) { EXPECT_FALSE(TileScheduler::Reservation(workers)); });
  std::atomic<bool> ran{false};
  std::thread other;
  {
    const TileScheduler::Reservation reservation(workers);
    ASSERT_TRUE(reservation);
    EXPECT_FALSE(TileScheduler::Reservation(workers));
    int runs = 0;
    for (const std::uint32_t tiles : {0u, 1u}) workers.run(tiles, [&](engine::Workers&) { ++runs; });
    EXPECT_EQ(runs, 2);
    other = queued([&] { workers.run(1, [&](engine::Workers&) { ran = true; }); });
    EXPECT_FALSE(ran.load());
  }
  other.join();
  EXPECT_TRUE(ran.load());
  EXPECT_TRUE(TileScheduler::Reservation(workers));
}

TEST(NpuTileScheduler, ARunThatThrowsGivesItsTurnBack) {
  TileScheduler workers(1);
  EXPECT_THROW(workers.run(1, [](engine::Workers&) { throw 1; }), int);
  bool ran = false;
  workers.run(1, [&](engine::Workers&) { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(NpuFutex, WakesForWhatIsWaitedForAndKeepsItsDeadline) {
  for (const std::uint64_t spin_ns : {0u, 50'000u}) {
    Futex word;
    EXPECT_FALSE(word.wait([](std::uint32_t value) { return value != 0; }, Deadline::in(0), spin_ns));
    const auto begin = Clock::now();
    EXPECT_FALSE(word.wait([](std::uint32_t value) { return value != 0; }, Deadline::in(5'000'000), spin_ns));
    EXPECT_GE(Clock::now() - begin, 5ms);
    std::thread other([&] {
      std::this_thread::sleep_for(2ms);
      word.store(1);
      std::this_thread::sleep_for(2ms);
      word.store(2);
    });
    EXPECT_TRUE(word.wait([](std::uint32_t value) { return value == 2; }, Deadline::in(60'000'000'000), spin_ns));
    other.join();
  }
}

TEST(NpuFutex, DeadlinesBeyondTheClockAreForEver) {
  EXPECT_TRUE(Deadline::in(UINT64_MAX).never());
  EXPECT_TRUE(Deadline::in(UINT64_MAX - 1).never());
  EXPECT_FALSE(Deadline::in(1'000'000'000).never());
  EXPECT_TRUE(Deadline::in(0).passed());
}

TEST(NpuPlatforms, AreReadFromAList) {
  const auto numbers = [](std::string_view text) {
    std::vector<std::uint32_t> found;
    for (const Platform* platform : parse_platforms(text)) found.push_back(platform->number);
    return found;
  };
  EXPECT_EQ(numbers(""), (std::vector<std::uint32_t>{4000}));
  EXPECT_EQ(numbers("3720"), (std::vector<std::uint32_t>{3720}));
  EXPECT_EQ(numbers("4000,4000,3720"), (std::vector<std::uint32_t>{4000, 4000, 3720}));
  for (const char* text : {"400", "4000 ", ",", "4000,x", "-1", "99999999999999999999"}) {
    std::string_view mistake = "none";
    parse_platforms(text, &mistake);
    EXPECT_NE(mistake, "none") << text;
  }
}

}  // namespace tile_scheduler_test
}  // namespace tenon::npu
