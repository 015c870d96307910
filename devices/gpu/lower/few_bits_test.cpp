// SPDX-License-Identifier: Apache-2.0
// Which weights of few bits products find in a model after its passes.
#include <tenon/devices/gpu/lower/build/few_bits.hpp>

#include <cstdint>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/testing/judge.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon {
namespace few_bits_test {

using namespace gpu_device::testing;

/// What the passes leave of weights [24, 256 / group, group], which are expanded in `type`.
std::optional<gpu_device::FewBits> found(const element::Type& numbers, std::size_t group, const element::Type& type,
                                         std::size_t rows = 24) {
  const std::size_t groups = 256 / group;
  const auto expanded = [&](const Shape& shape, unsigned seed) {
    return outputs("Convert", 1, {std::make_shared<op::v0::Constant>(random_tensor(numbers, shape, seed))},
                   {{"destination_type", type}})[0];
  };
  const Out scales = std::make_shared<op::v0::Constant>(random_tensor(type, {rows, groups, 1}, 3))->output(0);
  Out value = outputs("Subtract", 1, {expanded({rows, groups, group}, 1), expanded({rows, groups, 1}, 2)})[0];
  value = outputs("Multiply", 1, {value, scales})[0];
  value = outputs("Reshape", 1, {value, ints({static_cast<std::int64_t>(rows), 256})}, {{"special_zero", false}})[0];
  if (type != element::f32) value = outputs("Convert", 1, {value}, {{"destination_type", element::f32}})[0];
  const auto x = parameter({1, 256});
  const Model model(outputs("MatMul", 0, {x, value}, {{"transpose_a", false}, {"transpose_b", true}}), {x}, "few");
  gpu_device::Target target;
  target.max_group = 256;
  target.local_bytes = std::size_t{48} << 10;
  const auto prepared = gpu_device::run_passes(model, TimeLimit(0), true, target);
  for (const auto& node : prepared->get_ordered_ops())
    if (is_op(node, "MatMul")) return gpu_device::few_bits_of(*node);
  return std::nullopt;
}

TEST(GpuFewBits, AreFoundInWhateverTypeTheyAreExpanded) {
  for (const auto& numbers : {element::u4, element::i4, element::nf4, element::u8, element::i8}) {
    for (const auto& type : {element::f32, element::f16}) {
      for (const std::size_t group : {32u, 64u, 128u}) {
        const auto few = found(numbers, group, type);
        ASSERT_TRUE(few) << numbers << " in groups of " << group << " by " << type;
        EXPECT_EQ(few->numbers.element_type(), static_cast<ElementType>(numbers));
        EXPECT_EQ(few->groups, 256 / group);
        ASSERT_TRUE(few->zero_points);
        EXPECT_EQ(few->zero_points.element_type(), ElementType::kF32);
      }
    }
  }
  EXPECT_TRUE(found(element::u4, 64, element::f16, 5000)) << "larger than what is folded without need";
}

}  // namespace few_bits_test
}  // namespace tenon
