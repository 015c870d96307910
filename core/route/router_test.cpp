// SPDX-License-Identifier: Apache-2.0
// Routes over fake contexts: cost, policy, refusals, plans for several consumers, access.
#include <tenon/core/host.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>

#include <tenon/core/platform/files.hpp>
#include <tenon/core/testing/router_fixture.hpp>
#include <tenon/tests/support/asleep.hpp>
#include <tenon/tests/support/error_of.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace router_test {

using namespace tenon_test;

TEST_F(RouterTest, SaysWhichContextIsMissing) {
  const FakeEdge to_host(kA, kCpuMemory, Behaviour::kShares), to_c(kCpuMemory, kC, Behaviour::kShares);
  const Edge* const known[] = {&to_host, &to_c};
  Router lacking;
  lacking.add(known);
  lacking.add(a);
  Requirements wanted;
  wanted.size_bytes = 100;
  const Tensor there(TensorInfo{element::u8, {100}, {}}, a->allocate(wanted));
  const std::string text = lacking.explain(describe(there), c);
  EXPECT_THAT(text, HasSubstr("missing a context of kind cpu, where a->cpu leads: add(host_context())"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("no edge known")));
  EXPECT_THROW(lacking.map(there, c), Error);
  lacking.add(host_context());
  EXPECT_EQ(lacking.map(there, c).context(), c);
  EXPECT_THAT(lacking.explain(describe(there), c), ::testing::Not(HasSubstr("missing")));
  // Kinds without any connecting edge are a different case.
  EXPECT_THAT(lacking.explain(describe(there), b), HasSubstr("no edge known to this router leads there"));
}

TEST_F(RouterTest, SaysEveryContextThatIsMissingOnALongWay) {
  const FakeEdge first(kCpuMemory, kA, Behaviour::kShares), second(kA, kB, Behaviour::kShares),
      third(kB, kC, Behaviour::kShares), aside(kCpuMemory, MemoryKind("d"), Behaviour::kShares);
  const Edge* const known[] = {&first, &aside, &second, &third};
  Router lacking;
  lacking.add(known);
  const std::string text = lacking.explain(describe(source), c);
  const auto at_a = text.find("kind a,"), at_b = text.find("kind b,");
  EXPECT_NE(at_a, std::string::npos) << text;
  EXPECT_NE(at_b, std::string::npos) << text;
  EXPECT_LT(at_a, at_b) << "in the order of the way\n" << text;
  EXPECT_EQ(text.find("kind d"), std::string::npos) << "it leads nowhere\n" << text;
}

TEST_F(RouterTest, NamesTheSourcesRemedyWhereBytesAreCopiedOrNoWayLeads) {
  class Helpful final : public ContextImpl {
   public:
    std::string_view name() const override { return "helpful"; }
    MemoryKind kind() const override { return kA; }
    std::string_view remedy() const override { return "allocate elsewhere"; }
  };
  const Context helpful{make_ref<Helpful>()};
  Description there = describe(source);
  there.context = helpful;
  there.kind = kA;
  edge(kA, kB, Behaviour::kCopies);
  EXPECT_THAT(router.explain(there, b), HasSubstr("remedy  allocate elsewhere"));
  EXPECT_THAT(router.explain(there, b, Access::kRead, ZeroCopy::kRequire), HasSubstr("remedy  allocate elsewhere"));
  edge(kA, kB, Behaviour::kShares);
  EXPECT_THAT(router.explain(there, b), ::testing::Not(HasSubstr("remedy")));
}

