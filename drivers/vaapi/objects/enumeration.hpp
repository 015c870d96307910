// SPDX-License-Identifier: Apache-2.0
// Enumerations that clients fill in.
#pragma once

#include <cstdint>
#include <cstring>

namespace tenon::va {

/// The number that a client stored in an enumeration, which may be none of its enumerators.
template <class Enum>
std::uint32_t number_of(const Enum& value) noexcept {
  static_assert(sizeof(Enum) == sizeof(std::uint32_t));
  std::uint32_t number;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

}  // namespace tenon::va
