// SPDX-License-Identifier: Apache-2.0
// The conformance suite, second half: the edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include <tenon/core/deferred.hpp>
#include <tenon/core/router.hpp>

#include <tenon/tests/conformance/edge_cases.hpp>
#include <tenon/tests/conformance/suite.hpp>
#include <tenon/tests/support/in_threads.hpp>

namespace tenon::conformance {
namespace edge_test {

/// A mapped tensor or plane is what step() or step_frame() said that it would be.
void expect_as_announced(const Description& actual, const Description& announced, const std::string& what) {
  EXPECT_EQ(actual.context, announced.context) << what;
  EXPECT_EQ(actual.kind, announced.kind) << what;
  EXPECT_EQ(actual.info.strides, announced.info.strides) << what << ": other strides than announced";
  EXPECT_EQ(actual.offset, announced.offset) << what;
  EXPECT_EQ(actual.host_addressable, announced.host_addressable) << what;
  EXPECT_EQ(actual.info, announced.info) << what;
  EXPECT_EQ(actual.memory_bytes, announced.memory_bytes) << what << ": another size than announced";
  EXPECT_EQ(actual.fd.name(), announced.fd.name()) << what << ": another descriptor than announced";
  EXPECT_EQ(actual.modifier, announced.modifier) << what;
  EXPECT_EQ(actual.read_only, announced.read_only) << what << ": other rights than announced";
  EXPECT_GE(actual.alignment, announced.alignment) << what << ": less aligned than announced";
}

class EdgeTest : public EdgeFixture {};
class RefusedEdgeTest : public EdgeFixture {};

TEST_P(EdgeTest, StepAndMapAgree) {
  for (const TensorInfo& info : sample_infos()) {
    for (Access access : {Access::kRead, Access::kReadWrite}) {
      const Tensor source = make(info);
      if (!source) continue;
      const std::string what = std::string(name(info.type)) + " " + to_string(info.shape);
      options.access = access;
      const Step step = judge(source, access);
      if (const auto* refusal = std::get_if<Refusal>(&step)) {
        EXPECT_GT(refusal->reason.size(), 10u) << what << ": a refusal must say which capability is missing";
        try {
          edge.map(source, target, options);
          ADD_FAILURE() << what << ": step refuses (" << refusal->reason << "), map does not";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
          EXPECT_NE(std::string(error.what()).find(refusal->reason), std::string::npos)
              << "map gives another reason: " << error.what();
        }
        continue;
      }
      const Reached& reached = std::get<Reached>(step);
      if (writes(access) && (reached.copies || reached.result.read_only)) continue;  // The router never requests it.
      fill(source, 1);
      const Tensor mapped = edge.map(source, target, options);
      ASSERT_TRUE(mapped) << what << ": map returned an empty tensor";
      EXPECT_EQ(mapped.context(), target) << what;
      EXPECT_EQ(mapped.kind(), edge.to()) << what;
      EXPECT_EQ(mapped.shape(), source.shape()) << what;
      EXPECT_EQ(mapped.element_type(), source.element_type()) << what;
      EXPECT_EQ(mapped.memory() != source.memory() && !mapped.view(), reached.copies)
          << what << ": step and map disagree on copying";
      expect_as_announced(describe(mapped), reached.result, what);
      EXPECT_EQ(content(mapped), pattern(source.size_bytes(), 1)) << what;
    }
  }
}

TEST_P(EdgeTest, KeepsContentOfRegions) {
  const Tensor whole = make({element::u8, {16, 64}, {}});
  if (!whole) GTEST_SKIP() << "frames only";
  fill(whole, 2);
  const Tensor region = whole.slice({3, 16}, {9, 48});
  const std::vector<std::byte> expected = content(region);
  const Step step = judge(region);
  if (const auto* refusal = std::get_if<Refusal>(&step)) GTEST_SKIP() << "refused: " << refusal->reason;
  EXPECT_EQ(content(edge.map(region, target, options)), expected);
}

TEST_P(EdgeTest, AliasesWhereItSaysItShares) {
  const auto reached = ordinary(Access::kReadWrite);
  if (!reached) GTEST_SKIP() << "refused for writing, or frames only";
  const Tensor source = make();
  if (reached->copies) {
    fill(source, 3);
    const Tensor copy = edge.map(source, target, options);
    fill(source, 4);
    EXPECT_EQ(content(copy), pattern(source.size_bytes(), 3))
        << "it says that it copies, and shares: what it books is wrong";
    return;
  }
  options.access = reached->result.read_only ? Access::kRead : Access::kReadWrite;
  for (unsigned round = 0; round < 3;
       ++round) {  // Mapped again each time: the reused view must still show the same bytes.
    const Tensor mapped = edge.map(source, target, options);
    fill(source, 10 * round);
    EXPECT_EQ(content(mapped), pattern(source.size_bytes(), 10 * round)) << "a write to the source is not seen";
    if (reached->result.read_only) continue;
    fill(mapped, 10 * round + 1);
    EXPECT_EQ(content(source), pattern(source.size_bytes(), 10 * round + 1)) << "a write through the view is not seen";
  }
}

TEST_P(EdgeTest, NeverServesTheViewOfMemoryThatIsGone) {
  // Allocators return the same address, pools the same slot, drivers the same handle: contents and extents must be
  // the new ones.
  for (std::size_t rows : {64u, 32u, 96u, 64u}) {
    const Tensor source = make({element::u8, {rows, 64}, {}});
    if (!source) GTEST_SKIP() << "frames only";
    if (std::holds_alternative<Refusal>(judge(source))) GTEST_SKIP() << "refused";
    fill(source, static_cast<unsigned>(rows));
    const Tensor mapped = edge.map(source, target, options);
    EXPECT_EQ(mapped.shape(), source.shape());
    EXPECT_EQ(content(mapped), pattern(source.size_bytes(), static_cast<unsigned>(rows)));
  }
}

TEST_P(EdgeTest, ResultOutlivesSourceAndContexts) {
  const Census before = take_census();
  if (!ordinary()) GTEST_SKIP() << "refused, or frames only";
  for (int order = 0; order < 2; ++order) {
    Tensor source = make();
    fill(source, 5);
    Tensor mapped = edge.map(source, target, options);
    source = {};
    if (order == 1) source_context = {}, target = {};
    EXPECT_EQ(content(mapped), pattern(mapped.size_bytes(), 5));
  }
  source_context = from.make_context();
  EXPECT_EQ(settled_census(before), before);
}

TEST_P(EdgeTest, SeesWhatIsWrittenUntilAPoint) {
  if (!ordinary()) GTEST_SKIP() << "refused, or frames only";
  const auto known = router();
  const Tensor source = make();
  for (unsigned round = 0; round < 3; ++round) {  // From the second round on the memory may have a standing view.
    const auto producer = make_ref<HostTimeline>("a producer");
    const TimelinePoint written = producer->next();
    fill(source, 2 * round);
    source.memory()->hazards().wrote(written, written_bytes(source));
    const bool waits = ordinary()->copies || !target->can_wait_for(*producer);
    const auto route = known->plan(describe(source), target, options.access, options.policy);
    const bool says_so = waits || !edge.host_wait(describe(source)).empty();  // Perhaps for what drivers know alone.
    EXPECT_TRUE(source.context() == target || says_so == route->host_wait().has_value()) << route->explain();
    options.deadline = Clock::now();
    if (waits) {
      try {
        known->map(source, target, options);
        ADD_FAILURE() << "mapped while it was written, round " << round;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kDeadlineExceeded) << error.what();
        EXPECT_NE(std::string(error.what()).find("a producer"), std::string::npos)
            << "it must name the producer that is late: " << error.what();
      }
    }
    options.deadline = Deadline::max();
    std::jthread writing([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (source.is_host_addressable()) {
        const std::vector<std::byte> bytes = pattern(source.size_bytes(), 2 * round + 1);
        std::memcpy(source.data(), bytes.data(), bytes.size());
      }
      producer->advance(written.value());
    });
    const Tensor mapped = known->map(source, target, options);
    EXPECT_TRUE(!waits || written.state() == PointState::kReached) << "round " << round;
    const std::vector<std::byte> seen = content(mapped);
    writing.join();
    EXPECT_EQ(seen, pattern(source.size_bytes(), source.is_host_addressable() ? 2 * round + 1 : 2 * round))
        << "stale bytes, round " << round;
  }
}

TEST_P(EdgeTest, AnErrorOfTheWriterReachesEveryReader) {
  if (!ordinary()) GTEST_SKIP() << "refused, or frames only";
  const auto known = router();
  const Tensor source = make();
  fill(source, 1);
  for (int round = 0; round < 2; ++round) {
    const auto producer = make_ref<HostTimeline>("a producer");
    const TimelinePoint written = producer->next();
    source.memory()->hazards().wrote(written, written_bytes(source));
    producer->fail(written.value(), std::make_exception_ptr(Error(Code::kDataLoss, "the producer failed")));
    for (int reader = 0; reader < 2; ++reader) {
      try {
        known->map(source, target, options);
        ADD_FAILURE() << "it maps what was never written";
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "the producer failed");
      }
    }
    source.memory()->hazards().wrote(TimelinePoint::ready(), written_bytes(source));
    EXPECT_EQ(content(known->map(source, target, options)), pattern(source.size_bytes(), 1)) << "written again";
  }
}

