// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression, MulticlassNms, MatrixNms, NonZero and TopK against the reference kernels: ties, NaN, empty inputs, every form.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <tenon/engine/cut_kernels.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/staged.hpp>
#include <tenon/engine/testing/instruction_sets.hpp>
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace cut_kernels_test {

void expect_same(const std::vector<Tensor>& wanted, const std::vector<Tensor>& got) {
  ASSERT_EQ(wanted.size(), got.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(wanted[i].shape(), got[i].shape()) << "output " << i;
    ASSERT_EQ(wanted[i].element_type(), got[i].element_type());
    if (wanted[i].size_bytes() == 0) continue;
    EXPECT_EQ(0, std::memcmp(wanted[i].data(), got[i].data(), wanted[i].size_bytes())) << "output " << i;
  }
}

/// @param inputs  Have the node's types and shapes.
void expect_cut_kernel(const std::shared_ptr<Node>& node, const std::vector<Tensor>& inputs) {
  engine::Workers workers(2);
  std::vector<Tensor> made;
  const char* kernel = nullptr;
  workers.run([&] { kernel = engine::run_cut_kernel(*node, inputs, made); });
  ASSERT_NE(kernel, nullptr);
  expect_same(evaluate_node(*node, inputs), made);
}

std::vector<Tensor> tensors_of(const OutputVector& constants) {
  std::vector<Tensor> tensors;
  for (const auto& constant : constants)
    tensors.push_back(as_type<op::v0::Constant>(constant.get_node())->get_tensor());
  return tensors;
}

void expect_on_constants(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes) {
  expect_cut_kernel(make_node(type, version, inputs, attributes), tensors_of(inputs));
}

template <typename T>
Out constant(const Shape& shape, const std::vector<T>& values, element::Type type) {
  return op::v0::Constant::create(type, shape, values);
}
Out reals(const Shape& shape, const std::vector<float>& values) { return constant(shape, values, element::f32); }

struct Boxes {
  Shape boxes, scores;
  std::vector<float> box_values, score_values;
};

/// Boxes that often touch and scores that are often equal; some are no numbers.
Boxes random_boxes(std::mt19937& random, std::size_t batch, std::size_t classes, std::size_t count, bool has_nan) {
  Boxes made{{batch, count, 4}, {batch, classes, count}, {}, {}};
  for (std::size_t i = 0; i < batch * count; ++i) {
    const auto x = static_cast<float>(random() % 40), y = static_cast<float>(random() % 40);
    made.box_values.insert(made.box_values.end(), {y, x, y + static_cast<float>(random() % 12) - 1,
                                                   x + static_cast<float>(random() % 12) - 1});
  }
  for (std::size_t i = 0; i < batch * classes * count; ++i)
    made.score_values.push_back(static_cast<float>(random() % 64) / 64 - 0.2f);
  for (std::size_t i = 0; has_nan && i < count / 8; ++i) {
    made.box_values[random() % made.box_values.size()] = i % 3 ? NAN : INFINITY;
    made.score_values[random() % made.score_values.size()] = i % 2 ? NAN : INFINITY;
  }
  return made;
}

void suppress(const Boxes& given, std::int64_t most, float overlap, float score, float sigma, const char* encoding,
              bool sorts, element::Type type = element::i64) {
  const OutputVector inputs{reals(given.boxes, given.box_values),
                            reals(given.scores, given.score_values),
                            ints({most}),
                            scalar(overlap),
                            scalar(score),
                            scalar(sigma)};
  expect_on_constants(
      "NonMaxSuppression", 9, inputs,
      {{"box_encoding", std::string(encoding)}, {"sort_result_descending", sorts}, {"output_type", type}});
}

TEST(CutKernels, SuppressionInEveryForm) {
  std::mt19937 random(3);
  for_each_instruction_set([&] {
    for (int round = 0; round < 40; ++round) {
      const Boxes given = random_boxes(random, 1 + random() % 2, 1 + random() % 4, 1 + random() % 300, round % 4 == 3);
      const float overlap = static_cast<float>(random() % 10) / 10 - 0.1f,
                  score = static_cast<float>(random() % 10) / 10 - 0.3f;
      SCOPED_TRACE(round);
      suppress(given, round % 5 == 0 ? 1000 : static_cast<std::int64_t>(random() % 20), overlap, score,
               round % 6 == 5 ? 0.5f : 0.0f, round % 2 ? "corner" : "center", round % 3 == 0,
               round % 2 ? element::i32 : element::i64);
    }
  });
}

TEST(CutKernels, SuppressionLooksFurtherThanTheFirstCandidates) {
  // All boxes but the last one lie over each other, so that all candidates must be looked at.
  Boxes given{{1, 2000, 4}, {1, 1, 2000}, {}, {}};
  for (std::size_t i = 0; i < 2000; ++i) {
    const float at = i == 1999 ? 100.0f : 0.0f;
    given.box_values.insert(given.box_values.end(), {at, at, at + 10, at + 10});
    given.score_values.push_back(1.0f - static_cast<float>(i) / 4096);
  }
  suppress(given, 3, 0.5f, 0.1f, 0, "corner", false);
}

TEST(CutKernels, SuppressionOfNothing) {
  suppress({{1, 0, 4}, {1, 3, 0}, {}, {}}, 5, 0.5f, 0, 0, "corner", true);
  std::mt19937 random(1);
  suppress(random_boxes(random, 1, 2, 30, false), 0, 0.5f, 0, 0, "corner", true);
  suppress(random_boxes(random, 1, 2, 30, false), 5, 0.5f, 2, 0, "corner", true);
}

TEST(CutKernels, SuppressionBeforeScoresWerePutOut) {
  std::mt19937 random(2);
  const Boxes given = random_boxes(random, 2, 3, 50, false);
  const OutputVector inputs{reals(given.boxes, given.box_values), reals(given.scores, given.score_values), ints({7}),
                            scalar(0.4), scalar(0.1)};
  expect_on_constants("NonMaxSuppression", 4, inputs, {{"sort_result_descending", false}});
}

/// Every other time with the numbers of boxes of each picture, and boxes of their own for each class.
void suppress_classes_of(std::mt19937& random, const char* type, int round) {
  const bool is_shared = std::string(type) == "MulticlassNms" && round % 2 == 1;
  const bool is_small = round % 7 == 6;
  const std::size_t pictures = is_shared ? 1 + random() % 3 : 1 + random() % 2, classes = 1 + random() % 4,
                    count = is_small ? random() % 3 : 1 + random() % 200;
  Boxes given = is_shared ? random_boxes(random, classes, 1, count, round % 4 == 3)
                          : random_boxes(random, pictures, classes, count, round % 4 == 3);
  if (is_shared) given.scores = {classes, count};
  // Often two boxes are the same.
  for (std::size_t i = 0; count > 0 && i < count / 6; ++i) {
    const std::size_t from = random() % (given.box_values.size() / 4), to = random() % (given.box_values.size() / 4);
    std::copy_n(given.box_values.begin() + static_cast<std::ptrdiff_t>(4 * from), 4,
                given.box_values.begin() + static_cast<std::ptrdiff_t>(4 * to));
  }
  OutputVector inputs{reals(given.boxes, given.box_values), reals(given.scores, given.score_values)};
  if (is_shared) {
    std::vector<std::int64_t> counts(pictures, static_cast<std::int64_t>(count / pictures));
    counts.back() += static_cast<std::int64_t>(count % pictures);
    inputs.push_back(ints(counts));
  }
  static const char* kSorts[] = {"none", "classid", "score"};
  const auto numbers = [&](int below) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(below)) - 1;
  };
  Attributes attributes{{"sort_result_type", std::string(kSorts[random() % 3])},
                        {"sort_result_across_batch", random() % 2 == 0},
                        {"output_type", round % 2 ? element::i32 : element::i64},
                        {"score_threshold", static_cast<double>(random() % 10) / 10 - 0.3},
                        {"nms_top_k", random() % 2 ? -1 : numbers(60)},
                        {"keep_top_k", random() % 2 ? -1 : numbers(40)},
                        {"background_class", numbers(4)},
                        {"normalized", random() % 2 == 0}};
  if (std::string(type) == "MulticlassNms") {
    attributes.set("iou_threshold", static_cast<double>(random() % 11) / 10 - 0.1);
    attributes.set("nms_eta", random() % 2 ? 1.0 : 0.9);
  } else {
    attributes.set("decay_function", std::string(random() % 2 ? "gaussian" : "linear"));
    attributes.set("gaussian_sigma", random() % 5 ? 2.0 : -0.5);
    attributes.set("post_threshold", static_cast<double>(random() % 4) / 10);
  }
  expect_on_constants(type, std::string(type) == "MulticlassNms" ? 9 : 8, inputs, attributes);
}

