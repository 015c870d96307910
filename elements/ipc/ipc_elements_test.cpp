// SPDX-License-Identifier: Apache-2.0
// Two pipelines that hand frames to each other over a socket, as two processes do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/ipc/ipc.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::elements {
namespace ipc_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr FrameInfo kInfo{kGray8, 32, 16};

class IpcElements : public ::testing::Test {
 protected:
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

  const TemporaryFolder temporary_;
  const std::string socket_ = temporary_.path() / "frames";
  int given_ = 0;
  Requirements wanted_ = tenon::ipc::Publisher::wanted();
  cpu::FramePool pool_{kInfo, wanted_, 24};
};

TEST_F(IpcElements, HandEveryFrameOverWithoutACopy) {
  Pipeline served(
      {{counted(50),
        {"ipc_sink",
         "",
         {{"socket", socket_}, {"subscribers", "1"}, {"zero_copy", "require"}, {"patience_ms", "60000"}}}}});
  served.start();
  tenon_test::Arrived arrived;
  Pipeline reading({{{"ipc", "", {{"socket", "ipc:" + socket_}}}, arrived.sink()}});
  EXPECT_THAT(tenon_test::run(reading), IsEmpty());
  EXPECT_TRUE(served.wait(Clock::now() + 60s));
  EXPECT_TRUE(served.failures().empty());
  ASSERT_EQ(arrived.frames[0].size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(arrived.frames[0][static_cast<std::size_t>(i)].timestamp_ns, i);
  EXPECT_EQ(arrived.frames[0][0].info, kInfo);
  EXPECT_EQ(arrived.frames[0][0].kind, "ipc");
  for (const Pipeline* pipeline : {&served, &reading})
    for (const NodeStats& node : pipeline->stats()) EXPECT_EQ(node.moved.copied, 0u) << node.name;
  EXPECT_FALSE(std::filesystem::exists(socket_)) << "the socket stays";
}

TEST_F(IpcElements, SayWhatIsMissing) {
  PipelineSpec none{{{"ipc", "", {{"socket", socket_}}}, {"null"}}};
  none.patience = 100ms;
  EXPECT_THAT(tenon_test::run(none), ElementsAre(HasSubstr(socket_)));
  std::ofstream(socket_) << "a file";
  EXPECT_THAT(tenon_test::run(PipelineSpec{{counted(1), {"ipc_sink", "", {{"socket", socket_}}}}}),
              ElementsAre(HasSubstr("no socket")));
  EXPECT_TRUE(std::filesystem::is_regular_file(socket_));
  EXPECT_THROW(
      Pipeline({{counted(1), {"ipc_sink", "", {{"socket", socket_}, {"subscribers", "3"}, {"max_subscribers", "2"}}}}}),
      Error);
}

TEST_F(IpcElements, StopSoonWhateverTheyWaitFor) {
  Pipeline served({{counted(50), {"ipc_sink", "", {{"socket", socket_}, {"subscribers", "2"}}}}});
  served.start();
  PipelineSpec spec{{{"ipc", "", {{"socket", socket_}}}, {"null"}}};
  spec.patience = 60s;
  Pipeline reading(spec);
  reading.start();
  std::this_thread::sleep_for(100ms);
  const auto begin = Clock::now();
  reading.stop(Clock::now());
  served.stop(Clock::now());
  EXPECT_LT(Clock::now() - begin, 20s);
}

TEST_F(IpcElements, StopSoonWhileAProcessHoldsAllThatItMay) {
  Pipeline served({{counted(50),
                    {"ipc_sink",
                     "",
                     {{"socket", socket_},
                      {"subscribers", "1"},
                      {"held", "1"},
                      {"when_slow", "wait"},
                      {"patience_ms", "60000"}}}}});
  served.start();
  tenon::ipc::Subscriber one(socket_, Clock::now() + 30s);
  const auto held = one.read(Clock::now() + 30s);
  ASSERT_TRUE(held);
  std::this_thread::sleep_for(100ms);
  const auto begin = Clock::now();
  served.stop(Clock::now());
  EXPECT_LT(Clock::now() - begin, 20s);
}

TEST_F(IpcElements, WaitAgainWhereTheStreamBeginsAgain) {
  const auto sink = std::get<std::unique_ptr<Sink>>(make_element(
      "ipc_sink", {{"socket", socket_}, {"subscribers", "1"}, {"patience_ms", "60000"}}, {"out", nullptr}));
  const Frame frame = pool_.acquire(Clock::now() + 30s);
  sink->open(0, {kInfo, 25});
  sink->interrupt();
  error_of([&] { sink->write(0, frame); }, Code::kCancelled);
  sink->end(0);
  sink->resume();
  sink->open(0, {kInfo, 25});
  bool has_come = false;
  std::thread reader([&] {
    tenon::ipc::Subscriber one(socket_, Clock::now() + 30s);
    has_come = one.read(Clock::now() + 30s).has_value();
  });
  EXPECT_NO_THROW(sink->write(0, frame));
  reader.join();
  EXPECT_TRUE(has_come);
}

TEST_F(IpcElements, TellReadersOfTheEndWhereTheStreamBeginsAgain) {
  const auto sink = std::get<std::unique_ptr<Sink>>(make_element(
      "ipc_sink", {{"socket", socket_}, {"subscribers", "1"}, {"patience_ms", "60000"}}, {"out", nullptr}));
  const Frame frame = pool_.acquire(Clock::now() + 30s);
  sink->open(0, {kInfo, 25});
  tenon::ipc::Subscriber reader(socket_, Clock::now() + 30s);
  reader.begin();
  sink->write(0, frame);
  EXPECT_TRUE(reader.read(Clock::now() + 30s));
  sink->interrupt();
  sink->end(0);
  sink->resume();
  EXPECT_NO_THROW(EXPECT_FALSE(reader.read(Clock::now() + 30s))) << "no process has died";
}

}  // namespace ipc_test
}  // namespace tenon::elements
