// SPDX-License-Identifier: Apache-2.0
// The elements of overlay: pictures that are drawn on, joined and measured, and frames that must stay unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/testing/bytes_of.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace overlay_test {

using tenon_test::bytes_of;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

Frame grey(PixelFormat format, std::uint32_t width, std::uint32_t height, int value = 128) {
  Frame frame = Frame::allocate({format, width, height});
  for (const Tensor& plane : frame.planes())
    std::memset(plane.data(), value, static_cast<std::size_t>(plane.byte_strides()[0]) * plane.shape()[0]);
  frame.set_timestamp_ns(7);
  return frame;
}

std::uint8_t grey_at(const Frame& frame, std::size_t x, std::size_t y) {
  const Tensor& plane = frame.plane(0);
  return static_cast<const std::uint8_t*>(plane.data())[static_cast<std::size_t>(plane.byte_strides()[0]) * y + x];
}

class Overlay : public ::testing::Test {
 protected:
  std::unique_ptr<TransformInplace> inplace(const std::string& name,
                                            const std::map<std::string, std::string>& parameters = {}) {
    return std::get<std::unique_ptr<TransformInplace>>(make_element(name, parameters, {"", &ledger_}));
  }
  Ledger ledger_;
};

TEST_F(Overlay, DrawsOnACopyAndBooksIt) {
  for (const PixelFormat format : {kNv12, kI420, kRgb24, kGray8}) {
    Frame frame = grey(format, 64, 48);
    const Frame given = frame;
    metadata::of(frame).add(metadata::Detection{{8, 20, 40, 40}, "cat", 0, 0.9f, 5});
    const auto before = bytes_of(given);
    ledger_.reset();
    const auto draw = inplace("draw");
    draw->process(0, frame);
    EXPECT_EQ(bytes_of(given), before) << "the decoder's picture was changed";
    EXPECT_NE(bytes_of(frame), before);
    EXPECT_EQ(ledger_.total().copied, frame.size_bytes());
    EXPECT_EQ(frame.timestamp_ns(), 7);
    ASSERT_TRUE(metadata::find(frame));
    EXPECT_EQ(metadata::find(frame)->size(), 1u);
  }
}

TEST_F(Overlay, WhereNothingIsToBeDrawnNothingIsCopied) {
  Frame frame = grey(kNv12, 64, 48);
  const void* const data = frame.plane(0).data();
  inplace("draw")->process(0, frame);
  metadata::of(frame).add(metadata::Detection{{8, 20, 40, 40}, "cat", 0, 0.9f, 5});
  inplace("draw", {{"boxes", "false"}})->process(0, frame);
  EXPECT_EQ(frame.plane(0).data(), data);
  EXPECT_EQ(ledger_.total().copied, 0u);
}

