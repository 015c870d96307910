// SPDX-License-Identifier: Apache-2.0
// The element "aggregate", and streams that reach it on several paths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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
#include <tenon/core/metadata.hpp>
#include <tenon/core/placement.hpp>
#include <tenon/elements/callback.hpp>
#include <tenon/elements/picture_change.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace aggregate_test {

using metadata::Classification;
using metadata::Detection;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

Deadline soon() { return Clock::now() + 30s; }

Frame picture(std::int64_t time_ns, std::uint32_t width = 32, std::uint32_t height = 24) {
  Frame frame = Frame::allocate({kGray8, width, height});
  frame.set_timestamp_ns(time_ns);
  metadata::of(frame).add(Detection{{1, 2, 9, 12}, "car", 0, 0.5f});
  return frame;
}

/// A source of pictures with one car in each, `fails_at` once before that one.
NodeSpec cars(const std::string& name, std::int64_t frames, bool has_times = true, std::int64_t fails_at = -1) {
  StreamInfo info;
  info.frame = {kGray8, 32, 24};
  info.frames_per_second = 25;
  NodeSpec made = node_of(source_of(name, info, [=, next = std::int64_t{0}](Deadline) mutable -> std::optional<Frame> {
    if (next == frames) return std::nullopt;
    if (next == std::exchange(fails_at, next == fails_at ? -1 : fails_at))
      throw Error(Code::kUnavailable, name + ": told to fail");
    const std::int64_t number = next++;
    return picture(has_times ? number * 1'000'000 : kNoTimestamp);
  }));
  made.name = name;
  return made;
}

/// Adds a class to each car, and works for a while.
NodeSpec adds(const std::string& name, const std::string& from, std::chrono::microseconds works = 0us) {
  NodeSpec made = node_of(transform_of(name, [=, count = 0](std::uint32_t, Frame& frame) mutable {
    if (works.count() > 0) std::this_thread::sleep_for(works * (++count % 7));
    metadata::Collection& known = metadata::of(frame);
    const auto car = known.all<Detection>().at(0);
    known.add(Classification{name, 0, 1, name}, car.id);
  }));
  made.from = {from};
  made.queue = QueueOptions{3};
  return made;
}

NodeSpec aggregate(std::vector<std::string> from, const std::string& max_delay_ms = "0") {
  return {"aggregate", "aggregate", {{"max_delay_ms", max_delay_ms}}, std::move(from)};
}

/// What came out: the times of each stream, and the classes of the car in each frame.
struct Seen {
  std::mutex mutex;
  std::map<std::uint32_t, std::vector<std::int64_t>> times;
  std::map<std::uint32_t, std::vector<std::set<std::string>>> classes;
  int wrong = 0;
  NodeSpec sink() {
    return node_of(sink_of("seen", [this](std::uint32_t stream, const Frame& frame) {
      const std::lock_guard lock(mutex);
      times[stream].push_back(frame.timestamp_ns());
      std::set<std::string>& found = classes[stream].emplace_back();
      const auto known = metadata::find(frame);
      if (known->all<Detection>().size() != 1) ++wrong;
      for (const auto& each : known->all<Classification>()) {
        if (!found.insert(each->label).second || each.parent != known->all<Detection>().front().id) ++wrong;
      }
    }));
  }
  std::size_t count(std::uint32_t stream) {
    const std::lock_guard lock(mutex);
    return times[stream].size();
  }
  std::vector<std::set<std::string>> classes_of(std::uint32_t stream) {
    const std::lock_guard lock(mutex);
    return classes[stream];
  }
};

void run(Pipeline& pipeline) {
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  for (const Failure& failure : pipeline.failures()) ADD_FAILURE() << failure.node << ": " << failure.message;
}
void run(const PipelineSpec& spec) {
  Pipeline pipeline(spec);
  run(pipeline);
}

