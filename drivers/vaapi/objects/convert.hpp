// SPDX-License-Identifier: Apache-2.0
// Copies and conversions between planes in memory.
#pragma once

#include <memory>

#include <tenon/drivers/vaapi/objects/format.hpp>

struct SwsContext;

namespace tenon::va {

/// Copies pictures of one size whose samples correspond one to one: planar, semi-planar and packed forms of the same
/// chroma, samples of 8 bits and more. Exact unless the destination has fewer bits. Returns false and does nothing for
/// others.
bool copy_samples(const Pixels& to, const Pixels& from);

/// Colour matrix and range of a picture.
struct Colour {
  int matrix = 5;  ///< AVColorSpace's numbers; 5: BT.601.
  bool full_range = false;
  bool operator==(const Colour&) const = default;
};

/// Scales and converts by libswscale; keeps its tables for the next picture of the same kind.
/// @thread one at a time.
class Scaler {
 public:
  Scaler() = default;
  ~Scaler();
  Scaler(const Scaler&) = delete;
  Scaler& operator=(const Scaler&) = delete;
  /// @param flags  SWS_*. False if libswscale cannot convert between the formats.
  bool run(const Pixels& to, const Colour& to_colour, const Pixels& from, const Colour& from_colour, int flags);

 private:
  SwsContext* context_ = nullptr;
};

/// Calls copy_samples(), or uses a temporary Scaler where that does not apply.
bool convert(const Pixels& to, const Pixels& from);

}  // namespace tenon::va
