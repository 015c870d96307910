// SPDX-License-Identifier: Apache-2.0
// What parameters say of the tiles in which a model sees large pictures.
#pragma once

#include <cstddef>
#include <vector>

#include <tenon/elements/parameters.hpp>
#include <tenon/vision/slices.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {

struct TileSettings {
  std::size_t width = 0, height = 0;  ///< In pixels of the frame; 0: those of the model's input.
  double overlap = 0.2;
  bool with_whole = true;  ///< The model also sees the whole frame.
  bool joins = true;
  vision::JoinOptions join = {};
};

std::vector<Parameter> tile_parameters();
TileSettings tile_settings(const Parameters& given);

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
