// SPDX-License-Identifier: Apache-2.0
// Lines of DL Streamer's documentation with the demo's models: what they write is read as its programs read it, and held against the
// clip's ground truth or against numbers that were worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>
#ifdef TEST_HAS_MQTT
#include <tenon/elements/mqtt/testing/broker.hpp>
#endif
#include <tenon/tests/support/temporary_folder.hpp>

namespace gva_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string model(const std::string& name) { return std::string(std::getenv("TENON_MODELS")) + "/" + name; }
constexpr std::size_t kFrames = 12;  ///< At least: what a decoder's threads hold at the end comes, too.
std::string clip() { return "filesrc location=" + model("demo.mp4") + " ! decodebin ! identity eos-after=13 ! "; }

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::vector<Json> lines_of(const std::string& path) {
  std::vector<Json> all;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) all.push_back(Json::parse(line));
  }
  return all;
}
std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> all;
  for (const auto& [key, value] : object.items()) all.push_back(key);
  return all;
}

/// The IoU of two boxes x1, y1, x2, y2.
double overlap(const std::vector<double>& a, const std::vector<double>& b) {
  const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]),
               height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  const auto area = [](const std::vector<double>& box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  return width * height / (area(a) + area(b) - width * height);
}

class GvaLines : public ::testing::Test {
 protected:
  void SetUp() override {
    load_plugin();
    bool can_decode = false;
    for (const char* name : {"avdec_h264", "openh264dec"}) {
      if (const gs::ObjectPtr<GstElementFactory> found(gst_element_factory_find(name)); found) can_decode = true;
    }
    if (!can_decode) GTEST_SKIP() << "GStreamer has no H.264 decoder here";
  }
  std::string path_of(const std::string& name) const { return (folder_.path() / name).string(); }
  /// Writes a file and gives its path.
  std::string made(const std::string& name, const std::string& text) const {
    std::ofstream(path_of(name)) << text;
    return path_of(name);
  }
  std::string lines(const std::string& convert = "") const {
    return "gvametaconvert " + convert +
           " ! gvametapublish method=file file-format=json-lines file-path=" + path_of("out.json") +
           " ! fakesink async=false";
  }
  std::vector<Json> written() const { return lines_of(path_of("out.json")); }

 private:
  const TemporaryFolder folder_;
};

TEST_F(GvaLines, AreRunAsDocumented) {
  Line line(clip() + "gvadetect model=" + model("demo.onnx") +
            " device=CPU pre-process-backend=opencv threshold=0.4 ! queue ! " +
            lines("source=clip tags={\\\"site\\\":\\\"yard\\\"}"));
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  const std::vector<Json> frames = written();
  ASSERT_GE(frames.size(), kFrames);
  const Json truth = Json::parse(text_of(model("demo.json")))["frames"];
  int found = 0, wanted = 0;
  for (const Json& frame : frames) {
    EXPECT_THAT(keys_of(frame), ElementsAre("objects", "resolution", "source", "tags", "timestamp"));
    EXPECT_EQ(frame["resolution"], (Json{{"width", 1280}, {"height", 720}}));
    EXPECT_EQ(frame["source"], "clip");
    EXPECT_EQ(frame["tags"], (Json{{"site", "yard"}}));
    // Frames without objects have no line.
    const double number = frame["timestamp"].get<double>() * 30 / 1e9;
    EXPECT_NEAR(number, std::round(number), 0.03);
    const Json& there_are = truth.at(static_cast<std::size_t>(std::lround(number)))["objects"];
    for (const Json& object : frame["objects"]) {
      EXPECT_THAT(keys_of(object), ElementsAre("detection", "h", "region_id", "roi_type", "w", "x", "y"));
      EXPECT_THAT(keys_of(object["detection"]), ElementsAre("bounding_box", "confidence", "label", "label_id"));
      EXPECT_GE(object["detection"]["confidence"], 0.4);
      EXPECT_EQ(object["detection"]["label"], object["roi_type"]);
      EXPECT_NEAR(object["detection"]["bounding_box"]["x_min"].get<double>() * 1280, object["x"].get<double>(), 0.51);
      EXPECT_NEAR(object["detection"]["bounding_box"]["y_max"].get<double>() * 720,
                  object["y"].get<double>() + object["h"].get<double>(), 0.51);
    }
    if (number > kFrames) continue;  // More may pass before the end is known.
    for (const Json& there : there_are) {
      if (there.value("difficult", false)) continue;
      ++wanted;
      for (const Json& object : frame["objects"]) {
        const double x = object["x"], y = object["y"];
        const std::vector<double> box{x, y, x + object["w"].get<double>(), y + object["h"].get<double>()};
        if (object["roi_type"] == there["label"] && overlap(box, there["box"].get<std::vector<double>>()) > 0.5) {
          ++found;
          break;
        }
      }
    }
  }
  EXPECT_GT(wanted, 12);
  EXPECT_GT(found, wanted * 0.85) << found << " of " << wanted;
}

