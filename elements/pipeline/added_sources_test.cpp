// SPDX-License-Identifier: Apache-2.0
// Sources that come and go while a pipeline runs: other streams go on, nothing grows, and each failure stays with its source.
#include <tenon/elements/pipeline.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/elements/callback.hpp>

namespace tenon::elements {
namespace added_sources_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

Deadline soon() { return Clock::now() + 30s; }

template <typename Condition>
bool holds_soon(Condition condition) {
  for (const auto end = soon(); Clock::now() < end; std::this_thread::sleep_for(1ms))
    if (condition()) return true;
  return false;
}

Frame grey(std::int64_t time) {
  static const Frame one = Frame::allocate({kGray8, 16, 16});
  Frame frame = one;
  frame.set_timestamp_ns(time);
  return frame;
}
StreamInfo grey_stream() { return {grey(0).info(), 30, true}; }

/// @param frames  -1: without end.
NodeSpec counting(const std::string& name, std::int64_t frames, std::chrono::microseconds pace = 200us) {
  NodeSpec made =
      node_of(source_of(name, grey_stream(), [=, next = std::int64_t{0}](Deadline) mutable -> std::optional<Frame> {
        if (next == frames) return std::nullopt;
        std::this_thread::sleep_for(pace);
        return grey(next++);
      }));
  made.name = name;
  return made;
}

template <typename Made, typename... Arguments>
NodeSpec node(Description description, Arguments... arguments) {
  NodeSpec made = node_of({description, [=](const Parameters&, const Environment&) -> AnyElement {
                             return std::make_unique<Made>(arguments...);
                           }});
  made.name = description.name;
  return made;
}
Description described(const std::string& name, Role role, bool is_shared, bool has_thread) {
  Description made;
  made.name = name;
  made.role = role;
  made.is_shared = is_shared;
  made.has_thread = has_thread;
  return made;
}

/// What came to sinks.
struct Seen {
  std::mutex mutex;
  std::map<std::uint32_t, std::int64_t> next;  ///< By stream: the frame that must come next.
  std::map<std::uint32_t, int> begins, ends;
  int finishes = 0, made = 0, wrong = 0;
  std::int64_t count(std::uint32_t stream) {
    const std::lock_guard lock(mutex);
    return next[stream];
  }
};

class SeeingSink final : public Sink {
 public:
  explicit SeeingSink(Seen* seen) : seen_(*seen) {
    const std::lock_guard lock(seen_.mutex);
    ++seen_.made;
  }
  void open(std::uint32_t stream, const StreamInfo&) override {
    const std::lock_guard lock(seen_.mutex);
    ++seen_.begins[stream];
  }
  void write(std::uint32_t stream, const Frame& frame) override {
    const std::lock_guard lock(seen_.mutex);
    if (seen_.next[stream]++ != frame.timestamp_ns()) ++seen_.wrong;
  }
  void end(std::uint32_t stream) override {
    const std::lock_guard lock(seen_.mutex);
    ++seen_.ends[stream];
  }
  void finish() override {
    const std::lock_guard lock(seen_.mutex);
    ++seen_.finishes;
  }

