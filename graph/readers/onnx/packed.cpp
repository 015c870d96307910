// SPDX-License-Identifier: Apache-2.0
// Unpacks numbers of few bits, and packs them as tensors do.
#include <tenon/graph/readers/onnx/internal/packed.hpp>

#include <cstring>
#include <memory>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

std::size_t row_bytes(const PackedRows& from) { return (size_of(from.columns) * size_of(from.bits) + 7) / 8; }

unsigned number_at(const std::uint8_t* row, std::size_t column, std::size_t bits) {
  const std::size_t at = column * bits;
  return row[at / 8] >> at % 8 & ((1U << bits) - 1);
}

void put(std::uint8_t* numbers, std::size_t at, bool four, unsigned value) {
  if (four)
    numbers[at / 2] = static_cast<std::uint8_t>(numbers[at / 2] | value << (at % 2 * 4));
  else
    numbers[at] = static_cast<std::uint8_t>(value);
}

Tensor repacked(const Tensor& bytes, const PackedRows& from, ElementType type, const Shape& shape) {
  Tensor made(type, shape);
  auto* to = static_cast<std::uint8_t*>(made.data());
  if (made.size_bytes() > 0) std::memset(to, 0, made.size_bytes());
  const auto* source = static_cast<const std::uint8_t*>(bytes.data());
  const std::size_t rows = size_of(from.rows), columns = size_of(from.columns), bits = size_of(from.bits);
  const bool four = type == ElementType::kU4, same = bits == bit_width(type) && from.column_order.empty();
  for (std::size_t r = 0; r < rows; ++r) {
    const std::uint8_t* row = source + r * row_bytes(from);
    if (same && columns * bits % 8 == 0) {
      std::memcpy(to + r * row_bytes(from), row, row_bytes(from));
      continue;
    }
    for (std::size_t c = 0; c < columns; ++c)
      put(to, r * columns + c, four,
          number_at(row, from.column_order.empty() ? c : size_of(from.column_order[c]), bits));
  }
  return made;
}

}  // namespace

Out unpacked_rows(const NodeContext& node, std::size_t index, const PackedRows& from, const Shape& shape) {
  if (from.bits != 2 && from.bits != 4 && from.bits != 8)
    unimplemented("numbers of " + std::to_string(from.bits) +
                  " bits are not written out; those of 2, 4 and 8 are: quantise the weights to one of these");
  const ElementType type = from.bits == 8 ? ElementType::kU8 : ElementType::kU4;
  const bool as_it_is = from.column_order.empty() && size_of(from.bits) == bit_width(type) &&
                        size_of(from.columns) * size_of(from.bits) % 8 == 0;
  if (as_it_is) return reinterpreted(node, index, type, shape);
  // Checks the bytes.
  const Out bytes = reinterpreted(node, index, ElementType::kU8, Shape{size_of(from.rows), row_bytes(from)});
  const Tensor made = repacked(*bytes.get_tensor().value(), from, type, shape);
  return std::make_shared<op::v0::Constant>(made)->output(0);
}

Out dequantized_numbers(const Out& numbers, const Out& scale, const Out& zero, std::int64_t bits) {
  const ElementType type = scale.get_element_type();
  Out middle = zero;
  if (!middle)
    middle = std::make_shared<op::v0::Constant>(numbers.get_element_type(), Shape{1, 1, 1},
                                                Ints{std::int64_t{1} << (bits - 1)})
                 ->output(0);
  return mul(sub(convert(numbers, type), convert(middle, type)), scale);
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
