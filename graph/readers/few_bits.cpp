// SPDX-License-Identifier: Apache-2.0
// Unpacks numbers of 2, 3 and 6 bits.
#include <cstdint>
#include <cstring>

#include <tenon/graph/readers/internal/few_bits.hpp>

namespace tenon {
inline namespace v1 {
namespace readers {

namespace {

unsigned stored_number(const std::uint8_t* bytes, std::size_t at, unsigned bits) {
  if (bits == 2) return bytes[at / 4] >> (at % 4 * 2) & 3U;
  // Groups of three bytes: the lower parts fill two, the upper ones the third.
  const std::size_t per_group = 24 / bits, low = bits == 3 ? 2 : 4, high = bits - low, inside = at % per_group;
  const std::uint8_t* group = bytes + at / per_group * 3;
  const auto part = [&](const std::uint8_t* from, std::size_t index, std::size_t width) -> unsigned {
    const std::size_t per_byte = 8 / width;
    return from[index / per_byte] >> (8 - (index % per_byte + 1) * width) & ((1U << width) - 1);
  };
  return part(group, inside, low) | part(group + 2, inside, high) << low;
}

}  // namespace

std::optional<FewBits> few_bits_from_name(std::string_view name) {
  if (name == "u2") return FewBits{2, false, ElementType::kU4};
  if (name == "u3") return FewBits{3, false, ElementType::kU4};
  if (name == "u6") return FewBits{6, false, ElementType::kU8};
  return std::nullopt;
}

Tensor widened(const Tensor& bytes, const FewBits& stored, const Shape& shape, const std::string& what) {
  const auto size = checked_size_bytes(stored.type, shape);
  if (!size) throw Error(Code::kInvalidArgument, what + " of shape " + to_string(shape) + " has too many elements");
  const std::size_t count = element_count(shape);
  if (bytes.size_bytes() != stored.bytes(count))
    throw Error(Code::kInvalidArgument, what + " has " + std::to_string(count) + " numbers of " +
                                            std::to_string(stored.bits) + " bits, which need " +
                                            std::to_string(stored.bytes(count)) + " bytes, but it has " +
                                            std::to_string(bytes.size_bytes()));
  Tensor made(stored.type, shape);
  if (*size == 0) return made;
  const auto* from = static_cast<const std::uint8_t*>(bytes.data());
  auto* to = static_cast<std::uint8_t*>(made.data());
  std::memset(to, 0, *size);
  const bool four = bit_width(stored.type) == 4;
  for (std::size_t i = 0; i < count; ++i) {
    unsigned number = stored_number(from, i, stored.bits);
    if (stored.is_signed && number >> (stored.bits - 1) != 0) number |= ~0U << stored.bits & 15U;
    if (four)
      to[i / 2] = static_cast<std::uint8_t>(to[i / 2] | number << (i % 2 * 4));
    else
      to[i] = static_cast<std::uint8_t>(number);
  }
  return made;
}

}  // namespace readers
}  // namespace v1
}  // namespace tenon
