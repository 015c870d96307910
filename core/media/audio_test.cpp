// SPDX-License-Identifier: Apache-2.0
// Audio frames, their waveforms, and windows for models.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <tenon/core/audio.hpp>
#include <tenon/core/error.hpp>

namespace media_audio_test {

using namespace tenon;

/// f32 [samples, channels]; sample i of channel c is (first + i) + c / 10.
AudioFrame counting(std::size_t first, std::size_t count, std::uint32_t channels, std::int64_t time_ns,
                    std::uint32_t rate_hz = 1000) {
  Tensor plane(element::f32, {count, channels});
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < channels; ++c)
      plane.data<float>()[i * channels + c] = static_cast<float>(first + i) + static_cast<float>(c) / 10;
  }
  return AudioFrame({ElementType::kF32, channels, rate_hz, false}, {plane}, time_ns);
}

template <typename T>
std::vector<float> wave_of(std::vector<T> samples) {
  Tensor plane(element_type_of<T>(), {samples.size(), 1});
  std::copy(samples.begin(), samples.end(), plane.data<T>());
  const Tensor wave = waveform(AudioFrame({element_type_of<T>(), 1, 8000, false}, {plane}), 1);
  const float* out = wave.data<float>();
  return std::vector<float>(out, out + samples.size());
}

TEST(AudioFrame, GivesChannelsOfBothLayouts) {
  const AudioFrame interleaved = counting(0, 4, 2, 5);
  EXPECT_EQ(interleaved.sample_count(), 4u);
  EXPECT_EQ(interleaved.duration_ns(), 4'000'000);
  const Tensor right = interleaved.channel(1);
  EXPECT_EQ(right.shape(), (Shape{4}));
  EXPECT_EQ(right.byte_strides()[0], 8);
  EXPECT_EQ(right.memory(), interleaved.planes()[0].memory()) << "copied";
  EXPECT_THROW(interleaved.channel(2), Error);
  const AudioFrame planar({ElementType::kF32, 2, 1000, true}, {Tensor(element::f32, {3}), Tensor(element::f32, {3})});
  EXPECT_EQ(planar.channel(1).memory(), planar.planes()[1].memory());
}

TEST(AudioFrame, RefusesPlanesThatDoNotFit) {
  const AudioInfo info{ElementType::kI16, 2, 8000, false};
  EXPECT_THROW(AudioFrame(info, {}), Error);
  EXPECT_THROW(AudioFrame(info, {Tensor(element::i16, {4, 3})}), Error);
  EXPECT_THROW(AudioFrame(info, {Tensor(element::f32, {4, 2})}), Error);
  EXPECT_THROW(AudioFrame(info, {Tensor(element::i16, {8})}), Error);
  EXPECT_THROW(AudioFrame({ElementType::kI16, 0, 8000, false}, {Tensor(element::i16, {4, 0})}), Error);
  EXPECT_THROW(AudioFrame({ElementType::kI16, 2, 8000, true}, {Tensor(element::i16, {4}), Tensor(element::i16, {5})}),
               Error);
}

TEST(AudioFrame, SharesMetadataWithCopies) {
  AudioFrame audio = counting(0, 4, 1, 0);
  EXPECT_EQ(audio.find_metadata(), nullptr);
  audio.metadata().add(metadata::AudioEvent{"bark", 0, 1, 0, 1});
  const AudioFrame copy = audio;
  audio.metadata().add(metadata::AudioEvent{"bell", 0, 1, 0, 1});
  EXPECT_EQ(copy.find_metadata()->size(), 2u);
}

