// SPDX-License-Identifier: Apache-2.0
// GroupedMatMul: consecutive rows by a matrix for each group of them, as in a mixture of experts. Every row is a product of its own, which
// reads only its group's matrix.
#include <optional>
#include <string>

#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix_matmul.hpp>
#include <tenon/devices/gpu/program/types.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

struct Groups {
  std::size_t rows = 0, count = 0, n = 0, k = 0;
  /// For each row, the group that it belongs to; `count`: none, and the row's result is 0. Not there if all groups have `each` rows.
  std::optional<View> of_rows;
  std::size_t each = 0;
  /// Adds GROUPS and GROUP_OF(row).
  void add_to(Kernel& kernel) const {
    kernel.number("GROUPS", signed_of(count));
    if (of_rows)
      kernel.reads("GROUP_OF", *of_rows);
    else
      kernel.number("GROUP_ROWS", signed_of(each)).define("GROUP_OF(row)", "((row) / GROUP_ROWS)");
  }
};

Groups groups_of(Builder& builder, const Node& node, const View& left) {
  const Shape matrices = node.get_input_shape(1);
  Groups groups{left.shape[0], matrices[0], matrices[1], matrices[2], {}, 0};
  if (left.shape.size() == 3) {
    groups.each = left.shape[1];
    groups.rows *= groups.each;
    return groups;
  }
  groups.of_rows = builder.scratch(ElementType::kI32, {groups.rows});
  Kernel kernel = builder.kernel("groups");
  kernel.number("GROUPS", signed_of(groups.count)).reads("ENDS", builder.packed(node.input_value(2)));
  kernel.writes("OUT", *groups.of_rows);
  launch_each(builder, node, kernel, groups.rows,
              "  int group = 0;\n  while (group < GROUPS && ENDS(group) <= at) ++group;\n  OUT_SET(at, group);\n");
  return groups;
}

/// A warp for each column of each row, which reads the group's weights as they are stored.
Producer rows_producer(Builder& builder, const Node& node, const View& left, const View& right, const Groups& groups,
                       const std::optional<FewBits>& few) {
  const Node* const self = &node;
  Producer producer;
  producer.emit = [&builder, self, left, right, groups, few](const ExpressionRef& root, const View& out) {
    MatrixProduct product{left.type};
    product.m = 1, product.batch = groups.rows, product.n = groups.n, product.k = groups.k;
    Kernel kernel = builder.kernel("matmul");
    kernel.reads("A", left);
    groups.add_to(kernel);
    AxisGroups all(1);
    for (std::size_t axis = 0; axis < out.shape.size(); ++axis) all[0].push_back(axis);
    builder.add_store(kernel, root, out, all);
    const std::string row = "(min(GROUP_OF(batch), GROUPS - 1) * N + (n))";
    if (few) {
      define_few_bits(kernel, builder, *few, groups.k, row);
    } else {
      kernel.reads("B", right).number("B_ROW", right.strides[right.strides.size() - 2]);
      define_reals(kernel, right.type, row + " * B_ROW");
    }
    kernel.number("A_ROW", left.strides[left.strides.size() - 2]);
    kernel.define("A_BATCH(batch)", "((batch) * A_ROW)").define("A_PLACE(m)", "0");
    kernel.define("STORE_AT(value, batch, m, n)", "STORE((GROUP_OF(batch) < GROUPS ? (value) : 0), (batch) * N + (n))");
    kernel.multiply_adds(std::uint64_t{groups.rows} * groups.n * groups.k);
    launch_rows(builder, *self, kernel, product,
                "groups of " + std::string(few ? name(few->numbers.element_type()) : "reals"));
  };
  return producer;
}

void lower_grouped_matmul(Builder& builder, const Node& node) {
  if (element_count(node.get_output_shape(0)) == 0) {
    builder.make(node, 0);
    return;
  }
  View left = builder.packed(node.input_value(0)), right;
  const Groups groups = groups_of(builder, node, left);
  reshape(left, {groups.rows, groups.k});
  const auto few = keeps_few_bits(builder.target()) ? few_bits_of(node) : std::nullopt;
  if (few || (takes_matrices(builder.target()) && groups.k > 0 && groups.k % kChunk == 0 &&
              node.get_output_element_type(0) == element::f32)) {
    const ElementType type = builder.target().reals();
    if (const Tensor weights = few ? Tensor() : builder.constant(node.input_value(1))) {
      right = builder.hold_packed(weights, "right sides of groups", [groups, type](const Tensor& source) {
        return pack_right_sides(source.reshaped(Shape{groups.count * groups.n, groups.k}), type, true);
      });
    } else if (!few) {
      right = builder.packed(node.input_value(1));
      reshape(right, {groups.count * groups.n, groups.k});
      right = rows_of(builder, node, right);
    }
    left = rows_of(builder, node, left);
    builder.set(node, 0, ElementType::kF32, rows_producer(builder, node, left, right, groups, few));
    return;
  }
  right = builder.packed(node.input_value(1));
  set_each(
      builder, node, "matmul", left.type,
      [=](Kernel& kernel) {
        kernel.reads("A", left).reads("B", right).define("ACC", accumulator_name(left.type));
        groups.add_to(kernel);
        kernel.number("N", signed_of(groups.n)).number("K", signed_of(groups.k));
      },
      "  const int row = at / N, group = GROUP_OF(row);\n  ACC sum = 0;\n  if (group < GROUPS) {\n"
      "    const int right = (group * N + at % N) * K;\n"
      "    for (int k = 0; k < K; ++k) sum += (ACC)A(row * K + k) * (ACC)B(right + k);\n  }\n  STORE(sum, at);\n");
}

}  // namespace

void register_grouped_matmul(LoweringTable& table) { table["GroupedMatMul"] = {lower_grouped_matmul}; }

}  // namespace tenon::inline v1::gpu_device
