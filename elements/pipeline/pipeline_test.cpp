// SPDX-License-Identifier: Apache-2.0
// Pipelines of the test's own elements: which frames arrive, in which order, and how failures are handled.
#include <tenon/elements/pipeline.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace elements_pipeline_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

Deadline soon() { return Clock::now() + 20s; }

template <typename Body>
std::string message_of(Body body) {
  return error_of(body).what();
}

FrameInfo small_info() {
  FrameInfo info;
  info.format = kGray8;
  info.width_px = info.height_px = 16;
  return info;
}

/// The state that the elements of one test share.
struct Scene {
  std::mutex mutex;
  std::map<std::uint32_t, std::vector<std::int64_t>> written;
  std::map<std::uint32_t, int> ends, opens;
  int finished = 0;
  std::atomic<int> opened_sources{0}, begun_writes{0};
  std::atomic<bool> is_held{false};
};
Scene* scene = nullptr;

/// A source of frames whose timestamps count up. It fails where the test says.
class Counting final : public Source {
 public:
  explicit Counting(const Parameters& given) : frames_(given.integer("frames")), fail_at_(given.integer("fail_at")) {}
  StreamInfo open(Deadline) override {
    ++scene->opened_sources;
    next_ = 0;
    picture_ = Frame::allocate(small_info());
    return {small_info(), 30, false};
  }
  void allocate(const Requirements& wanted, std::span<const Party>) override { wanted_ = wanted; }
  std::optional<Frame> read(Deadline deadline) override {
    if (next_ == fail_at_) {
      fail_at_ = -1;
      throw Error(Code::kDataLoss, "counting: told to fail");
    }
    if (next_ == frames_) return std::nullopt;
    if (frames_ < 0 && !is_interrupted_) {
      std::this_thread::sleep_until(deadline);
      throw Error(Code::kDeadlineExceeded, "counting: silent");
    }
    if (is_interrupted_ && frames_ < 0) throw Error(Code::kCancelled, "counting: interrupted");
    Frame frame = picture_;
    frame.set_timestamp_ns(next_++);
    return frame;
  }
  void interrupt() noexcept override { is_interrupted_ = true; }

 private:
  const std::int64_t frames_;
  std::int64_t fail_at_, next_ = 0;
  std::atomic<bool> is_interrupted_{false};
  Frame picture_;
  Requirements wanted_;
};

class Throwing final : public TransformInplace {
 public:
  explicit Throwing(const Parameters& given) : at_(given.integer("at")), only_(given.integer("stream")) {}
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    count_ = 0;
    return in;
  }
  void process(std::uint32_t stream, Frame&) override {
    if (count_++ == at_ && (only_ < 0 || only_ == stream)) throw std::runtime_error("throwing: this frame");
  }

 private:
  const std::int64_t at_, only_;
  std::int64_t count_ = 0;
};

/// Emits `size` frames at once, of any streams, or after a while those that have come.
class Batching final : public Transform {
 public:
  StreamInfo open(std::uint32_t, const StreamInfo& in) override { return in; }
  void process(Item item, Output& output) override {
    if (held_.empty()) due_ = Clock::now() + 20ms;
    held_.push_back(std::move(item));
    if (held_.size() == 4) proceed(output);
  }
  std::optional<Deadline> due() const override { return held_.empty() ? std::nullopt : std::optional<Deadline>(due_); }
  void proceed(Output& output) override {
    for (Item& item : held_) output.emit(std::move(item));
    held_.clear();
  }
  void end(std::uint32_t, Output& output) override { proceed(output); }

 private:
  std::vector<Item> held_;
  Deadline due_{};
};

/// Fails while it waits for more input.
class Late final : public Transform {
 public:
  StreamInfo open(std::uint32_t, const StreamInfo& in) override { return in; }
  void process(Item, Output&) override { due_ = Clock::now(); }
  std::optional<Deadline> due() const override { return due_; }
  void proceed(Output&) override {
    due_.reset();
    throw std::runtime_error("late: nothing came");
  }

