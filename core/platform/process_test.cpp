// SPDX-License-Identifier: Apache-2.0
// The first thread, and functions at the end of a process.
#include <tenon/core/platform/process.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <tenon/core/deferred.hpp>

namespace process_test {

using namespace tenon;

TEST(MainThread, IsOne) {
  EXPECT_TRUE(platform::is_main_thread());
  bool other = true;
  std::thread([&] { other = platform::is_main_thread(); }).join();
  EXPECT_FALSE(other);
}

std::atomic<unsigned> turns{0};

TEST(AtExit, FindsOtherThreadsAlive) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end_with_a_thread = [] {
    std::thread([] {
      for (;;) {
        ++turns;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }).detach();
    if (!platform::at_exit([] {
          const unsigned before = turns.load();
          const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
          while (turns.load() == before && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          std::fputs(turns.load() == before ? "the thread is gone" : "the thread runs", stderr);
        }))
      std::_Exit(2);
    while (turns.load() == 0) std::this_thread::yield();
    std::exit(0);
  };
  EXPECT_EXIT(end_with_a_thread(), ::testing::ExitedWithCode(0), "the thread runs");
}

TEST(AtExit, DeferredActionsAreLookedAtNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end_with_a_deferred_action = [] {
    struct Endless final : Deferred {
      bool is_ready() noexcept override { return ++turns, false; }
      void finish() noexcept override {}
    };
    // Registered before the thread that looks, so called after it was stopped; that thread looks every 2 ms at the latest.
    if (!platform::at_exit([] {
          const unsigned before = turns.load();
          const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
          while (turns.load() == before && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          std::fputs(turns.load() == before ? "the thread has stopped" : "the thread still looks", stderr);
        }))
      std::_Exit(2);
    static Endless endless;
    defer(endless);
    while (turns.load() == 0) std::this_thread::yield();
    std::exit(0);
  };
  EXPECT_EXIT(end_with_a_deferred_action(), ::testing::ExitedWithCode(0), "the thread has stopped");
}

}  // namespace process_test
