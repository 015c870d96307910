// SPDX-License-Identifier: Apache-2.0
// Routes over fake contexts: cost, policy, refusals, plans for several consumers, access.
#include <tenon/core/host.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/view_count.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

namespace {

using namespace tenon;
using ::testing::HasSubstr;

/// A context whose memory is host memory under another kind's name.
class FakeContext final : public ContextImpl {
 public:
  FakeContext(MemoryKind kind, Requirements wanted = {}) : kind_(kind), wanted_(wanted) {}
  std::string_view name() const override { return kind_.name(); }
  MemoryKind kind() const override { return kind_; }
  Requirements requirements() const override { return wanted_; }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone) return Refusal{"it has no descriptors"};
    return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, true};
  }
  Ref<Memory> allocate(const Requirements& wanted) override;

 private:
  MemoryKind kind_;
  Requirements wanted_;
};

class FakeMemory final : public Memory {
 public:
  FakeMemory(Context context, Ref<HostMemory> block)
      : Memory(context, context->kind(), {block->size_bytes(), block->host(), false, FdKind::kNone, 0, {}}),
        block_(block) {}

 private:
  Ref<HostMemory> block_;
};

Ref<Memory> FakeContext::allocate(const Requirements& wanted) {
  return make_ref<FakeMemory>(Context(Ref<ContextImpl>(this)),
                              HostMemory::allocate(wanted.size_bytes, wanted.alignment));
}

/// An edge that shares, copies, lies (claims to share but copies) or refuses.
class FakeEdge final : public Edge {
 public:
  enum class Behaviour { kShares, kCopies, kLies, kLiesAtOffsets, kLiesLater, kRefuses, kSharesLarge };
  FakeEdge(MemoryKind from, MemoryKind to, Behaviour behaviour, double cost_ns = 10)
      : from_(from),
        to_(to),
        behaviour_(behaviour),
        cost_ns_(cost_ns),
        name_(std::string(from.name()) + "->" + std::string(to.name())) {}
  std::string_view name() const override { return name_; }
  MemoryKind from() const override { return from_; }
  MemoryKind to() const override { return to_; }
  Step step(const Description& from, const Context& to, Access) const override {
    if (behaviour_ == Behaviour::kRefuses) return Refusal{"the driver lacks cl_khr_example"};
    if (behaviour_ == Behaviour::kSharesLarge && from.memory_bytes < 2000) return Refusal{"the memory is small"};
    Reached reached{from, behaviour_ == Behaviour::kCopies, cost_ns_, behaviour_ == Behaviour::kCopies ? 0.1 : 0};
    reached.result.context = to;
    reached.result.kind = to_;
    return reached;
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    ++maps;
    const bool lies = behaviour_ == Behaviour::kLies ||
                      (behaviour_ == Behaviour::kLiesAtOffsets && source.offset() != 0) ||
                      (behaviour_ == Behaviour::kLiesLater &&
                       memories_.insert(source.memory()->identity().low).second && memories_.size() > 1);
    if (behaviour_ == Behaviour::kCopies || lies) {
      Requirements wanted;
      wanted.size_bytes = source.size_bytes();
      Tensor copy(TensorInfo{source.element_type(), source.shape(), {}}, to->allocate(wanted));
      source.copy_to(copy);
      return copy;
    }
    const View* view = source.memory()->find_view(*to, to_, options.access);
    if (!view) {
      auto made = std::make_unique<View>(to, to_, Access::kReadWrite, source.memory()->host());
      if (behaviour_ != Behaviour::kLiesAtOffsets) made->set_standing(id());  // Else it is asked for each region.
      view = &source.memory()->add_view(std::move(made));
    }
    return source.through(view);
  }
  mutable std::atomic<int> maps{0};

 private:
  mutable std::set<std::uint64_t> memories_;
  MemoryKind from_, to_;
  Behaviour behaviour_;
  double cost_ns_;
  std::string name_;
};

constexpr MemoryKind kA{"a"}, kB{"b"}, kC{"c"};
using Behaviour = FakeEdge::Behaviour;

