// SPDX-License-Identifier: Apache-2.0
// Objects that several cameras see.
#include <tenon/vision/gallery.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <tenon/core/error.hpp>

namespace gallery_test {

using namespace std::chrono_literals;
using tenon::Clock;
using tenon::vision::Gallery;
using Ids = std::vector<std::int64_t>;

/// Features that point in a direction of a plane: two that differ by `a` radians have the distance (1 - cos a) / 2.
std::vector<float> look(double angle) {
  return {static_cast<float>(3 * std::cos(angle)), static_cast<float>(3 * std::sin(angle))};
}

struct Cameras {
  explicit Cameras(const tenon::vision::GalleryOptions& options = {}) : gallery(options) {}
  struct One {
    std::int64_t track;
    std::vector<float> look;
    int label = 0;
  };
  Ids see(std::uint32_t camera, const std::vector<One>& tracks) {
    std::vector<Gallery::Seen> seen;
    for (const One& one : tracks) seen.push_back({one.track, one.label, one.look});
    Ids ids;
    gallery.find(camera, now, seen, ids);
    return ids;
  }
  Gallery gallery;
  Clock::time_point now = Clock::time_point(1h);
  std::uint32_t door = gallery.add_camera(), yard = gallery.add_camera();
};

TEST(Gallery, AnObjectHasOneIdInAllCameras) {
  Cameras c;
  EXPECT_EQ(c.see(c.door, {{1, look(0)}, {2, look(2)}}), (Ids{1, 2}));
  EXPECT_EQ(c.see(c.yard, {{1, look(2.1)}, {2, look(4)}}), (Ids{2, 3})) << "local ids say nothing";
  EXPECT_EQ(c.see(c.door, {{2, look(2)}, {7, look(3.9)}}), (Ids{2, 3}));
  EXPECT_EQ(c.gallery.id_of(c.door, 7), 3);
  EXPECT_EQ(c.gallery.id_of(c.door, 8), -1);
  EXPECT_EQ(c.gallery.size(), 3u);
}

TEST(Gallery, TwoTracksOfAPictureAreNeverOneObject) {
  Cameras c;
  EXPECT_EQ(c.see(c.door, {{1, look(0)}, {2, look(0)}}), (Ids{1, 2}));
  EXPECT_EQ(c.see(c.door, {{3, look(0)}, {1, look(0)}, {2, look(0)}}), (Ids{3, 1, 2})) << "whatever the order";
  // The nearest pair comes first, not the first track.
  EXPECT_EQ(c.see(c.yard, {{1, look(1.5)}}), Ids{4});
  EXPECT_EQ(c.see(c.door, {{8, look(1.8)}, {9, look(1.55)}}), (Ids{5, 4}));
}

TEST(Gallery, ATrackThatComesBackDoesNotShareItsId) {
  Cameras c;
  EXPECT_EQ(c.see(c.door, {{1, look(0)}}), Ids{1});
  EXPECT_EQ(c.see(c.door, {{2, look(0.1)}}), Ids{1}) << "the first track is missing, so it is the same object";
  EXPECT_EQ(c.see(c.door, {{2, look(0.1)}, {1, look(0)}}), (Ids{1, 2}));
}

TEST(Gallery, LabelsFeaturesAndTimeTellObjectsApart) {
  tenon::vision::GalleryOptions options;
  options.keep = 10s;
  Cameras c(options);
  EXPECT_EQ(c.see(c.door, {{1, look(0), 5}}), Ids{1});
  EXPECT_EQ(c.see(c.yard, {{1, look(0), 6}}), Ids{2}) << "another label";
  EXPECT_EQ(c.see(c.yard, {{3, {}, 5}, {4, {0, 0}, 5}, {5, {NAN, 1}, 5}}), (Ids{-1, -1, -1})) << "features say nothing";
  EXPECT_EQ(c.see(c.yard, {{3, look(0.2), 5}}), Ids{1}) << "the first features that it has";
  EXPECT_EQ(c.see(c.yard, {{3, {}, 5}}), Ids{1}) << "an id stays without features";
  c.now += 11s;
  EXPECT_EQ(c.see(c.door, {{9, look(0), 5}}), Ids{3}) << "it was not seen for too long";
  EXPECT_EQ(c.gallery.size(), 1u);
  try {
    c.see(c.door, {{10, {1, 0, 0}, 5}});
    ADD_FAILURE() << "another model";
  } catch (const tenon::Error& error) {
    EXPECT_NE(std::string(error.what()).find("features of 3 numbers, and those of its objects have 2"),
              std::string::npos)
        << error.what();
  }
}

TEST(Gallery, HasRoomForSoMany) {
  tenon::vision::GalleryOptions options;
  options.most = 2;
  options.threshold = 0.01f;
  Cameras c(options);
  for (int i = 0; i < 4; ++i) {
    c.now += 1s;
    EXPECT_EQ(c.see(c.door, {{i, look(i)}}), Ids{i + 1});
    EXPECT_LE(c.gallery.size(), 2u);
  }
  EXPECT_EQ(c.see(c.door, {{0, look(0)}}), Ids{5}) << "it was forgotten";
  c.gallery.remove_camera(c.door);
  EXPECT_EQ(c.see(c.yard, {{1, look(0)}}), Ids{5});
}

TEST(Gallery, RefusesWhatCannotBe) {
  for (const float wrong : {-0.1f, 1.1f, NAN}) {
    tenon::vision::GalleryOptions options;
    options.threshold = wrong;
    EXPECT_THROW(Gallery{options}, tenon::Error);
  }
  tenon::vision::GalleryOptions options;
  options.most = 0;
  EXPECT_THROW(Gallery{options}, tenon::Error);
  Cameras c;
  c.gallery.remove_camera(c.door);
  EXPECT_THROW(c.see(c.door, {{1, look(0)}}), tenon::Error);
  EXPECT_THROW(c.gallery.id_of(c.door, 1), tenon::Error);
}

}  // namespace gallery_test
