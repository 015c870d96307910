// SPDX-License-Identifier: Apache-2.0
// Signals, spaces, embeddings, regions and proposals: inputs that do not fit are refused, and the message names the
// node, what is wrong and its value. Their results are compared with OpenVINO's in oracle_cases.py.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon {
namespace bad_input_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;
using Reals = std::vector<float>;

Output<Node> real(const PartialShape& shape) {
  return std::make_shared<op::v0::Parameter>(element::f32, shape)->output(0);
}
Output<Node> ints(const Ints& values) {
  return std::make_shared<op::v0::Constant>(element::i64, Shape{values.size()}, values)->output(0);
}
Output<Node> integer(std::int64_t value) {
  return std::make_shared<op::v0::Constant>(element::i64, Shape{}, Ints{value})->output(0);
}
Tensor tensor(const Shape& shape, const Reals& values) {
  Tensor made(element::f32, shape);
  std::copy(values.begin(), values.end(), made.data<float>());
  return made;
}
Tensor tensor(const Shape& shape, const Ints& values) {
  Tensor made(element::i64, shape);
  std::copy(values.begin(), values.end(), made.data<std::int64_t>());
  return made;
}

/// The message that making the node gives.
std::string refusal(const char* type, unsigned version, OutputVector inputs, Attributes attributes = {}) {
  try {
    make_node(type, version, std::move(inputs), std::move(attributes), "culprit");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("culprit"));
    return error.what();
  }
  return "nothing was refused";
}

/// The message that running it gives, where shapes and values are known only then.
std::string refusal_of_run(const char* type, unsigned version, const TensorVector& inputs, Attributes attributes = {}) {
  OutputVector parameters;
  for (const Tensor& input : inputs)
    parameters.push_back(std::make_shared<op::v0::Parameter>(input.element_type(), PartialShape::dynamic())->output(0));
  const auto node = make_node(type, version, parameters, std::move(attributes), "culprit");
  try {
    evaluate_node(*node, inputs);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("culprit"));
    return error.what();
  }
  return "nothing was refused";
}

TEST(BadInput, OfTransformsIsNamed) {
  EXPECT_THAT(refusal("DFT", 7, {real({4, 3}), ints({0})}), HasSubstr("[4,3]"));
  EXPECT_THAT(refusal("DFT", 7, {real({4, 2}), ints({1})}), HasSubstr("axis 1"));
  EXPECT_THAT(refusal("RDFT", 9, {real({4, 4}), ints({0, 0})}), HasSubstr("axis 0 is given twice"));
  EXPECT_THAT(refusal("IDFT", 7, {real({4, 2}), ints({0}), ints({-7})}), HasSubstr("-7"));
  EXPECT_THAT(refusal("IDFT", 7, {real({4, 2}), ints({0}), ints({std::int64_t{1} << 40})}), HasSubstr("1099511627776"));
  EXPECT_THAT(refusal("STFT", 15, {real({4}), real({4}), integer(9), integer(1)}, {{"transpose_frames", false}}),
              AllOf(HasSubstr("4 samples"), HasSubstr("frame of 9")));
  EXPECT_THAT(refusal("STFT", 15, {real({9}), real({4}), integer(4), integer(0)}, {{"transpose_frames", false}}),
              HasSubstr("frame_step is 0"));
  EXPECT_THAT(refusal_of_run("DFT", 7, {tensor(Shape{2, 2}, Reals{1, 2, 3, 4}), tensor(Shape{1}, Ints{5})}),
              HasSubstr("axis 5"));
}

