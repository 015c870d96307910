// SPDX-License-Identifier: Apache-2.0
// What is not 0, and what is there more than once: how many there are is counted on the device.
#include <algorithm>
#include <optional>
#include <string>

#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Elements that one work-item counts.
constexpr std::size_t kDistinctRun = 256;

std::size_t most_elements(const Node& node) { return element_count(node.get_input_shape(0)); }

/// Each run counts its own, then all know where theirs begin.
void lower_non_zero(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const std::size_t elements = element_count(data.shape),
                    runs = std::max<std::size_t>((elements + kDistinctRun - 1) / kDistinctRun, 1);
  const View counts = builder.scratch(ElementType::kI32, {runs});
  const auto begin = [&](const char* kind) {
    Kernel kernel = builder.kernel(kind);
    kernel.reads("X", data).number("ELEMENTS", static_cast<std::int64_t>(elements)).define("RUN", kDistinctRun);
    return kernel;
  };
  Kernel count = begin("non_zero_count");
  count.writes("IN_RUN", counts);
  launch_each(builder, node, count, runs,
              "  int found = 0;\n  for (int i = at * RUN; i < min((at + 1) * RUN, ELEMENTS); ++i) found += X(i) != 0;\n"
              "  IN_RUN_SET(at, found);\n");
  Kernel find = begin("non_zero");
  find.reads("IN_RUN", counts).writes("OUT", builder.make(node, 0, {data.shape.size(), elements}));
  find.writes("TOTAL", builder.make_count(node));
  std::string put;
  for (std::size_t axis = 0; axis < data.shape.size(); ++axis) {
    const std::string name = std::to_string(axis);
    find.number("EXTENT" + name, static_cast<std::int64_t>(data.shape[axis])).number("STEP" + name, data.strides[axis]);
    put += "    OUT_SET(" + name + " * total + next, i / STEP" + name + " % EXTENT" + name + ");\n";
  }
  launch_each(builder, node, find, runs,
              "  int total = 0, next = 0;\n"
              "  for (int i = 0; i < COUNT; ++i) {\n    const int found = IN_RUN(i);\n    total += found;\n"
              "    next += i < at ? found : 0;\n  }\n  if (at == 0) TOTAL_SET(0, total);\n"
              "  for (int i = at * RUN; i < min((at + 1) * RUN, ELEMENTS); ++i) {\n    if (X(i) == 0) continue;\n" +
                  put + "    ++next;\n  }\n");
}

/// The items of a Unique: elements, or slices along an axis.
struct Items {
  std::int64_t outer = 1, count = 1, inner = 1;
};
Items items_of(const Node& node) {
  const Shape& shape = node.get_input_shape(0);
  if (node.get_input_size() < 2) return {1, static_cast<std::int64_t>(element_count(shape)), 1};
  const std::int64_t given = op::v0::Constant(*node.get_input_tensor(1).value()).to_integers().at(0);
  const std::size_t axis = normalized(given, shape.size());
  return {product(shape, 0, axis), static_cast<std::int64_t>(shape[axis]), product(shape, axis + 1, shape.size())};
}
std::size_t most_items(const Node& node) { return static_cast<std::size_t>(items_of(node).count); }

