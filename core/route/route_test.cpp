// SPDX-License-Identifier: Apache-2.0
// Routes of frames and batches, where the host waits, and which views count as found.
#include <tenon/core/view_count.hpp>

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/core/testing/router_fixture.hpp>
#include <tenon/tests/support/asleep.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace route_test {

using namespace tenon_test;

/// Takes frames with all planes in one memory, as one dma-buf with a modifier; it would accept single planes unchecked.
class WholeFrames final : public Edge {
 public:
  std::string_view name() const override { return "whole frames"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kA; }
  Step step(const Description& from, const Context& to, Access) const override {
    return shared_in_place(from, to, kA, 5);
  }
  FrameStep step_frame(const FrameDescription& from, const Context& to, Access) const override {
    if (from.info.format.fourcc != kNv12.fourcc) return Refusal{"it takes NV12 only"};
    if (!from.in_one_memory()) return Refusal{"the planes lie in several memories"};
    ReachedFrame reached{from, false, 5};
    for (std::size_t p = 0; p < from.plane_count; ++p)
      reached.result.planes[p].context = to, reached.result.planes[p].kind = kA;
    return reached;
  }
  bool takes_single_planes() const override { return false; }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    return host_view(source, to, kA, options.access, nullptr);
  }
};

TEST_F(RouterTest, AnEdgeMayJudgeFramesAsAWhole) {
  const WholeFrames whole;
  const Edge* const known = &whole;
  router.add(std::span(&known, 1));
  const Frame one = Frame::allocate({kNv12, 64, 32});
  const Frame two({kNv12, 64, 32}, {Tensor(element::u8, {32, 64}), Tensor(element::u8, {16, 32, 2})});
  EXPECT_EQ(router.map(one, a).plane(1).context(), a);
  try {
    router.map(two, a);
    FAIL() << "planes of two memories were mapped one by one";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nv12 64x32 from"));
    EXPECT_THAT(error.what(), HasSubstr("refused whole frames into a: the planes lie in several memories"));
  }
  EXPECT_THROW(router.map(Frame::allocate({kI420, 64, 32}), a), Error);
  // Another edge accepts the planes as plain tensors.
  edge(kCpuMemory, kA, Behaviour::kShares, 100);
  EXPECT_EQ(router.map(two, a).plane(1).context(), a);
  EXPECT_EQ(router.plan(describe(one), a)->hops()[0].edge->name(), "whole frames") << "the cheaper one";
}

TEST_F(RouterTest, PlansAFrameByAllItsPlanes) {
  edge(kCpuMemory, kA, Behaviour::kSharesLarge);
  const Frame small_chroma({kNv12, 64, 32}, {Tensor(element::u8, {32, 64}), Tensor(element::u8, {16, 32, 2})});
  EXPECT_TRUE(router.plan(describe(small_chroma.plane(0)), a)->possible());
  const auto route = router.plan(describe(small_chroma), a);
  EXPECT_FALSE(route->possible());
  EXPECT_THAT(route->explain(), HasSubstr("refused cpu->a into a: plane 1: the memory is small"));
  EXPECT_EQ(route, router.plan(describe(small_chroma), a)) << "plans of frames are kept";
  const Frame other = Frame::allocate({kNv12, 64, 32});
  EXPECT_FALSE(route == router.plan(describe(other), a));
  edge(kCpuMemory, kA, Behaviour::kCopies, 1);
  const auto apart = router.plan(describe(small_chroma), a);
  ASSERT_EQ(apart->planes().size(), 2u) << apart->explain();
  EXPECT_FALSE(apart->planes()[0]->copies());
  EXPECT_TRUE(apart->planes()[1]->copies());
  EXPECT_THAT(apart->explain(), HasSubstr("plane 1 goes its own way: u8 [16,32,2] from"));
}

TEST_F(RouterTest, MapsABatchFrameByFrameAndJudgesAllFirst) {
  FakeEdge& shares = edge(kCpuMemory, kA, Behaviour::kSharesLarge);
  const FrameInfo info{kGray8, 64, 48};
  const Frame large(info, {Tensor(element::u8, {48, 64})});
  const Frame small({kGray8, 16, 16}, {Tensor(element::u8, {16, 16})});
  Frame batch(std::vector<Frame>{large, Frame(info, {Tensor(element::u8, {48, 64})})});
  batch.set_timestamp_ns(7);
  batch.metadata()["k"] = 1;
  const Frame mapped = router.map(batch, a);
  ASSERT_EQ(mapped.batch().size(), 2u);
  EXPECT_EQ(mapped.timestamp_ns(), 7);
  EXPECT_TRUE(mapped.metadata().count("k"));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(mapped.batch()[i].plane(0).context(), a);
    EXPECT_EQ(mapped.batch()[i].plane(0).memory(), batch.batch()[i].plane(0).memory());
  }
  const int before = shares.maps;
  try {
    router.map(Frame(std::vector<Frame>{Frame(info, {Tensor(element::u8, {48, 64})}), small}), a);
    FAIL() << "a frame that no edge takes was mapped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_THAT(error.what(), HasSubstr("frame 1 of a batch of 2"));
    EXPECT_THAT(error.what(), HasSubstr("the memory is small"));
  }
  EXPECT_EQ(shares.maps, before) << "the first frame was mapped before the second was judged";
}

