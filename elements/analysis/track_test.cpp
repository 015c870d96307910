// SPDX-License-Identifier: Apache-2.0
// The element "track" in pipelines: it counts each stream for itself, and from the start after a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/vision/results.hpp>

namespace tenon::elements {
namespace track_test {

using namespace std::chrono_literals;

/// Two objects that move: one to the right, one to the left.
class Moving final : public TransformInplace {
 public:
  void process(std::uint32_t stream, Frame& frame) override {
    const float t = static_cast<float>(frame_++) * 4, y = static_cast<float>(stream) * 10;
    frame = Frame(frame);
    metadata::set(frame, std::make_shared<metadata::Collection>());
    metadata::of(frame).add(metadata::Detection{{t, y, t + 40, y + 40}, "a", 0, 0.9f, -1});
    metadata::of(frame).add(metadata::Detection{{400 - t, y, 440 - t, y + 40}, "b", 1, 0.9f, -1});
    metadata::of(frame).add(metadata::Detection{{0, 300, 40, 340}, "c", 2, 0.1f, -1});
  }

 private:
  int frame_ = 0;
};

std::mutex mutex;
std::map<std::uint32_t, std::map<std::string, std::set<std::int64_t>>> ids;

class Ids final : public Sink {
 public:
  void write(std::uint32_t stream, const Frame& frame) override {
    const std::lock_guard lock(mutex);
    for (const auto& one : metadata::find(frame)->all<metadata::Detection>())
      ids[stream][one->label].insert(one->track_id);
  }
};

TEST(TrackElement, CountsEachStreamForItself) {
  register_element({"moving", "Adds objects"},
                   [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<Moving>(); });
  register_element({"ids", "Keeps ids", Role::kSink, {}, true, true},
                   [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<Ids>(); });
  Pipeline pipeline({{{"test", "one", {{"frames", "90"}}},
                      {"test", "two", {{"frames", "50"}}},
                      {"moving", "", {}, {"one", "two"}},
                      {"track"},
                      {"ids"}}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 30s));
  ASSERT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  for (const std::uint32_t stream : {0u, 1u}) {
    EXPECT_EQ(ids[stream]["a"], (std::set<std::int64_t>{1}));
    EXPECT_EQ(ids[stream]["b"], (std::set<std::int64_t>{2}));
    EXPECT_EQ(ids[stream]["c"], (std::set<std::int64_t>{-1})) << "too weak to begin a track";
  }
}

/// One object that moves to the right; a model looks at every third frame, where it is found.
class EveryThird final : public TransformInplace {
 public:
  void process(std::uint32_t, Frame& frame) override {
    const auto n = frame_++;
    const float t = static_cast<float>(n) * 4;
    frame = Frame(frame);
    metadata::set(frame, std::make_shared<metadata::Collection>());
    if (n % 3 == 0)
      metadata::of(frame).add(metadata::Detection{{t, 20, t + 40, 60}, "a", 5, n % 6 == 3 ? 0.3f : 0.9f, -1});
    else
      metadata::of(frame).add(metadata::NotLookedAt{"model"});
  }

