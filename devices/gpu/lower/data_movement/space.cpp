// SPDX-License-Identifier: Apache-2.0
// Rearrangement of places: batches to space and back, patches, and YOLO's last layers.
#include <numeric>
#include <string>
#include <vector>

#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/build/window.hpp>
#include <tenon/devices/gpu/lower/reductions/reduction.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// An element's index along axis i is p{i}.
std::string coordinates(std::size_t rank) {
  std::string text = "  int rest = at;\n";
  for (std::size_t i = rank; i-- > 0;) {
    const std::string n = std::to_string(i);
    text += "  const int p" + n + " = rest % O" + n + "; rest /= O" + n + ";\n";
  }
  return text;
}

/// Extents and the blocks' numbers, by axis.
struct Blocks {
  View data;
  Shape out;
  std::vector<std::int64_t> block, begin;
};
Blocks blocks_of(Builder& builder, const Node& node) {
  return {builder.packed(node.input_value(0)), node.get_output_shape(0), *builder.integers(node.input_value(1)),
          *builder.integers(node.input_value(2))};
}
void prepare(Kernel& kernel, const Blocks& blocks) {
  kernel.reads("X", blocks.data);
  for (std::size_t i = 0; i < blocks.out.size(); ++i) {
    const std::string n = std::to_string(i);
    kernel.number("O" + n, static_cast<std::int64_t>(blocks.out[i]))
        .number("E" + n, static_cast<std::int64_t>(blocks.data.shape[i]))
        .number("K" + n, blocks.block[i])
        .number("B" + n, blocks.begin[i]);
  }
}

/// The data's batch index is the place within the blocks, then the batch.
void lower_batch_to_space(Builder& builder, const Node& node) {
  const Blocks blocks = blocks_of(builder, node);
  std::string text = coordinates(blocks.out.size()) + "  int within = 0, place = 0;\n";
  for (std::size_t i = 1; i < blocks.out.size(); ++i) {
    const std::string n = std::to_string(i);
    text += "  { const int q = p" + n + " + B" + n + "; within = within * K" + n + " + q % K" + n +
            "; place = place * E" + n + " + q / K" + n + "; }\n";
  }
  std::string inner = "1";
  for (std::size_t i = 1; i < blocks.out.size(); ++i) inner += " * E" + std::to_string(i);
  text += "  STORE(X((within * O0 + p0) * " + inner + " + place), at);\n";
  set_each(
      builder, node, "batch_to_space", blocks.data.type, [=](Kernel& kernel) { prepare(kernel, blocks); }, text);
}

void lower_space_to_batch(Builder& builder, const Node& node) {
  const Blocks blocks = blocks_of(builder, node);
  const std::size_t rank = blocks.out.size();
  std::string text = coordinates(rank) + "  int within = p0 / E0, is_inside = 1, from = p0 % E0;\n";
  for (std::size_t i = rank; i-- > 1;) {
    const std::string n = std::to_string(i);
    text +=
        "  const int q" + n + " = p" + n + " * K" + n + " + within % K" + n + " - B" + n + "; within /= K" + n + ";\n";
  }
  for (std::size_t i = 1; i < rank; ++i) {
    const std::string n = std::to_string(i);
    text += "  is_inside &= q" + n + " >= 0 && q" + n + " < E" + n + "; from = from * E" + n + " + q" + n + ";\n";
  }
  text += "  STORE(is_inside ? X(from) : 0, at);\n";
  set_each(
      builder, node, "space_to_batch", blocks.data.type, [=](Kernel& kernel) { prepare(kernel, blocks); }, text);
}

/// [N, C, H, W] to [N, rows * columns * C, patches].
void lower_patches(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const Spatial3 window = sliding_window(node);
  set_each(
      builder, node, "patches", data.type,
      [=](Kernel& kernel) {
        kernel.reads("X", data).number("CHANNELS", static_cast<std::int64_t>(data.shape[1]));
        add_window(kernel, window);
      },
      "  const int wx = at % OW, wy = at / OW % OH, row = at / (OW * OH);\n"
      "  const int channel = row % CHANNELS, tap = row / CHANNELS % (KH * KW), image = row / (CHANNELS * KH * KW);\n"
      "  const int x = wx * SW - PW + tap % KW * DW, y = wy * SH - PH + tap / KW * DH;\n"
      "  const int is_inside = x >= 0 && x < IW && y >= 0 && y < IH;\n"
      "  STORE(is_inside ? X(((image * CHANNELS + channel) * IH + y) * IW + x) : 0, at);\n");
}