TEST(BadInput, OfSpacesIsNamed) {
  EXPECT_THAT(refusal("BatchToSpace", 2, {real({5, 2, 2}), ints({1, 2, 1}), ints({0, 0, 0}), ints({0, 0, 0})}),
              AllOf(HasSubstr("axis 0"), HasSubstr("5 places in blocks of 2")));
  EXPECT_THAT(refusal("SpaceToBatch", 2, {real({1, 4}), ints({2, 2}), ints({0, 0}), ints({0, 0})}),
              HasSubstr("begins with 2"));
  EXPECT_THAT(refusal("SpaceToBatch", 2, {real({1, 4}), ints({1, 0}), ints({0, 0}), ints({0, 0})}),
              HasSubstr("value 0"));
  EXPECT_THAT(refusal("SpaceToBatch", 2, {real({1, 4}), ints({1, 2}), ints({0, -3}), ints({0, 0})}), HasSubstr("-3"));
  EXPECT_THAT(refusal("ExtractImagePatches", 3, {real({1, 1, 4, 4})},
                      {{"sizes", Ints{2, 2}}, {"strides", Ints{1, 0}}, {"rates", Ints{1, 1}}, {"auto_pad", "valid"}}),
              HasSubstr("found 0"));
  EXPECT_THAT(refusal("Reverse", 1, {real({2, 3}), ints({2})}, {{"mode", "index"}}), HasSubstr("axis 2"));
  EXPECT_THAT(refusal("GridSample", 9, {real({1, 2, 4, 4}), real({1, 3, 3, 3})}), HasSubstr("[1,3,3,3]"));
  EXPECT_THAT(refusal("SearchSorted", 15, {real({2, 5}), real({3, 4})}), AllOf(HasSubstr("[2,5]"), HasSubstr("[3,4]")));
  EXPECT_THAT(refusal_of_run("SliceScatter", 15,
                             {tensor(Shape{4}, Reals{1, 2, 3, 4}), tensor(Shape{3}, Reals{1, 2, 3}),
                              tensor(Shape{1}, Ints{0}), tensor(Shape{1}, Ints{2}), tensor(Shape{1}, Ints{1})}),
              HasSubstr("2 places along axis 0"));
  EXPECT_THAT(refusal_of_run("SliceScatter", 15,
                             {tensor(Shape{4}, Reals{1, 2, 3, 4}), tensor(Shape{2}, Reals{1, 2}),
                              tensor(Shape{1}, Ints{0}), tensor(Shape{1}, Ints{2}), tensor(Shape{1}, Ints{0})}),
              HasSubstr("step 0"));
}

TEST(BadInput, OfSumsAndMatricesIsNamed) {
  EXPECT_THAT(refusal("Einsum", 7, {real({2, 3}), real({4, 5})}, {{"equation", "ij,jk->ik"}}), HasSubstr("[4,5]"));
  EXPECT_THAT(refusal("Einsum", 7, {real({2, 3})}, {{"equation", "ij,jk->ik"}}), HasSubstr("2 terms for 1 inputs"));
  EXPECT_THAT(refusal("Einsum", 7, {real({2, 3})}, {{"equation", "ij->ijk"}}), HasSubstr("no input has"));
  EXPECT_THAT(refusal("Einsum", 7, {real({2, 3})}, {{"equation", "i?->i"}}), HasSubstr("'?'"));
  EXPECT_THAT(refusal("Inverse", 14, {real({2, 3})}), HasSubstr("[2,3]"));
  EXPECT_THAT(refusal("GroupedMatMul", 17, {real({6, 4}), real({3, 5, 4})}), HasSubstr("the groups' ends"));
  EXPECT_THAT(refusal("GroupedMatMul", 17, {real({6, 3}), real({3, 5, 4}), ints({2, 2, 6})}),
              AllOf(HasSubstr("[6,3]"), HasSubstr("[3,5,4]")));
  const Tensor rows = tensor(Shape{2, 1}, Reals{1, 2}), matrices = tensor(Shape{2, 1, 1}, Reals{3, 4});
  for (const Ints& ends : {Ints{2, 1}, Ints{1, 3}, Ints{-1, 2}, Ints{2}})
    EXPECT_THAT(refusal_of_run("GroupedMatMul", 17, {rows, matrices, tensor(Shape{ends.size()}, ends)}),
                HasSubstr("expected"))
        << ends[0];
  EXPECT_THAT(refusal("BitCast", 1, {real({2})}, {{"destination_type", ElementType::kI16}}),
              AllOf(HasSubstr("16 bits"), HasSubstr("f32")));
  EXPECT_THAT(refusal_of_run("Inverse", 14, {tensor(Shape{2, 2}, Reals{1, 2, 2, 4})}),
              HasSubstr("matrix 0 is singular"));
  EXPECT_THAT(refusal_of_run("GatherTree", 1,
                             {tensor(Shape{1, 1, 2}, Ints{1, 2}), tensor(Shape{1, 1, 2}, Ints{0, 7}),
                              tensor(Shape{1}, Ints{1}), tensor(Shape{}, Ints{0})}),
              AllOf(HasSubstr("7"), HasSubstr("2 beams")));
  EXPECT_THAT(
      refusal_of_run("EmbeddingBagOffsetsSum", 3,
                     {tensor(Shape{2, 1}, Reals{1, 2}), tensor(Shape{2}, Ints{0, 4}), tensor(Shape{1}, Ints{0})}),
      AllOf(HasSubstr("index 4"), HasSubstr("2 rows")));
  EXPECT_THAT(
      refusal_of_run("EmbeddingBagOffsetsSum", 3,
                     {tensor(Shape{2, 1}, Reals{1, 2}), tensor(Shape{2}, Ints{0, 1}), tensor(Shape{2}, Ints{1, 0})}),
      HasSubstr("from 1 to 0"));
  EXPECT_THAT(refusal_of_run("EmbeddingSegmentsSum", 3,
                             {tensor(Shape{2, 1}, Reals{1, 2}), tensor(Shape{2}, Ints{0, 1}),
                              tensor(Shape{2}, Ints{1, 0}), tensor(Shape{}, Ints{std::int64_t{1} << 50})}),
              HasSubstr("1125899906842624"));
  EXPECT_THAT(refusal_of_run("SegmentMax", 16, {tensor(Shape{2, 1}, Reals{1, 2}), tensor(Shape{2}, Ints{1, 0})},
                             {{"fill_mode", "zero"}}),
              HasSubstr("ascend"));
}

