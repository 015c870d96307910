// SPDX-License-Identifier: Apache-2.0
// MatMul by products of matrices in tiles.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/devices/gpu/lower/build/few_bits.hpp>
#include <tenon/devices/gpu/program/kernel.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// [batch..., m, k] by [batch..., k, n], both with the batch of the result.
struct MatrixSides {
  View left, right;
};

/// Sets the node's output if the device and the sides suit these kernels.
/// @param sides  As they are multiplied. @param weights  The right side's values as they were given, if they are constant.
/// @param is_transposed  `weights` are [n, k]. @param norm  What is multiplied instead of the left side; null: that is.
/// @return whether they do.
bool lower_matrix_matmul(Builder& builder, const Node& node, const MatrixSides& sides, const Tensor& weights,
                         bool is_transposed, const RowNorm* norm);

/// The view if its rows can be read in chunks; else a copy.
View rows_of(Builder& builder, const Node& node, const View& view);

/// Adds what kernels/matrix_rows.cl reads of a right side: rows of few bits. @param row_text  The row that stands for column n, in
/// parentheses. @param side  Before the names of a second right side.
void define_few_bits(Kernel& kernel, Builder& builder, const FewBits& few, std::size_t k,
                     const std::string& row_text = "(n)", const std::string& side = {});

/// The same of reals. @param row  Where the row that stands for column n begins in B.
void define_reals(Kernel& kernel, ElementType type, const std::string& row, const std::string& side = {});

/// A product of weights of few bits, which are multiplied as they are stored where the left side has few rows, and else expanded before.
bool lower_few_bits_matmul(Builder& builder, const Node& node);

/// Products of one left side.
struct MatrixWork {
  struct Right {
    View view;                     ///< [..., n, k]
    std::optional<FewBits> few{};  ///< What it is instead of `view`, which has its shape and no place yet.
  };
  View left;                      ///< [..., m, k]
  std::vector<Right> rights;      ///< One, or two of one shape if there are few rows.
  std::size_t k = 0;              ///< How long rows of both sides are: whole chunks.
  std::optional<RowNorm> norm{};  ///< What is multiplied instead of `left`, which has few rows.
  std::size_t beside = 1;         ///< See MatrixProduct.
};
/// Computes them by tiles, or by warps if there are few rows. Sums of 8-bit numbers (without a meaning) are int.
Producer matrix_producer(Builder& builder, const Node& node, const MatrixWork& work);

}  // namespace tenon::inline v1::gpu_device