TEST(Aggregate, JoinsWhatBranchesOfDifferentSpeedFound) {
  Seen seen;
  PipelineSpec spec{{cars("a", 60),
                     cars("b", 50),
                     cars("c", 70),
                     {"identity", "all", {}, {"a", "b", "c"}},
                     adds("slow", "all", 300us),
                     adds("quick", "all"),
                     adds("third", "all", 50us),
                     aggregate({"quick", "slow", "third"}),
                     seen.sink()}};
  run(spec);
  EXPECT_EQ(seen.wrong, 0) << "each car is there once, and has each class once";
  for (const auto& [stream, frames] : {std::pair(0u, 60), std::pair(1u, 50), std::pair(2u, 70)}) {
    ASSERT_EQ(seen.count(stream), static_cast<std::size_t>(frames));
    EXPECT_TRUE(std::is_sorted(seen.times[stream].begin(), seen.times[stream].end()));
    for (const auto& classes : seen.classes[stream]) EXPECT_THAT(classes, ElementsAre("quick", "slow", "third"));
  }
}

TEST(Aggregate, FramesWithoutTimesAreToldApart) {
  Seen seen;
  run({{cars("a", 40, false), adds("slow", "a", 200us), adds("quick", "a"), aggregate({"slow", "quick"}),
        seen.sink()}});
  EXPECT_EQ(seen.wrong, 0);
  ASSERT_EQ(seen.count(0), 40u);
  for (const auto& classes : seen.classes[0]) EXPECT_THAT(classes, ElementsAre("quick", "slow"));
}

/// A transform that leaves out frames.
class Every final : public Transform {
 public:
  explicit Every(int nth) : nth_(nth) {}
  StreamInfo open(std::uint32_t, const StreamInfo& in) override { return in; }
  void process(Item item, Output& output) override {
    if (count_++ % nth_ == 0) output.emit(std::move(item));
  }

 private:
  const int nth_;
  int count_ = 0;
};

NodeSpec every(int nth, const std::string& name, const std::string& from) {
  Description description;
  description.name = name;
  description.role = Role::kTransform;
  NodeSpec made = node_of({description, [nth](const Parameters&, const Environment&) -> AnyElement {
                             return std::make_unique<Every>(nth);
                           }});
  made.from = {from};
  return made;
}

TEST(Aggregate, ABranchThatLeavesOutFramesHoldsNothingUp) {
  Seen seen;
  run({{cars("a", 61), adds("all", "a"), every(3, "some", "a"), adds("third", "some"), aggregate({"all", "third"}),
        seen.sink()}});
  EXPECT_EQ(seen.wrong, 0);
  ASSERT_EQ(seen.count(0), 61u);
  for (std::size_t i = 0; i < 61; ++i) EXPECT_EQ(seen.classes[0][i].count("third"), i % 3 == 0 ? 1u : 0u) << i;
}

TEST(Aggregate, TheFramesOfTheFirstBranchGoOn) {
  Seen seen;
  run({{cars("a", 61), adds("all", "a"), every(3, "some", "a"), adds("third", "some"), aggregate({"third", "all"}),
        seen.sink()}});
  EXPECT_EQ(seen.wrong, 0);
  ASSERT_EQ(seen.count(0), 21u);
  for (std::size_t i = 0; i < 21; ++i) {
    EXPECT_EQ(seen.times[0][i], static_cast<std::int64_t>(3 * i) * 1'000'000);
    EXPECT_THAT(seen.classes[0][i], ElementsAre("all", "third"));
  }
}

