// SPDX-License-Identifier: Apache-2.0
// Gathers and scatters against the reference kernels: random shapes, repeated and negative indices, every reduction.
#include <random>

#include <gtest/gtest.h>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace indexing_test {

std::mt19937& generator() {
  static std::mt19937 random(5);
  return random;
}
std::size_t pick(std::size_t low, std::size_t high) { return low + generator()() % (high - low + 1); }

/// Indices of an axis, some from its end, as a constant.
Out random_indices(const Shape& shape, const std::vector<std::size_t>& extents, element::Type type = element::i64) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < element_count(shape); ++i) {
    const auto extent = static_cast<std::int64_t>(extents[i % extents.size()]);
    values.push_back(static_cast<std::int64_t>(generator()() % static_cast<std::size_t>(2 * extent)) - extent);
  }
  return op::v0::Constant::create(type, shape, values);
}

Shape random_shape(std::size_t rank) {
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(pick(1, 7));
  return shape;
}

/// On inputs that are not known when the plan is made.
Judged judge_on(const Out& output, const ParameterVector& parameters) {
  const Judged judged = judge(output, parameters);
  EXPECT_EQ(judged.references, 0u);
  return judged;
}

const element::Type kTypes[] = {element::f32, element::i64, element::i32, element::u8};

TEST(LowerIndexing, GatherNdOfRandomShapes) {
  for (int round = 0; round < 24; ++round) {
    const Shape data = random_shape(pick(2, 4));
    const std::size_t batch = pick(0, 1), depth = pick(1, data.size() - batch);
    Shape indices(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(batch));
    for (std::size_t i = 0; i < pick(0, 2); ++i) indices.push_back(pick(1, 5));
    indices.push_back(depth);
    const std::vector<std::size_t> extents(data.begin() + static_cast<std::ptrdiff_t>(batch),
                                           data.begin() + static_cast<std::ptrdiff_t>(batch + depth));
    SCOPED_TRACE(to_string(data) + " at " + to_string(indices));
    const auto x = parameter(data, kTypes[round % 4]);
    const Out at = random_indices(indices, extents, round % 2 ? element::i32 : element::i64);
    judge_on(op1("GatherND", 8, {x, at}, {{"batch_dims", static_cast<std::int64_t>(batch)}}), {x});
  }
}

TEST(LowerIndexing, GatherWithBatches) {
  for (const std::int64_t batch : {1, 2}) {
    const auto x = parameter({2, 3, 5, 4});
    const Out at = random_indices({2, 3, 6}, {static_cast<std::size_t>(batch == 1 ? 5 : 4)});
    const Out node = op1("Gather", 8, {x, at, scalar_int(batch == 1 ? 2 : 3)}, {{"batch_dims", batch}});
    judge_on(node, {x});
  }
  const auto x = parameter({2, 4});
  judge_on(op1("Gather", 8, {x, random_indices({2, 1}, {4}), scalar_int(-1)}, {{"batch_dims", std::int64_t{-1}}}), {x});
}

TEST(LowerIndexing, GatherElementsAlongEveryAxis) {
  for (int round = 0; round < 24; ++round) {
    const Shape data = random_shape(pick(1, 4));
    const std::size_t axis = pick(0, data.size() - 1);
    Shape indices = data;
    if (round % 2 == 1)
      for (std::size_t& extent : indices) extent = pick(1, extent);  // They index a part of the data.
    indices[axis] = pick(1, 9);
    SCOPED_TRACE(to_string(data) + " axis " + std::to_string(axis));
    const auto x = parameter(data, kTypes[round % 4]);
    judge_on(op1("GatherElements", 6, {x, random_indices(indices, {data[axis]})},
                 {{"axis", static_cast<std::int64_t>(axis)}}),
             {x});
  }
}

TEST(LowerIndexing, ScatterNdWithEveryReduction) {
  for (const char* how : {"none", "sum", "sub", "prod", "min", "max"}) {
    for (int round = 0; round < 8; ++round) {
      const Shape data = random_shape(pick(1, 4));
      const std::size_t depth = pick(1, data.size());
      const Shape indices{pick(1, 20), depth};
      Shape updates{indices[0]};
      for (std::size_t i = depth; i < data.size(); ++i) updates.push_back(data[i]);
      SCOPED_TRACE(std::string(how) + " " + to_string(data) + " at " + to_string(indices));
      const auto x = parameter(data, kTypes[round % 4]), y = parameter(updates, kTypes[round % 4]);
      const Out at =
          random_indices(indices, {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(depth)}, element::i64);
      judge_on(op1("ScatterNDUpdate", 15, {x, at, y}, {{"reduction", std::string(how)}}), {x, y});
    }
  }
}

TEST(LowerIndexing, ScattersOfManyBytesAreSharedByWorkers) {
  for (const std::size_t length : {2, 100, 5000}) {
    const Shape data{length == 2 ? 3000u : 9u, length};
    const std::size_t count = length == 2 ? 20000 : 20;
    const auto x = parameter(data), y = parameter({count, data[1]});
    const Out at = random_indices({count, 1}, {data[0]});
    for (const char* how : {"none", "sum"})
      judge_on(op1("ScatterNDUpdate", 15, {x, at, y}, {{"reduction", std::string(how)}}), {x, y});
  }
}