TEST_P(EdgeTest, WhatIsStillReadIsKept) {
  const Census before = take_census();
  if (!ordinary()) GTEST_SKIP() << "refused, or frames only";
  const auto consumer = make_ref<HostTimeline>("a consumer");
  const auto known = router();
  bool pooled = false;
  for (int i = 0; i < 3; ++i) {
    Tensor source = make();
    pooled = pooled || source.memory()->ref_count() > 1;
    Tensor mapped = known->map(source, target, options);
    mapped.memory()->hazards().read_until(consumer->next());
    options.access = Access::kReadWrite;
    options.deadline = Clock::now();
    if (mapped.memory() == source.memory() && mapped.is_writable() && !target->can_wait_for(*consumer)) {
      EXPECT_THROW(known->map(source, target, options), Error) << "mapped for writing while it is read";
    }
    options.access = Access::kRead;
    options.deadline = Deadline::max();
    EXPECT_NO_THROW(known->map(source, target, options)) << "readers do not wait for readers";
  }
  EXPECT_TRUE(pooled || !drain_deferred(Clock::now() + std::chrono::milliseconds(2))) << "freed while it is read";
  consumer->advance(3);
  EXPECT_EQ(settled_census(before), before);
}

TEST_P(EdgeTest, ReleasesEverythingOnce) {
  const Census before = take_census();
  if (!ordinary()) GTEST_SKIP() << "refused, or frames only";
  for (int i = 0; i < 20; ++i) {
    Tensor source = make();
    Tensor mapped = edge.map(source, target, options);
    Tensor again = edge.map(source, target, options);
    if (i % 2) mapped = {};
    if (i % 3) source = {};
  }
  EXPECT_EQ(settled_census(before), before) << "objects or descriptors grow with use";
}

