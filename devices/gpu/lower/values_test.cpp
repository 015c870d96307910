// SPDX-License-Identifier: Apache-2.0
// Where values that kernels compute decide extents, control flow and what is put out: the GPU against the reference kernels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/runtime/runtime.hpp>

namespace tenon {
namespace values_test {

using namespace gpu_device::testing;

/// Boxes of one unit and more, many over each other: two corners, or centre, extents and angle.
Tensor boxes(std::size_t pictures, std::size_t count, std::size_t numbers = 4) {
  const Tensor given = random_tensor(ElementType::kF32, {pictures, count, numbers}, 17);
  float* const values = const_cast<Tensor&>(given).data<float>();
  for (std::size_t i = 0; i < pictures * count; ++i) {
    float* const box = values + i * numbers;
    for (std::size_t k = 0; k < 2; ++k) box[2 + k] = std::abs(box[2 + k]) + 1 + (numbers == 4 ? box[k] : 0);
  }
  return given;
}
Out real(double value) { return reals({}, {value}); }

TEST_F(GpuLowering, SuppressionOfBoxes) {
  const auto box = parameter({2, 37, 4}), score = parameter({2, 3, 37});
  const std::vector<Tensor> inputs{boxes(2, 37), random_tensor(ElementType::kF32, {2, 3, 37}, 5)};
  for (const unsigned opset : {1u, 3u, 5u, 9u}) {
    for (const bool sorts : {false, true}) {
      SCOPED_TRACE("set " + std::to_string(opset) + (sorts ? ", sorted" : ""));
      const char* const encoding = sorts ? "corner" : "center";
      judge(outputs("NonMaxSuppression", opset, {box, score, scalar(7), real(0.4), real(0.1)},
                    {{"box_encoding", encoding}, {"sort_result_descending", sorts}}),
            {box, score}, inputs);
    }
  }
  // Scores that decay; no limit at all, so that nothing is kept; a limit above what there is.
  judge(outputs("NonMaxSuppression", 9, {box, score, scalar(20), real(0.6), real(0.05), real(0.3)}), {box, score},
        inputs);
  judge(outputs("NonMaxSuppression", 9, {box, score}), {box, score}, inputs);
  judge(outputs("NonMaxSuppression", 9, {box, score, scalar(1000), real(1), real(-9)}), {box, score}, inputs);
  for (const bool clockwise : {false, true}) {
    const auto turned = parameter({2, 37, 5});
    judge(outputs("NMSRotated", 13, {turned, score, scalar(9), real(0.2), real(0)}, {{"clockwise", clockwise}}),
          {turned, score}, {boxes(2, 37, 5), inputs[1]});
  }
}

TEST_F(GpuLowering, SuppressionOverClasses) {
  const auto box = parameter({2, 37, 4}), score = parameter({2, 3, 37});
  const std::vector<Tensor> inputs{boxes(2, 37), random_tensor(ElementType::kF32, {2, 3, 37}, 5)};
  for (const char* sort : {"none", "classid", "score"}) {
    for (const bool across : {false, true}) {
      SCOPED_TRACE(std::string(sort) + (across ? ", all pictures" : ""));
      const Attributes common{{"sort_result_type", std::string(sort)},
                              {"sort_result_across_batch", across},
                              {"score_threshold", -0.5},
                              {"nms_top_k", across ? -1 : 15},
                              {"keep_top_k", across ? 11 : -1},
                              {"background_class", across ? 1 : -1},
                              {"normalized", !across}};
      Attributes hard = common, soft = common;
      hard.set("iou_threshold", 0.6);
      hard.set("nms_eta", across ? 0.9 : 1.0);
      soft.set("decay_function", std::string(across ? "gaussian" : "linear"));
      soft.set("post_threshold", 0.1);
      judge(outputs("MulticlassNms", 9, {box, score}, hard), {box, score}, inputs);
      judge(outputs("MatrixNms", 8, {box, score}, soft), {box, score}, inputs);
    }
  }
}

/// Scores of the same box in several classes, and boxes that belong to the first, second... picture.
TEST_F(GpuLowering, SuppressionOfBoxesThatPicturesShare) {
  const auto box = parameter({3, 37, 4}), score = parameter({3, 37});
  const Tensor given = boxes(3, 37), scores = random_tensor(ElementType::kF32, {3, 37}, 5);
  for (const element::Type type : {element::i64, element::i32}) {
    const auto counts = parameter({4}, type);
    for (const bool across : {false, true}) {
      Tensor numbers(type, Shape{4});
      const std::int64_t in_picture[] = {14, 0, 20, 2};
      for (std::size_t i = 0; i < 4; ++i)
        type == element::i64 ? void(numbers.data<std::int64_t>()[i] = in_picture[i])
                             : void(numbers.data<std::int32_t>()[i] = static_cast<std::int32_t>(in_picture[i]));
      judge(outputs("MulticlassNms", 9, {box, score, counts},
                    {{"sort_result_type", std::string(across ? "classid" : "score")},
                     {"sort_result_across_batch", across},
                     {"score_threshold", -0.5},
                     {"nms_top_k", across ? -1 : 6},
                     {"keep_top_k", across ? 11 : -1},
                     {"background_class", across ? 1 : -1},
                     {"iou_threshold", 0.4}}),
            {box, score, counts}, {given, scores, numbers});
    }
  }
}

/// Numbers that ask for more boxes than there are end at the last: nothing is read beyond it.
TEST_F(GpuLowering, PicturesGetNoMoreBoxesThanThereAre) {
  const auto box = parameter({2, 5, 4}), score = parameter({2, 5}), counts = parameter({3}, element::i64);
  const auto found =
      outputs("MulticlassNms", 9, {box, score, counts}, {{"iou_threshold", 1.0}, {"score_threshold", -9.0}});
  const auto model = std::make_shared<Model>(found, ParameterVector{box, score, counts}, "greedy");
  InferRequest request = Core().compile_model(model, "GPU").create_infer_request();
  request.set_input_tensor(0, boxes(2, 5));
  request.set_input_tensor(1, random_tensor(ElementType::kF32, {2, 5}, 3));
  Tensor numbers(element::i64, Shape{3});
  numbers.data<std::int64_t>()[0] = -7;
  numbers.data<std::int64_t>()[1] = 4;
  numbers.data<std::int64_t>()[2] = std::int64_t{1} << 40;
  request.set_input_tensor(2, numbers);
  request.infer();
  const Tensor got = request.get_output_tensor(2);
  EXPECT_EQ(op::v0::Constant(got).to_integers(), (std::vector<std::int64_t>{0, 8, 2}));
  EXPECT_EQ(request.get_output_tensor(0).shape(), (Shape{10, 6}));
}

/// Priors of two corners within a picture, each with its variances.
Tensor priors(std::size_t pictures, std::size_t count, std::size_t size, bool has_variances) {
  Tensor made(element::f32, Shape{pictures, has_variances ? 2u : 1u, count * size});
  std::mt19937 random(7);
  std::uniform_real_distribution<float> place(0, 0.7F), extent(0.1F, 0.3F);
  const float scale = size == 4 ? 1 : 200;
  for (std::size_t n = 0; n < pictures; ++n) {
    float* const row = made.data<float>() + n * (has_variances ? 2 : 1) * count * size;
    for (std::size_t i = 0; i < count; ++i) {
      float* const box = row + i * size + size - 4;
      if (size == 5) box[-1] = 0;
      for (std::size_t k = 0; k < 2; ++k) box[k] = scale * place(random), box[2 + k] = box[k] + scale * extent(random);
    }
    if (!has_variances) continue;
    for (std::size_t i = 0; i < count * size; ++i) row[count * size + i] = i % 4 < 2 ? 0.1F : 0.2F;
  }
  return made;
}

TEST_F(GpuLowering, DetectionOutput) {
  const std::size_t count = 61, classes = 4;
  const Attributes common{{"background_label_id", 0},
                          {"top_k", 25},
                          {"keep_top_k", std::vector<std::int64_t>{30}},
                          {"share_location", true},
                          {"nms_threshold", 0.4},
                          {"confidence_threshold", 0.1},
                          {"code_type", std::string("caffe.PriorBoxParameter.CENTER_SIZE")},
                          {"normalized", true}};
  struct Case {
    const char* name;
    Attributes more;
    std::size_t prior_pictures = 1;
    bool has_variances = true;
  };
  const std::vector<Case> cases{
      {"shared boxes", {}},
      {"corners, clipped", {{"code_type", std::string("caffe.PriorBoxParameter.CORNER")}, {"clip_before_nms", true}}},
      {"clipped afterwards, own priors", {{"clip_after_nms", true}}, 2},
      {"boxes of each class", {{"share_location", false}, {"background_label_id", -1}}},
      {"pixels", {{"normalized", false}, {"input_width", 200}, {"input_height", 100}}},
      {"no variances", {{"variance_encoded_in_target", true}}, 1, false},
      {"few", {{"keep_top_k", std::vector<std::int64_t>{3}}}},
      {"all", {{"keep_top_k", std::vector<std::int64_t>{-1}}, {"top_k", -1}, {"nms_threshold", 1.0}}},
      {"none", {{"confidence_threshold", 99.0}}},
  };
  for (const Case& each : cases) {
    for (const unsigned opset : {1u, 8u}) {
      SCOPED_TRACE(each.name + std::string(", set ") + std::to_string(opset));
      Attributes attributes = common;
      for (const auto& [name, value] : each.more) attributes.set(name, value);
      if (opset == 1) attributes.set("num_classes", static_cast<std::int64_t>(classes));
      const bool shares = attributes.get_bool("share_location");
      const Tensor prior =
          priors(each.prior_pictures, count, attributes.get_bool("normalized") ? 4 : 5, each.has_variances);
      const auto delta = parameter({2, count * (shares ? 1 : classes) * 4}), score = parameter({2, count * classes}),
                 given = parameter(prior.shape());
      Tensor scores = random_tensor(ElementType::kF32, {2, count * classes}, 9);
      for (std::size_t i = 0; i < scores.element_count(); i += 5) scores.data<float>()[i] = 0.5F;  // Equal ones.
      judge(outputs("DetectionOutput", opset, {delta, score, given}, attributes), {delta, score, given},
            {random_tensor(ElementType::kF32, delta->get_shape(), 4), scores, prior});
    }
  }
  // In f16.
  const auto delta = parameter({1, 244}, element::f16), score = parameter({1, 244}, element::f16),
             given = parameter({1, 2, 244}, element::f16);
  judge(outputs("DetectionOutput", 8, {delta, score, given}, common), {delta, score, given}, {}, 4e-3);
}

TEST_F(GpuLowering, ProposalsAroundAnchors) {
  const std::size_t kinds = 3, rows = 5, columns = 7, plane = rows * columns;
  const auto info = parameter({2, 3}), anchor = parameter({rows, columns, kinds, 4}),
             delta = parameter({2, 4 * kinds, rows, columns}), score = parameter({2, kinds, rows, columns});
  Tensor infos(element::f32, Shape{2, 3}), anchors(element::f32, Shape{rows, columns, kinds, 4});
  const float sizes[] = {90, 110, 1, 80, 100, 0.5F};
  std::copy_n(sizes, 6, infos.data<float>());
  for (std::size_t i = 0; i < plane * kinds; ++i) {
    const auto x = static_cast<float>(i / kinds % columns) * 15, y = static_cast<float>(i / kinds / columns) * 15,
               half = 6 + 7 * static_cast<float>(i % kinds);
    const float box[] = {x - half, y - half, x + half, y + half};
    std::copy_n(box, 4, anchors.data<float>() + 4 * i);
  }
  Tensor scores = random_tensor(ElementType::kF32, {2, kinds, rows, columns}, 3);
  for (std::size_t i = 0; i < scores.element_count(); i += 4) scores.data<float>()[i] = 0.25F;  // Equal ones.
  Tensor deltas = random_tensor(ElementType::kF32, {2, 4 * kinds, rows, columns}, 8);
  for (std::size_t i = 0; i < deltas.element_count(); ++i) deltas.data<float>()[i] *= 0.3F;
  const Attributes common{{"min_size", 3.0}, {"nms_threshold", 0.6}, {"pre_nms_count", 60}, {"post_nms_count", 20}};
  const std::vector<Attributes> cases{
      {},
      {{"normalized", false}, {"roi_num_type", element::i32}},
      {{"nms_threshold", 0.2}, {"pre_nms_count", 1000}, {"post_nms_count", 1000}},
      {{"nms_threshold", 0.9}, {"nms_eta", 0.8}},
      {{"min_size", 25.0}, {"pre_nms_count", 9}},
      {{"min_size", 1e6}},
      {{"post_nms_count", 0}},
      {{"pre_nms_count", 0}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    Attributes attributes = common;
    for (const auto& [name, value] : cases[i]) attributes.set(name, value);
    judge(outputs("GenerateProposals", 9, {info, anchor, delta, score}, attributes), {info, anchor, delta, score},
          {infos, anchors, deltas, scores});
  }
}

TEST_F(GpuLowering, EmptyRowsOfSparseMatricesAreFilled) {
  const auto place = [](const std::vector<std::int64_t>& numbers, element::Type type) {
    Tensor made(type, Shape{numbers.size() / 2, 2});
    for (std::size_t i = 0; i < numbers.size(); ++i)
      type == element::i64 ? void(made.data<std::int64_t>()[i] = numbers[i])
                           : void(made.data<std::int32_t>()[i] = static_cast<std::int32_t>(numbers[i]));
    return made;
  };
  const std::vector<std::int64_t> some{1, 7, 299, 0, 1, 3, 600, 2, 1, 5, 0, 1};
  for (const element::Type type : {element::i64, element::i32}) {
    const auto values = parameter({6}), indices = parameter({6, 2}, type);
    const Tensor numbers = random_tensor(ElementType::kF32, {6}, 2);
    judge(outputs("SparseFillEmptyRows", 16, {values, ints({700, 8}, type), indices, real(-4)}), {values, indices},
          {numbers, place(some, type)});
  }
  const auto values = parameter({4}, element::i64), indices = parameter({4, 2}, element::i64),
             fallback = parameter({}, element::i64);
  const Tensor numbers = random_tensor(ElementType::kI64, {4}, 2), full = place({3, 0, 0, 0, 1, 0, 2, 0}, element::i64);
  judge(outputs("SparseFillEmptyRows", 16, {values, ints({4, 8}), indices, fallback}), {values, indices, fallback},
        {numbers, full});
  const auto no_values = parameter({0}), nowhere = parameter({0, 2}, element::i64);
  judge(outputs("SparseFillEmptyRows", 16, {no_values, ints({3, 8}), nowhere, real(1)}), {no_values, nowhere});
  judge(outputs("SparseFillEmptyRows", 16, {no_values, ints({0, 8}), nowhere, real(1)}), {no_values, nowhere});
  // The number of rows is an input, or computed.
  const auto shape = parameter({2}, element::i64);
  Tensor rows(element::i64, Shape{2});
  rows.data<std::int64_t>()[0] = 9, rows.data<std::int64_t>()[1] = 8;
  judge(outputs("SparseFillEmptyRows", 16, {values, shape, indices, fallback}), {values, shape, indices, fallback},
        {numbers, rows, full});
  const auto twice = outputs("Add", 1, {shape, shape})[0];
  judge(outputs("SparseFillEmptyRows", 16, {values, twice, indices, fallback}), {values, shape, indices, fallback},
        {numbers, rows, full});
  // An entry of a row that is not there is left out, and writes nowhere.
  const auto found = outputs("SparseFillEmptyRows", 16, {values, ints({4, 8}), indices, fallback});
  const auto model = std::make_shared<Model>(found, ParameterVector{values, indices, fallback}, "outside");
  InferRequest request = Core().compile_model(model, "GPU").create_infer_request();
  request.set_input_tensor(0, numbers);
  request.set_input_tensor(1, place({3, 0, 4, 0, -1, 0, 2, 0}, element::i64));
  request.infer();
  EXPECT_EQ(op::v0::Constant(request.get_output_tensor(0)).to_integers(),
            (std::vector<std::int64_t>{0, 0, 1, 0, 2, 0, 3, 0}));
}

TEST_F(GpuLowering, WhatIsNotZeroAndWhatIsThereOnce) {
  for (const element::Type type : {element::f32, element::i64, element::u8, element::boolean}) {
    const auto x = parameter({3, 5, 41}, type);
    judge(outputs("NonZero", 3, {x}), {x});
    judge(outputs("NonZero", 3, {x}, {{"output_type", element::i32}}), {x});
  }
  const auto x = parameter({4, 6, 5}, element::i64);
  for (const bool sorted : {false, true}) {
    const Attributes attributes{{"sorted", sorted}};
    judge(outputs("Unique", 10, {x}, attributes), {x});
    for (const int axis : {0, 1, -1}) judge(outputs("Unique", 10, {x, scalar(axis)}, attributes), {x});
  }
  // All NaNs are one value, the greatest.
  const auto nan = real(std::numeric_limits<double>::quiet_NaN());
  const auto some = parameter({6, 3});
  const auto above = outputs("Greater", 1, {some, real(0)})[0];
  const auto partly = outputs("Select", 1, {above, some, nan})[0];
  for (const bool sorted : {false, true}) judge(outputs("Unique", 10, {partly}, {{"sorted", sorted}}), {some});
  // Nothing there, and nothing found.
  const auto none = parameter({0, 3});
  judge(outputs("NonZero", 3, {none}), {none});
  judge(outputs("Unique", 10, {none}), {none});
  const auto y = parameter({2, 3});
  judge(outputs("NonZero", 3, {outputs("Greater", 1, {y, real(100)})[0]}), {y});
}

/// Its rows of which the first element is above a limit, then what is left of these.
TEST_F(GpuLowering, WhatFollowsHasTheExtentsThatValuesDecide) {
  const auto x = open_parameter(2);
  const auto pick = [&](const Out& rows, double limit) {
    const Out first = outputs("Gather", 8, {rows, scalar(0), scalar(1)})[0];
    const Out found = outputs("NonZero", 3, {outputs("Greater", 1, {first, real(limit)})[0]})[0];
    return outputs("Gather", 8, {rows, outputs("Squeeze", 0, {found, ints({0})})[0], scalar(0)})[0];
  };
  const Out some = pick(x, -0.5), few = pick(some, 0.2);
  const Out sum = outputs("ReduceSum", 1, {few, ints({0})}, {{"keep_dims", false}})[0];
  const Out same = outputs("Add", 1, {x, x})[0];
  judge_moving({sum, few, same, some}, {x}, {{{40, 3}}, {{7, 5}}, {{40, 3}}, {{1, 3}}});
}

/// One state is known before the cut, the other only after it; the second also when nothing else comes after.
TEST_F(GpuLowering, StatesLieBesideACut) {
  const auto x = parameter({12});
  const auto variable = [](const char* id, const Shape& shape) {
    return Attributes{
        {"variable_id", std::string(id)}, {"variable_shape", PartialShape(shape)}, {"variable_type", element::f32}};
  };
  const Out seen = outputs("ReadValue", 6, {reals({12}, std::vector<double>(12, 0.5))}, variable("seen", {12}))[0];
  const Out picked = outputs("ReadValue", 6, {}, variable("picked", {1}))[0];
  const Out sum = outputs("Add", 1, {x, seen})[0];
  const Out found = outputs("NonZero", 3, {outputs("Greater", 1, {sum, real(0.7)})[0]})[0];
  const Out some = outputs("Gather", 8, {sum, outputs("Squeeze", 0, {found, ints({0})})[0], scalar(0)})[0];
  const Out total = outputs("ReduceSum", 1, {some, ints({0})}, {{"keep_dims", true}})[0];
  const Out next = outputs("Add", 1, {total, picked})[0];
  const SinkVector sinks{make_node("Assign", 6, {sum}, variable("seen", {12})),
                         make_node("Assign", 6, {next}, variable("picked", {1}))};
  for (const bool puts_out : {true, false}) {
    SCOPED_TRACE(puts_out ? "results after the cut" : "states alone after the cut");
    const OutputVector results = puts_out ? OutputVector{some, next, sum} : OutputVector{sum};
    const auto model = std::make_shared<Model>(results, sinks, ParameterVector{x}, "beside");
    InferRequest request =
        Core().compile_model(model, "GPU", hint::inference_precision(element::f32)).create_infer_request();
    auto states = request.query_state();
    ASSERT_EQ(states.size(), 2u) << "known before the first inference";
    const auto state = [&](const std::string& id) {
      return *std::find_if(states.begin(), states.end(), [&](const auto& each) { return each.get_name() == id; });
    };
    VariableMap wanted_states;
    for (unsigned round = 0; round < 4; ++round) {
      SCOPED_TRACE("inference " + std::to_string(round));
      if (round == 3) {
        for (auto& each : states) each.reset();
        wanted_states.clear();
      }
      const Tensor given = random_tensor(ElementType::kF32, {12}, 40 + round);
      const auto wanted = evaluate(*model, {given}, &wanted_states);
      request.set_input_tensor(given);
      request.infer();
      for (std::size_t i = 0; i < wanted.size(); ++i) expect_close(wanted[i], request.get_output_tensor(i), 1e-4);
      for (const char* id : {"seen", "picked"}) expect_close(wanted_states.at(id), state(id).get_state(), 1e-4);
    }
    Tensor own(element::f32, Shape{1});
    own.data<float>()[0] = 100;
    state("picked").set_state(own);
    wanted_states["picked"] = own;
    const Tensor given = random_tensor(ElementType::kF32, {12}, 50);
    evaluate(*model, {given}, &wanted_states);
    request.set_input_tensor(given);
    request.infer();
    expect_close(wanted_states.at("picked"), state("picked").get_state(), 1e-4);
  }
}

/// A shape that kernels compute, a branch and a loop whose length and beginning they decide.
TEST_F(GpuLowering, ValuesOfKernelsDecideShapesAndControlFlow) {
  const auto x = parameter({12});
  const Out most = outputs("ReduceMax", 1, {outputs("Abs", 0, {x})[0], ints({0})}, {{"keep_dims", false}})[0];
  const Out trips = outputs("Convert", 0, {outputs("Ceiling", 0, {most})[0]}, {{"destination_type", element::i64}})[0];
  const Out range = outputs("Range", 4, {scalar(0), trips, scalar(1)}, {{"output_type", element::i64}})[0];
  judge({outputs("Add", 1, {outputs("Convert", 0, {range}, {{"destination_type", element::f32}})[0], most})[0]}, {x});

  const auto s = parameter({12}), t = parameter({12});
  const auto branch = [](const std::shared_ptr<op::v0::Parameter>& from, const char* what) {
    return std::make_shared<Model>(outputs(what, 0, {from}), ParameterVector{from});
  };
  const Out condition = outputs("Greater", 1, {most, real(0.5)})[0];
  const auto choice = std::make_shared<op::v8::If>(condition);
  choice->set_then_body(branch(s, "Abs"));
  choice->set_else_body(branch(t, "Negative"));
  choice->set_input(x, s, t);
  const Out chosen =
      choice->set_output(choice->get_then_body()->get_results()[0], choice->get_else_body()->get_results()[0]);
  judge({chosen}, {x});
}

/// Doubles a state until its sum is above a limit, beginning anew with each input; -1: no other limit.
TEST_F(GpuLowering, LoopsThatTheirBodiesEnd) {
  for (const std::int64_t trips : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1}}) {
    SCOPED_TRACE(trips);
    const auto x = parameter({1, 4}), limit = parameter({});
    const auto state = parameter({1, 4}), least = parameter({}), number = parameter({}, element::i64);
    const Out count = outputs("Convert", 0, {number}, {{"destination_type", element::f32}})[0];
    const Out next = outputs("Add", 1, {outputs("Multiply", 1, {state, real(2)})[0], count})[0];
    const Out sum = outputs("ReduceSum", 1, {outputs("Abs", 0, {next})[0], ints({0, 1})}, {{"keep_dims", false}})[0];
    const Out goes_on = outputs("Less", 1, {sum, least})[0];
    const auto body =
        std::make_shared<Model>(OutputVector{goes_on, next}, ParameterVector{state, least, number}, "body");
    const auto loop = std::make_shared<op::v5::Loop>(
        scalar(trips), op::v0::Constant::create(element::boolean, Shape{}, {true})->output(0));
    loop->set_function(body);
    loop->set_special_body_ports({2, 0});
    loop->set_merged_input(state, x, next);
    loop->set_invariant_input(least, limit);
    const Out last = loop->get_iter_value(next), all = loop->get_concatenated_slices(next, 0, 1, 1, -1, 0);
    loop->validate_and_infer_types();
    for (const float most : {0.0F, 50.0F, 9000.0F}) {
      Tensor wanted(element::f32, Shape{});
      *wanted.data<float>() = most;
      judge({outputs("Negative", 0, {last})[0], all}, {x, limit},
            {random_tensor(ElementType::kF32, {1, 4}, 3), wanted});
    }
  }
}

/// A loop whose trip count and first condition come with the data, also where it never begins: the state is what came in, and what
/// is joined is nothing.
TEST_F(GpuLowering, LoopsThatNeverBegin) {
  for (const bool is_known : {false, true}) {
    for (const std::int64_t trips : {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}}) {
      for (const bool begins : {false, true}) {
        SCOPED_TRACE(std::to_string(trips) + (begins ? ", begins" : "") + (is_known ? ", known" : ""));
        const auto x = parameter({1, 4}), state = parameter({1, 4});
        const auto count = parameter({}, element::i64), first = parameter({}, element::boolean);
        const Out next = outputs("Multiply", 1, {state, real(2)})[0];
        const Out goes_on = op::v0::Constant::create(element::boolean, Shape{}, {true});
        const auto body = std::make_shared<Model>(OutputVector{goes_on, next}, ParameterVector{state}, "body");
        const auto loop = std::make_shared<op::v5::Loop>(
            is_known ? scalar(trips) : count->output(0),
            is_known ? op::v0::Constant::create(element::boolean, Shape{}, {begins ? 1.0 : 0.0})->output(0)
                     : first->output(0));
        loop->set_function(body);
        loop->set_special_body_ports({-1, 0});
        loop->set_merged_input(state, x, next);
        const Out last = loop->get_iter_value(next), all = loop->get_concatenated_slices(next, 0, 1, 1, -1, 0);
        loop->validate_and_infer_types();
        Tensor number(element::i64, Shape{}), condition(element::boolean, Shape{});
        *number.data<std::int64_t>() = trips;
        *condition.data<bool>() = begins;
        ParameterVector parameters{x};
        if (!is_known) parameters.insert(parameters.end(), {count, first});
        std::vector<Tensor> inputs{random_tensor(ElementType::kF32, {1, 4}, 3), number, condition};
        inputs.resize(parameters.size());
        judge({outputs("Negative", 0, {last})[0], last, all}, parameters, inputs);
      }
    }
  }
}

