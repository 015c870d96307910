// SPDX-License-Identifier: Apache-2.0
// Metadata to GStreamer's metas and back: every type, through real elements, written by others, damaged.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace gstreamer_metadata_test {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;
using metadata::Classification;
using metadata::Collection;
using metadata::Detection;

const FrameInfo kInfo{kNv12, 640, 480, ColourSpace::kBt601, ColourRange::kLimited};

gs::BufferPtr empty_buffer() {
  gs::start();
  return gs::BufferPtr(gst_buffer_new());
}

Tensor numbers(const Shape& shape) {
  Tensor tensor(ElementType::kF32, shape);
  for (std::size_t i = 0; i < tensor.element_count(); ++i) tensor.data<float>()[i] = static_cast<float>(i) * 0.5f;
  return tensor;
}

const metadata::Zone kDoor{"door",
                           metadata::Zone::Shape::kZone,
                           {{1.5f, 2}, {30, 2}, {30, 40}},
                           {{"car or van", 1, 3, 2}, {"", 0, 1, 1}},
                           true};

/// One of everything.
void fill(Collection& known) {
  const metadata::Id car = known.add(Detection{{10.25f, 20.5f, 110.75f, 220.5f}, "car", 7, 0.75f, 42});
  const metadata::Id plate = known.add(Detection{{30, 40, 60, 50}, "plate", 3, 0.5f, -1}, car);
  known.add(Classification{"red", 1, 0.9f, "colours"}, car);
  known.add(Classification{"B-TN 1", -1, 0.25f, "text"}, plate);
  known.add(metadata::TensorOutput{numbers({1, 4}), "embedding", "reid", "vector"}, car);
  known.add(Classification{"day", 2, 1, "light"});
  known.add(metadata::TensorOutput{numbers({2, 3}), "out", "model", ""});
  Tensor mask(ElementType::kU8, {2, 2});
  std::memset(mask.data(), 1, 4);
  known.add(metadata::Segmentation{{10, 20, 110, 220}, mask, {"background", "car"}}, car);
  known.add(metadata::AudioEvent{"bark", 5, 0.5f, 1000, 2'000'000'000'000});
  known.add(metadata::Json{R"({"any":["text", 1]})"});
  known.add(metadata::Source{"rtsp://door", 3, 1ull << 40});
  known.add(kDoor);
  known.add(metadata::ZoneEvent{"door", metadata::ZoneEvent::What::kLeft, 2.5, 42}, car);
  known.add(metadata::ReferenceTime{"ntp", 123'456'789, 40});
}

void expect_filled(const Collection& known) {
  const auto objects = known.all<Detection>();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(*objects[0].value, (Detection{{10.25f, 20.5f, 110.75f, 220.5f}, "car", 7, 0.75f, 42}));
  EXPECT_EQ(*objects[1].value, (Detection{{30, 40, 60, 50}, "plate", 3, 0.5f, -1}));
  EXPECT_EQ(objects[1].parent, objects[0].id);
  const metadata::Id car = objects[0].id, plate = objects[1].id;
  ASSERT_EQ(known.of<Classification>(car).size(), 1u);
  EXPECT_EQ(*known.of<Classification>(car)[0].value, (Classification{"red", 1, 0.9f, "colours"}));
  ASSERT_EQ(known.of<Classification>(plate).size(), 1u);
  EXPECT_EQ(known.of<Classification>(plate)[0]->label, "B-TN 1");
  ASSERT_EQ(known.of<Classification>(metadata::kFrame).size(), 1u);
  EXPECT_EQ(known.of<Classification>(metadata::kFrame)[0]->label, "day");
  const auto embedding = known.of<metadata::TensorOutput>(car);
  ASSERT_EQ(embedding.size(), 1u);
  EXPECT_EQ(embedding[0]->name, "embedding");
  EXPECT_EQ(embedding[0]->format, "vector");
  ASSERT_EQ(embedding[0]->tensor.shape(), (Shape{1, 4}));
  EXPECT_EQ(embedding[0]->tensor.data<float>()[3], 1.5f);
  ASSERT_EQ(known.of<metadata::TensorOutput>(metadata::kFrame).size(), 1u);
  EXPECT_EQ(known.of<metadata::TensorOutput>(metadata::kFrame)[0]->tensor.shape(), (Shape{2, 3}));
  const auto masks = known.of<metadata::Segmentation>(car);
  ASSERT_EQ(masks.size(), 1u);
  EXPECT_EQ(masks[0]->box, (metadata::Box{10, 20, 110, 220}));
  EXPECT_EQ(masks[0]->labels, (std::vector<std::string>{"background", "car"}));
  EXPECT_EQ(masks[0]->mask.shape(), (Shape{2, 2}));
  EXPECT_EQ(*known.first<metadata::AudioEvent>(), (metadata::AudioEvent{"bark", 5, 0.5f, 1000, 2'000'000'000'000}));
  EXPECT_EQ(known.first<metadata::Json>()->text, R"({"any":["text", 1]})");
  EXPECT_EQ(*known.first<metadata::Source>(), (metadata::Source{"rtsp://door", 3, 1ull << 40}));
  EXPECT_EQ(*known.first<metadata::Zone>(), kDoor);
  const auto events = known.of<metadata::ZoneEvent>(car);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(*events[0].value, (metadata::ZoneEvent{"door", metadata::ZoneEvent::What::kLeft, 2.5, 42}));
  EXPECT_EQ(*known.first<metadata::ReferenceTime>(), (metadata::ReferenceTime{"ntp", 123'456'789, 40}));
}

