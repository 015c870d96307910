// SPDX-License-Identifier: Apache-2.0
// GstAnalytics both ways, where GStreamer has it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/frameworks/gstreamer/analytics.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>
#include <tenon/tests/support/error_of.hpp>

#ifdef TENON_GSTREAMER_ANALYTICS
namespace analytics_test {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;

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

}  // namespace analytics_test
#endif
