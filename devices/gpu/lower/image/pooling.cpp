// SPDX-License-Identifier: Apache-2.0
// Pooling over sliding windows.
#include <algorithm>
#include <string>
#include <utility>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/build/window.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/channels_last.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>
#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/graph/windows.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

void set_wide_pool(Builder& builder, const Node& node, const Picture& data, const Spatial3& window) {
  const bool is_max = is_op(&node, "MaxPool");
  const bool excludes = !is_max && excludes_padding(node);
  set_wide_picture(builder, node, is_max ? "max_pool" : "average_pool", data, window.out[1] * window.out[2],
                   kernels::pool_channels_last, [=](Kernel& kernel) {
                     add_window(kernel, window);
                     kernel.define("IS_MAX", is_max ? 1 : 0).define("EXCLUDES_PAD", excludes ? 1 : 0);
                   });
}

void lower_pool(Builder& builder, const Node& node) {
  const Spatial3 window = sliding_window(node);
  const bool is_max = is_op(&node, "MaxPool");
  const bool has_indices = is_max && node.get_output_size() > 1 && node.count_output_readers(1) > 0;
  const bool is_torch = !is_max && node.get_attributes().get_string("rounding_type") == "ceil_torch";
  if (takes_channels_last(builder.target()) && is_planar(window) && !is_torch && !has_indices) {
    const Output<Node> source = node.input_value(0);
    const View given = builder.has_numbers(source) ? builder.moved(source) : builder.view(source);
    if (is_wide_picture(builder, given)) return set_wide_pool(builder, node, picture_of(given), window);
  }
  const View data = builder.packed(node.input_value(0));
  const Node* const self = &node;
  const View indices = has_indices ? builder.make(node, 1) : View();
  Producer producer;
  producer.emit = [=, &builder](const ExpressionRef& root, const View& out) {
    Kernel kernel = builder.kernel(is_max ? "max_pool" : "average_pool");
    kernel.reads("X", data);
    AxisGroups groups{{0}, {1}, {}};
    for (std::size_t axis = 2; axis < out.shape.size(); ++axis) groups[2].push_back(axis);
    builder.add_store(kernel, root, out, groups);
    add_window(kernel, window);
    kernel.number("CHANNELS", static_cast<std::int64_t>(data.shape[1]));
    kernel.define("ACC", accumulator_name(data.type)).define("IS_MAX", is_max ? 1 : 0);
    const bool is_real = info(data.type).is_real;
    kernel.define("LEAST", is_real ? "(-MAXFLOAT)" : info(data.type).is_signed ? "LONG_MIN" : "0");
    kernel.define("LOWEST", least_text(data.type)).define("HAS_INDICES", has_indices ? 1 : 0);
    if (has_indices) {
      kernel.writes("INDEX", indices);
      // The index counts from the given axis on.
      const std::int64_t axis = self->get_attributes().get_int("axis");
      const std::size_t from =
          static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(data.shape.size()) : axis);
      std::size_t per_axis = 1;
      for (std::size_t i = from; i < data.shape.size(); ++i) per_axis *= data.shape[i];
      kernel.number("PER_AXIS", static_cast<std::int64_t>(per_axis));
    }
    const bool excludes = !is_max && excludes_padding(*self);
    kernel.define("EXCLUDES_PAD", excludes ? 1 : 0).define("IS_TORCH", is_torch ? 1 : 0);
    for (std::size_t i = 0; i < 3; ++i) kernel.number(std::string("PEND_") + "DHW"[i], window.window[i].pad_end);
    kernel.text(kernels::pool);
    kernel.over({window.out[0] * window.out[1] * window.out[2], data.shape[0] * data.shape[1]},
                {std::min<std::size_t>(builder.target().max_group, 64), 1});
    builder.launch(std::move(kernel), *self);
  };
  builder.set(node, 0, data.type, std::move(producer));
  if (has_indices) builder.compute(node, 0);
}

void lower_adaptive_pool(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const Spatial3 window = sliding_window(node);
  const bool is_max = is_op(&node, "AdaptiveMaxPool");
  const View indices = is_max ? builder.make(node, 1) : View();
  set_whole(builder, node, "adaptive_pool", data.type, kernels::adaptive_pool, [=](Kernel& kernel) {
    kernel.reads("X", data);
    if (is_max) kernel.writes("INDEX", indices);
    add_window(kernel, window);
    kernel.define("ACC", accumulator_name(data.type)).define("IS_MAX", is_max ? 1 : 0);
    kernel.define("LOWEST", least_text(data.type));
  });
  if (is_max) builder.compute(node, 0);
}

}  // namespace

void register_pooling(LoweringTable& table) {
  table["MaxPool"] = table["AvgPool"] = {lower_pool};
  table["AdaptiveAvgPool"] = table["AdaptiveMaxPool"] = {lower_adaptive_pool};
}

}  // namespace tenon::inline v1::gpu_device
