// SPDX-License-Identifier: Apache-2.0
// Which kernels are written for devices whose sub-groups multiply matrices. Their results: gpu_sub_groups_of_8_test, of_16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <tenon/devices/gpu/lower/lower.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>

namespace tenon::gpu_testing {
namespace sub_groups_test {

using ::testing::HasSubstr;
using ::testing::Not;

/// The kernel of a product of f32 matrices.
std::string product_text(gpu_device::Target target) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{64, 128});
  const std::vector<float> sides(128 * 64, 0.5f);
  auto y = make_node("MatMul", 1, {x, op::v0::Constant::create(element::f32, Shape{128, 64}, sides)},
                     {{"transpose_a", false}, {"transpose_b", false}}, "");
  const auto model = std::make_shared<Model>(OutputVector{y->output(0)}, ParameterVector{x}, "product");
  target.is_cpu = false;
  target.max_group = 256;
  target.local_bytes = 65536;
  gpu_device::PackedWeights weights;
  const auto plan = gpu_device::lower_model(*gpu_device::run_passes(*model, TimeLimit(0), true, target), target,
                                            weights, true, {}, TimeLimit(0));
  for (const auto& launch : plan.launches)
    if (launch->kernel->kind == "matmul") return launch->kernel->text;
  return {};
}

TEST(GpuSubGroups, MultiplyMatricesOfF16) {
  for (const std::size_t size : {8u, 16u}) {
    gpu_device::Target target;
    target.matrices = gpu_device::Target::Matrices::kIntel;
    target.sub_group = size;
    target.stores_f16 = true;
    const std::string required = "intel_reqd_sub_group_size(" + std::to_string(size) + ")";
    const std::string text = product_text(target);
    EXPECT_THAT(text, HasSubstr(required));
    EXPECT_THAT(text, HasSubstr("intel_sub_group_f16_f16_matrix_mad_k16("));
    EXPECT_THAT(text, HasSubstr("#define IMITATES_SUB_GROUPS 0"));
    target.imitates_sub_groups = true;
    EXPECT_THAT(product_text(target), Not(HasSubstr(required))) << "PoCL does not know the attribute";
    target.stores_f16 = false;
    EXPECT_THAT(product_text(target), Not(HasSubstr("SUB_GROUP"))) << "f32 is f32";
  }
}

}  // namespace sub_groups_test
}  // namespace tenon::gpu_testing
