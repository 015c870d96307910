// SPDX-License-Identifier: Apache-2.0
// Runs the engine's input kernel in the calling thread.
#include <tenon/elements/overlay/stage.hpp>

#include <array>
#include <cstring>
#include <span>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {

void Stage::prepare(const FrameInfo& info) {
  if (plan_ && info == info_) return;
  InputStageOptions options = wanted_;
  options.source = info;
  if (options.width == 0) options.width = info.upright_width_px();
  if (options.height == 0) options.height = info.upright_height_px();
  const InputStageSpec spec = make_spec(options);
  plan_.emplace(spec);
  info_ = info;
  sideways_.resize(spec.transposed ? element_count(spec.target_shape()) * size_bytes(spec.type) : 0);
}

void Stage::run(const Frame& frame, void* target, Ledger& ledger) {
  static const EdgeId edge = register_edge("frame->picture");
  const InputStageSpec& spec = plan_->spec();
  const auto planes = plane_views(spec, frame.planes());
  const std::span<const PlaneView> used(planes.data(), spec.input_count());
  plan_->run_rows(used, spec.transposed ? sideways_.data() : target, 0, spec.height);
  if (spec.transposed) turn(sideways_.data(), static_cast<std::byte*>(target));
  ledger.book_map(edge, false);
  ledger.book_converted(edge, frame.size_bytes());
}

/// Transposes the picture: rows become columns.
void Stage::turn(const std::byte* from, std::byte* to) const {
  const InputStageSpec& spec = plan_->spec();
  const std::size_t sample = size_bytes(spec.type), planes = spec.planar ? spec.channels : 1;
  const std::size_t pixel = spec.planar ? sample : sample * spec.channels;
  for (std::size_t p = 0; p < planes; ++p) {
    const std::size_t plane = p * spec.height * spec.width * pixel;
    for (std::size_t y = 0; y < spec.height; ++y) {
      for (std::size_t x = 0; x < spec.width; ++x)
        std::memcpy(to + plane + (x * spec.height + y) * pixel, from + plane + (y * spec.width + x) * pixel, pixel);
    }
  }
}

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
