// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include <algorithm>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
void infer_matmul(Node& node) {
  const element::Type type = common_type(node, 0, 2);
  PartialShape a = node.get_input_partial_shape(0), b = node.get_input_partial_shape(1);
  if (a.rank().is_dynamic() || b.rank().is_dynamic()) return node.set_output_type(0, type, PartialShape::dynamic());
  require_rank(node, 0, 1, 64);
  require_rank(node, 1, 1, 64);
  // A vector is a row on the left and a column on the right, whatever the transpose flags; its axis is removed
  // afterwards.
  const bool a_vector = a.size() == 1, b_vector = b.size() == 1;
  if (a_vector)
    a = PartialShape{1, a[0]};
  else if (node.get_attributes().get_bool("transpose_a"))
    std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (b_vector)
    b = PartialShape{b[0], 1};
  else if (node.get_attributes().get_bool("transpose_b"))
    std::swap(b[b.size() - 1], b[b.size() - 2]);
  const Dimension &inner_a = a[a.size() - 1], &inner_b = b[b.size() - 2];
  if (!inner_a.compatible(inner_b)) {
    fail("cannot multiply " + node.get_input_partial_shape(0).to_string() + " by " +
         node.get_input_partial_shape(1).to_string() + ": inner extents " + inner_a.to_string() + " and " +
         inner_b.to_string());
  }
  PartialShape batch_a(std::vector<Dimension>(a.begin(), a.end() - 2)),
      batch_b(std::vector<Dimension>(b.begin(), b.end() - 2));
  PartialShape out = broadcast_shapes(batch_a, batch_b, "numpy");
  if (!a_vector) out.push_back(a[a.size() - 2]);
  if (!b_vector) out.push_back(b[b.size() - 1]);
  node.set_output_type(0, type, out);
}

/// c[m, n] += a[m, k] b[k, n]; strides in elements. Rows of b are read in order, so that the inner loop runs over
/// adjacent elements.
template <typename T>
void multiply(const T* a, std::size_t a_row, std::size_t a_col, const T* b, std::size_t b_row, std::size_t b_col, T* c,
              std::size_t m, std::size_t k, std::size_t n) {
  if (b_col == 1) {
    for (std::size_t i = 0; i < m; ++i) {
      T* to = c + i * n;
      for (std::size_t p = 0; p < k; ++p) {
        const T factor = a[i * a_row + p * a_col];
        const T* row = b + p * b_row;
        for (std::size_t j = 0; j < n; ++j) to[j] += factor * row[j];
      }
    }
    return;
  }
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      // Four sums, because a single one would depend on itself at every step.
      T sum[4] = {};
      std::size_t p = 0;
      for (; p + 4 <= k; p += 4) {
        for (std::size_t u = 0; u < 4; ++u) sum[u] += a[i * a_row + (p + u) * a_col] * b[(p + u) * b_row + j * b_col];
      }
      for (; p < k; ++p) sum[0] += a[i * a_row + p * a_col] * b[p * b_row + j * b_col];
      c[i * n + j] = sum[0] + sum[1] + sum[2] + sum[3];
    }
  }
}

