// SPDX-License-Identifier: Apache-2.0
// The parameters of tiles.
#include <tenon/elements/inference/tiles.hpp>

#include <cstdint>
#include <string>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {

std::vector<Parameter> tile_parameters() {
  return {
      {"tile_width", "For on=tiles: width of a tile in pixels of the frame; 0: that of the model's input",
       std::int64_t{0}, false, 0, 65536},
      {"tile_height", "For on=tiles: height of a tile; 0: that of the model's input", std::int64_t{0}, false, 0, 65536},
      {"tile_overlap", "For on=tiles: the least fraction of its size that a tile shares with its neighbour", 0.2, false,
       0, 0.9},
      {"tile_whole", "For on=tiles: the model also sees the whole frame, for objects that are larger than a tile",
       true},
      choice("tile_join",
             "For on=tiles: objects of different tiles that are one become the box around them (merge), the one with "
             "the highest score (suppress), or stay (none)",
             "merge", {"merge", "suppress", "none"}),
      choice("tile_measure",
             "For on=tiles: the overlap that is compared with tile_match: the intersection over the smaller box (ios), "
             "or over the union (iou)",
             "ios", {"ios", "iou"}),
      {"tile_match", "For on=tiles: the overlap from which on objects of different tiles are one", 0.5, false, 0, 1},
      {"tile_across_labels", "For on=tiles: objects of different labels may be one", false},
  };
}

TileSettings tile_settings(const Parameters& given) {
  using vision::JoinOptions;
  TileSettings made;
  made.width = static_cast<std::size_t>(given.integer("tile_width"));
  made.height = static_cast<std::size_t>(given.integer("tile_height"));
  made.overlap = given.number("tile_overlap");
  made.with_whole = given.flag("tile_whole");
  made.joins = given.text("tile_join") != "none";
  made.join.how = given.text("tile_join") == "suppress" ? JoinOptions::How::kSuppress : JoinOptions::How::kMerge;
  made.join.measure =
      given.text("tile_measure") == "iou" ? JoinOptions::Measure::kUnion : JoinOptions::Measure::kSmaller;
  made.join.threshold = static_cast<float>(given.number("tile_match"));
  made.join.across_labels = given.flag("tile_across_labels");
  return made;
}

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