TEST(CutKernels, SuppressionOfAllClasses) {
  std::mt19937 random(8);
  for_each_instruction_set([&] {
    for (int round = 0; round < 300; ++round) {
      for (const char* type : {"MulticlassNms", "MatrixNms"}) {
        SCOPED_TRACE(std::string(type) + " " + std::to_string(round));
        suppress_classes_of(random, type, round);
      }
    }
  });
}

TEST(CutKernels, SuppressionOfRotatedBoxes) {
  std::mt19937 random(9);
  const auto below = [&](unsigned limit) { return static_cast<float>(random() % limit); };
  for (int round = 0; round < 60; ++round) {
    const std::size_t batch = 1 + random() % 2, classes = 1 + random() % 3,
                      count = round % 9 == 8 ? 0 : 1 + random() % 60;
    std::vector<float> boxes, scores;
    for (std::size_t i = 0; i < batch * count; ++i)
      boxes.insert(boxes.end(), {below(40), below(40), below(15), below(9), below(64) / 10 - 3.2f});
    for (std::size_t i = 0; i < batch * classes * count; ++i) scores.push_back(below(32) / 32);
    expect_on_constants("NMSRotated", 13,
                        {reals({batch, count, 5}, boxes), reals({batch, classes, count}, scores),
                         ints({static_cast<std::int64_t>(random() % 30)}),
                         scalar(static_cast<double>(random() % 8) / 10 - 0.1), scalar(0.1)},
                        {{"sort_result_descending", round % 2 == 0},
                         {"clockwise", round % 3 == 0},
                         {"output_type", round % 2 ? element::i32 : element::i64}});
  }
}

