// SPDX-License-Identifier: Apache-2.0
// Brings both sides into rows.
#include <tenon/devices/gpu/lower/matmul_conv/matrix_matmul.hpp>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>
#include <tenon/devices/gpu/program/indexing.hpp>

namespace tenon::inline v1::gpu_device {

View rows_of(Builder& builder, const Node& node, const View& view) {
  const ElementType type = builder.target().reals();
  if (view.type == type && builder.is_wide(view, view.shape.size() - 1)) return view;
  const View copy = builder.scratch(type, view.shape);
  builder.copy(view, copy, node);
  return copy;
}

namespace {

View turned(View view) {
  const std::size_t rank = view.shape.size();
  std::swap(view.shape[rank - 1], view.shape[rank - 2]);
  std::swap(view.strides[rank - 1], view.strides[rank - 2]);
  return view;
}

/// Whether all batches have the same right side: their rows are then those of one product.
bool is_for_all(const View& right) {
  for (std::size_t axis = 0; axis + 2 < right.shape.size(); ++axis)
    if (right.shape[axis] != 1 && right.strides[axis] != 0) return false;
  return true;
}

}  // namespace

bool lower_matrix_matmul(Builder& builder, const Node& node, const MatrixSides& sides, const Tensor& weights,
                         bool is_transposed) {
  const std::size_t rank = sides.left.shape.size(), k = sides.left.shape[rank - 1];
  if (!takes_matrices(builder.target()) || node.get_output_element_type(0) != element::f32 || k % kChunk != 0 ||
      node.get_output_shape(0).size() != rank)
    return false;
  View left = rows_of(builder, node, sides.left), right;
  if (weights) {
    const ElementType type = builder.target().reals();
    const std::string how = is_transposed ? "right sides" : "right sides, transposed";
    right = broadcast(builder.hold_packed(weights, how,
                                          [is_transposed, type](const Tensor& source) {
                                            return pack_right_sides(source, type, is_transposed);
                                          }),
                      turned(sides.right).shape);
  } else {
    right = rows_of(builder, node, turned(sides.right));
  }
  builder.set(node, 0, ElementType::kF32, matrix_producer(builder, node, left, right, k));
  return true;
}

namespace {

/// Numbers that belong to groups, as the stored numbers lie.
ExpressionRef by_group(Builder& builder, const Tensor& values, const Shape& numbers) {
  return Expression::load(broadcast(builder.hold(values), numbers));
}

/// All of the right side's rows as reals.
View expanded(Builder& builder, const Node& node, const FewBits& few, std::size_t k) {
  const Shape& stored = few.numbers.shape();
  std::vector<ExpressionRef> operands{convert(Expression::load(builder.hold(few.numbers)), ElementType::kF32),
                                      by_group(builder, few.scales, stored)};
  if (few.zero_points) operands.push_back(by_group(builder, few.zero_points, stored));
  View rows = builder.scratch(builder.target().reals(), stored);
  builder.compute(
      Expression::call(ElementType::kF32, few.zero_points ? "(($0 - $2) * $1)" : "($0 * $1)", std::move(operands)),
      rows, node);
  reshape(rows, {stored[0], k});
  return rows;
}

}  // namespace

void define_few_bits(Kernel& kernel, Builder& builder, const FewBits& few, std::size_t k, const std::string& row_text) {
  const ElementType type = few.numbers.element_type();
  const Shape& stored = few.numbers.shape();
  kernel.reads("B", builder.hold(few.numbers)).number("RUN", signed_of(stored.back()));
  // Where a group's number lies: its row, and which of the row's it is.
  const auto define = [&](const std::string& name, const Tensor& values) {
    const View view = broadcast(builder.hold(values), stored);
    kernel.reads(name, view);
    const std::string row = index_text(kernel, name + "_ROW", {view.strides[0]}, {row_text});
    if (stored.size() == 2) return name + "(" + row + ")";
    return name + "(" + row + " + " + index_text(kernel, name + "_GROUP", {view.strides[1]}, {"((k) / RUN)"}) + ")";
  };
  std::string text = "{ const float scale = " + define("SCALE", few.scales) +
                     ", zero = " + (few.zero_points ? define("ZERO", few.zero_points) : "0") +
                     "; const int from = " + row_text + " * K + (k); ";
  std::string value = "(float)B(from + j)";
  if (type == ElementType::kU4 || type == ElementType::kI4) {
    text += "const uint word = *(__global const uint*)(B_p + from / 2); ";
    value = type == ElementType::kU4 ? "(float)(word >> 4 * j & 15)" : "(float)((int)(word << (28 - 4 * j)) >> 28)";
  } else if (type != ElementType::kNf4) {
    text += std::string(type == ElementType::kU8 ? "uchar" : "char") +
            " bytes[8]; vstore8(vload8(0, B_p + from), 0, bytes); ";
    value = "(float)bytes[j]";
  }
  kernel.define("RIGHT8(batch, n, k, to)",
                text + "_Pragma(\"unroll\") for (int j = 0; j < 8; ++j) (to)[j] = (" + value + " - zero) * scale; }");
  kernel.number("K", signed_of(k));
}

bool lower_few_bits_matmul(Builder& builder, const Node& node) {
  if (!keeps_few_bits(builder.target())) return false;
  const auto few = few_bits_of(node);
  if (!few) return false;
  const View left = rows_of(builder, node, builder.view(node.input_value(0)));
  const std::size_t rank = left.shape.size(), k = left.shape[rank - 1];
  View right{{}, builder.target().reals(), left.shape, {}};
  right.shape[rank - 2] = few->numbers.shape()[0];
  right.strides.resize(rank);
  right.strides[rank - 1] = 1;
  right.strides[rank - 2] = signed_of(k);
  builder.set(node, 0, ElementType::kF32, matrix_producer(builder, node, left, right, k, few));
  return true;
}

Producer matrix_producer(Builder& builder, const Node& node, const View& left, const View& given, std::size_t k,
                         const std::optional<FewBits>& few) {
  const Node* const self = &node;
  Producer producer;
  producer.emit_in_pieces = [&builder, self, left, given, k, few](const ExpressionRef& root, const View& out,
                                                                  const AxisGroups& axes) {
    const std::size_t rank = left.shape.size();
    const AxisGroups groups = rows_and_columns(axes);
    // Axes that count rows, and those before them, each of which is a product of its own.
    std::vector<std::size_t> rows(rank - 1), batches;
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    if (!is_for_all(given)) {
      batches.assign(rows.begin(), rows.end() - 1);
      rows = {rank - 2};
    }
    MatrixProduct product{left.type};
    product.m = product.batch = 1;
    for (const std::size_t axis : rows) product.m *= left.shape[axis];
    for (const std::size_t axis : batches) product.batch *= left.shape[axis];
    product.n = given.shape[rank - 2];
    product.k = k;
    product.has_weights = builder.is_constant(given);
    const bool is_of_rows = has_few_rows(product), is_stored = few && is_of_rows;
    const View right = few && !is_stored ? broadcast(expanded(builder, *self, *few, k), given.shape) : given;
    Kernel kernel = builder.kernel("matmul");
    kernel.reads("A", left);
    if (!is_stored) kernel.reads("B", right);
    if (product.n % kChunk == 0 && !is_of_rows)
      builder.add_wide_store(kernel, root, out, groups);
    else
      builder.add_store(kernel, root, out, groups);
    const Walk walk = collapse(left.shape, {&left, &right}, batches), lines = collapse(left.shape, {&left}, rows);
    const std::vector<std::string> at = coordinate_texts(kernel, walk, "b", "(batch)"),
                                   line = coordinate_texts(kernel, lines, "r", "(m)");
    kernel.define("A_BATCH(batch)", index_text(kernel, "A_BATCH", walk.strides[0], at))
        .define("B_BATCH(batch)", index_text(kernel, "B_BATCH", walk.strides[1], at))
        .define("A_PLACE(m)", index_text(kernel, "A_LINE", lines.strides[0], line))
        .define("IS_PLAIN", 1)
        .number("B_ROW", right.strides[rank - 2]);
    kernel.define("STORE_AT(value, batch, m, n)", "STORE(value, (batch) * M + (m), n)")
        .define("STORE8_AT(value, batch, m, n)", "STORE8(value, (batch) * M + (m), n)");
    kernel.multiply_adds(std::uint64_t{product.m} * product.n * product.k * product.batch);
    if (!is_of_rows) return launch_matrix(builder, *self, kernel, product, "rows");
    if (is_stored) {
      define_few_bits(kernel, builder, *few, k);
      const std::string bytes = "K * " + std::to_string(bit_width(few->numbers.element_type())) + " / 8";
      define_early(kernel, builder.target(), "B_p + (n) * " + bytes, bytes);
    } else {
      kernel.define("RIGHT8(batch, n, k, to)", "B_LOAD8(B_BATCH(batch) + (n) * B_ROW + (k), to);");
    }
    launch_rows(builder, *self, kernel, product, is_stored ? std::string(name(few->numbers.element_type())) : "reals");
  };
  return producer;
}

}  // namespace tenon::inline v1::gpu_device