TEST(Aggregate, AFrameWaitsNoLongerThanIsSaid) {
  Seen seen;
  std::atomic<bool> is_held{true};
  NodeSpec held = node_of(transform_of("held", [&](std::uint32_t, Frame& frame) {
    for (const auto end = soon(); is_held && Clock::now() < end;) std::this_thread::sleep_for(1ms);
    metadata::of(frame).add(Classification{"held", 0, 1, "held"}, metadata::of(frame).all<Detection>().at(0).id);
  }));
  held.from = {"a"};
  held.queue = QueueOptions{100};
  Pipeline pipeline({{cars("a", 30), adds("quick", "a"), held, aggregate({"quick", "held"}, "50"), seen.sink()}});
  const auto begin = Clock::now();
  pipeline.start();
  while (seen.count(0) < 30 && Clock::now() < soon()) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(seen.count(0), 30u) << "though the other branch has given nothing";
  EXPECT_GE(Clock::now() - begin, 50ms);
  is_held = false;
  ASSERT_TRUE(pipeline.wait(soon()));
  EXPECT_EQ(seen.count(0), 30u) << "what came later is dropped";
  for (const auto& classes : seen.classes[0]) EXPECT_THAT(classes, ElementsAre("quick"));
  EXPECT_TRUE(pipeline.failures().empty());
}

TEST(Aggregate, ARestartBeginsAllBranchesAnew) {
  Seen seen;
  PipelineSpec spec{{cars("a", 40, true, 20), adds("slow", "a", 500us), adds("quick", "a"),
                     aggregate({"quick", "slow"}), seen.sink()}};
  spec.on_error = OnError::kRestart;
  spec.restart_delay = 1ms;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  ASSERT_EQ(pipeline.failures().size(), 1u);
  EXPECT_TRUE(pipeline.failures()[0].was_restarted);
  EXPECT_EQ(seen.wrong, 0);
  ASSERT_EQ(seen.count(0), 40u);
  EXPECT_TRUE(std::is_sorted(seen.times[0].begin(), seen.times[0].end()));
  for (const auto& classes : seen.classes[0]) EXPECT_THAT(classes, ElementsAre("quick", "slow"));
}

TEST(Aggregate, SourcesThatAreAddedPassTheBranches) {
  Seen seen;
  PipelineSpec spec{
      {cars("a", 20), adds("slow", "a", 100us), adds("quick", "a"), aggregate({"quick", "slow"}), seen.sink()}};
  spec.more_sources = 2;
  Pipeline pipeline(spec);
  pipeline.start();
  for (int round = 0; round < 5; ++round) {
    const std::uint32_t stream = pipeline.add_source(cars("more", 15));
    while (seen.count(stream) < 15 && Clock::now() < soon()) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(seen.count(stream), 15u);
    for (const auto& classes : seen.classes_of(stream)) EXPECT_THAT(classes, ElementsAre("quick", "slow"));
    EXPECT_TRUE(pipeline.remove_source("more", soon()));
  }
  pipeline.stop(soon());
  EXPECT_EQ(seen.wrong, 0);
  EXPECT_EQ(seen.count(0), 20u);
  EXPECT_TRUE(pipeline.failures().empty());
}

