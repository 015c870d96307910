// SPDX-License-Identifier: Apache-2.0
// Chooses tiles.
#include <tenon/devices/gpu/lower/matrix.hpp>

#include <algorithm>
#include <string>

#include <tenon/devices/gpu/kernels.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

std::size_t step_of(ElementType type) { return kRowBytes / size_bytes(type); }

/// Large tiles read less, small ones give every unit work. Measured on H100 and H200 with the layers of ResNet-50.
MatrixTiles matrix_tiles_for(const MatrixProduct& product, const Target& target) {
  static constexpr MatrixTiles kLarge[] = {{128, 64, 4, 1, 2}, {64, 64, 2, 2, 3}};
  for (const MatrixTiles& tiles : kLarge)
    if (product.n > tiles.n / 2 && tiles.groups(product) >= 2 * target.compute_units &&
        tiles.local_bytes() <= target.local_bytes)
      return tiles;
  MatrixTiles tiles = product.n > 32 ? MatrixTiles{32, 64, 2, 2, 4} : MatrixTiles{32, 32, 2, 1, 4};
  while (tiles.local_bytes() > target.local_bytes && tiles.stages > 2) --tiles.stages;
  return tiles;
}

/// So many groups share a tile that every unit has work, and each has at least 4 steps.
std::size_t splits_for(const MatrixProduct& product, const MatrixTiles& tiles, const Target& target) {
  const std::size_t step = step_of(target.reals()), steps = (product.k + step - 1) / step,
                    groups = tiles.groups(product);
  return std::clamp<std::size_t>(std::min(2 * target.compute_units / groups, steps / 4), 1, 8);
}

std::int64_t signed_number(std::size_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

void define_tiles(Kernel& kernel, const MatrixTiles& tiles, const Target& target) {
  const ElementType type = target.reals();
  const auto define = [&](const char* name, std::size_t value) { kernel.define(name, signed_number(value)); };
  define("TILE_M", tiles.m);
  define("TILE_N", tiles.n);
  define("WARPS_M", tiles.warps_m);
  define("WARPS_N", tiles.warps_n);
  define("STAGES", tiles.stages);
  define("STEP", step_of(type));
  define("PER_CHUNK", 16 / size_bytes(type));
  define("LANES", tiles.lanes());
  define("WARP_M", tiles.m / tiles.warps_m);
  define("WARP_N", tiles.n / tiles.warps_n);
  define("PARTS_M", tiles.m / tiles.warps_m / 16);
  define("PARTS_N", tiles.n / tiles.warps_n / 8);
  define("CHUNKS", kRowBytes / 16);
  define("ROWS_AT_ONCE", tiles.lanes() / (kRowBytes / 16));
  define("SLOT_BYTES", (tiles.m + tiles.n) * kRowBytes);
  define("OUT_ROW", tiles.n + 4);
  // Chunks of neighbouring rows lie in different banks.
  kernel.define("PLACE(row, chunk)", "((row) * 128 + (((chunk) ^ ((row) & 7)) << 4))");
  kernel.define("STORED", storage_name(type));
  kernel.define("MULTIPLY(sum, left, right)", (type == ElementType::kF32 ? "MULTIPLY_TILES_F32" : "MULTIPLY_TILES") +
                                                  std::string("(sum, left, right)"));
  kernel.text(kernels::matrix_f32)
      .text(target.matrices == Target::Matrices::kNvidia ? kernels::matrix_nvidia : kernels::matrix_portable);
}

void launch_matrix(Builder& builder, const Node& node, Kernel kernel, const MatrixProduct& product) {
  const Target& target = builder.target();
  const MatrixTiles tiles = matrix_tiles_for(product, target);
  const std::size_t splits = splits_for(product, tiles, target);
  define_tiles(kernel, tiles, target);
  kernel.number("M", signed_number(product.m))
      .number("N", signed_number(product.n))
      .number("K", signed_number(product.k))
      .number("RESULTS", signed_number(product.m * product.n * product.batch))
      .define("IS_WIDE", product.n % kChunk == 0 ? 1 : 0)
      .define("SPLITS", signed_number(splits));
  if (splits > 1) {
    const std::size_t groups = tiles.groups(product);
    kernel.uses("PARTS", builder.scratch(ElementType::kF32, {groups, splits, tiles.m, tiles.n}))
        .uses("COUNTERS", builder.counters(groups));
  }
  kernel.text(kernels::matrix);
  kernel.over({(product.n + tiles.n - 1) / tiles.n * tiles.lanes(), (product.m + tiles.m - 1) / tiles.m,
               product.batch * splits},
              {tiles.lanes(), 1, 1});
  builder.launch(kernel, node);
}

}  // namespace tenon::inline v1::gpu_device