TEST_P(EdgeTest, NativeFailure) {
  const Census before = take_census();
  const auto reached = ordinary();
  if (!reached) GTEST_SKIP() << "refused, or frames only";
  FrameworkUnderTest* const adapters[] = {&from, &to};
  bool able = false;
  for (FrameworkUnderTest* adapter : adapters) {
    if (!adapter->fail_native_call(0)) continue;
    able = true;
    for (std::size_t n = 1; n < 64; ++n) {
      const Tensor source = make();
      fill(source, 6);
      const Census with_source = take_census();
      adapter->fail_native_call(n);
      bool threw = false;
      try {
        edge.map(source, target, options);
      } catch (const Error& error) {
        threw = true;
        EXPECT_FALSE(error.native_api().empty()) << "the error does not name the native call: " << error.what();
      }
      const bool failed = adapter->native_call_failed();
      adapter->fail_native_call(0);
      EXPECT_EQ(threw, failed) << adapter->name() << " call " << n;
      if (!failed) break;
      EXPECT_FALSE(leaves_more_than(with_source))
          << adapter->name() << " call " << n << " failed and something was left behind";
      EXPECT_EQ(content(edge.map(source, target, options)), pattern(source.size_bytes(), 6))
          << "after the failure, mapping must work";
    }
  }
  EXPECT_EQ(settled_census(before), before);
  if (!able) GTEST_SKIP() << excluded(from, "NativeFailure") << "; " << excluded(to, "NativeFailure");
}