TEST(Requirements, DescriptorsAreAnOpenSet) {
  constexpr FdKind kOpaque{"opaque fd"}, kTiled{"tiled dma-buf", FdKind::kDmabuf};
  static_assert(FdKind::kDmabuf.serves(FdKind::kMemfd) && !FdKind::kMemfd.serves(FdKind::kDmabuf));
  static_assert(kOpaque.serves(kOpaque) && kOpaque.serves(FdKind::kNone) && !kOpaque.serves(FdKind::kMemfd));
  static_assert(!FdKind::kNone.serves(FdKind::kMemfd) && FdKind::kNone.serves(FdKind::kNone));
  static_assert(kTiled.serves(FdKind::kDmabuf) && FdKind("opaque fd") == kOpaque);
  Requirements memfd, dmabuf, opaque, any;
  memfd.fd = FdKind::kMemfd;
  dmabuf.fd = FdKind::kDmabuf;
  opaque.fd = kOpaque;
  EXPECT_EQ(std::get<Requirements>(memfd.join(dmabuf)).fd, FdKind::kDmabuf);
  EXPECT_EQ(std::get<Requirements>(dmabuf.join(memfd)).fd, FdKind::kDmabuf);
  EXPECT_EQ(std::get<Requirements>(any.join(opaque)).fd, kOpaque);
  EXPECT_EQ(std::get<Requirements>(opaque.join(any)).fd, kOpaque);
  const auto neither = opaque.join(memfd);
  ASSERT_TRUE(std::holds_alternative<Refusal>(neither));
  EXPECT_THAT(std::get<Refusal>(neither).reason, ::testing::AllOf(HasSubstr("opaque fd"), HasSubstr("memfd")));
}

TEST_F(RouterTest, MapsWithoutALedgerBookInTheProcesses) {
  // The source's writer is still at work: a copying edge waits, and the wait is booked even when no ledger was
  // given.
  class Copying final : public Edge {
   public:
    std::string_view name() const override { return "waits->for it"; }
    MemoryKind from() const override { return kCpuMemory; }
    MemoryKind to() const override { return kA; }
    Step step(const Description& from, const Context& to, Access) const override {
      return packed_copy(from, to, kA, 1, 0, 1, true);
    }
    Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
      source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
      Requirements wanted;
      wanted.size_bytes = source.size_bytes();
      return Tensor(TensorInfo{source.element_type(), source.shape(), {}}, to->allocate(wanted));
    }
  };
  const Copying copying;
  const Edge* const known = &copying;
  router.add(std::span(&known, 1));
  const auto timeline = make_ref<HostTimeline>();
  source.memory()->hazards().wrote(TimelinePoint(timeline, 1));
  std::thread writer = tenon_test::once_this_thread_sleeps([&] { timeline->advance(1); });
  const std::uint64_t before = Ledger::process().total().waits;
  router.map(source, a);
  writer.join();
  EXPECT_EQ(Ledger::process().total().waits, before + 1);
}

