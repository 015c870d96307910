// SPDX-License-Identifier: Apache-2.0
// Masks and keypoints in GStreamer's pipelines: the metas of each object as a program reads them that only knows GStreamer, after
// queues, tees, converters and Tenon's own elements. The models find the same objects in every picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/placement.hpp>
#include <tenon/frameworks/gstreamer/analytics.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace objects_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Texts = std::vector<std::string>;

struct Constant {
  Shape shape;
  std::vector<float> values;
};

/// Rows of YOLOv8-seg for two objects: centre and size; scores of cat and dog; coefficients.
const Constant kMasked{{1, 8, 2},
                       {3, 5.5f, 2, 1.75f, 2, 1.015625f, 2, 0.5f,  //
                        0.75f, 0.125f, 0.125f, 0.625f,             //
                        1, 0, 0, -1}};
/// What its model reads: an input as coarse as its prototypes, so that masks, which have the input's pixels, have their cells.
const Shape kMaskedInput{1, 3, 4, 8};
/// Their two prototypes of 8x4 cells. In the first, the cat has (2,1), (2,2) and (3,2), and one cell belongs to no object; in the
/// second, times -1, the dog has (5,1) and (6,1).
const Constant kPrototypes{{1, 2, 4, 8}, {0, 0, 0, 0, 0, 0,  0,  0,  //
                                          0, 0, 1, 0, 0, 0,  0,  0,  //
                                          0, 0, 1, 1, 0, 0,  0,  0,  //
                                          0, 0, 0, 0, 0, 0,  1,  0,  //
                                          1, 1, 1, 1, 1, 1,  1,  1,  //
                                          1, 1, 1, 1, 1, -1, -1, 1,  //
                                          1, 1, 1, 1, 1, 1,  1,  1,  //
                                          1, 1, 1, 1, 1, 1,  1,  1}};
/// Rows of YOLOv8-pose for two people: centre and size; score; x, y and score of three points.
const Constant kPosed{{1, 14, 2}, {16,    48,     16, 16,     8,     16,    16, 8,  //
                                   0.75f, 0.625f,                                   //
                                   16,    44,     10, 14,     0.5f,  0.5f,          //
                                   14,    52,     12, 14.25f, 0.25f, 0.75f,         //
                                   18.5f, 48,     20, 18,     1,     0.125f}};

/// The buffers that came to a fakesink with signal-handoffs.
class Kept {
 public:
  struct One {
    gs::BufferPtr buffer;
    gs::CapsPtr caps;
    /// The metadata, as Tenon's own reader finds it.
    std::shared_ptr<const metadata::Collection> known() const {
      return gs::read_metadata(buffer.get(), gs::video_caps(caps.get()).info);
    }
  };

