// SPDX-License-Identifier: Apache-2.0
// Pixel formats: what pads offer works, gives the pictures that GStreamer's own converter gives, and may be cropped anywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <tenon/bindings/gstreamer/testing/test_elements.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace gstreamer_formats_test {

using namespace tenon;
using namespace tenon::gst_plugin_testing;

bool has(const char* element) {
  load_plugin();
  return gs::ObjectPtr<GstElementFactory>(gst_element_factory_find(element)) != nullptr;
}

/// The formats that the sink pad of `element` offers in system memory.
std::vector<std::string> offered(const char* element) {
  load_plugin();
  const gs::ObjectPtr<GstElementFactory> factory(gst_element_factory_find(element));
  std::vector<std::string> all;
  for (const GList* each = factory ? gst_element_factory_get_static_pad_templates(factory.get()) : nullptr; each;
       each = each->next) {
    auto* const pad = static_cast<GstStaticPadTemplate*>(each->data);
    if (pad->direction != GST_PAD_SINK) continue;
    const gs::CapsPtr caps(gst_static_pad_template_get_caps(pad));
    const GValue* const list = gst_structure_get_value(gst_caps_get_structure(caps.get(), 0), "format");
    for (guint i = 0; i < gst_value_list_get_size(list); ++i)
      all.emplace_back(g_value_get_string(gst_value_list_get_value(list, i)));
  }
  return all;
}

/// One picture in `format`, made by videoconvert of one that videotestsrc makes.
std::string picture_in(const std::string& format, const std::string& pattern,
                       const std::string& size = "width=64,height=48") {
  return "videotestsrc num-buffers=1 " + pattern + " ! video/x-raw,format=RGB," + size +
         " ! videoconvert ! video/x-raw,format=" + format + " ! ";
}

/// The numbers, 0 to 255, that arrive as a tensor.
std::vector<float> rgb_of(const std::string& line) {
  Tap::held = {};
  Line launched(line + "tenonnormalise scale=1 layout=nhwc ! tenontap ! fakesink");
  EXPECT_EQ(launched.run(), "") << line;
  if (!Tap::held) return {};
  const auto* const values = Tap::held.data<float>();
  return {values, values + element_count(Tap::held.shape())};
}

struct Difference {
  double largest = 0, mean = 0;
};
Difference between(const std::vector<float>& a, const std::vector<float>& b) {
  Difference found;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double apart = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    found.largest = std::max(found.largest, apart);
    found.mean += apart / static_cast<double>(a.size());
  }
  return found;
}

const std::string kFlat = "pattern=solid-color foreground-color=0xffc85a28", kBars = "pattern=smpte75";
const std::string kLarge = "width=320,height=240";  // Bars have few edges beside their pixels.

class GstFormats : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has("tenonnormalise") || !has("videoconvert")) GTEST_SKIP() << "elements for pictures are missing";
  }
};

TEST_F(GstFormats, OfModelsAndPixelElementsAreThoseThatAreRead) {
  for (const char* element : {"tenondetect", "tenonclassify", "tenoninference", "tenoninfer", "tenonnormalise",
                              "tenonhistogram", "tenondraw"}) {
    if (!has(element)) continue;
    const std::vector<std::string> all = offered(element);
    EXPECT_GE(all.size(), 85u) << element;
    EXPECT_EQ(all.front(), "NV12") << "the best first";
    for (const char* read :
         {"I420_10LE", "I422_10LE", "ARGB", "AYUV", "Y210", "Y41B", "YVYU", "GRAY16_LE", "GRAY16_BE"})
      EXPECT_THAT(all, ::testing::Contains(read)) << element;
    for (const char* not_read : {"RGB16", "Y410"}) EXPECT_THAT(all, ::testing::Not(::testing::Contains(not_read)));
  }
}

