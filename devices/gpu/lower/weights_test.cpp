// SPDX-License-Identifier: Apache-2.0
// Constants as kernels read them.
#include <tenon/devices/gpu/lower/build/weights.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/graph/ops.hpp>

namespace tenon::gpu_testing {
namespace weights_test {

/// Every 4099th bit pattern, and what lies about the ends of f16's ranges.
std::vector<float> any_reals() {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits <= std::numeric_limits<std::uint32_t>::max(); bits += 4099)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (const std::uint32_t edge : {0u, 0x33000000u, 0x38800000u, 0x477ff000u, 0x7f800000u})
    for (std::uint32_t near = 0; near < 5; ++near)
      for (const std::uint32_t sign : {0u, 0x80000000u})
        values.push_back(std::bit_cast<float>((edge + near - 2) ^ sign));
  return values;
}

struct Sides {
  std::size_t n, k;
  bool is_transposed;
};

TEST(PackedWeights, RightSidesAreRowsOfRoundedReals) {
  const std::vector<float> values = any_reals();
  for (const ElementType type : {ElementType::kF16, ElementType::kF32}) {
    for (const auto& [n, k, is_transposed] :
         {Sides{129, 67, false}, {129, 67, true}, {1100, 525, false}, {1100, 525, true}}) {
      const std::size_t wide = (k + 7) / 8 * 8, batches = values.size() / (n * k);
      Tensor sides(ElementType::kF32, is_transposed ? Shape{batches, n, k} : Shape{batches, k, n});
      std::memcpy(sides.data(), values.data(), sides.size_bytes());
      const Tensor packed = gpu_device::pack_right_sides(sides, type, is_transposed);
      ASSERT_EQ(packed.shape(), (Shape{batches, n, wide}));
      std::vector<float> wanted(batches * n * wide);
      for (std::size_t batch = 0; batch < batches; ++batch)
        for (std::size_t row = 0; row < n; ++row)
          for (std::size_t at = 0; at < k; ++at)
            wanted[(batch * n + row) * wide + at] =
                values[batch * n * k + (is_transposed ? row * k + at : at * n + row)];
      const auto rounded = op::v0::Constant::create(type, packed.shape(), wanted);
      if (type == ElementType::kF16) {
        EXPECT_EQ(std::memcmp(packed.data(), rounded->get_data_ptr(), packed.size_bytes()), 0) << is_transposed;
      } else {
        EXPECT_EQ(std::memcmp(packed.data(), wanted.data(), packed.size_bytes()), 0) << is_transposed;
      }
    }
  }
}

}  // namespace weights_test
}  // namespace tenon::gpu_testing
