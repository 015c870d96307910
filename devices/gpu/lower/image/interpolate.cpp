// SPDX-License-Identifier: Apache-2.0
// Resizing: each position of a resized axis has a list of input positions and weights, which the graph says.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/channels_last.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>
#include <tenon/devices/gpu/program/tree_source.hpp>
#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/graph/ops/resize_taps.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// More taps than this for an element are read axis by axis.
constexpr std::size_t kMostTaps = 64;

/// An axis that a pass resizes. Tables are [out, taps]; positions in the padding are -1.
struct TapTable {
  std::size_t axis = 0, taps = 0;
  bool has_weights = false;
  View positions, weights;
};

TapTable make_table(Builder& builder, const ResizeRule::Axis& rule, std::size_t extent) {
  TapTable table;
  table.axis = rule.axis;
  for (const ResizeTaps& taps : rule.taps) {
    table.taps = std::max(table.taps, taps.at.size());
    table.has_weights |= taps.at.size() != 1 || taps.weight[0] != 1;
  }
  const Shape shape{rule.taps.size(), std::max<std::size_t>(table.taps, 1)};
  Tensor positions(ElementType::kI32, shape), weights(ElementType::kF32, shape);
  auto* position = static_cast<std::int32_t*>(positions.data());
  auto* weight = static_cast<float*>(weights.data());
  for (const ResizeTaps& taps : rule.taps) {
    for (std::size_t i = 0; i < shape[1]; ++i, ++position, ++weight) {
      const bool is_there = i < taps.at.size();
      const std::int64_t at = is_there ? static_cast<std::int64_t>(taps.at[i]) - rule.pad_begin : -1;
      *position = at >= 0 && at < static_cast<std::int64_t>(extent) ? static_cast<std::int32_t>(at) : -1;
      *weight = is_there ? taps.weight[i] : 0;
    }
  }
  table.taps = shape[1];
  table.positions = builder.hold(positions);
  if (table.has_weights) table.weights = builder.hold(weights);
  return table;
}

/// What a pass computes of an element: loops over the taps of each axis.
std::string text_of_taps(const std::vector<TapTable>& tables, std::size_t rank, const std::string& finish) {
  std::string text = "  int rest = at, base = 0;\n";
  for (std::size_t axis = rank; axis-- > 0;) {
    const std::string n = std::to_string(axis);
    const bool is_resized = std::any_of(tables.begin(), tables.end(), [&](const auto& t) { return t.axis == axis; });
    text +=
        is_resized ? "  const int p" + n + " = rest % O" + n + ";\n" : "  base += rest % O" + n + " * S" + n + ";\n";
    text += "  rest /= O" + n + ";\n";
  }
  text += "  ACC sum = 0;\n";
  std::string weight, place = "base";
  for (const TapTable& table : tables) {
    const std::string n = std::to_string(table.axis), tap = "p" + n + " * T" + n + " + t" + n;
    text += "  for (int t" + n + " = 0; t" + n + " < T" + n + "; ++t" + n + ") {\n    const int a" + n + " = AT" + n +
            "(" + tap + ");\n    if (a" + n + " < 0) continue;\n";
    if (table.has_weights) {
      text += "    const ACC w" + n + " = W" + n + "(" + tap + ");\n";
      weight += "w" + n + " * ";
    }
    place += " + a" + n + " * S" + n;
  }
  text += "    sum += " + weight + "(ACC)X(" + place + ");\n  ";
  text += std::string(tables.size(), '}') + "\n  STORE(" + finish + ", at);\n";
  return text;
}

void prepare(Kernel& kernel, const View& data, const Shape& out, const std::vector<TapTable>& tables,
             ElementType computed) {
  kernel.reads("X", data).define("ACC", compute_name(computed));
  for (std::size_t axis = 0; axis < out.size(); ++axis)
    kernel.number("O" + std::to_string(axis), static_cast<std::int64_t>(out[axis]))
        .number("S" + std::to_string(axis), data.strides[axis]);
  for (const TapTable& table : tables) {
    const std::string n = std::to_string(table.axis);
    kernel.reads("AT" + n, table.positions).number("T" + n, static_cast<std::int64_t>(table.taps));
    if (table.has_weights) kernel.reads("W" + n, table.weights);
  }
}

/// A part of pictures whose pixels have all colours at once.
struct Pixels {
  View view;  ///< Keeps the source.
  const PixelSource* source = nullptr;
  ViewSourceRef converted = nullptr;           ///< Through which it is read, if not by itself.
  std::size_t image = 0, row = 0, column = 0;  ///< Where the part's first pixel lies.
};

/// What a tree makes reals of, in the form of the view that reads it.
View unconverted(const View& view) {
  const auto* tree = dynamic_cast<const TreeSource*>(view.source.get());
  const View* const bytes = tree ? tree->converted() : nullptr;
  if (!bytes) return view;
  if (view.is_packed() && view.place.offset == 0 && view.shape == bytes->shape) return *bytes;
  if (!bytes->is_packed() || bytes->place.offset != 0) return view;
  View result = view;
  result.type = bytes->type;
  result.source = bytes->source;
  result.place = bytes->place;
  result.place.offset = view.place.offset / size_bytes(view.type) * size_bytes(bytes->type);
  return result;
}