TEST(Aggregate, AFailureInABranchNamesIt) {
  Seen seen;
  NodeSpec bad = node_of(transform_of("bad", [](std::uint32_t, Frame& frame) {
    if (frame.timestamp_ns() == 5'000'000) throw Error(Code::kDataLoss, "bad: this frame");
  }));
  bad.from = {"a"};
  Pipeline pipeline({{cars("a", 40), adds("good", "a"), bad, aggregate({"good", "bad"}), seen.sink()}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(soon()));
  ASSERT_EQ(pipeline.failures().size(), 1u);
  EXPECT_EQ(pipeline.failures()[0].node, "bad");
}

TEST(Aggregate, AStopAtOnceEndsIt) {
  Seen seen;
  NodeSpec slow = node_of(transform_of("slow", [](std::uint32_t, Frame&) { std::this_thread::sleep_for(20ms); }));
  slow.from = {"a"};
  slow.queue = QueueOptions{50};
  Pipeline pipeline({{cars("a", -1), adds("quick", "a"), slow, aggregate({"quick", "slow"}), seen.sink()}});
  pipeline.start();
  while (seen.count(0) < 3 && Clock::now() < soon()) std::this_thread::sleep_for(1ms);
  const auto begin = Clock::now();
  pipeline.stop(Clock::now());
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_TRUE(pipeline.failures().empty());
}

TEST(Aggregate, BranchesMayMeetManyTimes) {
  Seen seen;
  PipelineSpec spec{{cars("a", 5)}};
  std::string before = "a";
  for (int i = 0; i < 24; ++i) {
    const std::string number = std::to_string(i);
    spec.nodes.push_back({"identity", "left" + number, {}, {before}});
    spec.nodes.push_back({"identity", "right" + number, {}, {before}});
    before = "joined" + number;
    spec.nodes.push_back({"aggregate", before, {}, {"left" + number, "right" + number}});
  }
  spec.nodes.push_back(seen.sink());
  run(spec);
  EXPECT_EQ(seen.count(0), 5u);
  EXPECT_EQ(seen.wrong, 0);
}

TEST(Aggregate, OtherGraphsAreRefused) {
  const auto refusal = [](std::vector<NodeSpec> nodes) {
    return error_of([&] { plan_pipeline({std::move(nodes)}); }, Code::kInvalidArgument);
  };
  EXPECT_THAT(refusal({{"test", "a"}, {"test", "b"}, {"aggregate", "x", {}, {"a", "b"}}, {"null"}}),
              HasSubstr("'a' and 'b' give it different ones"));
  EXPECT_THAT(refusal({{"test", "a"}, {"aggregate", "x", {}, {"a", "a"}}, {"null"}}), HasSubstr("by 'a' twice"));
  EXPECT_THAT(refusal({{"test", "a"}, {"identity", "b"}, {"null", "c", {}, {"a", "b"}}}), HasSubstr("'aggregate'"));
  EXPECT_NO_THROW(plan_pipeline({{{"test", "a"}, {"aggregate"}, {"null"}}})) << "one branch alone";
}

/// The element by itself.
struct Out final : Output {
  std::vector<Frame> frames;
  void emit(Item item) override { frames.push_back(std::move(item.frame)); }
};
std::unique_ptr<Transform> element(const std::map<std::string, std::string>& given, std::uint32_t branches = 2,
                                   bool is_live = false) {
  auto made = std::get<std::unique_ptr<Transform>>(make_element("aggregate", given, {"x", nullptr, {0}, {}, branches}));
  made->open(0, {{kGray8, 32, 24}, 25, is_live});
  return made;
}
Item on(std::uint32_t branch, Frame frame) { return {0, std::move(frame), {}, {}, branch}; }

TEST(Aggregate, PlacesFollowTheSizeOfThePicture) {
  const auto joins = element({});
  Out out;
  Frame small = picture(0, 16, 12);
  metadata::of(small).clear();
  metadata::of(small).add(Detection{{0.5f, 1, 4.5f, 6}, "car", 0, 0.5f});
  metadata::of(small).add(Detection{{8, 6, 16, 12}, "bus", 1, 0.25f});
  joins->process(on(0, picture(0)), out);
  joins->process(on(1, std::move(small)), out);
  ASSERT_EQ(out.frames.size(), 1u);
  const auto found = metadata::find(out.frames[0])->all<Detection>();
  ASSERT_EQ(found.size(), 2u) << "the car is the same one";
  EXPECT_EQ(found[1]->box, (metadata::Box{16, 12, 32, 24}));
  EXPECT_EQ(out.frames[0].info().width_px, 32u);
}

/// The part of 16x12 at (4, 4), as large as the whole.
Frame part_of(const Frame& whole) {
  Frame part = Frame::allocate({kGray8, 32, 24});
  VideoConvertParams::carry(whole, {4, 4, 16, 12}, part);
  return part;
}

TEST(Aggregate, PlacesInAPartAreThoseInTheWhole) {
  const auto joins = element({});
  Out out;
  Frame whole = picture(0);  // The car is in the part by half.
  Tensor mask(ElementType::kU8, {10, 8});
  std::fill_n(mask.data<std::uint8_t>(), 80, std::uint8_t{1});
  metadata::of(whole).add(metadata::Segmentation{{1, 2, 9, 12}, mask, {}}, metadata::of(whole).all<Detection>()[0].id);
  Frame part = part_of(whole);
  metadata::Collection& known = metadata::of(part);
  ASSERT_EQ(known.all<Detection>()[0]->box, (metadata::Box{0, 0, 10, 16}));
  known.add(Classification{"red", 0, 1, "colours"}, known.all<Detection>()[0].id);
  known.add(Detection{{8, 6, 16, 12}, "bus", 1, 0.25f});
  Frame copy = Frame::allocate({kGray8, 32, 24});
  copy.set_timestamp_ns(0);
  metadata::set(copy, metadata::find(whole)->copy());
  joins->process(on(0, std::move(copy)), out);
  joins->process(on(1, std::move(part)), out);
  ASSERT_EQ(out.frames.size(), 1u);
  const auto all = metadata::find(out.frames[0]);
  const auto found = all->all<Detection>();
  ASSERT_EQ(found.size(), 2u) << "the car is the same one";
  EXPECT_EQ(found[0]->box, (metadata::Box{1, 2, 9, 12})) << "and whole";
  EXPECT_EQ(all->of<Classification>(found[0].id).size(), 1u);
  EXPECT_EQ(all->all<metadata::Segmentation>().size(), 1u);
  EXPECT_EQ(found[1]->box, (metadata::Box{8, 7, 12, 10}));
  EXPECT_FALSE(all->first<metadata::Placement>());
}

TEST(Aggregate, ThePartMayBeWhatGoesOn) {
  const auto joins = element({});
  Out out;
  Frame whole = picture(0);
  Frame part = part_of(whole);
  metadata::of(whole).add(Detection{{8, 7, 12, 10}, "bus", 1, 0.25f});
  metadata::of(whole).add(Detection{{24, 18, 32, 24}, "truck", 2, 0.25f});
  joins->process(on(0, std::move(part)), out);
  joins->process(on(1, std::move(whole)), out);
  ASSERT_EQ(out.frames.size(), 1u);
  const auto found = metadata::find(out.frames[0])->all<Detection>();
  ASSERT_EQ(found.size(), 2u) << "the truck is beside the part";
  EXPECT_EQ(found[1]->box, (metadata::Box{8, 6, 16, 12}));
}

TEST(Aggregate, BranchesOfAPartAreInTheSamePlace) {
  const auto joins = element({});
  Out out;
  const Frame whole = picture(0);
  Frame part = Frame::allocate({kGray8, 32, 24});
  VideoConvertParams::carry(whole, {7, 9, 23, 13}, part);  // Ratios whose inverses are not exact.
  Frame same = Frame::allocate({kGray8, 32, 24});
  same.set_timestamp_ns(0);
  metadata::set(same, metadata::find(part)->copy());
  metadata::of(same).add(Detection{{-2, 4, 6, 12}, "bus", 1, 0.25f});
  joins->process(on(0, std::move(part)), out);
  joins->process(on(1, std::move(same)), out);
  ASSERT_EQ(out.frames.size(), 1u);
  const auto found = metadata::find(out.frames[0])->all<Detection>();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[found.size() - 1]->box, (metadata::Box{-2, 4, 6, 12})) << "nothing was cut";
  EXPECT_EQ(metadata::find(out.frames[0])->all<metadata::Placement>().size(), 1u);
}

