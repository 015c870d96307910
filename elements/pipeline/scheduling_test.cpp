// SPDX-License-Identifier: Apache-2.0
// The scheduler's promises about time, memory, restarts, joined streams and branches.
#include <tenon/elements/pipeline.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/callback.hpp>
#include <tenon/elements/internal/restarts.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/elements/testing/alive.hpp>
#include <tenon/tests/support/resident.hpp>

namespace tenon::elements {
namespace scheduling_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
using tenon_test::Alive;

Deadline soon() { return Clock::now() + 30s; }

template <typename Condition>
bool holds_soon(Condition condition) {
  for (const auto end = soon(); Clock::now() < end; std::this_thread::sleep_for(1ms))
    if (condition()) return true;
  return false;
}

Frame grey(std::int64_t time) {
  static const Frame one = [] {
    FrameInfo info;
    info.format = kGray8;
    info.width_px = info.height_px = 16;
    return Frame::allocate(info);
  }();
  Frame frame = one;
  frame.set_timestamp_ns(time);
  return frame;
}

StreamInfo grey_stream() { return {grey(0).info(), 30, true}; }

/// A source of named frames; `before(n)` runs in read(), before frame n.
NodeSpec counting(
    const std::string& name, std::int64_t frames, std::function<void(std::int64_t)> before = [](std::int64_t) {}) {
  return node_of(source_of(name, grey_stream(), [=, next = std::int64_t{0}](Deadline) mutable -> std::optional<Frame> {
    if (next == frames) return std::nullopt;
    before(next);
    return grey(next++);
  }));
}
NodeSpec paced(const std::string& name, std::int64_t frames, std::chrono::microseconds pace = 1ms) {
  return counting(name, frames, [=](std::int64_t) { std::this_thread::sleep_for(pace); });
}

/// A node whose element is a class of this test.
template <typename Made, typename... Arguments>
NodeSpec node(Description description, Arguments... arguments) {
  return node_of({std::move(description), [=](const Parameters&, const Environment&) -> AnyElement {
                    return std::make_unique<Made>(arguments...);
                  }});
}
NodeSpec fed_by(std::vector<std::string> from, NodeSpec node, std::optional<QueueOptions> queue = {}) {
  node.from = std::move(from);
  node.queue = queue;
  return node;
}
Description shared_transform(const std::string& name, bool joins = false) {
  Description made;
  made.name = name;
  made.role = Role::kTransform;
  made.is_shared = made.has_thread = true;
  made.joins = joins;
  return made;
}

/// The timestamps that came, by stream.
struct Seen {
  std::mutex mutex;
  std::map<std::uint32_t, std::vector<std::int64_t>> frames;
  std::size_t count(std::uint32_t stream) {
    const std::lock_guard lock(mutex);
    return frames[stream].size();
  }
  NodeSpec sink(const std::string& name = "seen") {
    return node_of(sink_of(name, [this](std::uint32_t stream, const Frame& frame) {
      const std::lock_guard lock(mutex);
      frames[stream].push_back(frame.timestamp_ns());
    }));
  }
};

std::vector<std::string> nodes_that_failed(const Pipeline& pipeline) {
  std::vector<std::string> names;
  for (const Failure& failure : pipeline.failures()) names.push_back(failure.node);
  return names;
}

TEST(Scheduling, WhoWaitsForRoomIsNotSilent) {
  std::vector<Failure> failures;
  for (int i = 0; i < 10; ++i) {  // On a busy machine a source may come to its read too late: then once more.
    const KnownElement strict = source_of("network", grey_stream(),
                                          [next = std::int64_t{0}](Deadline deadline) mutable -> std::optional<Frame> {
                                            if (Clock::now() >= deadline)
                                              throw Error(Code::kDeadlineExceeded, "network: silent");
                                            if (next == 10) return std::nullopt;
                                            return grey(next++);
                                          });
    std::atomic<int> written{0};
    NodeSpec slow = node_of(sink_of("slow", [&](std::uint32_t, const Frame&) {
      if (written++ == 0) std::this_thread::sleep_for(400ms);
    }));
    slow.queue = QueueOptions{1};
    PipelineSpec spec{{node_of(strict), slow}};
    spec.patience = 100ms;
    Pipeline pipeline(spec);
    pipeline.start();
    ASSERT_TRUE(pipeline.wait(soon()));
    failures = pipeline.failures();
    if (!failures.empty()) continue;
    EXPECT_EQ(written, 10);
    break;
  }
  for (const Failure& failure : failures) ADD_FAILURE() << failure.message;
}

/// Keeps frames until its time is over.
class Hoarder final : public Transform {
 public:
  StreamInfo open(std::uint32_t, const StreamInfo& in) override { return in; }
  void process(Item item, Output&) override {
    std::this_thread::sleep_for(1ms);
    if (held_.empty()) due_ = Clock::now() + 20ms;
    held_.push_back(std::move(item));
  }
  std::optional<Deadline> due() const override { return held_.empty() ? std::nullopt : std::optional<Deadline>(due_); }
  void proceed(Output& output) override {
    for (Item& item : held_) output.emit(std::move(item));
    held_.clear();
  }

