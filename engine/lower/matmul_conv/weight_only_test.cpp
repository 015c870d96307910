// SPDX-License-Identifier: Apache-2.0
// Products with weights of 4 and 8 bits: every type, group, side and number of rows beside the reference kernels, and
// that nothing expands them in memory.
#include <algorithm>
#include <ostream>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace weight_only_test {

struct Form {
  ElementType type = ElementType::kU4;
  std::size_t rows = 1, columns = 24, depth = 128, group = 32;
  bool by_columns = true;  ///< [columns, depth], or [depth, columns].
  enum class Zero { kNone, kOne, kEach } zero = Zero::kEach;
  /// Numbers in groups are stored with three axes.
  bool grouped() const { return group != depth; }
};

std::ostream& operator<<(std::ostream& out, const Form& form) {
  return out << name(form.type) << " [" << form.rows << ", " << form.depth << "] x " << form.columns << " by "
             << form.group << (form.by_columns ? "" : ", depth first") << ", zero " << static_cast<int>(form.zero);
}

Out random_bytes(ElementType type, const Shape& shape, unsigned seed) {
  Tensor tensor(type, shape);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < tensor.size_bytes(); ++i)
    static_cast<std::uint8_t*>(tensor.data())[i] = static_cast<std::uint8_t>(random());
  return std::make_shared<op::v0::Constant>(tensor);
}
Out as_real(const Out& value) { return op1("Convert", 1, {value}, {{"destination_type", element::f32}}); }

Out weights_of(const Form& form) {
  const std::size_t groups = form.depth / form.group;
  Shape stored{form.columns, form.depth}, each{form.columns, 1};
  if (form.grouped()) stored = {form.columns, groups, form.group}, each = {form.columns, groups, 1};
  if (!form.by_columns) stored = {form.depth, form.columns}, each = {1, form.columns};
  if (!form.by_columns && form.grouped()) stored = {groups, form.group, form.columns}, each = {groups, 1, form.columns};
  Out value = as_real(random_bytes(form.type, stored, 11));
  if (form.zero != Form::Zero::kNone) {
    const Out zero = random_bytes(form.type, form.zero == Form::Zero::kOne ? Shape{} : each, 12);
    value = op1("Subtract", 1, {value, as_real(zero)});
  }
  value = op1("Multiply", 1, {value, weights(each, 13, 0.02f)});
  if (!form.grouped()) return value;
  const std::vector<std::int64_t> flat = form.by_columns
                                             ? std::vector<std::int64_t>{static_cast<std::int64_t>(form.columns), -1}
                                             : std::vector<std::int64_t>{-1, static_cast<std::int64_t>(form.columns)};
  return op1("Reshape", 1, {value, ints(flat)}, {{"special_zero", false}});
}

std::shared_ptr<Model> product_of(const Form& form, bool has_bias = false) {
  const auto x = parameter({form.rows, form.depth});
  Out y = op1("MatMul", 1, {x, weights_of(form)}, {{"transpose_a", false}, {"transpose_b", form.by_columns}});
  if (has_bias) y = op1("Add", 1, {weights({form.columns}, 14, 0.5f), y});
  return std::make_shared<Model>(OutputVector{op1("Relu", 1, {y})}, ParameterVector{x}, "few bits");
}

class WeightOnly : public ::testing::TestWithParam<Form> {};

TEST_P(WeightOnly, AgreeWithTheReferenceAndStayPacked) {
  for (const bool has_bias : {false, true}) {
    const Judged judged = judge(product_of(GetParam(), has_bias));
    EXPECT_EQ(judged.references, 0u);
    EXPECT_FALSE(judged.ran("Add"));
    const std::string expected = GetParam().rows > 16              ? "expand"
                                 : bit_width(GetParam().type) == 4 ? "4-bit weights"
                                                                   : "8-bit weights";
    bool found = false;
    for (const auto& info : judged.infos) found |= info.kernel == expected;
    EXPECT_TRUE(found) << expected;
    EXPECT_FALSE(judged.ran("Multiply"));
  }
}

