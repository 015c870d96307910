// SPDX-License-Identifier: Apache-2.0
// Sums of a table's rows, by bags of indices.
#include <optional>
#include <string>
#include <string_view>

#include <tenon/devices/gpu/lower/build/axes.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/program/types.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Where a bag begins and ends among the indices, and which inputs say the rest. Indices outside of the table give 0.
struct Bags {
  const char *begin, *end;
  std::size_t bags = 0, fallback = 0, weights = 0;  ///< Inputs; `bags` 0: none.
};

Bags bags_of(std::string_view type) {
  if (type.find("Packed") != type.npos) return {"bag * EACH", "bag * EACH + EACH", 0, 99, 2};
  if (type.find("Segments") != type.npos) {
    // Identifiers ascend.
    return {"0; while (begin < INDICES && BAG(begin) < bag) ++begin",
            "begin; while (end < INDICES && BAG(end) == bag) ++end", 2, 4, 5};
  }
  return {"(int)clamp((long)BAG(bag), 0L, (long)INDICES)",
          "bag + 1 < BAGS ? (int)clamp((long)BAG(bag + 1), 0L, (long)INDICES) : INDICES", 2, 3, 4};
}

void lower_embedding(Builder& builder, const Node& node) {
  const Bags bags = bags_of(node.get_type_name());
  const View table = builder.packed(node.input_value(0)), indices = builder.packed(node.input_value(1));
  const auto given = [&](std::size_t input) {
    return input > 0 && input < node.get_input_size() ? std::optional(builder.packed(node.input_value(input)))
                                                      : std::nullopt;
  };
  const auto places = given(bags.bags), fallback = given(bags.fallback), weights = given(bags.weights);
  const bool is_mean = node.get_attributes().get_string("reduction", "sum") == "mean";
  const auto count = static_cast<std::int64_t>(node.get_output_shape(0)[0]);
  std::string text = "  const int k = at % WIDTH, bag = at / WIDTH;\n  int begin = " + std::string(bags.begin) +
                     ";\n  int end = " + bags.end +
                     ";\n  ACC sum = 0;\n"
                     "  for (int i = begin; i < end; ++i) {\n    const long row = (long)INDEX(i);\n"
                     "    if (row >= 0 && row < ROWS) sum += (ACC)TABLE((int)row * WIDTH + k)";
  text += weights ? " * (ACC)WEIGHT(i);\n  }\n" : ";\n  }\n";
  if (is_mean) text += "  if (end > begin) sum /= end - begin;\n";
  if (fallback)
    text +=
        "  const long other = (long)FALLBACK(0);\n"
        "  if (end <= begin && other >= 0 && other < ROWS) sum = (ACC)TABLE((int)other * WIDTH + k);\n";
  text += "  STORE(sum, at);\n";
  set_each(
      builder, node, "embedding", table.type,
      [=](Kernel& kernel) {
        kernel.reads("TABLE", table).reads("INDEX", indices).define("ACC", accumulator_name(table.type));
        if (places) kernel.reads("BAG", *places);
        if (fallback) kernel.reads("FALLBACK", *fallback);
        if (weights) kernel.reads("WEIGHT", *weights);
        kernel.number("ROWS", static_cast<std::int64_t>(table.shape[0]))
            .number("WIDTH", product(table.shape, 1, table.shape.size()))
            .number("INDICES", static_cast<std::int64_t>(element_count(indices.shape)))
            .number("EACH", static_cast<std::int64_t>(indices.shape.back()))
            .number("BAGS", count);
      },
      text);
}

}  // namespace

void register_embedding(LoweringTable& table) {
  for (const char* type : {"EmbeddingBagOffsets", "EmbeddingBagOffsetsSum", "EmbeddingBagPacked",
                           "EmbeddingBagPackedSum", "EmbeddingSegmentsSum"})
    table[type] = {lower_embedding};
}

}  // namespace tenon::inline v1::gpu_device