 private:
  std::vector<Item> held_;
  Deadline due_{};
};

TEST(Scheduling, WorkWhoseTimeHasComeGoesBeforeFramesThatWait) {
  Seen seen;
  Pipeline pipeline({{counting("fast", -1), node<Hoarder>(shared_transform("hoarder")), seen.sink()}});
  pipeline.start();
  EXPECT_TRUE(holds_soon([&] { return seen.count(0) > 50 && pipeline.stats()[1].queued > 0; }))
      << "without frames that wait the test proves nothing";
  pipeline.stop(Clock::now());
  EXPECT_LT(pipeline.stats()[1].p50, 10s);
  EXPECT_GE(pipeline.stats()[1].p99, 10ms);
}

/// Emits each frame when the fifth frame after it has come.
class Lagging final : public Transform {
 public:
  explicit Lagging(bool keeps_time) : keeps_time_(keeps_time) {}
  StreamInfo open(std::uint32_t, const StreamInfo& in) override { return in; }
  void process(Item item, Output& output) override {
    held_.push_back(std::move(item));
    if (held_.size() <= 5) return;
    Item first = std::move(held_.front());
    held_.erase(held_.begin());
    if (!keeps_time_) first = {first.stream, first.frame};
    output.emit(std::move(first));
  }

 private:
  const bool keeps_time_;
  std::vector<Item> held_;
};

TEST(Scheduling, LatenciesAreThoseOfTheFramesThatLeave) {
  for (const bool keeps_time : {true, false}) {
    Seen seen;
    Pipeline pipeline(
        {{paced("source", 40, 5ms), node<Lagging>(shared_transform("lagging"), keeps_time), seen.sink()}});
    pipeline.start();
    ASSERT_TRUE(pipeline.wait(soon()));
    const auto stats = pipeline.stats();
    EXPECT_EQ(stats[2].frames_in, 35u);
    if (!keeps_time) continue;  // The time cannot be known better.
    EXPECT_GE(stats[1].p50, 25ms) << "of the transform";
    EXPECT_GE(stats[2].p50, 25ms) << "behind it";
  }
}

TEST(Scheduling, PausesBeforeRestartsGrowToAMinute) {
  PipelineSpec spec;
  spec.on_error = OnError::kRestart;
  spec.restarts = 1000;
  detail::Restarts restarts(spec);
  auto before = *restarts.next();
  EXPECT_EQ(before, 500ms);
  for (int i = 0; i < 100; ++i) {
    const auto pause = restarts.next();
    ASSERT_TRUE(pause);
    EXPECT_EQ(*pause, std::min<std::chrono::milliseconds>(before * 2, 60s));
    before = *pause;
  }
  spec.restart_delay = 5min;
  detail::Restarts long_ones(spec);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*long_ones.next(), 5min);
}

