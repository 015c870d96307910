// SPDX-License-Identifier: Apache-2.0
// Chooses tiles.
#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Tiles of four warps that multiply as one: large, small, narrow. A compute unit holds several groups of narrow ones, which wait in
/// turns.
constexpr MatrixTiles kWarpgroups[] = {
    {128, 128, 4, 1, 3, 64, true}, {64, 64, 4, 1, 3, 128, true}, {64, 32, 4, 1, 4, 128, true}};

/// Tiles for f32 that is multiplied in parts, the best first.
constexpr MatrixTiles kInParts[] = {{64, 64, 2, 2, 4, 64, false, true}, {128, 64, 2, 2, 4, 64, false, true},
                                    {64, 64, 2, 2, 6, 64, false, true}, {64, 32, 2, 2, 4, 64, false, true},
                                    {32, 64, 1, 4, 6, 64, false, true}, {32, 32, 2, 2, 6, 64, false, true}};

/// Whether numbers of f32 may be multiplied in parts.
bool takes_parts(const Target& target, ElementType type) {
  return target.matrices == Target::Matrices::kNvidia && type == ElementType::kF32;
}

/// Whether four warps may multiply as one.
bool takes_warpgroups(const Target& target, ElementType type) {
  return target.has_warpgroups && type != ElementType::kF32;
}

std::size_t steps_of(const MatrixProduct& product, const MatrixTiles& tiles) {
  const std::size_t step = tiles.row_bytes / size_bytes(product.type);
  return (product.k + step - 1) / step;
}

/// So many groups share a tile that every unit has work, and each has enough steps. Narrow tiles are shared by more groups than units are
/// there, which wait in turns, and in shorter steps as long as these are few.
std::size_t splits_for(const MatrixProduct& product, const MatrixTiles& tiles, const Target& target) {
  constexpr std::size_t kMost = 8;
  const std::size_t groups = tiles.all_groups(product), units = target.compute_units, steps = steps_of(product, tiles);
  if (tiles.has_warpgroups && tiles.n == 32) {
    const std::size_t many = std::min(4 * units / groups, steps / 12), few = std::min(units / groups, steps / 6);
    return std::clamp<std::size_t>(std::max(many, few), 1, kMost);
  }
  const std::size_t most = (tiles.in_parts ? 4 : 2) * units / groups, least = tiles.in_parts ? 6 : 4;
  return std::clamp<std::size_t>(std::min(most, steps / least), 1, kMost);
}

/// Large tiles read less, small ones give every unit work. Measured on H100 and H200 with the layers of ResNet-50, U-Net,
/// YOLOv8 and ViT-B/16.
MatrixTiles matrix_tiles_for(const MatrixProduct& product, const Target& target) {
  const std::size_t units = target.compute_units;
  const auto suits = [&](const MatrixTiles& tiles, std::size_t groups) {
    return product.n > tiles.n / 2 && tiles.all_groups(product) >= groups && tiles.local_bytes() <= target.local_bytes;
  };
  if (takes_warpgroups(target, product.type)) {
    const auto& [large, small, narrow] = kWarpgroups;
    const auto splits = [&](const MatrixTiles& tiles) { return splits_for(product, tiles, target); };
    if (suits(large, units * 5 / 4)) return large;
    // A few narrow tiles are still faster than those of single warps.
    const std::size_t least = units / 6;
    if (small.all_groups(product) < units * 7 / 4 && suits(narrow, least)) return narrow;
    if (suits(small, units / splits(small))) return small;
  }
  if (takes_parts(target, product.type)) {
    const auto& [square, high, deep, narrow, low, least] = kInParts;
    if (product.n <= 32) return suits(narrow, units) ? narrow : least;
    return suits(square, 2 * units / splits_for(product, square, target)) ? square : low;
  }
  static constexpr MatrixTiles kLarge[] = {{128, 64, 4, 1, 2}, {64, 64, 2, 2, 3}};
  for (const MatrixTiles& tiles : kLarge)
    if (suits(tiles, 2 * units)) return tiles;
  MatrixTiles tiles = product.n > 32 ? MatrixTiles{32, 64, 2, 2, 4} : MatrixTiles{32, 32, 2, 1, 4};
  while (tiles.local_bytes() > target.local_bytes && tiles.stages > 2) --tiles.stages;
  return tiles;
}

