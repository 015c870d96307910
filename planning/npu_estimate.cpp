// SPDX-License-Identifier: Apache-2.0
// Walks over the model in the order of execution. A value stays on the chip if it takes at most half of the tiles' memory: the other
// half holds weights and the next value.
#include <tenon/planning/npu_estimate.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::planning {
namespace {

/// Channels that the matrix engine takes at once: fewer are padded.
/// @source Intel's NPU compiler aligns channels of input and output to 16.
constexpr std::uint64_t kChannels = 16;

/// The share of the matrix engine's multipliers that filters of single channels and pools use. @source Intel's cost model: input_channels_mac.
constexpr std::uint64_t kChannelsOfOne = 8;

std::uint64_t rounded_up(std::uint64_t value) { return (value + kChannels - 1) / kChannels * kChannels; }

bool is_one_of(const Node& node, std::initializer_list<std::string_view> types) {
  return std::any_of(types.begin(), types.end(), [&](std::string_view type) { return is_op(&node, type); });
}

bool is_view(const Node& node) {
  return is_one_of(node, {"Reshape", "Squeeze", "Unsqueeze", "ShapeOf", "Identity", "Convert", "ConvertLike",
                          "ReadValue", "Assign", "Broadcast", "FakeConvert"});
}

bool is_movement(const Node& node) {
  return is_one_of(
      node, {"Transpose", "Concat", "Split", "VariadicSplit", "Slice", "StridedSlice", "Pad", "Tile", "Gather",
             "Reverse", "DepthToSpace", "SpaceToDepth", "ShuffleChannels", "BatchToSpace", "SpaceToBatch", "Roll"});
}

/// What the matrix engine does to its results while it writes them.
bool is_in_passing(const Node& node) {
  return is_one_of(node, {"Add",   "Subtract", "Multiply", "Divide",   "Maximum",      "Minimum",           "Relu",
                          "PRelu", "Clamp",    "Sigmoid",  "Tanh",     "HSwish",       "HSigmoid",          "Swish",
                          "Gelu",  "Elu",      "Mish",     "SoftPlus", "FakeQuantize", "BatchNormInference"});
}

std::uint64_t count(const Shape& shape) {
  std::uint64_t elements = 1;
  for (const std::size_t extent : shape) elements *= extent;
  return elements;
}

/// Elements of the outer axes; there may be none in the last one.
std::uint64_t rows_of(const Shape& shape) { return count(Shape(shape.begin(), shape.end() - 1)); }

/// What a layer multiplies: `rows` results of `depth` products each, for `columns` channels.
struct Products {
  std::uint64_t rows = 0, depth = 0, columns = 0;
  std::uint64_t taps = 1;     ///< Positions of a filter; `depth` is what lies at one.
  bool is_depthwise = false;  ///< Each channel for itself.
  std::uint64_t all() const { return rows * columns * depth * taps; }
  std::uint64_t padded() const {
    return rows * rounded_up(columns) * (is_depthwise ? kChannelsOfOne : rounded_up(depth)) * taps;
  }
};

class Walk {
 public:
  Walk(const Model& model, const NpuPlatform& platform, int tiles)
      : model_(model), tiles_(tiles), figures_(platform.figures) {
    if (platform.figures.clock_mhz == 0)
      throw Error(Code::kUnimplemented, "no figures are known of the NPU " + std::to_string(platform.number));
    if (tiles < 1 || tiles > platform.max_tiles)
      throw Error(Code::kInvalidArgument, "the NPU " + std::to_string(platform.number) + " has 1 to " +
                                              std::to_string(platform.max_tiles) + " tiles, not " +
                                              std::to_string(tiles));
    on_chip_ = static_cast<std::uint64_t>(tiles) * static_cast<std::uint64_t>(figures_.tile_memory_kib) * 1024 / 2;
  }

  NpuEstimate run() {
    for (const auto& node : model_.get_ordered_ops()) visit(*node);
    NpuEstimate estimate;
    std::uint64_t weights = 0;
    for (auto& layer : layers_) {
      finish(*layer);
      estimate.ns += layer->ns;
      weights += layer->weight_bytes;
      estimate.layers.push_back(std::move(*layer));
    }
    estimate.load_ns = transfer_ns(weights);
    return estimate;
  }

 private:
  /// What is known of a value.
  struct Value {
    bool is_constant = false;
    int bits = 0;                ///< Size of an element, as the device holds it.
    std::uint64_t elements = 0;  ///< For constants: of the one that it was made from.
    NpuLayer* maker = nullptr;   ///< Null for inputs and constants.
    bool is_on_chip = false;
  };