TEST(Scheduling, AMinuteOfFramesGivesRestartsBack) {
  PipelineSpec spec;
  spec.on_error = OnError::kRestart;
  spec.restarts = 2;
  detail::Restarts restarts(spec);
  const auto begin = Clock::now();
  const auto ran = [&](std::chrono::seconds time) {
    restarts.had_frame(begin);
    restarts.had_frame(begin + time);
    return restarts.next();
  };
  EXPECT_EQ(ran(59s), 500ms);
  EXPECT_EQ(ran(59s), 1s);
  EXPECT_EQ(ran(60s), 500ms);
  EXPECT_EQ(ran(1s), 1s);
  EXPECT_FALSE(ran(1s));
  EXPECT_EQ(ran(60s), 500ms);
}

TEST(Scheduling, AStreamThatRanWellIsStartedWithoutEnd) {
  Seen seen;
  PipelineSpec spec{{counting("camera", 400,
                              [failed = std::int64_t{0}](std::int64_t next) mutable {
                                std::this_thread::sleep_for(1ms);
                                if (next % 100 == 99 && std::exchange(failed, next) != next)
                                  throw Error(Code::kUnavailable, "camera: gone");
                              }),
                     seen.sink()}};
  spec.on_error = OnError::kRestart;
  spec.restarts = 1;
  spec.restart_delay = 1ms;
  spec.restart_reset = 40ms;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_EQ(seen.count(0), 400u);
  ASSERT_EQ(pipeline.failures().size(), 4u);
  for (const Failure& failure : pipeline.failures()) EXPECT_TRUE(failure.was_restarted);
}

/// Joins all streams into one. Throws for a stream where the test says, and counts the ends of streams.
class Joining final : public Transform {
 public:
  explicit Joining(std::map<std::uint32_t, std::atomic<int>>* ends, std::int64_t fails_at = -1)
      : ends_(ends), fails_at_(fails_at) {}
  StreamInfo open(std::uint32_t, const StreamInfo& in) override { return in; }
  void process(Item item, Output& output) override {
    if (item.stream == 1 && item.frame.timestamp_ns() == fails_at_) throw std::runtime_error("joining: told to fail");
    output.emit(std::move(item));
  }
  void end(std::uint32_t stream, Output&) override {
    if (ends_) ++ends_->at(stream);
  }

 private:
  std::map<std::uint32_t, std::atomic<int>>* const ends_;
  const std::int64_t fails_at_;
};

/// A sink that counts, and throws before some frames.
class Picky final : public Sink {
 public:
  struct Counts {
    std::atomic<int> opens{0}, frames{0}, ends{0}, finished{0};
  };
  Picky(Counts* counts, std::function<bool(int)> refuses) : counts_(*counts), refuses_(std::move(refuses)) {}
  void open(std::uint32_t, const StreamInfo&) override { ++counts_.opens; }
  void write(std::uint32_t, const Frame&) override {
    if (refuses_(counts_.frames)) {
      ++counts_.frames;
      throw std::runtime_error("picky: not this one");
    }
    ++counts_.frames;
  }
  void end(std::uint32_t) override { ++counts_.ends; }
  void finish() override { ++counts_.finished; }

 private:
  Counts& counts_;
  const std::function<bool(int)> refuses_;
};

NodeSpec picky(Picky::Counts& counts, std::function<bool(int)> refuses) {
  Description made;
  made.name = "picky";
  made.role = Role::kSink;
  made.has_thread = true;
  return node<Picky>(made, &counts, std::move(refuses));
}

PipelineSpec joined(Picky::Counts& counts, std::function<bool(int)> refuses) {
  return {{paced("a", -1), paced("b", -1),
           fed_by({"a", "b"}, node<Joining>(shared_transform("joining", true), nullptr, -1)),
           picky(counts, std::move(refuses))}};
}