TEST_F(GvaLines, BranchesAreAggregated) {
  // The boxes of the second branch lie elsewhere, and the frames of the first one go on.
  Line line(clip() + "tee name=branch ! queue ! gvadetect model=" + model("demo.onnx") +
            " threshold=0.4 ! gvametaaggregate name=aggregate latency=5000000000 ! " + lines("add-empty-results=true") +
            " branch. ! queue ! gvaattachroi roi=1,2,33,34 ! aggregate.");
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  const std::vector<Json> frames = written();
  ASSERT_GE(frames.size(), kFrames);
  std::size_t found = 0;
  for (const Json& frame : frames) {
    const auto is_attached = [](const Json& object) {
      return object["x"] == 1 && object["y"] == 2 && object["w"] == 32 && object["h"] == 32;
    };
    const Json& objects = frame["objects"];
    EXPECT_EQ(std::count_if(objects.begin(), objects.end(), is_attached), 1);
    found += objects.size() - 1;
  }
  EXPECT_GT(found, kFrames / 2) << "what the model found is there, too";
}

TEST_F(GvaLines, TrackAndClassify) {
  Line line(clip() + "gvadetect model=" + model("demo.onnx") +
            " model-instance-id=a ! queue ! gvatrack tracking-type=short-term-imageless ! " + "gvaclassify model=" +
            model("colour.xml") + " reclassify-interval=1 object-class=circle,square,triangle,star ! queue ! " +
            "gvafpscounter interval=1 name=f ! gvawatermark displ-cfg=show-labels=false,color-idx=1 ! " + lines());
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  const std::vector<Json> frames = written();
  ASSERT_GE(frames.size(), kFrames);
  for (const Json& frame : frames) {
    for (const Json& object : frame["objects"]) {
      ASSERT_THAT(keys_of(object),
                  ElementsAre("classification", "detection", "h", "id", "region_id", "roi_type", "w", "x", "y"));
      EXPECT_THAT(keys_of(object["classification"]), ElementsAre("confidence", "label", "label_id", "model"));
      EXPECT_EQ(object["classification"]["model"]["name"], "colour");
      EXPECT_GT(object["id"], 0);
    }
  }
  // Objects keep their ids in a shot.
  const auto ids = [](const Json& frame) {
    std::set<int> all;
    for (const Json& object : frame["objects"]) all.insert(object["id"].get<int>());
    return all;
  };
  EXPECT_THAT(ids(frames.back()), ::testing::SizeIs(::testing::Ge(3u)));
  std::vector<int> kept;
  const auto first = ids(frames[2]), last = ids(frames[kFrames - 1]);
  std::set_intersection(first.begin(), first.end(), last.begin(), last.end(), std::back_inserter(kept));
  EXPECT_GE(kept.size() * 10, first.size() * 8);
}

