// SPDX-License-Identifier: Apache-2.0
// A dialled number, written as a file and read by FFmpeg and by GStreamer: a model hears its keys, as windows of the stream
// in its input tensor, and what it heard travels on as metadata.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/audio.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/frameworks/ffmpeg/audio.hpp>
#include <tenon/frameworks/ffmpeg/testing/wav.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/testing/gst_testing.hpp>
#include <tenon/frameworks/gstreamer/testing/lsan.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace sounds_test {

using namespace tenon;
using namespace tenon::gstreamer_testing;
namespace gs = tenon::gstreamer;

/// Each key is a low and a high tone at once. @source ITU-T Q.23
constexpr std::array<double, 8> kTones{697, 770, 852, 941, 1209, 1336, 1477, 1633};
constexpr std::string_view kKeys = "123A456B789C*0#D";
constexpr std::uint32_t kRate = 8000;
constexpr std::size_t kWindow = 400, kTaps = 200;  // 50 ms, 25 ms.
constexpr double kQuiet = 1e-3;                    ///< Energy of a tone below which there is silence.

/// waves [1, 400] to scores [1, 17]: of each key, and of silence. Filters for the eight tones, their energy over time, and
/// the product of a low and a high tone's share.
std::shared_ptr<Model> make_model() {
  std::vector<float> filters(16 * kTaps);
  for (std::size_t tone = 0; tone < 8; ++tone) {
    for (std::size_t t = 0; t < kTaps; ++t) {
      const double angle = 2 * std::numbers::pi * kTones[tone] * static_cast<double>(t) / kRate;
      const double window = (1 - std::cos(2 * std::numbers::pi * static_cast<double>(t) / kTaps)) / kTaps;
      filters[(2 * tone) * kTaps + t] = static_cast<float>(std::cos(angle) * window);
      filters[(2 * tone + 1) * kTaps + t] = static_cast<float>(std::sin(angle) * window);
    }
  }
  const auto shape = [](const std::vector<std::int64_t>& extents) {
    return op::v0::Constant::create(element::i64, Shape{extents.size()}, extents);
  };
  auto waves = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{1, kWindow}));
  waves->output(0).set_names({"waves"});
  auto picture = std::make_shared<op::v1::Reshape>(waves->output(0), shape({1, 1, 1, kWindow})->output(0), false);
  auto filtered = std::make_shared<op::v1::Convolution>(
      picture->output(0), op::v0::Constant::create(element::f32, Shape{16, 1, 1, kTaps}, filters)->output(0),
      std::vector<std::int64_t>{1, 50}, std::vector<std::int64_t>{0, 0}, std::vector<std::int64_t>{0, 0},
      std::vector<std::int64_t>{1, 1});
  auto squared = std::make_shared<op::v1::Multiply>(filtered->output(0), filtered->output(0));
  auto energy = std::make_shared<op::v1::ReduceMean>(squared->output(0), shape({2, 3})->output(0), false);
  auto phases = std::make_shared<op::v1::Reshape>(energy->output(0), shape({2, 4, 2})->output(0), false);
  auto tones = std::make_shared<op::v1::ReduceSum>(phases->output(0), shape({2})->output(0), false);  // [2, 4]
  auto all = std::make_shared<op::v1::ReduceSum>(tones->output(0), shape({1})->output(0), true);      // [2, 1]
  auto quiet = op::v0::Constant::create(element::f32, Shape{1, 1}, std::vector<float>{static_cast<float>(kQuiet)});
  auto loud = std::make_shared<op::v1::Add>(all->output(0), quiet->output(0));
  auto shares = std::make_shared<op::v1::Divide>(tones->output(0), loud->output(0));
  auto halves = std::make_shared<op::v1::Split>(
      shares->output(0), op::v0::Constant::create(element::i64, Shape{}, std::vector<std::int64_t>{0})->output(0), 2);
  auto low = std::make_shared<op::v1::Reshape>(halves->output(0), shape({4, 1})->output(0), false);
  auto keys = std::make_shared<op::v1::Multiply>(low->output(0), halves->output(1));  // [4, 4]
  auto row = std::make_shared<op::v1::Reshape>(keys->output(0), shape({1, 16})->output(0), false);
  auto silence = op::v0::Constant::create(element::f32, Shape{1, 1}, std::vector<float>{0.5f});
  auto scores = std::make_shared<op::v0::Concat>(OutputVector{row->output(0), silence->output(0)}, 1);
  scores->output(0).set_names({"scores"});
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(scores->output(0))},
                                 ParameterVector{waves}, "keys");
}