  explicit Kept(const Line& line, const char* name = "sink") {
    const auto keep = +[](GstElement*, GstBuffer* buffer, GstPad* pad, gpointer data) {
      static_cast<Kept*>(data)->all.push_back(
          {gs::BufferPtr(gst_buffer_ref(buffer)), gs::CapsPtr(gst_pad_get_current_caps(pad))});
    };
    g_signal_connect(line.element(name).get(), "handoff", G_CALLBACK(keep), this);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  std::vector<One> all;
};

/// @name Reading metas as a program that only knows GStreamer and the guide. @{

/// The fields in their order, and after them the values of a tensor. customs_of() handles the region's id.
std::string text_of(const GstStructure* fields) {
  const std::unique_ptr<GstStructure, decltype(&gst_structure_free)> rest(gst_structure_copy(fields),
                                                                          &gst_structure_free);
  gst_structure_remove_fields(rest.get(), "data", "region", nullptr);
  std::ostringstream text;
  const std::unique_ptr<gchar, decltype(&g_free)> written(gst_structure_to_string(rest.get()), &g_free);
  text << written.get();
  GstBuffer* bytes = nullptr;
  if (!gst_structure_get(fields, "data", GST_TYPE_BUFFER, &bytes, nullptr)) return text.str();
  const gs::BufferPtr held(bytes);
  GstMapInfo map;
  EXPECT_TRUE(gst_buffer_map(bytes, &map, GST_MAP_READ));
  if (g_strcmp0(gst_structure_get_string(fields, "type"), "u8") == 0) {
    for (gsize i = 0; i < map.size; ++i) text << ' ' << int{map.data[i]};
  } else {
    for (gsize i = 0; i < map.size / sizeof(float); ++i) text << ' ' << reinterpret_cast<const float*>(map.data)[i];
  }
  gst_buffer_unmap(bytes, &map);
  return text.str();
}

/// Tenon's structures about the region of interest of this id; 0: about the picture.
Texts customs_of(GstBuffer* buffer, gint region) {
  Texts all;
  gpointer state = nullptr;
  while (GstMeta* const meta = gst_buffer_iterate_meta(buffer, &state)) {
    if (!gst_meta_info_is_custom(meta->info)) continue;
    const GstStructure* const fields = gst_custom_meta_get_structure(reinterpret_cast<GstCustomMeta*>(meta));
    gint about = -1;
    if (gst_structure_get_int(fields, "region", &about) && about == region) all.push_back(text_of(fields));
  }
  return all;
}

/// A region of interest with all its parameters and custom metas.
struct Region {
  std::string place;
  gint id, parent;
  Texts params, customs;
};

std::vector<Region> regions_of(GstBuffer* buffer) {
  std::vector<Region> all;
  gpointer state = nullptr;
  while (GstMeta* const meta =
             gst_buffer_iterate_meta_filtered(buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    const auto* const from = reinterpret_cast<const GstVideoRegionOfInterestMeta*>(meta);
    std::ostringstream place;
    place << g_quark_to_string(from->roi_type) << ' ' << from->w << 'x' << from->h << '+' << from->x << '+' << from->y;
    Region& one = all.emplace_back(Region{place.str(), from->id, from->parent_id, {}, customs_of(buffer, from->id)});
    for (const GList* at = from->params; at; at = at->next)
      one.params.push_back(text_of(static_cast<const GstStructure*>(at->data)));
  }
  return all;
}
/// @}

std::ostream& operator<<(std::ostream& to, const metadata::Box& box) {
  return to << ' ' << box.x1 << ',' << box.y1 << ',' << box.x2 << ',' << box.y2;
}
template <typename T>
void write_numbers(std::ostream& to, const Tensor& tensor) {
  ASSERT_TRUE(tensor.is_contiguous());
  for (std::size_t i = 0; i < tensor.element_count(); ++i) to << ' ' << +static_cast<const T*>(tensor.data())[i];
}

/// The results of Tenon's own reader, a text for each entry: "cat #1 BOX", "cat: mask BOX of N rows BYTES".
Texts found_in(const metadata::Collection& known) {
  Texts all;
  std::map<metadata::Id, std::string> names{{metadata::kFrame, "picture"}};
  for (const auto& one : known.all<metadata::Detection>()) {
    names[one.id] = one->label;
    std::ostringstream text;
    if (one.parent != metadata::kFrame) text << names.at(one.parent) << ": ";
    text << one->label;
    if (one->track_id >= 0) text << " #" << one->track_id;
    text << one->box;
    all.push_back(text.str());
  }
  for (const auto& one : known.all<metadata::Segmentation>()) {
    std::ostringstream text;
    text << names.at(one.parent) << ": mask" << one->box << " of " << one->mask.shape()[0] << " rows";
    write_numbers<std::uint8_t>(text, one->mask);
    all.push_back(text.str());
  }
  for (const auto& one : known.all<metadata::TensorOutput>()) {
    std::ostringstream text;
    text << names.at(one.parent) << ": " << one->format << " of " << one->tensor.shape()[0] << " rows";
    write_numbers<float>(text, one->tensor);
    all.push_back(text.str());
  }
  // Cut pictures say where they lie in the whole one.
  const std::size_t placements = known.all<metadata::Placement>().size();
  EXPECT_EQ(known.size(), all.size() + placements) << "something else is known, too";
  return all;
}

const Texts kMasks{"cat 64,0,128,64", "dog 159.75,16,192.25,32", "cat: mask 64,0,128,64 of 2 rows 1 0 1 1",
                   "dog: mask 128,0,224,32 of 1 rows 0 1 1"};
const Texts kPoints{"person 48,0,80,64", "person 160,16,224,48",
                    "person: keypoints of 3 rows 64 8 0.5 56 16 0.25 74 48 1",
                    "person: keypoints of 3 rows 176 24 0.5 208 25 0.75 192 40 0.125"};

class GstObjects : public ::testing::Test {
 protected:
  /// A model with these outputs for every picture. Pictures of 256x64 lie in its input as wide as it, in the middle: at (0, 8) of 64x32, at a
  /// quarter of their size.
  std::string model(const std::string& labels, const std::vector<Constant>& outputs,
                    const Shape& input = {1, 3, 32, 64}) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(input));
    x->set_friendly_name("x");
    const auto axes = op::v0::Constant::create(element::i64, Shape{4}, std::vector<std::int64_t>{0, 1, 2, 3});
    const auto mean = std::make_shared<op::v1::ReduceMean>(x, axes, false);
    const auto zero = op::v0::Constant::create(element::f32, Shape{}, std::vector<float>{0});
    const auto nothing = std::make_shared<op::v1::Multiply>(mean, zero);
    OutputVector results;
    for (const Constant& one : outputs) {
      const auto values = op::v0::Constant::create(element::f32, one.shape, one.values);
      results.push_back(std::make_shared<op::v1::Add>(values, nothing)->output(0));
    }
    Model made(results, ParameterVector{x}, "same");
    made.set_rt_info(labels, {"model_info", "labels"});
    made.set_rt_info(std::string("fit_to_window_letterbox"), {"model_info", "resize_type"});
    const std::string path = path_of("same" + std::to_string(++models_) + ".xml");
    serialize(made, path);
    return path;
  }
  /// Runs two white pictures through a model.
  static std::string infer(const std::string& model, const std::string& decode, const std::string& more = "") {
    return "videotestsrc num-buffers=2 pattern=white ! video/x-raw,format=NV12,width=256,height=64 ! tenoninfer "
           "name=find model=" +
           model + " decode=" + decode + " " + more + " ! ";
  }
  std::string masks(const std::string& more = "") {
    return infer(model("cat dog", {kMasked, kPrototypes}, kMaskedInput), "yolov8-seg", more);
  }
  std::string points(const std::string& more = "") { return infer(model("person", {kPosed}), "yolov8-pose", more); }
  std::string path_of(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  const TemporaryFolder folder_;
  int models_ = 0;
};

const std::string kSink = "fakesink name=sink signal-handoffs=true";

class GstObjectsOn : public GstObjects, public ::testing::WithParamInterface<std::string> {
 protected:
  static std::string in_place() { return "zero-copy=require device=" + GetParam(); }
};

TEST_P(GstObjectsOn, MasksAreReadByAnyProgram) {
  Line line(masks(in_place()) + kSink);
  const Kept kept(line);
  ASSERT_EQ(line.run(), "");
  EXPECT_EQ(stat(line.element("find").get(), "copied"), 0u);
  ASSERT_EQ(kept.all.size(), 2u);
  for (const Kept::One& one : kept.all) {
    const auto regions = regions_of(one.buffer.get());
    ASSERT_EQ(regions.size(), 2u);
    EXPECT_EQ(regions[0].place, "cat 64x64+64+0");
    const std::string cat =
        "label=(string)cat, label_id=(int)0, confidence=(double)0.75, "
        "x_min=(double)0.25, x_max=(double)0.5, y_min=(double)0, y_max=(double)1";
    EXPECT_THAT(regions[0].params, ElementsAre("detection, " + cat + ";"));
    EXPECT_THAT(regions[0].customs,
                ElementsAre("TenonMeta, kind=(string)detection, " + cat + ", track_id=(gint64)-1;",
                            "TenonPictureMeta, kind=(string)segmentation, x_min=(double)0.25, x_max=(double)0.5, "
                            "y_min=(double)0, y_max=(double)1, type=(string)u8, shape=(string)\"2\\,2\", "
                            "labels=(string)\"\"; 1 0 1 1"));
    // Regions are whole pixels; the box itself is between them. A mask covers whole cells around it.
    EXPECT_EQ(regions[1].place, "dog 32x16+160+16");
    const std::string dog =
        "label=(string)dog, label_id=(int)1, confidence=(double)0.625, "
        "x_min=(double)0.6240234375, x_max=(double)0.7509765625, y_min=(double)0.25, y_max=(double)0.5";
    EXPECT_THAT(regions[1].params, ElementsAre("detection, " + dog + ";"));
    EXPECT_THAT(regions[1].customs,
                ElementsAre("TenonMeta, kind=(string)detection, " + dog + ", track_id=(gint64)-1;",
                            "TenonPictureMeta, kind=(string)segmentation, x_min=(double)0.5, x_max=(double)0.875, "
                            "y_min=(double)0, y_max=(double)0.5, type=(string)u8, shape=(string)\"1\\,3\", "
                            "labels=(string)\"\"; 0 1 1"));
    EXPECT_EQ(found_in(*one.known()), kMasks);
  }
}

TEST_P(GstObjectsOn, KeypointsAreReadByAnyProgram) {
  Line line(points(in_place()) + kSink);
  const Kept kept(line);
  ASSERT_EQ(line.run(), "");
  EXPECT_EQ(stat(line.element("find").get(), "copied"), 0u);
  ASSERT_EQ(kept.all.size(), 2u);
  for (const Kept::One& one : kept.all) {
    const auto regions = regions_of(one.buffer.get());
    ASSERT_EQ(regions.size(), 2u);
    EXPECT_EQ(regions[0].place, "person 32x64+48+0");
    EXPECT_EQ(regions[1].place, "person 64x32+160+16");
    const std::string first =
        "label=(string)person, label_id=(int)0, confidence=(double)0.75, "
        "x_min=(double)0.1875, x_max=(double)0.3125, y_min=(double)0, y_max=(double)1";
    EXPECT_THAT(regions[0].params, ElementsAre("detection, " + first + ";"));
    // They are in pixels of a picture whose size is given beside them.
    const std::string points =
        "TenonPictureMeta, kind=(string)tensor, layer_name=(string)keypoints, model_name=(string)same1, "
        "format=(string)keypoints, type=(string)f32, shape=(string)\"3\\,3\", picture_width=(uint)256, "
        "picture_height=(uint)64;";
    EXPECT_THAT(regions[0].customs,
                ElementsAre("TenonMeta, kind=(string)detection, " + first + ", track_id=(gint64)-1;",
                            points + " 64 8 0.5 56 16 0.25 74 48 1"));
    EXPECT_THAT(regions[1].customs,
                ElementsAre(HasSubstr("confidence=(double)0.625"), points + " 176 24 0.5 208 25 0.75 192 40 0.125"));
    EXPECT_EQ(found_in(*one.known()), kPoints);
  }
}

TEST_P(GstObjectsOn, SoftPredictionsAreTensorsOfThePicture) {
  // The picture lies over the second and third of four rows of eight cells.
  Constant scores{{1, 2, 4, 8}, std::vector<float>(64, 0.25f)};
  scores.values[8] = -1;
  scores.values[32 + 23] = 1.5f;
  std::string wanted = "picture: class_scores of 2 rows -1";
  for (int i = 1; i < 31; ++i) wanted += " 0.25";
  Line line(
      infer(model("road sky", {scores}), "Segmentation", "decode-parameters=soft_predictions=true " + in_place()) +
      kSink);
  const Kept kept(line);
  ASSERT_EQ(line.run(), "");
  ASSERT_EQ(kept.all.size(), 2u);
  for (const Kept::One& one : kept.all)
    EXPECT_THAT(found_in(*one.known()),
                ElementsAre("picture: mask 0,0,256,64 of 2 rows 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1", wanted + " 1.5"));
}

#ifdef TENON_GSTREAMER_ANALYTICS
/// Reads masks as GStreamer's own elements do. Labels of objects are their types; keypoints have no place there.
TEST_P(GstObjectsOn, MasksAreInGstAnalyticsToo) {
  Line line(masks(in_place()) + kSink);
  const Kept kept(line);
  ASSERT_EQ(line.run(), "");
  ASSERT_EQ(kept.all.size(), 2u);
  GstAnalyticsRelationMeta* const meta = gst_buffer_get_analytics_relation_meta(kept.all[1].buffer.get());
  ASSERT_TRUE(meta);
  Texts found;
  gpointer state = nullptr;
  GstAnalyticsMtd object;
  while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(), &object)) {
    std::ostringstream text;
    gint x = 0, y = 0, width = 0, height = 0;
    gfloat score = 0;
    ASSERT_TRUE(gst_analytics_od_mtd_get_location(&object, &x, &y, &width, &height, &score));
    text << g_quark_to_string(gst_analytics_od_mtd_get_obj_type(&object)) << ' ' << width << 'x' << height << '+' << x
         << '+' << y << ' ' << score;
    gpointer none = nullptr;
    GstAnalyticsMtd mask;
    ASSERT_TRUE(gst_analytics_relation_meta_get_direct_related(meta, object.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                                               gst_analytics_segmentation_mtd_get_mtd_type(), &none,
                                                               &mask));
    guint mask_width = 0, mask_height = 0;
    const gs::BufferPtr bytes(gst_analytics_segmentation_mtd_get_mask(&mask, &x, &y, &mask_width, &mask_height));
    ASSERT_TRUE(bytes);
    text << ", mask " << mask_width << 'x' << mask_height << '+' << x << '+' << y << " of "
         << gst_buffer_get_video_meta(bytes.get())->height << " rows";
    std::vector<std::uint8_t> values(gst_buffer_get_size(bytes.get()));
    gst_buffer_extract(bytes.get(), 0, values.data(), values.size());
    for (const std::uint8_t value : values) text << ' ' << int{value};
    found.push_back(text.str());
  }
  EXPECT_THAT(found, ElementsAre("cat 64x64+64+0 0.75, mask 64x64+64+0 of 2 rows 1 0 1 1",
                                 "dog 32x16+160+16 0.625, mask 96x32+128+0 of 1 rows 0 1 1"));
}
#endif