TEST_F(RouterTest, SaysWhereTheHostWaitsAndTheLedgerAgrees) {
  class Waiting final : public ContextImpl {
   public:
    std::string_view name() const override { return "waiting"; }
    MemoryKind kind() const override { return kB; }
    bool can_wait_for(const Timeline&) const override { return true; }
    Ref<Memory> allocate(const Requirements& wanted) override { return HostMemory::allocate(wanted.size_bytes); }
  };
  const Context waiting{make_ref<Waiting>()};
  router.add(waiting);
  edge(kCpuMemory, kA, Behaviour::kShares);
  edge(kCpuMemory, kB, Behaviour::kShares);
  edge(kCpuMemory, kC, Behaviour::kCopies);
  const auto waits_of_a_map = [&](const Context& target, const Tensor& tensor) {
    const auto timeline = make_ref<HostTimeline>();
    const TimelinePoint written = timeline->next();
    tensor.memory()->hazards().wrote(written);
    std::thread writer = tenon_test::once_this_thread_sleeps([&] { timeline->advance(written.value()); });
    Ledger ledger;
    MapOptions options;
    options.ledger = &ledger;
    const Tensor mapped = router.map(tensor, target, options);
    writer.join();
    return ledger.total().waits;
  };
  const auto route_to_a = router.plan(describe(source), a), queued = router.plan(describe(source), waiting);
  ASSERT_TRUE(route_to_a->host_wait());
  EXPECT_EQ(route_to_a->host_wait()->hop, 0u);
  EXPECT_THAT(route_to_a->explain(), HasSubstr("waits   on the host at cpu->a, for unfinished work: a cannot wait for "
                                               "points of cpu"));
  EXPECT_EQ(waits_of_a_map(a, source), 1u);
  EXPECT_FALSE(queued->host_wait());
  EXPECT_THAT(queued->explain(), ::testing::Not(HasSubstr("waits ")));
  EXPECT_EQ(waits_of_a_map(waiting, source), 0u);
  EXPECT_THAT(router.explain(describe(source), c), HasSubstr("waits   on the host at cpu->c, for unfinished work: it "
                                                             "copies"));
  EXPECT_EQ(waits_of_a_map(c, source), 1u);
}

TEST_F(RouterTest, SaysThatAnEdgeWaitsThoughTheTargetNeedNot) {
  class Patient final : public ContextImpl {
   public:
    std::string_view name() const override { return "patient"; }
    MemoryKind kind() const override { return kB; }
    bool can_wait_for(const Timeline&) const override { return true; }
  };
  class Bracket final : public Edge {
   public:
    std::string_view name() const override { return "bracket"; }
    MemoryKind from() const override { return kCpuMemory; }
    MemoryKind to() const override { return kA; }
    std::string_view host_wait(const Description&) const override { return "it opens a bracket"; }
    Step step(const Description& from, const Context& to, Access) const override {
      return shared_in_place(from, to, kA, 5);
    }
    Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
      source.memory()->wait_for(options.access, deadline_of(options), &ledger_of(options));
      return host_view(source, to, kA, options.access, nullptr);
    }
  };
  const Bracket bracket;
  const Edge* const known = &bracket;
  router.add(std::span(&known, 1));
  edge(kA, kB, Behaviour::kShares);
  const Context patient{make_ref<Patient>()};
  const auto route = router.plan(describe(source), patient);
  ASSERT_EQ(route->hops().size(), 2u);
  ASSERT_TRUE(route->host_wait());
  EXPECT_EQ(route->host_wait()->hop, 0u);
  EXPECT_EQ(route->host_wait()->reason, "it opens a bracket");
}

TEST_F(RouterTest, AViewIsBookedAsFoundOnlyIfItWasNotMade) {
  /// Keeps its own view for each region, like images over a buffer, and adds none to the memory.
  class Shelf final : public Edge {
   public:
    std::string_view name() const override { return "shelf"; }
    MemoryKind from() const override { return kCpuMemory; }
    MemoryKind to() const override { return kA; }
    Step step(const Description& from, const Context& to, Access) const override {
      return shared_in_place(from, to, kA, 5);
    }
    Tensor map(const Tensor& source, const Context& to, const MapOptions&) const override {
      auto& view = views_[source.offset()];
      if (!view) {
        view = std::make_unique<View>(to, kA, Access::kReadWrite, source.memory()->host());
        note_view_made();
      }
      return source.through(view.get());
    }

   private:
    mutable std::map<std::size_t, std::unique_ptr<View>> views_;
  };
  const Shelf shelf;
  const Edge* const known = &shelf;
  router.add(std::span(&known, 1));
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const Tensor first = source.slice({0}, {10}), second = source.slice({10}, {20});
  router.map(first, a, options);
  router.map(second, a, options);
  EXPECT_EQ(ledger.total().view_hits, 0u);
  // A view of another context, added meanwhile, does not count for this map.
  std::thread other(
      [&] { source.memory()->add_view(std::make_unique<View>(b, kB, Access::kReadWrite, source.memory()->host())); });
  other.join();
  router.map(first, a, options);
  EXPECT_EQ(ledger.total().view_hits, 1u);
}

}  // namespace route_test
