// SPDX-License-Identifier: Apache-2.0
// The table of converters for ONNX operations.
#include <algorithm>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>
#include <tenon/graph/readers/onnx/onnx_reader.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

const ConverterTable& converters() {
  static const ConverterTable table = [] {
    ConverterTable all;
    add_elementwise(all);
    add_activations(all);
    add_reductions(all);
    add_movement(all);
    add_indexing(all);
    add_convolutions(all);
    add_pooling(all);
    add_normalization(all);
    add_linear(all);
    add_attention(all);
    add_microsoft(all);
    add_microsoft_layers(all);
    add_weight_only(all);
    add_experts(all);
    add_linear_attention(all);
    add_sequences(all);
    add_features(all);
    add_training(all);
    add_quantization(all);
    add_resize(all);
    add_recurrent(all);
    add_losses(all);
    add_generators(all);
    add_detection(all);
    add_einsum(all);
    add_signal(all);
    add_control_flow(all);
    add_learned(all);
    add_trees(all);
    add_support_vectors(all);
    add_text(all);
    return all;
  }();
  return table;
}

}  // namespace onnx_reader

std::vector<std::string> supported_onnx_operations() {
  std::vector<std::string> names;
  for (const auto& [key, converter] : onnx_reader::converters()) {
    names.push_back(key[0] == ':' ? key.substr(1) : key);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace v1
}  // namespace tenon