std::vector<std::string> devices_of_objects() {
  std::istringstream names(TEST_DEVICES);
  return {std::istream_iterator<std::string>(names), {}};
}
INSTANTIATE_TEST_SUITE_P(On, GstObjectsOn, ::testing::ValuesIn(devices_of_objects()),
                         [](const auto& one) { return one.param; });

/// Luma of an NV12 picture.
int luma(const Kept::One& one, int x, int y) {
  GstVideoInfo info;
  GstVideoFrame frame;
  if (!gst_video_info_from_caps(&info, one.caps.get()) ||
      !gst_video_frame_map(&frame, &info, one.buffer.get(), GST_MAP_READ))
    return -1;
  const auto* const plane = static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
  const int value = plane[y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x];
  gst_video_frame_unmap(&frame);
  return value;
}

TEST_F(GstObjects, PassQueuesTeesAndConvertersAndAreFollowedAndDrawn) {
  const std::string rest =
      "tee name=t ! queue ! fakesink name=plain signal-handoffs=true "
      "t. ! queue ! videoconvert ! video/x-raw,format=RGB ! fakesink name=rgb signal-handoffs=true "
      "t. ! queue ! tenontrack ! tenondraw boxes=false ! queue ! fakesink name=drawn signal-handoffs=true";
  constexpr int kWhite = 235;
  {
    Line line(masks() + rest);
    const Kept plain(line, "plain"), rgb(line, "rgb"), drawn(line, "drawn");
    ASSERT_EQ(line.run(), "");
    for (const Kept* kept : {&plain, &rgb, &drawn}) ASSERT_EQ(kept->all.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(found_in(*plain.all[i].known()), kMasks) << "what one branch finds, the others do not see";
      EXPECT_EQ(found_in(*rgb.all[i].known()), kMasks);
      EXPECT_THAT(found_in(*drawn.all[i].known()),
                  ElementsAre("cat #1 64,0,128,64", "dog #2 159.75,16,192.25,32", kMasks[2], kMasks[3]));
      const auto regions = regions_of(drawn.all[i].buffer.get());
      ASSERT_EQ(regions.size(), 2u);
      EXPECT_THAT(regions[1].params, ElementsAre(HasSubstr("detection, label=(string)dog"), "object_id, id=(int)2;"));
      EXPECT_THAT(regions[1].customs, ElementsAre(HasSubstr("track_id=(gint64)2;"), HasSubstr("; 0 1 1")));
      EXPECT_NE(luma(drawn.all[i], 80, 16), kWhite) << "the cat's upper left cell";
      EXPECT_EQ(luma(drawn.all[i], 112, 16), kWhite) << "its upper right one is not the cat's";
      EXPECT_EQ(luma(plain.all[i], 80, 16), kWhite);
    }
  }
  Line line(points() + rest);
  const Kept plain(line, "plain"), rgb(line, "rgb"), drawn(line, "drawn");
  ASSERT_EQ(line.run(), "");
  for (const Kept* kept : {&plain, &rgb, &drawn}) ASSERT_EQ(kept->all.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found_in(*plain.all[i].known()), kPoints);
    EXPECT_EQ(found_in(*rgb.all[i].known()), kPoints);
    EXPECT_THAT(found_in(*drawn.all[i].known()),
                ElementsAre("person #1 48,0,80,64", "person #2 160,16,224,48", kPoints[2], kPoints[3]));
    EXPECT_NE(luma(drawn.all[i], 208, 25), kWhite);
    EXPECT_EQ(luma(drawn.all[i], 56, 16), kWhite) << "a point with a score this low is a guess";
    EXPECT_EQ(luma(plain.all[i], 208, 25), kWhite);
  }
}