TEST_F(Overlay, DrawsBoxesMasksPointsAndTextsWhereTheyAre) {
  const auto drawn = [&](auto add, const std::map<std::string, std::string>& parameters = {}) {
    Frame frame = grey(kGray8, 100, 80, 0);
    add(metadata::of(frame));
    inplace("draw", parameters)->process(0, frame);
    return frame;
  };
  const Frame box = drawn(
      [](auto& known) {
        known.add(metadata::Detection{{10, 40, 50, 70}, "", 0, 1});
      },
      {{"labels", "false"}, {"thickness", "2"}});
  EXPECT_GT(grey_at(box, 10, 55), 50);
  EXPECT_GT(grey_at(box, 11, 55), 50);
  EXPECT_EQ(grey_at(box, 12, 55), 0);
  EXPECT_EQ(grey_at(box, 55, 55), 0);
  const Frame mask = drawn([](auto& known) {
    Tensor cells(ElementType::kU8, {1, 2});
    cells.data<std::uint8_t>()[0] = 0, cells.data<std::uint8_t>()[1] = 1;
    known.add(metadata::Segmentation{{20, 20, 60, 60}, cells, {"", "cat"}});
  });
  EXPECT_EQ(grey_at(mask, 38, 40), 0) << "the mask's left half is empty";
  EXPECT_GT(grey_at(mask, 42, 40), 20);
  EXPECT_GT(grey_at(mask, 59, 59), 20);
  EXPECT_EQ(grey_at(mask, 61, 40), 0);
  const Frame points = drawn([](auto& known) {
    Tensor where(ElementType::kF32, {2, 3});
    const float values[] = {30, 30, 0.9f, 70, 30, 0.1f};
    std::memcpy(where.data(), values, sizeof values);
    known.add(metadata::TensorOutput{where, "points", "", "keypoints"});
  });
  EXPECT_GT(grey_at(points, 30, 30), 20);
  EXPECT_EQ(grey_at(points, 70, 30), 0) << "a point that was not seen";
  const Frame outline = drawn([](auto& known) {
    Tensor corners(ElementType::kF32, {3, 2});
    const float values[] = {20, 20, 80, 20, 50, 70};
    std::memcpy(corners.data(), values, sizeof values);
    known.add(metadata::TensorOutput{corners, "corners", "", "polygon"});
  });
  EXPECT_GT(grey_at(outline, 50, 20), 20) << "a side";
  EXPECT_GT(grey_at(outline, 35, 45), 20) << "the side that closes it";
  EXPECT_EQ(grey_at(outline, 50, 40), 0) << "the inside";
  const Frame text = drawn([](auto& known) { known.add(metadata::Classification{"night", 0, 0.5f, ""}); });
  const auto all = bytes_of(text);
  EXPECT_GT(std::accumulate(all.begin(), all.begin() + 100 * 12, 0), 1000);
}

TEST_F(Overlay, WhatLiesOutsideOrIsNoNumberDoesNoHarm) {
  Frame frame = grey(kI420, 33, 17);
  Tensor where(ElementType::kF32, {17, 2});
  for (int i = 0; i < 34; ++i) where.data<float>()[i] = i % 3 ? 1e30f : -1e30f;
  where.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  auto& known = metadata::of(frame);
  known.add(metadata::TensorOutput{where, "points", "", "keypoints"});
  known.add(metadata::TensorOutput{where, "corners", "", "polygon"});
  known.add(metadata::TensorOutput{Tensor(ElementType::kF32, {0, 2}), "corners", "", "polygon"});
  known.add(metadata::Detection{{-1e9f, -5, 1e9f, 900}, "wide", 1, 2});
  known.add(metadata::Segmentation{{-50, -50, 500, 5}, Tensor(ElementType::kU8, {3, 3}), {}});
  known.add(metadata::Segmentation{{5, 5, 5, 5}, Tensor(ElementType::kU8, {0, 3}), {}});
  inplace("draw")->process(0, frame);
}

TEST_F(Overlay, HistogramCountsEverySample) {
  Frame frame = grey(kNv12, 10, 6, 0);
  auto* luma = static_cast<std::uint8_t*>(frame.plane(0).data());
  luma[0] = 255, luma[1] = 64;
  inplace("histogram", {{"bins", "4"}})->process(0, frame);
  const auto found = metadata::find(frame)->first<metadata::TensorOutput>();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->format, "YUV");
  ASSERT_EQ(found->tensor.shape(), (Shape{3, 4}));
  const auto* counts = found->tensor.data<std::int32_t>();
  EXPECT_EQ((std::vector<std::int32_t>(counts, counts + 12)),
            (std::vector<std::int32_t>{58, 1, 0, 1, 15, 0, 0, 0, 15, 0, 0, 0}));
}