bool takes_sub_groups(const Target& target, ElementType type) {
  return target.matrices == Target::Matrices::kIntel && type == ElementType::kF16;
}

/// Sub-groups multiply: their elements lie as their functions have them.
void define_sub_groups(Kernel& kernel, const Target& target) {
  kernel.define("SUB_GROUP", signed_of(target.sub_group))
      .define("IMITATES_SUB_GROUPS", target.imitates_sub_groups ? 1 : 0)
      .define("SUM_ROW(i, j, c)", "(warp_row + (i) * 16 + (lane / SUB_GROUP & 1) * 8 + ((j) & 1) * 4 + (c))")
      .define("SUM_COLUMN(j, c)", "(warp_n * WARP_N + ((j) >> 1) * 16 + lane / (2 * SUB_GROUP) * 8 + lane % SUB_GROUP)")
      .define("MULTIPLY(sum, left, right)", "MULTIPLY_SUB_GROUPS(sum, left, right)");
  if (!target.imitates_sub_groups) kernel.sub_group(target.sub_group);
}

/// What multiplies tiles, and which rows a warp has.
void define_multiply(Kernel& kernel, const MatrixTiles& tiles, const Target& target, ElementType type) {
  const bool has_numbers = is_of_numbers(type);
  if (target.matrices == Target::Matrices::kNvidia)
    kernel.define("SUM_REGISTER", has_numbers ? "\"+r\"" : "\"+f\"")
        .define("LEFT_NUMBERS", type == ElementType::kU8 ? "\"u8\"" : "\"s8\"")
        .define("MULTIPLY_FRAGMENTS(sum, a, b0, b1)",
                has_numbers ? "MULTIPLY_FRAGMENTS_8(sum, a, b0, b1)" : "MULTIPLY_FRAGMENTS_16(sum, a, b0, b1)");
  if (!takes_sub_groups(target, type))
    kernel.define("SUM_ROW(i, j, c)", "(first_row + (i) * PART_ROWS + ((c) >> 1) * 8)")
        .define("SUM_COLUMN(j, c)", "(first_column + (j) * 8 + ((c) & 1))");
  if (tiles.has_warpgroups) {
    kernel.define("WARP_ROW", "((warp >> 2) * PARTS_M * 64 + (warp & 3) * 16)").define("PART_ROWS", 64);
    kernel.define("COPIES_READY()", "TO_TENSOR_CORES()")
        .define("MULTIPLY_WARPGROUP(to, a, b)",
                (has_numbers ? "WARPGROUP_8_" : "WARPGROUP_") + std::to_string(tiles.n) + "(to, a, b)")
        .define("MULTIPLY_BEGIN(sum, left, right)", "MULTIPLY_WARPGROUPS_BEGIN(sum, left, right)")
        .define("MULTIPLY(sum, left, right)", "MULTIPLY_WARPGROUPS_END(sum, left, right)");
    return;
  }
  kernel.define("WARP_ROW", "(warp % WARPS_M * (TILE_M / WARPS_M))").define("PART_ROWS", 16);
  kernel.define("COPIES_READY()", "").define("MULTIPLY_BEGIN(sum, left, right)", "");
  if (takes_sub_groups(target, type)) return define_sub_groups(kernel, target);
  const bool has_dots = has_numbers && target.matrices != Target::Matrices::kNvidia;
  if (has_dots) define_dot(kernel, target, type);
  const char* const multiply = has_dots                    ? "MULTIPLY_TILES_8"
                               : tiles.in_parts            ? "MULTIPLY_TILES_IN_PARTS"
                               : type == ElementType::kF32 ? "MULTIPLY_TILES_F32"
                                                           : "MULTIPLY_TILES";
  kernel.define("MULTIPLY(sum, left, right)", multiply + std::string("(sum, left, right)"));
}

}  // namespace

void define_dot(Kernel& kernel, const Target& target, ElementType type) {
  const std::string left = type == ElementType::kU8 ? "u8" : "i8";
  switch (target.dots) {
    case Target::Dots::kNvidia:
      kernel.text(kernels::dots_nvidia);
      break;
    case Target::Dots::kExtension:
      if (target.imitates_dots) kernel.text(kernels::dots_imitated);
      kernel.text(kernels::dots_extension);
      break;
    case Target::Dots::kPortable:
      kernel.text(kernels::dots_portable);
  }
  kernel.define("DOT(left, right, sum)", "dot_" + left + "(left, right, sum)");
}

