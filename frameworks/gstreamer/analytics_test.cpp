// SPDX-License-Identifier: Apache-2.0
// GstAnalytics both ways, where GStreamer has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/frameworks/gstreamer/analytics.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>
#include <tenon/frameworks/gstreamer/turned_box.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace analytics_test {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;

metadata::TensorOutput outline(const std::vector<float>& values, const Shape& shape = {4, 3}) {
  Tensor corners(element::f32, shape);
  std::copy(values.begin(), values.end(), corners.data<float>());
  return {corners, "corners", "m", "polygon"};
}

/// A box of 40x20 about (150, 120), turned by 0.5, as YOLOv8-obb's decoder writes it.
metadata::TensorOutput tilted() {
  const float c = std::cos(0.5f), s = std::sin(0.5f);
  std::vector<float> values;
  for (const auto& [x, y] :
       {std::pair(-20.0f, -10.0f), std::pair(20.0f, -10.0f), std::pair(20.0f, 10.0f), std::pair(-20.0f, 10.0f)})
    values.insert(values.end(), {150 + x * c - y * s, 120 + x * s + y * c, 0.9f});
  return outline(values);
}

TEST(TurnedBoxes, AreOutlinesOfRectangles) {
  const auto turned = gs::detail::turned_box(tilted());
  ASSERT_TRUE(turned);
  EXPECT_NEAR(turned->angle, 0.5f, 1e-5f);
  EXPECT_NEAR(turned->upright.x1, 130, 1e-3f);
  EXPECT_NEAR(turned->upright.y1, 110, 1e-3f);
  EXPECT_NEAR(turned->upright.x2, 170, 1e-3f);
  EXPECT_NEAR(turned->upright.y2, 130, 1e-3f);
  const auto corners = turned->corners();
  const metadata::TensorOutput same = tilted();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(corners[i].x, same.tensor.data<float>()[3 * i], 1e-3f) << i;
    EXPECT_NEAR(corners[i].y, same.tensor.data<float>()[3 * i + 1], 1e-3f) << i;
  }
  EXPECT_NEAR(turned->around().x1, corners[3].x, 1e-5f);
  EXPECT_NEAR(turned->around().y2, corners[2].y, 1e-5f);
  // By more than a right angle: it begins at the corner that would be at the upper left.
  const auto back = gs::detail::turned_box(outline({10, 10, 0, 10, 0, 40}, {4, 2}));
  EXPECT_FALSE(back) << "the fourth corner is missing";
  const auto up = gs::detail::turned_box(outline({0, 30, 0, 10, 5, 10, 5, 30}, {4, 2}));
  ASSERT_TRUE(up);
  EXPECT_NEAR(up->angle, -1.5708f, 1e-3f);
  EXPECT_NEAR(up->upright.x2 - up->upright.x1, 20, 1e-4f);
}

TEST(TurnedBoxes, AreNotOtherOutlines) {
  const auto is_turned = [](const metadata::TensorOutput& one) { return gs::detail::turned_box(one).has_value(); };
  EXPECT_FALSE(is_turned(outline({0, 0, 40, 0, 40, 20, 0, 20}, {4, 2}))) << "upright";
  EXPECT_FALSE(is_turned(outline({0, 0, 40, 20, 60, 40, 10, 30}, {4, 2}))) << "no rectangle";
  EXPECT_FALSE(is_turned(outline({0, 0, 40, 20, 30, 30, -10, 10}, {4, 2}))) << "skewed";
  EXPECT_FALSE(is_turned(outline({0, 0, 4, 2, 3, 4}, {3, 2}))) << "a triangle";
  EXPECT_FALSE(is_turned(outline({1, 1, 1, 1, 1, 1, 1, 1}, {4, 2}))) << "a point";
  EXPECT_FALSE(is_turned(outline({0, 0, NAN, 2, 3, 4, 1, 2}, {4, 2})));
  metadata::TensorOutput points = tilted();
  points.format = "keypoints";
  EXPECT_FALSE(is_turned(points));
}