TEST(GstMetadata, ComesBackWhole) {
  Collection known;
  fill(known);
  const gs::BufferPtr buffer = empty_buffer();
  gs::write_metadata(known, kInfo, buffer.get());
  const auto back = gs::read_metadata(buffer.get(), kInfo);
  expect_filled(*back);
  EXPECT_EQ(back->size(), known.size());
  // Written again, nothing is there twice.
  gs::write_metadata(*back, kInfo, buffer.get());
  EXPECT_EQ(gs::read_metadata(buffer.get(), kInfo)->size(), known.size());
}

TEST(GstMetadata, OfPicturesThatLieOtherwiseComesBackWhole) {
  for (unsigned r = 0; r < 8; ++r) {
    FrameInfo info = kInfo;
    info.rotation = static_cast<Rotation>(r);
    Collection known;
    fill(known);
    known.add(metadata::NotLookedAt{"model"});
    const gs::BufferPtr buffer = empty_buffer();
    gs::write_metadata(known, info, buffer.get());
    expect_filled(*gs::read_metadata(buffer.get(), info));
    EXPECT_EQ(gs::read_metadata(buffer.get(), info)->first<metadata::NotLookedAt>()->model, "model");
  }
  // Upright 480x640: the stored picture's place of the box is that of the region, which elements of GStreamer use.
  FrameInfo info = kInfo;
  info.rotation = Rotation::k90;
  Collection known;
  known.add(Detection{{100, 600, 140, 630}, "low", 0, 1, -1});
  const gs::BufferPtr buffer = empty_buffer();
  gs::write_metadata(known, info, buffer.get());
  const auto* region = gst_buffer_get_video_region_of_interest_meta(buffer.get());
  ASSERT_TRUE(region);
  EXPECT_EQ(region->x, 600u);
  EXPECT_EQ(region->y, 340u);
  EXPECT_EQ(region->w, 30u);
  EXPECT_EQ(region->h, 40u);
}

TEST(GstMetadata, TensorsAreNotCopied) {
  const Tensor tensor = numbers({16});
  gs::BufferPtr buffer = empty_buffer();
  {
    Collection known;
    known.add(metadata::TensorOutput{tensor, "out", "", ""});
    gs::write_metadata(known, kInfo, buffer.get());
  }
  const Tensor back = gs::read_metadata(buffer.get(), kInfo)->first<metadata::TensorOutput>()->tensor;
  EXPECT_EQ(back.data(), tensor.data());
  buffer.reset();
  EXPECT_EQ(back.data<float>()[15], 7.5f);
}

TEST(GstMetadata, PassesThroughElements) {
  Pipeline pipeline(
      "appsrc name=source format=time ! queue ! videoconvert ! video/x-raw,format=RGB ! appsink name=sink");
  const auto source = pipeline.element("source");
  gst_app_src_set_caps(GST_APP_SRC(source.get()), gs::caps(kInfo).get());
  pipeline.play();
  Frame frame = Frame::allocate(kInfo);
  fill(metadata::of(frame));
  ASSERT_EQ(gst_app_src_push_buffer(GST_APP_SRC(source.get()), gs::buffer_with_metadata(frame).release()), GST_FLOW_OK);
  const SamplePtr sample = pipeline.pull();
  ASSERT_TRUE(sample);
  gs::CapsCache cache;
  const Frame rgb = gs::wrap_with_metadata(sample.get(), cache);
  EXPECT_EQ(rgb.info().format, kRgb24);
  ASSERT_NE(metadata::find(rgb), nullptr);
  expect_filled(*metadata::find(rgb));
}

