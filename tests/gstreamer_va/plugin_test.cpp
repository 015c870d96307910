// SPDX-License-Identifier: Apache-2.0
// GStreamer's VA decoder and Tenon's elements: pictures in VA memory reach models by their surfaces, and go on as they came.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <tenon/tests/gstreamer_va/va_elements.hpp>

namespace tenon::gstreamer_va_test {
namespace gstreamer_va_plugin_test {

using namespace tenon::gstreamer_testing;

constexpr const char* kVaMemory = "video/x-raw(memory:VAMemory),format=NV12";

std::string vision_model() { return std::string(std::getenv("TENON_MODELS")) + "/demo.onnx"; }

std::uint64_t stat(GstElement* element, const char* name) {
  GstStructure* stats = nullptr;
  g_object_get(element, "tenon-stats", &stats, nullptr);
  guint64 value = 0;
  EXPECT_TRUE(stats && gst_structure_get_uint64(stats, name, &value)) << name;
  if (stats) gst_structure_free(stats);
  return value;
}

class VaPlugin : public VaElements {
 protected:
  void SetUp() override {
    VaElements::SetUp();
    if (IsSkipped()) return;
    const gs::ObjectPtr<GstElementFactory> detect(gst_element_factory_find("tenondetect"));
    ASSERT_TRUE(detect) << "GST_PLUGIN_PATH names no folder with libgsttenon.so";
  }
  /// Plays the clip's first pictures, in VA memory, through `elements`; one is called "t".
  void play(const std::string& elements) {
    const std::string line = "filesrc location=" + clip() + " ! qtdemux ! h264parse ! vah264dec ! " + kVaMemory +
                             " ! identity eos-after=9 ! " + elements;
    pipeline_.reset(gst_parse_launch(line.c_str(), nullptr));
    ASSERT_TRUE(pipeline_) << line;
    gst_object_ref_sink(pipeline_.get());
    gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
    const gs::ObjectPtr<GstBus> bus(gst_element_get_bus(pipeline_.get()));
    GstMessage* const message = gst_bus_timed_pop_filtered(
        bus.get(), 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    ASSERT_TRUE(message) << "late: " << line;
    EXPECT_EQ(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS) << line;
    gst_message_unref(message);
  }
  void TearDown() override {
    if (pipeline_) gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
  }
  std::uint64_t of(const char* name) const {
    const gs::ObjectPtr<GstElement> element(gst_bin_get_by_name(GST_BIN(pipeline_.get()), "t"));
    return stat(element.get(), name);
  }
  std::string caps_of_the_sink() const {
    const gs::ObjectPtr<GstElement> sink(gst_bin_get_by_name(GST_BIN(pipeline_.get()), "s"));
    const gs::ObjectPtr<GstPad> pad(gst_element_get_static_pad(sink.get(), "sink"));
    const gs::CapsPtr caps(gst_pad_get_current_caps(pad.get()));
    const std::unique_ptr<char, decltype(&g_free)> text(gst_caps_to_string(caps.get()), &g_free);
    return text.get();
  }

  gs::ObjectPtr<GstElement> pipeline_;
};

TEST_F(VaPlugin, ModelsReadTheDecodersSurfaces) {
  ASSERT_NO_FATAL_FAILURE(play("tenondetect name=t model=" + vision_model() + " ! fakesink name=s"));
  EXPECT_GE(of("frames-in"), 8u);
  EXPECT_EQ(of("copied"), 0u);
  EXPECT_EQ(of("transferred"), 0u);
  EXPECT_NE(caps_of_the_sink().find("VAMemory"), std::string::npos) << "the surfaces go on";
}

TEST_F(VaPlugin, SurfacesThatPassThroughAreStillTheDecoders) {
  ASSERT_NO_FATAL_FAILURE(
      play("tenonidentity name=t ! vapostproc ! video/x-raw(memory:VAMemory),format=NV12,width=320,height=180 ! "
           "fakesink name=s"));
  EXPECT_GE(of("frames-out"), 8u);
  EXPECT_EQ(of("copied"), 0u);
  EXPECT_EQ(of("transferred"), 0u);
}

TEST_F(VaPlugin, ConvertedPicturesLieInHostMemory) {
  ASSERT_NO_FATAL_FAILURE(play("tenonconvert name=t by=cpu width=320 height=180 format=rgb ! fakesink name=s"));
  EXPECT_EQ(caps_of_the_sink().find("VAMemory"), std::string::npos);
  EXPECT_GE(of("frames-out"), 8u);
}

}  // namespace gstreamer_va_plugin_test
}  // namespace tenon::gstreamer_va_test