TEST_F(GvaLines, PropertiesReachTheModel) {
  const auto labels = [&](const std::string& more) {
    std::remove(path_of("out.json").c_str());
    Line line(clip() + "gvadetect model=" + model("demo.onnx") + " " + more + " ! " + lines());
    EXPECT_EQ(line.run(), "") << more;
    line.to(GST_STATE_NULL);
    std::set<std::string> all;
    for (const Json& frame : written()) {
      for (const Json& object : frame["objects"]) all.insert(object["roi_type"].get<std::string>());
    }
    return all;
  };
  const auto plain = labels("threshold=0.4");
  const auto all = ::testing::IsSupersetOf({"circle", "square", "triangle"});
  EXPECT_THAT(plain, all);
  EXPECT_THAT(labels("threshold=0.4 batch-size=4 batch-timeout=-1 nireq=2 ie-config=NUM_STREAMS=1 reshape-width=512 "
                     "reshape-height=288"),
              all);
  EXPECT_THAT(labels("threshold=0.4 batch-size=4 batch-timeout=0 nireq=1000 cpu-throughput-streams=1"), all);
  EXPECT_THAT(labels("labels=<a,b,c,d>"), ::testing::IsSupersetOf({"a", "b"}));
  EXPECT_THAT(labels("labels-file=" + made("labels.txt", "e\nf\ng\nh\n")), ::testing::IsSupersetOf({"e", "f"}));
  EXPECT_THAT(labels("model-proc=" +
                     made("proc.json", R"({"json_schema_version": "2.2.0", "input_preproc": [], "output_postproc": [
    {"labels": ["i", "j", "k", "l"]}]})")),
              ::testing::IsSupersetOf({"i", "j"}));
  EXPECT_THAT(labels("threshold=1"), ::testing::IsEmpty());
  Line typed("gvadetect name=d ! fakesink");
  const gs::ObjectPtr<GstElement> element = typed.element("d");
  guint size = 7;
  gfloat threshold = 0;
  gint timeout = 0, region = 7;
  gchar* text = nullptr;
  g_object_set(element.get(), "batch-size", 1024u, "threshold", 0.25, "batch-timeout", 2147483647, "inference-region",
               1, nullptr);
  g_object_get(element.get(), "batch-size", &size, "threshold", &threshold, "batch-timeout", &timeout,
               "inference-region", &region, "labels", &text, nullptr);
  EXPECT_EQ(size, 1024u);
  EXPECT_EQ(threshold, 0.25f);
  EXPECT_EQ(timeout, 2147483647);
  EXPECT_EQ(region, 1);
  EXPECT_EQ(text, nullptr);
}

TEST_F(GvaLines, TimesOfTheFrame) {
  const gs::ObjectPtr<GstElementFactory> stamper(gst_element_factory_find("timecodestamper"));
  if (!stamper) GTEST_SKIP() << "GStreamer has no timecodestamper here";
  const auto system = [&](const std::string& more) {
    std::remove(path_of("out.json").c_str());
    Line line(
        "videotestsrc num-buffers=1 ! video/x-raw,width=64,height=48,framerate=25/1 ! timecodestamper set=always "
        "source=rtc ! "
        "gvafpscounter print-latency=true ! gvaattachroi ! " +
        lines(more));
    EXPECT_EQ(line.run(), "");
    line.to(GST_STATE_NULL);
    return written().at(0)["system_timestamp"].get<std::string>();
  };
  EXPECT_THAT(system("timestamp-utc=true"), ::testing::MatchesRegex("20..-..-..T..:..:..[.]...Z"));
  EXPECT_THAT(system("timestamp-utc=true timestamp-microseconds=true"),
              ::testing::MatchesRegex("20..-..-..T..:..:..[.]......Z"));
  EXPECT_THAT(system("add-rtp-timestamp=true"), ::testing::MatchesRegex("20..-..-..T..:..:..[.]...:.*00"));
}