/// The number as a stereo file: 100 ms of each key, louder on the left, and 100 ms of silence.
std::string dial(const std::string& path, std::string_view number, std::uint32_t rate) {
  std::vector<std::int16_t> samples;
  for (char key : number) {
    const std::size_t at = kKeys.find(key);
    const double low = kTones[at / 4], high = kTones[4 + at % 4];
    for (std::uint32_t i = 0; i < rate / 5; ++i) {
      const double time = static_cast<double>(i) / rate;
      const double value =
          i < rate / 10
              ? 8000 * (std::sin(2 * std::numbers::pi * low * time) + std::sin(2 * std::numbers::pi * high * time))
              : 0;
      samples.push_back(static_cast<std::int16_t>(value));
      samples.push_back(static_cast<std::int16_t>(value / 2));
    }
  }
  tenon_test::write_wav(path, rate, 2, samples);
  return path;
}

/// Keys that a stream's windows hold, each once, as events.
class Listener {
 public:
  Listener() : request_(Core().compile_model(make_model(), "CPU").create_infer_request()) {}

  /// What the model hears in `audio` is added to its metadata.
  void hear(AudioFrame audio) {
    windows_.push(audio);
    while (const auto window = windows_.next()) {
      request_.set_tensor("waves", window->samples);
      request_.infer();
      const Tensor scores = request_.get_tensor("scores");
      const float* first = scores.data<float>();
      const auto best = static_cast<std::size_t>(std::max_element(first, first + 17) - first);
      const char key = best < kKeys.size() ? kKeys[best] : ' ';
      if (key != ' ' && key != last_) {
        number_ += key;
        audio.metadata().add(metadata::AudioEvent{std::string(1, key), static_cast<int>(best), first[best],
                                                  window->timestamp_ns, window->timestamp_ns + 50'000'000});
        events_.push_back(audio.metadata().json());
      }
      last_ = key;
    }
  }
  const std::string& number() const { return number_; }
  const std::vector<std::string>& events() const { return events_; }

 private:
  InferRequest request_;
  AudioWindows windows_{1, kRate, kWindow, kWindow / 2};
  std::string number_;
  std::vector<std::string> events_;
  char last_ = ' ';
};

constexpr std::string_view kNumber = "0123456789*#ABCD";

TEST(Sounds, OfFfmpegAreHeardByAModel) {
  const TemporaryFolder folder;
  for (std::uint32_t rate : {kRate, 44100u}) {
    ffmpeg::AudioOptions options;
    options.rate_hz = kRate;
    ffmpeg::Audio audio(dial(folder.path() / "dialled.wav", kNumber, rate), options);
    Listener listener;
    while (auto frame = audio.read()) listener.hear(*frame);
    EXPECT_EQ(listener.number(), kNumber) << rate;
    ASSERT_FALSE(listener.events().empty());
    EXPECT_NE(listener.events()[0].find("\"label\":\"0\""), std::string::npos) << listener.events()[0];
  }
}

TEST(Sounds, OfGstreamerAreHeardByAModel) {
  gs::start();
  const gs::ObjectPtr<GstElementFactory> parser(gst_element_factory_find("wavparse"));
  if (!parser) GTEST_SKIP() << "no wavparse: gstreamer1.0-plugins-good is not installed";
  const TemporaryFolder folder;
  // Interleaved at the file's rate, and planar from a resampler.
  for (const auto& [rate, caps] : {std::pair{kRate, "audio/x-raw,format=S16LE"},
                                   {44100u, "audio/x-raw,format=F32LE,layout=non-interleaved,rate=8000"}}) {
    const std::string file = dial(folder.path() / "dialled.wav", kNumber, rate);
    Pipeline pipeline("filesrc location=" + file + " ! wavparse ! audioconvert ! audioresample ! audioconvert ! " +
                      caps + " ! appsink name=sink");
    pipeline.play();
    Listener listener;
    while (const SamplePtr sample = pipeline.pull()) {
      const AudioFrame audio = gs::wrap_audio(sample.get());
      EXPECT_EQ(audio.info().channels, 2u);
      listener.hear(audio);
    }
    EXPECT_EQ(listener.number(), kNumber) << caps;
  }
}

}  // namespace sounds_test
