// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#include <tenon/devices/gpu/lower/matmul_conv/matmul.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix_matmul.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/quantized_matmul.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/register_tiles.hpp>
#include <tenon/devices/gpu/program/indexing.hpp>
#include <tenon/devices/gpu/program/types.hpp>

namespace tenon::inline v1::gpu_device {

std::string neighbours_text() {
  std::string text = "(float16)(";
  for (int i = 0; i < 16; ++i)
    text += (i ? ", RIGHT(batch, k, n + " : "RIGHT(batch, k, n + ") + std::to_string(i) + ")";
  return text + ")";
}

std::string Product::text() const {
  return std::string(name(type)) + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
         " by " + std::to_string(batch) + (left_rows ? ", left rows" : "") + (right_columns ? ", right columns" : "");
}

namespace {

/// Square tiles of the result, one a group: `blocks` x `blocks` squares of 4 x 4 for each work-item.
struct Tiles {
  std::size_t size, blocks, step;
  std::size_t across(std::size_t extent) const { return (extent + size - 1) / size; }
};

constexpr Tiles kTiles[] = {{128, 2, 8}, {64, 1, 16}, {32, 1, 16}};

/// The largest that still give every unit of the device work, then the others.
std::vector<Tiles> tiles_for(const Product& product, const Target& target) {
  std::vector<Tiles> all;
  for (const Tiles& tiles : kTiles)
    if (tiles.size == 32 || target.max_group >= 256) all.push_back(tiles);
  const auto fills = [&](const Tiles& tiles) {
    return tiles.across(product.m) * tiles.across(product.n) * product.batch >= target.compute_units;
  };
  const auto best = std::find_if(all.begin(), all.end() - 1, fills);
  std::rotate(all.begin(), best, best + 1);
  return all;
}

Kernel tiled_kernel(Kernel kernel, const Product& product, const Tiles& tiles) {
  kernel.define("TILE_M", static_cast<std::int64_t>(tiles.size))
      .define("TILE_N", static_cast<std::int64_t>(tiles.size))
      .define("BLOCKS_M", static_cast<std::int64_t>(tiles.blocks))
      .define("BLOCKS_N", static_cast<std::int64_t>(tiles.blocks))
      .define("STEP", static_cast<std::int64_t>(tiles.step))
      .define("LEFT_ROWS", product.left_rows ? 1 : 0)
      .define("RIGHT_COLUMNS", product.right_columns ? 1 : 0)
      .text(kernels::gemm);
  const std::size_t side = tiles.size / (4 * tiles.blocks), lanes = side * side;
  kernel.over({tiles.across(product.n) * lanes, tiles.across(product.m), product.batch}, {lanes, 1, 1});
  return kernel;
}

}  // namespace

void launch_product(Builder& builder, const Node& node, Kernel kernel, const Product& product, const std::string& how) {
  const Target& target = builder.target();
  kernel.multiply_adds(std::uint64_t{product.m} * product.n * product.k * product.batch);
  kernel.number("M", static_cast<std::int64_t>(product.m))
      .number("N", static_cast<std::int64_t>(product.n))
      .number("K", static_cast<std::int64_t>(product.k));
  const bool is_narrow =
      product.type == ElementType::kF32 || product.type == ElementType::kF16 || product.type == ElementType::kBf16;
  if (!is_narrow || (target.is_cpu && product.n < 16)) {
    kernel.define("ACC", accumulator_name(product.type)).text(kernels::dot);
    const std::size_t wide = std::min<std::size_t>(target.max_group, 64);
    kernel.over({product.n, product.m, product.batch}, {wide, 1, 1});
  } else if (target.is_cpu) {
    constexpr std::size_t kRows = 8;
    const std::size_t rows = product.m >= kRows ? kRows : 1;
    kernel.define("PER_M", static_cast<std::int64_t>(rows)).text(kernels::gemm_rows);
    kernel.over({(product.n + 15) / 16, (product.m + rows - 1) / rows, product.batch}, {1, 1, 1});
  } else {
    std::vector<Candidate> candidates;
    for (const Tiles& tiles : tiles_for(product, target))
      candidates.push_back({std::to_string(tiles.size), [&, tiles] { return tiled_kernel(kernel, product, tiles); }});
    return builder.launch_best(node, "product " + product.text() + ", " + how, candidates);
  }
  builder.launch(std::move(kernel), node);
}

namespace {

/// One side as [batch..., rows, columns], its batch axes repeated to those of the result.
View side_of(const View& given, bool transposes, bool is_left, const Shape& batch) {
  View view = given;
  if (view.shape.size() == 1) reshape(view, is_left ? Shape{1, view.shape[0]} : Shape{view.shape[0], 1});
  const std::size_t rank = view.shape.size();
  if (transposes && given.shape.size() > 1) {
    std::swap(view.shape[rank - 1], view.shape[rank - 2]);
    std::swap(view.strides[rank - 1], view.strides[rank - 2]);
  }
  Shape shape = batch;
  shape.push_back(view.shape[rank - 2]);
  shape.push_back(view.shape[rank - 1]);
  return broadcast(view, shape);
}

void lower_matmul(Builder& builder, const Node& node) {
  if (lower_number_matmul(builder, node) || lower_few_bits_matmul(builder, node)) return;
  const RowNorm* const norm = builder.row_norm(node.input_value(0));
  const View first = norm ? norm->x : builder.view(node.input_value(0)), second = builder.view(node.input_value(1));
  const auto& attributes = node.get_attributes();
  // The result's axes, with those of 1 that a side of rank 1 leaves out.
  Shape full = node.get_output_shape(0);
  if (first.shape.size() == 1) {
    Shape lifted;
    const std::size_t at = second.shape.size() == 1 ? full.size() : full.size() - 1;
    for (std::size_t i = 0; i < full.size(); ++i) {
      if (i == at) lifted.push_back(1);
      lifted.push_back(full[i]);
    }
    if (at == full.size()) lifted.push_back(1);
    full = lifted;
  }
  if (second.shape.size() == 1) full.push_back(1);
  Shape batch;
  for (std::size_t i = 0; i + 2 < full.size(); ++i) batch.push_back(full[i]);
  const bool is_transposed = attributes.get_bool("transpose_b");
  const View left = side_of(first, attributes.get_bool("transpose_a"), true, batch),
             right = side_of(second, is_transposed, false, batch);
  const Tensor weights = second.shape.size() > 1 ? builder.constant(node.input_value(1)) : Tensor();
  if (lower_matrix_matmul(builder, node, {left, right}, weights, is_transposed, norm)) return;
  if (lower_register_matmul(builder, node, left, weights, is_transposed)) return;
  const Node* const self = &node;
  Producer producer;
  producer.emit = [&builder, self, left, right, full](const ExpressionRef& root, const View& out) {
    const std::size_t rank = full.size();
    Kernel kernel = builder.kernel("matmul");
    kernel.reads("A", left).reads("B", right);
    // The tree is over the result's own axes: a number of rows and columns says which element.
    AxisGroups all(1);
    for (std::size_t axis = 0; axis < out.shape.size(); ++axis) all[0].push_back(axis);
    builder.add_store(kernel, root, out, all);
    Product product;
    product.type = left.type;
    product.m = full[rank - 2];
    product.n = full[rank - 1];
    product.k = left.shape[rank - 1];
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
      axes.push_back(axis);
      product.batch *= full[axis];
    }
    const Walk walk = collapse(full, {&left, &right}, axes);
    const std::vector<std::string> at = coordinate_texts(kernel, walk, "b", "(batch)");
    const auto place = [&](const std::string& name, std::size_t side, const View& view, const std::string& row,
                           const std::string& column) {
      return index_text(kernel, name + "_BATCH", walk.strides[side], at) + " + " +
             index_text(kernel, name, {view.strides[rank - 2], view.strides[rank - 1]}, {row, column});
    };
    const std::string left_place = place("A", 0, left, "(m)", "(k)"), right_place = place("B", 1, right, "(k)", "(n)");
    kernel.define("LEFT(batch, m, k)", "A(" + left_place + ")").define("RIGHT(batch, k, n)", "B(" + right_place + ")");
    product.left_rows = left.strides[rank - 1] == 1;
    product.right_columns = right.strides[rank - 1] != 1 && right.strides[rank - 2] == 1;
    const bool are_neighbours = right.strides[rank - 1] == 1 && right.type != ElementType::kBf16;
    kernel.define("RIGHT16(batch, k, n)", are_neighbours ? "B_LOAD16(" + right_place + ")" : neighbours_text());
    kernel.define("STORE_AT(value, batch, m, n)", "STORE(value, ((batch) * M + (m)) * N + (n))");
    launch_product(builder, *self, std::move(kernel), product);
  };
  builder.set(node, 0, left.type, std::move(producer));
}

}  // namespace

void register_matmul(LoweringTable& table) { table["MatMul"] = {lower_matmul}; }

}  // namespace tenon::inline v1::gpu_device