TEST_F(GvaLines, InferenceGivesTensors) {
  Line line(clip() + "gvainference model=" + model("demo.onnx") + " inference-interval=4 ! " +
            lines("add-tensor-data=true"));
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  const std::vector<Json> frames = written();
  ASSERT_GE(frames.size(), kFrames / 4);
  const Json& tensor = frames[0]["tensors"][0];
  EXPECT_EQ(tensor["dims"], (Json{1, 3024, 9}));
  EXPECT_EQ(tensor["precision"], "FP32");
  EXPECT_EQ(tensor["layer_name"], "output");
  EXPECT_EQ(tensor["model_name"], "demo");
  EXPECT_EQ(tensor["data"].size(), 3024u * 9);
  EXPECT_EQ(frames[0]["objects"][0]["w"], 1280);
}

TEST_F(GvaLines, AnInstanceIsSharedByItsName) {
  Line line(
      "videotestsrc num-buffers=2 ! video/x-raw,width=320,height=240 ! gvainference model-instance-id=one name=b ! "
      "fakesink "
      "videotestsrc num-buffers=2 ! video/x-raw,width=320,height=240 ! gvainference model-instance-id=one name=a "
      "model=" +
      model("demo.onnx") + " ! fakesink");
  EXPECT_EQ(line.run(), "");
  Line alone("videotestsrc num-buffers=2 ! gvainference model-instance-id=none ! fakesink");
  EXPECT_THAT(alone.run(), HasSubstr("model"));
}

TEST_F(GvaLines, AnArrayIsOneDocument) {
  const std::string path = path_of("all.json");
  Line line(
      "videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48 ! gvaattachroi roi=8,4,40,28 ! gvametaconvert "
      "json-indent=4 ! "
      "gvametapublish file-path=" +
      path + " ! fakesink");
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  const Json all = Json::parse(text_of(path));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_THAT(text_of(path), HasSubstr("\n    \"objects\""));
  const Json& object = all[1]["objects"][0];
  EXPECT_EQ(object["x"], 8);
  EXPECT_EQ(object["w"], 32);
  EXPECT_DOUBLE_EQ(object["detection"]["bounding_box"]["x_max"], 40.0 / 64);
  // The same file gives the regions again, by their timestamps and in their order.
  for (const char* mode : {"by-timestamp", "in-order", "in-loop"}) {
    std::remove(path_of("out.json").c_str());
    Line again("videotestsrc num-buffers=4 ! video/x-raw,width=128,height=96 ! gvaattachroi file-path=" + path +
               " mode=" + mode + " ! " + lines("add-empty-results=true"));
    ASSERT_EQ(again.run(), "");
    again.to(GST_STATE_NULL);
    const std::vector<Json> frames = written();
    ASSERT_EQ(frames.size(), 4u) << mode;
    EXPECT_EQ(frames[1]["objects"][0]["x"], 16) << "fractions follow the picture's size";
    EXPECT_EQ(frames[3].contains("objects"), mode == std::string("in-loop"));
  }
}

TEST_F(GvaLines, WholeFrameWhereNoRegionIsGiven) {
  Line line(
      "videotestsrc num-buffers=1 ! video/x-raw,width=64,height=48 ! gvaattachroi ! gvadetect "
      "inference-region=roi-list model=" +
      model("demo.onnx") + " ! " + lines());
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  EXPECT_EQ(written()[0]["objects"][0]["w"], 64);
}

/// A box of 40x40 whose middle is at x = 20, 30, 40..., y = 20, ten times a second.
std::string walk() {
  Json frames = Json::array();
  for (int i = 0; i < 8; ++i)
    frames.push_back({{"objects",
                       {{{"x", 10 * i},
                         {"y", 0},
                         {"w", 40},
                         {"h", 40},
                         {"detection", {{"confidence", 0.9}, {"label", "cart"}, {"label_id", 0}}}}}}});
  return frames.dump();
}

