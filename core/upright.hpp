// SPDX-License-Identifier: Apache-2.0
// Turning pictures upright, for readers that show them as they are stored.
#pragma once

#include <cstdint>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {

/// Whether a picture of the format that is turned by a quarter is one of the same format: chroma is halved in both axes or in
/// none.
TENON_API bool turns_into_itself(PixelFormat format);

/// The one change that does the same as `first` and then `second`.
constexpr Rotation then(Rotation first, Rotation second) {
  // A picture that is turned and then mirrored looks like one that is mirrored and then turned the other way.
  const unsigned turn = static_cast<unsigned>(first) & 3u;
  const unsigned sum = (static_cast<unsigned>(second) + (is_mirrored(second) ? 4u - turn : turn)) & 3u;
  return static_cast<Rotation>(sum + (is_mirrored(first) != is_mirrored(second) ? 4u : 0u));
}

/// Copies the picture of `from`, turned upright, into `to`, as far as it fits: its right columns and lower rows are cut. Rows and
/// columns of `to` beyond it stay as they are. @return The number of bytes copied.
/// @pre Both have the same linear format and are in host memory; turns_into_itself() where it is a quarter turn.
/// @errors kUnimplemented: pixels of more than 4 samples
TENON_API std::uint64_t copy_upright(const Frame& from, const Frame& to);
/// The same with `change` as what is to be done to the stored picture, instead of what its info says.
TENON_API std::uint64_t copy_upright(const Frame& from, Rotation change, const Frame& to);

}  // namespace v1
}  // namespace tenon
