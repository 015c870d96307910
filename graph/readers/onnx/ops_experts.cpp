// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's mixtures of experts. All experts are computed for every row, as few large products: the first layers of
// all experts lie below each other, and the second ones side by side, so that the product also sums what they give. A
// device then reads quantised weights packed, and all shapes are known; experts that a row did not choose count nothing.
#include <tenon/graph/readers/onnx/internal/packed.hpp>

#include <limits>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

/// Where the two operations have the parts of a layer.
struct LayerInputs {
  std::size_t weights, bias;
  std::size_t scale = 0, zero = 0;  ///< With quantised weights.
  const char* bits = "";            ///< The attribute that says how many bits they have.
};

/// How a mixture is stored: the widths and, for quantised weights, the size of their blocks.
class Mixture {
 public:
  explicit Mixture(const NodeContext& node)
      : node_(node),
        is_quantized_(node.op_type() == "QMoE"),
        first_(is_quantized_ ? LayerInputs{2, 4, 3, 11, "fc1_expert_weight_bits"} : LayerInputs{2, 3}),
        second_(is_quantized_ ? LayerInputs{5, 7, 6, 12, "fc2_expert_weight_bits"} : LayerInputs{4, 5}),
        third_(is_quantized_ ? LayerInputs{8, 10, 9, 13, "fc3_expert_weight_bits"} : LayerInputs{6, 7}) {
    const Shape first = shape_of_weights(first_), second = shape_of_weights(second_);
    experts_ = static_cast<std::int64_t>(first[0]);
    first_rows_ = static_cast<std::int64_t>(first[1]);
    hidden_ = static_cast<std::int64_t>(second[1]);
    has_third_ = node.has_input(third_.weights);
    fusion_ = has_third_ ? 0 : node.get_int("swiglu_fusion", 0);
    activation_ = node.get_string("activation_type", "relu");
    is_gated_ = activation_ == "swiglu" || activation_ == "geglu";
    if (is_gated_ && !has_third_ && fusion_ != 1 && fusion_ != 2)
      fail("activation_type \"" + activation_ + "\" needs fc3_experts_weights, or swiglu_fusion 1 or 2; it is " +
           std::to_string(fusion_));
    const bool is_fused = is_gated_ && !has_third_;
    if (experts_ < 1 || first_rows_ < 1 || hidden_ < 1 || static_cast<std::int64_t>(second[0]) != experts_ ||
        (is_fused && first_rows_ % 2 != 0))
      fail("experts' weights of shapes " + to_string(first) + " and " + to_string(second) + " do not fit each other");
    inner_ = is_fused ? first_rows_ / 2 : first_rows_;
  }

  OutputVector output() const {
    const Out& x = node_.input(0);
    const std::int64_t rank = node_.rank(0);
    if (rank != 2 && rank != 3) fail("input 0 has rank " + std::to_string(rank) + ", expected 2 or 3");
    const Out rows = rank == 3 ? reshape(x, Ints{-1, hidden_}) : x;
    const auto [shares, chosen] = routing();
    const ElementType type = x.get_element_type();
    const Out own = unsqueeze(convert(shares, type), {2});
    // What an expert gives to rows that it was not chosen for may be anything, NaN included.
    const Out inner = select(unsqueeze(chosen, {2}), mul(activated(rows), own), scalar(type, 0));
    Out y = matmul(reshape(inner, Ints{-1, experts_ * inner_}), side_by_side(), false, true);
    if (node_.has_input(second_.bias))
      y = add(y, matmul(convert(shares, type), reshape(node_.input(second_.bias), Ints{experts_, hidden_})));
    return {rank == 3 ? reshape(y, shape_of(x)) : y};
  }

 private:
  Shape shape_of_weights(const LayerInputs& layer) const {
    const PartialShape& shape = node_.input(layer.weights).get_partial_shape();
    if (shape.is_dynamic())
      unimplemented("experts' weights whose shape is known only when the model runs are not written out");
    if (shape.size() != 3)
      fail("input " + std::to_string(layer.weights) + " has the shape " + shape.to_string() +
           ", expected [experts, outputs, inputs]");
    return shape.to_shape();
  }

