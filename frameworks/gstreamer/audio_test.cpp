// SPDX-License-Identifier: Apache-2.0
// Audio through real pipelines to a model's tensor, both layouts, and buffers that are wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <tenon/core/audio.hpp>
#include <tenon/frameworks/gstreamer/audio.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace gstreamer_audio_test {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;

/// Strength of `hertz` in `samples`: what the first layer of a model of sounds computes.
double strength(const float* samples, std::size_t count, double hertz, double rate_hz) {
  double real = 0, imaginary = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double angle = 2 * 3.14159265358979 * hertz * static_cast<double>(i) / rate_hz;
    real += samples[i] * std::cos(angle);
    imaginary += samples[i] * std::sin(angle);
  }
  return 2 * std::sqrt(real * real + imaginary * imaginary) / static_cast<double>(count);
}

/// A tone of 440 Hz of volume 0.5 through `caps` becomes the same windows whatever its samples are.
void expect_tone(const std::string& caps, std::size_t channels) {
  Pipeline pipeline(
      "audiotestsrc num-buffers=40 wave=sine freq=440 volume=0.5 samplesperbuffer=441 ! "
      "audio/x-raw,format=F64LE,rate=16000 "
      "! audioconvert dithering=none ! " +
      caps + " ! appsink name=sink");
  pipeline.play();
  AudioWindows windows(1, 16000, 4000, 2000);
  std::size_t samples = 0, count = 0;
  while (const SamplePtr sample = pipeline.pull()) {
    const AudioFrame audio = gs::wrap_audio(sample.get());
    EXPECT_EQ(audio.info().channels, channels) << caps;
    EXPECT_EQ(audio.timestamp_ns() / 1000, static_cast<std::int64_t>(samples * 1'000'000 / 16000)) << caps;
    samples += audio.sample_count();
    windows.push(audio);
    while (const auto window = windows.next()) {
      const float* wave = window->samples.data<float>();
      EXPECT_NEAR(strength(wave, 4000, 440, 16000), 0.5, 0.01) << caps;
      EXPECT_LT(strength(wave, 4000, 1000, 16000), 0.01) << caps;
      EXPECT_NEAR(static_cast<double>(window->timestamp_ns), static_cast<double>(count) * 125e6, 1000) << caps;
      ++count;
    }
  }
  EXPECT_EQ(samples, 40u * 441) << caps;
  EXPECT_EQ(count, (40u * 441 - 4000) / 2000 + 1) << caps;
}

TEST(GstAudio, OfEverySampleTypeBecomesTheSameWindows) {
  for (const gs::detail::SampleMapping& mapping : gs::detail::kSamples)
    expect_tone(
        std::string("audio/x-raw,channels=1,layout=interleaved,format=") + gst_audio_format_to_string(mapping.gst), 1);
}

TEST(GstAudio, OfSeveralChannelsIsMixed) {
  expect_tone("audio/x-raw,channels=2,layout=interleaved,format=S16LE", 2);
  expect_tone("audio/x-raw,channels=2,layout=non-interleaved,format=F32LE", 2);
}

TEST(GstAudio, IsWrappedInPlace) {
  for (bool planar : {false, true}) {
    const AudioInfo info{ElementType::kI16, 2, 8000, planar};
    const gs::BufferPtr buffer = filled_buffer(64, 1);
    const AudioFrame audio = gs::wrap_audio(buffer.get(), info);
    EXPECT_EQ(audio.sample_count(), 16u);
    GstMapInfo map;
    ASSERT_TRUE(gst_buffer_map(buffer.get(), &map, GST_MAP_READ));
    EXPECT_EQ(audio.channel(0).data(), map.data);
    EXPECT_EQ(audio.channel(1).data(), map.data + (planar ? 32 : 2));
    gst_buffer_unmap(buffer.get(), &map);
  }
}

TEST(GstAudio, GoesBackWithMetadata) {
  const AudioInfo info{ElementType::kF32, 2, 48000, true};
  AudioFrame audio(info, {Tensor(element::f32, {100}), Tensor(element::f32, {100})}, 7'000'000);
  audio.metadata().add(metadata::AudioEvent{"bark", 3, 0.5f, 7'000'000, 8'000'000});
  Pipeline pipeline("appsrc name=source format=time ! queue ! appsink name=sink");
  const auto source = pipeline.element("source");
  gst_app_src_set_caps(GST_APP_SRC(source.get()), gs::caps(info).get());
  pipeline.play();
  ASSERT_EQ(gst_app_src_push_buffer(GST_APP_SRC(source.get()), gs::buffer(audio).release()), GST_FLOW_OK);
  const SamplePtr sample = pipeline.pull();
  ASSERT_TRUE(sample);
  AudioFrame back = gs::wrap_audio(sample.get());
  EXPECT_EQ(back.info(), info);
  EXPECT_EQ(back.timestamp_ns(), 7'000'000);
  EXPECT_EQ(back.sample_count(), 100u);
  for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(back.channel(c).data(), audio.channel(c).data()) << "copied";
  EXPECT_EQ(back.metadata().first<metadata::AudioEvent>()->label, "bark");
}

TEST(GstAudio, ThatIsWrongIsRefused) {
  const AudioInfo info{ElementType::kI16, 2, 8000, false};
  EXPECT_NE(
      error_of([&] { gs::wrap_audio(filled_buffer(63, 0).get(), info); }, Code::kInvalidArgument).find("truncated"),
      std::string::npos);
  error_of([&] { gs::wrap_audio(nullptr, info); }, Code::kInvalidArgument);
  error_of([] { gs::wrap_audio(static_cast<GstSample*>(nullptr)); }, Code::kInvalidArgument);
  error_of([] { gs::buffer(AudioFrame()); }, Code::kInvalidArgument);
  // The stream changed its layout, and the caller still has the old caps.
  const AudioInfo planar{ElementType::kI16, 2, 8000, true};
  const gs::BufferPtr buffer = filled_buffer(64, 0);
  GstAudioInfo described;
  ASSERT_TRUE(gst_audio_info_from_caps(&described, gs::caps(planar).get()));
  ASSERT_TRUE(gst_buffer_add_audio_meta(buffer.get(), &described, 16, nullptr));
  EXPECT_NO_THROW(gs::wrap_audio(buffer.get(), planar));
  EXPECT_NE(error_of([&] { gs::wrap_audio(buffer.get(), info); }, Code::kInvalidArgument).find("changed"),
            std::string::npos);
}

}  // namespace gstreamer_audio_test
