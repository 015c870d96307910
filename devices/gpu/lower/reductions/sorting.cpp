// SPDX-License-Identifier: Apache-2.0
// The first of a line, running sums, and what depends on a line's order.
#include <algorithm>
#include <string>
#include <utility>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/reductions/sorting.hpp>
#include <tenon/devices/gpu/program/types.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// From so many elements on the first of a line are selected before they are sorted.
constexpr std::size_t kLongLine = 2048;

/// The lines of a packed tensor along an axis.
struct Lines {
  std::int64_t outer = 1, extent = 1, inner = 1;
  std::size_t count() const { return static_cast<std::size_t>(outer * inner); }
};
Lines lines_of(const Shape& shape, std::size_t axis) {
  return {product(shape, 0, axis), static_cast<std::int64_t>(shape[axis]), product(shape, axis + 1, shape.size())};
}

/// A TopK: what it reads, and how.
struct Selection {
  View data, values, indices;
  std::size_t axis = 0, k = 0;
  bool is_max = false, by_index = false;
  Lines lines() const { return lines_of(data.shape, axis); }
};

/// X, the numbers of its lines and what comes first.
Kernel begin_kernel(Builder& builder, const char* kind, const Selection& what, const View& data) {
  Kernel kernel = builder.kernel(kind);
  const Lines lines = lines_of(data.shape, what.axis);
  kernel.reads("X", data).number("EXTENT", lines.extent).number("INNER", lines.inner);
  kernel.number("K", static_cast<std::int64_t>(what.k)).define("IS_MAX", what.is_max ? 1 : 0);
  return kernel;
}

void launch_elements(Builder& builder, const Node& node, Kernel& kernel, const Lines& lines, const char* text) {
  kernel.text(text).over({static_cast<std::size_t>(lines.extent), lines.count()},
                         {std::min<std::size_t>(builder.target().max_group, 64), 1});
  builder.launch(std::move(kernel), node);
}

/// By counting what comes before each element. @param origin  The elements' indices; none: their places.
void sort_first(Builder& builder, const Node& node, const Selection& what, const View& data, const View* origin) {
  Kernel kernel = begin_kernel(builder, "top_k", what, data);
  kernel.define("TYPE", compute_name(data.type)).define("BY_INDEX", 0);
  kernel.writes("VALUES", what.values).writes("INDICES", what.indices);
  if (origin)
    kernel.reads("ORIGIN", *origin);
  else
    kernel.define("ORIGIN(i)", "element");
  launch_elements(builder, node, kernel, lines_of(data.shape, what.axis), kernels::top_k);
}

/// The same, then those that are among the first in the order in which they stand.
void keep_first(Builder& builder, const Node& node, const Selection& what) {
  const View rank = builder.scratch(ElementType::kI32, what.data.shape);
  Kernel ranks = begin_kernel(builder, "top_k", what, what.data);
  ranks.define("TYPE", compute_name(what.data.type)).define("BY_INDEX", 1).writes("RANK", rank);
  launch_elements(builder, node, ranks, what.lines(), kernels::top_k);
  Kernel places = begin_kernel(builder, "top_k_by_index", what, what.data);
  places.reads("RANK", rank).writes("VALUES", what.values).writes("INDICES", what.indices);
  launch_elements(builder, node, places, what.lines(), kernels::top_k_by_index);
}

/// Finds the first of long lines digit by digit.
void select_first(Builder& builder, const Node& node, const Selection& what, const View& values, const View& indices) {
  Kernel kernel = begin_kernel(builder, "top_k_select", what, what.data);
  kernel.writes("VALUES", values).writes("INDICES", indices);
  const ElementTypeInfo& type = info(what.data.type);
  kernel.define("IS_REAL", type.is_real ? 1 : 0).define("IS_SIGNED", type.is_signed ? 1 : 0);
  const std::size_t lanes = std::min<std::size_t>(builder.target().max_group, builder.target().is_cpu ? 16 : 256);
  kernel.define("LANES", static_cast<std::int64_t>(lanes)).text(kernels::top_k_select);
  kernel.over({what.lines().count() * lanes}, {lanes});
  builder.launch(std::move(kernel), node);
}

void lower_top_k(Builder& builder, const Node& node) {
  const auto& attributes = node.get_attributes();
  Selection what;
  what.data = builder.packed(node.input_value(0));
  what.axis = normalized(attributes.get_int("axis"), what.data.shape.size());
  what.values = builder.make(node, 0);
  what.indices = builder.make(node, 1);
  what.k = what.values.shape[what.axis];
  what.is_max = attributes.get_string("mode") == "max";
  what.by_index = attributes.get_string("sort") == "index";
  // Counting costs the square of a line.
  const bool is_long = what.data.shape[what.axis] > kLongLine && what.k * 4 <= what.data.shape[what.axis];
  if (!is_long || info(what.data.type).bits > 32)
    return what.by_index ? keep_first(builder, node, what) : sort_first(builder, node, what, what.data, nullptr);
  if (what.by_index) return select_first(builder, node, what, what.values, what.indices);
  const View values = builder.scratch(what.data.type, what.values.shape),
             indices = builder.scratch(ElementType::kI32, what.values.shape);
  select_first(builder, node, what, values, indices);
  sort_first(builder, node, what, values, &indices);
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
      "  const int place = at / STEP % EXTENT, count = (int)min((long)LENGTH(at / BATCH_STEP % BATCHES), "
      "(long)EXTENT);\n"
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

void select_greatest(Builder& builder, const Node& node, const View& data, const View& values, const View& indices) {
  Selection what;
  what.data = data;
  what.axis = 1;
  what.k = values.shape[1];
  what.is_max = true;
  select_first(builder, node, what, values, indices);
}

void register_sorting(LoweringTable& table) {
  // K is known: else the shape would not be.
  table["TopK"] = {lower_top_k};
  table["CumSum"] = {lower_cum_sum, axis_known};
  table["ReverseSequence"] = {lower_reverse_sequence};
  table["SearchSorted"] = {lower_search_sorted};
  table["Bucketize"] = {lower_bucketize};
}

}  // namespace tenon::inline v1::gpu_device
