// SPDX-License-Identifier: Apache-2.0
// Constants that hold numbers of 2 to 8 bits as bytes, as ONNX Runtime's quantised operations have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

inline std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

/// How the numbers lie: each row begins at a whole byte, and its numbers follow each other from the lowest bit on.
struct PackedRows {
  std::int64_t bits = 4, rows = 0, columns = 0;
  Ints column_order = {};  ///< The column that comes to each place; empty: they stay.
};

/// Numbers of up to 4 bits become u4, others u8, so that devices find weights that they keep packed. A constant whose bytes
/// are that already is not copied.
/// @errors as reinterpreted(); kUnimplemented: a number of bits other than 2, 4 and 8.
Out unpacked_rows(const NodeContext& node, std::size_t index, const PackedRows& from, const Shape& shape);

/// (numbers - zero) * scale in the type of `scale`; all broadcast. A null `zero` is the middle of the numbers' range.
Out dequantized_numbers(const Out& numbers, const Out& scale, const Out& zero, std::int64_t bits);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
