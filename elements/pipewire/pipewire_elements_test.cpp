// SPDX-License-Identifier: Apache-2.0
// Two pipelines that hand pictures to each other through a daemon of the test's own, as two programs do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/pipewire/pipewire.hpp>
#include <tenon/frameworks/pipewire/testing/daemon.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace pipewire_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr FrameInfo kInfo{kGray8, 32, 16};

class PipeWireElements : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = tenon_test::Daemon::why_none(); !why.empty()) GTEST_SKIP() << why;
    daemon_.emplace();
  }
  /// `count` frames from a pool with descriptors, each filled with its number.
  NodeSpec counted(int count) {
    return node_of(source_of("counted", {kInfo, 25}, [this, count](Deadline deadline) -> std::optional<Frame> {
      if (given_ == count) return std::nullopt;
      Frame frame = pool_.acquire(deadline);
      std::memset(frame.plane(0).data(), given_, 32 * 16);
      frame.set_timestamp_ns(given_++);
      return frame;
    }));
  }

  std::optional<tenon_test::Daemon> daemon_;
  int given_ = 0;
  cpu::FramePool pool_{kInfo, tenon::pipewire::Output::wanted(), 24};
};

TEST_F(PipeWireElements, HandEveryPictureOver) {
  Pipeline served(
      {{counted(50),
        {"pipewire_sink", "", {{"name", "served"}, {"wait_for_reader", "true"}, {"patience_ms", "60000"}}}}});
  served.start();
  tenon_test::Arrived arrived;
  Pipeline reading({{{"pipewire", "", {{"node", "pipewire:served"}}}, arrived.sink()}});
  EXPECT_THAT(tenon_test::run(reading), IsEmpty());
  EXPECT_TRUE(served.wait(Clock::now() + 60s));
  EXPECT_TRUE(served.failures().empty());
  ASSERT_EQ(arrived.frames[0].size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(arrived.frames[0][static_cast<std::size_t>(i)].timestamp_ns, i);
  EXPECT_EQ(arrived.frames[0][0].info.format, kGray8);
  EXPECT_EQ(arrived.frames[0][0].kind, "pipewire");
  for (const NodeStats& node : reading.stats()) EXPECT_EQ(node.moved.copied, 0u) << node.name;
}

TEST_F(PipeWireElements, SayWhatIsMissing) {
  PipelineSpec none{{{"pipewire", "", {{"node", "absent"}}}, {"null"}}};
  std::vector<std::string> failures;
  // On a busy machine the daemon may not have said by then which nodes there are.
  for (none.patience = 300ms; none.patience < 20s; none.patience *= 4) {
    failures = tenon_test::run(none);
    if (failures.size() != 1 || failures[0].find("no node") != std::string::npos) break;
  }
  EXPECT_THAT(failures, ElementsAre(HasSubstr("no node \"absent\"")));
  EXPECT_THROW(Pipeline({{{"pipewire", "", {{"node", "x"}, {"format", "nv99"}}}, {"null"}}}), Error);
}

TEST_F(PipeWireElements, StopWhileTheyWait) {
  Pipeline waiting({{counted(5), {"pipewire_sink", "", {{"name", "alone"}, {"wait_for_reader", "true"}}}}});
  waiting.start();
  Pipeline reading({{{"pipewire", "", {{"node", "later"}}}, {"null"}}});
  reading.start();
  const auto begin = Clock::now();
  waiting.stop(Clock::now());
  reading.stop(Clock::now());
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST_F(PipeWireElements, WaitAgainWhereTheStreamBeginsAgain) {
  const auto sink = std::get<std::unique_ptr<Sink>>(make_element(
      "pipewire_sink", {{"name", "again"}, {"wait_for_reader", "true"}, {"patience_ms", "60000"}}, {"out", nullptr}));
  const Frame frame = pool_.acquire(Clock::now() + 10s);
  sink->open(0, {kInfo, 25});
  sink->interrupt();
  error_of([&] { sink->write(0, frame); }, Code::kCancelled);
  sink->end(0);
  sink->resume();
  sink->open(0, {kInfo, 25});
  bool has_come = false;
  std::thread reader([&] {
    tenon::pipewire::Input one("again", {}, Clock::now() + 30s);
    has_come = one.read(Clock::now() + 30s).has_value();
  });
  EXPECT_NO_THROW(sink->write(0, frame));
  reader.join();
  EXPECT_TRUE(has_come);
}

}  // namespace pipewire_test
}  // namespace tenon::elements