TEST_F(GvaLines, ZonesTripwiresAndDwellTimes) {
  const std::string config = made("config.json", R"({
    "zones": [{"id": "yard", "type": "polygon", "track-dwell-time": true, "color": {"r": 255, "g": 0, "b": 0}, "thickness": 3,
               "points": [{"x": 36, "y": 0}, {"x": 76, "y": 0}, {"x": 76, "y": 40}, {"x": 36, "y": 40}]},
              {"id": "well", "type": "circle", "center": {"x": 60, "y": 20}, "radius": 5}],
    "tripwires": [{"id": "gate", "points": [{"x": 46, "y": 0}, {"x": 46, "y": 48}]}]})");
  Line line("videotestsrc num-buffers=8 ! video/x-raw,width=160,height=48,framerate=10/1 ! gvaattachroi file-path=" +
            made("walk.json", walk()) + " ! gvatrack config=tracking_per_class=false ! gvaanalytics config=" + config +
            " ! " + lines());
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  const std::vector<Json> frames = written();
  ASSERT_EQ(frames.size(), 8u);
  const auto at = [&](std::size_t i) { return frames[i]["objects"][0]; };
  EXPECT_FALSE(at(1).contains("zone_violations"));
  EXPECT_EQ(at(2)["zone_violations"], (Json{"yard"}));
  EXPECT_EQ(at(4)["zone_violations"], (Json{"yard", "well"}));
  EXPECT_FALSE(at(6).contains("zone_violations"));
  ASSERT_EQ(at(5)["dwell_times"].size(), 1u);
  EXPECT_EQ(at(5)["dwell_times"][0]["zone_id"], "yard");
  EXPECT_NEAR(at(5)["dwell_times"][0]["dwell_time_sec"], 0.3, 1e-6);
  EXPECT_NEAR(at(5)["dwell_times"][0]["first_seen_timestamp_sec"], 0.2, 1e-6);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(at(i).contains("tripwire_crossings"), i == 3) << i;
  // From the left of the picture to its right over a line that leads down is -1: the side grows as x falls.
  EXPECT_EQ(at(3)["tripwire_crossings"], (Json{{{"tripwire_id", "gate"}, {"direction", -1}}}));
}

/// The bytes of the only picture that a line gives.
std::vector<std::uint8_t> picture_of(const std::string& path) {
  const std::string text = text_of(path);
  return {text.begin(), text.end()};
}

TEST_F(GvaLines, WatermarkShowsAndHides) {
  const auto drawn = [&](const std::string& options) {
    const std::string path = path_of("picture.rgb");
    Line line(
        "videotestsrc num-buffers=1 pattern=ball ! video/x-raw,format=RGB,width=64,height=48 ! gvaattachroi "
        "file-path=" +
        made(
            "one.json",
            R"([{"objects": [{"x": 8, "y": 8, "w": 24, "h": 24, "detection": {"label": "cart", "confidence": 1}}]}])") +
        " ! gvawatermark " + options + " ! filesink location=" + path);
    EXPECT_EQ(line.run(), "") << options;
    return picture_of(path);
  };
  const auto plain = drawn("displ-cfg=hide-roi=cart"),
             marked = drawn("displ-cfg=color-idx=0,show-labels=false,thickness=1");
  ASSERT_EQ(plain.size(), marked.size());
  EXPECT_NE(plain, marked);
  EXPECT_EQ(drawn("displ-cfg=show-roi=tram"), plain);
  EXPECT_EQ(drawn("displ-cfg=show-roi=cart:tram,show-labels=false,thickness=1,color-idx=0"), marked);
  const std::size_t corner = (8 * 64 + 8) * 3;
  EXPECT_EQ(marked[corner], 255);
  EXPECT_EQ(marked[corner + 1], 0);
  EXPECT_NE(drawn("displ-cfg=enable-blur=true,hide-roi=cart"), plain) << "a hidden object is blurred, too";
  EXPECT_EQ(drawn("displ-cfg=enable-blur=true,hide-roi=cart,show-blur-roi=tram"), plain);
  EXPECT_EQ(drawn("displ-cfg=font-type=plain,draw-txt-bg=false,text-y=20,hide-roi=cart"), plain);
}

