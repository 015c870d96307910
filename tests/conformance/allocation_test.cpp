// SPDX-License-Identifier: Apache-2.0
// One allocation for several parties: what is planned can be allocated, and is seen by all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>

#include <tenon/tests/conformance/suite.hpp>

namespace tenon::conformance {
namespace {

/// One context of each framework that this machine has.
std::vector<Context> contexts_here() {
  std::vector<Context> contexts{host_context()};
  for (const auto& framework : all()) {
    try {
      const Context made = framework->make_context();
      if (std::find(contexts.begin(), contexts.end(), made) == contexts.end()) contexts.push_back(made);
    } catch (const Error&) {  // Unavailable here: MemoryTest reports it.
    }
  }
  return contexts;
}

class RandomParties {
 public:
  RandomParties(const std::vector<Context>& contexts, unsigned seed) : contexts_(contexts), random_(seed) {}
  std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }
  Party party(Access access) {
    const Context& context = contexts_[below(contexts_.size())];
    Party made{context, context->requirements(), access};
    if (below(3) == 0)
      made.requirements.alignment = std::max<std::size_t>(made.requirements.alignment, 64u << below(7));
    if (below(6) == 0) made.requirements.fd = FdKind::kMemfd;
    if (below(12) == 0) made.requirements.fd = FdKind::kDmabuf;
    if (below(6) == 0) made.requirements.host_access = true;
    if (below(8) == 0) made.requirements.tail_padding = 64;
    return made;
  }

 private:
  const std::vector<Context>& contexts_;
  std::mt19937 random_;
};

TEST(Allocation, WhatIsPlannedIsAllocatedAndSeenByAll) {
  const std::vector<Context> contexts = contexts_here();
  std::size_t possible = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomParties random(contexts, seed);
    Router router;
    for (const Context& context : contexts) {
      if (random.below(4) != 0) router.add(context);
    }
    const Party source = random.party(Access::kWrite);
    std::vector<Party> consumers;
    for (std::size_t count = 1 + random.below(3); count > 0; --count) consumers.push_back(random.party(Access::kRead));
    const TensorInfo info{ElementType::kU8, {1 + random.below(64), 64 * (1 + random.below(4))}, {}};
    const ZeroCopy policy = random.below(2) ? ZeroCopy::kRequire : ZeroCopy::kPrefer;
    const AllocationPlan plan = router.plan(source, consumers, info, policy);
    if (!plan.possible) {
      EXPECT_NE(plan.explanation.find("no allocation serves all"), std::string::npos);
      continue;
    }
    ++possible;
    try {
      const Ref<Memory> memory = plan.allocator->allocate(plan.requirements);
      ASSERT_TRUE(memory);
      EXPECT_GE(memory->size_bytes(), plan.requirements.size_bytes + plan.requirements.tail_padding);
      EXPECT_TRUE(memory->fd_kind().serves(plan.requirements.fd)) << plan.explanation;
      EXPECT_TRUE(memory->host() || !plan.requirements.host_access) << plan.explanation;
      if (memory->host()) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->host()) % plan.requirements.alignment, 0u);
      }
      const Tensor made(info, memory);
      MapOptions options;
      options.policy = policy;
      options.access = Access::kReadWrite;
      fill(router.map(made, source.context, options), seed);
      options.access = Access::kRead;
      for (const Party& consumer : consumers) {
        EXPECT_EQ(content(router.map(made, consumer.context, options)), pattern(made.size_bytes(), seed))
            << consumer.context->name() << "\n"
            << plan.explanation;
      }
    } catch (const Error& error) {
      ADD_FAILURE() << "planned, and not possible: " << error.what() << "\n" << plan.explanation;
    }
  }
  EXPECT_GT(possible, 40u) << "too few plans to mean anything";
}

}  // namespace
}  // namespace tenon::conformance