 private:
  Seen& seen_;
};

/// One instance for all streams; a frame is passed on at once.
class Passing final : public Transform {
 public:
  StreamInfo open(std::uint32_t, const StreamInfo& in) override { return in; }
  void process(Item item, Output& output) override { output.emit(std::move(item)); }
};

/// An element for each stream.
class Each final : public TransformInplace {
 public:
  static inline std::atomic<int> alive{0};
  Each() { ++alive; }
  ~Each() override { --alive; }
  void process(std::uint32_t, Frame&) override {}
};

/// camera -> all (shared, a thread) -> each (per stream) -> out (shared).
PipelineSpec usual(Seen& seen, std::uint32_t more = 8) {
  PipelineSpec spec;
  spec.nodes = {counting("camera", -1, 500us), node<Passing>(described("all", Role::kTransform, true, true)),
                node<Each>(described("each", Role::kTransformInplace, false, false)),
                node<SeeingSink>(described("out", Role::kSink, true, false), &seen)};
  spec.more_sources = more;
  return spec;
}

Code code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST(AddedSources, AreWorkedOnLikeTheOthers) {
  Seen seen;
  Pipeline pipeline(usual(seen));
  pipeline.start();
  const std::uint32_t second = pipeline.add_source(counting("second", 40));
  const std::uint32_t third = pipeline.add_source(counting("third", -1), "camera");
  EXPECT_NE(second, third);
  EXPECT_TRUE(holds_soon([&] { return seen.count(second) == 40 && seen.count(third) > 20; }));
  EXPECT_TRUE(holds_soon([&] { return pipeline.sources()[1].now == SourceState::Now::kEnded; }));
  EXPECT_EQ(pipeline.sources()[2].now, SourceState::Now::kRunning);
  EXPECT_TRUE(pipeline.sources()[2].was_added);
  EXPECT_FALSE(pipeline.wait(Clock::now() + 1ms)) << "it stays open";
  EXPECT_TRUE(pipeline.remove_source("third", soon()));
  EXPECT_TRUE(pipeline.remove_source("camera", soon()));
  EXPECT_TRUE(holds_soon([&] {
    const std::lock_guard lock(seen.mutex);
    return seen.ends[0] == 1;
  })) << "frames that a planned source gave are finished a moment later";
  const std::int64_t camera = seen.count(0);
  EXPECT_TRUE(pipeline.remove_source("second", soon()));
  EXPECT_THAT(pipeline.sources(), IsEmpty());
  EXPECT_FALSE(pipeline.wait(Clock::now() + 20ms));
  EXPECT_EQ(seen.count(0), camera);
  // The model of the others is gone, and new sources feed its nodes all the same.
  const std::uint32_t again = pipeline.add_source(counting("camera", -1));
  EXPECT_TRUE(holds_soon([&] { return seen.count(again) > 10; }));
  EXPECT_EQ(seen.finishes, 0);
  pipeline.stop(soon());
  EXPECT_TRUE(pipeline.wait(Clock::now()));
  EXPECT_EQ(seen.finishes, 1);
  EXPECT_EQ(seen.wrong, 0);
  for (const std::uint32_t stream : {0u, second, third, again}) EXPECT_EQ(seen.ends[stream], 1) << stream;
  EXPECT_THAT(pipeline.failures(), IsEmpty());
  EXPECT_EQ(pipeline.stats()[2].frames_out, pipeline.stats()[3].frames_in) << "counts of streams that are gone stay";
}

TEST(AddedSources, SinksOfTheirOwnAreFinishedWithThem) {
  Seen seen;
  PipelineSpec spec;
  spec.nodes = {counting("camera", -1, 500us), node<SeeingSink>(described("own", Role::kSink, false, true), &seen)};
  spec.more_sources = 2;
  Pipeline pipeline(spec);
  pipeline.start();
  pipeline.add_source(counting("second", -1));
  EXPECT_TRUE(holds_soon([&] { return seen.count(1) > 3; }));
  EXPECT_TRUE(pipeline.remove_source("second", soon()));
  EXPECT_EQ(seen.finishes, 1);
  EXPECT_EQ(seen.made, 2);
  pipeline.stop(soon());
  EXPECT_EQ(seen.finishes, 2);
}

/// A source whose making takes until the camera has given a hundred pictures more.
class Heavy final : public Source {
 public:
  explicit Heavy(Seen* seen) {
    const std::int64_t before = seen->count(0);
    EXPECT_TRUE(holds_soon([&] { return seen->count(0) > before + 100; })) << "the camera waits for it";
  }
  StreamInfo open(Deadline) override { return grey_stream(); }
  std::optional<Frame> read(Deadline) override { return std::nullopt; }
};

TEST(AddedSources, LeaveNoGapInOtherStreams) {
  Seen seen;
  Pipeline pipeline(usual(seen));
  pipeline.start();
  ASSERT_TRUE(holds_soon([&] { return seen.count(0) > 10; }));
  pipeline.add_source(node<Heavy>(described("heavy", Role::kSource, false, false), &seen));
  for (int i = 0; i < 20; ++i) {
    pipeline.add_source(counting("short", 3));
    EXPECT_TRUE(pipeline.remove_source("short", soon()));
  }
  pipeline.stop(soon());
  EXPECT_EQ(seen.wrong, 0) << "each frame came, in its order";
  EXPECT_EQ(pipeline.stats()[1].dropped, 0u);
}

std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) count += !entry.path().empty();
  return count;
}