TEST(CutKernels, NonZeroOfEveryTypeAndRank) {
  std::mt19937 random(4);
  for (const element::Type type :
       {element::f32, element::f64, element::i64, element::i32, element::i16, element::u8, element::boolean}) {
    for (const Shape& shape : {Shape{1}, Shape{7}, Shape{10007}, Shape{3, 5}, Shape{60, 70, 3}, Shape{2, 1, 3, 2, 4}}) {
      for (const unsigned share : {0u, 1u, 4u}) {
        SCOPED_TRACE(to_string(shape));
        std::vector<int> values;
        for (std::size_t i = 0; i < element_count(shape); ++i)
          values.push_back(share > 0 && random() % share == 0 ? 1 : 0);
        for (const element::Type out : {element::i64, element::i32})
          expect_on_constants("NonZero", 3, {constant(shape, values, type)}, {{"output_type", out}});
      }
    }
  }
  expect_on_constants("NonZero", 3, {reals({5}, {-0.0f, NAN, 1e-40f, 0.0f, -1.0f})}, {});
}

/// In a plan, on values that are not known when it is made.
void expect_top_k(const Tensor& data, std::int64_t k, const Attributes& attributes) {
  const auto x = std::make_shared<op::v0::Parameter>(data.element_type(), PartialShape(data.shape()));
  const auto node = make_node("TopK", 11, {x, scalar_int(k)}, attributes);
  const auto model = std::make_shared<Model>(OutputVector{node->output(0), node->output(1)}, ParameterVector{x});
  const auto plan = engine::Plan::compile(model, {});
  EXPECT_EQ(plan->reference_step_count(), 0u);
  engine::Workers workers(2);
  engine::Execution execution(plan);
  execution.bind_input(0, data);
  const std::vector<Tensor> wanted = evaluate(*model, {data});
  std::vector<Tensor> got;
  for (std::size_t i = 0; i < 2; ++i) {
    got.emplace_back(wanted[i].element_type(), wanted[i].shape());
    execution.bind_output(i, got.back());
  }
  ASSERT_TRUE(execution.run(workers));
  expect_same(wanted, got);
}