TEST(JoinedStreams, ThatFailEndTheSourcesThatFeedNothingElse) {
  Picky::Counts counts;
  PipelineSpec spec = joined(counts, [](int frame) { return frame == 5; });
  spec.on_error = OnError::kEnd;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon())) << "live sources feed nothing without end";
  EXPECT_THAT(nodes_that_failed(pipeline), ElementsAre("picky"));
  EXPECT_EQ(pipeline.failures()[0].stream, 2u);
  EXPECT_EQ(counts.finished, 1);
}

TEST(JoinedStreams, ThatFailLeaveSourcesThatFeedOthers) {
  Picky::Counts counts;
  Seen seen;
  PipelineSpec spec = joined(counts, [](int frame) { return frame == 5; });
  spec.on_error = OnError::kEnd;
  spec.nodes.push_back(fed_by({"a"}, seen.sink()));
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(holds_soon([&] { return pipeline.failures().size() == 1; }));
  const std::size_t before = seen.count(0);
  EXPECT_TRUE(holds_soon([&] { return seen.count(0) > before + 500; })) << "more than all queues hold";
  EXPECT_FALSE(pipeline.wait(Clock::now()));
  EXPECT_TRUE(holds_soon([&] { return pipeline.stats()[1].frames_out < seen.count(0); }))
      << "it feeds nothing, and ended";
  pipeline.stop();
}

TEST(JoinedStreams, BeginAgainWhereTheyAreMade) {
  Picky::Counts counts;
  PipelineSpec spec = joined(counts, [](int frame) { return frame == 5; });
  spec.on_error = OnError::kRestart;
  spec.restart_delay = 1ms;
  Pipeline pipeline(spec);
  pipeline.start();
  EXPECT_TRUE(holds_soon([&] { return counts.frames > 50; })) << "it is lost for ever";
  pipeline.stop();
  EXPECT_EQ(counts.opens, 2);
  EXPECT_EQ(counts.ends, 2);
  EXPECT_EQ(counts.finished, 1);
  ASSERT_EQ(pipeline.failures().size(), 1u);
  EXPECT_TRUE(pipeline.failures()[0].was_restarted);
}

TEST(JoinedStreams, EndWhenTheirRestartsAreUsedUp) {
  Picky::Counts counts;
  PipelineSpec spec = joined(counts, [](int) { return true; });
  spec.on_error = OnError::kRestart;
  spec.restarts = 2;
  spec.restart_delay = 1ms;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_EQ(counts.opens, 3);
  ASSERT_EQ(pipeline.failures().size(), 3u);
  EXPECT_FALSE(pipeline.failures()[2].was_restarted);
}

TEST(Scheduling, AnElementThatFailedIsToldTheEndOfItsStream) {
  std::map<std::uint32_t, std::atomic<int>> ends;
  ends[0] = 0, ends[1] = 0;
  Seen seen;
  PipelineSpec spec{{paced("a", 50), paced("b", -1),
                     fed_by({"a", "b"}, node<Joining>(shared_transform("joining", true), &ends, 3)), seen.sink()}};
  spec.on_error = OnError::kEnd;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_EQ(ends[0], 1);
  EXPECT_EQ(ends[1], 1) << "it would wait for the stream for ever";
  EXPECT_EQ(seen.count(2), 53u);
}

class Refusing final : public Sink {
 public:
  Requirements wanted(const StreamInfo&) const override {
    throw Error(Code::kNotFound, "refusing: there is no such model");
  }
  void write(std::uint32_t, const Frame&) override {}
};