TEST_F(GvaLines, ABrokerGetsTheSameText) {
#ifdef TEST_HAS_MQTT
  using namespace mqtt_testing;
  if (Broker::program().empty()) GTEST_SKIP() << "no mosquitto (Debian: mosquitto)";
  mosquitto_lib_init();
  const int port = free_port();
  const Broker broker(port);
  Reader reader(port, "yard/#");
  const std::string address = "127.0.0.1:" + std::to_string(port);
  const std::string config = made(
      "mqtt.json", Json{{"address", address}, {"topic", "yard/two"}, {"TLS", false}, {"client-id", nullptr}}.dump());
  Line line(
      "videotestsrc num-buffers=2 ! video/x-raw,width=64,height=48 ! gvaattachroi ! gvametaconvert ! gvametapublish "
      "method=mqtt address=" +
      address + " topic=yard/one mqtt-client-id=me ! gvametapublish method=mqtt mqtt-config=" + config +
      " ! gvametapublish file-format=json-lines file-path=" + path_of("out.json") + " ! fakesink");
  ASSERT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  ASSERT_TRUE(reader.has(4));
  const std::vector<Json> frames = written();
  ASSERT_EQ(frames.size(), 2u);
  for (const char* topic : {"yard/one", "yard/two"}) {
    std::vector<Json> got;
    for (std::size_t i = 0; i < reader.messages.size(); ++i) {
      if (reader.topics[i] == topic) got.push_back(Json::parse(reader.messages[i]));
    }
    EXPECT_EQ(got, frames) << topic;
  }
#else
  GTEST_SKIP() << "without libmosquitto";
#endif
}

TEST_F(GvaLines, MotionIsFoundWhereThereIsTheElement) {
  const gs::ObjectPtr<GstElementFactory> factory(gst_element_factory_find("gvamotiondetect"));
  if (!factory) GTEST_SKIP() << "without the element motion";
  const auto found = [&](const std::string& properties) {
    std::filesystem::remove(path_of("out.json"));  // Lines are appended.
    Line line(clip() + "gvamotiondetect block-size=32 min-persistence=1 " + properties + " ! " + lines());
    EXPECT_EQ(line.run(), "") << properties;
    line.to(GST_STATE_NULL);
    return written();
  };
  const auto usual = found("motion-threshold=0.05");
  ASSERT_FALSE(usual.empty()) << "the shapes of the clip move";
  EXPECT_EQ(usual.back()["objects"][0]["roi_type"], "motion");
  // Each property comes to the element: with these values it finds nothing, or something else.
  for (const char* const none : {"pixel-diff-threshold=255", "min-persistence=30"})
    EXPECT_TRUE(found(none).empty()) << none;
  for (const char* const other : {"motion-threshold=1", "min-rel-area=0.25", "max-miss=9", "iou-threshold=1",
                                  "smooth-alpha=0.1", "confirm-frames=3", "block-size=64"})
    EXPECT_NE(found(other), usual) << other;
}

TEST_F(GvaLines, FramesPerSecondAreCounted) {
  std::string error;
  gfloat rate = 0;
  ::testing::internal::CaptureStdout();
  {
    Line line(
        "videotestsrc num-buffers=45 is-live=true ! video/x-raw,width=16,height=16,framerate=30/1 ! "
        "gvafpscounter name=f interval=1 starting-frame=1 print-std-dev=true ! fakesink");
    error = line.run();
    g_object_get(line.element("f").get(), "avg-fps", &rate, nullptr);
  }
  const std::string told = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(error, "");
  EXPECT_GT(rate, 2) << "a busy machine may be late";
  EXPECT_LT(rate, 40);
  EXPECT_THAT(told, HasSubstr("FpsCounter(last "));
  EXPECT_THAT(told, HasSubstr("number-streams=1, per-stream="));
  EXPECT_THAT(told, HasSubstr("std dev interval: "));
  EXPECT_THAT(told, HasSubstr("FpsCounter(overall "));
}

