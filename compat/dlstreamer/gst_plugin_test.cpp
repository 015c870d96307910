// SPDX-License-Identifier: Apache-2.0
// Elements written against DL Streamer's API, in GStreamer's pipelines.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dlstreamer/base/transform.h"
#include "dlstreamer/cpu/frame_alloc.h"
#include "dlstreamer/gst/plugin.h"

namespace dlstreamer {
namespace dls_gst_plugin_test {

/// Adds a number to each byte, where the frame lies.
class Brighten : public BaseTransformInplace {
 public:
  Brighten(DictionaryCPtr params, const ContextPtr& context)
      : BaseTransformInplace(context), _by(params->get<int>("by", 0)), _fails(params->get<bool>("fails", false)) {}
  using BaseTransformInplace::process;
  bool process(FramePtr src) override {
    if (_fails) throw std::runtime_error("the lamp is broken");
    for (TensorPtr& tensor : src) {
      TensorPtr bytes = tensor.map(AccessMode::ReadWrite);
      const TensorInfo& info = bytes->info();
      for (size_t y = 0; y < info.shape[0]; ++y)
        for (size_t x = 0; x < info.shape[1] * info.shape[2]; ++x)
          bytes->data<uint8_t>()[y * info.stride[0] + x] += static_cast<uint8_t>(_by);
    }
    return true;
  }

 private:
  int _by;
  bool _fails;
};
/// The sums of red, green and blue, as a tensor.
class Sums : public BaseTransform {
 public:
  Sums(DictionaryCPtr, const ContextPtr& context) : BaseTransform(context) {}
  FrameInfoVector get_output_info() override { return {out()}; }
  using BaseTransform::process;
  bool process(FramePtr src, FramePtr dst) override {
    TensorPtr pixels = src->tensor(0).map(AccessMode::Read);
    auto* sums = dst->tensor(0)->data<int32_t>();
    std::fill(sums, sums + 3, 0);
    const TensorInfo& info = pixels->info();
    for (size_t y = 0; y < info.shape[0]; ++y)
      for (size_t x = 0; x < info.shape[1]; ++x)
        for (size_t c = 0; c < 3; ++c) sums[c] += pixels->data<uint8_t>()[y * info.stride[0] + x * info.stride[1] + c];
    return true;
  }

 protected:
  static FrameInfo out() { return {MediaType::Tensors, MemoryType::CPU, {TensorInfo({3}, DataType::Int32)}}; }
  std::function<FramePtr()> get_output_allocator() override {
    return [] { return std::make_shared<CPUFrameAlloc>(out()); };
  }
};

ParamDescVector brighten_params = {{"by", "What is added", 1, 0, 255}, {"fails", "Whether it fails", false}};
ElementDesc brighten = {.name = "dls_brighten",
                        .description = "Adds a number to each byte",
                        .author = "Tests",
                        .params = &brighten_params,
                        .input_info = MAKE_FRAME_INFO_VECTOR({{ImageFormat::RGB}}),
                        .output_info = MAKE_FRAME_INFO_VECTOR({{ImageFormat::RGB}}),
                        .create = create_element<Brighten>};
ElementDesc sums = {.name = "dls_sums",
                    .description = "Sums of the colours",
                    .author = "Tests",
                    .params = nullptr,
                    .input_info = MAKE_FRAME_INFO_VECTOR({{ImageFormat::RGB}}),
                    .output_info = MAKE_FRAME_INFO_VECTOR({{MediaType::Tensors}}),
                    .create = create_element<Sums>};
const ElementDesc* elements[] = {&brighten, &sums, nullptr};

gboolean plugin_init(GstPlugin* plugin) { return register_elements_gst_plugin(elements, plugin); }

class DlsGstPlugin : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    gst_init(nullptr, nullptr);
    ASSERT_TRUE(gst_plugin_register_static(GST_VERSION_MAJOR, GST_VERSION_MINOR, "dls_test", "Tests", plugin_init, "1",
                                           "MIT", "test", "test", "test"));
  }
  /// Runs a line to its end. @return the bytes of each buffer that arrives at the sink "out"; the error's text where it fails.
  struct Outcome {
    std::vector<std::vector<uint8_t>> buffers;
    std::vector<GstClockTime> times;
    std::string error;
    std::string caps;
  };
  static Outcome run(const std::string& line) {
    Outcome outcome;
    GError* failed = nullptr;
    GstElement* pipeline = gst_parse_launch(line.c_str(), &failed);
    if (failed) {
      outcome.error = failed->message;
      g_error_free(failed);
      return outcome;
    }
    GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "out");
    g_signal_connect(sink, "handoff", G_CALLBACK(+[](GstElement*, GstBuffer* buffer, GstPad* pad, Outcome* to) {
                       GstMapInfo map;
                       ASSERT_TRUE(gst_buffer_map(buffer, &map, GST_MAP_READ));
                       to->buffers.emplace_back(map.data, map.data + map.size);
                       to->times.push_back(GST_BUFFER_PTS(buffer));
                       gst_buffer_unmap(buffer, &map);
                       GstCaps* caps = gst_pad_get_current_caps(pad);
                       char* text = gst_caps_to_string(caps);
                       to->caps = text;
                       g_free(text);
                       gst_caps_unref(caps);
                     }),
                     &outcome);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstBus* bus = gst_element_get_bus(pipeline);
    GstMessage* message = gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND,
                                                     static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    if (!message) {
      outcome.error = "the pipeline does not end";
    } else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error(message, &failed, nullptr);
      outcome.error = failed->message;
      g_error_free(failed);
    }
    if (message) gst_message_unref(message);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
    return outcome;
  }
};