TEST_F(Overlay, NormaliseGivesTheModelsNumbers) {
  Frame frame = Frame::allocate({kRgb24, 2, 1});
  const std::uint8_t pixels[] = {10, 20, 30, 40, 50, 60};
  std::memcpy(frame.plane(0).data(), pixels, sizeof pixels);
  inplace("normalise", {{"mean", "10,20,30"}, {"scale", "2"}})->process(0, frame);
  inplace("normalise", {{"layout", "nhwc"}, {"channels", "bgr"}, {"scale", "1"}, {"name", "raw"}})->process(0, frame);
  const auto all = metadata::find(frame)->all<metadata::TensorOutput>();
  ASSERT_EQ(all.size(), 2u);
  ASSERT_EQ(all[0]->tensor.shape(), (Shape{1, 3, 1, 2}));
  const float* planar = all[0]->tensor.data<float>();
  const float wanted[] = {0, 15, 0, 15, 0, 15};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(planar[i], wanted[i], 0.02f) << i;
  ASSERT_EQ(all[1]->tensor.shape(), (Shape{1, 1, 2, 3}));
  EXPECT_NEAR(all[1]->tensor.data<float>()[0], 30, 0.02f);
  EXPECT_THAT(error_of(
                  [&] {
                    inplace("normalise", {{"mean", "1,2"}});
                  },
                  Code::kInvalidArgument),
              HasSubstr("parameter 'mean' is '1,2'; it must be one number, or three"));
  EXPECT_THAT(error_of([&] { inplace("normalise", {{"scale", "0"}}); }, Code::kInvalidArgument), HasSubstr("has a 0"));
}

/// Gives frames to an element, and keeps those that it emits.
class Gives final : public Source {
 public:
  Gives(Frame frame, int count) : frame_(std::move(frame)), count_(count) {}
  StreamInfo open(Deadline) override { return {frame_.info(), 30, false}; }
  std::optional<Frame> read(Deadline) override {
    if (next_ == count_) return std::nullopt;
    Frame frame = frame_;
    frame.set_timestamp_ns(next_++ * 33'333'333);
    return frame;
  }

 private:
  Frame frame_;
  const int count_;
  int next_ = 0;
};
class Keeps final : public Sink {
 public:
  explicit Keeps(std::vector<Item>& kept) : kept_(kept) {}
  void write(std::uint32_t stream, const Frame& frame) override { kept_.push_back({stream, frame}); }

 private:
  std::vector<Item>& kept_;
};

NodeSpec own(std::string name, Role role, std::function<AnyElement()> make) {
  NodeSpec node;
  node.element = node.name = name;
  Description description;
  description.name = name;
  description.role = role;
  node.own = std::make_shared<const KnownElement>(
      KnownElement{description, [make](const Parameters&, const Environment&) { return make(); }});
  return node;
}

TEST_F(Overlay, AMosaicIsOneStreamOfAllWithTheirObjects) {
  Frame dark = grey(kGray8, 40, 40, 50), light = grey(kNv12, 80, 40, 200);
  metadata::of(light).add(metadata::Detection{{0, 0, 40, 40}, "half", 1, 1});
  std::vector<Item> kept;
  PipelineSpec spec;
  spec.nodes.push_back(own("a", Role::kSource, [&] { return std::make_unique<Gives>(dark, 3); }));
  spec.nodes.push_back(own("b", Role::kSource, [&] { return std::make_unique<Gives>(light, 6); }));
  spec.nodes.push_back(
      {"mosaic", "", {{"width", "160"}, {"height", "80"}, {"titles", "false"}, {"wait_ms", "10000"}}, {"a", "b"}});
  spec.nodes.push_back(own("end", Role::kSink, [&] { return std::make_unique<Keeps>(kept); }));
  Pipeline pipeline(spec);
  EXPECT_EQ(pipeline.plan().nodes[3].streams, std::vector<std::uint32_t>{2}) << "a number of its own";
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 20s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  EXPECT_EQ(kept.size(), 6u);
  std::int64_t before = -1;
  for (const Item& item : kept) {
    EXPECT_EQ(item.stream, 2u);
    EXPECT_GT(item.frame.timestamp_ns(), before);
    before = item.frame.timestamp_ns();
  }
  const Frame& last = kept.back().frame;
  ASSERT_EQ(last.info().width_px, 160u);
  EXPECT_GT(grey_at(last, 3 * 40, 40), 20) << "a, in the left half";
  EXPECT_GT(grey_at(last, 3 * 120, 40), 150) << "b, in the right half";
  EXPECT_EQ(grey_at(last, 3 * 120, 5), 0) << "above b, which is wider than its place";
  const auto object = metadata::find(last)->first<metadata::Detection>();
  ASSERT_TRUE(object);
  EXPECT_EQ(object->box, (metadata::Box{80, 20, 120, 60}));
}