 private:
  std::optional<Deadline> due_;
};

class Recording final : public Sink {
 public:
  explicit Recording(const Parameters& given) : fd_(given.text("fd")) {}
  Requirements wanted(const StreamInfo&) const override {
    Requirements all;
    if (!fd_.empty()) all.fd = fd_ == "cuda" ? FdKind::kCudaFd : FdKind::kNtHandle;
    return all;
  }
  void open(std::uint32_t stream, const StreamInfo&) override {
    const std::lock_guard lock(scene->mutex);
    ++scene->opens[stream];
  }
  void write(std::uint32_t stream, const Frame& frame) override {
    ++scene->begun_writes;
    while (scene->is_held && !is_interrupted_) std::this_thread::sleep_for(1ms);
    const std::lock_guard lock(scene->mutex);
    scene->written[stream].push_back(frame.timestamp_ns());
  }
  void end(std::uint32_t stream) override {
    const std::lock_guard lock(scene->mutex);
    ++scene->ends[stream];
  }
  void finish() override {
    const std::lock_guard lock(scene->mutex);
    ++scene->finished;
  }
  void interrupt() noexcept override { is_interrupted_ = true; }

 private:
  const std::string fd_;
  std::atomic<bool> is_interrupted_{false};
};

class Pipelines : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto of = [](auto make) {
      return [make](const Parameters& given, const Environment&) -> AnyElement { return make(given); };
    };
    register_element({"counting",
                      "Frames that count",
                      Role::kSource,
                      {{"frames", "How many; -1: a silent source", std::int64_t{5}},
                       {"fail_at", "Fails once before this one", std::int64_t{-2}}}},
                     of([](const Parameters& given) { return std::make_unique<Counting>(given); }));
    register_element({"throwing",
                      "Throws",
                      Role::kTransformInplace,
                      {{"at", "The frame", std::int64_t{-1}}, {"stream", "Only this one", std::int64_t{-1}}}},
                     of([](const Parameters& given) { return std::make_unique<Throwing>(given); }));
    register_element({"batching", "Four at once", Role::kTransform, {}, true, true},
                     of([](const Parameters&) { return std::make_unique<Batching>(); }));
    register_element({"late", "Fails", Role::kTransform, {}, true, true},
                     of([](const Parameters&) { return std::make_unique<Late>(); }));
    register_element(
        {"recording", "Keeps timestamps", Role::kSink, {{"fd", "The descriptor that it wants", std::string()}}, true},
        of([](const Parameters& given) { return std::make_unique<Recording>(given); }));
  }
  void SetUp() override { scene = &scene_; }

  static std::vector<std::int64_t> up_to(std::int64_t count) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(i);
    return all;
  }
  Scene scene_;
};

