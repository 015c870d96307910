// SPDX-License-Identifier: Apache-2.0
// gvatrack by what objects look like: objects of a file in a picture of coloured bars, and a model that gives their mean colour. Models that
// take the size of the frames.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace gva_models_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr int kNone = -1;  ///< No id.

/// An object of 36x40 in the upper part of the bars.
Json object(int x, int y, const char* label = "person") {
  return {{"x", x},
          {"y", y},
          {"w", 36},
          {"h", 40},
          {"detection", {{"confidence", 0.9}, {"label", label}, {"label_id", label == std::string("cart") ? 1 : 0}}}};
}
const Json kYellow = object(50, 0), kYellowBelow = object(50, 60), kCyan = object(96, 0);

class GvaTrack : public ::testing::Test {
 protected:
  void SetUp() override { load_plugin(); }
  std::string path_of(const std::string& name) const { return (folder_.path() / name).string(); }

  /// The ids of the objects in the last frame, where each frame has these objects. @param properties  What is set on gvatrack.
  std::vector<int> ids_of(const std::vector<Json>& frames, const std::string& properties) {
    Json all = Json::array();
    for (const Json& objects : frames) all.push_back({{"objects", objects}});
    std::ofstream(path_of("objects.json")) << all.dump();
    std::remove(path_of("out.json").c_str());
    Line line("videotestsrc num-buffers=" + std::to_string(frames.size()) +
              " pattern=smpte ! video/x-raw,format=RGB,width=320,height=240 ! gvaattachroi file-path=" +
              path_of("objects.json") + " ! gvainference inference-region=roi-list model=" + mean_model() +
              " ! queue ! gvatrack " + properties +
              " ! gvametaconvert ! gvametapublish method=file file-format=json-lines file-path=" + path_of("out.json") +
              " ! fakesink async=false");
    EXPECT_EQ(line.run(), "") << properties;
    line.to(GST_STATE_NULL);
    Json last;
    std::ifstream file(path_of("out.json"));
    for (std::string text; std::getline(file, text);) last = Json::parse(text);
    std::vector<int> ids;
    for (const Json& one : last["objects"]) ids.push_back(one.value("id", kNone));
    return ids;
  }

 private:
  std::string mean_model() {
    const std::string path = path_of("mean.xml");
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, 16, 16});
    x->set_friendly_name("x");
    const auto axes = op::v0::Constant::create(element::i64, Shape{2}, std::vector<std::int64_t>{2, 3});
    serialize(
        Model(OutputVector{std::make_shared<op::v1::ReduceMean>(x, axes, true)->output(0)}, ParameterVector{x}, "mean"),
        path);
    return path;
  }
  const TemporaryFolder folder_;
};

using GvaModels = GvaTrack;

/// Frames in which an object is seen, then for `missing` nothing, then another one.
std::vector<Json> seen_again(const Json& first, int missing, const Json& then) {
  std::vector<Json> frames(4, Json::array({first}));
  frames.insert(frames.end(), static_cast<std::size_t>(missing), Json::array());
  frames.push_back(Json::array({then}));
  return frames;
}

TEST_F(GvaTrack, DeepSortKnowsObjectsByWhatTheyLookLike) {
  const auto frames = seen_again(kYellow, 2, kYellowBelow);
  EXPECT_THAT(ids_of(frames, "tracking-type=short-term-imageless"), ElementsAre(2)) << "it is elsewhere";
  EXPECT_THAT(ids_of(frames, "tracking-type=deep-sort"), ElementsAre(1));
  // Its neighbour has another colour, at a cosine distance of one half.
  const auto others = seen_again(kYellow, 2, kCyan);
  EXPECT_THAT(ids_of(others, "tracking-type=deep-sort deepsort-trck-cfg=n_init=1"), ElementsAre(2));
  EXPECT_THAT(ids_of(others, "tracking-type=deep-sort"), ElementsAre(kNone)) << "not found often enough";
  EXPECT_THAT(ids_of(others, "tracking-type=deep-sort deepsort-trck-cfg=n_init=1,max_cosine_distance=0.55"),
              ElementsAre(1));
}

TEST_F(GvaTrack, DeepSortRemembersTracksThatAreOver) {
  const auto frames = seen_again(kYellow, 5, kYellowBelow);
  const std::string track = "tracking-type=deep-sort deepsort-trck-cfg=n_init=1,max_age=2";
  EXPECT_THAT(ids_of(frames, track), ElementsAre(2));
  EXPECT_THAT(ids_of(frames, track + ",reid_max_age=20"), ElementsAre(1));
}

TEST_F(GvaTrack, FollowsOneClassAndSoManyObjects) {
  const std::vector<Json> frames(4, Json::array({object(100, 60, "cart"), kYellow, kCyan}));
  EXPECT_THAT(ids_of(frames, "tracking-type=deep-sort deepsort-trck-cfg=n_init=1"), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids_of(frames, "tracking-type=deep-sort deepsort-trck-cfg=n_init=1,object_class=person"),
              ElementsAre(kNone, 1, 2));
  EXPECT_THAT(ids_of(frames, "config=max_num_objects=2"), ElementsAre(1, 2, kNone));
}

