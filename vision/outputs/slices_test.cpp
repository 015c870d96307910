// SPDX-License-Identifier: Apache-2.0
// Slices by the formula of sahi, and objects that lie over the borders of slices.
#include <tenon/vision/slices.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>

namespace slices_test {

using namespace tenon;
using metadata::Collection;
using metadata::Detection;
using vision::JoinOptions;
using vision::SlicedObject;

/// get_slice_bboxes of sahi 0.11, as its loops are.
std::vector<PixelRect> by_sahi(std::size_t width, std::size_t height, std::size_t slice_w, std::size_t slice_h,
                               double overlap) {
  std::vector<PixelRect> all;
  const auto x_overlap = static_cast<std::size_t>(overlap * static_cast<double>(slice_w)),
             y_overlap = static_cast<std::size_t>(overlap * static_cast<double>(slice_h));
  std::size_t y_min = 0, y_max = 0;
  while (y_max < height) {
    std::size_t x_min = 0, x_max = 0;
    y_max = y_min + slice_h;
    while (x_max < width) {
      x_max = x_min + slice_w;
      if (y_max > height || x_max > width) {
        const std::size_t right = std::min(width, x_max), bottom = std::min(height, y_max);
        const std::size_t left = right > slice_w ? right - slice_w : 0, top = bottom > slice_h ? bottom - slice_h : 0;
        all.push_back({left, top, right - left, bottom - top});
      } else {
        all.push_back({x_min, y_min, x_max - x_min, y_max - y_min});
      }
      x_min = x_max - x_overlap;
    }
    y_min = y_max - y_overlap;
  }
  return all;
}

TEST(Slices, AreThoseOfSahiAndCoverThePicture) {
  for (const auto& [w, h] : {std::pair<std::size_t, std::size_t>{1920, 1080}, {4000, 3000}, {640, 640}, {100, 2000}}) {
    for (const auto& [sw, sh] : {std::pair<std::size_t, std::size_t>{640, 640}, {512, 256}, {333, 101}}) {
      for (const double overlap : {0.0, 0.2, 0.5}) {
        const auto all = vision::slices_of(w, h, sw, sh, overlap);
        EXPECT_EQ(all, by_sahi(w, h, sw, sh, overlap)) << w << "x" << h << " " << sw << " " << overlap;
        std::vector<char> is_covered(w * h);
        for (const PixelRect& one : all)
          for (std::size_t y = one.y; y < one.y + one.height; ++y)
            std::fill_n(is_covered.begin() + static_cast<std::ptrdiff_t>(y * w + one.x), one.width, 1);
        EXPECT_EQ(std::count(is_covered.begin(), is_covered.end(), 0), 0);
      }
    }
  }
  EXPECT_THROW(vision::slices_of(100, 100, 0, 10, 0.2), Error);
  EXPECT_THROW(vision::slices_of(100, 100, 10, 10, 0.95), Error);
  EXPECT_THROW(vision::slices_of(60000, 60000, 16, 16, 0.2), Error);
}

/// The box as far as it lies in the slice, as a model that sees only the slice would give it.
bool seen_in(const PixelRect& slice, metadata::Box& box) {
  const auto x = static_cast<float>(slice.x), y = static_cast<float>(slice.y);
  box = {std::max(box.x1, x), std::max(box.y1, y), std::min(box.x2, x + static_cast<float>(slice.width)),
         std::min(box.y2, y + static_cast<float>(slice.height))};
  return box.x2 - box.x1 >= 4 && box.y2 - box.y1 >= 4;
}

TEST(Slices, AnObjectOnTheBordersOfSlicesIsFoundOnceAndWhole) {
  std::minstd_rand random(9);
  const auto slices = vision::slices_of(1920, 1080, 640, 640, 0.2);
  std::size_t pieces = 0;
  for (int round = 0; round < 200; ++round) {
    // One object in each of eight fields, so that no two overlap; none is larger than the overlap of two slices.
    std::vector<metadata::Box> truth;
    for (int k = 0; k < 8; ++k) {
      const float x = static_cast<float>(k % 4 * 480 + random() % 340),
                  y = static_cast<float>(k / 4 * 540 + random() % 400);
      truth.push_back({x, y, x + 40 + static_cast<float>(random() % 80), y + 40 + static_cast<float>(random() % 80)});
    }
    Collection known;
    std::vector<SlicedObject> objects;
    for (std::uint32_t s = 0; s < slices.size(); ++s) {
      for (const metadata::Box& one : truth) {
        metadata::Box box = one;
        if (!seen_in(slices[s], box)) continue;
        const auto score = 0.5f + static_cast<float>(random() % 50) / 100;
        objects.push_back({known.add(Detection{box, "a", 0, score, -1}), s});
        ++pieces;
      }
    }
    vision::join_slices(known, objects, {});
    auto found = known.all<Detection>();
    ASSERT_EQ(found.size(), truth.size()) << round;
    for (const metadata::Box& one : truth)
      EXPECT_EQ(std::count_if(found.begin(), found.end(), [&](const auto& entry) { return entry->box == one; }), 1);
  }
  EXPECT_GT(pieces, 200u * 8 * 3 / 2) << "many lie in more than one slice";
}

std::vector<metadata::Box> joined(const std::vector<std::pair<Detection, std::uint32_t>>& given,
                                  JoinOptions options = {}) {
  Collection known;
  std::vector<SlicedObject> objects;
  for (const auto& [object, slice] : given) objects.push_back({known.add(object), slice});
  vision::join_slices(known, objects, options);
  std::vector<metadata::Box> boxes;
  for (const auto& one : known.all<Detection>()) boxes.push_back(one->box);
  return boxes;
}

TEST(Slices, OnlyOverlapsOfOneLabelInDifferentSlicesAreJoined) {
  const Detection a{{0, 0, 100, 100}, "a", 0, 0.9f, -1}, piece{{50, 0, 120, 100}, "a", 0, 0.6f, -1},
      other{{50, 0, 120, 100}, "b", 1, 0.6f, -1};
  EXPECT_EQ(joined({{a, 0}, {piece, 1}}), (std::vector<metadata::Box>{{0, 0, 120, 100}}));
  EXPECT_EQ(joined({{a, 0}, {piece, 0}}).size(), 2u) << "the model told them apart";
  const Detection left{{0, 0, 40, 100}, "a", 0, 0.8f, -1}, right{{60, 0, 100, 100}, "a", 0, 0.95f, -1};
  EXPECT_EQ(joined({{a, 0}, {left, 1}, {right, 1}}), (std::vector<metadata::Box>{a.box})) << "two pieces in one slice";
  EXPECT_EQ(joined({{a, 0}, {other, 1}}).size(), 2u);
  EXPECT_EQ(joined({{a, 0}, {other, 1}}, {.across_labels = true}).size(), 1u);
  // 5,000 of 7,000 pixels of the smaller one, of 12,000 of both.
  EXPECT_EQ(joined({{a, 0}, {piece, 1}}, {.threshold = 0.72f}).size(), 2u);
  EXPECT_EQ(joined({{a, 0}, {piece, 1}}, {.measure = JoinOptions::Measure::kUnion}).size(), 2u);
  EXPECT_EQ(joined({{a, 0}, {piece, 1}}, {.measure = JoinOptions::Measure::kUnion, .threshold = 0.41f}).size(), 1u);
  EXPECT_EQ(joined({{piece, 1}, {a, 0}}, {.how = JoinOptions::How::kSuppress}), (std::vector<metadata::Box>{a.box}));
}

TEST(Slices, MasksOfPiecesBecomeOneAndOtherEntriesGoWithTheirObject) {
  Collection known;
  const auto full = [](std::size_t height, std::size_t width, std::uint8_t value) {
    Tensor mask(ElementType::kU8, {height, width});
    std::fill_n(mask.data<std::uint8_t>(), height * width, value);
    return mask;
  };
  const auto left = known.add(Detection{{0, 0, 60, 40}, "a", 0, 0.9f, -1}),
             right = known.add(Detection{{20, 0, 80, 40}, "a", 0, 0.8f, -1}),
             before = known.add(Detection{{0, 0, 60, 40}, "a", 0, 0.99f, -1});
  known.add(metadata::Segmentation{{0, 0, 60, 40}, full(20, 30, 1), {}}, left);
  Tensor half = full(10, 15, 0);
  for (std::size_t k = 0; k < 150; ++k) half.data<std::uint8_t>()[k] = k / 15 < 5;
  known.add(metadata::Segmentation{{20, 0, 80, 40}, half, {}}, right);
  known.add(metadata::Classification{"red", 0, 1, "m"}, right);
  vision::join_slices(known, std::vector<SlicedObject>{{left, 0}, {right, 1}}, {});
  ASSERT_EQ(known.all<Detection>().size(), 2u);
  EXPECT_EQ(known.all<Detection>()[1].id, before) << "it is of no slice";
  EXPECT_TRUE(known.all<metadata::Classification>().empty());
  const auto masks = known.of<metadata::Segmentation>(left);
  ASSERT_EQ(masks.size(), 1u);
  EXPECT_EQ(masks[0]->box, (metadata::Box{0, 0, 80, 40}));
  ASSERT_EQ(masks[0]->mask.shape(), (Shape{20, 40}));
  for (std::size_t y = 0; y < 20; ++y)
    for (std::size_t x = 0; x < 40; ++x)
      ASSERT_EQ(masks[0]->mask.data<std::uint8_t>()[y * 40 + x], x < 30 || y < 10 ? 1 : 0) << x << "," << y;
}

TEST(Slices, AMaskGetsThePixelsOfAPieceWithinItsBox) {
  Collection known;
  const auto mask = [](std::size_t width, std::size_t from) {
    Tensor made(ElementType::kU8, {20, width});
    for (std::size_t k = 0; k < 20 * width; ++k) made.data<std::uint8_t>()[k] = k % width < from;
    return made;
  };
  const auto whole = known.add(Detection{{0, 0, 40, 20}, "a", 0, 0.9f, -1}),
             piece = known.add(Detection{{20, 0, 40, 20}, "a", 0, 0.8f, -1});
  known.add(metadata::Segmentation{{0, 0, 40, 20}, mask(40, 20), {}}, whole);
  known.add(metadata::Segmentation{{20, 0, 40, 20}, mask(20, 20), {}}, piece);
  vision::join_slices(known, std::vector<SlicedObject>{{whole, 0}, {piece, 1}}, {});
  const auto masks = known.of<metadata::Segmentation>(whole);
  ASSERT_EQ(masks.size(), 1u);
  ASSERT_EQ(masks[0]->mask.shape(), (Shape{20, 40}));
  for (std::size_t k = 0; k < 20 * 40; ++k) ASSERT_EQ(masks[0]->mask.data<std::uint8_t>()[k], 1) << k;
}

}  // namespace slices_test