/// Nothing if the view is no part of such pictures, or other axes than rows and columns are resized.
std::optional<Pixels> pixels_of(const View& data, const std::vector<TapTable>& tables) {
  Pixels pixels{unconverted(data)};
  pixels.source = dynamic_cast<const PixelSource*>(pixels.view.source.get());
  if (pixels.view.source != data.source) pixels.converted = data.source;
  const View& view = pixels.view;
  if (!pixels.source || view.shape.size() != 4 || view.shape[3] != 3) return std::nullopt;
  for (const TapTable& table : tables)
    if (table.axis != 1 && table.axis != 2) return std::nullopt;
  const auto height = static_cast<std::int64_t>(pixels.source->height()),
             width = static_cast<std::int64_t>(pixels.source->width());
  const std::int64_t strides[] = {height * width * 3, width * 3, 3, 1};
  for (std::size_t axis = 0; axis < 4; ++axis)
    if (view.shape[axis] != 1 && view.strides[axis] != strides[axis]) return std::nullopt;
  const std::size_t first = view.place.offset / size_bytes(view.type);
  if (first % 3 != 0) return std::nullopt;
  pixels.column = first / 3 % pixels.source->width();
  pixels.row = first / 3 / pixels.source->width() % pixels.source->height();
  pixels.image = first / 3 / pixels.source->width() / pixels.source->height();
  return pixels;
}

/// All colours of a pixel at once. @param finish  Makes the result of the float3 `sum`.
void add_pixels(Kernel& kernel, const Pixels& pixels, const Shape& out, const std::vector<TapTable>& tables,
                ElementType computed, const std::string& finish) {
  pixels.source->define_pixels(kernel, "X");
  kernel.computes(*pixels.source);
  if (pixels.converted) kernel.computes(*pixels.converted);
  kernel.number("FIRST_N", static_cast<std::int64_t>(pixels.image))
      .number("FIRST_Y", static_cast<std::int64_t>(pixels.row))
      .number("FIRST_X", static_cast<std::int64_t>(pixels.column))
      .number("HEIGHT", static_cast<std::int64_t>(out[1]))
      .number("WIDTH", static_cast<std::int64_t>(out[2]))
      .number("COUNT", static_cast<std::int64_t>(out[0] * out[1] * out[2]))
      .define("ACC", compute_name(computed));
  std::string text =
      "KERNEL {\n  const int pixel = (int)get_global_id(0);\n  if (pixel >= COUNT) return;\n"
      "  const int n = pixel / (HEIGHT * WIDTH), p1 = pixel / WIDTH % HEIGHT, p2 = pixel % WIDTH;\n"
      "  float3 sum = (float3)(0);\n";
  std::string weight, at[3] = {"", "p1", "p2"};
  for (const TapTable& table : tables) {
    const std::string n = std::to_string(table.axis), tap = "p" + n + " * T" + n + " + t" + n;
    kernel.reads("AT" + n, table.positions).number("T" + n, static_cast<std::int64_t>(table.taps));
    text += "  for (int t" + n + " = 0; t" + n + " < T" + n + "; ++t" + n + ") {\n    const int a" + n + " = AT" + n +
            "(" + tap + ");\n    if (a" + n + " < 0) continue;\n";
    at[table.axis] = "a" + n;
    if (!table.has_weights) continue;
    kernel.reads("W" + n, table.weights);
    weight += "W" + n + "(" + tap + ") * ";
  }
  text += "    sum += " + weight + "X(n + FIRST_N, " + at[1] + " + FIRST_Y, " + at[2] + " + FIRST_X);\n  ";
  text += std::string(tables.size(), '}') + "\n  sum = " + finish + ";\n";
  for (const char* component : {"x", "y", "z"})
    text +=
        std::string("  STORE((ACC)sum.") + component + ", pixel * 3 + " + std::to_string(component[0] - 'x') + ");\n";
  kernel.text(text + "}\n");
}

void launch_pixels(Builder& builder, const Node& node, Kernel& kernel, const Shape& out) {
  kernel.over({out[0] * out[1] * out[2]}, {std::min<std::size_t>(builder.target().max_group, 64)});
  builder.launch(std::move(kernel), node);
}

void set_pixels(Builder& builder, const Node& node, const Pixels& pixels, const std::vector<TapTable>& tables,
                ElementType computed, const std::string& finish) {
  Producer producer;
  producer.emit = [=, &builder, &node](const ExpressionRef& root, const View& out) {
    Kernel kernel = builder.kernel("interpolate");
    add_pixels(kernel, pixels, out.shape, tables, computed, finish);
    builder.add_store(kernel, root, out, {{0, 1, 2, 3}});
    launch_pixels(builder, node, kernel, out.shape);
  };
  builder.set(node, 0, computed, std::move(producer));
}