TEST_F(GstObjects, FollowScaledPictures) {
  for (const char* scale : {"videoscale ! video/x-raw,width=128,height=32 ! ", "tenonconvert width=128 height=32 ! ",
                            "tenonconvert width=128 height=32 ! tenonidentity ! "}) {
    Line masked(masks() + scale + kSink);
    const Kept all_masked(masked);
    ASSERT_EQ(masked.run(), "") << scale;
    ASSERT_EQ(all_masked.all.size(), 2u) << scale;
    EXPECT_THAT(found_in(*all_masked.all[1].known()),
                ElementsAre("cat 32,0,64,32", "dog 79.875,8,96.125,16", "cat: mask 32,0,64,32 of 2 rows 1 0 1 1",
                            "dog: mask 64,0,112,16 of 1 rows 0 1 1"))
        << scale;
    Line posed(points() + scale + kSink);
    const Kept all_posed(posed);
    ASSERT_EQ(posed.run(), "") << scale;
    ASSERT_EQ(all_posed.all.size(), 2u) << scale;
    EXPECT_THAT(
        found_in(*all_posed.all[1].known()),
        ElementsAre("person 24,0,40,32", "person 80,8,112,24", "person: keypoints of 3 rows 32 4 0.5 28 8 0.25 37 24 1",
                    "person: keypoints of 3 rows 88 12 0.5 104 12.5 0.75 96 20 0.125"))
        << scale;
  }
}