  /// [rows, experts]: the share of each expert, in f32, and whether it was chosen.
  std::pair<Out, Out> routing() const {
    const Out logits = convert(node_.input(1), ElementType::kF32);
    const std::int64_t k = node_.get_int("k", 1);
    if (k < 1 || k > experts_)
      fail("k is " + std::to_string(k) + ", expected 1 to " + std::to_string(experts_) + ", the number of experts");
    const Out best = ops("TopK", 11, {logits, int_scalar(k)},
                         {{"axis", -1},
                          {"mode", "max"},
                          {"sort", "value"},
                          {"stable", true},
                          {"index_element_type", ElementType::kI64}})[1];
    const Out marks =
        op("OneHot", 1, {best, int_scalar(experts_), scalar(ElementType::kF32, 1), scalar(ElementType::kF32, 0)},
           {{"axis", -1}});
    const Out sum = reduce("ReduceSum", marks, ints({1}), false);
    const Out chosen = op("Greater", 1, {sum, scalar(ElementType::kF32, 0)});
    const Out shares = is_quantized_ && node_.has_input(14) ? convert(node_.input(14), ElementType::kF32)
                                                            : op("Softmax", 8, {logits}, {{"axis", -1}});
    const Out kept = select(chosen, shares, scalar(ElementType::kF32, 0));
    if (node_.get_int("normalize_routing_weights", 0) == 0) return {kept, chosen};
    return {div(kept, reduce("ReduceSum", kept, ints({-1}), true)), chosen};
  }

  /// A layer's products for all experts: [rows, experts, outputs].
  Out below_each_other(const Out& rows, const LayerInputs& layer, std::int64_t outputs) const {
    Out y = matmul(rows, weights(layer, outputs, hidden_, false), false, true);
    if (node_.has_input(layer.bias)) y = add(y, reshape(node_.input(layer.bias), Ints{1, experts_ * outputs}));
    return reshape_like(y, {0, experts_, outputs});
  }
  /// [hidden, experts * inner]
  Out side_by_side() const { return weights(second_, hidden_, inner_, true); }

  Out weights(const LayerInputs& layer, std::int64_t outputs, std::int64_t inputs, bool outputs_first) const {
    const Ints shape = outputs_first ? Ints{outputs, experts_ * inputs} : Ints{experts_ * outputs, inputs};
    if (!is_quantized_) {
      const Out& given = node_.input(layer.weights);
      const PartialShape wanted(Shape{size_of(experts_), size_of(outputs), size_of(inputs)});
      if (!(given.get_partial_shape() == wanted))
        fail("input " + std::to_string(layer.weights) + " has the shape " + given.get_partial_shape().to_string() +
             ", expected " + wanted.to_string());
      return reshape(outputs_first ? transpose(given, {1, 0, 2}) : given, shape);
    }
    const std::int64_t bits = node_.get_int(layer.bits, node_.get_int("expert_weight_bits", 4)),
                       asked = node_.get_int("block_size", 0), block = asked > 0 ? asked : inputs;
    if (inputs % block != 0)
      fail("block_size " + std::to_string(block) + " does not divide " + std::to_string(inputs) +
           ", the inputs of a layer");
    if (bits < 1 || bits > 8 || inputs * bits % 8 != 0)
      fail("rows of " + std::to_string(inputs) + " numbers of " + std::to_string(bits) + " bits are no whole bytes");
    const std::int64_t rows = experts_ * outputs, blocks = inputs / block;
    Ints order;
    if (outputs_first)
      for (std::int64_t n = 0; n < outputs; ++n)
        for (std::int64_t e = 0; e < experts_; ++e) order.push_back(e * outputs + n);
    const Ints by_group{shape[0], shape[1] / block, 1};
    const Out numbers =
        unpacked_rows(node_, layer.weights, {.bits = bits, .rows = rows, .columns = inputs, .row_order = order},
                      Shape{size_of(shape[0]), size_of(shape[1] / block), size_of(block)});
    const auto placed = [&](const Out& values) {
      const Out given = reshape(values, Ints{experts_, outputs, blocks});
      return reshape(outputs_first ? transpose(given, {1, 0, 2}) : given, by_group);
    };
    Out zero;
    if (node_.has_input(layer.zero)) {
      // Without blocks the numbers of all rows of an expert share bytes.
      const PackedRows from = asked > 0 ? PackedRows{.bits = bits, .rows = rows, .columns = blocks}
                                        : PackedRows{.bits = bits, .rows = experts_, .columns = outputs};
      const Out codes = unpacked_rows(node_, layer.zero, from, Shape{size_of(rows), size_of(blocks)});
      zero = placed(convert(codes, node_.type(layer.scale)));
    }
    const Out made = dequantized_numbers(numbers, placed(node_.input(layer.scale)), zero, bits);
    return convert(reshape(made, shape), node_.type(0));
  }