TEST(BadInput, OfRegionsAndProposalsIsNamed) {
  const Attributes pooled = {{"pooled_h", 2}, {"pooled_w", 2}, {"spatial_scale", 1.0}};
  EXPECT_THAT(refusal("ROIPooling", 2, {real({1, 2, 4, 4}), real({3, 4})}, pooled), HasSubstr("[3,4]"));
  EXPECT_THAT(refusal_of_run("ROIPooling", 2,
                             {tensor(Shape{1, 1, 1, 1}, Reals{1}), tensor(Shape{1, 5}, Reals{3, 0, 0, 1, 1})}, pooled),
              AllOf(HasSubstr("picture 3"), HasSubstr("batch of 1")));
  const Attributes aligned = {
      {"pooled_h", 2}, {"pooled_w", 2}, {"sampling_ratio", 1}, {"spatial_scale", 1.0}, {"mode", "avg"}};
  EXPECT_THAT(refusal("ROIAlign", 9, {real({1, 2, 4, 4}), real({3, 3}), ints({0, 0, 0})}, aligned), HasSubstr("[3,3]"));
  EXPECT_THAT(refusal_of_run(
                  "ROIAlign", 9,
                  {tensor(Shape{1, 1, 1, 1}, Reals{1}), tensor(Shape{1, 3}, Reals{0, 0, 1}), tensor(Shape{1}, Ints{0})},
                  aligned),
              HasSubstr("[1,3]"));
  EXPECT_THAT(refusal("PSROIPooling", 1, {real({1, 7, 4, 4}), real({3, 5})},
                      {{"output_dim", 2}, {"group_size", 2}, {"spatial_scale", 1.0}}),
              AllOf(HasSubstr("[1,7,4,4]"), HasSubstr("8 channels")));
  EXPECT_THAT(refusal("PSROIPooling", 1, {real({1, 8, 4, 4}), real({3, 5})},
                      {{"output_dim", 2}, {"group_size", 0}, {"spatial_scale", 1.0}}),
              HasSubstr("'group_size' is 0"));
  EXPECT_THAT(refusal("MulticlassNms", 9, {real({1, 6, 4}), real({1, 2, 5})}),
              AllOf(HasSubstr("[1,6,4]"), HasSubstr("[1,2,5]")));
  EXPECT_THAT(refusal("NonMaxSuppression", 4, {real({1, 6, 4}), real({1, 2, 5})}), HasSubstr("[1,2,5]"));
  EXPECT_THAT(refusal("NMSRotated", 13, {real({1, 6, 4}), real({1, 2, 6}), integer(1), real({}), real({})}),
              HasSubstr("[1,6,4]"));
  EXPECT_THAT(refusal("Proposal", 4, {real({1, 3, 4, 4}), real({1, 4, 4, 4}), real({3})},
                      {{"base_size", 8},
                       {"pre_nms_topn", 4},
                       {"post_nms_topn", 2},
                       {"nms_thresh", 0.5},
                       {"feat_stride", 8},
                       {"min_size", 1},
                       {"ratio", std::vector<double>{1}},
                       {"scale", std::vector<double>{1}}}),
              AllOf(HasSubstr("[1,3,4,4]"), HasSubstr("2 channels")));
  EXPECT_THAT(
      refusal("GenerateProposals", 9, {real({1, 5}), real({2, 2, 1, 4}), real({1, 4, 2, 2}), real({1, 1, 2, 2})},
              {{"min_size", 1.0}, {"nms_threshold", 0.5}, {"pre_nms_count", 4}, {"post_nms_count", 2}}),
      HasSubstr("[1,5]"));
  EXPECT_THAT(refusal("ExperimentalDetectronTopKROIs", 6, {real({3, 4}), real({3})}, {{"max_rois", -1}}),
              HasSubstr("-1"));
  EXPECT_THAT(
      refusal("ExperimentalDetectronROIFeatureExtractor", 6, {real({3, 4}), real({1, 2, 8, 8}), real({1, 3, 4, 4})},
              {{"output_size", 2}, {"sampling_ratio", 2}, {"pyramid_scales", Ints{4, 8}}}),
      AllOf(HasSubstr("[1,2,8,8]"), HasSubstr("[1,3,4,4]")));
}