TEST(AddedSources, AThousandCyclesGrowNothing) {
  Seen seen;
  PipelineSpec spec = usual(seen, 3);
  spec.nodes.insert(spec.nodes.begin() + 3, node<Each>(described("own", Role::kTransformInplace, false, true)));
  Pipeline pipeline(spec);
  pipeline.start();
  const auto cycle = [&](int number) {
    // Every third ends by itself, and is freed when the next one comes.
    const bool ends = number % 3 == 0;
    const std::uint32_t stream = pipeline.add_source(counting("s" + std::to_string(number % 7), ends ? 2 : -1, 10us));
    if (ends) {
      ASSERT_TRUE(holds_soon([&] {
        const std::lock_guard lock(seen.mutex);
        return seen.ends[stream] == 1;
      }));
      ASSERT_TRUE(holds_soon([&] {
        const auto all = pipeline.sources();
        return std::all_of(all.begin(), all.end(), [](const SourceState& one) {
          return !one.was_added || one.now == SourceState::Now::kEnded;
        });
      }));
    } else {
      if (number % 2 == 0) {
        ASSERT_TRUE(holds_soon([&] { return seen.count(stream) > 0; }));
      }
      ASSERT_TRUE(pipeline.remove_source("s" + std::to_string(number % 7), soon()));
    }
    const std::lock_guard lock(seen.mutex);
    EXPECT_EQ(seen.begins[stream], seen.ends[stream]);
    seen.next.erase(stream), seen.begins.erase(stream), seen.ends.erase(stream);
  };
  for (int i = 0; i < 60; ++i) cycle(i);
  const auto files = entries_of("/proc/self/fd"), threads = entries_of("/proc/self/task");
  const auto bytes = static_cast<std::int64_t>(::mallinfo2().uordblks);
  for (int i = 60; i < 1062; ++i) cycle(i);
  EXPECT_LE(entries_of("/proc/self/fd"), files);
  // The system lists a thread for a moment after it was joined.
  EXPECT_TRUE(holds_soon([&] { return entries_of("/proc/self/task") <= threads; }));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(static_cast<std::int64_t>(::mallinfo2().uordblks) - bytes, 64 << 10);
#else
  static_cast<void>(bytes);
#endif
  EXPECT_LE(Each::alive, 4) << "two nodes of the camera, and two of the last source";
  pipeline.stop(soon());
  EXPECT_EQ(seen.wrong, 0);
  EXPECT_THAT(pipeline.failures(), IsEmpty());
}

/// Waits in open() until it is interrupted.
class Waiting final : public Source {
 public:
  StreamInfo open(Deadline deadline) override {
    std::unique_lock lock(mutex_);
    if (!told_.wait_until(lock, deadline, [this] { return is_interrupted_; }))
      throw Error(Code::kDeadlineExceeded, "waiting: nothing answers");
    throw Error(Code::kCancelled, "waiting: interrupted");
  }
  std::optional<Frame> read(Deadline) override { return std::nullopt; }
  void interrupt() noexcept override {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = true;
    told_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  bool is_interrupted_ = false;
};

TEST(AddedSources, AreRemovedWhileTheyOpen) {
  Seen seen;
  Pipeline pipeline(usual(seen));
  pipeline.start();
  pipeline.add_source(node<Waiting>(described("slow", Role::kSource, false, false)));
  EXPECT_EQ(pipeline.sources()[1].now, SourceState::Now::kOpening);
  const auto begin = Clock::now();
  EXPECT_TRUE(pipeline.remove_source("slow", soon()));
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_THAT(pipeline.failures(), IsEmpty()) << "a removal is no failure";
  pipeline.stop(soon());
}

class Failing final : public Source {
 public:
  explicit Failing(bool in_open) : in_open_(in_open) {}
  StreamInfo open(Deadline) override {
    if (in_open_) throw Error(Code::kNotFound, "failing: there is no such camera");
    return grey_stream();
  }
  std::optional<Frame> read(Deadline) override { throw Error(Code::kDataLoss, "failing: damaged"); }

