// SPDX-License-Identifier: Apache-2.0
// The built-in letters.
#pragma once

#include <cstdint>

namespace tenon {
inline namespace v1 {
namespace vision {

inline constexpr int kGlyphWidth = 5, kGlyphHeight = 7;
/// Characters 32 to 126; seven rows each, bit 4 is the left dot.
extern const std::uint8_t kFont[95][7];

}  // namespace vision
}  // namespace v1
}  // namespace tenon
