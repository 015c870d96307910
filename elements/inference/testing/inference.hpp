// SPDX-License-Identifier: Apache-2.0
// For tests of infer: the demo's clip as a source, a sink that keeps frames, and reference detections by a plain request.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/frameworks/ffmpeg/video.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/tests/support/temporary_folder.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/metadata.hpp>

namespace tenon::elements::inference_test {

inline std::string model_file(const std::string& name) { return std::string(std::getenv("TENON_MODELS")) + "/" + name; }

/// "WxH+X+Y" of each frame, or all of it.
inline Frame part_of(const Frame& frame, const std::string& part) {
  unsigned w = 0, h = 0, x = 0, y = 0;
  if (std::sscanf(part.c_str(), "%ux%u+%u+%u", &w, &h, &x, &y) != 4) return frame;
  return crop(frame, x, y, w, h);
}

inline ffmpeg::Video open_clip() {
  ffmpeg::Video video = ffmpeg::open(model_file("demo.mp4"));
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  wanted.alignment = 4096;
  wanted.pitch_alignment = 64;
  wanted.host_access = true;
  video.use_pool(wanted);
  return video;
}

/// The demo's clip, or parts of its pictures.
class Clip final : public Source {
 public:
  explicit Clip(const Parameters& given) : frames_(given.integer("frames")), part_(given.text("part")) {}
  StreamInfo open(Deadline) override {
    video_.emplace(open_clip());
    next_ = 0;
    FrameInfo info = video_->info();
    if (!part_.empty()) info = {};
    return {info, video_->fps(), false};
  }
  std::optional<Frame> read(Deadline deadline) override {
    if (next_ == frames_) return std::nullopt;
    std::optional<Frame> frame = video_->read(deadline);
    if (!frame) return std::nullopt;
    frame->set_timestamp_ns(next_++);
    return part_of(*frame, part_);
  }

 private:
  const std::int64_t frames_;
  const std::string part_;
  std::optional<ffmpeg::Video> video_;
  std::int64_t next_ = 0;
};

inline std::mutex mutex;
inline std::map<std::uint32_t, std::vector<Frame>> arrived;

class Keep final : public Sink {
 public:
  void write(std::uint32_t stream, const Frame& frame) override {
    const std::lock_guard lock(mutex);
    arrived[stream].push_back(frame);
  }
};

/// Objects where the test says.
class Marking final : public TransformInplace {
 public:
  void process(std::uint32_t stream, Frame& frame) override {
    const auto at = static_cast<float>(10 + 20 * stream + 3 * (frame.timestamp_ns() % 4));
    metadata::of(frame).add(metadata::Detection{{at, 8.5f, at + 60.25f, 77}, "a", 0, 0.9f, -1});
    if (frame.timestamp_ns() % 2 == 0)
      metadata::of(frame).add(metadata::Detection{{200, 100, 331, 180}, "b", 1, 0.8f, -1});
    metadata::of(frame).add(metadata::Detection{{5, 5, 6, 6}, "a", 0, 0.7f, -1});
    metadata::of(frame).add(metadata::Detection{{-50, -50, -10, -10}, "a", 0, 0.7f, -1});
  }
};

class Collected final : public Output {
 public:
  void emit(Item item) override { items.push_back(std::move(item)); }
  std::vector<Item> items;
};

class Inference : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static bool is_done = false;  // The suites with parameters are set up, too.
    if (std::exchange(is_done, true)) return;
    register_element(
        {"clip",
         "The demo's clip",
         Role::kSource,
         {{"frames", "How many", std::int64_t{12}}, {"part", "WxH+X+Y", std::string()}}},
        [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<Clip>(given); });
    register_element({"keep", "Keeps frames", Role::kSink, {}, true, true},
                     [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<Keep>(); });
    register_element({"marking", "Adds objects"},
                     [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<Marking>(); });
  }
  void SetUp() override { arrived.clear(); }
  void TearDown() override { arrived.clear(); }

  using Texts = std::map<std::string, std::string>;

  static NodeSpec infer(Texts parameters, std::vector<std::string> from = {}) {
    parameters.try_emplace("model", model_file("demo.onnx"));
    return {"infer", "", std::move(parameters), std::move(from)};
  }
  static std::vector<NodeStats> run(const PipelineSpec& spec) {
    Pipeline pipeline(spec);
    pipeline.start();
    EXPECT_TRUE(pipeline.wait(Clock::now() + std::chrono::seconds(100)));
    pipeline.stop();
    for (const Failure& failure : pipeline.failures()) ADD_FAILURE() << failure.node << ": " << failure.message;
    return pipeline.stats();
  }
  static const NodeStats& of(const std::vector<NodeStats>& all, const std::string& element) {
    return *std::find_if(all.begin(), all.end(), [&](const NodeStats& one) { return one.element == element; });
  }
  static std::unique_ptr<Transform> make(Texts parameters) {
    parameters.try_emplace("model", model_file("demo.onnx"));
    return std::get<std::unique_ptr<Transform>>(make_element("infer", parameters, {"it", nullptr}));
  }
  static Frame grey(std::uint32_t width, std::uint32_t height, std::int64_t time) {
    FrameInfo info;
    info.format = kGray8;
    info.width_px = width, info.height_px = height;
    Frame frame = Frame::allocate(info);
    frame.set_timestamp_ns(time);
    return frame;
  }
};

/// The detections that a request finds in the first frames of the clip, frame by frame.
inline std::vector<std::vector<vision::Detection>> by_hand(std::int64_t frames, const std::string& part = "",
                                                           const std::string& model = "demo.onnx") {
  Core core;
  const auto graph = core.read_model(model_file(model));
  InferRequest request = core.compile_model(graph, "CPU").create_infer_request();
  ffmpeg::Video video = open_clip();
  std::vector<std::vector<vision::Detection>> all;
  for (std::int64_t i = 0; i < frames; ++i) {
    const Frame frame = part_of(*video.read(), part);
    request.set_frame(frame);
    request.infer();
    all.push_back(vision::detections(request, vision::decode_options(*graph, frame.info())));
  }
  return all;
}

inline void expect_same(const std::vector<Frame>& frames, const std::vector<std::vector<vision::Detection>>& wanted,
                        float pixels) {
  ASSERT_EQ(frames.size(), wanted.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].timestamp_ns(), static_cast<std::int64_t>(i)) << "the order of the stream";
    const auto found = vision::detections(frames[i]);
    ASSERT_EQ(found.size(), wanted[i].size()) << "frame " << i;
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].label, wanted[i][k].label);
      EXPECT_NEAR(found[k].score, wanted[i][k].score, 0.01);
      EXPECT_NEAR(found[k].box.x1, wanted[i][k].box.x1, pixels);
      EXPECT_NEAR(found[k].box.y2, wanted[i][k].box.y2, pixels);
    }
  }
}

/// [batch, 3, 32, 32] to its mean colours, [batch, 3].
inline std::string mean_model(const TemporaryFolder& folder) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 3, 32, 32});
  x->set_friendly_name("x");
  const auto axes = op::v0::Constant::create(element::i64, Shape{2}, std::vector<std::int64_t>{2, 3});
  const auto mean = std::make_shared<op::v1::ReduceMean>(x, axes, false);
  const std::string path = (folder.path() / "mean.xml").string();
  serialize(Model(OutputVector{mean->output(0)}, ParameterVector{x}, "mean"), path);
  return path;
}

}  // namespace tenon::elements::inference_test