TEST(GstMetadata, FollowsAScaledPicture) {
  Pipeline pipeline(
      "appsrc name=source format=time ! videoscale ! video/x-raw,width=320,height=240 ! appsink name=sink");
  const auto source = pipeline.element("source");
  gst_app_src_set_caps(GST_APP_SRC(source.get()), gs::caps(kInfo).get());
  pipeline.play();
  Frame frame = Frame::allocate(kInfo);
  metadata::of(frame).add(Detection{{100, 80, 200, 160}, "car", 7, 0.75f, -1});
  metadata::of(frame).add(metadata::Json{"{}"});
  ASSERT_EQ(gst_app_src_push_buffer(GST_APP_SRC(source.get()), gs::buffer_with_metadata(frame).release()), GST_FLOW_OK);
  const SamplePtr sample = pipeline.pull();
  ASSERT_TRUE(sample);
  gs::CapsCache cache;
  const Frame small = gs::wrap_with_metadata(sample.get(), cache);
  ASSERT_NE(metadata::find(small), nullptr);
  EXPECT_EQ(metadata::find(small)->first<Detection>()->box, (metadata::Box{50, 40, 100, 80}));
  EXPECT_NE(metadata::find(small)->first<metadata::Json>(), nullptr);
}

TEST(GstMetadata, OfASharedBufferGoesToOneOfItsOwn) {
  gs::start();
  const gs::VideoCaps caps = gs::video_caps(gs::caps(kInfo).get());
  const gs::BufferPtr shared = filled_buffer(caps.size_bytes, 1);
  Frame frame = gs::wrap(shared.get(), caps);
  metadata::of(frame).add(Detection{{1, 2, 3, 4}, "x", 0, 1, -1});
  const gs::BufferPtr written = gs::buffer_with_metadata(frame);
  EXPECT_NE(written.get(), shared.get());
  EXPECT_EQ(gst_buffer_peek_memory(written.get(), 0), gst_buffer_peek_memory(shared.get(), 0)) << "pixels were copied";
  EXPECT_TRUE(gs::read_metadata(shared.get(), kInfo)->empty());
  EXPECT_EQ(gs::read_metadata(written.get(), kInfo)->size(), 1u);
  Collection known;
  EXPECT_NE(error_of([&] { gs::write_metadata(known, kInfo, shared.get()); }, Code::kFailedPrecondition)
                .find("make_writable"),
            std::string::npos);
}

TEST(GstMetadata, OfOtherElementsIsRead) {
  const gs::BufferPtr buffer = empty_buffer();
  // A child before its parent, a parent that is not there, and a circle.
  auto* child = gst_buffer_add_video_region_of_interest_meta(buffer.get(), "wheel", 12, 30, 5, 6);
  child->id = 2, child->parent_id = 1;
  auto* parent = gst_buffer_add_video_region_of_interest_meta(buffer.get(), "car", 10, 20, 100, 50);
  parent->id = 1, parent->parent_id = 77;
  auto* round_a = gst_buffer_add_video_region_of_interest_meta(buffer.get(), "a", 0, 0, 1, 1);
  auto* round_b = gst_buffer_add_video_region_of_interest_meta(buffer.get(), "b", 0, 0, 1, 1);
  round_a->id = 5, round_a->parent_id = 6, round_b->id = 6, round_b->parent_id = 5;
  gst_video_region_of_interest_meta_add_param(
      parent, gst_structure_new("colour", "label", G_TYPE_STRING, "red", "confidence", G_TYPE_DOUBLE, 0.5, nullptr));
  gst_video_region_of_interest_meta_add_param(parent,
                                              gst_structure_new("roi/x264", "delta-qp", G_TYPE_DOUBLE, -0.5, nullptr));
  const auto known = gs::read_metadata(buffer.get(), kInfo);
  const auto objects = known->all<Detection>();
  ASSERT_EQ(objects.size(), 4u);
  EXPECT_EQ(objects[0]->label, "car");
  EXPECT_EQ(objects[0]->box, (metadata::Box{10, 20, 110, 70}));
  EXPECT_EQ(objects[0].parent, metadata::kFrame);
  EXPECT_EQ(objects[1]->label, "wheel");
  EXPECT_EQ(objects[1].parent, objects[0].id);
  EXPECT_EQ(known->of<Classification>(objects[0].id)[0]->label, "red");
  ASSERT_EQ(known->of<metadata::Record>(objects[0].id).size(), 1u);
  EXPECT_NE(known->of<metadata::Record>(objects[0].id)[0]->text.find("delta-qp"), std::string::npos);
}