const std::string kSource =
    "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xff102030 ! "
    "video/x-raw,format=RGB,width=6,height=4,framerate=10/1 ! ";
const std::string kSink = " ! fakesink name=out signal-handoffs=true sync=false";

TEST_F(DlsGstPlugin, AnElementInPlaceChangesWhatPasses) {
  const Outcome outcome = run(kSource + "dls_brighten by=5" + kSink);
  EXPECT_EQ(outcome.error, "");
  ASSERT_EQ(outcome.buffers.size(), 3U);
  EXPECT_EQ(outcome.times[2], 2 * GST_SECOND / 10);
  for (const auto& buffer : outcome.buffers) {
    ASSERT_EQ(buffer.size(), 80U);  // Rows of 18 bytes at a pitch of 20.
    for (const size_t row : {0, 20, 60}) {
      EXPECT_EQ(buffer[row], 0x15);
      EXPECT_EQ(buffer[row + 17], 0x35);
    }
  }
}
TEST_F(DlsGstPlugin, PropertiesAreParameters) {
  GstElement* element = gst_element_factory_make("dls_brighten", nullptr);
  ASSERT_NE(element, nullptr);
  int by = 0;
  gboolean fails = TRUE;
  g_object_get(element, "by", &by, "fails", &fails, nullptr);
  EXPECT_EQ(by, 1);
  EXPECT_FALSE(fails);
  g_object_set(element, "by", 200, nullptr);
  g_object_get(element, "by", &by, nullptr);
  EXPECT_EQ(by, 200);
  auto* spec = reinterpret_cast<GParamSpecInt*>(g_object_class_find_property(G_OBJECT_GET_CLASS(element), "by"));
  EXPECT_EQ(spec->maximum, 255);
  gst_object_unref(element);
}
TEST_F(DlsGstPlugin, ATransformPutsOutItsOwnFrames) {
  const Outcome outcome = run(kSource + "dls_brighten by=1 ! dls_sums" + kSink);
  EXPECT_EQ(outcome.error, "");
  ASSERT_EQ(outcome.buffers.size(), 3U);
  EXPECT_EQ(outcome.times[1], GST_SECOND / 10);
  EXPECT_NE(outcome.caps.find("other/tensors"), std::string::npos) << outcome.caps;
  for (const auto& buffer : outcome.buffers) {
    ASSERT_EQ(buffer.size(), 12U);
    int32_t found[3];
    std::memcpy(found, buffer.data(), sizeof(found));
    EXPECT_EQ(found[0], 24 * 0x11);
    EXPECT_EQ(found[1], 24 * 0x21);
    EXPECT_EQ(found[2], 24 * 0x31);
  }
}
TEST_F(DlsGstPlugin, ManyBuffersPass) {
  const Outcome outcome =
      run("videotestsrc num-buffers=200 ! video/x-raw,format=RGB,width=6,height=4 ! dls_sums ! queue" + kSink);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.buffers.size(), 200U);
}
TEST_F(DlsGstPlugin, AnErrorEndsThePipelineWithItsText) {
  EXPECT_NE(run(kSource + "dls_brighten fails=true" + kSink).error.find("the lamp is broken"), std::string::npos);
}
TEST_F(DlsGstPlugin, OtherFormatsDoNotNegotiate) {
  EXPECT_NE(run("videotestsrc num-buffers=1 ! video/x-raw,format=NV12 ! dls_sums" + kSink).error, "");
}
TEST_F(DlsGstPlugin, WhatIsNoDescriptionIsRefused) {
  EXPECT_FALSE(register_element_gst_plugin(nullptr, nullptr));
  ElementDesc none = sums;
  none.magic = 1;
  EXPECT_FALSE(register_element_gst_plugin(&none, nullptr));
  ElementDesc without_caps = sums;
  without_caps.output_info = MAKE_FRAME_INFO_VECTOR({{MediaType::Audio}});
  EXPECT_FALSE(register_element_gst_plugin(&without_caps, nullptr));
}

}  // namespace dls_gst_plugin_test
}  // namespace dlstreamer