TEST_P(EdgeTest, ManyThreadsGetOneView) {
  const auto reached = ordinary();
  if (!reached) GTEST_SKIP() << "refused, or frames only";
  const Tensor source = make();
  fill(source, 7);
  const std::size_t views = source.memory()->view_count();
  constexpr int kThreads = 8;
  std::vector<Tensor> mapped(kThreads);
  testing::in_threads(kThreads,
                      [&](int i) { mapped[static_cast<std::size_t>(i)] = edge.map(source, target, options); });
  for (const Tensor& tensor : mapped) {
    EXPECT_EQ(content(tensor), pattern(source.size_bytes(), 7));
    if (!reached->copies) {
      EXPECT_EQ(tensor.view(), mapped[0].view()) << "two views of one memory in one context";
    }
  }
  EXPECT_LE(source.memory()->view_count(), views + 1);
  if (reached->copies) {
    EXPECT_EQ(source.memory()->view_count(), views);
  }
}

TEST_P(EdgeTest, BooksMapsHitsAndCopiedBytes) {
  const auto reached = ordinary();
  if (!reached) GTEST_SKIP() << "refused, or frames only";
  const auto route = router();
  const Tensor source = make();
  if (source.context() == target) GTEST_SKIP() << "source and target are one context: nothing to take";
  for (int i = 0; i < 5; ++i) route->map(source, target, options);
  const LedgerEntry entry = booked();
  EXPECT_EQ(entry.maps, 5u);
  EXPECT_EQ(entry.copied, reached->copies ? 5 * source.size_bytes() : 0);
  // The first map makes the view, unless the source already came with it or the way leads back to the memory itself.
  EXPECT_EQ(entry.view_hits, reached->copies ? 0u : entry.view_hits >= 4 ? entry.view_hits : 4u);
  EXPECT_LE(entry.view_hits, 5u);
  EXPECT_EQ(entry.name, edge.name());
}

TEST_P(EdgeTest, RequireRefusesCopiesAndExplains) {
  const auto reached = ordinary();
  if (!reached) GTEST_SKIP() << "refused, or frames only";
  const auto route = router();
  const Tensor source = make();
  if (source.context() == target) GTEST_SKIP() << "source and target are one context: nothing to take";
  options.policy = ZeroCopy::kRequire;
  if (!reached->copies) {
    EXPECT_NO_THROW(route->map(source, target, options));
    EXPECT_EQ(booked().copied, 0u);
    return;
  }
  try {
    route->map(source, target, options);
    FAIL() << "copied under kRequire";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_NE(std::string(error.what()).find(edge.name()), std::string::npos) << error.what();
  }
  EXPECT_EQ(booked().maps, 0u);
}

TEST_P(EdgeTest, IsNamedByExplain) {
  const Tensor source = make();
  if (!source) GTEST_SKIP() << "frames only";
  if (source.context() == target) GTEST_SKIP() << "source and target are one context: nothing to take";
  const std::string text = router()->explain(describe(source), target);
  EXPECT_NE(text.find("takes   " + std::string(edge.name())), std::string::npos) << text;
}