TEST_F(GstObjects, FollowPartsOfPictures) {
  const std::string part = "tenonconvert crop-x=96 crop-y=8 crop-width=128 crop-height=48 ! ";
  Line masked(masks() + part + kSink);
  const Kept all_masked(masked);
  ASSERT_EQ(masked.run(), "");
  ASSERT_EQ(all_masked.all.size(), 2u);
  EXPECT_THAT(found_in(*all_masked.all[1].known()),
              ElementsAre("cat 0,0,32,48", "dog 63.75,8,96.25,24", "cat: mask 0,-8,32,56 of 2 rows 0 1",
                          "dog: mask 32,-8,128,24 of 1 rows 0 1 1"));
  Line posed(points() + part + kSink);
  const Kept all_posed(posed);
  ASSERT_EQ(posed.run(), "");
  ASSERT_EQ(all_posed.all.size(), 2u);
  EXPECT_THAT(found_in(*all_posed.all[1].known()),
              ElementsAre("person 64,8,128,40", "person: keypoints of 3 rows 80 16 0.5 112 17 0.75 96 32 0.125"));
}

/// An element that crops a picture does not know Tenon's metas: no meta is better than one with a wrong position.
TEST_F(GstObjects, HaveNoWrongPlacesWhereOthersCut) {
  for (const std::string& line_of : {masks(), points()}) {
    Line line(line_of + "videocrop left=96 top=8 ! " + kSink);
    const Kept kept(line);
    ASSERT_EQ(line.run(), "");
    ASSERT_EQ(kept.all.size(), 2u);
    EXPECT_THAT(kept.all[1].known()->all<metadata::Segmentation>(), IsEmpty());
    EXPECT_THAT(kept.all[1].known()->all<metadata::TensorOutput>(), IsEmpty());
  }
}

