// SPDX-License-Identifier: Apache-2.0
// Interpolate in any mode over any axes, one after the other.
#include <algorithm>
#include <memory>

#include <tenon/engine/kernels/data_movement/mapped_copy.hpp>
#include <tenon/engine/kernels/image/axis_resize.hpp>
#include <tenon/engine/kernels/simd/copy.hpp>
#include <tenon/engine/lower/image/image.hpp>
#include <tenon/graph/operation_table.hpp>

namespace tenon::inline v1::engine {
namespace {

/// The axes that a node resizes, in its order, and their scales if these are given.
struct ResizeOrder {
  std::vector<std::int64_t> axes;
  std::vector<float> scales;
};

bool find_order(PlanBuilder& builder, const std::shared_ptr<Node>& node, ResizeOrder& order) {
  const auto& attributes = node->get_attributes();
  if (node->operation().opset < 4) {
    order.axes = attributes.get_ints("axes");
    return true;
  }
  const std::size_t scales = node->operation().opset < 11 ? 2 : 1, axes = scales + 1;
  if (node->get_input_size() > axes) {
    if (!builder.constant_ints(node, axes, order.axes)) return false;
  } else {
    for (std::size_t i = 0; i < node->get_input_shape(0).size(); ++i)
      order.axes.push_back(static_cast<std::int64_t>(i));
  }
  if (attributes.get_string("shape_calculation_mode") != "scales") return true;
  const Tensor given = builder.constant_input(node, scales);
  if (!given || given.element_type() != ElementType::kF32 || given.element_count() != order.axes.size()) return false;
  order.scales.assign(given.data<float>(), given.data<float>() + given.element_count());
  return true;
}

/// Where the elements of the source lie in what is resized: with zeros around it.
kernels::MappedCopy::Maps zeros_around(const Node& node, const Shape& shape) {
  const auto list = [&](const char* name) {
    auto pads = node.get_attributes().get_ints(name, {});
    pads.resize(shape.size(), 0);
    return pads;
  };
  const auto before = list("pads_begin"), after = list("pads_end");
  kernels::MappedCopy::Maps maps(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto extent = static_cast<std::int64_t>(shape[axis]);
    for (std::int64_t at = -before[axis]; at < extent + after[axis]; ++at)
      maps[axis].push_back(at < extent ? std::max<std::int64_t>(at, -1) : -1);
  }
  return maps;
}

}  // namespace

bool lower_resize_by_axes(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  const std::string mode = node->get_attributes().get_string("mode");
  if (source.type != ElementType::kF32 || mode == "area" || element_count(made.shape) == 0 ||
      element_count(source.shape) == 0)
    return false;
  ResizeOrder order;
  if (!find_order(builder, node, order)) return false;
  const auto maps = zeros_around(*node, source.shape);
  Shape shape;
  for (const auto& map : maps) shape.push_back(map.size());
  const Shape padded = shape;
  // Pillow resizes columns before rows.
  const bool is_pillow = mode.find("pillow") != mode.npos;
  struct Pass {
    std::shared_ptr<const kernels::AxisResize> resize;
    std::size_t bytes;
  };
  std::vector<Pass> passes;
  for (std::size_t step = 0; step < order.axes.size(); ++step) {
    const std::size_t i = is_pillow ? order.axes.size() - 1 - step : step;
    const std::int64_t given = order.axes[i];
    const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(shape.size()) : given);
    const std::size_t in = shape[axis], out = made.shape[axis];
    const float scale = i < order.scales.size() ? order.scales[i] : static_cast<float>(out) / static_cast<float>(in);
    if (in == out && scale == 1.0f && !is_pillow) continue;
    std::size_t outer = 1, inner = 1;
    for (std::size_t k = 0; k < shape.size(); ++k) (k < axis ? outer : inner) *= k == axis ? 1 : shape[k];
    shape[axis] = out;
    passes.push_back({std::make_shared<const kernels::AxisResize>(outer, in, inner, resize_taps(*node, in, out, scale)),
                      element_count(shape) * sizeof(float)});
  }
  if (shape != made.shape) return false;
  BufferSlice from = builder.plain(source);
  if (padded != source.shape) {
    const auto copy =
        std::make_shared<const kernels::MappedCopy>(source.shape, maps, sizeof(float), std::array<char, 8>{});
    const BufferSlice to = builder.scratch(element_count(padded) * sizeof(float));
    builder.add_kernel(node, "pad", {from}, {to}, [copy](std::span<void* const> p) { copy->run(p[0], p[1]); });
    from = to;
  }
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const BufferSlice to = i + 1 < passes.size() ? builder.scratch(passes[i].bytes) : builder.define_plain(made);
    builder.add_kernel(node, mode, {from}, {to}, [resize = passes[i].resize](std::span<void* const> p) {
      resize->run(static_cast<const float*>(p[0]), static_cast<float*>(p[1]));
    });
    from = to;
  }
  if (!passes.empty()) return true;
  const std::size_t bytes = element_count(shape) * sizeof(float);
  const BufferSlice to = builder.define_plain(made);
  builder.add_kernel(node, "copy", {from}, {to},
                     [bytes](std::span<void* const> p) { kernels::copy_bytes(p[1], p[0], bytes); });
  return true;
}

}  // namespace tenon::inline v1::engine
