// SPDX-License-Identifier: Apache-2.0
// Chooses tiles.
#include <tenon/devices/gpu/lower/matrix.hpp>

#include <tenon/devices/gpu/kernels.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

struct MatrixTiles {
  std::size_t m, n, warps_m, warps_n, stages;
  std::size_t groups(const MatrixProduct& product) const {
    return (product.m + m - 1) / m * ((product.n + n - 1) / n) * product.batch;
  }
};

/// Large tiles read less, small ones give every unit work. Measured on H100 and H200 with the layers of ResNet-50.
MatrixTiles matrix_tiles_for(const MatrixProduct& product, const Target& target) {
  static constexpr MatrixTiles kAll[] = {{128, 64, 4, 1, 2}, {64, 64, 2, 2, 3}};
  for (const MatrixTiles& tiles : kAll)
    if (product.n > tiles.n / 2 && tiles.groups(product) >= 2 * target.compute_units) return tiles;
  static constexpr MatrixTiles kWide{32, 64, 2, 2, 4}, kSmall{32, 32, 2, 1, 4};
  if (product.n > 32 && kWide.groups(product) * 2 >= target.compute_units) return kWide;
  return kSmall;
}

constexpr std::size_t kStep = 64;

}  // namespace

void launch_matrix(Builder& builder, const Node& node, Kernel kernel, const MatrixProduct& product) {
  const Target& target = builder.target();
  const MatrixTiles tiles = matrix_tiles_for(product, target);
  const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  kernel.number("M", number(product.m)).number("N", number(product.n)).number("K", number(product.k));
  kernel.define("TILE_M", number(tiles.m))
      .define("TILE_N", number(tiles.n))
      .define("WARPS_M", number(tiles.warps_m))
      .define("WARPS_N", number(tiles.warps_n))
      .define("STAGES", number(tiles.stages))
      .define("STEP", number(kStep))
      .define("IS_WIDE", product.n % kChunk == 0 ? 1 : 0);
  kernel.text(target.matrices == Target::Matrices::kNvidia ? kernels::matrix_nvidia : kernels::matrix_portable);
  kernel.text(kernels::matrix);
  const std::size_t lanes = 32 * tiles.warps_m * tiles.warps_n;
  kernel.over({(product.n + tiles.n - 1) / tiles.n * lanes, (product.m + tiles.m - 1) / tiles.m, product.batch},
              {lanes, 1, 1});
  builder.launch(kernel, node);
}

}  // namespace tenon::inline v1::gpu_device