/// A mosaic of two streams side by side, 80 x 40 pixels, called as a pipeline does.
class MosaicInTime : public Overlay, public Output {
 protected:
  void make(std::map<std::string, std::string> parameters = {}) {
    parameters.insert({{"width", "80"}, {"height", "40"}, {"titles", "false"}});
    mosaic_ = std::get<std::unique_ptr<Transform>>(make_element("mosaic", parameters, {"", &ledger_, {0, 1}}));
  }
  void open(std::uint32_t stream, double fps, bool is_live = false) {
    mosaic_->open(stream, {{kGray8, 40, 40}, fps, is_live});
  }
  void give(std::uint32_t stream, std::int64_t at_ms, int value, const metadata::Collection* known = nullptr) {
    Frame frame = grey(kGray8, 40, 40, value);
    frame.set_timestamp_ns(at_ms * 1'000'000);
    if (known) metadata::set(frame, known->copy());
    mosaic_->process({stream, frame}, *this);
  }
  void emit(Item item) override {
    const Frame& frame = item.frame;
    shown_.push_back(
        {frame.timestamp_ns(), {grey_at(frame, 3 * 20, 20), grey_at(frame, 3 * 60, 20)}, metadata::find(frame)});
    if (holds_) held_.push_back(frame);
  }
  int shown(std::size_t picture, std::uint32_t stream) const { return shown_.at(picture).grey[stream]; }
  std::int64_t time_ms(std::size_t picture) const { return shown_.at(picture).time_ns / 1'000'000; }

  struct Shown {
    std::int64_t time_ns;
    int grey[2];  ///< In the middle of each stream's place.
    std::shared_ptr<const metadata::Collection> known;
  };
  std::unique_ptr<Transform> mosaic_;
  std::vector<Shown> shown_;
  std::vector<Frame> held_;
  bool holds_ = false;
};

TEST_F(MosaicInTime, StreamsOfDifferentRatesPlayAtTheirSpeed) {
  make();
  open(0, 30);
  open(1, 10);
  // Frames come by turns, as from two files: the slow stream is far ahead.
  for (int i = 0; i < 60; ++i) {
    give(0, i * 100 / 3, 20 + 3 * i);
    if (i < 10) give(1, i * 100, 40 + 20 * i);
    if (i == 9) mosaic_->end(1, *this);
  }
  mosaic_->end(0, *this);
  ASSERT_EQ(shown_.size(), 60u);
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    EXPECT_EQ(time_ms(i), static_cast<std::int64_t>(i) * 100 / 3) << i;
    if (i == 0) continue;
    EXPECT_GT(shown(i, 0), shown(i - 1, 0)) << "the fast one has a new picture each time, " << i;
    if (i % 3 == 0 && i < 30)
      EXPECT_GT(shown(i, 1), shown(i - 1, 1)) << i;
    else
      EXPECT_EQ(shown(i, 1), shown(i - 1, 1)) << i;
  }
}

TEST_F(MosaicInTime, OfAStreamThatIsFarAheadEverySecondPictureIsLeftOut) {
  make({{"ahead", "8"}});
  open(0, 30);
  open(1, 30);
  for (int i = 0; i < 300; ++i) give(0, i * 100 / 3, i * 200 / 300 + 20);
  EXPECT_TRUE(shown_.empty()) << "the other one is waited for";
  for (int i = 0; i < 300; ++i) give(1, i * 100 / 3, i * 200 / 300 + 20);
  ASSERT_EQ(shown_.size(), 300u);
  int changes = 0;
  for (std::size_t i = 1; i < shown_.size(); ++i) {
    changes += shown(i, 0) != shown(i - 1, 0);
    EXPECT_LE(shown(i, 0), shown(i, 1)) << "too early, " << i;
  }
  EXPECT_EQ(shown(299, 0), shown(299, 1));
  EXPECT_GE(changes, 3);
  EXPECT_LE(changes, 8);
}

