// SPDX-License-Identifier: Apache-2.0
// Audio decoded by FFmpeg to a model's windows: wrapped in place, resampled, truncated.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <tenon/core/audio.hpp>
#include <tenon/core/host.hpp>
#include <tenon/frameworks/ffmpeg/audio.hpp>
#include <tenon/frameworks/ffmpeg/context.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/frameworks/ffmpeg/testing/wav.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace ffmpeg_audio_test {

using namespace tenon;
namespace ff = tenon::ffmpeg;

/// A WAV file of `seconds` with a tone of 440 Hz in all channels, volume 0.5.
std::string write_tone(const tenon_test::Folder& folder, std::uint32_t rate, std::uint16_t channels, double seconds) {
  const std::string path = folder.file("tone.wav");
  const auto count = static_cast<std::uint32_t>(seconds * rate);
  std::vector<std::int16_t> samples(std::size_t{count} * channels);
  for (std::uint32_t i = 0; i < count; ++i) {
    const double value = 16384 * std::sin(2 * 3.14159265358979 * 440 * i / rate);
    for (std::uint16_t c = 0; c < channels; ++c)
      samples[std::size_t{i} * channels + c] = static_cast<std::int16_t>(value);
  }
  tenon_test::write_wav(path, rate, channels, samples);
  return path;
}

double strength(const float* samples, std::size_t count, double hertz, double rate_hz) {
  double real = 0, imaginary = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double angle = 2 * 3.14159265358979 * hertz * static_cast<double>(i) / rate_hz;
    real += samples[i] * std::cos(angle);
    imaginary += samples[i] * std::sin(angle);
  }
  return 2 * std::sqrt(real * real + imaginary * imaginary) / static_cast<double>(count);
}

TEST(FfmpegAudio, IsWrappedWhereTheDecoderLeftIt) {
  const tenon_test::Folder folder;
  ff::Audio audio(write_tone(folder, 16000, 2, 1));
  Ledger ledger;
  AudioWindows windows(1, 16000, 4000, 4000);
  std::size_t samples = 0, count = 0;
  while (const auto frame = audio.read()) {
    EXPECT_EQ(frame->info(), (AudioInfo{ElementType::kI16, 2, 16000, false}));
    EXPECT_EQ(frame->planes()[0].kind(), ff::kFfmpegMemory);
    EXPECT_EQ(frame->timestamp_ns(), static_cast<std::int64_t>(samples) * 62500);
    samples += frame->sample_count();
    windows.push(*frame, &ledger);
    while (const auto window = windows.next()) {
      EXPECT_NEAR(strength(window->samples.data<float>(), 4000, 440, 16000), 0.5, 0.01);
      EXPECT_EQ(window->timestamp_ns, static_cast<std::int64_t>(count) * 250'000'000);
      ++count;
    }
  }
  EXPECT_EQ(samples, 16000u);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_EQ(ledger.total().converted, 16000u * 2 * 2);
}

TEST(FfmpegAudio, IsResampledForAModel) {
  const tenon_test::Folder folder;
  Ledger ledger;
  ff::AudioOptions options;
  options.rate_hz = 16000;
  options.channels = 1;
  options.input.ledger = &ledger;
  ff::Audio audio(write_tone(folder, 44100, 2, 2), options);
  AudioWindows windows(1, 16000, 8000, 8000);
  std::size_t samples = 0, count = 0;
  while (const auto frame = audio.read()) {
    EXPECT_EQ(frame->info(), (AudioInfo{ElementType::kF32, 1, 16000, false}));
    EXPECT_NEAR(static_cast<double>(frame->timestamp_ns()), static_cast<double>(samples) * 62500, 1);
    samples += frame->sample_count();
    windows.push(*frame);
    while (const auto window = windows.next()) {
      EXPECT_NEAR(strength(window->samples.data<float>(), 8000, 440, 16000), 0.5, 0.02) << count;
      ++count;
    }
  }
  EXPECT_NEAR(static_cast<double>(samples), 32000, 32);
  EXPECT_GE(count, 3u);
  EXPECT_EQ(ledger.total().converted, 2u * 44100 * 2 * 2);
}

TEST(FfmpegAudio, PlanarChannelsLieInBuffersOfTheirOwn) {
  for (int channels : {2, 12}) {
    const ff::FramePtr frame(av_frame_alloc());
    frame->format = AV_SAMPLE_FMT_FLTP;
    frame->sample_rate = 48000;
    frame->nb_samples = 100;
    av_channel_layout_default(&frame->ch_layout, channels);
    ASSERT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
    const AudioFrame audio = ff::wrap_audio(frame.get());
    EXPECT_TRUE(audio.info().planar);
    for (int c = 0; c < channels; ++c)
      EXPECT_EQ(audio.channel(static_cast<std::size_t>(c)).data(), frame->extended_data[c]) << c;
    EXPECT_EQ(audio.timestamp_ns(), kNoTimestamp);
  }
}

TEST(FfmpegAudio, ThatIsWrongIsRefused) {
  error_of([] { ff::wrap_audio(nullptr); }, Code::kInvalidArgument);
  const ff::FramePtr none(av_frame_alloc());
  error_of([&] { ff::wrap_audio(none.get()); }, Code::kInvalidArgument);
  error_of([] { ff::Audio audio("/nowhere/at/all.wav"); }, Code::kNotFound);
  const tenon_test::Folder folder;
  const std::string path = write_tone(folder, 16000, 1, 1);
  std::filesystem::resize_file(path, 16044);  // Half of it.
  ff::Audio audio(path);
  std::size_t samples = 0;
  while (const auto frame = audio.read()) samples += frame->sample_count();
  EXPECT_EQ(samples, 8000u);
  std::filesystem::resize_file(path, 20);
  EXPECT_THROW(ff::Audio damaged(path), Error);
  // More samples than the buffers hold.
  const ff::FramePtr frame(av_frame_alloc());
  frame->format = AV_SAMPLE_FMT_S16;
  frame->sample_rate = 8000;
  frame->nb_samples = 100;
  av_channel_layout_default(&frame->ch_layout, 1);
  ASSERT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
  frame->nb_samples = 100000;
  error_of([&] { ff::wrap_audio(frame.get()); }, Code::kOutOfRange);
}

}  // namespace ffmpeg_audio_test
