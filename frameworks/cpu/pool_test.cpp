// SPDX-License-Identifier: Apache-2.0
// Pools: reuse, limits, waiting, lifetimes, threads.
#include <tenon/frameworks/cpu/pool.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include <tenon/core/ledger.hpp>
#include <tenon/tests/support/asleep.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace cpu_pool_test {

using namespace tenon;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// Counts live memory objects.
std::atomic<int> alive{0};
Ref<Memory> counted(const Requirements& wanted) {
  void* data = ::operator new(wanted.size_bytes, std::align_val_t(64));
  ++alive;
  return HostMemory::borrow(data, wanted.size_bytes, false, [data] {
    ::operator delete(data, std::align_val_t(64));
    --alive;
  });
}
Requirements of_size(std::size_t size) {
  Requirements wanted;
  wanted.size_bytes = size;
  return wanted;
}

TEST(Pool, GivesTheBufferBackWhenTheLastTensorGoes) {
  cpu::Pool pool(1024, 1);
  Tensor a = pool.acquire_tensor({element::u8, {1024}, {}});
  Tensor part = a.slice({10}, {20});
  const Memory* memory = a.memory().get();
  a = {};
  EXPECT_FALSE(pool.try_acquire()) << "a region still uses the buffer";
  part = {};
  EXPECT_EQ(pool.idle(), 1u);
  EXPECT_EQ(pool.acquire().memory.get(), memory) << "the memory object must persist: it carries the views";
  EXPECT_EQ(pool.size(), 1u);
}

TEST(Pool, PrefersBuffersThatNothingRunsOn) {
  cpu::Pool pool(1024, 2);
  const auto device = make_ref<HostTimeline>("a device");
  const Memory* read = nullptr;
  {
    const cpu::PooledBuffer buffer = pool.acquire();
    read = buffer.memory.get();
    buffer.memory->hazards().read_until(device->next());
  }
  for (int i = 0; i < 3; ++i) EXPECT_NE(pool.acquire(Clock::now()).memory.get(), read) << "a device still reads it";
  const cpu::PooledBuffer other = pool.acquire(Clock::now());
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_THROW(pool.acquire(Clock::now() + 2ms), Error);
  EXPECT_EQ(pool.idle(), 1u) << "a buffer whose wait ended at its deadline is lost";
  std::thread finishing = tenon_test::once_this_thread_sleeps([&] { device->advance(1); });
  Ledger ledger;
  EXPECT_EQ(pool.acquire(default_deadline(), &ledger).memory.get(), read);
  EXPECT_EQ(ledger.total().waits, 1u);
  finishing.join();
}

TEST(Pool, AFailureOfOneUseDoesNotReachTheNext) {
  cpu::Pool pool(1024, 1);
  const auto device = make_ref<HostTimeline>("a device");
  {
    const cpu::PooledBuffer buffer = pool.acquire();
    buffer.memory->hazards().wrote(device->next(), {0, 100, true});
    device->fail(1, std::make_exception_ptr(Error(Code::kDataLoss, "the kernel failed")));
    EXPECT_THROW(buffer.memory->wait_for(Access::kRead, default_deadline()), Error);
  }
  for (int i = 0; i < 200; ++i) EXPECT_NO_THROW(pool.acquire().memory->wait_for(Access::kRead, default_deadline()));
}

TEST(Pool, KeepsViewsFromUseToUse) {
  cpu::Pool pool(256, 1);
  const View* view = nullptr;
  {
    const cpu::PooledBuffer buffer = pool.acquire();
    view = &buffer.memory->add_view(
        std::make_unique<View>(host_context(), MemoryKind("other"), Access::kRead, buffer.memory->host()));
  }
  const cpu::PooledBuffer again = pool.acquire();
  EXPECT_EQ(again.memory->find_view(*host_context(), MemoryKind("other"), Access::kRead), view);
}

TEST(Pool, GrowsUpToItsLimitOnly) {
  cpu::Pool pool(64, 3);
  EXPECT_EQ(pool.size(), 0u);
  std::vector<cpu::PooledBuffer> out;
  std::set<void*> addresses;
  for (int i = 0; i < 3; ++i) {
    out.push_back(pool.acquire());
    addresses.insert(out.back().memory->host());
  }
  EXPECT_EQ(addresses.size(), 3u);
  EXPECT_FALSE(pool.try_acquire());
  const Error error = error_of([&] { pool.acquire(Clock::now() + 5ms); });
  EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(error.what(), HasSubstr("3 buffers of 64 bytes"));
  out.pop_back();
  EXPECT_TRUE(pool.try_acquire());
}

TEST(Pool, WakesAWaiterWhenABufferComesBack) {
  cpu::Pool pool(64, 1);
  cpu::PooledBuffer held = pool.acquire();
  std::thread returner = tenon_test::once_this_thread_sleeps([&] { held = {}; });
  const auto begin = Clock::now();
  EXPECT_TRUE(pool.acquire(begin + 10s));
  EXPECT_LT(Clock::now() - begin, 5s) << "it was its deadline that woke it";
  returner.join();
}

