// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's products with weights of few bits, in the form in which OpenVINO stores compressed weights, which devices
// keep packed: Convert, Subtract, Multiply, Reshape, MatMul.
#include <tenon/graph/readers/onnx/internal/packed.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

/// One value per block, as [n, blocks, 1].
Out by_blocks(const NodeContext& node, std::size_t index, std::int64_t n, std::int64_t blocks) {
  const PartialShape& shape = node.input(index).get_partial_shape();
  if (shape.is_static() && element_count(shape.to_shape()) != static_cast<std::size_t>(n * blocks))
    fail("input " + std::to_string(index) + " has the shape " + shape.to_string() + ", expected " + std::to_string(n) +
         " rows of " + std::to_string(blocks) + " blocks");
  return reshape(node.input(index), Ints{n, blocks, 1});
}

/// Extents whose products fit in 64 bits.
void require_extents(std::int64_t k, std::int64_t n, std::int64_t block) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t value : {k, n, block})
    if (value < 1 || value > kMost)
      fail("K " + std::to_string(k) + ", N " + std::to_string(n) + " and block_size " + std::to_string(block) +
           " must be positive and at most " + std::to_string(kMost));
}

struct Blocks {
  std::int64_t n, k, bits, size, count;
  std::int64_t width() const { return count * size; }
};

Blocks blocks_of(const NodeContext& node) {
  const std::int64_t k = node.get_int("K"), n = node.get_int("N"), bits = node.get_int("bits", 4),
                     block = node.get_int("block_size");
  if (bits != 2 && bits != 4 && bits != 8)
    unimplemented("bits is " + std::to_string(bits) + "; weights of 2, 4 and 8 bits are written out");
  require_extents(k, n, block);
  return {n, k, bits, block, (k + block - 1) / block};
}

/// The group of each row of the matrix; empty if groups are blocks of neighbours.
Ints groups_of(const NodeContext& node, const Blocks& b) {
  if (!node.has_input(4)) return {};
  Ints groups = node.constant_ints(4, "g_idx, the group of each row");
  const auto count = static_cast<std::int64_t>(groups.size());
  if (count != b.k && count != b.width())
    fail("input 4 (g_idx) has " + std::to_string(count) + " values, expected K, " + std::to_string(b.k));
  groups.resize(size_of(b.k));
  bool in_order = true;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] < 0 || groups[i] >= b.count)
      fail("input 4 (g_idx) has the group " + std::to_string(groups[i]) + " among " + std::to_string(b.count));
    in_order = in_order && groups[i] == static_cast<std::int64_t>(i) / b.size;
  }
  return in_order ? Ints{} : groups;
}

/// Rows in the order of their groups; empty if groups differ in size.
Ints order_by_group(const Ints& groups, const Blocks& b) {
  Ints sizes(size_of(b.count), 0);
  for (const std::int64_t group : groups) ++sizes[size_of(group)];
  if (std::any_of(sizes.begin(), sizes.end(), [&](std::int64_t size) { return size != b.size; })) return {};
  Ints order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t x, std::int64_t y) { return groups[size_of(x)] < groups[size_of(y)]; });
  return order;
}

Out zeros_of_blocks(const NodeContext& node, const Blocks& b) {
  if (!node.has_input(3)) return {};
  if (info(node.type(3)).is_real) return by_blocks(node, 3, b.n, b.count);
  return unpacked_rows(node, 3, {.bits = b.bits, .rows = b.n, .columns = b.count},
                       Shape{size_of(b.n), size_of(b.count), 1});
}

Out taken(const Out& x, const Ints& indices, std::int64_t axis) {
  return op("Gather", 8, {x, ints(indices), int_scalar(axis)}, {{"batch_dims", 0}});
}

