// SPDX-License-Identifier: Apache-2.0
// Models in GStreamer's pipelines: a decoder, detection, tracking and classification, on each device, with nothing copied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>

namespace gstreamer_models_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::HasSubstr;

std::vector<std::string> devices() {
  std::istringstream names(TEST_DEVICES);
  std::vector<std::string> all;
  for (std::string name; names >> name;) all.push_back(name);
  return all;
}

std::string model(const std::string& name) { return std::string(std::getenv("TENON_MODELS")) + "/" + name; }

/// The clip of moving shapes, decoded: its first 32 pictures of 1280x720.
std::string clip() { return "filesrc location=" + model("demo.mp4") + " ! decodebin ! identity eos-after=33 ! "; }
constexpr std::uint64_t kPictureBytes = 1280 * 720 * 3 / 2;

bool has_decoder() {
  gs::start();
  for (const char* name : {"avdec_h264", "openh264dec"}) {
    if (const gs::ObjectPtr<GstElementFactory> found(gst_element_factory_find(name)); found) return true;
  }
  return false;
}

class GstModels : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_decoder()) GTEST_SKIP() << "GStreamer has no H.264 decoder here";
  }
  static std::string detect(const std::string& more) {
    return "tenondetect name=d model=" + model("demo.onnx") + " device=" + GetParam() + " " + more;
  }
};

TEST_P(GstModels, SourcesWriteWhereTheDeviceReads) {
  Line line("videotestsrc num-buffers=8 ! video/x-raw,format=NV12,width=640,height=480 ! " +
            detect("zero-copy=require") + " ! tenonrecording");
  EXPECT_EQ(line.run(), "");
  EXPECT_EQ(seen.frames, 8);
  EXPECT_EQ(stat(line.element("d").get(), "copied"), 0u);
}

TEST_P(GstModels, FindAndFollowObjectsOfADecoder) {
  Line line(clip() + detect("") + " ! tenontrack name=t ! tenonrecording");
  EXPECT_EQ(line.run(), "");
  EXPECT_GT(seen.frames, 20);
  EXPECT_GT(seen.detections, seen.frames / 2);
  // The NPU reads whole pages only, and not all pictures of GStreamer's libav decoder begin on one: the others are copied, and
  // counted.
  const std::uint64_t most = GetParam() == "CPU" ? 0 : static_cast<std::uint64_t>(seen.frames) * kPictureBytes;
  EXPECT_LE(stat(line.element("d").get(), "copied"), most);
  EXPECT_EQ(stat(line.element("t").get(), "copied"), 0u);
  EXPECT_EQ(stat(line.element("t").get(), "frames-out"), static_cast<std::uint64_t>(seen.frames));
}

TEST_P(GstModels, WaitForBatchesAndSayHowLong) {
  Line line(clip() + detect("batch-size=4 max-delay-ms=50") + " ! tenonrecording name=r");
  EXPECT_EQ(line.run(), "");
  EXPECT_GT(seen.frames, 20);
  EXPECT_GT(seen.detections, 0);
  EXPECT_EQ(stat(line.element("r").get(), "frames-in"), stat(line.element("d").get(), "frames-in"));
}

TEST_P(GstModels, ObjectsGoThroughASecondModel) {
  Line line(clip() + detect("") + " ! tenonclassify name=c model=" + model("demo.onnx") +
            " decode=none max-objects=1 device=" + GetParam() + " ! tenonrecording");
  EXPECT_EQ(line.run(), "");
  EXPECT_GT(seen.detections, 0);
  EXPECT_EQ(stat(line.element("c").get(), "frames-out"), static_cast<std::uint64_t>(seen.frames));
}

INSTANTIATE_TEST_SUITE_P(On, GstModels, ::testing::ValuesIn(devices()), [](const auto& one) { return one.param; });

TEST(GstAliases, HaveTheNamesThatUsersKnow) {
  load_plugin();
  const gs::ObjectPtr<GstElement> classify(
      GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("tenonclassify", nullptr))));
  ASSERT_TRUE(classify);
  GObjectClass* const known = G_OBJECT_GET_CLASS(classify.get());
  for (const char* name : {"model", "device", "threshold", "inference-interval", "batch-size", "nireq", "object-class",
                           "inference-region", "labels-file"})
    EXPECT_TRUE(g_object_class_find_property(known, name)) << name;
  gint region = -1;
  g_object_get(classify.get(), "inference-region", &region, nullptr);
  EXPECT_EQ(region, 1);  // roi-list
}

TEST(GstAliases, SayWhatIsMissing) {
  EXPECT_THAT(Line("videotestsrc ! tenondetect ! fakesink").run(), HasSubstr("model"));
  EXPECT_THAT(Line("videotestsrc ! tenondetect model=/none.onnx ! fakesink").run(),
              HasSubstr("there is no model \"/none.onnx\""));
  EXPECT_THAT(Line("videotestsrc ! tenondetect device=TPU model=" + model("demo.onnx") + " ! fakesink").run(),
              HasSubstr("TPU"));
}

}  // namespace gstreamer_models_test
