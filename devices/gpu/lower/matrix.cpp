// SPDX-License-Identifier: Apache-2.0
// Chooses tiles.
#include <tenon/devices/gpu/lower/matrix.hpp>

#include <algorithm>
#include <string>

#include <tenon/devices/gpu/kernels.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Tiles of four warps that multiply as one. Of narrow ones a unit has several groups, which wait in turns.
constexpr MatrixTiles kLargeWarpgroup{128, 128, 4, 1, 3, 64, true}, kWarpgroup{64, 64, 4, 1, 3, 128, true},
    kNarrowWarpgroup{64, 32, 4, 1, 4, 128, true};

/// So many groups share a tile that every unit has work, and each has enough steps.
std::size_t splits_for(const MatrixProduct& product, const MatrixTiles& tiles, const Target& target) {
  const std::size_t step = tiles.row_bytes / size_bytes(target.reals()), steps = (product.k + step - 1) / step,
                    groups = tiles.groups(product), least = tiles.has_warpgroups && tiles.n == 32 ? 12 : 4;
  return std::clamp<std::size_t>(std::min(2 * target.compute_units / groups, steps / least), 1, 8);
}

/// Large tiles read less, small ones give every unit work. Measured on H100 and H200 with the layers of ResNet-50, U-Net,
/// YOLOv8 and ViT-B/16.
MatrixTiles matrix_tiles_for(const MatrixProduct& product, const Target& target) {
  const std::size_t units = target.compute_units;
  const auto suits = [&](const MatrixTiles& tiles, std::size_t groups) {
    return product.n > tiles.n / 2 && tiles.groups(product) >= groups && tiles.local_bytes() <= target.local_bytes;
  };
  if (target.has_warpgroups && target.stores_f16) {
    const auto splits = [&](const MatrixTiles& tiles) { return splits_for(product, tiles, target); };
    if (suits(kLargeWarpgroup, units * 5 / 4)) return kLargeWarpgroup;
    if (kWarpgroup.groups(product) < units * 7 / 4 && suits(kNarrowWarpgroup, units * 2 / 3 / splits(kNarrowWarpgroup)))
      return kNarrowWarpgroup;
    if (suits(kWarpgroup, units / splits(kWarpgroup))) return kWarpgroup;
  }
  static constexpr MatrixTiles kLarge[] = {{128, 64, 4, 1, 2}, {64, 64, 2, 2, 3}};
  for (const MatrixTiles& tiles : kLarge)
    if (suits(tiles, 2 * units)) return tiles;
  MatrixTiles tiles = product.n > 32 ? MatrixTiles{32, 64, 2, 2, 4} : MatrixTiles{32, 32, 2, 1, 4};
  while (tiles.local_bytes() > target.local_bytes && tiles.stages > 2) --tiles.stages;
  return tiles;
}

std::int64_t signed_number(std::size_t value) { return static_cast<std::int64_t>(value); }

/// What multiplies tiles, and which rows a warp has.
void define_multiply(Kernel& kernel, const MatrixTiles& tiles, ElementType type) {
  if (tiles.has_warpgroups) {
    kernel.define("WARP_ROW", "((warp >> 2) * PARTS_M * 64 + (warp & 3) * 16)").define("PART_ROWS", 64);
    kernel.define("COPIES_READY()", "TO_TENSOR_CORES()")
        .define("MULTIPLY_WARPGROUP(to, a, b)", "WARPGROUP_" + std::to_string(tiles.n) + "(to, a, b)")
        .define("MULTIPLY_BEGIN(sum, left, right)", "MULTIPLY_WARPGROUPS_BEGIN(sum, left, right)")
        .define("MULTIPLY(sum, left, right)", "MULTIPLY_WARPGROUPS_END(sum, left, right)");
    return;
  }
  kernel.define("WARP_ROW", "(warp % WARPS_M * (TILE_M / WARPS_M))").define("PART_ROWS", 16);
  kernel.define("COPIES_READY()", "").define("MULTIPLY_BEGIN(sum, left, right)", "");
  kernel.define("MULTIPLY(sum, left, right)", (type == ElementType::kF32 ? "MULTIPLY_TILES_F32" : "MULTIPLY_TILES") +
                                                  std::string("(sum, left, right)"));
}

}  // namespace

void define_tiles(Kernel& kernel, const MatrixTiles& tiles, const Target& target) {
  const ElementType type = target.reals();
  const auto define = [&](const char* name, std::size_t value) { kernel.define(name, signed_number(value)); };
  define("TILE_M", tiles.m);
  define("TILE_N", tiles.n);
  define("WARPS_M", tiles.warps_m);
  define("WARPS_N", tiles.warps_n);
  define("STAGES", tiles.stages);
  define("STEP", tiles.row_bytes / size_bytes(type));
  define("ROW_BYTES", tiles.row_bytes);
  define("PER_CHUNK", 16 / size_bytes(type));
  define("LANES", tiles.lanes());
  define("WARP_N", tiles.n / tiles.warps_n);
  define("PARTS_M", tiles.m / tiles.warps_m / 16);
  define("PARTS_N", tiles.n / tiles.warps_n / 8);
  define("CHUNKS", tiles.row_bytes / 16);
  define("ROWS_AT_ONCE", tiles.lanes() / (tiles.row_bytes / 16));
  define("SLOT_BYTES", (tiles.m + tiles.n) * tiles.row_bytes);
  define("OUT_ROW", tiles.n + 4);
  define("OUT_ROWS", tiles.out_rows());
  // Chunks of neighbouring rows lie in different banks, in the patterns that warpgroups read.
  kernel.define("PLACE(row, chunk)", tiles.row_bytes == 128 ? "((row) * 128 + (((chunk) ^ ((row) & 7)) << 4))"
                                                            : "((row) * 64 + (((chunk) ^ ((row) >> 1 & 3)) << 4))");
  kernel.define("STORED", storage_name(type));
  define_multiply(kernel, tiles, type);
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