TEST(Aggregate, ABranchMayCutItsPictures) {
  Description description;
  description.name = "cut";
  description.role = Role::kTransform;
  struct Cut final : Transform {
    StreamInfo open(std::uint32_t, const StreamInfo& in) override { return in; }
    void process(Item item, Output& output) override {
      item.frame = part_of(item.frame);
      metadata::of(item.frame).add(Detection{{8, 6, 16, 12}, "bus", 1, 0.25f});
      output.emit(std::move(item));
    }
  };
  NodeSpec cut = node_of(
      {description, [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<Cut>(); }});
  cut.from = {"empty"};
  std::atomic<int> right = 0;
  // Frames of this source have no metadata of their own.
  PipelineSpec spec{{{"test", "empty", {{"frames", "5"}, {"width", "32"}, {"height", "24"}}},
                     {"identity", "left", {}, {"empty"}},
                     cut,
                     aggregate({"left", "cut"}),
                     node_of(sink_of("seen", [&](std::uint32_t, const Frame& frame) {
                       const auto found = metadata::find(frame)->all<Detection>();
                       right += found.size() == 1 && found[0]->box == metadata::Box{8, 7, 12, 10};
                     }))}};
  run(spec);
  EXPECT_EQ(right, 5);
}

TEST(Aggregate, AGapIsNotWaitedFor) {
  const auto joins = element({}, 3);
  Out out;
  joins->skip_branch(0, 1, 2, out);  // Before its frames.
  for (const std::int64_t time : {0, 1, 2}) joins->process(on(0, picture(time)), out);
  EXPECT_TRUE(out.frames.empty());
  joins->skip_branch(0, 2, 10, out);
  EXPECT_EQ(out.frames.size(), 2u);
  joins->process(on(1, picture(2)), out);
  EXPECT_EQ(out.frames.size(), 3u);
}