TEST_F(GstFormats, AreReadAsVideoconvertReadsThem) {
  for (const std::string& format : offered("tenonnormalise")) {
    SCOPED_TRACE(format);
    const bool grey = format.starts_with("GRAY");
    const std::string flat = picture_in(format, kFlat), bars = picture_in(format, kBars, kLarge);
    const std::string converted = "videoconvert ! video/x-raw,format=RGB ! ";
    EXPECT_LE(between(rgb_of(flat), rgb_of(flat + converted)).largest, 4);
    // Chroma is not interpolated here, so pixels beside an edge differ.
    EXPECT_LE(between(rgb_of(bars), rgb_of(bars + converted)).mean, grey ? 1 : 4);
  }
}

TEST_F(GstFormats, AreConvertedAsVideoconvertConvertsThem) {
  if (!has("tenonconvert_cpu")) GTEST_SKIP() << "no FFmpeg";
  const std::string rgb = "video/x-raw,format=RGB ! ";
  for (const std::string& format : offered("tenonconvert")) {
    SCOPED_TRACE(format);
    const bool has_five_bits = format.ends_with("15") || format == "RGB16" || format == "BGR16";
    const std::string flat = picture_in(format, kFlat), bars = picture_in(format, kBars, kLarge);
    const std::string by_tenon = "tenonconvert format=rgb ! " + rgb, by_gstreamer = "videoconvert ! " + rgb;
    EXPECT_LE(between(rgb_of(flat + by_tenon), rgb_of(flat + by_gstreamer)).largest, 4);
    EXPECT_LE(between(rgb_of(bars + by_tenon), rgb_of(bars + by_gstreamer)).mean, 3);
    // A result of the same format, and of another size.
    const std::string small = picture_in(format, kFlat, "width=32,height=24");
    EXPECT_LE(between(rgb_of(flat + "tenonconvert width=32 height=24 ! " + by_gstreamer), rgb_of(small + by_gstreamer))
                  .largest,
              has_five_bits ? 10 : 4);
  }
}

TEST_F(GstFormats, PassTheOtherElementsThatOfferThem) {
  for (const char* element : {"tenonhistogram", "tenondraw"}) {
    for (const std::string& format : offered(element)) {
      Line line(picture_in(format, kBars) + element + " ! fakesink");
      EXPECT_EQ(line.run(), "") << element << " " << format;
    }
  }
}

TEST_F(GstFormats, ArriveAtModels) {
  if (!has("tenoninference")) GTEST_SKIP() << "no models";
  const std::string model = std::string(std::getenv("TENON_MODELS")) + "/demo.onnx";
  for (const std::string& format : offered("tenoninference")) {
    Line line(picture_in(format, kBars) + "tenoninference model=" + model + " ! fakesink");
    EXPECT_EQ(line.run(), "") << format;
  }
  Line negotiated("videotestsrc num-buffers=1 ! video/x-raw,format=v210 ! videoconvert ! tenoninference model=" +
                  model + " ! fakesink");
  EXPECT_EQ(negotiated.run(), "") << "videoconvert learns what a model takes";
}

