// SPDX-License-Identifier: Apache-2.0
// MatMul by products of matrices in tiles.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

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
/// @param is_transposed  `weights` are [n, k].
/// @return whether they do.
bool lower_matrix_matmul(Builder& builder, const Node& node, const MatrixSides& sides, const Tensor& weights,
                         bool is_transposed);

/// The view if its rows can be read in chunks; else a copy.
View rows_of(Builder& builder, const Node& node, const View& view);

/// Adds RIGHT8(batch, n, k, to) over rows of few bits. @param row_text  The row that stands for column n, in parentheses.
void define_few_bits(Kernel& kernel, Builder& builder, const FewBits& few, std::size_t k,
                     const std::string& row_text = "(n)");

/// A product of weights of few bits, which are multiplied as they are stored where the left side has few rows, and else expanded before.
bool lower_few_bits_matmul(Builder& builder, const Node& node);

/// Computes that product by tiles. @param left, right  [..., m, k] and [..., n, k], whose rows are whole chunks; sums of 8-bit numbers
/// (without a meaning) are int.
/// @param few  What the right side is instead of `right`, which has its shape and no place yet.
Producer matrix_producer(Builder& builder, const Node& node, const View& left, const View& right, std::size_t k,
                         const std::optional<FewBits>& few = std::nullopt);

}  // namespace tenon::inline v1::gpu_device