#ifdef TENON_GSTREAMER_ANALYTICS
TEST(GstAnalyticsMeta, TurnedObjectsKeepTheirAngle) {
  metadata::Collection known;
  const metadata::Id ship = known.add(metadata::Detection{{127, 101, 173, 139}, "ship", 0, 0.875f, -1});
  known.add(tilted(), ship);
  const metadata::Id text = known.add(metadata::Detection{{0, 0, 60, 40}, "text", 1, 0.5f, -1});
  known.add(outline({0, 0, 40, 20, 60, 40, 10, 30}, {4, 2}), text);
  const gs::BufferPtr buffer = filled_buffer(64, 0);
  gs::write_analytics(known, buffer.get());

  // As GStreamer's own decoder of such models writes it: the box about the same centre, and the angle.
  GstAnalyticsRelationMeta* const meta = gst_buffer_get_analytics_relation_meta(buffer.get());
  ASSERT_TRUE(meta);
  gpointer state = nullptr;
  GstAnalyticsMtd object;
  ASSERT_TRUE(gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(), &object));
  gint x = 0, y = 0, width = 0, height = 0;
  gfloat angle = 0, score = 0;
  ASSERT_TRUE(gst_analytics_od_mtd_get_oriented_location(&object, &x, &y, &width, &height, &angle, &score));
  EXPECT_EQ(x, 130);
  EXPECT_EQ(y, 110);
  EXPECT_EQ(width, 40);
  EXPECT_EQ(height, 20);
  EXPECT_NEAR(angle, 0.5f, 1e-5f);
  EXPECT_EQ(score, 0.875f);
  ASSERT_TRUE(gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(), &object));
  ASSERT_TRUE(gst_analytics_od_mtd_get_oriented_location(&object, &x, &y, &width, &height, &angle, &score));
  EXPECT_EQ(width, 60);
  EXPECT_EQ(angle, 0) << "an outline that is no rectangle has its upright box";

  metadata::Collection back;
  gs::read_analytics(buffer.get(), back);
  const auto objects = back.all<metadata::Detection>();
  ASSERT_EQ(objects.size(), 2u);
  const auto outlines = back.all<metadata::TensorOutput>();
  ASSERT_EQ(outlines.size(), 1u);
  EXPECT_EQ(outlines[0].parent, objects[0].id);
  EXPECT_TRUE(outlines[0]->has_points());
  EXPECT_EQ(outlines[0]->format, "polygon");
  const metadata::TensorOutput same = tilted();
  for (std::size_t i = 0; i < 12; i += i % 3 == 0 ? 1 : 2)
    EXPECT_NEAR(outlines[0]->tensor.data<float>()[i], same.tensor.data<float>()[i], 1e-3f) << i;
  EXPECT_NEAR(objects[0]->box.x1, 127.655f, 1e-2f) << "the upright box around it";
  EXPECT_EQ(objects[1]->box, (metadata::Box{0, 0, 60, 40}));
}

TEST(GstAnalyticsMeta, ComesBackWhole) {
  metadata::Collection known;
  const metadata::Id car = known.add(metadata::Detection{{10, 20, 110, 220}, "car", 7, 0.75f, 42});
  known.add(metadata::Detection{{30, 40, 50, 60}, "plate", -1, 0.5f}, car);
  known.add(metadata::Classification{"red", 1, 0.25f, "colours"}, car);
  known.add(metadata::Classification{"street", -1, 0.5f, ""});
  Tensor mask(element::u8, {4, 6});
  for (std::uint8_t i = 0; i < 24; ++i) mask.data<std::uint8_t>()[i] = i % 3;
  known.add(metadata::Segmentation{{10, 20, 110, 220}, mask, {"sky", "car", "road"}}, car);
  Tensor embedding(element::f32, {1, 3});
  embedding.data<float>()[2] = 1.5f;
  known.add(metadata::TensorOutput{embedding, "embedding", "m", "f"});

  const gs::BufferPtr buffer = filled_buffer(64, 0);
  for (int twice = 0; twice < 2; ++twice) gs::write_analytics(known, buffer.get());
  metadata::Collection back;
  gs::read_analytics(buffer.get(), back);

  const auto objects = back.all<metadata::Detection>();
  ASSERT_EQ(objects.size(), 2u) << "written once more instead of anew";
  EXPECT_EQ(*objects[0].value, (metadata::Detection{{10, 20, 110, 220}, "car", -1, 0.75f, 42}));
  EXPECT_EQ(objects[1]->label, "plate");
  EXPECT_EQ(objects[1].parent, objects[0].id);
  const auto classes = back.all<metadata::Classification>();
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0]->label, "red");
  EXPECT_EQ(classes[0].parent, objects[0].id);
  EXPECT_EQ(classes[1].parent, metadata::kFrame);
  const auto masks = back.all<metadata::Segmentation>();
  ASSERT_EQ(masks.size(), 1u);
  EXPECT_EQ(masks[0]->mask.data(), mask.data()) << "copied";
  EXPECT_EQ(masks[0]->mask.shape(), mask.shape());
  EXPECT_EQ(masks[0]->box, (metadata::Box{10, 20, 110, 220}));
  EXPECT_EQ(masks[0]->labels.size(), 3u);
  const auto tensors = back.all<metadata::TensorOutput>();
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0]->name, "embedding");
  EXPECT_EQ(tensors[0]->tensor.data(), embedding.data()) << "copied";
}

