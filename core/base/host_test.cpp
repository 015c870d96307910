// SPDX-License-Identifier: Apache-2.0
// Host memory under a budget.
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/page_bytes.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
namespace host_test {

Tensor bytes(std::size_t count) { return Tensor(ElementType::kU8, Shape{count}); }

TEST(HostBudget, RefusesWhatGoesBeyondItAndCountsWhatIsGivenBack) {
  const HostBudget budget(1000, "; ask for more");
  const HostBudget::Scope scope(budget);
  Tensor a = bytes(600);
  EXPECT_EQ(budget.used_bytes(), 600U);
  try {
    bytes(401);
    ADD_FAILURE() << "more than allowed was allocated";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted);
    EXPECT_EQ(std::string(error.what()),
              "host memory: 401 bytes are requested while 600 of 1000 allowed bytes are in use; ask for more");
  }
  EXPECT_EQ(budget.used_bytes(), 600U);
  const Tensor b = bytes(400);
  Tensor same = a;
  a = {};
  EXPECT_EQ(budget.used_bytes(), 1000U) << "it is in use still";
  same = {};
  EXPECT_EQ(budget.used_bytes(), 400U);
  EXPECT_NO_THROW(bytes(600));
}

TEST(HostBudget, CountsUntilMemoryIsFreedWhereverThatIs) {
  Tensor kept;
  {
    const HostBudget budget(1000, "");
    {
      const HostBudget::Scope scope(budget);
      kept = bytes(700);
      // Other threads are not counted, nor are allocations in a scope within this one.
      std::thread([] { bytes(5000); }).join();
      const HostBudget inner(100000, "");
      const HostBudget::Scope within(inner);
      const Tensor large = bytes(50000);
      EXPECT_EQ(inner.used_bytes(), 50000U);
    }
    EXPECT_NO_THROW(bytes(5000));
    std::thread([moved = std::exchange(kept, {})]() mutable { moved = {}; }).join();
    EXPECT_EQ(budget.used_bytes(), 0U);
    const HostBudget::Scope scope(budget);
    kept = bytes(1000);
  }
  // Memory may outlive the budget, and have a larger alignment than the default.
  kept = {};
  const HostBudget budget(1000, "");
  const HostBudget::Scope scope(budget);
  const auto aligned = HostMemory::allocate(1000, 4096);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned->host()) % 4096, 0U);
  EXPECT_THROW(HostMemory::allocate(1), Error);
}

TEST(HostMemory, BeginsAndEndsOnPagesFromOneSizeOn) {
  const std::size_t page = page_bytes();
  for (const std::size_t size : {HostMemory::kWholePagesFrom, HostMemory::kWholePagesFrom + 1, std::size_t{300000}}) {
    const auto memory = HostMemory::allocate(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->host()) % page, 0U) << size;
    EXPECT_EQ(memory->size_bytes(), size);
    EXPECT_EQ(memory->capacity_bytes(), (size + page - 1) / page * page);
    std::memset(memory->host(), 1, memory->capacity_bytes());
  }
  EXPECT_EQ(HostMemory::allocate(HostMemory::kWholePagesFrom - 1)->capacity_bytes(), HostMemory::kWholePagesFrom - 1);
  std::vector<char> foreign(1 << 17);
  EXPECT_EQ(HostMemory::borrow(foreign.data(), 100000)->capacity_bytes(), 100000U) << "its neighbours belong to others";
}

}  // namespace host_test
}  // namespace tenon