void define_early(Kernel& kernel, const Target& target, const std::string& row, const std::string& bytes,
                  const std::string& side) {
  if (!takes_fragments(target)) return;
  kernel.define(side + "EARLY_ROW(batch, n)", "((__global const uchar*)(" + row + "))")
      .define(side + "EARLY_BYTES", "(" + bytes + ")");
  if (side.empty()) kernel.waits().text(target.imitates_fragments ? kernels::early_portable : kernels::early_nvidia);
}

const char* release_text(const Target& target) {
  return target.matrices == Target::Matrices::kNvidia ? kernels::release_nvidia : kernels::release_portable;
}

void define_tiles(Kernel& kernel, const MatrixTiles& tiles, const Target& target, ElementType type) {
  const auto define = [&](const char* name, std::size_t value) { kernel.define(name, signed_of(value)); };
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
  define("HAS_GRAPHS_MEMORY", tiles.is_graphs);
  // Chunks of neighbouring rows lie in different banks, in the patterns that warpgroups read.
  kernel.define("PLACE(row, chunk)", tiles.row_bytes == 128 ? "((row) * 128 + (((chunk) ^ ((row) & 7)) << 4))"
                                                            : "((row) * 64 + (((chunk) ^ ((row) >> 1 & 3)) << 4))");
  kernel.define("STORED", storage_name(type))
      .define("STORED_RIGHT", is_of_numbers(type) ? "char" : storage_name(type))
      .define("TOTAL", is_of_numbers(type) ? "int" : "float");
  define_multiply(kernel, tiles, target, type);
  kernel.text(kernels::matrix_f32)
      .text(kernels::matrix_8)
      .text(release_text(target))
      .text(target.matrices == Target::Matrices::kNvidia ? kernels::matrix_nvidia : kernels::matrix_portable);
  if (takes_sub_groups(target, type)) kernel.text(kernels::matrix_intel);
}

