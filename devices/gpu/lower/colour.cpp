// SPDX-License-Identifier: Apache-2.0
// Decoded pictures, NV12 and I420, to colours: what follows joins the same kernel.
#include <string>
#include <string_view>

#include <tenon/devices/gpu/lower/each.hpp>
#include <tenon/devices/gpu/lower/table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Where a plane's sample lies: planes are separate, or behind each other in one tensor.
struct Planes {
  std::vector<View> views;
  bool is_i420 = false;
  std::string luma, u, v;
};

Planes planes_of(Builder& builder, const Node& node) {
  Planes planes;
  for (const Output<Node>& input : node.input_values()) planes.views.push_back(builder.packed(input));
  planes.is_i420 = std::string_view(node.get_type_name()).substr(0, 4) == "I420";
  const std::string chroma = planes.is_i420 ? "(n * HALVES + pair)" : "(n * 2 * HALVES + 2 * pair)";
  if (planes.views.size() == 1) {
    // A picture has a half more rows than luma.
    const std::string begin = "n * 6 * HALVES";
    planes.luma = "X0(" + begin + " + pixel)";
    planes.u = "X0(" + begin + " + 4 * HALVES + " + (planes.is_i420 ? "pair)" : "2 * pair)");
    planes.v = "X0(" + begin + (planes.is_i420 ? " + 5 * HALVES + pair)" : " + 4 * HALVES + 2 * pair + 1)");
  } else {
    planes.luma = "X0(n * 4 * HALVES + pixel)";
    planes.u = "X1" + chroma;
    planes.v = planes.is_i420 ? "X2" + chroma : "X1(n * 2 * HALVES + 2 * pair + 1)";
  }
  return planes;
}

/// @source OpenVINO's NV12toRGB-8 and I420toRGB-8: BT.601 of limited range with coefficients of three digits.
void lower_colour(Builder& builder, const Node& node) {
  const Planes planes = planes_of(builder, node);
  const Shape& shape = node.get_output_shape(0);
  const ElementType type = node.get_output_element_type(0);
  const bool is_bgr = std::string_view(node.get_type_name()).substr(6) == "BGR";
  set_each(
      builder, node, "colour", ElementType::kF32,
      [=](Kernel& kernel) {
        for (std::size_t i = 0; i < planes.views.size(); ++i) kernel.reads("X" + std::to_string(i), planes.views[i]);
        kernel.number("H", static_cast<std::int64_t>(shape[1])).number("W", static_cast<std::int64_t>(shape[2]));
        kernel.define("HALVES", "(H / 2 * (W / 2))");
      },
      std::string("  const int channel = ") + (is_bgr ? "2 - at % 3" : "at % 3") +
          ", pixel = at / 3 % (H * W), n = at / 3 / (H * W);\n"
          "  const int pair = pixel / W / 2 * (W / 2) + pixel % W / 2;\n"
          "  const float luma = 1.164f * ((float)" +
          planes.luma + " - 16), u = (float)" + planes.u + " - 128, v = (float)" + planes.v +
          " - 128;\n"
          "  const float colour = channel == 0   ? luma + 1.596f * v\n"
          "                       : channel == 1 ? luma - 0.391f * u - 0.813f * v\n"
          "                                      : luma + 2.018f * u;\n"
          "  STORE(" +
          (info(type).is_real ? "clamp(colour, 0.0f, 255.0f)" : "rint(clamp(colour, 0.0f, 255.0f))") + ", at);\n");
}

}  // namespace

void register_colour(LoweringTable& table) {
  for (const char* type : {"NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR"}) table[type] = {lower_colour};
}

}  // namespace tenon::inline v1::gpu_device