TEST_F(Pipelines, FramesArriveInTheirOrderAndStreamsEnd) {
  Pipeline pipeline({{{"counting"}, {"identity"}, {"recording"}}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_EQ(scene_.written[0], up_to(5));
  EXPECT_EQ(scene_.ends[0], 1);
  EXPECT_EQ(scene_.finished, 1);
  EXPECT_TRUE(pipeline.failures().empty());
  const auto stats = pipeline.stats();
  ASSERT_EQ(stats.size(), 3u);
  EXPECT_EQ(stats[0].frames_out, 5u);
  EXPECT_EQ(stats[1].frames_in, 5u);
  EXPECT_EQ(stats[2].frames_in, 5u);
  EXPECT_GT(stats[2].p99.count(), 0);
  EXPECT_THAT(message_of([&] { pipeline.start(); }), HasSubstr("already"));
}

TEST_F(Pipelines, StreamsMeetInASharedElementAndKeepTheirOrders) {
  PipelineSpec spec;
  std::vector<std::string> sources;
  for (int i = 0; i < 6; ++i) {
    sources.push_back("source" + std::to_string(i));
    spec.nodes.push_back({"counting", sources.back(), {{"frames", std::to_string(50 + i)}}});
  }
  spec.nodes.push_back({"batching", "batch", {}, sources});
  spec.nodes.push_back({"identity"});
  spec.nodes.push_back({"recording"});
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(scene_.written[i], up_to(50 + i));
    EXPECT_EQ(scene_.ends[i], 1);
  }
  EXPECT_EQ(scene_.finished, 1);
}

TEST_F(Pipelines, OneStreamFeedsSeveral) {
  Pipeline pipeline({{{"counting", "a"}, {"recording", "one"}, {"recording", "two", {}, {"a"}}}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_EQ(scene_.written[0].size(), 10u);
  EXPECT_EQ(scene_.finished, 2);
}

TEST_F(Pipelines, AFailureStopsAllOrEndsItsStreamOnly) {
  PipelineSpec spec{{{"counting", "a", {{"frames", "40"}}},
                     {"counting", "b", {{"frames", "40"}}},
                     {"throwing", "bad", {{"at", "7"}, {"stream", "1"}}, {"a", "b"}},
                     {"recording"}}};
  spec.on_error = OnError::kEnd;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_EQ(scene_.written[0], up_to(40));
  EXPECT_EQ(scene_.written[1], up_to(7));
  EXPECT_EQ(scene_.ends[1], 1);
  EXPECT_EQ(scene_.finished, 1);
  const auto failures = pipeline.failures();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].stream, 1u);
  EXPECT_EQ(failures[0].node, "bad");
  EXPECT_THAT(failures[0].message, HasSubstr("this frame"));
  EXPECT_FALSE(failures[0].was_restarted);
}

TEST_F(Pipelines, AStreamThatFailsStartsAgain) {
  PipelineSpec spec{{{"counting", "a", {{"fail_at", "3"}}}, {"recording"}}};
  spec.on_error = OnError::kRestart;
  spec.restart_delay = 1ms;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  constexpr std::int64_t kStep = 33'333'333;
  EXPECT_THAT(scene_.written[0], ElementsAre(0, 1, 2, kStep + 2, kStep + 3, kStep + 4, kStep + 5, kStep + 6))
      << "the second round goes on a step after the first";
  EXPECT_EQ(scene_.opens[0], 2);
  EXPECT_EQ(scene_.ends[0], 2);
  EXPECT_EQ(scene_.finished, 1);
  ASSERT_EQ(pipeline.failures().size(), 1u);
  EXPECT_TRUE(pipeline.failures()[0].was_restarted);
}

TEST_F(Pipelines, FramesThatCameBeforeASourceFailedAreFinished) {
  for (const OnError on_error : {OnError::kEnd, OnError::kStop, OnError::kRestart}) {
    scene_.written.clear();
    PipelineSpec spec{{{"counting", "a", {{"fail_at", "3"}}}, {"batching"}, {"recording"}}};
    spec.on_error = on_error;
    spec.restarts = 0;
    Pipeline pipeline(spec);
    pipeline.start();
    ASSERT_TRUE(pipeline.wait(soon()));
    EXPECT_EQ(pipeline.failures().size(), 1u);
    EXPECT_EQ(scene_.written[0], up_to(3)) << "the batch held them when the source failed";
  }
}

TEST_F(Pipelines, AFailureBetweenFramesIsOneOfAllStreams) {
  PipelineSpec spec{{{"test", "a", {{"live", "true"}}},
                     {"test", "b", {{"live", "true"}}},
                     {"late", "", {}, {"a", "b"}},
                     {"recording"}}};
  spec.on_error = OnError::kEnd;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  ASSERT_EQ(pipeline.failures().size(), 2u);
  EXPECT_THAT(pipeline.failures()[0].message, HasSubstr("nothing came"));
  EXPECT_EQ(scene_.finished, 1);
}

TEST_F(Pipelines, RestartsAreBounded) {
  PipelineSpec spec{{{"counting"}, {"throwing", "bad", {{"at", "2"}}}, {"recording"}}};
  spec.on_error = OnError::kRestart;
  spec.restarts = 2;
  spec.restart_delay = 1ms;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_EQ(scene_.opened_sources, 3);
  EXPECT_EQ(pipeline.failures().size(), 3u);
  constexpr std::int64_t kStep = 33'333'333;
  EXPECT_THAT(scene_.written[0], ElementsAre(0, 1, kStep + 2, kStep + 3, 2 * kStep + 4, 2 * kStep + 5))
      << "the frame that failed has its time, too";
}

TEST_F(Pipelines, ASilentSourceFailsWhenPatienceEnds) {
  PipelineSpec spec{{{"counting", "quiet", {{"frames", "-1"}}}, {"recording"}}};
  spec.patience = 100ms;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  ASSERT_EQ(pipeline.failures().size(), 1u);
  EXPECT_THAT(pipeline.failures()[0].message, HasSubstr("silent"));
}

TEST_F(Pipelines, StopFinishesWhatIsInFlight) {
  Pipeline pipeline({{{"test", "endless"}, {"identity"}, {"recording", "", {}, {}, QueueOptions{2}}}});
  pipeline.start();
  while (pipeline.stats()[2].frames_in < 10) std::this_thread::sleep_for(1ms);
  pipeline.stop(soon());
  EXPECT_EQ(scene_.finished, 1);
  EXPECT_EQ(scene_.written[0].size(), pipeline.stats()[0].frames_out);
  EXPECT_TRUE(pipeline.failures().empty());
}

TEST_F(Pipelines, StopAtOnceDropsWhatIsInFlightAndInterrupts) {
  scene_.is_held = true;
  {
    Pipeline pipeline({{{"test"}, {"recording", "", {}, {}, QueueOptions{2}}}});
    pipeline.start();
    while (scene_.begun_writes < 1 || pipeline.stats()[1].queued < 2) std::this_thread::sleep_for(1ms);
    pipeline.stop(Clock::now() + 50ms);
    EXPECT_LE(scene_.written[0].size(), 2u);
    EXPECT_EQ(pipeline.stats()[1].frames_in, scene_.written[0].size());
    EXPECT_GE(pipeline.stats()[1].dropped, 2u);
    EXPECT_EQ(scene_.ends[0], 1) << "of what was written";
    EXPECT_EQ(scene_.finished, 1);
    EXPECT_TRUE(pipeline.failures().empty());
  }
  EXPECT_TRUE(scene_.is_held);
  EXPECT_EQ(scene_.finished, 1);
}

TEST_F(Pipelines, StopAtOnceEndsAllElementsOnce) {
  scene_.is_held = true;
  // The sink waits; before it are elements with and without threads, and streams that meet.
  Pipeline pipeline({{{"test", "a"},
                      {"test", "b"},
                      {"counting", "silent", {{"frames", "-1"}}},
                      {"batching", "batch", {}, {"a", "b", "silent"}},
                      {"identity", "", {}, {}, QueueOptions{2}},
                      {"recording", "", {}, {}, QueueOptions{1}}}});
  pipeline.start();
  while (scene_.begun_writes < 1 || pipeline.stats()[5].queued < 1) std::this_thread::sleep_for(1ms);
  pipeline.stop(Clock::now());
  EXPECT_EQ(scene_.finished, 1);
  EXPECT_EQ(scene_.ends, scene_.opens) << "streams that were opened, and no others";
  EXPECT_GE(scene_.opens.size(), 1u);
  EXPECT_TRUE(pipeline.failures().empty());
}

TEST_F(Pipelines, FullQueuesDropAsTheyAreTold) {
  for (const WhenFull when : {WhenFull::kDropOldest, WhenFull::kDropNewest}) {
    scene_.written.clear();
    scene_.is_held = true;
    Pipeline pipeline({{{"counting", "", {{"frames", "100"}}}, {"recording", "", {}, {}, QueueOptions{3, when}}}});
    pipeline.start();
    while (pipeline.stats()[0].frames_out < 100) std::this_thread::sleep_for(1ms);
    scene_.is_held = false;
    ASSERT_TRUE(pipeline.wait(soon()));
    const auto& written = scene_.written[0];
    EXPECT_EQ(written.size() + pipeline.stats()[1].dropped, 100u);
    EXPECT_TRUE(std::is_sorted(written.begin(), written.end()));
    EXPECT_EQ(written.back() == 99, when == WhenFull::kDropOldest);
  }
}

TEST_F(Pipelines, ElementsThatCannotAgreeAreBothNamed) {
  PipelineSpec spec{{{"counting", "camera"},
                     {"identity", "same"},
                     {"recording", "cuda", {{"fd", "cuda"}}},
                     {"recording", "windows", {{"fd", "nt"}}, {"same"}}}};
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  ASSERT_EQ(pipeline.failures().size(), 1u);
  const std::string text = pipeline.failures()[0].message;
  EXPECT_THAT(text, HasSubstr("'cuda'"));
  EXPECT_THAT(text, HasSubstr("'windows'"));
  EXPECT_THAT(text, HasSubstr("'camera'"));
  EXPECT_THAT(text, HasSubstr("NT handle"));
}

/// A source of three windows of sound.
class Tones final : public Source {
 public:
  StreamInfo open(Deadline) override {
    StreamInfo info;
    info.audio = {ElementType::kF32, 1, 16'000, false};
    return info;
  }
  std::optional<AudioFrame> read_audio(Deadline) override {
    if (next_ == 3) return std::nullopt;
    return AudioFrame({ElementType::kF32, 1, 16'000, false}, {Tensor(ElementType::kF32, {160, 1})}, next_++);
  }

 private:
  std::int64_t next_ = 0;
};

class Listening final : public Sink {
 public:
  void write(std::uint32_t, const Frame&) override {}
  void write_audio(std::uint32_t stream, const AudioFrame& audio) override {
    scene->written[stream].push_back(audio.timestamp_ns());
  }
};

NodeSpec own(Description description, Factory factory) {
  NodeSpec node{description.name};
  node.own = std::make_shared<const KnownElement>(KnownElement{std::move(description), std::move(factory)});
  return node;
}

TEST_F(Pipelines, SoundPassesThroughElementsOfTheProgramItself) {
  const NodeSpec tones = own({"tones", "Sound", Role::kSource},
                             [](const Parameters&, const Environment&) { return std::make_unique<Tones>(); });
  const NodeSpec ears = own({"ears", "Hears", Role::kSink, {}, false, false, Takes::kAudio},
                            [](const Parameters&, const Environment&) { return std::make_unique<Listening>(); });
  Pipeline pipeline({{tones, {"identity"}, ears}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_TRUE(pipeline.failures().empty());
  EXPECT_EQ(scene_.written[0], up_to(3));
}

TEST_F(Pipelines, SoundIsRefusedByElementsForPictures) {
  const NodeSpec tones = own({"tones", "Sound", Role::kSource},
                             [](const Parameters&, const Environment&) { return std::make_unique<Tones>(); });
  Pipeline pipeline({{tones, {"recording"}}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  ASSERT_EQ(pipeline.failures().size(), 1u);
  EXPECT_THAT(pipeline.failures()[0].message, HasSubstr("'recording' takes pictures"));
}

std::string refusal_of(const PipelineSpec& spec) {
  return message_of([&] { plan_pipeline(spec); });
}

TEST_F(Pipelines, WrongGraphsAreRefusedByName) {
  EXPECT_THAT(refusal_of({{{"counting"}, {"recordin"}}}), HasSubstr("did you mean 'recording'?"));
  EXPECT_THAT(refusal_of({{{"identity"}, {"null"}}}), HasSubstr("comes first and is no source"));
  EXPECT_THAT(refusal_of({{{"counting", "a"}, {"null", "b", {}, {"aa"}}}}), HasSubstr("did you mean 'a'?"));
  EXPECT_THAT(refusal_of({{{"counting", "a"}, {"null", "a"}}}), HasSubstr("two nodes named 'a'"));
  EXPECT_THAT(refusal_of({{{"counting", "a"}, {"identity", "x", {}, {"y"}}, {"identity", "y", {}, {"x"}}, {"null"}}}),
              HasSubstr("a cycle: "));
  EXPECT_THAT(refusal_of({{{"counting", "a"}, {"null", "b"}, {"identity", "c"}}}), HasSubstr("which is a sink"));
  EXPECT_THAT(refusal_of({{{"counting", "a"}, {"identity", "b"}}}), HasSubstr("goes nowhere"));
  EXPECT_THAT(refusal_of({{{"counting", "a"}, {"identity", "b"}, {"null", "c", {}, {"a", "b"}}}}),
              HasSubstr("on two paths"));
  EXPECT_THAT(refusal_of({{{"counting", "a"}, {"counting", "b", {}, {"a"}}, {"null"}}}), HasSubstr("is a source"));
  EXPECT_THAT(refusal_of({{{"counting"}, {"null", "", {}, {}, QueueOptions{0}}}}), HasSubstr("its size is 0"));
  EXPECT_THAT(refusal_of({{{"counting"}, {"null", "", {}, {}, QueueOptions{1'000'001}}}}),
              HasSubstr("at most 1000000 frames"));
}

TEST_F(Pipelines, LongChainsNeedNoDeepStack) {
  PipelineSpec spec{{{"counting", "", {{"frames", "3"}}}}};
  for (int i = 0; i < 3000; ++i) spec.nodes.push_back({"identity"});
  spec.nodes.push_back({"recording"});
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 100s));
  EXPECT_TRUE(pipeline.failures().empty());
  EXPECT_THAT(scene_.written[0], ElementsAre(0, 1, 2));
  EXPECT_EQ(pipeline.stats()[3000].name, "identity3000");
}

TEST_F(Pipelines, LongPlansAreMadeInTime) {
  constexpr std::size_t kNodes = 30'000;
  PipelineSpec spec{{{"counting"}}};
  for (std::size_t i = 1; i < kNodes; ++i) spec.nodes.push_back({"identity"});
  spec.nodes.push_back({"null", "end"});
  // The last node comes first, so that the way to its source is as long as the pipeline.
  spec.nodes.back().from = {"identity" + std::to_string(kNodes - 1)};
  std::rotate(spec.nodes.begin(), spec.nodes.end() - 1, spec.nodes.end());
  const PipelinePlan plan = plan_pipeline(spec);
  EXPECT_EQ(plan.nodes.size(), kNodes + 1);
  EXPECT_EQ(plan.nodes.back().spec.name, "end");
  spec.nodes[1] = {"identity", "", {}, {"identity2"}};
  EXPECT_THAT(refusal_of(spec), HasSubstr("a cycle: "));
}

TEST_F(Pipelines, ParametersAreChecked) {
  const auto refusal = [](std::map<std::string, std::string> given) {
    return message_of([&] { make_element("test", given, {"camera", nullptr}); });
  };
  EXPECT_THAT(refusal({{"widht", "3"}}),
              HasSubstr("element 'camera' (test): there is no parameter 'widht'; did you mean 'width'?"));
  EXPECT_THAT(refusal({{"width", "wide"}}), HasSubstr("must be an integer"));
  EXPECT_THAT(refusal({{"width", "1"}}), HasSubstr("between 2 and 16384"));
  EXPECT_THAT(refusal({{"live", "maybe"}}), HasSubstr("true or false"));
}

TEST_F(Pipelines, AreReadFromJson) {
  const PipelineSpec spec = parse_pipeline(R"({
    // Two cameras.
    "on_error": "restart", "restarts": 5, "restart_delay_ms": 20, "patience_ms": 3000,
    "nodes": [
      {"element": "test", "name": "a", "parameters": {"frames": 3, "live": false}},
      {"element": "test", "name": "b", "parameters": {"frames": "4"}},
      {"element": "identity", "from": ["a", "b"], "queue": {"size": 2, "when_full": "drop_oldest"}},
      {"element": "recording", "from": "identity"}
    ]})");
  EXPECT_EQ(spec.on_error, OnError::kRestart);
  EXPECT_EQ(spec.restarts, 5u);
  EXPECT_EQ(spec.patience, 3s);
  ASSERT_EQ(spec.nodes.size(), 4u);
  EXPECT_EQ(spec.nodes[2].queue->when_full, WhenFull::kDropOldest);
  const PipelinePlan plan = plan_pipeline(spec);
  EXPECT_EQ(plan.streams, 2u);
  const std::string dot = to_dot(plan);
  EXPECT_THAT(dot, HasSubstr("\"a\" -> \"identity\";"));
  EXPECT_THAT(dot, HasSubstr("frames=3"));
  const auto refusal = [](const char* text) { return message_of([&] { parse_pipeline(text); }); };
  EXPECT_THAT(refusal("{"), HasSubstr("pipeline file"));
  EXPECT_THAT(refusal("[]"), HasSubstr("must be an object"));
  EXPECT_THAT(refusal(R"({"nodes": []})"), HasSubstr("is empty"));
  EXPECT_THAT(refusal(R"({"node": []})"), HasSubstr("did you mean 'nodes'?"));
  EXPECT_THAT(refusal(R"({"nodes": [{"name": "x"}]})"), HasSubstr("/nodes/0: has no element"));
  EXPECT_THAT(refusal(R"({"nodes": [{"element": "x", "queue": {"size": 0}}]})"), HasSubstr("/nodes/0/queue/size"));
  EXPECT_THAT(refusal(R"({"nodes": [{"element": "x", "queue": {"size": 1000000000}}]})"),
              HasSubstr("must be an integer from 1 to 1000000, and is 1000000000"));
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(refusal(("{\"nodes\": [{\"element\": \"x\", \"queue\": {\"size\": " + deep).c_str()),
              HasSubstr("deeper"));
  EXPECT_THAT(refusal(R"({"on_error": "explode"})"), HasSubstr("stop, end, restart"));
  EXPECT_THAT(refusal(R"({"nodes": [{"element": "x", "parameters": {"y": {}}}]})"), HasSubstr("/parameters/y"));
}

TEST(TestSource, ShowsBarsOfColour) {
  // An odd width: the last chroma sample belongs to one column.
  const auto source = std::get<std::unique_ptr<Source>>(
      make_element("test", {{"width", "161"}, {"height", "80"}, {"frames", "2"}}, {"", nullptr}));
  source->open(soon());
  source->allocate({}, {});
  const std::optional<Frame> frame = source->read(soon());
  ASSERT_TRUE(frame);
  const auto at = [&](std::size_t plane, std::size_t x, std::size_t y) {
    const Tensor& rows = frame->plane(plane);
    return int{static_cast<const std::uint8_t*>(
        rows.data())[rows.byte_strides()[0] * static_cast<std::ptrdiff_t>(y) + static_cast<std::ptrdiff_t>(x)]};
  };
  EXPECT_THAT((std::vector{at(0, 0, 0), at(0, 150, 0)}), ElementsAre(180, 16)) << "white to black";
  EXPECT_THAT((std::vector{at(0, 110, 10), at(1, 110, 5), at(1, 111, 5)}), ElementsAre(51, 109, 212)) << "red";
  EXPECT_THAT((std::vector{at(0, 0, 79), at(0, 160, 79), at(1, 160, 39), at(1, 161, 39)}),
              ElementsAre(16, 233, 128, 128))
      << "a ramp without colour below";
  const std::optional<Frame> next = source->read(soon());
  ASSERT_TRUE(next);
  EXPECT_EQ(next->plane(0).data(), frame->plane(0).data()) << "one buffer for all";
}

}  // namespace elements_pipeline_test
}  // namespace tenon::elements
