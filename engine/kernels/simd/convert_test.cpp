// SPDX-License-Identifier: Apache-2.0
// Every pair of types against the reference kernel, with the numbers at which rules differ.
#include <tenon/engine/kernels/simd/convert.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <tenon/engine/testing/judged_models.hpp>

namespace tenon::engine_test {
namespace simd_convert_test {

const std::vector<element::Type> kTypes{element::f32, element::f64, element::f16,    element::bf16, element::i64,
                                        element::i32, element::i16, element::i8,     element::u64,  element::u32,
                                        element::u16, element::u8,  element::boolean};

TEST(Convert, EveryPairOfTypesAsTheReferenceKernel) {
  const double inf = INFINITY;
  const std::vector<double> numbers{0,     -0.0,   1,          -1,           0.5,   -0.5,  1.5,    2.5,    127.9,
                                    128,   -128.9, 255,        256,          -1e-9, 65504, 65535,  65536,  -32768.5,
                                    3e9,   -3e9,   2147483647, -2147483648., 1e19,  -1e19, 1.8e19, 9.2e18, 16777217,
                                    65519, 65520,  1e-7,       1e-30,        inf,   -inf,  NAN,    1e300,  3.14159};
  Tensor doubles(ElementType::kF64, Shape{numbers.size()});
  std::copy(numbers.begin(), numbers.end(), doubles.data<double>());
  for (const element::Type from : kTypes) {
    // As the reference kernel makes them of doubles.
    const auto base = std::make_shared<op::v0::Constant>(doubles);
    const Tensor in = evaluate_node(*make_node("Convert", 1, {base}, {{"destination_type", from}}), {doubles})[0];
    for (const element::Type to : kTypes) {
      if (from == to) continue;
      SCOPED_TRACE(from.to_string() + " to " + to.to_string());
      ASSERT_TRUE(engine::kernels::converts(from, to));
      const auto constant = std::make_shared<op::v0::Constant>(in);
      const Tensor wanted = evaluate_node(*make_node("Convert", 1, {constant}, {{"destination_type", to}}), {in})[0];
      Tensor got(to, in.shape());
      engine::kernels::convert(from, in.data(), to, got.data(), in.element_count());
      const std::size_t size = size_bytes(to);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (from.is_real() && to.is_real() && std::isnan(numbers[i])) continue;  // Which NaN is not said.
        EXPECT_EQ(0, std::memcmp(static_cast<const char*>(wanted.data()) + i * size,
                                 static_cast<const char*>(got.data()) + i * size, size))
            << numbers[i];
      }
    }
  }
}

TEST(Convert, PlansConvertWithoutTheReferenceKernel) {
  for (const element::Type type : {element::i8, element::u8, element::i64, element::boolean}) {
    const auto x = parameter({3, 5000});
    const Out narrow = op1("Convert", 1, {op1("Multiply", 1, {x, scalar(40)})}, {{"destination_type", type}});
    EXPECT_EQ(judge(op1("ConvertLike", 1, {narrow, x}), {x}).references, 0u) << type.to_string();
  }
}

}  // namespace simd_convert_test
}  // namespace tenon::engine_test