/// One axis into memory. @param rounds  Between passes over pictures of 8 bits, as Pillow does.
View resize_axis(Builder& builder, const Node& node, const View& data, const TapTable& table, std::size_t extent,
                 bool rounds) {
  Shape shape = data.shape;
  shape[table.axis] = extent;
  const View out = builder.scratch(data.type == ElementType::kF64 ? ElementType::kF64 : ElementType::kF32, shape);
  Kernel kernel = builder.kernel("interpolate");
  kernel.writes("OUT", out).define("STORE(value, i)", "OUT_SET(i, value)");
  if (const auto pixels = pixels_of(data, {table})) {
    add_pixels(kernel, *pixels, shape, {table}, out.type, rounds ? "clamp(rint(sum), 0.0f, 255.0f)" : "sum");
    launch_pixels(builder, node, kernel, shape);
    return out;
  }
  prepare(kernel, data, shape, {table}, out.type);
  launch_each(builder, node, kernel, element_count(shape),
              text_of_taps({table}, shape.size(), rounds ? "clamp(rint(sum), (ACC)0, (ACC)255)" : "sum"));
  return out;
}

/// Resizes with channels last. @param rows, columns  What each output row or column reads, and by which weights.
void set_wide_resize(Builder& builder, const Node& node, const Picture& data, const TapTable& rows,
                     const TapTable& columns) {
  const Shape& out = node.get_output_shape(0);
  set_wide_picture(builder, node, "interpolate", data, out[2] * out[3], kernels::interpolate_channels_last,
                   [=](Kernel& kernel) {
                     for (const auto& [table, name] : {std::pair(&rows, std::string("ROW")), {&columns, "COLUMN"}}) {
                       kernel.reads(name, table->positions);
                       if (table->has_weights)
                         kernel.reads(name + "_WEIGHT", table->weights);
                       else
                         kernel.define(name + "_WEIGHT(i)", "1");
                     }
                     kernel.number("OH", static_cast<std::int64_t>(out[2]))
                         .number("OW", static_cast<std::int64_t>(out[3]))
                         .number("TAPS_Y", static_cast<std::int64_t>(rows.taps))
                         .number("TAPS_X", static_cast<std::int64_t>(columns.taps));
                   });
}

void lower_interpolate(Builder& builder, const Node& node) {
  View data = builder.source(node.input_value(0));
  std::vector<Tensor> inputs{Tensor()};
  for (std::size_t i = 1; i < node.get_input_size(); ++i) inputs.push_back(builder.constant(node.input_value(i)));
  const Shape& shape = node.get_output_shape(0);
  if (element_count(shape) == 0) return static_cast<void>(builder.make(node, 0));
  const ResizeRule rule = resize_rule(node, data.shape, shape, inputs);
  std::vector<TapTable> tables;
  std::size_t taps = 1;
  for (const ResizeRule::Axis& axis : rule.axes) {
    tables.push_back(make_table(builder, axis, data.shape[axis.axis]));
    taps *= tables.back().taps;
  }
  const bool is_of_pictures = shape.size() == 4 && tables.size() == 2 && tables[0].axis == 2 && tables[1].axis == 3;
  if (takes_channels_last(builder.target()) && is_of_pictures && !rule.rounds && !rule.rounds_between &&
      is_wide_picture(builder, data))
    return set_wide_resize(builder, node, picture_of(data), tables[0], tables[1]);
  std::size_t done = 0;
  if (taps > kMostTaps || rule.rounds_between)
    for (; done + 1 < tables.size(); ++done)
      data = resize_axis(builder, node, data, tables[done], shape[tables[done].axis], rule.rounds_between);
  const std::vector<TapTable> left(tables.begin() + static_cast<std::ptrdiff_t>(done), tables.end());
  const ElementType type = node.get_output_element_type(0);
  const ElementType computed = rule.is_exact || type == ElementType::kF64 ? type : ElementType::kF32;
  if (const auto pixels = pixels_of(data, left))
    return set_pixels(builder, node, *pixels, left, computed, rule.rounds ? "rint(sum)" : "sum");
  set_each(
      builder, node, "interpolate", computed, [=](Kernel& kernel) { prepare(kernel, data, shape, left, computed); },
      text_of_taps(left, shape.size(), rule.rounds ? "rint(sum)" : "sum"), is_channels_last(data));
}

std::string refuses_resize(const Node& node) {
  if (node.get_attributes().get_string("mode") == "area") return "mode 'area' is not defined by its specification";
  for (std::size_t i = 1; i < node.get_input_size(); ++i)
    if (std::string why = wants_constant(node, i); !why.empty()) return why;
  return {};
}

}  // namespace

void register_interpolate(LoweringTable& table) { table["Interpolate"] = {lower_interpolate, refuses_resize}; }

}  // namespace tenon::inline v1::gpu_device
