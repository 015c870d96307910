// SPDX-License-Identifier: Apache-2.0
// The element "audio_events" in a pipeline: bursts of noise, and a model that measures loudness.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include <tenon/core/audio.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::elements {
namespace audio_events_test {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::uint32_t kRate = 8000;

/// Two seconds in frames of 50 ms: loud from 0.5 to 0.8 s, and from 1.9 s to the end.
class Bursts final : public Source {
 public:
  StreamInfo open(Deadline) override {
    next_ = 0;
    StreamInfo info;
    info.audio = {ElementType::kF32, 1, kRate, true};
    return info;
  }
  std::optional<AudioFrame> read_audio(Deadline) override {
    constexpr std::int64_t kSamples = kRate / 20;
    if (next_ == 40) return std::nullopt;
    Tensor samples(ElementType::kF32, Shape{kSamples});
    for (std::int64_t i = 0; i < kSamples; ++i) {
      const double at = static_cast<double>(next_ * kSamples + i) / kRate;
      const bool is_loud = (at >= 0.5 && at < 0.8) || at >= 1.9;
      samples.data<float>()[i] = is_loud ? (i % 2 ? 0.9f : -0.9f) : 0.01f;
    }
    return AudioFrame({ElementType::kF32, 1, kRate, true}, {samples}, next_++ * 50'000'000);
  }

 private:
  std::int64_t next_ = 0;
};

std::mutex mutex;
std::vector<metadata::AudioEvent> heard;
std::vector<std::int64_t> times;

class Hearing final : public Sink {
 public:
  void write(std::uint32_t, const Frame&) override {}
  void write_audio(std::uint32_t, const AudioFrame& audio) override {
    const std::lock_guard lock(mutex);
    times.push_back(audio.timestamp_ns());
    if (const auto known = audio.find_metadata()) {
      for (const auto& event : known->all<metadata::AudioEvent>()) heard.push_back(*event.value);
    }
  }
};

/// The mean loudness of 100 ms: [1, 800] to [1, 1].
std::string loudness_model(const TemporaryFolder& folder) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 800});
  x->set_friendly_name("x");
  const auto loud = std::make_shared<op::v0::Abs>(x);
  const auto axes = op::v0::Constant::create(element::i64, Shape{1}, std::vector<std::int64_t>{1});
  const auto mean = std::make_shared<op::v1::ReduceMean>(loud, axes, true);
  const std::string path = (folder.path() / "loudness.xml").string();
  serialize(Model(OutputVector{mean->output(0)}, ParameterVector{x}, "loudness"), path);
  return path;
}

TEST(AudioEventsElement, HearsWhenSomethingBeginsAndEnds) {
  register_element({"bursts", "Noise now and then", Role::kSource, {}, false, false, Takes::kAudio},
                   [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<Bursts>(); });
  register_element({"hearing", "Keeps events", Role::kSink, {}, true, true, Takes::kAudio},
                   [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<Hearing>(); });
  const TemporaryFolder folder;
  const std::string model = loudness_model(folder);
  Pipeline pipeline({{{"bursts"},
                      {"audio_events", "", {{"model", model}, {"rate", std::to_string(kRate)}, {"labels", "loud"}}},
                      {"hearing"}}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 60s));
  ASSERT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  ASSERT_EQ(times.size(), 40u);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  ASSERT_EQ(heard.size(), 2u);
  // Half of a window is enough: the first begins at 0.5 s - 50 ms or later, by windows of 100 ms each 50 ms.
  EXPECT_EQ(heard[0].label, "loud");
  EXPECT_NEAR(heard[0].score, 0.9, 1e-3);
  EXPECT_EQ(heard[0].begin_ns, 500'000'000);
  EXPECT_EQ(heard[0].end_ns, 800'000'000);
  EXPECT_EQ(heard[1].begin_ns, 1'900'000'000);
  EXPECT_EQ(heard[1].end_ns, 2'000'000'000);
}

TEST(AudioEventsElement, RefusesModelsOfAnotherKind) {
  const auto message = [](const std::map<std::string, std::string>& parameters) {
    return std::string(error_of([&] {
                         const auto element = make_element("audio_events", parameters, {"ear", nullptr});
                         StreamInfo info;
                         info.audio = {ElementType::kF32, 1, kRate, true};
                         std::get<std::unique_ptr<Transform>>(element)->open(0, info);
                       }).what());
  };
  const std::string detector = std::string(std::getenv("TENON_MODELS")) + "/demo.onnx";
  EXPECT_THAT(message({{"model", detector}}), HasSubstr("sound feeds f32 of [1,samples]"));
  EXPECT_THAT(message({{"model", "/none"}}), HasSubstr("element 'ear' (audio_events): there is no model"));
  EXPECT_THAT(message({{"model", detector}, {"threshold", "0.5,x"}}), HasSubstr("threshold \"x\""));
}

}  // namespace audio_events_test
}  // namespace tenon::elements
