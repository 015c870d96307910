// SPDX-License-Identifier: Apache-2.0
// Rows of keys and values in fewer bits: written where a cache grows, read where they lie.
#include <tenon/devices/gpu/lower/build/cache_rows.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/program/indexing.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Rows of 8-bit numbers with a scale and a least number each.
class RowSource final : public ViewSource {
 public:
  /// @param lying  Whole rows; their words are elements.
  RowSource(View lying, std::size_t columns, std::string name)
      : ViewSource({{std::move(name), "WidenRows"}}), lying_(std::move(lying)), columns_(columns) {}
  bool has_rows() const override { return true; }
  void define(Kernel& kernel, const std::string& name) const override {
    kernel.reads(name + "_words", lying_);
    const std::string columns = std::to_string(columns_), words = std::to_string(row_words(columns_)),
                      function = std::string(Kernel::kName) + "_" + name;
    const std::string begin = "__global const int* const row = words + i / " + columns + " * " + words +
                              ";\n  const int d = i % " + columns + ";\n  const float by = as_float(row[" + words +
                              " - 2]), least = as_float(row[" + words + " - 1]);\n  ";
    kernel.helper("inline float " + function + "(__global const int* words, int i) {\n  " + begin +
                  "return fma(by, (float)(row[d / 4] >> (d % 4 * 8) & 255), least);\n}\n");
    for (const int count : {8, 16}) {
      const std::string wide = std::to_string(count);
      kernel.helper("inline float" + wide + " " + function + "_" + wide + "(__global const int* words, int i) {\n  " +
                    begin + "return fma((float" + wide + ")by, convert_float" + wide + "(as_uchar" + wide + "(vload" +
                    std::to_string(count / 4) + "(0, row + d / 4))), (float" + wide + ")least);\n}\n");
    }
    kernel.define(name + "(i)", function + "(" + name + "_words_p, (i))");
    kernel.define(name + "_LOAD8(i, to)", "vstore8(" + function + "_8(" + name + "_words_p, (i)), 0, to)");
    kernel.define(name + "_LOAD16(i)", function + "_16(" + name + "_words_p, (i))");
  }

 private:
  View lying_;
  std::size_t columns_;
};

void lower_widen_rows(Builder& builder, const Node& node) {
  const Output<Node> source = node.input_value(0);
  if (source.get_element_type() != element::i32) return builder.set(node, 0, builder.view(source));
  const Shape& shape = node.get_output_shape(0);
  View lying = builder.view(source);
  const auto words = static_cast<std::int64_t>(lying.shape.back());
  const auto is_of_rows = [&](std::int64_t stride) { return stride % words == 0; };
  if (lying.source || lying.strides.back() != 1 || words == 0 ||
      !std::all_of(lying.strides.begin(), lying.strides.end() - 1, is_of_rows))
    lying = builder.packed(source);
  // Elements are counted as the words lie: with the room that a growing cache has.
  Extents strides = lying.strides;
  for (std::size_t axis = 0; axis + 1 < strides.size(); ++axis)
    strides[axis] = strides[axis] / words * static_cast<std::int64_t>(shape.back());
  auto rows = std::make_shared<const RowSource>(lying, shape.back(), node.get_friendly_name());
  builder.set(node, 0, View{{}, ElementType::kF32, shape, strides, std::move(rows)});
}

void lower_narrow_rows(Builder& builder, const Node& node) {
  const Node* const self = &node;
  const View from = builder.view(node.input_value(0));
  Producer producer;
  producer.emit = [&builder, self, from](const ExpressionRef& root, const View& out) {
    const std::size_t columns = from.shape.back(), last = from.shape.size() - 1,
                      rows = element_count(from.shape) / std::max<std::size_t>(columns, 1),
                      lanes = builder.target().is_cpu ? 1 : 32;
    Kernel kernel = builder.kernel("narrow_rows");
    kernel.reads("X", from);
    AxisGroups axes{{}, {last}};
    axes[0].resize(last);
    std::iota(axes[0].begin(), axes[0].end(), std::size_t{0});
    const Walk walk = collapse(from.shape, {&from}, axes[0]);
    kernel.define("ROW(row, d)",
                  "X(" + index_text(kernel, "X_ROW", walk.strides[0], coordinate_texts(kernel, walk, "r", "(row)")) +
                      " + " + index_text(kernel, "X", {from.strides[last]}, {"(d)"}) + ")");
    builder.add_store(kernel, root, out, axes);
    kernel.define("COLUMNS", static_cast<std::int64_t>(columns))
        .define("WORDS", static_cast<std::int64_t>(row_words(columns)))
        .define("LANES", static_cast<std::int64_t>(lanes))
        .group(has_barriers_in_branches(builder.target()));
    for (const char* const found : {"lows", "highs", "odds"}) kernel.local(found, lanes);
    kernel.text(kernels::narrow_rows).over({lanes * rows}, {lanes});
    builder.launch(std::move(kernel), *self);
  };
  builder.set(node, 0, ElementType::kI32, std::move(producer));
}

}  // namespace

void register_caches(LoweringTable& table) {
  table["NarrowRows"] = {lower_narrow_rows};
  table["WidenRows"] = {lower_widen_rows};
}

}  // namespace tenon::inline v1::gpu_device