struct RouterTest : ::testing::Test {
  Context cpu = host_context();
  Context a{make_ref<FakeContext>(kA)}, b{make_ref<FakeContext>(kB)}, c{make_ref<FakeContext>(kC)};
  std::deque<FakeEdge> edges;
  Router router;
  Tensor source{element::u8, {1000}};

  FakeEdge& edge(MemoryKind from, MemoryKind to, Behaviour behaviour, double cost = 10) {
    edges.emplace_back(from, to, behaviour, cost);
    const Edge* pointer = &edges.back();
    router.add(std::span(&pointer, 1));
    return edges.back();
  }
  void SetUp() override {
    for (const Context& context : {cpu, a, b, c}) router.add(context);
  }
};

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
  // Kinds that no edge connects are another matter.
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
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    timeline->advance(1);
  });
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
  const std::string path = ::testing::TempDir() + "/tenon_router_trace.json";
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

/// Takes frames whose planes lie in one memory, as one dma-buf with a modifier; single planes it would take blindly.
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
  // Another edge for which planes are just tensors takes them.
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
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      timeline->advance(written.value());
    });
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
  /// Keeps a view of its own for each region, as images over a buffer are, and adds none to the memory.
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
  // A view of another context, added meanwhile, is no view of this map.
  std::thread other(
      [&] { source.memory()->add_view(std::make_unique<View>(b, kB, Access::kReadWrite, source.memory()->host())); });
  other.join();
  router.map(first, a, options);
  EXPECT_EQ(ledger.total().view_hits, 1u);
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

TEST_F(RouterTest, AnAllocationThatIsPlannedCanBeMade) {
  edge(kCpuMemory, kA, Behaviour::kShares);
  edge(kA, kCpuMemory, Behaviour::kShares);
  Party consumer{a, {}, Access::kRead};
  const TensorInfo tensor{ElementType::kU8, {1000}, {}};
  consumer.requirements.fd = FdKind::kMemfd;
  const AllocationPlan shared = router.plan({}, std::span(&consumer, 1), tensor);
  ASSERT_TRUE(shared.possible) << shared.explanation;
  EXPECT_EQ(shared.allocator, cpu) << "the only one with descriptors";
  EXPECT_THAT(shared.explanation, HasSubstr("it has no descriptors"));
  EXPECT_EQ(shared.allocator->allocate(shared.requirements)->fd_kind(), FdKind::kMemfd);
  consumer.requirements.fd = FdKind::kDmabuf;
  const AllocationPlan none = router.plan({}, std::span(&consumer, 1), tensor);
  EXPECT_FALSE(none.possible);
  EXPECT_THAT(none.explanation, HasSubstr("dma-buf"));
  consumer.requirements.fd = FdKind::kNone;
  consumer.requirements.kinds = {kB};
  EXPECT_FALSE(router.plan({}, std::span(&consumer, 1), tensor).possible) << "memory of kind b leads nowhere";
}

TEST_F(RouterTest, ACheapWayDoesNotHideOneThatCanGoOn) {
  /// Leads on only with a descriptor, which a cheap way to it loses.
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

TEST_F(RouterTest, ProofTellsSharingFromLying) {
  edge(kCpuMemory, kA, Behaviour::kShares);
  edge(kCpuMemory, kB, Behaviour::kLies);
  edge(kCpuMemory, kC, Behaviour::kCopies);
  EXPECT_EQ(prove(router, cpu, a).proof, Proof::kProved);
  const ProofResult lie = prove(router, cpu, b);
  EXPECT_EQ(lie.proof, Proof::kCopies);
  EXPECT_THAT(lie.reason, HasSubstr("did not reach"));
  EXPECT_EQ(prove(router, cpu, c).proof, Proof::kCopies);
  EXPECT_EQ(prove(router, a, c).proof, Proof::kRefused);
}

TEST_F(RouterTest, ProofTriesOddPlacesAndMemoryThatComesAfter) {
  edge(kCpuMemory, kA, Behaviour::kLiesAtOffsets);
  edge(kCpuMemory, kB, Behaviour::kLiesLater);
  for (const Context& target : {a, b}) {
    const ProofResult lie = prove(router, cpu, target);
    EXPECT_EQ(lie.proof, Proof::kCopies) << target->name();
    EXPECT_THAT(lie.reason, HasSubstr("did not reach"));
  }
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

}  // namespace
