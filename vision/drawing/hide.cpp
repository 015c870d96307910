// SPDX-License-Identifier: Apache-2.0
// Replaces parts of pictures by the means of cells.
#include <tenon/vision/hide.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/graph/input_stage/spec.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr std::size_t kLeastCell = 4;  ///< In pixels.

/// The planes of a frame that may be written. @errors as Canvas
std::array<PlaneView, 3> writable_planes(const Frame& frame, const FrameLayout& layout) {
  for (std::size_t plane = 0; plane < layout.plane_count; ++plane) {
    if (plane < frame.plane_count() && frame.plane(plane).is_host_addressable() && frame.plane(plane).is_writable())
      continue;
    throw Error(Code::kFailedPrecondition,
                "hiding: plane " + std::to_string(plane) +
                    " is missing, cannot be reached from the host or may not be written; hide "
                    "in a copy of the frame");
  }
  InputStageSpec shape;
  shape.layout = layout;
  shape.source_width = frame.info().width_px;
  shape.source_height = frame.info().height_px;
  return plane_views(shape, frame.planes());
}

}  // namespace

/// The samples of one component in the part.
struct Hider::Part {
  std::uint8_t* first;     ///< The first sample's row.
  std::ptrdiff_t pitch;    ///< In bytes.
  std::size_t step, left;  ///< In samples.
  std::size_t width, height;
  bool is_ellipse;

  /// The samples of a row that are hidden.
  std::pair<std::size_t, std::size_t> hidden(std::size_t row) const {
    if (!is_ellipse) return {0, width};
    const double y = (static_cast<double>(row) + 0.5) / static_cast<double>(height) * 2 - 1;
    const double half = std::sqrt(std::max(0.0, 1 - y * y)) * static_cast<double>(width) / 2;
    const double middle = static_cast<double>(width) / 2;
    return {static_cast<std::size_t>(std::floor(middle - half)),
            std::min(width, static_cast<std::size_t>(std::ceil(middle + half)))};
  }
};

void Hider::divide(Axis& axis, std::size_t samples, std::size_t cells) const {
  axis.cells = std::clamp<std::size_t>(cells, 1, samples);
  axis.cell.resize(samples);
  axis.weight.resize(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    // Twice the place in cells, from the middle of the first one, in 1/256.
    const std::size_t at = (2 * i + 1) * axis.cells * 256 / (2 * samples);
    if (!options_.is_smooth) {
      axis.cell[i] = static_cast<std::uint32_t>(at / 256);
      axis.weight[i] = 0;
    } else {
      const std::size_t inner = std::clamp<std::size_t>(at, 128, axis.cells * 256 - 128) - 128;
      axis.cell[i] = static_cast<std::uint32_t>(inner / 256);
      axis.weight[i] = static_cast<std::uint32_t>(inner % 256);
    }
  }
}

template <typename Load>
void Hider::sum(const Part& part, Load load) {
  means_.resize(x_.cells * y_.cells);
  for (std::size_t cell_y = 0; cell_y < y_.cells; ++cell_y) {
    const std::size_t top = cell_y * part.height / y_.cells, bottom = (cell_y + 1) * part.height / y_.cells;
    for (std::size_t cell_x = 0; cell_x < x_.cells; ++cell_x) {
      const std::size_t left = cell_x * part.width / x_.cells, right = (cell_x + 1) * part.width / x_.cells;
      std::uint64_t total = 0;
      for (std::size_t y = top; y < bottom; ++y) {
        const std::uint8_t* const row = part.first + static_cast<std::ptrdiff_t>(y) * part.pitch;
        for (std::size_t x = left; x < right; ++x) total += load(row, part.left + x * part.step);
      }
      const std::uint64_t count = (bottom - top) * (right - left);
      means_[cell_y * x_.cells + cell_x] = static_cast<std::uint32_t>((total + count / 2) / count);
    }
  }
}