void lower_reorg_yolo(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const Shape& in = data.shape;
  const std::int64_t stride = node.get_attributes().get_ints("stride").at(0);
  set_each(
      builder, node, "reorg_yolo", data.type,
      [=](Kernel& kernel) {
        // The output is counted as if it were of the data's shape, as Darknet does.
        kernel.reads("X", data).number("STRIDE", stride);
        kernel.number("C", static_cast<std::int64_t>(in[1]))
            .number("H", static_cast<std::int64_t>(in[2]))
            .number("W", static_cast<std::int64_t>(in[3]));
      },
      "  const int column = at % W, row = at / W % H, c = at / (W * H) % C, n = at / (W * H * C);\n"
      "  const int channels = C / (STRIDE * STRIDE), offset = c / channels;\n"
      "  const int y = row * STRIDE + offset / STRIDE, x = column * STRIDE + offset % STRIDE;\n"
      "  STORE(X(((n * channels + c % channels) * H * STRIDE + y) * W * STRIDE + x), at);\n");
}

/// [N, regions, values, plane]: the centres and the scores are squashed, classes share a softmax where it asks for one.
void lower_region_yolo(Builder& builder, const Node& node) {
  const auto& attributes = node.get_attributes();
  const auto coords = static_cast<std::size_t>(attributes.get_int("coords")),
             classes = static_cast<std::size_t>(attributes.get_int("classes"));
  const bool has_softmax = attributes.get_bool("do_softmax");
  View data = builder.packed(node.input_value(0)), out = builder.make(node, 0);
  const std::size_t values = coords + classes + 1;
  const Shape shape{data.shape[0], data.shape[1] / values, values, data.shape[2] * data.shape[3]};
  reshape(data, shape);
  reshape(out, shape);
  const auto part = [&](const View& whole, std::size_t first, std::size_t count) {
    View view = whole;
    view.shape[2] = count;
    view.place.offset += first * static_cast<std::size_t>(whole.strides[2]) * size_bytes(whole.type);
    return view;
  };
  const auto write = [&](std::size_t first, std::size_t count, const char* text) {
    if (count == 0) return;
    const ExpressionRef x = Expression::load(part(data, first, count));
    builder.compute(Expression::call(data.type, text, {x}), part(out, first, count), node);
  };
  const char *squash = "(1 / (1 + exp(-$0)))", *keep = "($0)";
  write(0, 2, squash);
  write(2, coords - 2, keep);
  write(coords, has_softmax ? 1 : classes + 1, squash);
  if (!has_softmax) return;
  const View scores = part(data, coords + 1, classes);
  const ExpressionRef x = Expression::load(scores);
  const ExpressionRef power =
      Expression::call(data.type, "exp($0 - $1)", {x, reduce(builder, node, "ReduceMax", x, scores.shape, {2})});
  const ExpressionRef sum = reduce(builder, node, "ReduceSum", power, scores.shape, {2});
  builder.compute(Expression::call(data.type, "($0 / $1)", {power, sum}), part(out, coords + 1, classes), node);
}

std::string blocks_known(const Node& node) {
  for (std::size_t i = 1; i < 4; ++i)
    if (std::string why = wants_constant(node, i); !why.empty()) return why;
  return {};
}

std::string refuses_region(const Node& node) {
  return node.get_attributes().get_int("coords") < 2 ? "regions without centres have no kernel" : "";
}

}  // namespace

void register_space(LoweringTable& table) {
  table["BatchToSpace"] = {lower_batch_to_space, blocks_known};
  table["SpaceToBatch"] = {lower_space_to_batch, blocks_known};
  table["ExtractImagePatches"] = {lower_patches};
  table["ReorgYolo"] = {lower_reorg_yolo};
  table["RegionYolo"] = {lower_region_yolo, refuses_region};
}

}  // namespace tenon::inline v1::gpu_device
