// SPDX-License-Identifier: Apache-2.0
// "infer" with on=tiles: the true objects of the demo's clip, of which many lie on the borders of tiles, are found once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/inference/testing/inference.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/vision/ground_truth.hpp>
#include <tenon/vision/slices.hpp>

namespace tenon::elements {
namespace tiles_test {

using ::testing::HasSubstr;
using namespace inference_test;

struct Score {
  std::size_t truths = 0, found = 0, twice = 0, on_borders = 0;
};

/// Compares what arrived with the truth.
Score score(const std::vector<PixelRect>& tiles) {
  const auto truth = vision::read_ground_truth(model_file("demo.json"));
  Score result;
  for (std::size_t n = 0; n < arrived[0].size(); ++n) {
    const auto objects = vision::detections(arrived[0][n]);
    for (const vision::Truth& one : truth.frames[n]) {
      if (one.difficult) continue;
      ++result.truths;
      const auto is_cut = [&](const PixelRect& tile) {
        const auto left = static_cast<float>(tile.x), right = static_cast<float>(tile.x + tile.width);
        const auto top = static_cast<float>(tile.y), bottom = static_cast<float>(tile.y + tile.height);
        const auto lies_on = [](float begin, float end, float at) { return begin < at && end > at; };
        return lies_on(one.box.x1, one.box.x2, left) || lies_on(one.box.x1, one.box.x2, right) ||
               lies_on(one.box.y1, one.box.y2, top) || lies_on(one.box.y1, one.box.y2, bottom);
      };
      result.on_borders += std::any_of(tiles.begin(), tiles.end(), is_cut);
      // Pieces of an object lie in it: all that is mostly in its box counts.
      std::size_t count = 0;
      bool is_whole = false;
      for (const vision::Detection& object : objects) {
        if (object.label != truth.labels[static_cast<std::size_t>(one.label_id)]) continue;
        const float overlap = intersection_over_union(object.box, one.box);
        const float inner =
            overlap * (object.box.width() * object.box.height() + one.box.width() * one.box.height()) / (1 + overlap);
        if (inner < 0.6f * object.box.width() * object.box.height()) continue;
        ++count;
        is_whole |= overlap > 0.5f;
      }
      result.found += is_whole;
      result.twice += count > 1;
    }
  }
  return result;
}

class Tiles : public Inference {
 protected:
  Score tiled(Texts parameters) {
    arrived.clear();
    parameters.insert({{"on", "tiles"}, {"tile_width", "480"}, {"tile_height", "360"}});
    run({{{"clip"}, infer(parameters), {"keep"}}});
    EXPECT_EQ(arrived[0].size(), 12u);
    return score(vision::slices_of(1280, 720, 480, 360, 0.2));
  }
};

TEST_F(Tiles, ObjectsOnBordersAreFoundOnce) {
  run({{{"clip"}, infer({}), {"keep"}}});
  const Score whole = score({});
  const Score joined = tiled({}), separate = tiled({{"tile_join", "none"}}), batched = tiled({{"batch", "4"}});
  std::printf("whole: %zu of %zu; tiles: %zu, %zu twice; not joined: %zu, %zu twice; %zu on borders\n", whole.found,
              whole.truths, joined.found, joined.twice, separate.found, separate.twice, joined.on_borders);
  ASSERT_GT(joined.on_borders, 20u);
  EXPECT_GT(separate.twice, 20u) << "else there is nothing to join";
  EXPECT_LE(joined.twice, whole.twice + 2);
  EXPECT_GE(joined.found + 2, whole.found);
  EXPECT_EQ(batched.found, joined.found);
  EXPECT_EQ(batched.twice, joined.twice);
}

TEST_F(Tiles, APictureOfOneTileIsSeenOnce) {
  run({{{"clip"}, infer({{"on", "tiles"}, {"tile_width", "2000"}, {"tile_height", "2000"}}), {"keep"}}});
  expect_same(arrived[0], by_hand(12), 0.5f);
}

TEST_F(Tiles, SaysWhatCannotBe) {
  EXPECT_THROW(make({{"on", "tiles"}, {"tile_overlap", "1"}}), Error);
  const auto element = make({{"on", "tiles"}, {"tile_width", "8"}, {"tile_height", "8"}});
  Collected out;
  const Frame frame = grey(4000, 3000, 0);
  element->open(0, {frame.info(), 30, false});
  EXPECT_THAT(error_of(
                  [&] {
                    element->process({0, frame}, out);
                  },
                  Code::kInvalidArgument),
              HasSubstr("has more than 4096 slices; make them larger"));
  element->end(0, out);
}

}  // namespace tiles_test
}  // namespace tenon::elements