 private:
  const bool in_open_;
};

TEST(AddedSources, ThatFailEndAlone) {
  for (const OnError on_error : {OnError::kStop, OnError::kEnd, OnError::kRestart}) {
    Seen seen;
    PipelineSpec spec = usual(seen);
    spec.on_error = on_error;
    spec.restarts = 1;
    spec.restart_delay = 1ms;
    Pipeline pipeline(spec);
    pipeline.start();
    pipeline.add_source(node<Failing>(described("absent", Role::kSource, false, false), true));
    pipeline.add_source(node<Failing>(described("damaged", Role::kSource, false, false), false));
    EXPECT_TRUE(holds_soon([&] {
      const auto all = pipeline.sources();
      return all[1].now == SourceState::Now::kFailed && all[2].now == SourceState::Now::kFailed;
    }));
    const std::int64_t then = seen.count(0);
    EXPECT_TRUE(holds_soon([&] { return seen.count(0) > then + 20; })) << "the camera goes on";
    std::set<std::string> nodes;
    for (const Failure& failure : pipeline.failures()) nodes.insert(failure.node);
    EXPECT_THAT(nodes, ElementsAre("absent", "damaged"));
    EXPECT_TRUE(pipeline.remove_source("absent", soon()));
    pipeline.add_source(counting("absent", 1));  // The name is free again.
    pipeline.stop(soon());
  }
}

TEST(AddedSources, RefuseBadInput) {
  Seen seen;
  Pipeline pipeline(usual(seen, 2));
  const auto add = [&](NodeSpec source, const char* like = "") {
    return code_of([&] { pipeline.add_source(source, like); });
  };
  EXPECT_EQ(add(counting("early", 1)), Code::kFailedPrecondition);
  pipeline.start();
  EXPECT_EQ(add(counting("camera", 1)), Code::kAlreadyExists);
  EXPECT_EQ(add(counting("out", 1)), Code::kAlreadyExists);
  EXPECT_EQ(add(counting("", 1)), Code::kInvalidArgument);
  EXPECT_EQ(add(counting("x", 1), "no such"), Code::kNotFound);
  EXPECT_EQ(add({"identity", "x"}), Code::kInvalidArgument) << "no source";
  EXPECT_EQ(add({"no_such_element", "x"}), Code::kNotFound);
  EXPECT_EQ(add({"test", "x", {{"frames", "many"}}}), Code::kInvalidArgument);
  NodeSpec fed = counting("x", 1);
  fed.from = {"camera"};
  EXPECT_EQ(add(fed), Code::kInvalidArgument);
  EXPECT_THAT(pipeline.sources(), SizeIs(1)) << "what was refused left nothing";
  EXPECT_EQ(add(counting("a", -1)), Code::kOk);
  EXPECT_EQ(add(counting("a", -1)), Code::kAlreadyExists);
  EXPECT_EQ(add(counting("b", -1)), Code::kOk);
  EXPECT_EQ(add(counting("c", -1)), Code::kResourceExhausted);
  EXPECT_EQ(code_of([&] { pipeline.remove_source("c"); }), Code::kNotFound);
  EXPECT_TRUE(pipeline.remove_source("a", soon()));
  EXPECT_EQ(code_of([&] { pipeline.remove_source("a"); }), Code::kNotFound);
  EXPECT_EQ(add(counting("c", -1)), Code::kOk);
  pipeline.stop(soon());
  EXPECT_EQ(add(counting("late", 1)), Code::kFailedPrecondition);
  EXPECT_TRUE(pipeline.remove_source("b", soon())) << "it has ended with the pipeline";

  PipelineSpec closed = usual(seen, 0);
  Pipeline fixed(closed);
  fixed.start();
  EXPECT_EQ(code_of([&] { fixed.add_source(counting("x", 1)); }), Code::kFailedPrecondition);
  fixed.stop(soon());
}

TEST(AddedSources, ComeFromManyThreads) {
  Seen seen;
  Pipeline pipeline(usual(seen, 4));
  pipeline.start();
  std::atomic<int> added{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 50; ++k) {
        const std::string name = "n" + std::to_string((i + k) % 5);
        if (code_of([&] { pipeline.add_source(counting(name, k % 4 == 0 ? 1 : -1, 50us)); }) == Code::kOk) ++added;
        code_of([&] { pipeline.remove_source(name, soon()); });
        pipeline.sources();
        pipeline.stats();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(added, 20);
  pipeline.stop(soon());
  EXPECT_EQ(seen.wrong, 0);
  EXPECT_EQ(seen.finishes, 1);
}

TEST(AddedSources, AreStoppedWithThePipeline) {
  Seen seen;
  {
    Pipeline pipeline(usual(seen));
    pipeline.start();
    pipeline.add_source(counting("a", -1));
    pipeline.add_source(node<Waiting>(described("slow", Role::kSource, false, false)));
  }
  EXPECT_EQ(Each::alive, 0);
}

/// A pipeline whose sink calls `act` with the pipeline, in a thread of the pipeline, for each frame from the tenth on.
class Acting {
 public:
  explicit Acting(std::function<void(Pipeline&, std::uint32_t stream)> act) : act_(std::move(act)) {
    PipelineSpec spec;
    NodeSpec out = node_of(sink_of("out", [this](std::uint32_t stream, const Frame& frame) {
      if (Pipeline* const one = running_; one && frame.timestamp_ns() >= 10) act_(*one, stream);
    }));
    out.name = "out";
    spec.nodes = {counting("camera", -1), out};
    spec.more_sources = 2;
    pipeline_.emplace(spec);
    running_ = &*pipeline_;
    pipeline_->start();
  }
  Pipeline& pipeline() { return *pipeline_; }

 private:
  std::atomic<Pipeline*> running_{nullptr};
  std::function<void(Pipeline&, std::uint32_t)> act_;
  std::optional<Pipeline> pipeline_;
};

TEST(CallsOfElements, StopThePipelineWithoutWaitingForTheirOwnThread) {
  std::atomic<bool> has_returned{false};
  Acting acting([&](Pipeline& pipeline, std::uint32_t) {
    pipeline.stop(soon());
    has_returned = true;
  });
  EXPECT_TRUE(acting.pipeline().wait(Clock::now() + 10s));
  EXPECT_TRUE(has_returned);
  EXPECT_THAT(acting.pipeline().failures(), IsEmpty());
}

TEST(CallsOfElements, AreRefusedToWaitForTheirOwnPipeline) {
  std::atomic<Code> code{Code::kOk};
  Acting acting([&](Pipeline& pipeline, std::uint32_t) {
    EXPECT_TRUE(pipeline.is_own_thread());
    EXPECT_FALSE(pipeline.wait(Clock::now())) << "to ask is no wait";
    try {
      pipeline.wait(Deadline::max());
    } catch (const Error& error) {
      code = error.code();
    }
    pipeline.stop(soon());
  });
  EXPECT_TRUE(acting.pipeline().wait(Clock::now() + 10s));
  EXPECT_FALSE(acting.pipeline().is_own_thread());
  EXPECT_EQ(code, Code::kFailedPrecondition);
  EXPECT_THAT(acting.pipeline().failures(), IsEmpty());
}

TEST(CallsOfElements, RemoveTheSourceOfTheirOwnFrame) {
  std::atomic<int> removed{-1};
  Acting acting([&](Pipeline& pipeline, std::uint32_t stream) {
    if (stream != 0 && removed < 0) removed = pipeline.remove_source("a", soon());
  });
  const std::uint32_t stream = acting.pipeline().add_source(counting("a", -1));
  const auto begin = Clock::now();
  EXPECT_TRUE(holds_soon([&] { return removed >= 0; }));
  EXPECT_LT(Clock::now() - begin, 10s) << "it waited for an end that waited for it";
  EXPECT_EQ(removed, 0) << "it ends later";
  EXPECT_TRUE(acting.pipeline().remove_source("a", soon()));
  EXPECT_NE(acting.pipeline().add_source(counting("a", -1)), stream) << "the name is free again";
  acting.pipeline().stop(soon());
}

TEST(CallsOfElements, AddASourceWhileAnotherThreadStops) {
  std::atomic<bool> is_adding{false};
  std::atomic<Code> code{Code::kOk};
  Acting acting([&](Pipeline& pipeline, std::uint32_t) {
    if (is_adding) return;
    const KnownElement slow{described("slow", Role::kSource, false, false),
                            [&](const Parameters&, const Environment&) -> AnyElement {
                              is_adding = true;
                              EXPECT_TRUE(holds_soon([&] {
                                const auto now = pipeline.sources()[0].now;
                                return now == SourceState::Now::kEnding || now == SourceState::Now::kEnded;
                              }));
                              std::this_thread::sleep_for(100ms);  // stop() joins this thread meanwhile.
                              return std::make_unique<Failing>(true);
                            }};
    NodeSpec source = node_of(slow);
    source.name = "slow";
    code = code_of([&] { pipeline.add_source(source); });
  });
  ASSERT_TRUE(holds_soon([&] { return is_adding.load(); }));
  acting.pipeline().stop(Clock::now());
  EXPECT_EQ(code, Code::kFailedPrecondition);
}

}  // namespace added_sources_test
}  // namespace tenon::elements
