// SPDX-License-Identifier: Apache-2.0
// Decoded pictures, NV12 and I420, to colours: part of the kernel that reads them.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/devices/gpu/program/view_source.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Planes are separate, or behind each other in one tensor.
/// @source OpenVINO's NV12toRGB-8 and I420toRGB-8: BT.601 of limited range with coefficients of three digits.
class ColourSource final : public PixelSource {
 public:
  ColourSource(const Node& node, std::vector<View> planes)
      : PixelSource(node.get_output_shape(0)[1], node.get_output_shape(0)[2],
                    {{node.get_friendly_name(), node.get_type_name()}}),
        planes_(std::move(planes)),
        type_(node.get_output_element_type(0)),
        is_i420_(std::string_view(node.get_type_name()).substr(0, 4) == "I420"),
        is_bgr_(std::string_view(node.get_type_name()).substr(6) == "BGR") {}

  void define(Kernel& kernel, const std::string& name) const override {
    define_samples(kernel, name);
    const std::string function = std::string(Kernel::kName) + "_" + name;
    kernel.helper("inline " + std::string(compute_name(type_)) + " " + function +
                  "(const int channel, const float y, const float u, const float v) {\n  return (" +
                  compute_name(type_) + ")" +
                  rounded("channel == 0 ? " + red() + " : channel == 1 ? " + green() + " : " + blue()) + ";\n}\n");
    const std::string pixel = "((i) / 3)", height = name + "_h", width = name + "_w";
    const std::string at = "(" + pixel + " / (" + height + " * " + width + "), " + pixel + " / " + width + " % " +
                           height + ", " + pixel + " % " + width + ")";
    kernel.define(name + "(i)", function + "(" + (is_bgr_ ? "2 - (i) % 3" : "(i) % 3") + ", " + name + "_Y" + at +
                                    ", " + name + "_U" + at + ", " + name + "_V" + at + ")");
  }

  void define_pixels(Kernel& kernel, const std::string& name) const override {
    define_samples(kernel, name);
    const std::string function = std::string(Kernel::kName) + "_" + name;
    const std::string first = rounded(is_bgr_ ? blue() : red()), last = rounded(is_bgr_ ? red() : blue());
    kernel.helper("inline float3 " + function + "(const float y, const float u, const float v) {\n  return (float3)(" +
                  first + ", " + rounded(green()) + ", " + last + ");\n}\n");
    kernel.define(name + "(n, y, x)",
                  function + "(" + name + "_Y(n, y, x), " + name + "_U(n, y, x), " + name + "_V(n, y, x))");
  }

 private:
  static std::string red() { return "1.164f * (y - 16) + 1.596f * (v - 128)"; }
  static std::string green() { return "1.164f * (y - 16) - 0.391f * (u - 128) - 0.813f * (v - 128)"; }
  static std::string blue() { return "1.164f * (y - 16) + 2.018f * (u - 128)"; }
  std::string rounded(const std::string& colour) const {
    const std::string cut = "clamp(" + colour + ", 0.0f, 255.0f)";
    return info(type_).is_real ? cut : "rint(" + cut + ")";
  }

  /// NAME_Y(n, y, x), NAME_U and NAME_V: a pixel's samples.
  void define_samples(Kernel& kernel, const std::string& name) const {
    const std::string height = name + "_h", width = name + "_w", plane = name + "_x";
    for (std::size_t i = 0; i < planes_.size(); ++i) kernel.reads_rows(plane + std::to_string(i), planes_[i]);
    kernel.number(height, static_cast<std::int64_t>(PixelSource::height()));
    kernel.number(width, static_cast<std::int64_t>(PixelSource::width()));
    const auto add = [&](const char* sample, std::size_t from, const std::string& row, const std::string& element) {
      kernel.define(name + sample + "(n, y, x)",
                    "(float)" + plane + std::to_string(from) + "_IN(" + row + ", " + element + ")");
    };
    const bool is_single = planes_.size() == 1;
    const std::string pair = "((x) & ~1)", half = "((x) >> 1)";
    // A picture in one tensor has a half more rows than luma.
    const std::string first = is_single ? "(n) * (" + height + " / 2 * 3)" : "(n) * " + height;
    add("_Y", 0, first + " + (y)", "(x)");
    const std::string chroma =
        is_single ? first + " + " + height + " + ((y) >> 1)" : "(n) * (" + height + " / 2) + ((y) >> 1)";
    if (!is_i420_) {
      add("_U", is_single ? 0 : 1, chroma, pair);
      add("_V", is_single ? 0 : 1, chroma, pair + " + 1");
    } else if (!is_single) {
      add("_U", 1, chroma, half);
      add("_V", 2, chroma, half);
    } else {  // Rows of chroma are half as long as the tensor's.
      const std::string u = "(((y) >> 1) * (" + width + " / 2) + " + half + ")";
      const std::string v = "(" + u + " + " + height + " / 2 * (" + width + " / 2))";
      add("_U", 0, first + " + " + height + " + " + u + " / " + width, u + " % " + width);
      add("_V", 0, first + " + " + height + " + " + v + " / " + width, v + " % " + width);
    }
  }

  std::vector<View> planes_;
  ElementType type_;
  bool is_i420_, is_bgr_;
};

/// The colours of a pixel are computed by the kernel that reads the pixel, so that planes are read once and no picture is stored.
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
