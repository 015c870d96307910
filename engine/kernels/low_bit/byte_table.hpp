// SPDX-License-Identifier: Apache-2.0
// Functions of 8-bit numbers, as tables of their 256 results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tenon::inline v1::engine::kernels {

/// y = table[x] over `count` bytes. May run in place.
void look_up(const std::array<std::uint8_t, 256>& table, const std::uint8_t* x, std::uint8_t* y, std::size_t count);
/// The same with real results.
void look_up(const std::array<float, 256>& table, const std::uint8_t* x, float* y, std::size_t count);

}  // namespace tenon::inline v1::engine::kernels
