// SPDX-License-Identifier: Apache-2.0
// Decoded pictures, NV12 and I420, to colours: part of the kernel that reads them.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/lower/table.hpp>
#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/devices/gpu/program/view_source.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Planes are separate, or behind each other in one tensor.
/// @source OpenVINO's NV12toRGB-8 and I420toRGB-8: BT.601 of limited range with coefficients of three digits.
class ColourSource final : public ViewSource {
 public:
  ColourSource(const Node& node, std::vector<View> planes)
      : ViewSource({{node.get_friendly_name(), node.get_type_name()}}),
        planes_(std::move(planes)),
        type_(node.get_output_element_type(0)),
        height_(node.get_output_shape(0)[1]),
        width_(node.get_output_shape(0)[2]),
        is_i420_(std::string_view(node.get_type_name()).substr(0, 4) == "I420"),
        is_bgr_(std::string_view(node.get_type_name()).substr(6) == "BGR") {}

  void define(Kernel& kernel, const std::string& name) const override {
    const auto in = [&](const char* what) { return name + "_" + what; };
    for (std::size_t i = 0; i < planes_.size(); ++i) kernel.reads(in("x") + std::to_string(i), planes_[i]);
    kernel.number(in("h"), static_cast<std::int64_t>(height_)).number(in("w"), static_cast<std::int64_t>(width_));
    const std::string pixels = in("h") + " * " + in("w"), half = in("w") + " / 2";
    kernel.define(in("halves"), "(" + in("h") + " / 2 * (" + half + "))");
    kernel.define(in("n(i)"), "((i) / 3 / (" + pixels + "))").define(in("pixel(i)"), "((i) / 3 % (" + pixels + "))");
    kernel.define(in("pair(i)"), "(" + in("pixel(i)") + " / " + in("w") + " / 2 * (" + half + ") + " + in("pixel(i)") +
                                     " % " + in("w") + " / 2)");
    const Samples samples = samples_of(in);
    const std::string function = std::string(Kernel::kName) + "_" + name;
    kernel.helper(function_text(function));
    kernel.define(name + "(i)", function + "(" + (is_bgr_ ? "2 - (i) % 3" : "(i) % 3") + ", (float)" + samples.luma +
                                    ", (float)" + samples.u + ", (float)" + samples.v + ")");
  }

 private:
  /// Where a pixel's samples lie.
  struct Samples {
    std::string luma, u, v;
  };
  template <typename In>
  Samples samples_of(In in) const {
    const std::string n = in("n(i)"), halves = in("halves"), pair = in("pair(i)"), x = in("x");
    if (planes_.size() == 1) {
      // A picture has a half more rows than luma.
      const std::string begin = x + "0(" + n + " * 6 * " + halves + " + ", chroma = begin + "4 * " + halves + " + ";
      const std::string u = chroma + (is_i420_ ? "" : "2 * ") + pair + ")";
      const std::string v = is_i420_ ? begin + "5 * " + halves + " + " + pair + ")" : chroma + "2 * " + pair + " + 1)";
      return {begin + in("pixel(i)") + ")", u, v};
    }
    const std::string luma = x + "0(" + n + " * 4 * " + halves + " + " + in("pixel(i)") + ")";
    const std::string chroma =
        is_i420_ ? "(" + n + " * " + halves + " + " + pair : "(" + n + " * 2 * " + halves + " + 2 * " + pair;
    return {luma, x + "1" + chroma + ")", is_i420_ ? x + "2" + chroma + ")" : x + "1" + chroma + " + 1)"};
  }
  std::string function_text(const std::string& function) const {
    return "inline " + std::string(compute_name(type_)) + " " + function +
           "(const int channel, float luma, float u, float v) {\n"
           "  luma = 1.164f * (luma - 16);\n  u -= 128;\n  v -= 128;\n"
           "  const float colour = channel == 0   ? luma + 1.596f * v\n"
           "                       : channel == 1 ? luma - 0.391f * u - 0.813f * v\n"
           "                                      : luma + 2.018f * u;\n"
           "  return " +
           (info(type_).is_real ? "clamp(colour, 0.0f, 255.0f)"
                                : "(" + std::string(compute_name(type_)) + ")rint(clamp(colour, 0.0f, 255.0f))") +
           ";\n}\n";
  }

  std::vector<View> planes_;
  ElementType type_;
  std::size_t height_, width_;
  bool is_i420_, is_bgr_;
};

/// Whoever reads a pixel computes its colours, so that planes are read once, by the first kernel.
void lower_colour(Builder& builder, const Node& node) {
  std::vector<View> planes;
  for (const Output<Node>& input : node.input_values()) planes.push_back(builder.packed_source(input));
  View view{{}, node.get_output_element_type(0), node.get_output_shape(0), packed_strides(node.get_output_shape(0))};
  view.source = std::make_shared<const ColourSource>(node, std::move(planes));
  builder.set(node, 0, view);
}

}  // namespace

void register_colour(LoweringTable& table) {
  for (const char* type : {"NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR"}) table[type] = {lower_colour};
}

}  // namespace tenon::inline v1::gpu_device