TEST_F(GstObjects, OfTheWholePictureAreThereOnceAfterManyElements) {
  const std::string path = model("one two", {kPrototypes});
  const std::string rest = "tenonidentity ! queue ! tenontrack ! tenonidentity ! " + kSink;
  Line masked(infer(path, "segmentation") + rest);
  const Kept all_masked(masked);
  ASSERT_EQ(masked.run(), "");
  ASSERT_EQ(all_masked.all.size(), 2u);
  EXPECT_THAT(found_in(*all_masked.all[1].known()),
              ElementsAre("picture: mask 0,0,256,64 of 2 rows 1 1 0 1 1 0 0 1 1 1 0 0 1 1 1 1"));
  EXPECT_THAT(customs_of(all_masked.all[1].buffer.get(), 0),
              ElementsAre(HasSubstr("labels=(string)\"one\\012two\\012\"")));
  Line pointed(infer(path, "heatmaps") + rest);
  const Kept all_pointed(pointed);
  ASSERT_EQ(pointed.run(), "");
  ASSERT_EQ(all_pointed.all.size(), 2u);
  EXPECT_THAT(found_in(*all_pointed.all[1].known()), ElementsAre("picture: keypoints of 2 rows 80 24 1 16 -16 1"));
}

TEST_F(GstObjects, OfPartsOfObjectsLieInThePicture) {
  Line line(masks() + "tenondetect inference-region=roi-list object-class=cat decode=yolov8-pose model=" +
            model("person", {kPosed}) + " ! " + kSink);
  const Kept kept(line);
  ASSERT_EQ(line.run(), "");
  ASSERT_EQ(kept.all.size(), 2u);
  // The cat's 64x64 pixels lie at (16, 0) of the input, at half their size.
  EXPECT_THAT(found_in(*kept.all[1].known()),
              ElementsAre(kMasks[0], kMasks[1], "cat: person 56,16,72,48", "cat: person 112,24,144,40", kMasks[2],
                          kMasks[3], "person: keypoints of 3 rows 64 20 0.5 60 24 0.25 69 40 1",
                          "person: keypoints of 3 rows 120 28 0.5 136 28.5 0.75 128 36 0.125"));
  const auto regions = regions_of(kept.all[1].buffer.get());
  ASSERT_EQ(regions.size(), 4u);
  EXPECT_EQ(regions[2].parent, regions[0].id);
  EXPECT_EQ(regions[3].parent, regions[0].id);
  EXPECT_NE(regions[0].id, regions[1].id);
}

