// SPDX-License-Identifier: Apache-2.0
// Chooses tiles.
#include <tenon/devices/gpu/lower/matrix.hpp>

#include <algorithm>
#include <string>
#include <vector>

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

}  // namespace

void define_tiles(Kernel& kernel, const MatrixTiles& tiles, const Target& target) {
  const ElementType type = target.reals();
  const auto define = [&](const char* name, std::size_t value) { kernel.define(name, signed_of(value)); };
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

namespace {

/// A way to compute a product.
struct MatrixWay {
  MatrixTiles tiles;
  std::size_t splits = 1;
  std::string name() const {
    return std::to_string(tiles.m) + "x" + std::to_string(tiles.n) + " by " + std::to_string(tiles.warps_m) + "x" +
           std::to_string(tiles.warps_n) + " in " + std::to_string(tiles.stages) + " slots, " + std::to_string(splits) +
           " groups";
  }
};

/// What a tuner may try: the rules' way first, and others that neither leave most units idle nor compute mostly nothing.
std::vector<MatrixWay> matrix_ways(const MatrixProduct& product, const Target& target) {
  static constexpr MatrixTiles kTiles[] = {{128, 128, 4, 2, 3}, {128, 64, 4, 1, 2}, {128, 64, 4, 2, 3},
                                           {64, 128, 2, 2, 3},  {64, 64, 2, 2, 3},  {64, 32, 2, 1, 4},
                                           {32, 64, 2, 2, 4},   {32, 32, 2, 1, 4},  {16, 64, 1, 2, 4}};
  const MatrixTiles rule = matrix_tiles_for(product, target);
  std::vector<MatrixWay> ways{{rule, splits_for(product, rule, target)}};
  const std::size_t step = step_of(target.reals()), steps = (product.k + step - 1) / step;
  const auto add = [&](const MatrixWay& way) {
    const auto same = [&](const MatrixWay& other) { return other.name() == way.name(); };
    if (std::none_of(ways.begin(), ways.end(), same)) ways.push_back(way);
  };
  for (const MatrixTiles& tiles : kTiles) {
    const std::size_t groups = tiles.groups(product);
    if (tiles.local_bytes() > target.local_bytes || tiles.lanes() > target.max_group) continue;
    if (tiles.m > 2 * product.m && tiles.m > 16) continue;
    if (tiles.n > 2 * product.n && tiles.n > 32) continue;
    for (const std::size_t splits : {1, 2, 4, 8}) {
      if (splits > 1 && (groups * splits > 4 * target.compute_units || steps / splits < 2)) continue;
      if (groups * splits * 4 < target.compute_units && splits < 8 && steps / splits >= 4) continue;
      add({tiles, splits});
    }
  }
  return ways;
}

Kernel matrix_kernel(Builder& builder, Kernel kernel, const MatrixProduct& product, const MatrixWay& way) {
  const auto& [tiles, splits] = way;
  define_tiles(kernel, tiles, builder.target());
  kernel.number("M", signed_of(product.m))
      .number("N", signed_of(product.n))
      .number("K", signed_of(product.k))
      .number("RESULTS", signed_of(product.m * product.n * product.batch))
      .define("IS_WIDE", product.n % kChunk == 0 ? 1 : 0)
      .define("SPLITS", signed_of(splits));
  if (splits > 1) {
    const std::size_t groups = tiles.groups(product);
    kernel.uses("PARTS", builder.scratch(ElementType::kF32, {groups, splits, tiles.m, tiles.n}))
        .uses("COUNTERS", builder.counters(groups));
  }
  kernel.text(kernels::matrix);
  kernel.over({(product.n + tiles.n - 1) / tiles.n * tiles.lanes(), (product.m + tiles.m - 1) / tiles.m,
               product.batch * splits},
              {tiles.lanes(), 1, 1});
  return kernel;
}

}  // namespace

void launch_matrix(Builder& builder, const Node& node, const Kernel& kernel, const MatrixProduct& product,
                   const std::string& how) {
  const Target& target = builder.target();
  std::vector<Candidate> candidates;
  for (const MatrixWay& way : matrix_ways(product, target))
    candidates.push_back(
        {way.name(), [&builder, &kernel, product, way] { return matrix_kernel(builder, kernel, product, way); }});
  const std::string type(name(target.reals()));
  builder.launch_best(node, "matrix " + type + " " + product.text() + ", " + how, candidates);
}

}  // namespace tenon::inline v1::gpu_device