TEST(Failures, AreThoseOfTheNodeThatRefused) {
  Description made;
  made.name = "refusing";
  made.role = Role::kSink;
  std::map<std::uint32_t, std::atomic<int>>* const none = nullptr;
  for (const bool is_behind_a_transform : {false, true}) {
    PipelineSpec spec{{counting("camera", 3), {"identity"}}};
    if (is_behind_a_transform) spec.nodes.push_back(node<Joining>(shared_transform("between"), none, -1));
    spec.nodes.push_back(node<Refusing>(made));
    Pipeline pipeline(spec);
    pipeline.start();
    ASSERT_TRUE(pipeline.wait(soon()));
    EXPECT_THAT(nodes_that_failed(pipeline), ElementsAre("refusing"));
  }
}

/// Makes frames in memory that serves all readers.
class Planning final : public Source {
 public:
  StreamInfo open(Deadline) override { return grey_stream(); }
  void allocate(const Requirements& wanted, std::span<const Party> readers) override {
    static_cast<void>(plan_frames(host_context(), grey(0).info(), Wanted(wanted, readers)));
  }
  std::optional<Frame> read(Deadline) override { return std::nullopt; }
};

TEST(Failures, OfMemoryNameWhoCannotShareIt) {
  Description made;
  made.name = "camera";
  made.role = Role::kSource;
  Requirements nt;
  nt.fd = FdKind::kNtHandle;
  const auto ignore = [](std::uint32_t, const Frame&) {};
  Pipeline pipeline({{node<Planning>(made),
                      {"identity"},
                      node_of(sink_of("easy", ignore)),
                      fed_by({"identity"}, node_of(sink_of("windows", ignore, nt)))}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  ASSERT_EQ(pipeline.failures().size(), 1u);
  const std::string text = pipeline.failures()[0].message;
  EXPECT_THAT(text, HasSubstr("'windows' cannot use frames of 'camera': "));
  EXPECT_THAT(text, HasSubstr("NT handle"));
  EXPECT_THAT(text, Not(HasSubstr("'easy'")));
  // The rows of the pictures have 16 bytes.
  Requirements packed, aligned;
  packed.contiguous = true;
  aligned.pitch_alignment = 512;
  Pipeline pair({{node<Planning>(made), fed_by({"camera"}, node_of(sink_of("packed", ignore, packed))),
                  fed_by({"camera"}, node_of(sink_of("aligned", ignore, aligned)))}});
  pair.start();
  ASSERT_TRUE(pair.wait(soon()));
  ASSERT_EQ(pair.failures().size(), 1u);
  EXPECT_THAT(pair.failures()[0].message, HasSubstr("'aligned' and 'packed' cannot share frames of 'camera': "));
  EXPECT_THAT(pair.failures()[0].message, HasSubstr("rows aligned to 512"));
}

TEST(Scheduling, BranchesDoNotSeeEachOthersResults) {
  constexpr int kFrames = 3000;
  const KnownElement source = source_of("source", grey_stream(), [next = 0](Deadline) mutable -> std::optional<Frame> {
    if (next == kFrames) return std::nullopt;
    Frame frame = grey(next++);
    if (frame.timestamp_ns() % 2 == 0)
      metadata::of(frame).add(metadata::Json{"1"});
    else
      frame.metadata();  // This makes a map without a collection, which the copies share, too.
    return frame;
  });
  const auto adds = [](std::uint32_t, Frame& frame) { metadata::of(frame).add(metadata::Json{"2"}); };
  std::atomic<int> wrong{0}, seen{0};
  const auto counts = [&](std::size_t added) {
    return [&, added](std::uint32_t, const Frame& frame) {
      const auto known = metadata::find(frame);
      if ((known ? known->size() : 0) != added + (frame.timestamp_ns() % 2 == 0 ? 1 : 0)) ++wrong;
      ++seen;
    };
  };
  const QueueOptions queue{8};
  Pipeline pipeline(
      {{node_of(source), fed_by({"source"}, node_of(transform_of("one", adds)), queue),
        fed_by({"source"}, node_of(transform_of("two", adds)), queue),
        fed_by({"one"}, node_of(sink_of("of_one", counts(1)))), fed_by({"two"}, node_of(sink_of("of_two", counts(1)))),
        fed_by({"source"}, node_of(sink_of("bare", counts(0))), queue)}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_TRUE(pipeline.failures().empty());
  EXPECT_EQ(seen, 3 * kFrames);
  EXPECT_EQ(wrong, 0);
}

TEST(Scheduling, AFailureStopsTheOtherStreams) {
  Seen seen;
  Pipeline pipeline({{paced("a", -1), paced("b", -1),
                      counting("bad", -1,
                               [](std::int64_t next) {
                                 std::this_thread::sleep_for(1ms);
                                 if (next == 10) throw Error(Code::kUnavailable, "bad: gone");
                               }),
                      fed_by({"a", "b", "bad"}, seen.sink())}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon())) << "they go on without end";
  EXPECT_THAT(nodes_that_failed(pipeline), ElementsAre("bad"));
  EXPECT_EQ(seen.count(0) + seen.count(1) + seen.count(2), pipeline.stats()[3].frames_in);
  EXPECT_EQ(seen.count(2), 10u);
}

TEST(Scheduling, MemoryIsBoundedByTheQueues) {
  constexpr std::size_t kStreams = 64, kQueue = 8;
  Alive::most = 0;
  PipelineSpec spec;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kStreams; ++i) {
    names.push_back("source" + std::to_string(i));
    spec.nodes.push_back(
        node_of(source_of(names.back(), grey_stream(), [next = 0](Deadline) mutable -> std::optional<Frame> {
          if (next == 20) return std::nullopt;
          Frame frame = grey(next++);
          metadata::of(frame).add(Alive());
          return frame;
        })));
  }
  spec.nodes.push_back(fed_by(names, {"identity"}));
  spec.nodes.push_back(
      node_of(sink_of("slow", [](std::uint32_t, const Frame&) { std::this_thread::sleep_for(300us); })));
  spec.nodes.back().queue = QueueOptions{kQueue};
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_EQ(pipeline.stats().back().frames_in, kStreams * 20);
  // One frame that each source waits with, those in the queue, and the one in work.
  EXPECT_LE(Alive::most, static_cast<int>(kStreams + kQueue + 1));
  EXPECT_GE(Alive::most, static_cast<int>(kQueue)) << "otherwise the test proves nothing";
  EXPECT_EQ(Alive::count, 0);
}

TEST(Queues, TakeMemoryForWhatWaits) {
  using Large = std::array<char, 1000>;
  const std::size_t before = resident_bytes();
  Queue<Large> queue({QueueOptions::kMaxSize});
  EXPECT_EQ(queue.capacity(), 1'000'000u);
  char next = 0, oldest = 0;
  for (int round = 0; round < 40; ++round) {  // It grows while its first item is anywhere in the ring.
    for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.push(Large{next++}, true), 0u);
    for (int i = 0; i < 2; ++i) EXPECT_EQ((*queue.pop())[0], oldest++);
  }
  EXPECT_EQ(queue.size(), 120u);
  EXPECT_LT(resident_bytes(), before + (std::size_t{100} << 20));
  queue.close(false);
  while (const auto left = queue.pop()) EXPECT_EQ((*left)[0], oldest++);
  EXPECT_EQ(oldest, next);
}

TEST(Queues, EndWhatTheyDropBehindTheirLock) {
  using Curious = std::shared_ptr<void>;  // Its destructor looks at its queue, as a pool's buffer may do.
  Queue<Curious> queue({2, WhenFull::kDropOldest});
  int ended = 0;
  const auto curious = [&] {
    return Curious(&queue, [&](void*) { ended += queue.size() <= queue.capacity() ? 1 : 0; });
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.push(curious(), true), i < 2 ? 0u : 1u);
  EXPECT_EQ(ended, 3);
  queue.close(true);
  EXPECT_EQ(ended, 5);
  EXPECT_FALSE(queue.push(curious(), true));
}

}  // namespace scheduling_test
}  // namespace tenon::elements
