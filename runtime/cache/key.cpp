// SPDX-License-Identifier: Apache-2.0
// Hashes the content of a model.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/cache/cache.hpp>

namespace tenon {
inline namespace v1 {
namespace cache {
namespace {

void add_names(store::ContentHasher& hasher, const std::unordered_set<std::string>& names) {
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  hasher.add(std::uint64_t{sorted.size()});
  for (const std::string_view name : sorted) hasher.add(name);
}

/// Run-time information as text. Information without a text form (pointers of this process) says nothing about the model.
void add_info(store::ContentHasher& hasher, const AnyMap& map) {
  for (const auto& [key, value] : map) {
    hasher.add(key);
    if (value.is<AnyMap>()) {
      add_info(hasher, value.as<AnyMap>());
      continue;
    }
    try {
      hasher.add(value.to_text());
    } catch (const Error&) {
    }
  }
  hasher.add(std::uint64_t{map.size()});
}

/// Constants of fewer bytes are parameters of the computation, not weights.
constexpr std::size_t kLeastWeights = 4096;

/// The name that an author gave; empty for "Add_17" (and "/y" for "Parameter_17/y", a plane of that input). Such numbers count
/// through the process; another process, or the same model built again, counts differently. Copies of a model carry such names
/// as if an author had given them.
std::string_view given_name(std::string_view name, std::string_view type) {
  if (name.substr(0, type.size()) != type) return name;
  const std::string_view rest = name.substr(type.size());
  const std::size_t begin = rest.substr(0, 1) == "_" ? 1 : 0;
  const std::size_t end = std::min(rest.find_first_not_of("0123456789", begin), rest.size());
  const bool counted = end > begin && (end == rest.size() || rest[end] == '/');
  return counted ? rest.substr(end) : name;
}

/// The bodies of an operation are not attributes, so they are hashed as the model writer writes them.
bool has_bodies(const Node& node) {
  const std::string_view type = node.get_type_name();
  return type == "TensorIterator" || type == "Loop" || type == "If";
}

}  // namespace

store::ContentHash model_hash(const Model& model, bool with_weights) {
  store::ContentHasher hasher;
  std::unordered_map<const Node*, std::uint64_t> numbers;
  bool bodies = false;
  const auto add_node = [&](const Node& node) {
    numbers.emplace(&node, numbers.size());
    bodies |= has_bodies(node);
    hasher.add(node.get_type_info().name);
    hasher.add(node.get_type_info().version_id);
    hasher.add(given_name(given_name(node.get_friendly_name(), node.get_type_name()), "Parameter"));
    for (const auto& [name, value] : node.get_attributes()) {
      hasher.add(name);
      hasher.add(static_cast<std::uint64_t>(value.kind()));
      hasher.add(value.to_text());
    }
    for (std::size_t i = 0; i < node.get_input_size(); ++i) {
      const Output<Node> source = node.input_value(i);
      const auto number = numbers.find(source.get_node());
      hasher.add(number == numbers.end() ? ~std::uint64_t{0} : number->second);
      hasher.add(std::uint64_t{source.get_index()});
    }
    for (std::size_t i = 0; i < node.get_output_size(); ++i) {
      const descriptor::Tensor& output = node.get_output_tensor(i);
      hasher.add(output.get_element_type().get_type_name());
      hasher.add(output.get_partial_shape().to_string());
      add_names(hasher, output.get_names());
      add_info(hasher, output.get_rt_info());
    }
    add_info(hasher, node.get_rt_info());
    const auto* constant = as_type<op::v0::Constant>(&node);
    if (constant && constant->get_byte_size() && (with_weights || constant->get_byte_size() < kLeastWeights))
      hasher.add(constant->get_data_ptr(), constant->get_byte_size());
  };
  for (const auto& parameter : model.get_parameters()) add_node(*parameter);
  for (const auto& node : model.get_ordered_ops())
    if (!numbers.count(node.get())) add_node(*node);
  for (const auto& result : model.get_results()) hasher.add(numbers.at(result.get()));
  hasher.add(given_name(model.get_friendly_name(), "Model"));
  add_info(hasher, model.get_rt_info());
  if (bodies) {
    const SerializedModel text = serialize(model);
    hasher.add(text.xml);
    if (text.weights && with_weights) hasher.add(text.weights.data(), text.weights.size_bytes());
  }
  return hasher.result();
}

}  // namespace cache
}  // namespace v1
}  // namespace tenon