TEST(CutKernels, TopKWithTiesAndNan) {
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round) {
    const Shape shape = round % 3 == 0   ? Shape{1 + random() % 5000}
                        : round % 3 == 1 ? Shape{1 + random() % 5, 1 + random() % 700, 1 + random() % 4}
                                         : Shape{3, 1 + random() % 40};
    const std::size_t axis = random() % shape.size();
    const ElementType type = round % 5 == 4   ? ElementType::kI64
                             : round % 5 == 3 ? ElementType::kI32
                             : round % 5 == 2 ? ElementType::kU8
                             : round % 5 == 1 ? ElementType::kF64
                                              : ElementType::kF32;
    Tensor data(type, shape);
    for (std::size_t i = 0; i < data.element_count(); ++i) {
      const auto value = static_cast<int>(random() % 300) - (type == ElementType::kU8 ? 0 : 150);
      if (type == ElementType::kF32)
        data.data<float>()[i] = random() % 50 == 0 ? NAN : random() % 50 == 1 ? -0.0f : static_cast<float>(value) / 8;
      else if (type == ElementType::kF64)
        data.data<double>()[i] = random() % 50 == 0 ? NAN : 1 + static_cast<double>(value) * 0x1p-40;
      else if (type == ElementType::kI64)
        data.data<std::int64_t>()[i] = std::int64_t{value} << 33;
      else if (type == ElementType::kI32)
        data.data<std::int32_t>()[i] = value;
      else
        static_cast<std::uint8_t*>(data.data())[i] = static_cast<std::uint8_t>(value);
    }
    const auto k = static_cast<std::int64_t>(1 + random() % shape[axis]);
    for (const char* mode : {"max", "min"}) {
      for (const char* sort : {"value", "index", "none"}) {
        SCOPED_TRACE(std::string(mode) + " " + sort + " " + to_string(shape) + " " + std::to_string(k));
        expect_top_k(data, k,
                     {{"axis", static_cast<std::int64_t>(axis)},
                      {"mode", std::string(mode)},
                      {"sort", std::string(sort)},
                      {"index_element_type", round % 2 ? element::i32 : element::i64}});
      }
    }
  }
}

TEST(CutKernels, ACutModelUsesThem) {
  engine::Options options;
  options.profile = true;
  const auto boxes = parameter({1, 60, 4}), scores = parameter({1, 3, 60});
  const auto kept = make_node("NonMaxSuppression", 9, {boxes, scores, ints({20}), scalar(0.5), scalar(0.1)}, {});
  const auto best = make_node("TopK", 11, {op1("NonZero", 3, {scores}), kept->output(2)},
                              {{"axis", std::int64_t{1}}, {"mode", std::string("max")}});
  const auto matrix = make_node("MatrixNms", 8, {boxes, scores}, {}),
             classes = make_node("MulticlassNms", 9, {boxes, scores}, {{"iou_threshold", 0.5}}),
             rotated = make_node(
                 "NMSRotated", 13,
                 {op1("Concat", 1, {boxes, op1("Split", 1, {boxes, scalar_int(2)}, {{"num_splits", std::int64_t{4}}})},
                      {{"axis", std::int64_t{2}}}),
                  scores, ints({20}), scalar(0.5), scalar(0.1)},
                 {});
  const auto model = std::make_shared<Model>(OutputVector{kept->output(0), best->output(0), best->output(1),
                                                          matrix->output(0), classes->output(1), rotated->output(0)},
                                             ParameterVector{boxes, scores});
  engine::Workers workers(2);
  engine::Staged staged(options);
  const auto inputs = random_inputs(*model);
  expect_same(evaluate(*model, inputs), staged.run(model, inputs, workers));
  for (const auto& timed : staged.timed_steps()) EXPECT_FALSE(timed.step.is_reference) << timed.step.node_type;
}

}  // namespace cut_kernels_test
}  // namespace tenon::engine_test
