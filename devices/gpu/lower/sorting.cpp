// SPDX-License-Identifier: Apache-2.0
// The first of a line, running sums, and what depends on a line's order.
#include <algorithm>
#include <string>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/axes.hpp>
#include <tenon/devices/gpu/lower/each.hpp>
#include <tenon/devices/gpu/lower/matmul.hpp>
#include <tenon/devices/gpu/lower/table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// The lines of a packed tensor along an axis.
struct Lines {
  std::int64_t outer = 1, extent = 1, inner = 1;
  std::size_t count() const { return static_cast<std::size_t>(outer * inner); }
};
Lines lines_of(const Shape& shape, std::size_t axis) {
  return {product(shape, 0, axis), static_cast<std::int64_t>(shape[axis]), product(shape, axis + 1, shape.size())};
}

void lower_top_k(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const auto& attributes = node.get_attributes();
  const std::size_t axis = normalized(attributes.get_int("axis"), data.shape.size());
  const Lines lines = lines_of(data.shape, axis);
  const View values = builder.make(node, 0), indices = builder.make(node, 1);
  const bool by_index = attributes.get_string("sort") == "index";
  const auto begin = [&](const char* kind) {
    Kernel kernel = builder.kernel(kind);
    kernel.reads("X", data).number("EXTENT", lines.extent).number("INNER", lines.inner);
    kernel.define("TYPE", compute_name(data.type)).define("IS_MAX", attributes.get_string("mode") == "max" ? 1 : 0);
    kernel.define("BY_INDEX", by_index ? 1 : 0);
    return kernel;
  };
  const auto finish = [&](Kernel& kernel, const char* text) {
    kernel.text(text).over({data.shape[axis], lines.count()},
                           {std::min<std::size_t>(builder.target().max_group, 64), 1});
    builder.launch(kernel, node);
  };
  const auto k = static_cast<std::int64_t>(values.shape[axis]);
  Kernel ranks = begin("top_k");
  if (!by_index) {
    ranks.writes("VALUES", values).writes("INDICES", indices).number("K", k);
    return finish(ranks, kernels::top_k);
  }
  const View rank = builder.scratch(ElementType::kI32, data.shape);
  ranks.writes("RANK", rank);
  finish(ranks, kernels::top_k);
  Kernel places = begin("top_k_by_index");
  places.reads("RANK", rank).writes("VALUES", values).writes("INDICES", indices).number("K", k);
  finish(places, kernels::top_k_by_index);
}

/// One work-item a line: sums depend on those before.
void lower_cum_sum(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0)), out = builder.make(node, 0);
  const Lines lines =
      lines_of(data.shape, normalized(builder.integers(node.input_value(1))->front(), data.shape.size()));
  const bool reverse = node.get_attributes().get_bool("reverse"),
             exclusive = node.get_attributes().get_bool("exclusive");
  Kernel kernel = builder.kernel("cum_sum");
  kernel.reads("X", data).writes("OUT", out).number("EXTENT", lines.extent).number("INNER", lines.inner);
  kernel.define("ACC", accumulator_name(data.type)).define("PLACE(n)", reverse ? "(EXTENT - 1 - (n))" : "(n)");
  launch_each(builder, node, kernel, lines.count(),
              std::string("  const int begin = at / INNER * EXTENT * INNER + at % INNER;\n  ACC sum = 0;\n"
                          "  for (int n = 0; n < EXTENT; ++n) {\n    const int place = begin + PLACE(n) * INNER;\n"
                          "    const ACC next = sum + (ACC)X(place);\n    OUT_SET(place, ") +
                  (exclusive ? "sum" : "next") + ");\n    sum = next;\n  }\n");
}

/// The first elements of each sequence, as many as its length says, come in reverse.
void lower_reverse_sequence(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0)), lengths = builder.packed(node.input_value(1));
  const std::size_t rank = data.shape.size();
  const std::size_t batch = normalized(node.get_attributes().get_int("batch_axis"), rank),
                    sequence = normalized(node.get_attributes().get_int("seq_axis"), rank);
  set_each(
      builder, node, "reverse_sequence", data.type,
      [=](Kernel& kernel) {
        kernel.reads("X", data).reads("LENGTH", lengths);
        kernel.number("BATCHES", static_cast<std::int64_t>(data.shape[batch]))
            .number("BATCH_STEP", data.strides[batch])
            .number("EXTENT", static_cast<std::int64_t>(data.shape[sequence]))
            .number("STEP", data.strides[sequence]);
      },
      "  const int place = at / STEP % EXTENT, count = (int)LENGTH(at / BATCH_STEP % BATCHES);\n"
      "  STORE(X(place < count ? at + (count - 1 - 2 * place) * STEP : at), at);\n");
}

/// How many of a sorted row are less than a value, or not greater.
void set_places(Builder& builder, const Node& node, const View& sorted, const View& values, bool counts_equal) {
  const bool is_shared = sorted.shape.size() <= 1;
  const auto each = is_shared ? static_cast<std::int64_t>(std::max<std::size_t>(element_count(values.shape), 1))
                              : static_cast<std::int64_t>(values.shape.back());
  const auto length = static_cast<std::int64_t>(sorted.shape.empty() ? 1 : sorted.shape.back());
  set_each(
      builder, node, "search", node.get_output_element_type(0),
      [=](Kernel& kernel) {
        kernel.reads("SORTED", sorted).reads("X", values).number("EACH", each).number("LENGTH", length);
        kernel.define("COMES_FIRST(a, b)", counts_equal ? "((a) <= (b))" : "((a) < (b))");
        kernel.define("TYPE", info(values.type).is_real || info(sorted.type).is_real
                                  ? (values.type == ElementType::kF64 ? "double" : "float")
                                  : "long");
      },
      "  const TYPE wanted = X(at);\n  const int begin = at / EACH * LENGTH;\n  int low = 0, high = LENGTH;\n"
      "  while (low < high) {\n    const int middle = (low + high) / 2;\n"
      "    if (COMES_FIRST((TYPE)SORTED(begin + middle), wanted)) low = middle + 1; else high = middle;\n  }\n"
      "  STORE(low, at);\n");
}

void lower_search_sorted(Builder& builder, const Node& node) {
  set_places(builder, node, builder.packed(node.input_value(0)), builder.packed(node.input_value(1)),
             node.get_attributes().get_bool("right_mode"));
}

void lower_bucketize(Builder& builder, const Node& node) {
  set_places(builder, node, builder.packed(node.input_value(1)), builder.packed(node.input_value(0)),
             !node.get_attributes().get_bool("with_right_bound"));
}

std::string axis_known(const Node& node) { return wants_constant(node, 1); }

}  // namespace

void register_sorting(LoweringTable& table) {
  // K is known: else the shape would not be.
  table["TopK"] = {lower_top_k};
  table["CumSum"] = {lower_cum_sum, axis_known};
  table["ReverseSequence"] = {lower_reverse_sequence};
  table["SearchSorted"] = {lower_search_sorted};
  table["Bucketize"] = {lower_bucketize};
}

}  // namespace tenon::inline v1::gpu_device