/// Each item finds the first that is equal to it, each of these its place among them.
void lower_unique(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const Items items = items_of(node);
  const auto count = static_cast<std::size_t>(items.count);
  const View first = builder.scratch(ElementType::kI32, {count}), place = builder.scratch(ElementType::kI32, {count});
  const auto begin = [&](const char* kind) {
    Kernel kernel = builder.kernel(kind);
    kernel.in_single_file();
    kernel.reads("X", data).number("OUTER", items.outer).number("ITEMS", items.count).number("INNER", items.inner);
    kernel.define("ITEM_AT(item, k)", "X(((k) / INNER * ITEMS + (item)) * INNER + (k) % INNER)");
    // All NaNs are one value, the greatest, as in the reference kernel.
    kernel.define("IS_NAN(x)", "((x) != (x))").define("IS_SAME(x, y)", "((x) == (y) || (IS_NAN(x) && IS_NAN(y)))");
    kernel.define("IS_LESS(x, y)", "((x) < (y) || (!IS_NAN(x) && IS_NAN(y)))");
    kernel.define("FIND_DIFFERENCE(a, b)",
                  "int k = 0; while (k < OUTER * INNER && IS_SAME(ITEM_AT(a, k), ITEM_AT(b, k))) ++k;");
    return kernel;
  };
  Kernel equals = begin("unique_first");
  equals.writes("FIRST", first);
  launch_each(builder, node, equals, count,
              "  int found = 0;\n  for (; found < at; ++found) {\n    FIND_DIFFERENCE(found, at)\n"
              "    if (k == OUTER * INNER) break;\n  }\n  FIRST_SET(at, found);\n");

  Kernel places = begin("unique_place");
  const Shape most{count};
  places.reads("FIRST", first).writes("PLACE", place).writes("TOTAL", builder.make_count(node));
  places.writes("FIRSTS", builder.make(node, 1, most)).writes("COUNTS", builder.make(node, 3, most));
  places.define("SORTED", node.get_attributes().get_bool("sorted") ? 1 : 0);
  // A work-item more, so that none is counted, too.
  launch_each(
      builder, node, places, count + 1,
      "  if (at == ITEMS) {\n    int total = 0;\n    for (int j = 0; j < ITEMS; ++j) total += FIRST(j) == j;\n"
      "    TOTAL_SET(0, total);\n    return;\n  }\n"
      "  if (FIRST(at) != at) return;\n  int before = 0, same = 0;\n"
      "  for (int j = 0; j < ITEMS; ++j) {\n    same += FIRST(j) == at;\n"
      "    if (FIRST(j) != j || j == at) continue;\n    bool is_less = j < at;\n#if SORTED\n"
      "    FIND_DIFFERENCE(at, j)\n"
      "    if (IS_LESS(ITEM_AT(j, k), ITEM_AT(at, k))) is_less = true;\n"
      "    else if (IS_LESS(ITEM_AT(at, k), ITEM_AT(j, k))) is_less = false;\n#endif\n    before += is_less;\n  }\n"
      "  PLACE_SET(at, before);\n  FIRSTS_SET(before, at);\n  COUNTS_SET(before, same);\n");

  Kernel values = begin("unique");
  Shape shape = node.get_input_size() < 2 ? most : data.shape;
  values.reads("FIRST", first).reads("PLACE", place).writes("OUT", builder.make(node, 0, shape));
  values.writes("INVERSE", builder.make(node, 2)).define("IS_FLAT", items.outer == 1 ? 1 : 0);
  launch_each(builder, node, values, static_cast<std::size_t>(items.outer * items.count * items.inner),
              "  const int own = at / INNER % ITEMS;\n  if (at < ITEMS) INVERSE_SET(at, PLACE(FIRST(at)));\n"
              "  if (FIRST(own) != own) return;\n  int total = 0;\n#if IS_FLAT\n#else\n"
              "  for (int j = 0; j < ITEMS; ++j) total += FIRST(j) == j;\n#endif\n"
              "  OUT_SET((at / (INNER * ITEMS) * total + PLACE(own)) * INNER + at % INNER, X(at));\n");
}

std::string refuses_unique(const Node& node) { return wants_constant(node, 1); }
std::string refuses_non_zero(const Node& node) {
  return node.get_input_partial_shape(0).rank() == Dimension(0) ? "its kernel takes no scalar" : "";
}

}  // namespace

void register_distinct(LoweringTable& table) {
  table["NonZero"] = {lower_non_zero, refuses_non_zero, most_elements};
  table["Unique"] = {lower_unique, refuses_unique, most_items};
}

}  // namespace tenon::inline v1::gpu_device
