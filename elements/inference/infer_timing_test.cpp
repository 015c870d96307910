// SPDX-License-Identifier: Apache-2.0
// The timing of "infer": incomplete batches, frames that pile up, streams that restart, and stopping.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/callback.hpp>
#include <tenon/elements/inference/testing/inference.hpp>
#include <tenon/elements/testing/alive.hpp>

namespace tenon::elements {
namespace infer_timing_test {

using namespace std::chrono_literals;
using namespace inference_test;
using tenon_test::Alive;

class InferenceInTime : public Inference {};

/// A source of three pictures, which is silent afterwards.
class Pausing final : public Source {
 public:
  StreamInfo open(Deadline) override {
    video_.emplace(open_clip());
    return {video_->info(), video_->fps(), true};
  }
  std::optional<Frame> read(Deadline deadline) override {
    if (given_ == 3 && !is_released) {
      std::this_thread::sleep_until(deadline);
      throw Error(Code::kDeadlineExceeded, "pausing: silent");
    }
    return given_++ < 3 ? video_->read(deadline) : std::nullopt;
  }
  static inline std::atomic<bool> is_released{false};

 private:
  std::optional<ffmpeg::Video> video_;
  int given_ = 0;
};

std::size_t arrivals() {
  const std::lock_guard lock(mutex);
  return arrived[0].size();
}

TEST_F(InferenceInTime, ABatchThatIsNotFullReachesTheSinkInItsTime) {
  Pausing::is_released = false;
  const KnownElement source{{"pausing", "Three pictures", Role::kSource},
                            [](const Parameters&, const Environment&) { return std::make_unique<Pausing>(); }};
  Pipeline pipeline({{node_of(source), infer({{"batch", "8"}, {"max_delay_ms", "300"}}), {"keep"}}});
  pipeline.start();
  for (const auto end = Clock::now() + 60s; arrivals() < 3 && Clock::now() < end;) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(arrivals(), 3u) << "it waits for the end of the stream";
  Pausing::is_released = true;
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  EXPECT_TRUE(pipeline.failures().empty());
  const NodeStats stats = pipeline.stats()[1];
  EXPECT_GE(stats.p99, 300ms);
}

TEST_F(InferenceInTime, FramesWithoutObjectsDoNotPileUpBehindABatchThatIsNotFull) {
  Alive::most = 0;
  const TemporaryFolder folder;
  FrameInfo info;
  info.format = kNv12;
  info.width_px = info.height_px = 64;
  constexpr std::int64_t kFrames = 5000;
  const Frame picture = Frame::allocate(info);
  const KnownElement source =
      source_of("source", {info, 30, false}, [&, next = std::int64_t{0}](Deadline) mutable -> std::optional<Frame> {
        if (next == kFrames) return std::nullopt;
        Frame frame = picture;
        frame.set_timestamp_ns(next);
        metadata::of(frame).add(Alive());
        if (next++ % 1000 == 0) metadata::of(frame).add(metadata::Detection{{0, 0, 32, 32}, "a", 0, 0.9f, -1});
        return frame;
      });
  std::atomic<std::int64_t> seen{0};
  const NodeSpec sink = node_of(sink_of("sink", [&](std::uint32_t, const Frame&) { ++seen; }));
  Pipeline pipeline({{node_of(source),
                      infer({{"model", mean_model(folder)},
                             {"on", "objects"},
                             {"batch", "4"},
                             {"requests", "2"},
                             {"max_delay_ms", "60000"}}),
                      sink}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 100s));
  EXPECT_TRUE(pipeline.failures().empty());
  EXPECT_EQ(seen, kFrames);
  EXPECT_LE(Alive::most, 2 * 2 * 4 + 8 + 4 + 4) << "as many as wait inside, in the queue, and in hands";
}

TEST_F(InferenceInTime, AStreamThatStartsAgainLeavesTheOtherOfAModelWhole) {
  class Failing final : public Source {
   public:
    StreamInfo open(Deadline) override {
      video_.emplace(open_clip());
      next_ = 0;
      return {video_->info(), video_->fps(), false};
    }
    std::optional<Frame> read(Deadline deadline) override {
      if (next_ == 5 && !std::exchange(has_failed_, true)) throw Error(Code::kUnavailable, "failing: gone");
      if (next_ == 12) return std::nullopt;
      std::optional<Frame> frame = video_->read(deadline);
      frame->set_timestamp_ns(next_++);
      return frame;
    }

   private:
    std::optional<ffmpeg::Video> video_;
    std::int64_t next_ = 0;
    bool has_failed_ = false;
  };
  const KnownElement source{{"failing", "Fails once", Role::kSource},
                            [](const Parameters&, const Environment&) { return std::make_unique<Failing>(); }};
  for (const char* const batch : {"1", "4"}) {
    arrived.clear();
    PipelineSpec spec{{{"clip", "whole", {{"frames", "30"}}},
                       node_of(source),
                       infer({{"batch", batch}}, {"whole", "failing"}),
                       {"track"},
                       {"keep"}}};
    spec.on_error = OnError::kRestart;
    spec.restart_delay = 1ms;
    Pipeline pipeline(spec);
    pipeline.start();
    ASSERT_TRUE(pipeline.wait(Clock::now() + 100s));
    ASSERT_EQ(pipeline.failures().size(), 1u);
    EXPECT_TRUE(pipeline.failures()[0].was_restarted);
    EXPECT_EQ(pipeline.failures()[0].node, "failing");
    expect_same(arrived[0], by_hand(30), 0.5f);
    // The ids are the same as if the stream ran alone.
    std::vector<Frame> with = std::exchange(arrived[0], {}), again(arrived[1].end() - 12, arrived[1].end());
    EXPECT_LE(arrived[1].size(), 17u);
    const std::int64_t begun = again.front().timestamp_ns();
    EXPECT_GT(begun, 4) << "its times go on after the restart";
    for (Frame& frame : again) frame.set_timestamp_ns(frame.timestamp_ns() - begun);
    expect_same(again, by_hand(12), 0.5f);
    run({{{"clip", "whole", {{"frames", "30"}}}, infer({{"batch", batch}}), {"track"}, {"keep"}}});
    ASSERT_EQ(arrived[0].size(), with.size());
    for (std::size_t i = 0; i < with.size(); ++i) {
      const auto one = metadata::find(with[i])->all<metadata::Detection>();
      const auto other = metadata::find(arrived[0][i])->all<metadata::Detection>();
      ASSERT_EQ(one.size(), other.size());
      for (std::size_t k = 0; k < one.size(); ++k) EXPECT_EQ(one[k]->track_id, other[k]->track_id) << i;
    }
  }
}

TEST_F(InferenceInTime, StopsAtOnceWhileItsResultsAreInUse) {
  const TemporaryFolder folder;
  FrameInfo info;
  info.format = kNv12;
  info.width_px = info.height_px = 64;
  const KnownElement source = source_of("source", {info, 30, false}, [picture = Frame::allocate(info)](Deadline) {
    return std::optional(Frame(picture.info(), {picture.planes().begin(), picture.planes().end()}));
  });
  std::vector<Frame> held;
  std::atomic<std::size_t> count{0};
  const NodeSpec sink = node_of(sink_of("sink", [&](std::uint32_t, const Frame& frame) {
    held.push_back(frame);
    count = held.size();
  }));
  Pipeline pipeline({{node_of(source), infer({{"model", mean_model(folder)}, {"decode", "none"}}), sink}});
  pipeline.start();
  std::size_t before = 0;
  const auto end = Clock::now() + 60s;
  for (int quiet = 0; quiet < 4 && Clock::now() < end; quiet = count == before && before > 100 ? quiet + 1 : 0) {
    before = count;
    std::this_thread::sleep_for(100ms);
  }
  const auto begin = Clock::now();
  pipeline.stop(begin);
  EXPECT_LT(Clock::now() - begin, 20s);
  EXPECT_GT(held.size(), 100u) << "all results that it has";
  EXPECT_TRUE(pipeline.failures().empty());
}

}  // namespace infer_timing_test
}  // namespace tenon::elements
