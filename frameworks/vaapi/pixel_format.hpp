// SPDX-License-Identifier: Apache-2.0
// VA-API's and Tenon's pixel formats.
#pragma once

#include <cstdint>

#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// One pair of formats. VA's names are those of the bytes in memory.
struct FormatMapping {
  std::uint32_t va;  ///< VA_FOURCC_*
  PixelFormat format;
  std::uint32_t rt_format;  ///< VA_RT_FORMAT_*
};

/// Null if Tenon cannot describe VA_FOURCC `va`.
const FormatMapping* find_mapping(std::uint32_t va);

/// Null if VA-API has no format of those planes. The modifier does not matter.
const FormatMapping* find_mapping(PixelFormat format);

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
