// SPDX-License-Identifier: Apache-2.0
// Other shapes of tensors where they lie, and images that become rows of tokens and images again.
#include <numeric>
#include <random>

#include <tenon/engine/lower/strides.hpp>
#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace {

/// Where in memory each element lies, in row-major order of `shape`.
std::vector<std::int64_t> places(const Shape& shape, const std::vector<std::int64_t>& strides) {
  std::vector<std::int64_t> found{0};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<std::int64_t> next;
    for (const auto at : found)
      for (std::size_t i = 0; i < shape[axis]; ++i) next.push_back(at + static_cast<std::int64_t>(i) * strides[axis]);
    found = std::move(next);
  }
  return found;
}

/// The same elements as so many axes.
Shape random_split(std::size_t count, std::mt19937& random) {
  Shape shape;
  while (count > 1) {
    std::size_t extent = 1 + random() % count;
    while (count % extent) ++extent;
    shape.push_back(extent);
    count /= extent;
  }
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(random() % (shape.size() + 1)), 1);
  return shape;
}

TEST(Reshaped, SeesTheSameElementsInTheSameOrder) {
  std::mt19937 random(3);
  std::size_t seen = 0;
  for (int i = 0; i < 2000; ++i) {
    Shape shape{1 + random() % 3, 2 * (1 + random() % 3), 1 + random() % 4, 1 + random() % 4};
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    dnnl::memory::dims strides(shape.size());
    std::int64_t step = 1;
    for (const auto axis : order) strides[axis] = step, step *= static_cast<std::int64_t>(shape[axis]);
    const dnnl::memory::desc desc(engine::to_dims(shape), dnnl::memory::data_type::f32, strides);
    const Shape wanted =
        random() % 2 ? random_split(element_count(shape), random) : Shape{shape[0], shape[1], shape[2] * shape[3]};
    const auto made = engine::reshaped(desc, wanted);
    if (made.get_ndims() == 0) continue;
    ++seen;
    ASSERT_EQ(places(shape, strides), places(wanted, made.get_strides()))
        << to_string(shape) << " as " << to_string(wanted);
  }
  EXPECT_GT(seen, 200u);
}

TEST(Reshaped, RefusesWhatItCannotSee) {
  using dims = dnnl::memory::dims;
  constexpr auto kF32 = dnnl::memory::data_type::f32;
  // Channels last, all as one row.
  EXPECT_EQ(engine::reshaped({dims{1, 3, 2, 2}, kF32, dims{12, 1, 6, 3}}, {12}).get_ndims(), 0);
  // Rows with room between them.
  EXPECT_EQ(engine::reshaped({dims{4, 3}, kF32, dims{5, 1}}, {12}).get_ndims(), 0);
  EXPECT_EQ(engine::reshaped({}, {12}).get_ndims(), 0);
}

TEST(Images, BecomeTokensAndImagesAgainWhereTheyLie) {
  const auto x = parameter({1, 16, 6, 5});
  const Out features = convolution(x, 32, 3, 1, 1);
  const Out row = op1("Reshape", 1, {features, ints({1, 32, -1})}, {{"special_zero", false}});
  Out tokens = op1("Transpose", 1, {row, ints({0, 2, 1})});
  tokens =
      op1("MatMul", 1, {op1("Tanh", 1, {tokens}), weights({32, 32})}, {{"transpose_a", false}, {"transpose_b", false}});
  const Out back = op1("Transpose", 1, {tokens, ints({0, 2, 1})});
  const Out image = op1("Reshape", 1, {back, ints({1, 32, 6, 5})}, {{"special_zero", false}});
  const auto model = std::make_shared<Model>(OutputVector{convolution(image, 16, 3, 1, 1, 9)}, ParameterVector{x});
  judge(model);
  engine::Options options;
  options.images = engine::Options::Images::kChannelsLast;
  std::size_t moves = 0;
  for (const auto& info : engine::Plan::compile(model, options)->steps())
    moves += info.node_type == "Transpose" || info.node_type == "Reorder";
  EXPECT_LE(moves, 2u) << "of the input and the output";
}

}  // namespace
}  // namespace tenon::engine_test