TEST_F(GstObjects, ArePublishedAsLines) {
  const auto first_line = [&](const std::string& line_of) {
    Line line(line_of + "tenonpublish path=" + path_of("found.jsonl") + " ! fakesink");
    EXPECT_EQ(line.run(), "");
    std::ifstream file(path_of("found.jsonl"));
    std::string text;
    std::getline(file, text);
    return text;
  };
  const std::string head = R"({"stream":0,"timestamp_ns":0,"format":"nv12","width":256,"height":64,"metadata":[)";
  EXPECT_EQ(
      first_line(masks()),
      head +
          R"({"id":1,"kind":"detection","box":[64,0,128,64],"label":"cat","label_id":0,"score":0.75},)"
          R"({"id":2,"kind":"detection","box":[159.75,16,192.25,32],"label":"dog","label_id":1,"score":0.625},)"
          R"({"id":3,"parent":1,"kind":"segmentation","box":[64,0,128,64],"mask":{"type":"u8","shape":[2,2]},"labels":[]},)"
          R"({"id":4,"parent":2,"kind":"segmentation","box":[128,0,224,32],"mask":{"type":"u8","shape":[1,3]},"labels":[]}]})");
  EXPECT_EQ(first_line(points()),
            head + R"({"id":1,"kind":"detection","box":[48,0,80,64],"label":"person","label_id":0,"score":0.75},)"
                   R"({"id":2,"kind":"detection","box":[160,16,224,48],"label":"person","label_id":0,"score":0.625},)"
                   R"({"id":3,"parent":1,"kind":"tensor","name":"keypoints","model":"same2","format":"keypoints",)"
                   R"("tensor":{"type":"f32","shape":[3,3]},"points":[[64,8,0.5],[56,16,0.25],[74,48,1]]},)"
                   R"({"id":4,"parent":2,"kind":"tensor","name":"keypoints","model":"same2","format":"keypoints",)"
                   R"("tensor":{"type":"f32","shape":[3,3]},"points":[[176,24,0.5],[208,25,0.75],[192,40,0.125]]}]})");
}