TEST(LowerIndexing, ScatterInPlaceOnlyIfNothingElseReadsTheData) {
  const Out at = op::v0::Constant::create(element::i64, Shape{3, 1}, std::vector<std::int64_t>{7, 7, 0});
  const auto kernel_of = [&](bool is_read_again) {
    const auto x = parameter({40, 6}), y = parameter({3, 6});
    const Out own = op1("Exp", 1, {op1("Softmax", 8, {x}, {{"axis", std::int64_t{1}}})});
    Out made = op1("ScatterNDUpdate", 4, {own, at, y});
    if (is_read_again) made = op1("Add", 1, {op1("Softmax", 8, {made}, {{"axis", std::int64_t{1}}}), own});
    const Judged judged = judge_on(op1("Softmax", 8, {made}, {{"axis", std::int64_t{0}}}), {x, y});
    for (const auto& info : judged.infos)
      if (info.node_type == "ScatterNDUpdate") return info.kernel;
    return std::string();
  };
  EXPECT_EQ(kernel_of(false), "scatter (in place)");
  EXPECT_EQ(kernel_of(true), "scatter");
}

TEST(LowerIndexing, ScatterElementsWithEveryReduction) {
  for (const char* how : {"none", "sum", "prod", "min", "max", "mean"}) {
    for (int round = 0; round < 12; ++round) {
      const Shape data = random_shape(pick(1, 4));
      const std::size_t axis = pick(0, data.size() - 1);
      Shape indices = data;
      for (std::size_t i = 0; i < data.size(); ++i) indices[i] = i == axis ? pick(1, 9) : pick(1, data[i]);
      const element::Type type = std::string(how) == "mean" ? kTypes[round % 2] : kTypes[round % 4];
      SCOPED_TRACE(std::string(how) + " " + to_string(data) + " by " + to_string(indices) + " axis " +
                   std::to_string(axis));
      const auto x = parameter(data, type), y = parameter(indices, type);
      const Out node = op1("ScatterElementsUpdate", 12,
                           {x, random_indices(indices, {data[axis]}), y, scalar_int(static_cast<std::int64_t>(axis))},
                           {{"reduction", std::string(how)}, {"use_init_val", round % 3 != 0}});
      judge_on(node, {x, y});
    }
  }
}

TEST(LowerIndexing, ScatterUpdateAlongTheFirstAxis) {
  const auto x = parameter({1, 9, 4}), y = parameter({1, 2, 3, 4});
  judge_on(op1("ScatterUpdate", 3, {x, random_indices({2, 3}, {9}), y, scalar_int(1)}), {x, y});
}

TEST(LowerIndexing, OneHotAlongEveryAxis) {
  for (const element::Type type : kTypes) {
    for (const std::int64_t axis : {0, 1, -1}) {
      const auto x = parameter({3, 5}, element::i64);
      const Out shifted = op1("Subtract", 1, {x, scalar_int(1)});  // -1 to 1
      const auto number = [&](int value) { return op::v0::Constant::create(type, Shape{}, std::vector<int>{value}); };
      for (const char* mode : {"ignore_negative", "normalize"}) {
        const Out made = op1("OneHot", 16, {shifted, scalar_int(4), number(7), number(2)},
                             {{"axis", axis}, {"negative_indices_mode", std::string(mode)}});
        judge_on(made, {x});
      }
    }
  }
}

TEST(LowerIndexing, AnIndexOutsideIsRefused) {
  const auto x = parameter({4, 3}), y = parameter({1, 3});
  const auto message = [&](const Out& node, const ParameterVector& parameters) {
    const auto model = std::make_shared<Model>(OutputVector{node}, parameters);
    const auto plan = engine::Plan::compile(model, {});
    EXPECT_EQ(plan->reference_step_count(), 0u);
    engine::Workers workers(2);
    engine::Execution execution(plan);
    const auto inputs = random_inputs(*model);
    for (std::size_t i = 0; i < inputs.size(); ++i) execution.bind_input(i, inputs[i]);
    const Tensor out(node.get_element_type(), node.get_shape());
    execution.bind_output(0, out);
    try {
      execution.run(workers);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const Out beyond = op::v0::Constant::create(element::i64, Shape{1, 1}, std::vector<std::int64_t>{4}),
            before = op::v0::Constant::create(element::i64, Shape{1, 3}, std::vector<std::int64_t>{0, -5, 0});
  EXPECT_NE(message(op1("GatherND", 8, {x, beyond}), {x}).find("index 4 is outside an axis of 4"), std::string::npos);
  EXPECT_NE(message(op1("ScatterNDUpdate", 4, {x, beyond, y}), {x, y}).find("index 4"), std::string::npos);
  EXPECT_NE(message(op1("GatherElements", 6, {x, before}, {{"axis", std::int64_t{0}}}), {x}).find("index -5"),
            std::string::npos);
}

TEST(LowerIndexing, ValuesWithoutElementsAreNotComputed) {
  const auto x = parameter({0, 4}), y = parameter({3, 4});
  const Judged judged =
      judge(op1("Concat", 1, {op1("Transpose", 1, {op1("Transpose", 1, {x, ints({1, 0})}), ints({1, 0})}), y},
                {{"axis", std::int64_t{0}}}),
            {x, y});
  EXPECT_EQ(judged.references, 0u);
}

}  // namespace indexing_test
}  // namespace tenon::engine_test
