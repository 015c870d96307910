// SPDX-License-Identifier: Apache-2.0
// The source "sound": whole and in windows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/frameworks/ffmpeg/testing/wav.hpp>

namespace tenon::elements {
namespace sound_source_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SoundSource : public ::testing::Test {
 protected:
  void SetUp() override { tenon::ffmpeg::silence_log(); }
  std::vector<std::string> hear(const std::string& path, std::map<std::string, std::string> more = {}) {
    more["path"] = path;
    return tenon_test::run(PipelineSpec{{{"sound", "", more}, heard_.audio_sink()}});
  }
  tenon_test::Folder folder_;
  tenon_test::Arrived heard_;
};

TEST_F(SoundSource, GivesAllSamples) {
  const std::string path = folder_.file("a.wav");
  tenon_test::write_wav(path, 16'000, 1, std::vector<std::int16_t>(32'000, 1000));
  EXPECT_THAT(hear(path), IsEmpty());
  std::size_t samples = 0;
  for (const AudioFrame& frame : heard_.audio) samples += frame.sample_count();
  EXPECT_EQ(samples, 32'000u);
}

TEST_F(SoundSource, CutsWindowsAsModelsWantThem) {
  const std::string path = folder_.file("a.wav");
  tenon_test::write_wav(path, 16'000, 1, std::vector<std::int16_t>(32'000, 1000));
  EXPECT_THAT(hear(path, {{"rate", "8000"}, {"window", "0.5"}, {"hop", "0.25"}}), IsEmpty());
  ASSERT_GE(heard_.audio.size(), 7u);
  for (std::size_t i = 0; i < heard_.audio.size(); ++i) {
    EXPECT_EQ(heard_.audio[i].sample_count(), 4000u);
    EXPECT_EQ(heard_.audio[i].info().sample, ElementType::kF32);
    EXPECT_NEAR(static_cast<double>(heard_.audio[i].timestamp_ns()), 250e6 * static_cast<double>(i), 1e5);
  }
}

TEST_F(SoundSource, SaysWhatIsWrong) {
  EXPECT_THAT(hear(folder_.file("none.wav")), ElementsAre(HasSubstr("no such file")));
  const std::string clip = folder_.file("mute.mp4");
  tenon_test::make_clip(clip, {.frames = 3});
  EXPECT_THAT(hear(clip), ElementsAre(HasSubstr("holds no audio")));
  EXPECT_THROW(hear(clip, {{"window", "1"}, {"hop", "2"}}), Error);
}

}  // namespace sound_source_test
}  // namespace tenon::elements
