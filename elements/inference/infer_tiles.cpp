// SPDX-License-Identifier: Apache-2.0
// The part of "infer" that cuts frames into tiles, and notes what was found in which.
#include <cstdint>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/inference/infer.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {

void Infer::make_tiles(Stream& stream) const {
  PictureStage whole(*model_->single, stream.info);
  const std::size_t width = tiles_.width ? tiles_.width : whole.target_width(),
                    height = tiles_.height ? tiles_.height : whole.target_height();
  std::vector<PixelRect> parts;
  try {
    parts = vision::slices_of(stream.info.upright_width_px(), stream.info.upright_height_px(), width, height,
                              tiles_.overlap);
  } catch (const Error& error) {
    throw Error(error.code(), owner_ + ": " + error.what());
  }
  stream.tiles.reserve(parts.size() + 1);
  for (const PixelRect& part : parts) stream.tiles.emplace_back(*model_->single, stream.info, part);
  if (tiles_.with_whole && parts.size() > 1) stream.tiles.push_back(std::move(whole));
}

void Infer::add_tiles(Passing& frame, Stream& stream, Output& output) {
  if (stream.tiles.empty()) make_tiles(stream);
  const Frame host = on_host(frame.item.frame);
  std::uint32_t number = 0;
  for (PictureStage& stage : stream.tiles)
    write_picture({&frame, metadata::kFrame, stage.geometry(), stage.frame_width(), stage.frame_height(), number++},
                  host, stage, output);
}

/// Notes which objects of the frame were found in the tile: those that were not there before.
void Infer::note_objects(const Picture& picture, std::size_t before) {
  const auto all = metadata::of(picture.frame->item.frame).all<metadata::Detection>();
  for (std::size_t i = before; i < all.size(); ++i) picture.frame->sliced.push_back({all[i].id, picture.tile});
}

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