namespace {

/// A way to compute a product.
struct MatrixWay {
  MatrixTiles tiles;
  std::size_t splits = 1;
  std::string name() const {
    return std::to_string(tiles.m) + "x" + std::to_string(tiles.n) + " by " + std::to_string(tiles.warps_m) + "x" +
           std::to_string(tiles.warps_n) + " in " + std::to_string(tiles.stages) + " slots, " + std::to_string(splits) +
           " groups" + (tiles.has_warpgroups ? ", warpgroups" : "") + (tiles.in_parts ? ", in parts" : "");
  }
};

/// What a tuner may try: the rules' way first, and others that neither leave most units idle nor compute mostly nothing.
/// @param has_choice  False: the rules' way alone.
std::vector<MatrixWay> matrix_ways(const MatrixProduct& product, const Target& target, bool has_choice) {
  static constexpr MatrixTiles kTiles[] = {{128, 128, 4, 2, 3}, {128, 64, 4, 1, 2}, {128, 64, 4, 2, 3},
                                           {64, 128, 2, 2, 3},  {64, 64, 2, 2, 3},  {64, 32, 2, 1, 4},
                                           {32, 64, 2, 2, 4},   {32, 32, 2, 1, 4},  {16, 64, 1, 2, 4}};
  const MatrixTiles rule = matrix_tiles_for(product, target);
  std::vector<MatrixWay> ways{{rule, splits_for(product, rule, target)}};
  if (!has_choice) return ways;
  std::vector<MatrixTiles> all(std::begin(kTiles), std::end(kTiles));
  if (takes_warpgroups(target, product.type)) all.insert(all.begin(), std::begin(kWarpgroups), std::end(kWarpgroups));
  if (takes_parts(target, product.type)) all.insert(all.begin(), std::begin(kInParts), std::end(kInParts));
  const auto add = [&](const MatrixWay& way) {
    const auto same = [&](const MatrixWay& other) { return other.name() == way.name(); };
    if (std::none_of(ways.begin(), ways.end(), same)) ways.push_back(way);
  };
  for (const MatrixTiles& tiles : all) {
    const std::size_t groups = tiles.groups(product), steps = steps_of(product, tiles);
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

/// Where a row of a right side of numbers as they are begins.
void define_early(Kernel& kernel, const Target& target, const MatrixProduct& product) {
  if (product.has_weights)
    define_early(kernel, target, "B_p + B_BATCH(batch) + (n) * B_ROW",
                 "K * " + std::to_string(size_bytes(product.type)));
}

/// Tiles for the twin, where these do not use what its groups may have of local memory: more slots for few groups, which wait for what
/// they read, or larger tiles for many, which read less. Measured on an H200 with the layers of ViT-B/16, BERT-base and ResNet-50.
std::optional<MatrixTiles> tiles_for_twin(const MatrixProduct& product, const MatrixWay& way, const Target& target) {
  const auto& [tiles, splits] = way;
  if (!tiles.has_warpgroups || target.twin_local_bytes <= target.local_bytes) return std::nullopt;
  const auto in_turns = [&](std::size_t groups) { return (groups + target.compute_units - 1) / target.compute_units; };
  const std::size_t turns = in_turns(tiles.all_groups(product) * splits);
  MatrixTiles best = tiles;
  best.is_graphs = true;
  constexpr std::size_t kMostTurns = 4;
  if (turns > kMostTurns || tiles.m == 128) {
    if (splits > 1 || tiles.m != 128 || steps_of(product, tiles) < 8) return std::nullopt;
    static constexpr MatrixTiles kWide[] = {{192, 128, 12, 1, 5, 128, true, false, true},
                                            {256, 128, 8, 1, 4, 128, true, false, true},
                                            {320, 128, 20, 1, 4, 128, true, false, true}};
    // A unit's turns take as long as their rows, and a little; two groups of the smaller tile share a unit.
    const auto cost = [&](const MatrixTiles& each) { return in_turns(each.all_groups(product)) * (each.m + 48); };
    const auto& least = *std::ranges::min_element(kWide, {}, cost);
    if (least.local_bytes() > target.twin_local_bytes) return std::nullopt;
    return cost(least) < (turns + 1) / 2 * 2 * (tiles.m + 48) ? std::optional(least) : std::nullopt;
  }
  const std::size_t slot = (tiles.m + tiles.n) * tiles.row_bytes,
                    most = (target.twin_local_bytes / turns - 1024) / slot,
                    steps = (steps_of(product, tiles) + splits - 1) / splits;
  best.stages = std::min({most, steps + 2, std::size_t{16}});
  return best.stages > tiles.stages + 1 ? std::optional(best) : std::nullopt;
}

/// @param parts, counters  Scratch for tiles that several groups share.
Kernel matrix_kernel(const Target& target, Kernel kernel, const MatrixProduct& product, const MatrixWay& way,
                     const std::optional<View>& parts, const std::optional<View>& counters) {
  const auto& [tiles, splits] = way;
  define_tiles(kernel, tiles, target, product.type);
  kernel.number("M", signed_of(product.m))
      .number("N", signed_of(product.n))
      .number("K", signed_of(product.k))
      .number("RESULTS", signed_of(product.m * product.n * product.batch))
      .define("IS_WIDE", product.n % kChunk == 0 ? 1 : 0)
      .define("SPLITS", signed_of(splits));
  kernel.sets();
  if (parts)
    kernel.uses("PARTS", *parts)
        .uses("COUNTERS", *counters)
        .number("BATCHES", signed_of(product.batch))
        .define("TILES_OF_SET", "((int)(get_num_groups(0) * get_num_groups(1)) * BATCHES)");
  // Where groups are more than that, most begin long after the kernel before this one is over.
  if (tiles.all_groups(product) * splits <= 2 * target.compute_units) define_early(kernel, target, product);
  kernel.text(kernels::matrix);
  kernel.over({(product.n + tiles.n - 1) / tiles.n * tiles.lanes(), (product.m + tiles.m - 1) / tiles.m,
               product.batch * splits},
              {tiles.lanes(), 1, 1});
  return kernel;
}

Kernel matrix_kernel(Builder& builder, const Kernel& kernel, const MatrixProduct& product, const MatrixWay& way) {
  const auto& [tiles, splits] = way;
  const std::size_t groups = tiles.groups(product);
  std::optional<View> parts, counters;
  if (splits > 1) {
    parts = builder.scratch(is_of_numbers(product.type) ? ElementType::kI32 : ElementType::kF32,
                            {groups, splits, tiles.m, tiles.n});
    counters = builder.counters(groups * kMostJoined);
  }
  Kernel made = matrix_kernel(builder.target(), kernel, product, way, parts, counters);
  if (const auto other = tiles_for_twin(product, way, builder.target()))
    made.for_twin(matrix_kernel(builder.target(), kernel, product, {*other, splits}, parts, counters),
                  other->local_bytes());
  return made;
}

/// How warps share a product of few rows.
struct RowsWay {
  std::size_t columns = 1;  ///< The columns of a warp.
  std::size_t share = 1;    ///< Warps that share them.
  std::string name() const {
    return "rows, " + std::to_string(columns) + " columns by " + std::to_string(share) + " warps";
  }
};

constexpr std::size_t kRowsLanes = 128;

/// The rules' way first: what warps wait for before they have a sum is short, since several share its numbers, and what they read of the
/// left side serves several columns, as long as every unit has warps to hide each other's waits. Measured on an H200 with the layers of
/// decoders of 206 M and 1.1 B parameters.
std::vector<RowsWay> rows_ways(const MatrixProduct& product, const Target& target) {
  const std::size_t columns = product.n * product.sides * product.batch, units = target.compute_units;
  // A group's 32 lanes have 256 numbers at once.
  RowsWay rule{1, product.k >= 1024 ? std::size_t{4} : product.k >= 512 ? std::size_t{2} : std::size_t{1}};
  while (rule.columns < 4 && 2 * columns >= 7 * units * rule.columns) rule.columns *= 2;
  std::vector<RowsWay> ways{rule};
  for (const RowsWay& other : {RowsWay{1, 1}, {1, 4}, {2, 1}, {2, 4}, {4, 1}, {4, 4}})
    if (other.columns != rule.columns || other.share != rule.share) ways.push_back(other);
  if (product.sides > 1)  // Each side has as many.
    for (RowsWay& way : ways) way.columns = std::max<std::size_t>(way.columns / 2, 1);
  return ways;
}

/// How many steps along k of the right sides a work-item reads before it waits for the left side, and whether these are all.
std::pair<std::size_t, bool> steps_ahead(const MatrixProduct& product, const RowsWay& way) {
  constexpr std::size_t kMostWords = 64;  // More registers would leave no room for the warps beside.
  if (product.words_ahead == 0) return {0, false};
  const std::size_t steps = (product.k + way.share * 256 - 1) / (way.share * 256),
                    most = std::max<std::size_t>(kMostWords / (product.words_ahead * way.columns * product.sides), 1);
  return {std::min(steps, most), steps <= most};
}

Kernel rows_kernel(const Target& target, Kernel kernel, const MatrixProduct& product, const RowsWay& way) {
  std::size_t rows = 1;
  while (rows < product.m) rows *= 2;
  const bool is_nvidia = target.matrices == Target::Matrices::kNvidia;
  const std::size_t sums = way.columns * product.sides + (product.has_norm ? 1 : 0);
  const auto [ahead, is_ahead] = steps_ahead(product, way);
  if (!is_nvidia) kernel.local("meeting", kRowsLanes);
  if (way.share > 1) kernel.local("shared", kRowsLanes / 32 * rows * sums);
  kernel.group(has_barriers_in_branches(target))
      .number("M", signed_of(product.m))
      .number("N", signed_of(product.n))
      .number("K", signed_of(product.k))
      .define("ROWS", signed_of(rows))
      .define("COLUMNS", signed_of(way.columns))
      .define("SHARE", signed_of(way.share))
      .define("SIDES", signed_of(product.sides))
      .define("HAS_NORM", product.has_norm ? 1 : 0)
      .define("AHEAD", signed_of(ahead))
      .define("IS_AHEAD", is_ahead ? 1 : 0)
      .define("UNROLL", rows > 2 ? 1 : 4)
      .define("LANES", signed_of(kRowsLanes))
      .text(is_nvidia ? kernels::lanes_nvidia : kernels::lanes_portable)
      .text(kernels::matrix_rows);
  const std::size_t warps = (product.n + way.columns - 1) / way.columns * way.share;
  kernel.over({(warps * 32 + kRowsLanes - 1) / kRowsLanes * kRowsLanes, product.batch}, {kRowsLanes, 1});
  return kernel;
}

/// The same by matrix hardware. A group has 16 columns, and as many warps as make their steps along k few, but where columns are so many that
/// they alone fill the device: what is read before the kernel waits for the one before it is read by groups that are there. Products of
/// one left side get as many warps, so that they may become one launch.
Kernel fragment_rows_kernel(const Target& target, Kernel kernel, const MatrixProduct& product) {
  constexpr std::size_t kMostWords = 64;  // More registers would leave no room for other groups.
  const std::size_t rows = std::bit_ceil(product.m), all = product.k / (product.chunk_bytes * 32 / product.bits);
  std::size_t share = product.sides > 1 || product.n >= 16384 ? 4 : product.k > 4096 ? 16 : 8;
  while (share > all) share /= 2;
  const std::size_t steps = (all + share - 1) / share,
                    words = product.sides * (product.chunk_bytes / 2 + (product.bits < 16 ? 2 : 0)),
                    ahead = std::clamp<std::size_t>(kMostWords / words, 1, steps), lanes = 32 * share;
  const bool is_nvidia = target.matrices == Target::Matrices::kNvidia;
  if (!is_nvidia) kernel.local("meeting", lanes).local("exchange", lanes * 6);
  kernel.local("staged", rows * product.k / 2).local("shared", share * product.sides * 16 * rows);
  if (product.has_norm) kernel.local("squares", share * rows);
  const auto define = [&](const char* name, std::size_t value) { kernel.define(name, signed_of(value)); };
  define("ROWS", rows);
  define("SIDES", product.sides);
  define("SHARE", share);
  define("WIDE", product.chunk_bytes);
  define("BITS", product.bits);
  define("STEPS", steps);
  define("ALL_STEPS", all);
  define("AHEAD", ahead);
  define("HAS_NORM", product.has_norm ? 1 : 0);
  kernel.group(has_barriers_in_branches(target))
      .number("M", signed_of(product.m))
      .number("N", signed_of(product.n))
      .number("K", signed_of(product.k))
      .text(is_nvidia ? kernels::lanes_nvidia : kernels::lanes_portable)
      .text(is_nvidia ? kernels::fragments_nvidia : kernels::fragments_portable)
      .text(kernels::fragment_rows);
  kernel.over({(product.n + 15) / 16 * lanes, product.batch}, {lanes, 1});
  return kernel;
}

}  // namespace

bool has_few_rows(const MatrixProduct& product) { return product.m <= kFewRows && !is_of_numbers(product.type); }

void launch_rows(Builder& builder, const Node& node, const Kernel& kernel, const MatrixProduct& product,
                 const std::string& how) {
  const Target& target = builder.target();
  std::vector<Candidate> candidates;
  if (product.chunk_bytes != 0)
    candidates.push_back({"rows, by matrix hardware",
                          [&kernel, &target, product] { return fragment_rows_kernel(target, kernel, product); }});
  for (const RowsWay& way : rows_ways(product, target))
    candidates.push_back(
        {way.name(), [&kernel, &target, product, way] { return rows_kernel(target, kernel, product, way); }});
  builder.launch_best(node, "rows of " + product.text() + ", " + how, candidates);
}

void launch_matrix(Builder& builder, const Node& node, const Kernel& kernel, const MatrixProduct& product,
                   const std::string& how) {
  const Target& target = builder.target();
  const std::vector<MatrixWay> ways = matrix_ways(product, target, builder.chooses());
  if (ways.size() == 1) return builder.launch(matrix_kernel(builder, kernel, product, ways.front()), node);
  std::vector<Candidate> candidates;
  for (const MatrixWay& way : ways)
    candidates.push_back(
        {way.name(), [&builder, &kernel, product, way] { return matrix_kernel(builder, kernel, product, way); }});
  builder.launch_best(node, "matrix " + product.text() + ", " + how, candidates);
}

}  // namespace tenon::inline v1::gpu_device