TEST_P(EdgeTest, MapsFramesPlaneByPlane) {
  const Census before = take_census();
  bool any = false;
  for (PixelFormat format : sample_formats()) {
    const FrameInfo info{format, 64, 48};
    Frame source = from.make_frame(source_context, variant, info);
    if (!source) continue;
    const std::string what(format_info(format).name);
    // An edge may take one plane and refuse the next: a platform may have images of one channel but not of two.
    if (std::any_of(source.planes().begin(), source.planes().end(),
                    [&](const Tensor& plane) { return std::holds_alternative<Refusal>(judge(plane)); }))
      continue;
    const bool copies = std::get<Reached>(judge(source.plane(0))).copies;
    any = true;
    source.set_timestamp_ns(42);
    source.metadata()["origin"] = std::string("here");
    std::vector<std::vector<std::byte>> expected;
    for (std::size_t p = 0; p < source.plane_count(); ++p) {
      fill(source.plane(p), static_cast<unsigned>(20 + p));
      expected.push_back(content(source.plane(p)));
    }
    Frame mapped = edge.map_frame(source, target, options);
    ASSERT_EQ(mapped.plane_count(), source.plane_count()) << what;
    EXPECT_EQ(mapped.info(), source.info()) << what;
    EXPECT_EQ(mapped.timestamp_ns(), 42) << what;
    EXPECT_EQ(mapped.metadata().at("origin").as<std::string>(), "here") << what;
    const std::size_t planes = source.plane_count();
    const Tensor luma = source.plane(0);
    if (!copies) {
      fill(luma, 99);
      expected[0] = pattern(luma.size_bytes(), 99);
    }
    source = {};  // Whatever was mapped keeps its source alive.
    for (std::size_t p = 0; p < planes; ++p) EXPECT_EQ(content(mapped.plane(p)), expected[p]) << what << " plane " << p;
    if (planes > 1) {
      EXPECT_NE(content(mapped.plane(0)), content(mapped.plane(1))) << what << ": chroma reads as luma";
    }
  }
  EXPECT_EQ(settled_census(before), before);
  if (!any) GTEST_SKIP() << "refused, or no frames";
}

TEST_P(EdgeTest, ViewsStandWhereTheEdgeSaysSo) {
  if (!edge.makes_standing_views(target)) GTEST_SKIP() << "it is asked each time";
  if (!ordinary()) GTEST_SKIP() << "refused, or frames only";
  const Tensor source = make({element::u8, {8, 64}, {}});
  if (!source || std::holds_alternative<Refusal>(judge(source))) GTEST_SKIP() << "refused";
  const Tensor part = source.slice({4, 0}, {8, 32});
  if (std::holds_alternative<Refusal>(judge(part))) GTEST_SKIP() << "it takes no regions";
  const Tensor whole_mapped = edge.map(source, target, options), part_mapped = edge.map(part, target, options);
  for (const Tensor& mapped : {whole_mapped, part_mapped}) {
    EXPECT_EQ(mapped.memory(), source.memory());
    EXPECT_EQ(mapped.lease(), source.lease()) << "a lease is work that each map does";
    EXPECT_EQ(mapped.view(), whole_mapped.view()) << "one view serves the whole memory";
    EXPECT_TRUE(!mapped.view() || mapped.view()->standing_edge() >= 0 || source.memory()->fd_kind() == FdKind::kDmabuf);
  }
}

