// SPDX-License-Identifier: Apache-2.0
// The transform "histogram": counts how often each value occurs.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/frame_layout.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/overlay/known.hpp>
#include <tenon/elements/places.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {
namespace {

/// The counts of the 256 levels of one component.
using Levels = std::vector<std::int32_t>;

/// The level of a sample: the 8 high bits of its value.
std::uint8_t level_of(const FrameLayout&, std::uint8_t sample) { return sample; }
std::uint8_t level_of(const FrameLayout& layout, std::uint16_t sample) {
  return static_cast<std::uint8_t>(layout.value_of(sample) >> (layout.bits - 8));
}

template <typename T>
void count(const FrameLayout& layout, const Tensor& plane, const FrameComponent& component, std::size_t columns,
           std::size_t rows, Levels& levels) {
  for (std::size_t y = 0; y < rows; ++y) {
    const auto* row = reinterpret_cast<const T*>(static_cast<const std::byte*>(plane.data()) +
                                                 plane.byte_strides()[0] * static_cast<std::ptrdiff_t>(y));
    for (std::size_t x = 0; x < columns; ++x) ++levels[level_of(layout, row[x * component.step + component.offset])];
  }
}

class Histogram final : public TransformInplace {
 public:
  Histogram(const Parameters& given, const Environment& environment)
      : bins_(static_cast<std::size_t>(given.integer("bins"))),
        frames_(environment.ledger),
        ledger_(*environment.ledger) {}

  void process(std::uint32_t, Frame& frame) override {
    static const EdgeId edge = register_edge("histogram");
    const Frame host = frames_.map(frame);
    const FrameInfo& info = host.info();
    const FrameLayout layout = frame_layout(info);
    Tensor made(ElementType::kI32, {layout.component_count, bins_});
    auto* out = made.data<std::int32_t>();
    for (std::size_t k = 0; k < layout.component_count; ++k) {
      const FrameComponent& component = layout.components[k];
      const auto halved = [](std::uint32_t extent, unsigned shift) { return (extent + (1u << shift) - 1) >> shift; };
      const std::size_t columns = halved(info.width_px, component.shift_x),
                        rows = halved(info.height_px, component.shift_y);
      levels_.assign(256, 0);
      const Tensor& plane = host.plane(component.plane);
      layout.bits > 8 ? count<std::uint16_t>(layout, plane, component, columns, rows, levels_)
                      : count<std::uint8_t>(layout, plane, component, columns, rows, levels_);
      for (std::size_t bin = 0; bin < bins_; ++bin) out[k * bins_ + bin] = 0;
      for (std::size_t level = 0; level < 256; ++level) out[k * bins_ + level * bins_ / 256] += levels_[level];
    }
    ledger_.book_converted(edge, host.size_bytes());
    const char* const meaning = layout.component_count == 1 ? "Y" : layout.is_yuv ? "YUV" : "RGB";
    metadata::of(frame).add(metadata::TensorOutput{made, "histogram", "", meaning});
  }

 private:
  const std::size_t bins_;
  HostFrames frames_;
  Ledger& ledger_;
  Levels levels_;
};

}  // namespace

KnownElement histogram() {
  Description made;
  made.name = "histogram";
  made.about = "Adds a histogram of the frame's samples to its metadata, as a tensor [components, bins]";
  made.role = Role::kTransformInplace;
  made.formats = readable_formats();
  made.parameters = {
      {"bins", "Number of bins of equal width for the values 0 to 255", std::int64_t{32}, false, 1, 256}};
  return {made, [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<Histogram>(given, environment);
          }};
}

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