void evaluate_matmul(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  Shape a = inputs[0].shape(), b = inputs[1].shape();
  bool transpose_a = node.get_attributes().get_bool("transpose_a"),
       transpose_b = node.get_attributes().get_bool("transpose_b");
  if (a.size() == 1) {
    a = Shape{1, a[0]};
    transpose_a = false;
  }
  if (b.size() == 1) {
    b = Shape{b[0], 1};
    transpose_b = false;
  }
  const std::size_t ar = a.size(), br = b.size();
  const std::size_t m = a[ar - (transpose_a ? 1 : 2)], k = a[ar - (transpose_a ? 2 : 1)],
                    n = b[br - (transpose_b ? 2 : 1)];
  const std::size_t rank = std::max(ar, br) - 2;
  Shape batch;
  std::vector<std::size_t> a_steps, b_steps;
  const auto a_strides = element_strides(a), b_strides = element_strides(b);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool has_a = axis + ar >= rank + 2, has_b = axis + br >= rank + 2;
    const std::size_t ea = has_a ? a[axis + ar - rank - 2] : 1, eb = has_b ? b[axis + br - rank - 2] : 1;
    batch.push_back(ea == 1 ? eb : ea);
    a_steps.push_back(ea == 1 ? 0 : a_strides[axis + ar - rank - 2]);
    b_steps.push_back(eb == 1 ? 0 : b_strides[axis + br - rank - 2]);
  }
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), y(inputs[1]);
    Write<T> z(outputs[0]);
    std::fill(z.data(), z.data() + z.size(), T{0});
    if (z.size() > 0 && k > 0) {
      std::vector<std::size_t> index(batch.size(), 0);
      T* to = z.data();
      do {
        std::size_t ai = 0, bi = 0;
        for (std::size_t axis = 0; axis < rank; ++axis) {
          ai += index[axis] * a_steps[axis];
          bi += index[axis] * b_steps[axis];
        }
        multiply(x.data() + ai, transpose_a ? 1 : k, transpose_a ? m : 1, y.data() + bi, transpose_b ? 1 : n,
                 transpose_b ? k : 1, to, m, k, n);
        to += m * n;
      } while (advance(index, batch));
    }
    z.commit();
  });
}
// --- GroupedMatMul: a group's rows by the group's own matrix, which is stored transposed -------------------------------

void infer_grouped(Node& node) {
  const element::Type type = common_type(node, 0, 2);
  const PartialShape &a = node.get_input_partial_shape(0), &b = node.get_input_partial_shape(1);
  require_rank(node, 0, 2, 3);
  require_rank(node, 1, 3, 3);
  if (node.get_input_size() > 2) require_integral(node, 2);
  if (a.rank().is_dynamic() || b.rank().is_dynamic()) return node.set_output_type(0, type, PartialShape::dynamic());
  const bool by_offsets = a.size() == 2;
  if (by_offsets != (node.get_input_size() > 2))
    fail("expected the groups' ends as input 2 for rows of rank 2, and only for these; input 0 has the shape " +
         a.to_string());
  const bool fits = a[a.size() - 1].compatible(b[2]) && (by_offsets || a[0].compatible(b[0]));
  if (!fits) fail("rows of shape " + a.to_string() + " do not fit matrices of shape " + b.to_string());
  node.set_output_type(0, type, by_offsets ? PartialShape{a[0], b[1]} : PartialShape{a[0], a[1], b[1]});
}

void evaluate_grouped(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &a = inputs[0].shape(), &b = inputs[1].shape();
  const std::size_t groups = b[0], n = b[1], k = b[2], rows = a.size() == 2 ? a[0] : groups * a[1];
  std::vector<std::int64_t> ends;
  if (a.size() == 2)
    ends = to_vector<std::int64_t>(inputs[2]);
  else
    for (std::size_t g = 0; g < groups; ++g) ends.push_back(static_cast<std::int64_t>((g + 1) * a[1]));
  if (ends.size() != groups)
    fail("input 2 has " + std::to_string(ends.size()) + " ends, expected one for each of " + std::to_string(groups) +
         " groups");
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    if (end < begin || end > static_cast<std::int64_t>(rows))
      fail("a group ends at row " + std::to_string(end) + ", expected " + std::to_string(begin) + " to " +
           std::to_string(rows));
    begin = end;
  }
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), y(inputs[1]);
    Write<T> z(outputs[0]);
    std::fill(z.data(), z.data() + z.size(), T{0});  // Rows behind the last group stay so.
    std::size_t first = 0;
    for (std::size_t g = 0; g < groups && z.size() > 0 && k > 0; ++g) {
      const auto end = static_cast<std::size_t>(ends[g]);
      multiply(x.data() + first * k, k, 1, y.data() + g * n * k, 1, k, z.data() + first * n, end - first, k, n);
      first = end;
    }
    z.commit();
  });
}
}  // namespace

void add_matmul_rows(OperationTable& table) {
  table.add("GroupedMatMul", 17, 2, 3, infer_grouped, evaluate_grouped,
            "Groups of rows, each by a matrix of its own; the groups' ends are an optional third input.");
  table
      .add("MatMul", 1, 2, 2, infer_matmul, evaluate_matmul,
           "Matrix product of the last two axes; the others broadcast.")
      .flag("transpose_a", false)
      .flag("transpose_b", false);
}

}  // namespace v1
}  // namespace tenon