TEST_F(GvaLines, AThrottleDelaysFrames) {
  const auto seconds = [](const std::string& throttle) {
    Line line("videotestsrc num-buffers=11 ! video/x-raw,width=16,height=16 ! " + throttle +
              " ! fakesink name=end sync=false");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(line.run(), "");
    EXPECT_EQ(stat(line.element("t").get(), "frames-out"), 11u);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_GE(seconds("gvafpsthrottle name=t target-fps=50"), 0.19)
      << "ten waits of 20 ms, less what a first one may be early";
  EXPECT_NO_FATAL_FAILURE(seconds("gvafpsthrottle name=t"));
}

TEST_F(GvaLines, SourcesPassOneModelAndPart) {
  const auto source = [](const char* rate, const char* pad) {
    return std::string(" videotestsrc num-buffers=8 ! video/x-raw,width=64,height=48,framerate=") + rate + " ! " + pad;
  };
  // Their times differ; a turn takes one of each all the same.
  Line line(
      "gvastreammux name=m max-fps=30 ! queue ! gvaattachroi ! identity name=i ! gvastreamdemux name=d max-fps=30 "
      "d.src_0 ! queue ! "
      "fakesink name=a async=false d.src_1 ! queue ! fakesink name=b async=false" +
      source("30/1", "m.sink_0") + source("10/1", "m.sink_1"));
  std::vector<std::uint64_t> order;
  const auto note = [](GstPad*, GstPadProbeInfo* info, gpointer data) {
    const auto known = gs::read_metadata(GST_PAD_PROBE_INFO_BUFFER(info), FrameInfo{kI420, 64, 48});
    static_cast<std::vector<std::uint64_t>*>(data)->push_back(known->first<metadata::Source>()->stream);
    return GST_PAD_PROBE_OK;
  };
  const auto between = line.element("i");
  const gs::ObjectPtr<GstPad> pad(gst_element_get_static_pad(between.get(), "sink"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, note, &order, nullptr);
  ASSERT_EQ(line.run(), "");
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(stat(line.element("d").get(), "frames-out"), 16u);
}

TEST_F(GvaLines, WhatHasNoEffectIsToldOnce) {
  struct Counter {
    int infos = 0;
    std::string text;
  } counter;
  Line line("videotestsrc num-buffers=1 ! video/x-raw,width=64,height=48 ! gvadetect scale-method=fast model=" +
            model("demo.onnx") + " ! fakesink");
  const gs::ObjectPtr<GstBus> bus(gst_element_get_bus(line.get()));
  gst_bus_set_sync_handler(
      bus.get(),
      [](GstBus*, GstMessage* message, gpointer data) {
        if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_INFO) return GST_BUS_PASS;
        GError* error = nullptr;
        gst_message_parse_info(message, &error, nullptr);
        static_cast<Counter*>(data)->text = error->message;
        ++static_cast<Counter*>(data)->infos;
        g_error_free(error);
        return GST_BUS_PASS;
      },
      &counter, nullptr);
  EXPECT_EQ(line.run(), "");
  line.to(GST_STATE_NULL);
  EXPECT_EQ(counter.infos, 1);
  EXPECT_THAT(counter.text, HasSubstr("scale-method has no effect"));
  line.run();
  EXPECT_EQ(counter.infos, 1);
}

TEST_F(GvaLines, BadInputIsRefused) {
  const auto error = [&](const std::string& elements) {
    Line line("videotestsrc num-buffers=1 ! video/x-raw,width=64,height=48 ! " + elements + " ! fakesink");
    return line.run();
  };
  const std::string detect = "gvadetect model=" + model("demo.onnx") + " ";
  EXPECT_THAT(error(detect + "custom-postproc-lib=/x.so"), HasSubstr("custom-postproc-lib=/x.so is not possible"));
  EXPECT_THAT(error(detect + "ie-config=STREAMS"), HasSubstr("\"STREAMS\" is not KEY=VALUE"));
  EXPECT_THAT(error(detect + "reshape-width=64"), HasSubstr("reshape-width and reshape-height"));
  EXPECT_THAT(error("gvadetect model=/no/such.xml"), HasSubstr("/no/such.xml"));
  EXPECT_THAT(error("gvaattachroi roi=5,5,4,9"), HasSubstr("has no area"));
  EXPECT_THAT(error("gvaattachroi roi=1,2,3"), HasSubstr("X1,Y1,X2,Y2"));
  EXPECT_THAT(error("gvaattachroi file-path=" + made("a.json", "[{\"objects\": [{\"x\": 1}]}]")),
              HasSubstr("/0/objects/0: y must be a number"));
  const std::string far =
      "[{\"objects\": [{\"x\": 1, \"y\": 1, \"w\": 2, \"h\": 2, \"detection\": {\"label_id\": 1e20}}]}]";
  EXPECT_THAT(error("gvaattachroi file-path=" + made("c.json", far)), HasSubstr("label_id must be from -1 to 1000000"));
  EXPECT_THAT(error("gvaattachroi mode=by-timestamp file-path=" + made("b.json", "[{}]")),
              HasSubstr("has no timestamp"));
  EXPECT_THAT(error("gvaanalytics zones=[{\\\"id\\\":\\\"a\\\",\\\"points\\\":[]}]"),
              HasSubstr("at least three points"));
  EXPECT_THAT(error("gvaanalytics tripwires=nonsense"), HasSubstr("is no JSON"));
  EXPECT_THAT(error("gvaanalytics config=/no/such.json"), HasSubstr("/no/such.json"));
  EXPECT_THAT(error("gvametaconvert tags=nonsense"), HasSubstr("tags is no JSON"));
  EXPECT_THAT(error("gvametapublish file-path=/no/such/folder/x"), HasSubstr("cannot be written"));
  EXPECT_THAT(error("gvametapublish method=mqtt"), HasSubstr("needs a topic"));
  EXPECT_THAT(error("gvafpscounter interval=0"), HasSubstr("interval is \"0\""));
  EXPECT_THAT(error("gvafpscounter write-pipe=/tmp/p"), HasSubstr("not possible"));
  EXPECT_THAT(error("gvawatermark displ-cfg=colour=2"), HasSubstr("there is no option \"colour\""));
  EXPECT_THAT(error("gvatrack tracking-type=deep-sort deepsort-trck-cfg=max_age=x"), HasSubstr("max_age is \"x\""));
}

TEST_F(GvaLines, ADiskThatIsFullIsAnError) {
  struct stat about {};
  if (::stat("/dev/full", &about) != 0) GTEST_SKIP() << "no /dev/full";
  Line line(
      "videotestsrc num-buffers=1 ! video/x-raw,width=64,height=48 ! gvaattachroi ! gvametaconvert ! gvametapublish "
      "file-path=/dev/full ! fakesink");
  EXPECT_THAT(line.run(), HasSubstr("No space left"));
}

TEST_F(GvaLines, MessagesAreTheMetaOfDlStreamersPrograms) {
  // Its layout, as DL Streamer's header has it.
  struct Meta {
    GstMeta meta;
    gchar* message;
  };
  static std::string message;
  Line line(
      "videotestsrc num-buffers=1 ! video/x-raw,width=64,height=48 ! gvaattachroi ! gvametaconvert "
      "signal-handoffs=true name=c ! queue ! fakesink");
  const auto read = +[](GstElement*, GstBuffer* buffer, gpointer) {
    const auto* const meta =
        reinterpret_cast<Meta*>(gst_buffer_get_meta(buffer, g_type_from_name("GstGVAJSONMetaAPI")));
    message = meta ? meta->message : "";
  };
  g_signal_connect(line.element("c").get(), "handoff", G_CALLBACK(read), nullptr);
  EXPECT_EQ(line.run(), "");
  EXPECT_EQ(Json::parse(message)["objects"].size(), 1u);
}

}  // namespace gva_test