TEST_F(GvaTrack, ModelsTakeTheSizeOfTheFrames) {
  // The output of the model is as large as its input.
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 16, 16, 3});
  x->set_friendly_name("x");
  Model same(OutputVector{std::make_shared<op::v0::Relu>(x)->output(0)}, ParameterVector{x}, "same");
  same.set_rt_info(std::string("NHWC"), {"model_info", "layout"});
  serialize(same, path_of("same.xml"));
  const auto extents = [&](const std::string& properties) {
    std::remove(path_of("out.json").c_str());
    Line line("videotestsrc num-buffers=1 ! video/x-raw,width=64,height=48 ! gvainference model=" +
              path_of("same.xml") + " " + properties +
              " ! gvametaconvert add-tensor-data=true ! gvametapublish method=file "
              "file-format=json-lines file-path=" +
              path_of("out.json") + " ! fakesink async=false");
    EXPECT_EQ(line.run(), "") << properties;
    line.to(GST_STATE_NULL);
    std::ifstream file(path_of("out.json"));
    const Json frame = Json::parse(file);
    return frame["tensors"][0]["dims"].dump();
  };
  EXPECT_EQ(extents(""), "[1,16,16,3]");
  EXPECT_EQ(extents("reshape=true"), "[1,48,64,3]");
  EXPECT_EQ(extents("reshape-width=40 reshape-height=20"), "[1,20,40,3]");
  EXPECT_THAT(
      Line("videotestsrc num-buffers=1 ! gvainference reshape-width=40 model=" + path_of("same.xml") + " ! fakesink")
          .run(),
      HasSubstr("found 40 and 0"));
}

/// A red box around an object, its label, and a class of the frame, on black.
TEST_F(GvaModels, TextsAreWhereTheyAreTold) {
  // A model that is sure of its only class.
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, 8, 8});
  x->set_friendly_name("x");
  const auto axes = op::v0::Constant::create(element::i64, Shape{3}, std::vector<std::int64_t>{1, 2, 3});
  const auto mean = std::make_shared<op::v1::ReduceMean>(x, axes, false);
  const auto one = op::v0::Constant::create(element::f32, Shape{1, 1}, std::vector<float>{1});
  Model night(OutputVector{std::make_shared<op::v1::Add>(mean, one)->output(0)}, ParameterVector{x}, "night");
  night.set_rt_info(std::string("classification"), {"model_info", "model_type"});
  night.set_rt_info(std::string("night"), {"model_info", "labels"});
  serialize(night, path_of("night.xml"));
  std::ofstream(path_of("one.json")) << Json::array({{{"objects", {object(100, 60)}}}}).dump();
  constexpr int kWidth = 320;
  const auto drawn = [&](const std::string& options) {
    Line line(
        "videotestsrc num-buffers=1 pattern=black ! video/x-raw,format=RGB,width=320,height=240 ! gvaclassify "
        "inference-region=full-frame model=" +
        path_of("night.xml") + " ! gvaattachroi file-path=" + path_of("one.json") +
        " ! gvawatermark displ-cfg=color-idx=0,thickness=1" + options + " ! filesink location=" + path_of("out.rgb"));
    EXPECT_EQ(line.run(), "") << options;
    line.to(GST_STATE_NULL);
    std::ifstream file(path_of("out.rgb"), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  // How many pixels of a part of the picture have this colour.
  const auto count = [](const std::string& picture, int left, int top, int right, int bottom,
                        const std::string& colour) {
    int found = 0;
    for (int y = top; y < bottom; ++y)
      for (int at = left; at < right; ++at)
        found += picture.compare(static_cast<std::size_t>(y * kWidth + at) * 3, 3, colour) == 0;
    return found;
  };
  const std::string red("\xff\0\0", 3), white("\xff\xff\xff", 3);
  const std::string usual = drawn(""), bare = drawn(",draw-txt-bg=false"), moved = drawn(",text-x=40,text-y=125");
  ASSERT_EQ(usual.size(), 320u * 240 * 3);
  EXPECT_GT(count(usual, 0, 0, 80, 20, white), 20) << "the class of the frame";
  EXPECT_EQ(count(moved, 0, 0, 80, 20, white), 0);
  EXPECT_EQ(count(moved, 0, 100, 40, 120, white), 0);
  EXPECT_EQ(count(moved, 40, 100, 120, 120, white), count(usual, 0, 0, 80, 20, white));
  // The label is above the box: letters on a red bar, or red letters.
  const int bar = count(usual, 100, 40, 200, 60, red), letters = count(bare, 100, 40, 200, 60, red);
  EXPECT_GT(letters, 20);
  EXPECT_GT(bar, 3 * letters);
  EXPECT_EQ(count(bare, 100, 60, 136, 100, red), count(usual, 100, 60, 136, 100, red)) << "the box is the same";
}

TEST_F(GvaTrack, SettingsThatAreNoneAreRefusedByName) {
  for (const auto& [properties, wanted] :
       {std::pair("tracking-type=deep-sort deepsort-trck-cfg=max_cosine_distance=3", "max_cosine_distance is \"3\""),
        std::pair("tracking-type=deep-sort deepsort-trck-cfg=reid_max_age=long", "reid_max_age is \"long\""),
        std::pair("config=max_num_objects=-1", "max_num_objects is \"-1\"")})
    EXPECT_THAT(Line("videotestsrc num-buffers=1 ! gvatrack " + std::string(properties) + " ! fakesink").run(),
                HasSubstr(wanted));
}

}  // namespace gva_models_test
