// SPDX-License-Identifier: Apache-2.0
// Eventfds as points, and points as eventfds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <chrono>
#include <thread>

#include <tenon/core/deferred.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/cpu/eventfd.hpp>
#include <tenon/tests/support/asleep.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::cpu {
namespace eventfd_test {

using std::chrono::milliseconds;

bool is_readable(const UniqueFd& fd, int timeout_ms) {
  struct pollfd entry = {fd.get(), POLLIN, 0};
  return ::poll(&entry, 1, timeout_ms) == 1;
}

TEST(EventFd, IsAPointThatItsWriterReaches) {
  const UniqueFd fd(::eventfd(0, EFD_CLOEXEC));
  const TimelinePoint point = point_of_eventfd(fd.duplicate());
  EXPECT_EQ(point.state(), PointState::kPending);
  EXPECT_THAT(error_of([&] { point.wait(Clock::now() + milliseconds(5)); }, Code::kDeadlineExceeded),
              ::testing::HasSubstr("eventfd"));
  Hazards hazards;
  hazards.wrote(point);
  std::thread writer = tenon_test::once_this_thread_sleeps([&] { ::eventfd_write(fd.get(), 1); });
  Ledger ledger;
  hazards.wait_for(Access::kRead, default_deadline(), &ledger);
  writer.join();
  EXPECT_EQ(ledger.total().waits, 1u);
  eventfd_t count = 0;
  ::eventfd_read(fd.get(), &count);
  EXPECT_EQ(point.state(), PointState::kReached) << "its owner uses it anew";
}

TEST(EventFd, OtherDescriptorsAreRefusedAndStayTheCallers) {
  error_of([] { point_of_eventfd(UniqueFd()); }, Code::kInvalidArgument);
  UniqueFd pipe_end = [] {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    ::close(ends[1]);
    return UniqueFd(ends[0]);
  }();
  error_of([&] { point_of_eventfd(std::move(pipe_end)); }, Code::kInvalidArgument);
  EXPECT_TRUE(pipe_end);
}

TEST(EventFd, OfAPointBecomesReadableWhenItIsSettled) {
  const auto timeline = make_ref<HostTimeline>("camera");
  const TimelinePoint reached = timeline->next(), failed = timeline->next();
  const UniqueFd one = eventfd_of(reached), other = eventfd_of(failed);
  EXPECT_FALSE(is_readable(one, 5));
  timeline->advance(reached.value());
  EXPECT_TRUE(is_readable(one, 30000));
  EXPECT_FALSE(is_readable(other, 5));
  timeline->fail(failed.value(), std::make_exception_ptr(Error(Code::kAborted, "the camera was unplugged")));
  EXPECT_TRUE(is_readable(other, 30000));
  EXPECT_THAT(error_of([&] { failed.wait(); }, Code::kAborted), ::testing::HasSubstr("unplugged"));
  EXPECT_TRUE(is_readable(eventfd_of(TimelinePoint::ready()), 0));
  EXPECT_TRUE(drain_deferred(default_deadline()));
}

TEST(EventFd, OfAPointMayBeClosedBeforeThePointIsReached) {
  const auto timeline = make_ref<HostTimeline>();
  const TimelinePoint point = timeline->next();
  eventfd_of(point).reset();
  timeline->advance(point.value());
  EXPECT_TRUE(drain_deferred(default_deadline()));
}

}  // namespace eventfd_test
}  // namespace tenon::cpu