TEST(Pool, MayGoWhileBuffersAreOut) {
  alive = 0;
  Tensor left;
  {
    cpu::Pool pool(of_size(128), 4, counted);
    left = pool.acquire_tensor({element::u8, {128}, {}});
    pool.acquire();
    cpu::PooledBuffer second = pool.acquire();
    EXPECT_EQ(alive, 2);
  }
  EXPECT_EQ(alive, 1) << "idle buffers are freed at once";
  std::memset(left.data(), 1, 128);
  left = {};
  EXPECT_EQ(alive, 0);
}

TEST(Pool, SurvivesAMove) {
  alive = 0;
  {
    cpu::Pool pool(of_size(64), 1, counted);
    cpu::PooledBuffer buffer = pool.acquire();
    cpu::Pool moved = std::move(pool);
    buffer = {};
    EXPECT_EQ(moved.idle(), 1u);
    moved = cpu::Pool(of_size(64), 1, counted);
    EXPECT_EQ(alive, 0) << "the pool assigned over kept its buffer";
  }
  EXPECT_EQ(alive, 0);
}

TEST(Pool, FailedAllocationLeavesRoomForAnother) {
  int calls = 0;
  cpu::Pool pool(of_size(64), 1, [&](const Requirements& wanted) -> Ref<Memory> {
    if (++calls == 1) throw Error(Code::kResourceExhausted, "none left");
    if (calls == 2) return {};
    return HostMemory::allocate(wanted.size_bytes);
  });
  EXPECT_EQ(error_of([&] { pool.acquire(); }).code(), Code::kResourceExhausted);
  EXPECT_EQ(error_of([&] { pool.acquire(); }).code(), Code::kInternal);
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_TRUE(pool.acquire());
}

TEST(Pool, TooSmallBuffersAreRefusedAndComeBack) {
  cpu::Pool pool(64, 1);
  EXPECT_EQ(error_of([&] { pool.acquire_tensor({element::u8, {65}, {}}); }).code(), Code::kOutOfRange);
  EXPECT_EQ(pool.idle(), 1u);
  EXPECT_EQ(error_of([] { cpu::Pool(64, 0); }).code(), Code::kInvalidArgument);
}

TEST(Pool, NeverHandsOneBufferToTwoThreads) {
  alive = 0;
  {
    cpu::Pool pool(of_size(sizeof(std::uint64_t)), 3, counted);
    std::vector<std::thread> threads;
    std::atomic<int> clashes{0};
    for (std::uint64_t id = 1; id <= 8; ++id) {
      threads.emplace_back([&, id] {
        for (int i = 0; i < 2000; ++i) {
          const cpu::PooledBuffer buffer = pool.acquire(Clock::now() + 60s);
          auto* value =
              static_cast<volatile std::uint64_t*>(buffer.memory->host());  // Not atomic: TSan reports a race.
          *value = id;
          if (*value != id) ++clashes;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(clashes, 0);
    EXPECT_LE(alive, 3);
    EXPECT_EQ(pool.idle(), pool.size());
  }
  EXPECT_EQ(alive, 0);
}

TEST(Pool, MemfdBuffersComeOnRequest) {
  Requirements wanted = of_size(5000);
  wanted.fd = platform::kSharedKind;
  cpu::Pool pool(wanted, 1);
  const cpu::PooledBuffer buffer = pool.acquire();
  EXPECT_EQ(buffer.memory->fd_kind(), platform::kSharedKind);
  EXPECT_GE(buffer.memory->borrow_fd(), 0);
  wanted.fd = FdKind::kDmabuf;
  cpu::Pool refused(wanted, 1);
  EXPECT_THAT(error_of([&] { refused.acquire(); }).what(), HasSubstr("dmabuf"));
}

TEST(FramePool, LaysFramesOutAsRequired) {
  Requirements wanted;
  wanted.pitch_alignment = 128;
  wanted.height_alignment = 16;
  wanted.tail_padding = 64;
  cpu::FramePool pool({kNv12, 100, 50}, wanted, 2);
  Frame frame = pool.acquire();
  EXPECT_EQ(frame.plane(0).byte_strides()[0], 128);
  EXPECT_EQ(frame.plane(1).byte_strides()[0], 128);
  EXPECT_EQ(frame.plane(1).offset(), 128u * 64) << "chroma begins after the aligned rows of luma";
  EXPECT_EQ(frame.plane(0).memory(), frame.plane(1).memory());
  EXPECT_EQ(frame.timestamp_ns(), kNoTimestamp);
  Frame second = pool.acquire();
  EXPECT_FALSE(pool.try_acquire());
  const Tensor chroma = frame.plane(1);
  frame = {};
  EXPECT_FALSE(pool.try_acquire()) << "one plane still uses the buffer";
  second = {};
  EXPECT_TRUE(pool.try_acquire());
}

TEST(FramePool, RefusesRowsThatAConsumerCannotTake) {
  Requirements wanted;
  wanted.max_pitch = 256;
  EXPECT_THAT(error_of([&] { cpu::FramePool({kRgb24, 100, 50}, wanted, 1); }).what(), HasSubstr("300 bytes"));
  EXPECT_EQ(error_of([&] { cpu::FramePool({kRgb24, 0, 50}, {}, 1); }).code(), Code::kInvalidArgument);
}

}  // namespace cpu_pool_test