TEST(BadInput, OfPicturesWithoutPlacesGivesZeros) {
  const Tensor nothing(element::f32, Shape{1, 2, 0, 3}), region = tensor(Shape{1, 5}, Reals{0, 0, 0, 1, 1});
  const Tensor box = tensor(Shape{1, 4}, Reals{0, 0, 0, 0}), first = tensor(Shape{1}, Ints{0});
  const auto zeros = [](const char* type, unsigned version, const TensorVector& inputs, Attributes attributes) {
    OutputVector parameters;
    for (const Tensor& input : inputs)
      parameters.push_back(
          std::make_shared<op::v0::Parameter>(input.element_type(), PartialShape(input.shape()))->output(0));
    const auto made = evaluate_node(*make_node(type, version, parameters, std::move(attributes)), inputs)[0];
    const auto values = op::v0::Constant(made).to_doubles();
    return !values.empty() && std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
  };
  for (const char* method : {"max", "bilinear"})
    EXPECT_TRUE(zeros("ROIPooling", 2, {nothing, region},
                      {{"pooled_h", 2}, {"pooled_w", 2}, {"spatial_scale", 1.0}, {"method", method}}));
  EXPECT_TRUE(zeros("PSROIPooling", 1, {nothing, region},
                    {{"output_dim", 2}, {"group_size", 1}, {"spatial_scale", 1.0}, {"mode", "bilinear"}}));
  EXPECT_TRUE(zeros("DeformablePSROIPooling", 1, {nothing, region}, {{"output_dim", 2}, {"spatial_scale", 1.0}}));
  EXPECT_TRUE(
      zeros("ROIAlign", 9, {nothing, box, first},
            {{"pooled_h", 1}, {"pooled_w", 1}, {"sampling_ratio", 1}, {"spatial_scale", 1.0}, {"mode", "avg"}}));
  EXPECT_TRUE(zeros(
      "ROIAlignRotated", 15, {nothing, region, first},
      {{"pooled_h", 1}, {"pooled_w", 1}, {"sampling_ratio", 1}, {"spatial_scale", 1.0}, {"clockwise_mode", true}}));
  EXPECT_TRUE(zeros("ExperimentalDetectronROIFeatureExtractor", 6, {box, nothing},
                    {{"output_size", 1}, {"sampling_ratio", 1}, {"pyramid_scales", Ints{4}}}));
}

}  // namespace bad_input_test
}  // namespace tenon