TEST(Aggregate, PicturesOfOtherBranchesAreReleased) {
  const auto joins = element({});
  Out out;
  auto alive = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = alive;
  Frame other = picture(7);
  other.metadata()["test.alive"] = std::move(alive);  // Lives as long as the frame.
  joins->process(on(1, std::move(other)), out);
  EXPECT_TRUE(watched.expired());
  EXPECT_TRUE(out.frames.empty());
  joins->process(on(0, picture(7)), out);
  EXPECT_EQ(out.frames.size(), 1u);
}

TEST(Aggregate, AnEndedBranchIsNotWaitedFor) {
  const auto joins = element({}, 3);
  Out out;
  for (const std::int64_t time : {0, 1, 2}) joins->process(on(0, picture(time)), out);
  joins->process(on(1, picture(0)), out);
  joins->end_branch(0, 1, out);
  EXPECT_TRUE(out.frames.empty());
  joins->process(on(2, picture(1)), out);
  EXPECT_EQ(out.frames.size(), 2u) << "the third branch has left out the first frame, and 2 may still come";
  joins->end(0, out);
  EXPECT_EQ(out.frames.size(), 3u);
}

TEST(Aggregate, TimesThatRepeatOrGoBackKeepTheirOrder) {
  const auto joins = element({});
  Out out;
  const std::vector<std::int64_t> times{10, 50, 50, 30, 90, 30};
  for (const std::int64_t time : times) joins->process(on(1, picture(time)), out);
  for (const std::int64_t time : times) joins->process(on(0, picture(time)), out);
  ASSERT_EQ(out.frames.size(), times.size());
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_EQ(out.frames[i].timestamp_ns(), times[i]);
}

TEST(Aggregate, LiveStreamsWaitLess) {
  const auto delay_of = [](bool is_live) {
    const auto made = element({}, 2, is_live);
    return made->open(0, {{kGray8, 32, 24}, 25, is_live}).delay;
  };
  EXPECT_EQ(delay_of(true), 500ms);
  EXPECT_EQ(delay_of(false), 0ms);
  const auto joins = element({{"max_delay_ms", "30"}});
  Out out;
  joins->process(on(0, picture(0)), out);
  ASSERT_TRUE(joins->due().has_value());
  EXPECT_LT(*joins->due() - Clock::now(), 31ms);
  std::this_thread::sleep_until(*joins->due());
  joins->proceed(out);
  EXPECT_EQ(out.frames.size(), 1u);
  EXPECT_FALSE(joins->due().has_value());
}

}  // namespace aggregate_test
}  // namespace tenon::elements