std::vector<Form> forms() {
  using Zero = Form::Zero;
  std::vector<Form> all;
  for (const auto type : {ElementType::kU4, ElementType::kI4, ElementType::kU8, ElementType::kI8})
    for (const bool by_columns : {true, false})
      for (const std::size_t group : {128, 64, 32, 16, 8})
        all.push_back({type, 1, 24, 128, group, by_columns, Zero::kEach});
  // In whole vectors of 128 and not; one group to a vector, several, and several vectors to a group.
  for (const auto type : {ElementType::kU4, ElementType::kI4, ElementType::kNf4})
    for (const std::size_t depth : {512, 192})
      for (const std::size_t group : {depth, depth / 2, std::size_t{64}, std::size_t{8}})
        for (const std::size_t rows : {1, 2, 3, 7})
          for (const Zero zero : {Zero::kNone, Zero::kOne, Zero::kEach})
            all.push_back({type, rows, 23, depth, group, true, zero});
  // Panels of columns, whole and not, of every type; and blocks of panels.
  for (const auto type : {ElementType::kU4, ElementType::kI4, ElementType::kU8, ElementType::kI8})
    for (const std::size_t group : {256, 64, 32})
      for (const Zero zero : {Zero::kNone, Zero::kOne, Zero::kEach})
        all.push_back({type, 15, 101, 256, group, true, zero});
  all.push_back({ElementType::kU4, 6, 4500, 512, 64, true, Zero::kEach});
  for (const std::size_t rows : {1, 20}) all.push_back({ElementType::kNf4, rows, 24, 128, 32, false, Zero::kNone});
  // One to three rows, whole fours of them with a rest, and more than the kernel takes; columns with a rest.
  for (const auto type : {ElementType::kI4, ElementType::kU8})
    for (const std::size_t rows : {2, 3, 7, 16, 17, 40})
      for (const Zero zero : {Zero::kNone, Zero::kOne, Zero::kEach})
        all.push_back({type, rows, 23, 96, 32, true, zero});
  // Runs of columns and blocks of expanded ones end within the matrix.
  all.push_back({ElementType::kU4, 5, 301, 1024, 32, true, Zero::kEach});
  all.push_back({ElementType::kU4, 20, 3301, 1024, 128, true, Zero::kNone});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Forms, WeightOnly, ::testing::ValuesIn(forms()));

/// Runs the model with x rounded by so many neighbours; `kernel` gets the name of the product's kernel.
Tensor rounded(const std::shared_ptr<Model>& model, const Tensor& x, std::string& kernel, std::size_t neighbours = 32) {
  engine::Options options;
  options.threads = 2;
  options.dynamic_quantization = neighbours;
  const auto plan = engine::Plan::compile(model, options);
  for (const auto& info : plan->steps())
    if (info.node_type == "MatMul") kernel = info.kernel;
  engine::Workers workers(2);
  engine::Execution execution(plan);
  Tensor y(ElementType::kF32, model->output(0).get_shape());
  execution.bind_input(0, x);
  execution.bind_output(0, y);
  EXPECT_TRUE(execution.run(workers));
  return y;
}

TEST_P(WeightOnly, RowsThatEightBitsHoldAreExactRounded) {
  const auto model = product_of(GetParam(), true);
  Tensor x = random_tensor(ElementType::kF32, {GetParam().rows, GetParam().depth}, 3);
  for (std::size_t i = 0; i < x.element_count(); ++i)
    x.data<float>()[i] = i % 32 == 5 ? 127.f : std::clamp(std::nearbyint(x.data<float>()[i] * 50), -127.f, 127.f);
  const Tensor wanted = evaluate(*model, {x})[0];
  for (const std::size_t neighbours : {32, 128}) {
    std::string kernel;
    const Tensor got = rounded(model, x, kernel, neighbours);
    expect_close(wanted, got, kernel);
  }
}

/// The setting has an effect: another kernel, and results that are near, but others.
TEST(WeightOnly, RoundingIsSeen) {
  const Form form{ElementType::kI4, 3, 24, 128, 32, true, Form::Zero::kNone};
  const auto model = product_of(form);
  const Tensor x = random_tensor(ElementType::kF32, {form.rows, form.depth}, 3);
  std::string kernel;
  const Tensor wanted = evaluate(*model, {x})[0], got = rounded(model, x, kernel);
  if (kernel != "4-bit weights, rounded") GTEST_SKIP() << "this CPU has no AVX512_VNNI: " << kernel;
  expect_close(wanted, got, kernel, 0.01);
  EXPECT_NE(0, std::memcmp(wanted.data(), got.data(), wanted.size_bytes()));
}

