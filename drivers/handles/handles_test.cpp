// SPDX-License-Identifier: Apache-2.0
// Objects behind slots, and words to wait for, as both drivers use them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/drivers/handles/objects.hpp>
#include <tenon/drivers/handles/wait.hpp>

namespace tenon::handles {
namespace handles_handles_test {

constexpr std::size_t kCapacity = 64, kQuarantine = 4;
constexpr std::uint8_t kNone = 9;

struct Slot {
  SlotState state;
  Object<Slot>* object = nullptr;
  Slot* next = nullptr;
  static ObjectTable<Slot>& table() noexcept {
    static auto& all = *new ObjectTable<Slot>(kCapacity, kQuarantine);
    return all;
  }
};

class Counted final : public Object<Slot> {
 public:
  static constexpr std::uint8_t kKind = 3;
  Counted() { ++living; }
  ~Counted() override { --living; }
  Slot* where() const { return slot(); }
  static inline std::atomic<int> living{0};
};

Counted* make_one(std::uint32_t references) { return make<Counted>(Slot::table(), references); }

TEST(DriverObjects, LiveWhileTheirHandleOrAReferenceDoes) {
  ObjectTable<Slot>& table = Slot::table();
  Counted* made = make_one(1);
  Slot* slot = made->where();
  EXPECT_EQ(table.live(), 1u);
  EXPECT_EQ(table.acquire(slot, kNone), nullptr) << "of another kind";
  EXPECT_EQ(table.acquire(nullptr, Counted::kKind), nullptr);
  EXPECT_FALSE(table.invalidate(slot, kNone));
  Ref<Counted> held = Ref<Counted>::adopt(static_cast<Counted*>(table.acquire(slot, Counted::kKind)));
  Ref<Counted> another(*held);
  EXPECT_TRUE(table.invalidate(slot, Counted::kKind));
  EXPECT_FALSE(table.invalidate(slot, Counted::kKind)) << "a second time";
  EXPECT_EQ(table.acquire(slot, Counted::kKind), nullptr) << "no handle any more";
  EXPECT_EQ(table.live(), 0u);
  held.reset();
  EXPECT_EQ(Counted::living, 1);
  another = {};
  EXPECT_EQ(Counted::living, 0);
}

/// A client that guesses an id may destroy the object before its creator has the id.
TEST(DriverObjects, TheMakersReferenceIsThereBeforeTheHandleIsValid) {
  ObjectTable<Slot>& table = Slot::table();
  std::atomic<bool> stops{false};
  std::thread guesser([&] {
    while (!stops)
      for (std::size_t i = 0; i < table.used(); ++i) table.invalidate(table.at(i), Counted::kKind);
  });
  for (int i = 0; i < 20000; ++i) {
    const Ref<Counted> made = Ref<Counted>::adopt(make_one(2));
    ASSERT_TRUE(made);
    ASSERT_GE(Counted::living, 1);
    table.invalidate(made->where(), Counted::kKind);
  }
  stops = true;
  guesser.join();
  EXPECT_EQ(Counted::living, 0);
  EXPECT_EQ(table.live(), 0u);
}

TEST(DriverObjects, ATableThatIsFullMakesNoMore) {
  std::vector<Ref<Counted>> all;
  while (Counted* made = make_one(2)) all.push_back(Ref<Counted>::adopt(made));
  EXPECT_EQ(all.size(), kCapacity);
  EXPECT_EQ(Counted::living, static_cast<int>(kCapacity)) << "the one that found no slot is gone";
  for (const auto& one : all) EXPECT_TRUE(Slot::table().invalidate(one->where(), Counted::kKind));
  all.clear();
  EXPECT_EQ(Counted::living, 0);
}

TEST(DriverFutex, WakesThoseWhoWaitAndKeepsDeadlines) {
  using namespace std::chrono_literals;
  Futex word(2);
  const auto is_zero = [](std::uint32_t value) { return value == 0; };
  EXPECT_FALSE(word.wait(is_zero, Deadline::in(0), 0)) << "only looks";
  EXPECT_FALSE(word.wait(is_zero, Deadline::at(Clock::now() - 1s), 0)) << "is over";
  const auto start = Clock::now();
  EXPECT_FALSE(word.wait(is_zero, Deadline::at(start + 20ms), 0));
  EXPECT_GE(Clock::now() - start, 20ms);
  std::thread waker([&] {
    std::this_thread::sleep_for(5ms);
    word.add(-1u);
    word.add(-1u);
  });
  EXPECT_TRUE(word.wait(is_zero, Deadline::in(UINT64_MAX), 0));
  waker.join();
}

}  // namespace handles_handles_test
}  // namespace tenon::handles