TEST_F(GstObjects, ThatAreNotFoundHaveNoMetas) {
  Line line(masks("confidence=0.7") + kSink);
  const Kept kept(line);
  ASSERT_EQ(line.run(), "");
  ASSERT_EQ(kept.all.size(), 2u);
  EXPECT_THAT(found_in(*kept.all[1].known()), ElementsAre(kMasks[0], kMasks[2]));
  Line nothing(points("confidence=0.9") + kSink);
  const Kept none(nothing);
  ASSERT_EQ(nothing.run(), "");
  ASSERT_EQ(none.all.size(), 2u);
  EXPECT_THAT(found_in(*none.all[1].known()), IsEmpty());
  EXPECT_THAT(regions_of(none.all[1].buffer.get()), IsEmpty());
}

TEST_F(GstObjects, OutputsThatDoNotFitAreErrorsInWords) {
  const auto error_of_line = [&](const std::string& line_of, GQuark domain) {
    Line line(line_of + "fakesink");
    std::string error = line.run();
    EXPECT_EQ(line.domain, domain) << error;
    return error;
  };
  // One label more than the outputs have, no prototypes, values that are not points, a type that does not exist.
  EXPECT_THAT(
      error_of_line(infer(model("cat dog owl", {kMasked, kPrototypes}), "yolov8-seg"), GST_STREAM_ERROR),
      HasSubstr("element 'find' (infer): decoding YOLOv8-seg: no outputs are [1,4+labels+m,n] (or [1,n,6+m] with "
                "suppression inside) and [1,m,h,w] of f32 or f16 with 3 labels for an input of 64x32; there are:"));
  EXPECT_THAT(error_of_line(infer(model("cat dog", {kMasked}), "yolov8-seg"), GST_STREAM_ERROR), HasSubstr("[1,8,2]"));
  EXPECT_THAT(
      error_of_line(infer(model("cat dog", {kMasked}), "yolov8-pose"), GST_STREAM_ERROR),
      HasSubstr("no outputs are [1,4+labels+3*points,n] (or [1,n,6+3*points] with suppression inside) of f32 or "
                "f16 with 2 labels for an input of 64x32; there are:"));
  EXPECT_THAT(error_of_line(infer(model("cat dog", {kMasked}), "yolov8-mask"), GST_RESOURCE_ERROR),
              HasSubstr("YOLOv8-seg, MaskRCNN, YOLOv8-pose"));
}

}  // namespace objects_test