  Out clamped(const Out& x, double low, double high) const {
    return high == std::numeric_limits<double>::infinity() ? x : op("Clamp", 1, {x}, {{"min", low}, {"max", high}});
  }

  Out swiglu(const Out& gate, const Out& linear) const {
    const double alpha = node_.get_float("activation_alpha", 1), beta = node_.get_float("activation_beta", 0),
                 limit = node_.get_float("swiglu_limit", std::numeric_limits<double>::infinity());
    const bool limits_after = node_.get_int("swiglu_limit_after_activation", 0) != 0;
    constexpr double kLowest = std::numeric_limits<float>::lowest();
    Out g = limits_after ? gate : clamped(gate, kLowest, limit);
    g = op("Swish", 4, {g, scalar_like(g, alpha)});
    if (limits_after) g = clamped(g, kLowest, limit);
    const Out l = clamped(linear, -limit, limit);
    return mul(g, beta == 0 ? l : add(l, scalar_like(l, beta)));
  }

  /// The inner layer of all experts: [rows, experts, inner].
  Out activated(const Out& rows) const {
    const Out h = below_each_other(rows, first_, first_rows_);
    if (is_gated_) {
      Out gate = h, linear;
      if (has_third_) {
        linear = below_each_other(rows, third_, inner_);
      } else {
        const std::int64_t axis = fusion_ == 1 ? 3 : 2;
        const Out pairs = reshape_like(h, fusion_ == 1 ? Ints{0, 0, inner_, 2} : Ints{0, 0, 2, inner_});
        gate = squeeze(slice(pairs, 0, 1, axis), {axis});
        linear = squeeze(slice(pairs, 1, 2, axis), {axis});
      }
      if (activation_ == "geglu") return mul(op("Gelu", 7, {gate}, {{"approximation_mode", "TANH"}}), linear);
      return swiglu(gate, linear);
    }
    Out y = h;
    if (activation_ == "relu" || activation_ == "relu2")
      y = unary("Relu", h);
    else if (activation_ == "gelu")
      y = op("Gelu", 7, {h}, {{"approximation_mode", "TANH"}});
    else if (activation_ == "silu")
      y = op("Swish", 4, {h});
    else if (activation_ != "identity")
      fail("activation_type \"" + activation_ + "\" is none of relu, relu2, gelu, silu, swiglu, geglu and identity");
    if (activation_ == "relu2") y = mul(y, y);
    return has_third_ ? mul(y, below_each_other(rows, third_, inner_)) : y;
  }

  const NodeContext& node_;
  bool is_quantized_, has_third_ = false, is_gated_ = false;
  LayerInputs first_, second_, third_;
  std::int64_t experts_ = 0, first_rows_ = 0, inner_ = 0, hidden_ = 0, fusion_ = 0;
  std::string activation_;
};

// input, router_probs, then weights and biases of the layers 1, 2 and 3
OutputVector mixture_of_experts(const NodeContext& node) {
  if (node.get_int("use_sparse_mixer", 0) != 0)
    unimplemented("use_sparse_mixer 1 is not written out; only the choice of the k largest is");
  return Mixture(node).output();
}

// The same with quantised weights: weights, scales and biases of the layers, zero points of each, router_weights
OutputVector quantized_mixture_of_experts(const NodeContext& node) {
  const std::string kind = node.get_string("quant_type", "int");
  if (kind != "int") unimplemented("quant_type \"" + kind + "\" is not written out; only \"int\" is");
  if (node.get_int("weights_prepacked", -1) == 1)
    unimplemented("weights_prepacked is 1: its weights are stored for one kind of GPU; use the model before that");
  return mixture_of_experts(node);
}

}  // namespace

void add_experts(ConverterTable& table) {
  table["com.microsoft:MoE"] = mixture_of_experts;
  table["com.microsoft:QMoE"] = quantized_mixture_of_experts;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