TEST(GstAnalyticsMeta, OfManyClassesTheLikeliestIsRead) {
  const gs::BufferPtr buffer = filled_buffer(8, 0);
  GstAnalyticsRelationMeta* meta = gst_buffer_add_analytics_relation_meta(buffer.get());
  gfloat levels[] = {0.1f, 0.7f, 0.2f};
  GQuark names[] = {g_quark_from_string("a"), g_quark_from_string("b"), g_quark_from_string("c")};
  GstAnalyticsMtd made;
  ASSERT_TRUE(gst_analytics_relation_meta_add_cls_mtd(meta, 3, levels, names, &made));
  metadata::Collection known;
  gs::read_analytics(buffer.get(), known);
  EXPECT_EQ(*known.first<metadata::Classification>(), (metadata::Classification{"b", 1, 0.7f, ""}));
}

TEST(GstAnalyticsMeta, PartsInACircleAreRead) {
  const gs::BufferPtr buffer = filled_buffer(8, 0);
  GstAnalyticsRelationMeta* meta = gst_buffer_add_analytics_relation_meta(buffer.get());
  GstAnalyticsMtd a, b;
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("a"), 0, 0, 4, 4, 1, &a);
  gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("b"), 0, 0, 4, 4, 1, &b);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, a.id, b.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, b.id, a.id);
  metadata::Collection known;
  gs::read_analytics(buffer.get(), known);
  EXPECT_EQ(known.all<metadata::Detection>().size(), 2u);
}

TEST(GstAnalyticsMeta, ThatIsWrongIsRefused) {
  metadata::Collection known;
  error_of([&] { gs::write_analytics(known, nullptr); }, Code::kFailedPrecondition);
  error_of([&] { gs::read_analytics(nullptr, known); }, Code::kInvalidArgument);
  const gs::BufferPtr shared = filled_buffer(8, 0);
  const gs::BufferPtr other(gst_buffer_ref(shared.get()));
  error_of([&] { gs::write_analytics(known, shared.get()); }, Code::kFailedPrecondition);
  // A tensor that says more than its bytes.
  const gs::BufferPtr buffer = filled_buffer(8, 0);
  gsize extents[] = {100};
  auto** tensors = static_cast<GstTensor**>(g_malloc_n(1, sizeof(GstTensor*)));
  tensors[0] = gst_tensor_new_simple(0, GST_TENSOR_DATA_TYPE_FLOAT32, filled_buffer(400, 0).release(),
                                     GST_TENSOR_DIM_ORDER_ROW_MAJOR, 1, extents);
  ASSERT_TRUE(tensors[0]);
  gst_buffer_set_size(tensors[0]->data, 396);
  gst_tensor_meta_set(gst_buffer_add_tensor_meta(buffer.get()), 1, tensors);
  error_of([&] { gs::read_analytics(buffer.get(), known); }, Code::kOutOfRange);
}

#endif

}  // namespace analytics_test