TEST_F(RouterTest, TakesTheCheapestSharingChain) {
  edge(kCpuMemory, kC, Behaviour::kCopies, 1);
  edge(kCpuMemory, kC, Behaviour::kShares, 5000);
  edge(kCpuMemory, kA, Behaviour::kShares, 1000);
  edge(kA, kB, Behaviour::kShares, 1000);
  edge(kB, kC, Behaviour::kShares, 1000);
  auto plan = router.plan(describe(source), c);
  ASSERT_TRUE(plan->possible());
  EXPECT_EQ(plan->hops().size(), 3u);
  EXPECT_FALSE(plan->copies());
  EXPECT_TRUE(router.plan(describe(source), c, Access::kRead, ZeroCopy::kAllow)->copies()) << "which is cheaper";
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  Tensor mapped = router.map(source, c, options);
  EXPECT_EQ(mapped.context(), c);
  EXPECT_EQ(mapped.memory(), source.memory());
  mapped.data<std::uint8_t>()[999] = 42;
  EXPECT_EQ(source.data<std::uint8_t>()[999], 42);
  EXPECT_EQ(ledger.total().maps, 3u);
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(RouterTest, RepeatedMapOfAStandingViewAsksNoEdge) {
  FakeEdge& share = edge(kCpuMemory, kA, Behaviour::kShares);
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  for (int i = 0; i < 10; ++i) router.map(source, a, options);
  EXPECT_EQ(share.maps, 1);
  EXPECT_EQ(ledger.total().maps, 10u);
  EXPECT_EQ(ledger.total().view_hits, 9u);
  EXPECT_EQ(source.memory()->view_count(), 1u);
}

TEST_F(RouterTest, TracesEachHopUnderItsEdgesName) {
  edge(kCpuMemory, kA, Behaviour::kShares);
  edge(kA, kB, Behaviour::kShares);
  router.map(source, a);
  Trace::start();
  router.map(source, b);
  Trace::stop();
  const std::string path = ::testing::TempDir() + "/tenon_router_trace_" + std::to_string(platform::process_id());
  Trace::write(path);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_THAT(text.str(), HasSubstr("\"name\":\"a->b\",\"cat\":\"map\""));
}

TEST_F(RouterTest, BooksEveryCopyUnderPreferAndRefusesUnderRequire) {
  edge(kCpuMemory, kA, Behaviour::kCopies);
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  Tensor copy = router.map(source, a, options);
  EXPECT_NE(copy.memory(), source.memory());
  EXPECT_EQ(ledger.total().copied, 1000u);
  options.policy = ZeroCopy::kRequire;
  try {
    router.map(source, a, options);
    FAIL() << "the copy went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_THAT(error.what(), HasSubstr("requires zero copy"));
    EXPECT_THAT(error.what(), HasSubstr("cpu->a"));
  }
}

TEST_F(RouterTest, PlanesOfAFrameTakeEachTheirOwnWayWhereOneDoesNotServeAll) {
  FakeEdge& shares = edge(kCpuMemory, kA, Behaviour::kSharesLarge);
  const Frame frame({kNv12, 64, 32}, {Tensor(element::u8, {32, 64}), Tensor(element::u8, {16, 32, 2})});
  EXPECT_THROW(router.map(frame, a), Error);
  EXPECT_EQ(shares.maps, 0) << "the second plane was judged after the first was mapped";

  Router both;
  for (const Context& context : {cpu, a}) both.add(context);
  FakeEdge copies(kCpuMemory, kA, Behaviour::kCopies, 1);
  const Edge* ways[] = {&shares, &copies};
  both.add(ways);
  frame.plane(1).data<std::uint8_t>()[5] = 77;
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const Frame mapped = both.map(frame, a, options);
  EXPECT_EQ(mapped.plane(0).memory(), frame.plane(0).memory());
  EXPECT_NE(mapped.plane(1).memory(), frame.plane(1).memory());
  EXPECT_EQ(ledger.total().copied, frame.plane(1).size_bytes());
  EXPECT_EQ(mapped.plane(1).context(), a);
}

TEST_F(RouterTest, WriteAccessNeverGoesThroughACopy) {
  edge(kCpuMemory, kA, Behaviour::kCopies);
  EXPECT_FALSE(router.plan(describe(source), a, Access::kReadWrite, ZeroCopy::kAllow)->possible());
}

TEST_F(RouterTest, ExplainsEveryRefusalAndTheWayTaken) {
  edge(kCpuMemory, kB, Behaviour::kRefuses);
  edge(kCpuMemory, kA, Behaviour::kShares);
  edge(kA, kB, Behaviour::kShares);
  const std::string text = router.explain(describe(source), b);
  EXPECT_THAT(text, HasSubstr("refused cpu->b into b: the driver lacks cl_khr_example"));
  EXPECT_THAT(text, HasSubstr("takes   cpu->a into a"));
  EXPECT_THAT(router.explain(describe(source), c), HasSubstr("no way"));
}

TEST_F(RouterTest, SaysThatNoEdgeLeadsThere) {
  EXPECT_THAT(router.explain(describe(source), a), HasSubstr("no edge known"));
}

TEST_F(RouterTest, RefusesWriteAccessToWhatADecoderReads) {
  struct Busy final : LeaseState {
    bool writable() const override { return false; }
  };
  edge(kCpuMemory, kA, Behaviour::kShares);
  Tensor leased = source.with_lease(make_ref<Busy>());
  EXPECT_NO_THROW(router.map(leased, a, Access::kRead));
  try {
    router.map(leased, a, Access::kWrite);
    FAIL() << "write access was given";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kPermissionDenied);
    EXPECT_THAT(error.what(), HasSubstr("decoder"));
  }
}

TEST_F(RouterTest, CachesPlansByDescription) {
  edge(kCpuMemory, kA, Behaviour::kShares);
  auto first = router.plan(describe(source), a);
  EXPECT_EQ(first, router.plan(describe(source), a));
  EXPECT_FALSE(first == router.plan(describe(source.slice({1}, {10})), a));
  EXPECT_FALSE(first == router.plan(describe(source), a, Access::kRead, ZeroCopy::kAllow));
  for (std::size_t size = 1; size < 3000; ++size) router.plan(describe(Tensor(element::u8, {size})), a);
  EXPECT_TRUE(router.plan(describe(source), a)->possible()) << "a cache that overflowed still plans";
}

