// SPDX-License-Identifier: Apache-2.0
// Sparse matrices: rows without an entry get one. How many entries there are then is counted on the device.
#include <algorithm>
#include <string>

#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Rows that one work-item counts.
constexpr std::size_t kSparseRun = 256;

std::size_t rows_of(const Node& node) { return node.get_output_shape(2)[0]; }
std::size_t most_entries(const Node& node) { return node.get_input_shape(0)[0] + rows_of(node); }

/// Entries of each row are counted, then each row knows where its own begin. Entries of rows that are not there are left out.
void lower_fill_empty_rows(Builder& builder, const Node& node) {
  const View values = builder.packed(node.input_value(0)), indices = builder.packed(node.input_value(2)),
             fallback = builder.packed(node.input_value(3));
  const std::size_t entries = values.shape[0], rows = rows_of(node),
                    runs = std::max<std::size_t>((rows + kSparseRun - 1) / kSparseRun, 1);
  const View in_row = builder.scratch(ElementType::kI32, {rows}), in_run = builder.scratch(ElementType::kI32, {runs}),
             begins = builder.scratch(ElementType::kI32, {rows});
  const std::size_t most = most_entries(node);
  const View places = builder.make(node, 0, {most, 2}), filled = builder.make(node, 1, {most});
  const auto begin = [&](const char* kind) {
    Kernel kernel = builder.kernel(kind);
    return kernel.number("ROWS", static_cast<std::int64_t>(rows)).define("RUN", kSparseRun);
  };
  // Every value is what empty rows get, until entries take their places.
  Kernel begun = begin("sparse_begin");
  begun.reads("FALLBACK", fallback).writes("IN_ROW", in_row).writes("VALUES", filled);
  launch_each(builder, node, begun, most, "  VALUES_SET(at, FALLBACK(0));\n  if (at < ROWS) IN_ROW_SET(at, 0);\n");

  Kernel count = begin("sparse_count");
  count.reads("INDEX", indices).updates("IN_ROW", in_row);
  launch_each(builder, node, count, entries,
              "  const long row = (long)INDEX(2 * at);\n  if (row >= 0 && row < ROWS) atomic_inc(IN_ROW_p + row);\n");

  Kernel sum = begin("sparse_sum");
  sum.reads("IN_ROW", in_row).writes("IN_RUN", in_run);
  launch_each(
      builder, node, sum, runs,
      "  int all = 0;\n  for (int i = at * RUN; i < min((at + 1) * RUN, ROWS); ++i) all += max((int)IN_ROW(i), 1);\n"
      "  IN_RUN_SET(at, all);\n");

  Kernel fill = begin("sparse_fill");
  fill.reads("IN_ROW", in_row).reads("IN_RUN", in_run);
  fill.writes("BEGIN", begins).writes("PLACES", places);
  fill.writes("IS_EMPTY", builder.make(node, 2)).writes("TOTAL", builder.make_count(node));
  launch_each(builder, node, fill, runs,
              "  int total = 0, next = 0;\n"
              "  for (int i = 0; i < COUNT; ++i) {\n    total += IN_RUN(i);\n    next += i < at ? IN_RUN(i) : 0;\n  }\n"
              "  if (at == 0) TOTAL_SET(0, total);\n"
              "  for (int row = at * RUN; row < min((at + 1) * RUN, ROWS); ++row) {\n"
              "    const int own = IN_ROW(row);\n    BEGIN_SET(row, next);\n    IS_EMPTY_SET(row, own == 0);\n"
              "    if (own == 0) {\n      PLACES_SET(2 * next, row);\n      PLACES_SET(2 * next + 1, 0);\n    }\n    "
              "next += max(own, 1);\n  }\n");

  // Entries of a row keep their order.
  Kernel move = begin("sparse_move");
  move.reads("INDEX", indices)
      .reads("X", values)
      .reads("BEGIN", begins)
      .updates("PLACES", places)
      .updates("VALUES", filled);
  launch_each(builder, node, move, entries,
              "  const long row = (long)INDEX(2 * at);\n  if (row < 0 || row >= ROWS) return;\n"
              "  int place = BEGIN(row);\n  for (int i = 0; i < at; ++i) place += (long)INDEX(2 * i) == row;\n"
              "  PLACES_SET(2 * place, row);\n  PLACES_SET(2 * place + 1, INDEX(2 * at + 1));\n"
              "  VALUES_SET(place, X(at));\n");
}

std::string refuses_fill(const Node& node) { return wants_constant(node, 1); }

}  // namespace

void register_sparse(LoweringTable& table) {
  table["SparseFillEmptyRows"] = {lower_fill_empty_rows, refuses_fill, most_entries};
}

}  // namespace tenon::inline v1::gpu_device
