// SPDX-License-Identifier: Apache-2.0
// Timelines, ledger and trace.
#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/core/trace_name.hpp>
#include <tenon/tests/support/asleep.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

namespace timeline_test {

using namespace tenon;
using namespace std::chrono_literals;

TEST(TimelinePoint, ReadyIsAValueThatNeverWaits) {
  EXPECT_FALSE(TimelinePoint::ready().needs_wait());
  TimelinePoint::ready().wait(Clock::now() - 1s);
  EXPECT_EQ(TimelinePoint::ready(), TimelinePoint());
}

TEST(HostTimeline, WaitEndsAtItsDeadline) {
  auto timeline = make_ref<HostTimeline>();
  const TimelinePoint point = timeline->next();
  EXPECT_TRUE(point.needs_wait());
  try {
    point.wait(Clock::now() + 5ms);
    FAIL() << "the wait came back";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  }
}

TEST(HostTimeline, AdvanceWakesWaitersAndBooksTheWait) {
  auto timeline = make_ref<HostTimeline>();
  const TimelinePoint point = timeline->next();
  Ledger ledger;
  std::thread producer = tenon_test::once_this_thread_sleeps([&] { timeline->advance(point.value()); });
  point.wait(default_deadline(), &ledger);
  producer.join();
  EXPECT_EQ(ledger.total().waits, 1u);
  EXPECT_GT(ledger.total().wait_ns, 0u);
  point.wait(default_deadline(), &ledger);
  EXPECT_EQ(ledger.total().waits, 1u) << "a point already reached is no wait";
}

TEST(HostTimeline, FailureTravelsInThePoint) {
  auto timeline = make_ref<HostTimeline>();
  const TimelinePoint good = timeline->next(), bad = timeline->next();
  timeline->advance(good.value());
  timeline->fail(bad.value(), std::make_exception_ptr(Error(Code::kDataLoss, "the kernel failed")));
  EXPECT_NO_THROW(good.wait());
  EXPECT_EQ(bad.state(), PointState::kFailed);
  EXPECT_THROW(bad.wait(), Error);
}

TEST(Ledger, SumsOverThreadsAndIntoParents) {
  Ledger process, scope(&process), other(&process);
  const EdgeId edge = register_edge("test-edge");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) scope.book_map(edge, i % 2);
    });
  }
  for (auto& thread : threads) thread.join();
  other.book_copied(edge, 7);
  other.book_converted(edge, 11);
  other.book_transferred(edge, 13);
  ASSERT_EQ(scope.snapshot().size(), 1u);
  EXPECT_EQ(scope.snapshot()[0].name, "test-edge");
  EXPECT_EQ(scope.total().maps, 8000u);
  EXPECT_EQ(scope.total().view_hits, 4000u);
  EXPECT_EQ(scope.total().copied, 0u);
  EXPECT_EQ(process.total().maps, 8000u);
  EXPECT_EQ(process.total().copied, 7u);
  EXPECT_EQ(process.total().converted, 11u);
  EXPECT_EQ(process.total().transferred, 13u);
  EXPECT_NE(process.report().find("test-edge"), std::string::npos);
  scope.reset();
  EXPECT_TRUE(scope.snapshot().empty());
}

TEST(Ledger, NamesAnEdgeOnce) {
  EXPECT_EQ(register_edge("once"), register_edge("once"));
  EXPECT_EQ(edge_name(register_edge("once")), "once");
}

TEST(Trace, KeepsTheLatestSpansOnly) {
  Trace::start(2);
  for (int i = 0; i < 5; ++i) TraceSpan span(i < 3 ? "old" : "new", "test");
  Trace::stop();
  { TraceSpan ignored("closed", "test"); }
  const std::string path = ::testing::TempDir() + "/tenon_trace_" + std::to_string(platform::process_id());
  Trace::write(path);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_EQ(text.str().find("old"), std::string::npos);
  EXPECT_NE(text.str().find("new"), std::string::npos);
  EXPECT_EQ(text.str().find("closed"), std::string::npos);
  EXPECT_THROW(Trace::write("/no/such/folder/trace.json"), Error);
}

TEST(Trace, NamesOutliveTheirTextAndAreEscaped) {
  const char* name = trace_name(std::string("a \"node\" of C:\\path"));
  EXPECT_EQ(name, trace_name("a \"node\" of C:\\path")) << "once per text";
  Trace::start(4);
  { TraceSpan span(name, "test"); }
  Trace::stop();
  const std::string path = ::testing::TempDir() + "/tenon_trace_names_" + std::to_string(platform::process_id());
  Trace::write(path);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_NE(text.str().find("\"a \\\"node\\\" of C:\\\\path\""), std::string::npos) << text.str();
}

}  // namespace timeline_test