TEST_F(RouterTest, PlansAndMapsFromManyThreads) {
  FakeEdge& share = edge(kCpuMemory, kA, Behaviour::kShares);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Tensor mine(element::u8, {static_cast<std::size_t>(i + 1)});
        EXPECT_EQ(router.map(mine, a).memory(), mine.memory());
        EXPECT_EQ(router.map(source, a).memory(), source.memory());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(source.memory()->view_count(), 1u);
  EXPECT_GE(share.maps, 8 * 200);
}

TEST_F(RouterTest, ChoosesOneAllocationForAllParties) {
  edge(kCpuMemory, kA, Behaviour::kShares);
  edge(kCpuMemory, kB, Behaviour::kShares);
  edge(kA, kB, Behaviour::kCopies);
  edge(kB, kA, Behaviour::kCopies);
  const Party source_party{a, {}, Access::kWrite};
  Party consumer{b, {}, Access::kRead};
  consumer.requirements.alignment = 4096;
  AllocationPlan plan = router.plan(source_party, std::span(&consumer, 1), {ElementType::kU8, {1000}, {}});
  ASSERT_TRUE(plan.possible) << plan.explanation;
  EXPECT_EQ(plan.allocator, cpu) << plan.explanation;
  EXPECT_EQ(plan.requirements.alignment, 4096u);
  ASSERT_EQ(plan.routes.size(), 1u);
  EXPECT_FALSE(plan.routes[0]->copies());
}

/// Shares host memory like a framework's edge, and counts calls of step().
class CountedHostEdge final : public HostEdge {
 public:
  explicit CountedHostEdge(std::size_t min_columns = 0) : min_columns_(min_columns) {}
  std::string_view name() const override { return "counted"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kA; }
  mutable int judged = 0;

 private:
  std::optional<Refusal> refuses(const Description& from) const override {
    ++judged;
    if (from.info.shape[1] < min_columns_) return Refusal{"the plane is narrow"};
    return std::nullopt;
  }
  std::size_t min_columns_;
};

TEST_F(RouterTest, PlanesInOneMemoryAreMappedThroughOneView) {
  const CountedHostEdge to_a;
  const Edge* const known = &to_a;
  router.add(std::span(&known, 1));
  edge(kA, kB, Behaviour::kShares);
  for (const Context& target : {a, b}) {
    Ledger ledger;
    MapOptions options;
    options.ledger = &ledger;
    const Frame source = Frame::allocate({kI420, 64, 48});
    const Frame mapped = router.map(source, target, options);
    for (std::size_t p = 0; p < 3; ++p) {
      EXPECT_EQ(mapped.plane(p).context(), target);
      EXPECT_EQ(mapped.plane(p).memory(), source.plane(p).memory());
      EXPECT_EQ(mapped.plane(p).view(), mapped.plane(0).view());
      EXPECT_EQ(mapped.plane(p).data(), source.plane(p).data());
      EXPECT_EQ(mapped.plane(p).info(), source.plane(p).info());
    }
    EXPECT_EQ(ledger.total().maps, target == a ? 1u : 2u) << "a frame is one map per hop";
    EXPECT_EQ(ledger.total().view_hits, 0u);
    // Other memory with an equal description: at the same address, so that the alignment is equal.
    const Memory& block = *source.plane(0).memory();
    const Frame next = Frame::over(source.info(), HostMemory::borrow(block.host(), block.size_bytes()), {});
    const Frame after = Frame::over(source.info(), HostMemory::borrow(block.host(), block.size_bytes()), {});
    router.map(next, target, options);
    const int judged = to_a.judged;
    router.map(after, target, options);
    EXPECT_EQ(to_a.judged, judged) << "it was judged when it was planned";
  }
  // Each plane in memory of its own, as some decoders allocate.
  std::vector<Tensor> planes;
  for (std::size_t p = 0; p < 3; ++p) planes.emplace_back(element::u8, plane_shape({kI420, 64, 48}, p));
  const Frame apart({kI420, 64, 48}, planes);
  const Frame mapped = router.map(apart, a);
  for (std::size_t p = 0; p < 3; ++p) {
    EXPECT_EQ(mapped.plane(p).memory(), apart.plane(p).memory());
    EXPECT_EQ(mapped.plane(p).context(), a);
    EXPECT_EQ(mapped.plane(p).data(), apart.plane(p).data());
  }
}

