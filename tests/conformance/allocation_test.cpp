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
namespace allocation_test {

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
    if (below(6) == 0) made.requirements.fd = platform::kSharedKind;
    if (below(12) == 0) made.requirements.fd = FdKind::kDmabuf;
    if (below(6) == 0) made.requirements.host_access = true;
    if (below(8) == 0) made.requirements.tail_padding = 64;
    return made;
  }
  /// One that also has wishes about the layout of frames.
  Party party_of_frames(Access access) {
    Party made = party(access);
    if (below(3) == 0) made.requirements.pitch_alignment = 1u << below(10);
    if (below(4) == 0) made.requirements.height_alignment = 1u << below(6);
    if (below(12) == 0) made.requirements.max_pitch = 64 << below(4);
    if (below(16) == 0) made.requirements.contiguous = true;
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

/// Each plane as planned: rows and heights aligned for all parties, and no padding where one takes none.
void expect_layout(const Frame& frame, const Requirements& wanted) {
  std::size_t end = 0;
  for (const Tensor& plane : frame.planes()) {
    const auto pitch = static_cast<std::size_t>(plane.byte_strides()[0]);
    EXPECT_EQ(pitch % wanted.pitch_alignment, 0u);
    EXPECT_LE(pitch, wanted.max_pitch);
    EXPECT_GE(plane.offset(), end) << "planes overlap";
    const std::size_t rows = plane.shape()[0], alignment = wanted.height_alignment;
    end = plane.offset() + pitch * ((rows + alignment - 1) / alignment * alignment);
    if (wanted.contiguous) {
      EXPECT_TRUE(plane.is_contiguous());
    }
  }
  EXPECT_LE(end + wanted.tail_padding, frame.plane(0).memory()->size_bytes()) << "padded rows leave the memory";
}

TEST(Allocation, FramesThatArePlannedAreLaidOutForAllAndSeenByAll) {
  const std::vector<Context> contexts = contexts_here();
  constexpr PixelFormat kFormats[] = {kNv12, kI420, kYv12, kI444, kP010, kYuy2, kRgb24, kBgra, kRgbPlanar, kGray8};
  std::size_t possible = 0, padded = 0, shared = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomParties random(contexts, seed);
    Router router;
    for (const Context& context : contexts) {
      if (random.below(4) != 0) router.add(context);
    }
    const Party source = random.party_of_frames(Access::kWrite);
    std::vector<Party> consumers;
    for (std::size_t count = 1 + random.below(3); count > 0; --count)
      consumers.push_back(random.party_of_frames(Access::kRead));
    const FrameInfo info{kFormats[random.below(std::size(kFormats))], static_cast<std::uint32_t>(1 + random.below(131)),
                         static_cast<std::uint32_t>(1 + random.below(67))};
    SCOPED_TRACE(to_string(info.format) + " " + std::to_string(info.width_px) + "x" + std::to_string(info.height_px));
    const ZeroCopy policy = random.below(2) ? ZeroCopy::kRequire : ZeroCopy::kPrefer;
    const AllocationPlan plan = router.plan(source, consumers, info, policy);
    if (!plan.possible) {
      EXPECT_NE(plan.explanation.find("no allocation serves all"), std::string::npos);
      continue;
    }
    ++possible;
    try {
      const Ref<Memory> memory = plan.allocator->allocate(plan.requirements);
      EXPECT_GE(memory->size_bytes(), plan.requirements.size_bytes + plan.requirements.tail_padding);
      if (plan.requirements.fd != FdKind::kNone || plan.requirements.alignment >= 4096) {
        EXPECT_EQ(memory->size_bytes() % 4096, 0u) << "a device that imports pages cannot take it\n"
                                                   << plan.explanation;
      }
      const Frame made = Frame::over(info, memory, plan.requirements);
      expect_layout(made, plan.requirements);
      padded += !made.plane(0).is_contiguous();
      MapOptions options;
      options.policy = policy;
      options.access = Access::kReadWrite;
      const Frame written = router.map(made, source.context, options);
      for (std::size_t p = 0; p < written.plane_count(); ++p)
        fill(written.plane(p), seed + static_cast<unsigned>(1000 * p));
      options.access = Access::kRead;
      for (std::size_t c = 0; c < consumers.size(); ++c) {
        const Frame seen = router.map(made, consumers[c].context, options);
        if (!plan.routes[c]->copies()) ++shared;
        for (std::size_t p = 0; p < seen.plane_count(); ++p) {
          const bool is_copied = seen.plane(p).memory() != memory;
          // By chance memory begins on a page though none was asked for: a device that imports pages then takes it in place.
          if (is_copied || plan.requirements.alignment >= 4096) {
            EXPECT_EQ(plan.routes[c]->copies(), is_copied) << plan.routes[c]->explain();
          }
          EXPECT_EQ(content(seen.plane(p)), pattern(made.plane(p).size_bytes(), seed + static_cast<unsigned>(1000 * p)))
              << consumers[c].context->name() << ", plane " << p << "\n"
              << plan.explanation;
        }
      }
    } catch (const Error& error) {
      ADD_FAILURE() << "planned, and not possible: " << error.what() << "\n" << plan.explanation;
    }
  }
  EXPECT_GT(possible, 40u) << "too few plans to mean anything";
  EXPECT_GT(padded, 10u);
  EXPECT_GT(shared, 40u);
}

}  // namespace allocation_test
}  // namespace tenon::conformance