  void visit(const Node& node) {
    if (dynamic_cast<const op::util::MultiSubGraphOp*>(&node))
      throw Error(Code::kUnimplemented,
                  "the time of " + node.describe() + " depends on how often its body runs: it is not estimated");
    for (std::size_t i = 0; i < node.get_output_size(); ++i)
      if (node.get_output_partial_shape(i).is_dynamic())
        throw Error(Code::kFailedPrecondition,
                    node.describe() + " has a shape that is not known: reshape the model first");
    if (is_op(&node, "Result")) return finish_result(node);
    std::vector<Value> inputs;
    for (const auto& source : node.input_values())
      inputs.push_back(values_.at({source.get_node(), source.get_index()}));
    if (const bool has_none = inputs.empty(); has_none || all_constant(inputs)) {
      const bool is_input = has_none && !is_op(&node, "Constant");
      for (std::size_t i = 0; i < node.get_output_size(); ++i) values_[{&node, i}] = given(node, i, inputs, is_input);
      return;
    }
    if (is_view(node)) return pass_on(node, inputs);
    if (NpuLayer* const maker = fused_into(node, inputs)) return fuse(node, inputs, *maker);
    add(node, inputs);
  }

  static bool all_constant(const std::vector<Value>& inputs) {
    return std::all_of(inputs.begin(), inputs.end(), [](const Value& value) { return value.is_constant; });
  }

  /// @source The device computes real numbers in f16.
  static int bits_of(ElementType type) {
    return element::Type(type).is_real() && bit_width(type) > 16 ? 16 : static_cast<int>(bit_width(type));
  }

  bool stays(const Node& node, std::size_t output, int bits) const {
    return count(node.get_output_shape(output)) * static_cast<std::uint64_t>(bits) / 8 <= on_chip_;
  }

  /// An input, a constant, or what was computed of constants when the model was compiled. Dequantised weights stay as they are stored.
  Value given(const Node& node, std::size_t output, const std::vector<Value>& inputs, bool is_input) const {
    Value value;
    value.is_constant = !is_input;
    value.bits = bits_of(node.get_output_element_type(output));
    value.elements = count(node.get_output_shape(output));
    if (is_op(&node, "FakeQuantize") && node.get_attributes().get_int("levels") <= 256) value.bits = 8;
    if (!inputs.empty() &&
        is_one_of(node, {"Convert", "Subtract", "Multiply", "Reshape", "Transpose", "Unsqueeze", "Squeeze"}) &&
        inputs[0].bits < value.bits && inputs[0].elements == value.elements)
      value.bits = inputs[0].bits;
    return value;
  }

  void pass_on(const Node& node, const std::vector<Value>& inputs) {
    for (std::size_t i = 0; i < node.get_output_size(); ++i) values_[{&node, i}] = inputs[0];
  }

  /// Whether nothing else reads the value, nor what it is a view of.
  static bool is_read_once(Output<Node> value) {
    while (value.get_target_inputs().size() == 1) {
      const Node& node = *value.get_node();
      if (!is_view(node) || node.get_input_size() == 0) return true;
      value = node.input_value(0);
    }
    return false;
  }

  /// The layer that computes the node in passing: it made an operand of the node's size, and nothing else reads that.
  NpuLayer* fused_into(const Node& node, const std::vector<Value>& inputs) const {
    if (!is_in_passing(node)) return nullptr;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      NpuLayer* const maker = inputs[i].maker;
      const auto source = node.input_value(i);
      if (maker && maker->engine == NpuEngine::kMatrix && is_read_once(source) &&
          count(source.get_shape()) == count(node.get_output_shape(0)))
        return maker;
    }
    return nullptr;
  }