TEST_F(RouterTest, AnEdgeThatIsCalledByHandJudgesEveryPlane) {
  const CountedHostEdge to_a(40);
  const Frame frame = Frame::allocate({kI420, 64, 48});  // Chroma has 32 columns.
  EXPECT_THAT(error_of([&] { to_a.map_frame(frame, a, {}); }).what(), HasSubstr("the plane is narrow"));
  EXPECT_THAT(error_of([&] { to_a.map(frame.plane(2), a, {}); }).what(), HasSubstr("the plane is narrow"));
  const Edge* const known = &to_a;
  router.add(std::span(&known, 1));
  EXPECT_EQ(router.map(frame.plane(0), a).context(), a);
  const Frame again = Frame::allocate({kI420, 64, 48});
  EXPECT_THAT(error_of([&] { router.map(again, a); }).what(), HasSubstr("plane 1: the plane is narrow"));
  EXPECT_EQ(again.plane(0).memory()->view_count(), 0u) << "nothing is mapped before all planes are judged";
}

TEST_F(RouterTest, AMapThatIsRefusedWaitsForNothing) {
  const auto timeline = make_ref<HostTimeline>("a device");
  const TimelinePoint written = timeline->next();
  const Frame frame = Frame::allocate({kNv12, 16, 16});
  frame.plane(0).memory()->hazards().wrote(written);
  MapOptions options;
  options.deadline = Clock::now();
  EXPECT_EQ(error_of([&] { router.map(frame.plane(0), c, options); }).code(), Code::kFailedPrecondition);
  EXPECT_EQ(error_of([&] { router.map(frame, c, options); }).code(), Code::kFailedPrecondition);
  EXPECT_EQ(error_of([&] { router.map(Frame({frame}), c, options); }).code(), Code::kFailedPrecondition);
  timeline->advance(written.value());
}

TEST_F(RouterTest, AnAllocationForAFrameIsLaidOutForAllParties) {
  edge(kCpuMemory, kA, Behaviour::kShares);
  edge(kCpuMemory, kB, Behaviour::kShares);
  Party camera{cpu, {}, Access::kWrite}, readers[] = {{a, {}, Access::kRead}, {b, {}, Access::kRead}};
  camera.requirements.pitch_alignment = 32;
  readers[0].requirements.pitch_alignment = 256;
  readers[1].requirements.height_alignment = 16;
  readers[1].requirements.tail_padding = 64;
  const FrameInfo info{kNv12, 98, 50};
  const AllocationPlan plan = router.plan(camera, readers, info, ZeroCopy::kRequire);
  ASSERT_TRUE(plan.possible) << plan.explanation;
  EXPECT_EQ(plan.requirements.size_bytes, 256u * (64 + 32));
  const Frame frame = Frame::over(info, plan.allocator->allocate(plan.requirements), plan.requirements);
  EXPECT_EQ(frame.plane(0).byte_strides()[0], 256);
  EXPECT_EQ(frame.plane(1).offset(), 256u * 64);
  ASSERT_EQ(plan.routes.size(), 2u);
  for (const auto& route : plan.routes) EXPECT_THAT(route->explain(), HasSubstr("nv12 98x50"));
  const auto refused = [&](auto change) {
    Party narrow = readers[0];
    change(narrow.requirements);
    const Party all[] = {narrow, readers[1]};
    const AllocationPlan none = router.plan(camera, all, info, ZeroCopy::kRequire);
    EXPECT_FALSE(none.possible);
    return none.explanation;
  };
  EXPECT_THAT(refused([](Requirements& wanted) { wanted.pitch_alignment = 128, wanted.max_pitch = 127; }),
              HasSubstr("rows"));
  EXPECT_THAT(
      refused([](Requirements& wanted) { wanted.pitch_alignment = 64, wanted.max_pitch = 120; }),
      HasSubstr(
          "its rows take 128 bytes with the alignment of all parties, and one party accepts rows of at most 120"));
  EXPECT_THAT(refused([](Requirements& wanted) { wanted.contiguous = true; }), HasSubstr("takes no padding"));
  EXPECT_THAT(refused([](Requirements& wanted) { wanted.modifiers = {1}; }), HasSubstr("DRM modifier"));
  const FrameInfo tiled{{kNv12.fourcc, 1}, 98, 50};
  EXPECT_THAT(router.plan(camera, readers, tiled).explanation, HasSubstr("DRM modifier"));
  EXPECT_THROW(router.plan(camera, readers, FrameInfo{kNv12, 0, 50}), Error);
}

