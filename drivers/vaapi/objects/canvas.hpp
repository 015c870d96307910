// SPDX-License-Identifier: Apache-2.0
// A picture in memory of its own.
#pragma once

#include <cstdint>
#include <vector>

#include <tenon/drivers/vaapi/objects/format.hpp>

namespace tenon::va {

/// Planes that keep their memory for the next picture.
class Canvas {
 public:
  /// @errors std::bad_alloc
  const Pixels& prepare(AVPixelFormat format, int width_px, int height_px);

 private:
  std::vector<std::uint8_t> bytes_;
  Pixels pixels_;
};

}  // namespace tenon::va
