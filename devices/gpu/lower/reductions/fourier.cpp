// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, axis by axis, as sums over lines: their cost is the square of a line's length.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// One axis of a transform.
struct FourierPass {
  std::size_t axis = 0, length = 0, made = 0;
  bool reads_complex = true, writes_complex = true, is_mirrored = false, is_inverse = false;
};

/// The roots of one, those of an inverse divided by their number.
View roots(Builder& builder, const FourierPass& pass) {
  Tensor table(ElementType::kF32, Shape{pass.length, 2});
  const auto count = static_cast<double>(pass.length);
  for (std::size_t i = 0; i < pass.length; ++i) {
    const double angle = (pass.is_inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(i) / count;
    table.data<float>()[2 * i] = static_cast<float>(std::cos(angle) / (pass.is_inverse ? count : 1));
    table.data<float>()[2 * i + 1] = static_cast<float>(std::sin(angle) / (pass.is_inverse ? count : 1));
  }
  return builder.hold(table);
}

/// @param shape  The shape of the data, counted in complex or real numbers; it becomes the result's.
void launch_pass(Builder& builder, const Node& node, const FourierPass& pass, const View& data, const View& out,
                 Shape& shape) {
  Kernel kernel = builder.kernel("fourier");
  kernel.reads("X", data).reads("ROOT", roots(builder, pass)).writes("OUT", out);
  kernel.number("PRESENT", static_cast<std::int64_t>(shape[pass.axis]))
      .number("INNER", product(shape, pass.axis + 1, shape.size()))
      .number("LENGTH", static_cast<std::int64_t>(pass.length))
      .number("MADE", static_cast<std::int64_t>(pass.made));
  kernel.define("READS_COMPLEX", pass.reads_complex ? 1 : 0)
      .define("WRITES_COMPLEX", pass.writes_complex ? 1 : 0)
      .define("IS_MIRRORED", pass.is_mirrored ? 1 : 0);
  shape[pass.axis] = pass.made;
  const std::size_t count = element_count(shape);
  kernel.number("COUNT", static_cast<std::int64_t>(count)).text(kernels::fourier);
  kernel.over({count}, {std::min<std::size_t>(builder.target().max_group, 64)});
  builder.launch(std::move(kernel), node);
}

/// The passes of a node in their order: every extent but that of RDFT's last axis stands in the output's shape.
std::vector<FourierPass> passes_of(Builder& builder, const Node& node, const Shape& shape) {
  const std::string_view kind = node.get_type_name();
  const std::vector<std::int64_t> axes = *builder.integers(node.input_value(1));
  std::vector<FourierPass> passes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool is_first = i == 0, is_last = i + 1 == axes.size();
    FourierPass pass;
    pass.axis = normalized(axes[i], shape.size());
    pass.length = pass.made = node.get_output_shape(0)[pass.axis];
    pass.is_inverse = kind[0] == 'I';
    pass.reads_complex = !(is_first && kind == "RDFT");
    pass.writes_complex = !(is_last && kind == "IRDFT");
    pass.is_mirrored = is_last && kind == "IRDFT";
    if (is_last && kind == "RDFT") {
      const std::int64_t given = node.get_input_size() > 2 ? (*builder.integers(node.input_value(2)))[i] : -1;
      pass.length = given > 0 ? static_cast<std::size_t>(given) : shape[pass.axis];
    }
    passes.push_back(pass);
  }
  return passes;
}

void lower_fourier(Builder& builder, const Node& node) {
  View data = builder.packed(node.input_value(0));
  Shape shape = data.shape;
  if (std::string_view(node.get_type_name()) != "RDFT") shape = Shape(shape.begin(), shape.end() - 1);
  const View out = builder.make(node, 0);
  if (element_count(out.shape) == 0) return;
  const std::vector<FourierPass> passes = passes_of(builder, node, shape);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    Shape made = shape;
    made[passes[i].axis] = passes[i].made;
    made.push_back(2);
    const View to = i + 1 == passes.size() ? out : builder.scratch(ElementType::kF32, made);
    launch_pass(builder, node, passes[i], data, to, shape);
    data = to;
  }
}

std::string refuses_fourier(const Node& node) {
  if (node.get_input_element_type(0) == element::f64) return "its kernel computes in f32, not f64";
  for (std::size_t i = 1; i < node.get_input_size(); ++i)
    if (std::string why = wants_constant(node, i); !why.empty()) return why;
  return {};
}

}  // namespace

void register_fourier(LoweringTable& table) {
  for (const char* type : {"DFT", "IDFT", "RDFT", "IRDFT"}) table[type] = {lower_fourier, refuses_fourier};
}

}  // namespace tenon::inline v1::gpu_device