TEST(WeightOnly, WhatIsNotFiniteStaysSoRounded) {
  const Form form{ElementType::kU4, 1, 24, 128, 32, true, Form::Zero::kEach};
  for (const float odd : {INFINITY, -INFINITY, NAN})
    for (const std::size_t rows : {1, 5}) {
      Tensor x = random_tensor(ElementType::kF32, {rows, form.depth}, 3);
      x.data<float>()[40] = odd;
      std::string kernel;
      const auto y = op1("MatMul", 1, {parameter({rows, form.depth}), weights_of(form)},
                         {{"transpose_a", false}, {"transpose_b", true}});
      const auto input = as_type_ptr<op::v0::Parameter>(y.get_node()->get_input_node_shared_ptr(0));
      const Tensor got = rounded(std::make_shared<Model>(OutputVector{y}, ParameterVector{input}, "odd"), x, kernel);
      for (std::size_t n = 0; n < form.columns; ++n)
        EXPECT_FALSE(std::isfinite(got.data<float>()[n])) << odd << " " << n;
    }
}

/// A bias that others add to, or that is none: the product's own value is wanted.
TEST(WeightOnly, SumsThatAreNoBias) {
  const Form form{ElementType::kU4, 3, 24, 128, 64, true, Form::Zero::kEach};
  const auto x = parameter({form.rows, form.depth});
  const Out y = op1("MatMul", 1, {x, weights_of(form)}, {{"transpose_a", false}, {"transpose_b", true}});
  const Out sum = op1("Add", 1, {y, weights({form.columns}, 14, 0.5f)});
  judge(std::make_shared<Model>(OutputVector{sum, op1("Relu", 1, {y})}, ParameterVector{x}, "both"));
  judge(op1("Add", 1, {y, weights({form.rows, 1}, 14, 0.5f)}), {x});
  judge(op1("Add", 1, {y, weights({2, form.rows, form.columns}, 14, 0.5f)}), {x});
  judge(op1("Subtract", 1, {y, weights({form.columns}, 14, 0.5f)}), {x});
}

/// Groups for which there is no kernel are expanded, as before.
TEST(WeightOnly, OddGroupsAreExpanded) {
  judge(product_of({ElementType::kU4, 2, 6, 30, 10, true, Form::Zero::kEach}));
  judge(product_of({ElementType::kI8, 2, 6, 21, 7, true, Form::Zero::kEach}));
}

/// Weights that are rounded to integers on their way are no weights of few bits.
TEST(WeightOnly, ConversionsThatRoundAreKept) {
  const Form form{ElementType::kU4, 3, 24, 64, 64, true, Form::Zero::kNone};
  const auto x = parameter({form.rows, form.depth});
  const Out integers = op1("Convert", 1, {weights_of(form)}, {{"destination_type", element::i32}});
  judge(op1("MatMul", 1, {x, as_real(integers)}, {{"transpose_a", false}, {"transpose_b", true}}), {x});
}

/// What others read too is computed for them.
TEST(WeightOnly, WeightsThatAreReadTwice) {
  const Form form{ElementType::kU4, 3, 24, 64, 32, true, Form::Zero::kEach};
  const Out expanded = weights_of(form);
  const auto x = parameter({form.rows, form.depth}), z = parameter({form.columns, form.depth});
  const auto product = [&](const Out& left) {
    return op1("MatMul", 1, {left, expanded}, {{"transpose_a", false}, {"transpose_b", true}});
  };
  judge(std::make_shared<Model>(OutputVector{product(x), product(op1("Relu", 1, {x}))}, ParameterVector{x}, "two"));
  judge(std::make_shared<Model>(OutputVector{product(x), op1("Add", 1, {expanded, z})}, ParameterVector{x, z}, "also"));
}

}  // namespace weight_only_test
}  // namespace tenon::engine_test