TEST_F(GpuLowering, ResultsThatValuesDecideAreBookedAndWaitedFor) {
  // So many that the wait begins before the kernels are over.
  const auto x = parameter({2, 400000});
  const auto found = outputs("NonZero", 3, {x});
  Core core;
  auto request =
      core.compile_model(std::make_shared<Model>(found, ParameterVector{x}, "values"), "GPU").create_infer_request();
  request.set_input_tensor(random_tensor(ElementType::kF32, {2, 400000}, 1));
  request.start_async();
  request.wait();
  const Tensor indices = request.get_output_tensor();
  EXPECT_GT(indices.shape()[1], 799000u);
  EXPECT_EQ(request.ledger().total().copied, indices.size_bytes());
  // On a busy machine the kernels may be over before the wait begins: then once more.
  for (int i = 0; i < 20 && request.ledger().total().waits == 0; ++i) {
    request.start_async();
    request.wait();
  }
  EXPECT_GE(request.ledger().total().waits, 1u);
}

TEST_F(GpuLowering, WhatNoKernelCountsIsRefusedByName) {
  const auto x = parameter({});
  const auto model = std::make_shared<Model>(outputs("NonZero", 3, {x}), ParameterVector{x}, "values");
  Core core;
  EXPECT_EQ(core.query_model(model, "GPU").count(model->get_results()[0]->get_input_node_ptr(0)->get_friendly_name()),
            0u);
  try {
    InferRequest request = core.compile_model(model, "GPU").create_infer_request();
    request.set_input_tensor(random_tensor(ElementType::kF32, {}, 1));
    request.infer();
    FAIL() << "it ran";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("NonZero"), std::string::npos) << error.what();
  }
}

}  // namespace values_test
}  // namespace tenon