TEST_F(RouterTest, AnAllocationThatIsPlannedCanBeMade) {
  edge(kCpuMemory, kA, Behaviour::kShares);
  edge(kA, kCpuMemory, Behaviour::kShares);
  Party consumer{a, {}, Access::kRead};
  const TensorInfo tensor{ElementType::kU8, {1000}, {}};
  consumer.requirements.fd = platform::kSharedKind;
  const AllocationPlan shared = router.plan({}, std::span(&consumer, 1), tensor);
  ASSERT_TRUE(shared.possible) << shared.explanation;
  EXPECT_EQ(shared.requirements.size_bytes, 4096u) << "a memfd has whole pages, and some devices take nothing else";
  EXPECT_EQ(shared.allocator, cpu) << "the only one with descriptors";
  EXPECT_THAT(shared.explanation, HasSubstr("it has no descriptors"));
  EXPECT_EQ(shared.allocator->allocate(shared.requirements)->fd_kind(), platform::kSharedKind);
  consumer.requirements.fd = FdKind::kDmabuf;
  const AllocationPlan none = router.plan({}, std::span(&consumer, 1), tensor);
  EXPECT_FALSE(none.possible);
  EXPECT_THAT(none.explanation, HasSubstr("dma-buf"));
  consumer.requirements.fd = FdKind::kNone;
  consumer.requirements.kinds = {kB};
  EXPECT_FALSE(router.plan({}, std::span(&consumer, 1), tensor).possible) << "memory of kind b leads nowhere";
}

TEST_F(RouterTest, ACheapWayDoesNotHideOneThatCanGoOn) {
  /// Requires a descriptor, which is lost on the cheaper way to it.
  class ByDescriptor final : public Edge {
   public:
    ByDescriptor(MemoryKind from, MemoryKind to, double cost, bool needs, bool keeps)
        : from_(from), to_(to), cost_(cost), needs_(needs), keeps_(keeps) {}
    std::string_view name() const override { return keeps_ ? "keeps" : "loses"; }
    MemoryKind from() const override { return from_; }
    MemoryKind to() const override { return to_; }
    Step step(const Description& from, const Context& to, Access) const override {
      if (needs_ && from.fd == FdKind::kNone) return Refusal{"it takes memory by its descriptor"};
      Reached reached = shared_in_place(from, to, to_, cost_);
      if (!keeps_) reached.result.fd = FdKind::kNone;
      return reached;
    }
    Tensor map(const Tensor& source, const Context& to, const MapOptions&) const override {
      return source.through(&source.memory()->add_view(
          std::make_unique<View>(to, to_, Access::kReadWrite, source.memory()->host(), keeps_ ? 1 : 0)));
    }

   private:
    MemoryKind from_, to_;
    double cost_;
    bool needs_, keeps_;
  };
  const ByDescriptor cheap(kCpuMemory, kB, 1, false, false), dear(kCpuMemory, kA, 100, false, true),
      on(kA, kB, 100, false, true), last(kB, kC, 1, true, true);
  const std::array<const Edge*, 4> known{&cheap, &dear, &on, &last};
  router.add(known);
  const Tensor shared({element::u8, {1000}, {}}, SharedMemory::allocate(1000));
  const Ref<const Route> way = router.plan(describe(shared), c);
  ASSERT_TRUE(way->possible()) << way->explain();
  EXPECT_EQ(way->hops().size(), 3u) << way->explain();
  EXPECT_EQ(router.plan(describe(shared), b)->hops().size(), 1u) << "where it ends, the cheap way is best";
}

