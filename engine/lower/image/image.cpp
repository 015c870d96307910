// SPDX-License-Identifier: Apache-2.0
// Pictures outside input stages: resizes with any number of taps, and NV12 and I420 to colours, batches included.
#include <cmath>

#include <tenon/engine/kernels/image/input_stage.hpp>
#include <tenon/engine/kernels/image/separable_resize.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/image/image.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>

namespace tenon::inline v1::engine {
namespace {

/// The two neighbouring axes that a resize changes, and their scales.
struct ResizedAxes {
  std::size_t first = 0;  ///< Rows; columns are the next.
  float scales[2] = {1, 1};
};

bool find_axes(const std::shared_ptr<Node>& node, const Shape& in, const Shape& out, ResizedAxes& axes) {
  const auto& attributes = node->get_attributes();
  for (const char* name : {"pads_begin", "pads_end"}) {
    for (auto pad : attributes.get_ints(name, {})) {
      if (pad != 0) return false;
    }
  }
  std::vector<std::size_t> changed;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    if (in[axis] != out[axis]) changed.push_back(axis);
  }
  if (changed.empty() || changed.size() > 2 || changed.back() - changed.front() > 1) return false;
  axes.first = changed.size() == 2 || changed[0] + 1 < in.size() ? changed[0] : changed[0] - 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t axis = axes.first + i;
    axes.scales[i] = static_cast<float>(out[axis]) / static_cast<float>(in[axis]);
  }
  // Given scales may differ from the ratio of extents: those nodes stay with the reference kernel.
  return attributes.get_string("shape_calculation_mode", "sizes") == "sizes";
}

bool lower_colours(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& made = builder.value(node->output(0));
  if (made.type != ElementType::kU8 || made.shape.size() != 4 || element_count(made.shape) == 0) return false;
  const std::string_view type = node->get_type_name();
  InputStageOptions options;
  options.source.format = type.substr(0, 4) == "NV12" ? kNv12 : kI420;
  options.source.width_px = static_cast<std::uint32_t>(made.shape[2]);
  options.source.height_px = static_cast<std::uint32_t>(made.shape[1]);
  if (made.shape[1] > 65536 || made.shape[2] > 65536) return false;
  options.width = made.shape[2];
  options.height = made.shape[1];
  options.type = ElementType::kU8;
  options.layout = ImageLayout::kNhwc;
  options.channels = type.substr(6) == "BGR" ? ChannelOrder::kBgr : ChannelOrder::kRgb;
  options.colour_rule = ColourRule::kPerPixelRounded;
  const auto stage = std::make_shared<const InputStagePlan>(make_spec(options));
  const std::size_t inputs = node->get_input_size(), batch = made.shape[0], pixels = made.shape[1] * made.shape[2];
  std::vector<BufferSlice> read;
  for (std::size_t i = 0; i < inputs; ++i) read.push_back(builder.plain(builder.input(node, i)));
  const BufferSlice to = builder.define_plain(made);
  builder.add_kernel(node, "colours", read, {to}, [=](std::span<void* const> p) {
    const InputStageSpec& spec = stage->spec();
    for (std::size_t n = 0; n < batch; ++n) {
      PlaneView planes[3];
      std::size_t offset = n * pixels * 3 / 2;
      for (std::size_t plane = 0; plane < spec.layout.plane_count; ++plane) {
        const Shape shape = spec.plane_shape(plane);
        const std::size_t pitch = shape[2] * shape[3], bytes = shape[1] * pitch;
        const auto* base = static_cast<const std::uint8_t*>(p[inputs == 1 ? 0 : plane]);
        planes[plane] = {base + (inputs == 1 ? offset : n * bytes), static_cast<std::ptrdiff_t>(pitch)};
        offset += bytes;
      }
      stage->run(std::span(planes, spec.layout.plane_count), static_cast<std::uint8_t*>(p[inputs]) + n * pixels * 3);
    }
  });
  return true;
}

}  // namespace

bool lower_resize_by_taps(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  const std::string mode = node->get_attributes().get_string("mode");
  const bool bytes = source.type == ElementType::kU8;
  if (source.type != ElementType::kF32 && !bytes) return false;
  // Pillow keeps bytes between its two passes; the reference kernel does the same.
  if (mode == "area" || (bytes && mode.find("pillow") != mode.npos)) return false;
  if (source.shape.size() < 2 || element_count(made.shape) == 0 || element_count(source.shape) == 0) return false;
  ResizedAxes axes;
  if (!find_axes(node, source.shape, made.shape, axes)) return false;
  const std::size_t rows = axes.first, columns = rows + 1;
  std::size_t pictures = 1, pixel = 1;
  for (std::size_t axis = 0; axis < rows; ++axis) pictures *= source.shape[axis];
  for (std::size_t axis = columns + 1; axis < source.shape.size(); ++axis) pixel *= source.shape[axis];
  if (source.shape[columns] * pixel > (std::size_t{1} << 30)) return false;
  const auto kernel = std::make_shared<const kernels::SeparableResize>(
      pictures, source.shape[columns], source.shape[rows], pixel,
      resize_taps(*node, source.shape[columns], made.shape[columns], axes.scales[1]),
      resize_taps(*node, source.shape[rows], made.shape[rows], axes.scales[0]));
  const BufferSlice from = builder.plain(source);
  const BufferSlice to = builder.define_plain(made);
  builder.add_kernel(node, mode, {from}, {to}, [=](std::span<void* const> p) {
    if (bytes)
      kernel->run(static_cast<const std::uint8_t*>(p[0]), static_cast<std::uint8_t*>(p[1]));
    else
      kernel->run(static_cast<const float*>(p[0]), static_cast<float*>(p[1]));
  });
  return true;
}

void register_colours(LoweringTable& table) {
  for (const char* type : {"NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR"}) table[type] = {lower_colours, false};
}

}  // namespace tenon::inline v1::engine