template <typename Store>
void Hider::write(const Part& part, Store store) {
  for (std::size_t y = 0; y < part.height; ++y) {
    std::uint8_t* const row = part.first + static_cast<std::ptrdiff_t>(y) * part.pitch;
    const std::uint32_t* const upper = means_.data() + y_.cell[y] * x_.cells;
    const std::uint32_t down = y_.weight[y];
    const std::uint32_t* const lower = upper + (down != 0 ? x_.cells : 0);
    const auto [begin, end] = part.hidden(y);
    for (std::size_t x = begin; x < end; ++x) {
      const std::uint32_t right = x_.weight[x], at = x_.cell[x], next = at + (right != 0 ? 1 : 0);
      const std::uint32_t above = upper[at] * (256 - right) + upper[next] * right;
      const std::uint32_t below = lower[at] * (256 - right) + lower[next] * right;
      const std::uint64_t mixed = std::uint64_t{above} * (256 - down) + std::uint64_t{below} * down;
      store(row, part.left + x * part.step, static_cast<std::uint32_t>((mixed + 32768) >> 16));
    }
  }
}

void Hider::hide(const Frame& frame, const Box& box) {
  const FrameInfo& info = frame.info();
  const FrameLayout layout = frame_layout(info);
  const std::array<PlaneView, 3> planes = writable_planes(frame, layout);
  const auto within = [](float value, std::uint32_t most) {
    return static_cast<std::size_t>(std::clamp(value, 0.0f, static_cast<float>(most)));
  };
  if (!(box.x2 > box.x1) || !(box.y2 > box.y1)) return;
  const std::uint32_t width = info.upright_width_px(), height = info.upright_height_px();
  const std::size_t x1 = within(std::floor(box.x1), width), x2 = within(std::ceil(box.x2), width);
  const std::size_t y1 = within(std::floor(box.y1), height), y2 = within(std::ceil(box.y2), height);
  if (x1 >= x2 || y1 >= y2) return;
  const Area<std::size_t> area =
      stored_area<std::size_t>({x1, y1, x2 - x1, y2 - y1}, info.rotation, info.width_px, info.height_px);
  const std::size_t longer = std::max(area.width, area.height);
  const std::size_t cell = std::max(kLeastCell, longer / static_cast<std::size_t>(std::max(options_.cells, 1)));
  for (std::size_t k = 0; k < layout.component_count; ++k) {
    const FrameComponent& c = layout.components[k];
    // A sample that lies in the part with some of its pixels is hidden, too.
    const auto first = [](std::size_t at, int shift) { return at >> shift; };
    const auto last = [](std::size_t at, int shift) { return (at + (std::size_t{1} << shift) - 1) >> shift; };
    const std::size_t left = first(area.x, c.shift_x), right = last(area.x + area.width, c.shift_x);
    const std::size_t top = first(area.y, c.shift_y), bottom = last(area.y + area.height, c.shift_y);
    const PlaneView& plane = planes[c.plane];
    const auto step = static_cast<std::size_t>(c.step);
    const auto pitch = static_cast<std::ptrdiff_t>(plane.pitch_bytes);
    auto* const data = static_cast<std::uint8_t*>(const_cast<void*>(plane.data));
    const Part part{data + static_cast<std::ptrdiff_t>(top) * pitch,
                    pitch,
                    step,
                    left * step + static_cast<std::size_t>(c.offset),
                    right - left,
                    bottom - top,
                    options_.is_ellipse};
    divide(x_, part.width, area.width / cell);
    divide(y_, part.height, area.height / cell);
    if (layout.bits > 8) {
      sum(part, [&](const std::uint8_t* row, std::size_t at) {
        return layout.value_of(reinterpret_cast<const std::uint16_t*>(row)[at]);
      });
      write(part, [&](std::uint8_t* row, std::size_t at, std::uint32_t value) {
        reinterpret_cast<std::uint16_t*>(row)[at] = layout.sample_of(static_cast<std::uint16_t>(value));
      });
    } else {
      sum(part, [](const std::uint8_t* row, std::size_t at) { return row[at]; });
      write(part,
            [](std::uint8_t* row, std::size_t at, std::uint32_t value) { row[at] = static_cast<std::uint8_t>(value); });
    }
  }
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