TEST(GstMetadata, ProtectionAndCustomMetasComeBackAsTheyWere) {
  const gs::BufferPtr buffer = empty_buffer();
  static const gchar* none[] = {nullptr};
  if (!gst_meta_get_info("TenonTestMeta")) gst_meta_register_custom("TenonTestMeta", none, nullptr, nullptr, nullptr);
  gst_buffer_add_protection_meta(buffer.get(),
                                 gst_structure_new("application/x-cenc", "iv_size", G_TYPE_UINT, 8u, nullptr));
  gst_structure_set(gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer.get(), "TenonTestMeta")), "answer",
                    G_TYPE_INT, 42, nullptr);
  const auto known = gs::read_metadata(buffer.get(), kInfo);
  ASSERT_EQ(known->all<metadata::Record>().size(), 2u);
  const gs::BufferPtr copy = empty_buffer();
  gs::write_metadata(*known, kInfo, copy.get());
  guint iv_size = 0;
  const GstProtectionMeta* protection = gst_buffer_get_protection_meta(copy.get());
  ASSERT_NE(protection, nullptr);
  EXPECT_TRUE(gst_structure_get_uint(protection->info, "iv_size", &iv_size));
  EXPECT_EQ(iv_size, 8u);
  gint answer = 0;
  GstCustomMeta* custom = gst_buffer_get_custom_meta(copy.get(), "TenonTestMeta");
  ASSERT_NE(custom, nullptr);
  EXPECT_TRUE(gst_structure_get_int(gst_custom_meta_get_structure(custom), "answer", &answer));
  EXPECT_EQ(answer, 42);
}

TEST(GstMetadata, ThatIsDamagedIsRefused) {
  gs::detail::register_metas();
  const auto with = [](const char* kind, const char* type, const char* shape, std::size_t bytes) {
    gs::BufferPtr buffer = empty_buffer();
    GstStructure* fields = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer.get(), gs::kMetaName));
    gst_structure_set(fields, "kind", G_TYPE_STRING, kind, "type", G_TYPE_STRING, type, "shape", G_TYPE_STRING, shape,
                      "data", GST_TYPE_BUFFER, filled_buffer(bytes, 0).get(), nullptr);
    return buffer;
  };
  EXPECT_NO_THROW(gs::read_metadata(with("tensor", "f32", "2,2", 16).get(), kInfo));
  error_of([&] { gs::read_metadata(with("tensor", "f32", "2,3", 16).get(), kInfo); }, Code::kOutOfRange);
  error_of([&] { gs::read_metadata(with("tensor", "f32", "18446744073709551615,2", 16).get(), kInfo); },
           Code::kOutOfRange);
  error_of([&] { gs::read_metadata(with("tensor", "f32", "2,x", 16).get(), kInfo); }, Code::kInvalidArgument);
  error_of([&] { gs::read_metadata(with("tensor", "f99", "2", 16).get(), kInfo); }, Code::kInvalidArgument);
  error_of([&] { gs::read_metadata(with("nonsense", "f32", "2", 16).get(), kInfo); }, Code::kInvalidArgument);
  error_of([] { gs::read_metadata(nullptr, kInfo); }, Code::kInvalidArgument);
  const gs::BufferPtr buffer = empty_buffer();
  Collection known;
  known.add(metadata::ReferenceTime{"no clock!", 1, -1});
  error_of([&] { gs::write_metadata(known, kInfo, buffer.get()); }, Code::kInvalidArgument);
  known.clear();
  known.add(metadata::Record{"NotRegistered", "x, a=(int)1;"});
  error_of([&] { gs::write_metadata(known, kInfo, buffer.get()); }, Code::kNotFound);
}

TEST(GstMetadata, OfBatchesStaysWithEachFrame) {
  gs::start();
  const gs::VideoCaps caps = gs::video_caps(gs::caps(kInfo).get());
  std::vector<Frame> frames;
  for (std::uint64_t i = 0; i < 3; ++i) {
    frames.push_back(Frame::allocate(kInfo));
    metadata::of(frames.back()).add(metadata::Source{"camera", i, 0});
  }
  const gs::BufferListPtr list(gst_buffer_list_new());
  for (const Frame& frame : frames) gst_buffer_list_add(list.get(), gs::buffer_with_metadata(frame).release());
  for (guint i = 0; i < 3; ++i)
    EXPECT_EQ(gs::read_metadata(gst_buffer_list_get(list.get(), i), kInfo)->first<metadata::Source>()->stream, i);
}

}  // namespace gstreamer_metadata_test