TEST(Requirements, JoinTakesTheStricterSide) {
  Requirements a, b;
  a.alignment = 64;
  a.kinds = {kA, kB};
  b.alignment = 4096;
  b.pitch_alignment = 256;
  a.max_pitch = 8192;
  b.max_pitch = 4096;
  b.kinds = {kB, kC};
  auto both = a.join(b);
  ASSERT_TRUE(std::holds_alternative<Requirements>(both));
  EXPECT_EQ(std::get<Requirements>(both).alignment, 4096u);
  EXPECT_EQ(std::get<Requirements>(both).max_pitch, 4096u);
  EXPECT_EQ(std::get<Requirements>(Requirements().join(a)).max_pitch, 8192u);
  ASSERT_EQ(std::get<Requirements>(both).kinds.size(), 1u);
  EXPECT_EQ(std::get<Requirements>(both).kinds[0], kB);
  b.kinds = {kC};
  ASSERT_TRUE(std::holds_alternative<Refusal>(a.join(b)));
  EXPECT_THAT(std::get<Refusal>(a.join(b)).reason, HasSubstr("no kind of memory serves both"));
}

TEST(Memory, ViewsDieWithItAndHoldNothingBack) {
  static int alive;
  alive = 0;
  struct CountedView final : View {
    explicit CountedView(Context context) : View(std::move(context), kA, Access::kRead, nullptr) { ++alive; }
    ~CountedView() override { --alive; }
  };
  Context context{make_ref<FakeContext>(kA)};
  {
    Tensor tensor(element::u8, {16});
    tensor.memory()->add_view(std::make_unique<CountedView>(context));
    tensor.memory()->add_view(std::make_unique<CountedView>(context));
    EXPECT_EQ(tensor.memory()->view_count(), 1u) << "an equal view is kept once";
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(context.impl()->ref_count(), 1u) << "a dead memory must not hold its context";
}

TEST(Memory, ViewsAreFoundByContextKindKeyAndAccess) {
  const Context context{make_ref<FakeContext>(kA)}, other{make_ref<FakeContext>(kA)};
  const Tensor tensor(element::u8, {16});
  const Memory& memory = *tensor.memory();
  const View& first = memory.add_view(std::make_unique<View>(context, kA, Access::kRead, nullptr, 1));
  const View& second = memory.add_view(std::make_unique<View>(context, kA, Access::kReadWrite, nullptr, 2));
  EXPECT_NE(&first, &second);
  EXPECT_EQ(memory.find_view(*context, kA, Access::kRead, 1), &first);
  EXPECT_EQ(memory.find_view(*context, kA, Access::kRead, 2), &second);
  EXPECT_EQ(memory.find_view(*context, kA, Access::kRead, 3), nullptr);
  EXPECT_EQ(memory.find_view(*context, kA, Access::kReadWrite, 1), nullptr) << "it is for reading";
  EXPECT_EQ(memory.find_view(*context, kB, Access::kRead, 1), nullptr);
  EXPECT_EQ(memory.find_view(*other, kA, Access::kRead, 1), nullptr);
}

TEST(Frame, ChecksItsPlanesAndLaysThemOut) {
  const FrameInfo info{kNv12, 1281, 721};
  Frame frame = Frame::allocate(info);
  ASSERT_EQ(frame.plane_count(), 2u);
  EXPECT_EQ(frame.plane(0).shape(), (Shape{721, 1281}));
  EXPECT_EQ(frame.plane(1).shape(), (Shape{361, 641, 2}));
  EXPECT_EQ(frame.plane(0).byte_strides()[0], 1344);
  EXPECT_EQ(frame.plane(0).memory(), frame.plane(1).memory());
  EXPECT_GE(frame.plane(1).offset(), 721u * 1344u);
  EXPECT_THROW(Frame(info, {frame.plane(0)}), Error);
  EXPECT_THROW(Frame(info, {frame.plane(1), frame.plane(0)}), Error);
  EXPECT_THROW(Frame::allocate({kNv12, 0, 10}), Error);
  EXPECT_THROW(Frame::allocate({PixelFormat{1234}, 10, 10}), Error);
  EXPECT_THROW(frame.plane(2), Error);
  Frame copy = frame;
  copy.metadata()["k"] = 1;
  EXPECT_EQ(Frame(std::vector<Frame>{frame, frame}).batch().size(), 2u);
}

TEST(PixelFormat, KeepsAll64BitsOfTheModifier) {
  const PixelFormat tiled{kNv12.fourcc, 0x0100000000000001ull};
  EXPECT_FALSE(tiled == kNv12);
  EXPECT_EQ(to_string(tiled), "nv12:0x0100000000000001");
  EXPECT_EQ(format_from_name("p010"), kP010);
  EXPECT_EQ(plane_extent({kYuy2, 5, 2}, 0).row_bytes, 12u);
}

}  // namespace router_test