TEST_P(EdgeTest, FramesArriveAsPlanned) {
  bool any = false;
  for (PixelFormat format : sample_formats()) {
    const Frame source = from.make_frame(source_context, variant, {format, 64, 48});
    if (!source) continue;
    if (source.plane(0).context() == target) GTEST_SKIP() << "source and target are one context: nothing to take";
    any = true;
    const std::string what(format_info(format).name);
    const auto known = router();
    const FrameDescription described = describe(source);
    const auto route = known->plan(described, target, options.access, options.policy);
    if (!route->possible()) {
      try {
        known->map(source, target, options);
        ADD_FAILURE() << what << ": mapped, and planned as impossible: " << route->explain();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
      }
      continue;
    }
    const Frame mapped = known->map(source, target, options);
    const FrameDescription actual = describe(mapped);
    ASSERT_EQ(actual.plane_count, described.plane_count) << what;
    EXPECT_EQ(actual.info, described.info) << what;
    FrameDescription announced = described;
    for (const Hop& hop : route->hops()) {
      const FrameStep step = hop.edge->step_frame(announced, hop.to, options.access);
      ASSERT_TRUE(std::holds_alternative<ReachedFrame>(step)) << what << ": " << route->explain();
      announced = std::get<ReachedFrame>(step).result;
    }
    const bool whole = route->planes().empty();
    for (std::size_t p = 0; p < actual.plane_count; ++p) {
      const std::string plane = what + " plane " + std::to_string(p);
      if (!whole && !route->planes()[p]->hops().empty())
        announced.planes[p] = route->planes()[p]->hops().back().reached.result;
      expect_as_announced(actual.planes[p], announced.planes[p], plane);
      const bool copied = mapped.plane(p).memory() != source.plane(p).memory() && !mapped.plane(p).view();
      EXPECT_EQ(copied, whole ? route->copies() : route->planes()[p]->copies())
          << plane << ": plan and map disagree on copying";
      if (!whole) continue;
      EXPECT_EQ(actual.first_in_memory[p], announced.first_in_memory[p]) << plane << ": lies in another memory";
    }
    EXPECT_EQ(ledger.total().copied != 0, route->copies()) << what << ": booked otherwise than planned";
    ledger.reset();
  }
  if (!any) GTEST_SKIP() << "no frames";
}

TEST_P(EdgeTest, GivesWriteAccessOnlyWhereItReachesTheSource) {
  const auto reached = ordinary();
  if (!reached) GTEST_SKIP() << "frames only";
  const Tensor source = make();
  if (source.context() == target) GTEST_SKIP() << "source and target are one context: nothing to take";
  options.access = Access::kReadWrite;
  const Code expected = !source.is_writable() ? Code::kPermissionDenied
                        : reached->copies     ? Code::kFailedPrecondition
                                              : Code::kOk;
  Code got = Code::kOk;
  try {
    EXPECT_TRUE(router()->map(source, target, options).is_writable());
  } catch (const Error& error) {
    got = error.code();
  }
  EXPECT_EQ(got, expected);
}

TEST_P(RefusedEdgeTest, MapThrowsTheReasonThatStepGives) {
  const Census before = take_census();
  int tried = 0, refused = 0;
  for (const TensorInfo& info : sample_infos()) {
    for (Access access : {Access::kRead, Access::kReadWrite}) {
      const Tensor source = make(info);
      if (!source) continue;  // The variant has no tensors of this shape.
      ++tried;
      options.access = access;
      const Step step = judge(source, access);
      if (!std::holds_alternative<Refusal>(step)) continue;  // Memory of 64 KiB and more begins and ends on pages.
      ++refused;
      const std::string& reason = std::get<Refusal>(step).reason;
      EXPECT_GT(reason.size(), 10u) << "a refusal must say which capability is missing";
      try {
        edge.map(source, target, options);
        ADD_FAILURE() << "step refuses (" << reason << "), map does not";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
        EXPECT_NE(std::string(error.what()).find(reason), std::string::npos)
            << "map gives another reason: " << error.what();
      }
    }
  }
  EXPECT_TRUE(refused > 0 || tried == 0);
  EXPECT_EQ(settled_census(before), before);
}

TEST_P(RefusedEdgeTest, ReachesExplain) {
  const Tensor source = make();
  const std::string text = router()->explain(describe(source), target);
  EXPECT_NE(text.find(std::get<Refusal>(judge(source)).reason), std::string::npos) << text;
  EXPECT_NE(text.find(edge.name()), std::string::npos) << text;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EdgeTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RefusedEdgeTest);
INSTANTIATE_TEST_SUITE_P(Edges, EdgeTest, ::testing::ValuesIn(edge_cases().open), case_name);
INSTANTIATE_TEST_SUITE_P(Edges, RefusedEdgeTest, ::testing::ValuesIn(edge_cases().refused), case_name);

}  // namespace edge_test
}  // namespace tenon::conformance