// a [.., K], b: N rows of blocks, scales, zero_points, g_idx, bias
OutputVector matmul_n_bits(const NodeContext& node) {
  if (node.get_int("weight_prepacked", 0) != 0)
    unimplemented("weight_prepacked is not 0: its weights are stored for one kind of GPU; use the model before that");
  const Blocks b = blocks_of(node);
  const Ints groups = groups_of(node, b), order = order_by_group(groups, b);
  const Out packed = unpacked_rows(node, 1, {.bits = b.bits, .rows = b.n, .columns = b.width(), .column_order = order},
                                   Shape{size_of(b.n), size_of(b.count), size_of(b.size)});
  const Out scale = by_blocks(node, 2, b.n, b.count), zero = zeros_of_blocks(node, b);
  Out a = node.input(0), weights;
  if (groups.empty() || !order.empty()) {
    // The columns of a group are neighbours, at least after those of both matrices were put in the groups' order.
    if (!order.empty()) a = taken(a, order, -1);
    weights = reshape(dequantized_numbers(packed, scale, zero, b.bits), Ints{b.n, b.width()});
    if (b.width() != b.k) weights = slice(weights, 0, b.k, 1);
  } else {
    Out rows = reshape(packed, Ints{b.n, b.width(), 1});
    if (b.width() != b.k) rows = slice(rows, 0, b.k, 1);
    const Out centre = zero ? taken(convert(zero, node.type(2)), groups, 1) : zero;
    weights = reshape(dequantized_numbers(rows, taken(scale, groups, 1), centre, b.bits), Ints{b.n, b.k});
  }
  const Out y = matmul(a, convert(weights, node.type(0)), false, true);
  return {node.has_input(5) ? add(y, node.input(5)) : y};
}

/// The numbers that bitsandbytes' codes of fp4 stand for; the fourth bit is the sign.
std::vector<double> fp4_numbers() {
  const std::vector<double> positive = {0, 0.0625 / 12, 8.0 / 12, 1, 4.0 / 12, 0.5, 2.0 / 12, 0.25};
  std::vector<double> all = positive;
  for (const double number : positive) all.push_back(-number);
  return all;
}

/// Codes of 4 bits of which the first of a byte is in its high half, as [count] with the first in the low half.
Tensor swapped_halves(const NodeContext& node, std::size_t index, ElementType type, std::int64_t count) {
  const Out bytes = reinterpreted(node, index, ElementType::kU8, Shape{size_of((count + 1) / 2)});
  Tensor made(type, Shape{size_of(count)});
  const auto* from = static_cast<const std::uint8_t*>(bytes.get_tensor().value()->data());
  auto* to = static_cast<std::uint8_t*>(made.data());
  for (std::size_t i = 0; i < made.size_bytes(); ++i) to[i] = static_cast<std::uint8_t>(from[i] << 4 | from[i] >> 4);
  return made;
}

// a, b: N rows of K codes in blocks of the whole matrix, absmax: the scale of each block
OutputVector matmul_bnb4(const NodeContext& node) {
  const std::int64_t k = node.get_int("K"), n = node.get_int("N"), block = node.get_int("block_size"),
                     kind = node.get_int("quant_type");
  require_extents(k, n, block);
  if (kind != 0 && kind != 1) fail("quant_type is " + std::to_string(kind) + ", expected 0 (fp4) or 1 (nf4)");
  const Tensor codes = swapped_halves(node, 1, kind == 1 ? ElementType::kNf4 : ElementType::kU4, n * k);
  const std::int64_t blocks = (n * k + block - 1) / block;
  const PartialShape& scales = node.input(2).get_partial_shape();
  if (scales.is_static() && element_count(scales.to_shape()) != size_of(blocks))
    fail("input 2 (absmax) has the shape " + scales.to_string() + ", expected one value for each of " +
         std::to_string(blocks) + " blocks");
  const ElementType type = node.type(2);
  const bool whole = k % block == 0;
  const Ints shape = whole ? Ints{n, k / block, block} : Ints{n, k};
  // The constant's bytes in its shape.
  const auto stored =
      std::make_shared<op::v0::Constant>(Tensor(TensorInfo{codes.element_type(), Shape(shape.begin(), shape.end()), {}},
                                                codes.memory(), codes.offset(), codes.lease()));
  const Out numbers =
      kind == 1 ? convert(stored, type)
                : op("Gather", 8, {reals(type, fp4_numbers()), convert(stored, ElementType::kI32), int_scalar(0)},
                     {{"batch_dims", 0}});
  Out scale = reshape(node.input(2), whole ? Ints{n, k / block, 1} : Ints{blocks});
  if (!whole) {
    Ints owner(size_of(n * k));
    for (std::size_t i = 0; i < owner.size(); ++i) owner[i] = static_cast<std::int64_t>(i) / block;
    scale = reshape(taken(scale, owner, 0), Ints{n, k});
  }
  Out weights = mul(numbers, scale);
  if (whole) weights = reshape(weights, Ints{n, k});
  return {matmul(node.input(0), convert(weights, node.type(0)), false, node.get_int("transB", 1) != 0)};
}

}  // namespace

void add_weight_only(ConverterTable& table) {
  table["com.microsoft:MatMulNBits"] = matmul_n_bits;
  table["com.microsoft:MatMulBnb4"] = matmul_bnb4;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
