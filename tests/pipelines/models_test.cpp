// SPDX-License-Identifier: Apache-2.0
// Masks, points and texts through infer, draw and json. The models are one convolution each, which finds the red, green and blue bar of the source "test".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon {
namespace pipelines_models_test {

using elements::NodeSpec;
using elements::PipelineSpec;
using tenon_test::Arrived;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kWidth = 32;

std::shared_ptr<op::v0::Constant> integers(const std::vector<std::int64_t>& values) {
  return op::v0::Constant::create(element::i64, Shape{values.size()}, values);
}

/// Scores of [1,3,h,32] in RGB: something else, red, green, blue. What is not of one colour has scores below 0.
Output<Node> scores(const std::shared_ptr<op::v0::Parameter>& x) {
  const std::vector<float> filters{0, 0, 0, 1, -1.5f, -1.5f, -1.5f, 1, -1.5f, -1.5f, -1.5f, 1};
  const auto weights = op::v0::Constant::create(element::f32, Shape{4, 3, 1, 1}, filters);
  const std::vector<std::int64_t> ones{1, 1}, zeros{0, 0};
  return std::make_shared<op::v1::Convolution>(x, weights, ones, zeros, zeros, ones)->output(0);
}

/// A model of `type` in `folder`, with what tells infer how to read it. @return its path
std::string write_model(const TemporaryFolder& folder, const std::string& type, const std::string& labels) {
  const bool is_text = type.starts_with("CTC");
  const auto x = std::make_shared<op::v0::Parameter>(
      element::f32, PartialShape{1, 3, is_text ? 1 : 24, static_cast<std::int64_t>(kWidth)});
  x->set_friendly_name("x");
  Output<Node> result = scores(x);
  if (is_text) {  // One row of the picture, column by column: [1,32,4].
    const auto row = std::make_shared<op::v1::Reshape>(result, integers({1, 4, kWidth}), false);
    result = std::make_shared<op::v1::Transpose>(row->output(0), integers({0, 2, 1}))->output(0);
  }
  Model model(OutputVector{result}, ParameterVector{x}, "bars");
  model.set_rt_info(type, {"model_info", "model_type"});
  model.set_rt_info(labels, {"model_info", "labels"});
  model.set_rt_info(std::string("YES"), {"model_info", "reverse_input_channels"});
  const std::string path = (folder.path() / "bars.xml").string();
  serialize(model, path);
  return path;
}

/// What comes of two frames of bars, 320x240, and the lines that were written of them.
struct Done {
  Arrived arrived;
  std::string lines;
  std::uint64_t drawn_bytes = 0;
  std::shared_ptr<const metadata::Collection> known() const { return metadata::find(arrived.held.at(1)); }
};

std::unique_ptr<Done> run(const std::string& type, const std::string& labels) {
  const TemporaryFolder folder;
  auto done = std::make_unique<Done>();
  done->arrived.holds = true;
  const std::string path = (folder.path() / "found.jsonl").string();
  PipelineSpec spec{{{"test", "", {{"frames", "2"}, {"width", "320"}, {"height", "240"}}},
                     {"infer", "find", {{"model", write_model(folder, type, labels)}, {"zero_copy", "require"}}},
                     {"json", "", {{"path", path}}},
                     {"draw", "draw", {}, {"find"}},
                     done->arrived.sink()}};
  elements::Pipeline pipeline(spec);
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  for (const auto& node : pipeline.stats())
    if (node.name == "draw") done->drawn_bytes = node.moved.copied;
  std::ifstream file(path);
  done->lines.assign(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(std::count(done->lines.begin(), done->lines.end(), '\n'), 2);
  EXPECT_EQ(done->arrived.held.size(), 2u);
  return done;
}

/// Luma of a drawn frame.
int luma(const Frame& frame, std::size_t x, std::size_t y) {
  const Tensor& plane = frame.plane(0);
  return static_cast<const std::uint8_t*>(plane.data())[static_cast<std::size_t>(plane.byte_strides()[0]) * y + x];
}

TEST(PipelineModels, MasksAreFoundDrawnAndWritten) {
  const auto done = run("Segmentation", "other red green blue");
  const auto masks = done->known()->all<metadata::Segmentation>();
  ASSERT_EQ(masks.size(), 1u);
  EXPECT_EQ(masks[0]->box, (metadata::Box{0, 0, 320, 240}));
  EXPECT_EQ(masks[0]->labels, (std::vector<std::string>{"other", "red", "green", "blue"}));
  const Tensor& mask = masks[0]->mask;
  ASSERT_EQ(mask.shape(), (Shape{24, kWidth}));
  // Bars of four cells: white, yellow, cyan, green, magenta, red, blue, black.
  std::vector<int> middle;
  for (std::size_t bar = 0; bar < 8; ++bar)
    middle.push_back(static_cast<const std::uint8_t*>(
        mask.data())[static_cast<std::size_t>(mask.byte_strides()[0]) * 8 +
                     static_cast<std::size_t>(mask.byte_strides()[1]) * (4 * bar + 2)]);
  EXPECT_THAT(middle, ::testing::ElementsAre(0, 0, 0, 2, 0, 1, 3, ::testing::_))
      << "black is of any colour, by rounding";
  EXPECT_GT(done->drawn_bytes, 0u);
  EXPECT_EQ(luma(done->arrived.held[1], 20, 80), 180) << "white is left as it is";
  EXPECT_NE(luma(done->arrived.held[1], 220, 80), 51) << "red is tinted";
  EXPECT_THAT(done->lines, HasSubstr("\"kind\":\"segmentation\""));
  EXPECT_THAT(done->lines, HasSubstr("\"green\""));
}

TEST(PipelineModels, PointsAreFoundDrawnAndWritten) {
  const auto done = run("Heatmaps", "");
  const auto found = done->known()->all<metadata::TensorOutput>();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]->format, "keypoints");
  ASSERT_EQ(found[0]->tensor.shape(), (Shape{4, 3}));
  const float* const points = found[0]->tensor.data<float>();
  const float bars[][2] = {{200, 240}, {120, 160}, {240, 280}};  // Red, green, blue.
  for (std::size_t i = 0; i < 3; ++i) {
    const float* const point = points + 3 * (i + 1);
    EXPECT_GE(point[0], bars[i][0]) << i;
    EXPECT_LE(point[0], bars[i][1]) << i;
    EXPECT_LE(point[1], 180) << i;
    EXPECT_GT(point[2], 0.3f) << i;
  }
  EXPECT_GT(done->drawn_bytes, 0u);
  EXPECT_THAT(done->lines, HasSubstr("\"format\":\"keypoints\""));
}

TEST(PipelineModels, TextsAreReadDrawnAndWritten) {
  const auto done = run("CTC-blank-first", "R G B");
  const auto texts = done->known()->all<metadata::Classification>();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_THAT(texts[0]->label, ::testing::StartsWith("GRB"))
      << "from left to right; black is of any colour, by rounding";
  EXPECT_GT(done->drawn_bytes, 0u);
  EXPECT_THAT(done->lines, HasSubstr("\"label\":\"GRB"));
}

}  // namespace pipelines_models_test
}  // namespace tenon
