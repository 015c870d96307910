// SPDX-License-Identifier: Apache-2.0
// Assembles the operation table from its groups.
#include <tenon/graph/operation_table.hpp>

#include <algorithm>
#include <unordered_map>

#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
struct Registry {
  OperationTable table;
  std::vector<const Operation*> sorted;
  std::unordered_map<std::string_view, std::vector<const Operation*>> by_type;  // Ascending versions.

  Registry() {
    for (auto add : {add_model_rows,      add_activation_rows, add_arithmetic_rows,  add_convolution_rows,
                     add_pooling_rows,    add_shape_rows,      add_slicing_rows,     add_padding_rows,
                     add_gather_rows,     add_reduction_rows,  add_sorting_rows,     add_normalisation_rows,
                     add_matmul_rows,     add_attention_rows,  add_interpolate_rows, add_quantisation_rows,
                     add_generation_rows, add_detection_rows,  add_colour_rows,      add_control_flow_rows,
                     add_recurrent_rows,  add_sampling_rows,   add_unique_rows,      add_ssd_rows,
                     add_signal_rows,     add_space_rows,      add_matrix_rows,      add_embedding_rows,
                     add_regions_rows,    add_nms_rows,        add_proposals_rows,   add_string_rows,
                     add_learned_rows,    add_input_stage_rows}) {
      add(table);
    }
    for (const Operation& row : table.rows()) sorted.push_back(&row);
    std::sort(sorted.begin(), sorted.end(), [](const Operation* a, const Operation* b) {
      return a->type != b->type ? a->type < b->type : a->opset < b->opset;
    });
    for (const Operation* row : sorted) {
      auto& versions = by_type[row->type];
      if (!versions.empty() && versions.back()->opset == row->opset)
        throw Error(Code::kInternal, "the operation table has two rows for " + row->type + " of " + row->version);
      versions.push_back(row);
    }
  }
};

const Registry& registry() {
  static const Registry instance;
  return instance;
}

/// Some operations have other names in IR files than in the operation sets.
std::string_view canonical_type(std::string_view type) {
  if (type == "Const") return "Constant";
  if (type == "ReLU") return "Relu";
  if (type == "SoftMax") return "Softmax";
  return type;
}
}  // namespace

const AttributeSpec* Operation::find_attribute(std::string_view name) const {
  for (const AttributeSpec& spec : attributes) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

const Operation* find_operation(std::string_view type, unsigned version) {
  const auto found = registry().by_type.find(canonical_type(type));
  if (found == registry().by_type.end()) return nullptr;
  const auto& rows = found->second;
  // In namespace v0, the class of an operation first introduced in opset 2 is its oldest version.
  if (version == 0) return rows.front();
  const Operation* newest = nullptr;
  for (const Operation* row : rows) {
    if (row->opset <= version) newest = row;
  }
  return newest;
}

std::string known_versions(std::string_view type) {
  std::string text;
  const auto found = registry().by_type.find(canonical_type(type));
  if (found == registry().by_type.end()) return text;
  for (const Operation* row : found->second) text += (text.empty() ? "" : ", ") + std::to_string(row->opset);
  return text;
}

namespace op {
const Operation& row(const char* type, unsigned version) {
  const Operation* found = find_operation(type, version);
  if (!found) throw Error(Code::kInternal, std::string("the operation table lacks ") + type);
  return *found;
}
}  // namespace op

std::span<const Operation* const> operations() { return registry().sorted; }

}  // namespace v1
}  // namespace tenon