 private:
  int frame_ = 0;
};

std::vector<std::vector<metadata::Detection>> seen;

class Seen final : public Sink {
 public:
  void write(std::uint32_t, const Frame& frame) override {
    const std::lock_guard lock(mutex);
    auto& here = seen.emplace_back();
    for (const auto& one : metadata::find(frame)->all<metadata::Detection>()) here.push_back(*one.value);
  }
};

TEST(TrackElement, GivesPlacesInFramesThatNoModelLookedAt) {
  register_element({"every_third", "Adds objects"},
                   [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<EveryThird>(); });
  register_element({"seen", "Keeps objects", Role::kSink, {}, true, true},
                   [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<Seen>(); });
  for (const char* confirm : {"1", "3"}) {
    seen.clear();
    Pipeline pipeline({{{"test", "one", {{"frames", "61"}, {"width", "320"}, {"height", "240"}}},
                        {"every_third"},
                        {"track", "", {{"confirm", confirm}}},
                        {"seen"}}});
    pipeline.start();
    ASSERT_TRUE(pipeline.wait(Clock::now() + 30s));
    ASSERT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
    ASSERT_EQ(seen.size(), 61u);
    for (std::size_t n = 12; n < seen.size(); ++n) {
      ASSERT_EQ(seen[n].size(), 1u) << n;
      const metadata::Detection& object = seen[n][0];
      EXPECT_EQ(object.track_id, 1) << n << " with confirm " << confirm;
      EXPECT_EQ(object.label, "a");
      EXPECT_EQ(object.label_id, 5);
      EXPECT_NEAR(object.box.x1, static_cast<float>(n) * 4, 3) << n;
      EXPECT_NEAR(object.box.x2, static_cast<float>(n) * 4 + 40, 3) << n;
    }
  }
}

/// An object with an embedding, or without.
Frame person(float x, const std::vector<float>& look) {
  Frame frame = Frame::allocate({kGray8, 640, 360});
  metadata::Collection& known = metadata::of(frame);
  const auto object = known.add(metadata::Detection{{x, 100, x + 40, 200}, "person", 0, 0.9f, -1});
  if (look.empty()) return frame;
  Tensor values(ElementType::kF32, Shape{look.size()});
  std::copy(look.begin(), look.end(), values.data<float>());
  known.add(metadata::TensorOutput{values, "embedding", "reid", "embedding"}, object);
  return frame;
}

std::int64_t id_after(TransformInplace& track, Frame frame) {
  track.process(0, frame);
  return metadata::find(frame)->all<metadata::Detection>()[0]->track_id;
}

std::unique_ptr<TransformInplace> track(const std::map<std::string, std::string>& given) {
  auto made = std::get<std::unique_ptr<TransformInplace>>(make_element("track", given, {"follow", nullptr}));
  made->open(0, {});
  return made;
}

TEST(TrackElement, KnowsObjectsAgainByTheirEmbeddings) {
  for (const char* appearance : {"true", "false"}) {
    const auto element = track({{"appearance", appearance}});
    for (int i = 0; i < 5; ++i) EXPECT_EQ(id_after(*element, person(100, {1, 0, 0.1f})), 1);
    for (int i = 0; i < 5; ++i) {
      Frame empty = Frame::allocate({kGray8, 640, 360});
      element->process(0, empty);
    }
    EXPECT_EQ(id_after(*element, person(400, {0, 1, 0})), 2);
    EXPECT_EQ(id_after(*element, person(550, {2, 0.1f, 0})), std::string(appearance) == "true" ? 1 : 3);
  }
}

/// What a model gave of an object, without a decoder.
Frame raw_person(float x, const Shape& shape, const std::vector<float>& look) {
  Frame frame = person(x, {});
  Tensor values(ElementType::kF32, shape);
  std::copy(look.begin(), look.end(), values.data<float>());
  metadata::of(frame).add(metadata::TensorOutput{values, "features", "reid", ""}, 1);
  return frame;
}

TEST(TrackElement, TakesEmbeddingsThatNothingDecoded) {
  for (const char* raw : {"true", "false"}) {
    for (const Shape& shape : {Shape{3}, Shape{1, 3}, Shape{1, 3, 1, 1}}) {
      const auto element = track({{"appearance", "true"}, {"raw_embeddings", raw}});
      for (int i = 0; i < 3; ++i) EXPECT_EQ(id_after(*element, raw_person(100, shape, {1, 0, 0.1f})), 1);
      Frame empty = Frame::allocate({kGray8, 640, 360});
      element->process(0, empty);
      EXPECT_EQ(id_after(*element, raw_person(550, shape, {2, 0, 0})), std::string(raw) == "true" ? 1 : 2);
    }
  }
  // A map of the object is no embedding.
  const auto element = track({{"appearance", "true"}, {"raw_embeddings", "true"}});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(id_after(*element, raw_person(100, {2, 2}, {1, 0, 0, 0})), 1);
  EXPECT_EQ(id_after(*element, raw_person(550, {2, 2}, {1, 0, 0, 0})), 2);
}

TEST(TrackElement, KnowsObjectsLongerByTheirEmbeddingsThanByTheirPlace) {
  for (const char* more : {"0", "10"}) {
    for (const bool is_same : {true, false}) {
      const auto element = track({{"appearance", "true"}, {"keep", "5"}, {"appearance_keep", more}});
      for (int i = 0; i < 3; ++i) EXPECT_EQ(id_after(*element, person(100, {1, 0, 0})), 1);
      for (int i = 0; i < 12; ++i) {
        Frame empty = Frame::allocate({kGray8, 640, 360});
        element->process(0, empty);
      }
      const std::int64_t wanted = is_same && std::string(more) == "10" ? 1 : 2;
      EXPECT_EQ(id_after(*element, person(104, is_same ? std::vector<float>{1, 0.1f, 0} : std::vector<float>{0, 1, 0})),
                wanted)
          << "where it was, after twelve frames, with appearance_keep=" << more;
    }
  }
}

TEST(TrackElement, FollowsTheObjectsThatItIsTold) {
  const auto ids_of = [](const std::map<std::string, std::string>& given) {
    const auto element = track(given);
    std::vector<std::int64_t> all;
    for (int i = 0; i < 2; ++i) {
      Frame frame = Frame::allocate({kGray8, 640, 360});
      metadata::Collection& known = metadata::of(frame);
      for (const auto& [x, label] : {std::pair(0.0f, "car"), std::pair(100.0f, "person"), std::pair(200.0f, "person")})
        known.add(metadata::Detection{{x, 0, x + 40, 40}, label, label == std::string("car"), 0.9f, -1});
      element->process(0, frame);
      all.clear();
      for (const auto& object : known.all<metadata::Detection>()) all.push_back(object->track_id);
    }
    return all;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(ids_of({}), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids_of({{"labels", "person"}}), ElementsAre(-1, 1, 2));
  EXPECT_THAT(ids_of({{"labels", "person,car"}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids_of({{"max_objects", "2"}}), ElementsAre(1, 2, -1));
}

TEST(TrackElement, ObjectsHaveOneIdInAllCamerasOfAGallery) {
  const std::map<std::string, std::string> given{{"appearance", "true"}, {"gallery", "site"}};
  auto door = track(given), yard = track(given);
  const auto other = track({{"appearance", "true"}, {"gallery", "other"}});
  EXPECT_EQ(id_after(*door, person(100, {1, 0, 0})), 1);
  EXPECT_EQ(id_after(*door, person(104, {})), 1);
  EXPECT_EQ(id_after(*yard, person(300, {})), -1) << "nothing is known of it yet";
  EXPECT_EQ(id_after(*yard, person(300, {0, 1, 0})), 2);
  EXPECT_EQ(id_after(*other, person(300, {0, 1, 0})), 1);
  for (int i = 0; i < 40; ++i) {
    Frame empty = Frame::allocate({kGray8, 640, 360});
    yard->process(0, empty);
  }
  EXPECT_EQ(id_after(*yard, person(10, {1, 0.1f, 0})), 1) << "it has come from the door";
  Frame skipped = Frame::allocate({kGray8, 640, 360});
  metadata::of(skipped).add(metadata::NotLookedAt{"model"});
  yard->process(0, skipped);
  EXPECT_EQ(metadata::find(skipped)->first<metadata::Detection>()->track_id, 1);
  yard->open(0, {});
  EXPECT_EQ(id_after(*yard, person(10, {0, 1, 0})), 2) << "also after a restart";

  EXPECT_THAT(error_of(
                  [] {
                    track({{"gallery", "site"}});
                  },
                  Code::kInvalidArgument),
              ::testing::HasSubstr("set appearance=true"));
  EXPECT_THAT(error_of(
                  [] {
                    track({{"appearance", "true"}, {"gallery", "site"}, {"gallery_keep_s", "1"}});
                  },
                  Code::kInvalidArgument),
              ::testing::HasSubstr("give all of them the same"));
  door.reset(), yard.reset();
  EXPECT_EQ(id_after(*track(given), person(1, {0, 0, 1})), 1) << "a gallery that no tracker has is gone";
}

TEST(TrackElement, SaysWhatIsWrongWithEmbeddings) {
  const auto lengths = track({{"appearance", "true"}});
  Frame frame = person(100, {1, 0});
  metadata::Collection& known = metadata::of(frame);
  const auto other = known.add(metadata::Detection{{300, 100, 340, 200}, "person", 0, 0.9f, -1});
  known.add(metadata::TensorOutput{Tensor(ElementType::kF32, Shape{3}), "embedding", "", "embedding"}, other);
  EXPECT_THAT(error_of([&] { lengths->process(0, frame); }, Code::kFailedPrecondition),
              ::testing::HasSubstr("'follow' (track): objects have embeddings of 2 and of 3 numbers"));
  const auto none = track({{"appearance", "true"}});
  std::size_t remarks = 0;
  for (int i = 0; i < 100; ++i) {
    Frame bare = person(100, {});
    none->process(0, bare);
    for (const auto& remark : metadata::find(bare)->all<vision::ModelRemark>()) {
      ++remarks;
      EXPECT_THAT(remark->text, ::testing::HasSubstr("decode=embedding before it"));
    }
  }
  EXPECT_EQ(remarks, 1u);
}

/// Frames of another process bring what it likes: each object has as many numbers as the one that has an embedding.
TEST(TrackElement, RefusesEmbeddingsThatFillTheMemory) {
  const auto answer = [](std::size_t objects, std::size_t numbers) {
    Frame frame = person(100, std::vector<float>(numbers, 1));
    for (std::size_t i = 1; i < objects; ++i)
      metadata::of(frame).add(metadata::Detection{{0, 0, 1, 1}, "person", 0, 0.1f, -1});
    return error_of([&] { track({{"appearance", "true"}})->process(0, frame); }, Code::kResourceExhausted);
  };
  EXPECT_THAT(answer(1, 4'000'000),
              ::testing::HasSubstr("'follow' (track): 1 objects with an embedding of 4000000 numbers, "
                                   "expected at most 16384 numbers for an object"));
  EXPECT_THAT(answer(2000, 16'000), ::testing::HasSubstr("2000 objects with an embedding of 16000 numbers"));
  EXPECT_EQ(id_after(*track({{"appearance", "true"}}), person(100, std::vector<float>(16'384, 1))), 1);
}

TEST(TrackElement, RefusesFramesOfTooManyObjects) {
  const auto with = [](std::size_t objects) {
    Frame frame = person(100, {});
    for (std::size_t i = 1; i < objects; ++i)
      metadata::of(frame).add(metadata::Detection{{0, 0, 1, 1}, "person", 0, 0.1f, -1});
    return frame;
  };
  Frame many = with(4097), most = with(4096);
  EXPECT_THAT(error_of([&] { track({})->process(0, many); }, Code::kResourceExhausted),
              ::testing::HasSubstr("'follow' (track): a frame with 4097 objects, expected at most 4096; raise"));
  EXPECT_EQ(id_after(*track({}), most), 1);
}

/// A pattern without repetition, seen by a camera that has moved to the left by `x`.
Frame view(int x) {
  Frame frame = Frame::allocate({kGray8, 640, 360});
  for (int row = 0; row < 360; ++row) {
    auto* const pixels = static_cast<std::uint8_t*>(frame.plane(0).data()) + frame.plane(0).byte_strides()[0] * row;
    for (int column = 0; column < 640; ++column) {
      const unsigned at = static_cast<unsigned>((column - x + 4000) / 12 * 7919 + row / 12 * 104729);
      pixels[column] = static_cast<std::uint8_t>((at * 2654435761u) >> 24);
    }
  }
  return frame;
}

TEST(TrackElement, FollowsACameraThatJerks) {
  for (const char* follows : {"true", "false"}) {
    const auto element = track({{"camera_motion", follows}});
    std::set<std::int64_t> seen_ids;
    for (const int x : {0, 30, -10, 20, 55, 20, 50, 15}) {
      Frame frame = view(x);
      const auto left = static_cast<float>(200 + x);
      metadata::of(frame).add(metadata::Detection{{left, 100, left + 16, 140}, "cup", 0, 0.9f, -1});
      seen_ids.insert(id_after(*element, frame));
    }
    EXPECT_EQ(seen_ids.size() == 1, std::string(follows) == "true") << seen_ids.size();
  }
}

}  // namespace track_test
}  // namespace tenon::elements