  void fuse(const Node& node, const std::vector<Value>& inputs, NpuLayer& maker) {
    maker.fused.push_back(node.get_friendly_name());
    Value made{false, bits_of(node.get_output_element_type(0)), 0, &maker, false};
    if (is_op(&node, "FakeQuantize") && node.get_attributes().get_int("levels") <= 256) made.bits = 8;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].maker != &maker) read(node, i, inputs[i], maker);
    made.is_on_chip = stays(node, 0, made.bits);
    values_[{&node, 0}] = made;
    written_[&maker] = {&node, 0};
  }

  void read(const Node& node, std::size_t input, const Value& value, NpuLayer& layer) const {
    const auto bits = static_cast<std::uint64_t>(value.bits);
    if (value.is_constant)
      layer.weight_bytes += value.elements * bits / 8;
    else if (!value.is_on_chip)
      layer.read_bytes += count(node.get_input_shape(input)) * bits / 8;
  }

  void add(const Node& node, const std::vector<Value>& inputs) {
    NpuLayer& layer = *layers_.emplace_back(std::make_unique<NpuLayer>());
    layer.name = node.get_friendly_name();
    layer.type = node.get_type_name();
    for (std::size_t i = 0; i < inputs.size(); ++i) read(node, i, inputs[i], layer);
    const std::vector<Products> products = products_of(node);
    layer.in_8_bits = !products.empty() && inputs.size() > 1 && inputs[0].bits <= 8 && inputs[1].bits <= 8;
    for (const Products& each : products) {
      layer.multiply_adds += each.all();
      layer.padded += each.padded();
    }
    if (!products.empty() || is_join(node, inputs))
      layer.engine = NpuEngine::kMatrix;
    else
      layer.engine = is_movement(node) ? NpuEngine::kMove : NpuEngine::kVector;
    for (std::size_t i = 0; i < node.get_output_size(); ++i) {
      layer.elements += count(node.get_output_shape(i));
      // What only moves or chooses numbers leaves them in 8 bits.
      const bool keeps = layer.engine == NpuEngine::kMove || is_one_of(node, {"MaxPool", "Relu", "FakeQuantize"});
      int bits = bits_of(node.get_output_element_type(i));
      if (keeps && inputs[0].bits == 8) bits = 8;
      if (is_op(&node, "FakeQuantize") && node.get_attributes().get_int("levels") <= 256) bits = 8;
      values_[{&node, i}] = {false, bits, 0, &layer, stays(node, i, bits)};
      if (i == 0) written_[&layer] = {&node, 0};
      if (i > 0 && !stays(node, i, bits)) layer.written_bytes += bytes_of(node, i, bits);
    }
    for (std::size_t i = 0; i < inputs.size() && layer.engine == NpuEngine::kVector; ++i)
      if (!inputs[i].is_constant) layer.elements = std::max(layer.elements, count(node.get_input_shape(i)));
  }

  static std::uint64_t bytes_of(const Node& node, std::size_t output, int bits) {
    return count(node.get_output_shape(output)) * static_cast<std::uint64_t>(bits) / 8;
  }

  /// Results are written to the machine's memory, in the type of the model.
  void finish_result(const Node& node) {
    const auto source = node.input_value(0);
    const Value& value = values_.at({source.get_node(), source.get_index()});
    if (value.maker && value.is_on_chip)
      value.maker->written_bytes +=
          bytes_of(*source.get_node(), source.get_index(), static_cast<int>(bit_width(source.get_element_type())));
  }

  /// The matrix engine adds and multiplies values of one size, too, with the units that write its results.
  static bool is_join(const Node& node, const std::vector<Value>& inputs) {
    return is_one_of(node, {"Add", "Subtract", "Multiply"}) && !inputs[0].is_constant && !inputs[1].is_constant &&
           node.get_input_shape(0) == node.get_input_shape(1);
  }

  /// The products that a layer sums; none for layers of the vector units.
  static std::vector<Products> products_of(const Node& node) {
    if (is_op(&node, "Convolution")) return {of_filter(node, 1, node.get_output_shape(0))};
    if (is_op(&node, "GroupConvolution")) return {of_filter(node, 2, node.get_output_shape(0))};
    // Each weight of a transposed convolution meets each position of its input.
    if (is_op(&node, "ConvolutionBackpropData")) return {of_filter(node, 1, node.get_input_shape(0))};
    if (is_op(&node, "GroupConvolutionBackpropData")) return {of_filter(node, 2, node.get_input_shape(0))};
    if (is_op(&node, "MatMul")) return {of_product(node)};
    if (is_one_of(node, {"MaxPool", "AvgPool"})) return {of_pool(node)};
    if (is_op(&node, "ScaledDotProductAttention")) return of_attention(node);
    if (is_one_of(node, {"LSTMSequence", "LSTMCell", "GRUSequence", "GRUCell", "RNNSequence", "RNNCell"}))
      return of_cells(node);
    return {};
  }

  /// @param kind  1: the filter is [out, in, ...]; 2: [groups, out, in, ...]. @param positions  The shape whose positions meet the filter.
  static Products of_filter(const Node& node, std::size_t kind, const Shape& positions) {
    const Shape& filter = node.get_input_shape(1);
    const std::size_t axes = kind + 1;
    const std::uint64_t groups = kind == 2 ? filter[0] : 1;
    Products products;
    products.rows = positions[0] * groups;
    for (std::size_t i = 2; i < positions.size(); ++i) products.rows *= positions[i];
    products.columns = filter[axes - 2];
    products.depth = filter[axes - 1];
    for (std::size_t i = axes; i < filter.size(); ++i) products.taps *= filter[i];
    // A transposed filter has the channels of the input first.
    if (node.get_type_name() == std::string_view("ConvolutionBackpropData") ||
        node.get_type_name() == std::string_view("GroupConvolutionBackpropData"))
      std::swap(products.columns, products.depth);
    if (products.columns == 1 && products.depth == 1 && groups > 0) {
      products.rows /= groups;
      products.columns = groups;
      products.is_depthwise = true;
    }
    return products;
  }

  static Products of_pool(const Node& node) {
    const Shape& out = node.get_output_shape(0);
    Products products;
    products.columns = out.at(1);
    products.rows = count(out) / std::max<std::uint64_t>(products.columns, 1);
    products.depth = 1;
    for (const std::int64_t extent : node.get_attributes().get_ints("kernel"))
      products.taps *= static_cast<std::uint64_t>(extent);
    products.is_depthwise = true;
    return products;
  }

  static Products of_product(const Node& node) {
    const Shape& left = node.get_input_shape(0);
    const bool is_transposed = node.get_attributes().get_bool("transpose_a");
    Products products;
    products.depth = left.size() < 2 || !is_transposed ? left.back() : left[left.size() - 2];
    const Shape& right = node.get_input_shape(1);
    products.columns = right.size() < 2                                ? 1
                       : node.get_attributes().get_bool("transpose_b") ? right[right.size() - 2]
                                                                       : right.back();
    products.rows = count(node.get_output_shape(0)) / std::max<std::uint64_t>(products.columns, 1);
    return products;
  }

  static std::vector<Products> of_attention(const Node& node) {
    const Shape &query = node.get_input_shape(0), &key = node.get_input_shape(1), &value = node.get_input_shape(2);
    const std::uint64_t rows = rows_of(query), keys = key[key.size() - 2];
    Products scores, sums;
    scores.rows = rows, scores.depth = query.back(), scores.columns = keys;
    sums.rows = rows, sums.depth = keys, sums.columns = value.back();
    return {scores, sums};
  }

  static std::vector<Products> of_cells(const Node& node) {
    // W and R are the last matrices but the bias: [directions, gates * hidden, size].
    const bool is_lstm = std::string_view(node.get_type_name()).starts_with("LSTM");
    const bool is_sequence = std::string_view(node.get_type_name()).ends_with("Sequence");
    const std::size_t first = (is_lstm ? 3 : 2) + (is_sequence ? 1 : 0);
    const Shape& x = node.get_input_shape(0);
    std::vector<Products> products;
    for (const std::size_t input : {first, first + 1}) {
      const Shape& weights = node.get_input_shape(input);
      Products each;
      each.rows = rows_of(x) * (is_sequence ? weights[0] : 1);
      each.columns = weights[weights.size() - 2];
      each.depth = weights.back();
      products.push_back(each);
    }
    return products;
  }

  double transfer_ns(std::uint64_t bytes) const {
    if (bytes == 0) return 0;
    return figures_.memory_latency_ns + 1e3 * static_cast<double>(bytes) / figures_.memory_mb_per_s;
  }

  void finish(NpuLayer& layer) const {
    if (const auto found = written_.find(&layer); found != written_.end()) {
      const auto& [node, output] = found->second;
      const Value& value = values_.at(found->second);
      if (!value.is_on_chip) layer.written_bytes += bytes_of(*node, output, value.bits);
    }
    const double cycles_per_ns = figures_.clock_mhz * 1e-3 * tiles_;
    if (layer.engine == NpuEngine::kMatrix) {
      const double numbers = cycles_per_ns * figures_.macs_per_tile / (layer.in_8_bits ? 1 : 2);
      layer.compute_ns = layer.padded > 0
                             ? static_cast<double>(layer.padded) / numbers
                             : static_cast<double>(layer.elements) / (cycles_per_ns * figures_.writers_per_tile);
    }
    if (layer.engine == NpuEngine::kVector)
      layer.compute_ns = static_cast<double>(layer.elements) / (cycles_per_ns * figures_.vector_lanes_per_tile);
    layer.memory_ns = transfer_ns(layer.bytes());
    // Data that moves on the chip goes through the DMA engines, too.
    if (layer.engine == NpuEngine::kMove && layer.bytes() == 0) layer.memory_ns = transfer_ns(2 * layer.elements);
    layer.ns = std::max(layer.compute_ns, layer.memory_ns);
  }

  const Model& model_;
  const int tiles_;
  const NpuFigures& figures_;
  std::uint64_t on_chip_ = 0;
  std::vector<std::unique_ptr<NpuLayer>> layers_;
  std::map<std::pair<const Node*, std::size_t>, Value> values_;
  std::map<const NpuLayer*, std::pair<const Node*, std::size_t>>
      written_;  ///< The last of what a layer and its fused nodes make.
};

}  // namespace

const char* name(NpuEngine engine) {
  constexpr std::array kNames{"matrix", "vector", "move"};
  return kNames.at(static_cast<std::size_t>(engine));
}

std::uint64_t NpuEstimate::bytes() const {
  std::uint64_t sum = 0;
  for (const NpuLayer& layer : layers) sum += layer.bytes();
  return sum;
}

NpuEstimate estimate_on_npu(const Model& model, const NpuPlatform& platform, int tiles) {
  return Walk(model, platform, tiles).run();
}

}  // namespace tenon::inline v1::planning