TEST_F(MosaicInTime, ALiveStreamIsNotWaitedForLong) {
  bool is_in_time = false;
  for (int i = 0; i < 20 && !is_in_time;
       ++i) {  // On a busy machine the wait may be over between two frames: then once more.
    shown_.clear();
    make({{"wait_ms", "500"}});
    open(0, 30, true);
    open(1, 30, true);
    give(1, 0, 100);
    give(0, 0, 100);
    EXPECT_EQ(shown_.size(), 1u) << "both are there";
    const auto begin = Clock::now();
    give(0, 33, 110);
    give(0, 67, 120);
    is_in_time = Clock::now() - begin < 500ms;
  }
  EXPECT_EQ(shown_.size(), 1u);
  const auto due = mosaic_->due();
  ASSERT_TRUE(due);
  EXPECT_LE(*due, Clock::now() + 500ms);
  while (mosaic_->due()) {
    std::this_thread::sleep_until(*mosaic_->due());
    mosaic_->proceed(*this);
  }
  EXPECT_EQ(shown_.size(), 3u);
  give(1, 33, 200);  // It is late, and is seen in the next picture.
  give(0, 100, 130);
  give(1, 67, 210);
  ASSERT_EQ(shown_.size(), 4u);
  EXPECT_GT(shown(3, 1), shown(2, 1));
  // A file is waited for, however long it takes.
  make({{"wait_ms", "1"}});
  open(0, 30);
  open(1, 30);
  give(0, 0, 100);
  give(1, 0, 100);
  give(0, 33, 100);
  EXPECT_FALSE(mosaic_->due());
}

TEST_F(MosaicInTime, StreamsThatJoinLaterOrStartAnewGoOnFromThere) {
  make();
  open(0, 10);
  mosaic_->open(1, {{kGray8, 40, 40}, 10});
  mosaic_->end(1, *this);
  for (int i = 0; i < 5; ++i) give(0, 5000 + i * 100, 20 + i);
  ASSERT_EQ(shown_.size(), 5u);
  EXPECT_EQ(time_ms(0), 0) << "time begins with the first picture";
  open(1, 10);
  for (int i = 0; i < 3; ++i) {
    give(0, 5500 + i * 100, 60 + i);
    give(1, i * 100, 100 + 20 * i);
  }
  ASSERT_EQ(shown_.size(), 11u) << "five of one, then three of each, which come at different times";
  EXPECT_GT(shown(10, 1), shown(6, 1));
  // A clock that is set back, and invalid times.
  give(0, 0, 50);
  give(1, 400, 200);
  give(0, std::numeric_limits<std::int64_t>::max() / 2'000'000, 50);
  give(1, std::numeric_limits<std::int64_t>::max() / 2'000'000, 50);
  give(0, -1'000'000'000'000, 50);
  for (std::size_t i = 1; i < shown_.size(); ++i) EXPECT_GT(shown_[i].time_ns, shown_[i - 1].time_ns) << i;
}

TEST_F(MosaicInTime, AFileThatTakesLongToOpenIsInTimeNevertheless) {
  make({{"wait_ms", "1"}});
  open(0, 30);
  for (int i = 0; i < 10; ++i) {
    give(0, i * 100 / 3, 50);
    std::this_thread::sleep_for(5ms);
    mosaic_->proceed(*this);
  }
  ASSERT_EQ(shown_.size(), 10u) << "a stream that has not begun is not waited for long";
  open(1, 30);
  for (int i = 10; i < 20; ++i) give(0, i * 100 / 3, 50);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(shown_.size(), static_cast<std::size_t>(std::max(i, 10)));
    give(1, i * 100 / 3, 50 + 5 * i);
  }
  ASSERT_EQ(shown_.size(), 20u);
  EXPECT_EQ(time_ms(19), 633);
  for (std::size_t i = 11; i < 20; ++i) EXPECT_GT(shown(i, 1), shown(i - 1, 1)) << i;
}