TEST(Waveform, HasFullScaleAtOneForEverySampleType) {
  EXPECT_EQ(wave_of<std::uint8_t>({0, 128, 192}), (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(wave_of<std::int8_t>({-128, 0, 64}), (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(wave_of<std::int16_t>({-32768, 0, 16384}), (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(wave_of<std::uint16_t>({0, 32768, 49152}), (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(wave_of<std::int32_t>({INT32_MIN, 0, 1 << 30}), (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(wave_of<std::uint32_t>({0, 1u << 31, 3u << 30}), (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(wave_of<std::int64_t>({INT64_MIN, 0, 1ll << 62}), (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(wave_of<float>({-1, 0, 0.5f}), (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_EQ(wave_of<double>({-1, 0, 0.5}), (std::vector<float>{-1, 0, 0.5f}));
  EXPECT_THROW(waveform(AudioFrame({ElementType::kF16, 1, 8000, false}, {Tensor(element::f16, {2, 1})}), 1), Error);
}

TEST(Waveform, MixesAndDuplicatesChannels) {
  const AudioFrame stereo = counting(0, 3, 2, 0);
  Ledger ledger;
  const Tensor mono = waveform(stereo, 1, &ledger);
  EXPECT_EQ(ledger.total().converted, 3u * 2 * 4);
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_FLOAT_EQ(mono.data<float>()[2], 2.05f);
  const Tensor both = waveform(stereo, 2);
  EXPECT_FLOAT_EQ(both.data<float>()[3 + 2], 2.1f);
  const Tensor doubled = waveform(counting(0, 3, 1, 0), 2);
  EXPECT_EQ(doubled.data<float>()[2], doubled.data<float>()[5]);
  EXPECT_THROW(waveform(counting(0, 3, 6, 0), 2), Error);
  EXPECT_THROW(waveform({}, 1), Error);
}

TEST(AudioWindows, FollowEachOtherAcrossFrames) {
  AudioWindows windows(1, 1000, 10, 4);
  std::size_t pushed = 0, count = 0;
  for (std::size_t size : {3u, 1u, 20u, 7u, 50u, 100u}) {
    windows.push(counting(pushed, size, 1, static_cast<std::int64_t>(pushed) * 1'000'000));
    pushed += size;
    while (const auto window = windows.next()) {
      EXPECT_EQ(window->samples.shape(), (Shape{1, 10}));
      for (std::size_t i = 0; i < 10; ++i)
        EXPECT_EQ(window->samples.data<float>()[i], static_cast<float>(count * 4 + i));
      EXPECT_EQ(window->timestamp_ns, static_cast<std::int64_t>(count) * 4'000'000);
      ++count;
    }
  }
  EXPECT_EQ(count, (181u - 10) / 4 + 1);
}

TEST(AudioWindows, FillTheLastWithSilence) {
  AudioWindows windows(2, 1000, 10, 10);
  windows.push(counting(0, 13, 2, 0));
  EXPECT_TRUE(windows.next());
  EXPECT_FALSE(windows.next());
  const auto last = windows.flush();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->samples.data<float>()[2], 12);
  EXPECT_EQ(last->samples.data<float>()[3], 0);
  EXPECT_FLOAT_EQ(last->samples.data<float>()[10], 10.1f);
  EXPECT_FALSE(windows.flush());
  EXPECT_FALSE(AudioWindows(1, 1000, 10, 10).flush());
}

TEST(AudioWindows, BeginAnewAfterAGap) {
  AudioWindows windows(1, 1000, 10, 10);
  windows.push(counting(0, 6, 1, 0));
  windows.push(counting(100, 10, 1, 500'000'000));
  const auto window = windows.next();
  ASSERT_TRUE(window);
  EXPECT_EQ(window->samples.data<float>()[0], 100) << "samples from before the gap";
  EXPECT_EQ(window->timestamp_ns, 500'000'000);
  EXPECT_FALSE(windows.next());
}

TEST(AudioWindows, RefuseAnotherRateAndGoOn) {
  AudioWindows windows(1, 1000, 4, 4);
  windows.push(counting(0, 2, 1, 0));
  try {
    windows.push(counting(2, 2, 1, 2'000'000, 44100));
    FAIL() << "took another rate";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("resample"), std::string::npos) << error.what();
  }
  windows.push(counting(2, 2, 1, 2'000'000));
  ASSERT_TRUE(windows.next());
  EXPECT_THROW(AudioWindows(0, 1000, 4, 4), Error);
  EXPECT_THROW(AudioWindows(1, 1000, 4, 5), Error);
}

}  // namespace media_audio_test