std::string file_bytes(const std::string& line, const std::string& file) {
  Line launched(line + "filesink location=" + file);
  EXPECT_EQ(launched.run(), "") << line;
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A sink that knows no metas has the pixels cut out; Tenon's element is given the crop as a meta.
TEST_F(GstFormats, AreCroppedAtAnyPixelAsVideocropCropsThem) {
  if (!has("videocrop")) GTEST_SKIP() << "no videocrop";
  const TemporaryFolder folder;
  const std::string a = folder.path() / "a.raw", b = folder.path() / "b.raw", size = "width=80,height=48";
  for (const char* crop : {"left=3 right=13 top=5 bottom=1", "left=1 right=15", "left=2 right=14 top=7 bottom=1",
                           "left=7 right=9 top=1 bottom=1"}) {
    const std::string cropped = std::string("videocrop ") + crop + " ! ";
    for (const char* format :
         {"NV12", "NV21", "I420", "YV12", "Y42B", "Y41B", "Y444", "RGB", "BGRA", "GRAY8", "I420_10LE"}) {
      const std::string source = picture_in(format, "pattern=smpte", size);
      const std::string expected = file_bytes(source + cropped, a);
      EXPECT_FALSE(expected.empty());
      EXPECT_TRUE(file_bytes(source + cropped + "tenonidentity ! ", b) == expected) << format << " " << crop;
    }
    // videocrop leaves the last luma of a packed row where it was, so the planar form is the oracle.
    for (const std::string format : {"YUY2", "UYVY", "YVYU"}) {
      const std::string packed = "videoconvert ! video/x-raw,format=" + format + " ! ";
      const std::string expected = file_bytes(picture_in("Y42B", "pattern=smpte", size) + cropped + packed, a);
      const std::string source = picture_in("Y42B", "pattern=smpte", size) + packed;
      EXPECT_TRUE(file_bytes(source + cropped + "tenonidentity ! ", b) == expected) << format << " " << crop;
    }
  }
}

gs::CapsPtr caps_behind(const std::string& line) {
  Line launched(line + " ! fakesink name=s");
  EXPECT_EQ(launched.run(), "") << line;
  const gs::ObjectPtr<GstPad> pad(gst_element_get_static_pad(launched.element("s").get(), "sink"));
  return gs::CapsPtr(gst_pad_get_current_caps(pad.get()));
}

TEST_F(GstFormats, ScaledPicturesKeepTheShapeOfTheirContents) {
  if (!has("tenonconvert_cpu")) GTEST_SKIP() << "no FFmpeg";
  const std::string source =
      "videotestsrc num-buffers=2 ! video/x-raw,format=NV12,width=320,height=240,pixel-aspect-ratio=2/1 ! "
      "capssetter caps=video/x-raw,multiview-mode=side-by-side,colorimetry=bt709 ! tenonconvert ";
  const auto aspect = [&](const std::string& parameters) {
    const gs::CapsPtr caps = caps_behind(source + parameters);
    const GstStructure* const fields = gst_caps_get_structure(caps.get(), 0);
    EXPECT_STREQ(gst_structure_get_string(fields, "multiview-mode"), "side-by-side") << parameters;
    int num = 0, den = 0;
    gst_structure_get_fraction(fields, "pixel-aspect-ratio", &num, &den);
    return std::pair(num, den);
  };
  // As videoscale says.
  EXPECT_EQ(aspect("width=160 height=240"), std::pair(4, 1));
  EXPECT_EQ(aspect("width=320 height=120"), std::pair(1, 1));
  EXPECT_EQ(aspect("width=160 height=120"), std::pair(2, 1));
  EXPECT_EQ(aspect("width=100"), std::pair(2, 1));
  EXPECT_EQ(aspect("crop-width=160"), std::pair(2, 1));
  EXPECT_EQ(aspect("crop-width=160 width=320 height=240"), std::pair(1, 1));
  EXPECT_EQ(aspect("format=rgb"), std::pair(2, 1));
}

TEST_F(GstFormats, FilesSayTheShapeOfTheirPixels) {
  if (!has("tenonfile") || !has("jpegenc") || !has("matroskamux")) GTEST_SKIP() << "no FFmpeg, or no muxer";
  const TemporaryFolder folder;
  const std::string file = folder.path() / "wide.mkv";
  Line written(
      "videotestsrc num-buffers=3 ! video/x-raw,format=I420,width=320,height=240,pixel-aspect-ratio=2/1 ! "
      "jpegenc ! matroskamux ! filesink location=" +
      file);
  ASSERT_EQ(written.run(), "");
  const gs::CapsPtr caps = caps_behind("tenonfile path=" + file + " ! tenonconvert width=160 height=240");
  int num = 0, den = 0;
  gst_structure_get_fraction(gst_caps_get_structure(caps.get(), 0), "pixel-aspect-ratio", &num, &den);
  EXPECT_EQ(std::pair(num, den), std::pair(4, 1));
}

}  // namespace gstreamer_formats_test