TEST_F(MosaicInTime, MasksAndPointsMoveWithTheirObjects) {
  make();
  open(0, 30);
  open(1, 30);
  metadata::Collection known;
  const auto object = known.add(metadata::Detection{{0, 10, 20, 30}, "cat", 1, 1});
  const auto part = known.add(metadata::Detection{{1, 2, 3, 4}, "ear", 2, 1}, object);
  known.add(metadata::Classification{"black", 0, 1, ""}, part);
  known.add(metadata::Segmentation{{0, 10, 20, 30}, Tensor(ElementType::kU8, {2, 2}), {}}, object);
  Tensor where(ElementType::kF32, {1, 3});
  where.data<float>()[0] = 7, where.data<float>()[1] = 9, where.data<float>()[2] = 0.5f;
  known.add(metadata::TensorOutput{where, "points", "", "keypoints"}, object);
  known.add(metadata::TensorOutput{where, "whole", "", "embedding"});
  give(0, 0, 50);
  give(1, 0, 50, &known);
  ASSERT_EQ(shown_.size(), 1u);
  const auto& moved = shown_[0].known;
  const auto objects = moved->all<metadata::Detection>();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0]->box, (metadata::Box{40, 10, 60, 30}));
  EXPECT_EQ(objects[1].parent, objects[0].id);
  EXPECT_EQ(moved->of<metadata::Classification>(objects[1].id).size(), 1u);
  const auto masks = moved->of<metadata::Segmentation>(objects[0].id);
  ASSERT_EQ(masks.size(), 1u);
  EXPECT_EQ(masks[0]->box, (metadata::Box{40, 10, 60, 30}));
  const auto points = moved->all<metadata::TensorOutput>();
  ASSERT_EQ(points.size(), 1u) << "an embedding of one stream is none of the mosaic";
  EXPECT_EQ(points[0].parent, objects[0].id);
  const float* const point = points[0]->tensor.data<float>();
  EXPECT_EQ((std::vector<float>{point[0], point[1], point[2]}), (std::vector<float>{47, 9, 0.5f}));
  EXPECT_EQ(where.data<float>()[0], 7) << "the stream's own";
}

TEST_F(MosaicInTime, AnInterruptEndsTheWaitForFramesThatOthersHold) {
  make();
  open(0, 30);
  mosaic_->open(1, {{kGray8, 40, 40}, 30});
  mosaic_->end(1, *this);
  const auto begin = Clock::now();
  std::thread stops([this] {
    std::this_thread::sleep_for(200ms);
    mosaic_->interrupt();
  });
  holds_ = true;
  for (int i = 0; i < 100; ++i) give(0, i * 100 / 3, 50);
  stops.join();
  EXPECT_LT(Clock::now() - begin, 20s);
  EXPECT_LT(shown_.size(), 100u);
}

TEST_F(Overlay, AMosaicOfAPipelineFileRuns) {
  PipelineSpec spec = parse_pipeline(R"({"nodes": [
      {"element": "test", "name": "a", "parameters": {"frames": 20}},
      {"element": "test", "name": "b", "parameters": {"frames": 30, "width": 320}},
      {"element": "test", "name": "c", "parameters": {"frames": 10, "width": 1920, "height": 1080}},
      {"element": "mosaic", "from": ["a", "b", "c"]}, {"element": "draw"}, {"element": "null"}]})");
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 30s));
  EXPECT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  EXPECT_GE(pipeline.stats().back().frames_in, 10u);
}

}  // namespace overlay_test
}  // namespace tenon::elements
