// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's mixtures of experts, each row by the experts that its router chose. Every choice is a row of its own, k for each row of
// the input; these are sorted by expert, so that an expert's rows follow each other and GroupedMatMul multiplies them by its weights. All
// shapes are known before the model runs, and devices read quantised weights as they are stored.
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
    const PartialShape &given = rows.get_partial_shape(), &odds = node_.input(1).get_partial_shape();
    const bool fits = odds.rank().is_dynamic() ||
                      (odds.size() == 2 && odds[1].compatible(Dimension(experts_)) && odds[0].compatible(given[0]));
    if (!fits)
      fail("input 1 has the shape " + odds.to_string() + ", expected [" + given[0].to_string() + "," +
           std::to_string(experts_) + "]: a number for each row and expert");
    const ElementType type = x.get_element_type();
    const auto [shares, experts] = routing();
    const Order order = sorted_by_expert(experts);
    Out y = grouped(activated(gather(rows, order.rows), order), second_, hidden_, inner_, order);
    y = gather(y, order.places);
    if (node_.has_input(second_.bias)) y = add(y, gather(bias(second_, hidden_), experts));
    y = mul(reshape(y, Ints{-1, k(), hidden_}), unsqueeze(convert(shares, type), {2}));
    y = reduce("ReduceSum", y, ints({1}), false);
    return {reshape(y, shape_of(x))};
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

  /// The choices sorted by expert; those of one expert stay in their order.
  struct Order {
    Out places;   ///< Where each choice comes to stand.
    Out rows;     ///< At each place: the row of the input.
    Out experts;  ///< At each place: the expert.
    Out ends;     ///< The place behind each expert's last one.
  };

  std::int64_t k() const {
    const std::int64_t k = node_.get_int("k", 1);
    if (k < 1 || k > experts_)
      fail("k is " + std::to_string(k) + ", expected 1 to " + std::to_string(experts_) + ", the number of experts");
    return k;
  }

  /// The shares of the chosen experts in f32 [rows, k], and these experts in i32 [rows * k].
  std::pair<Out, Out> routing() const {
    const Out logits = convert(node_.input(1), ElementType::kF32);
    const Out chosen = ops("TopK", 11, {logits, int_scalar(k())},
                           {{"axis", -1},
                            {"mode", "max"},
                            {"sort", "value"},
                            {"stable", true},
                            {"index_element_type", ElementType::kI32}})[1];
    const Out all = is_quantized_ && node_.has_input(14) ? convert(node_.input(14), ElementType::kF32)
                                                         : op("Softmax", 8, {logits}, {{"axis", -1}});
    Out shares = op("GatherElements", 6, {all, chosen}, {{"axis", 1}});
    if (node_.get_int("normalize_routing_weights", 0) != 0)
      shares = div(shares, reduce("ReduceSum", shares, ints({-1}), true));
    return {shares, reshape(chosen, Ints{-1})};
  }

  Order sorted_by_expert(const Out& experts) const {
    const auto number = [](std::int64_t value) { return scalar(ElementType::kI32, static_cast<double>(value)); };
    const auto sums = [](const Out& x) {
      return op("CumSum", 3, {x, int_scalar(0)}, {{"exclusive", false}, {"reverse", false}});
    };
    const Out marks = op("OneHot", 1, {experts, int_scalar(experts_), number(1), number(0)}, {{"axis", -1}});
    const Out counts = reduce("ReduceSum", marks, ints({0}), false), ends = sums(counts);
    // The first place of its expert, and how many choices of that expert come before.
    const Out own = mul(marks, add(sums(marks), sub(sub(ends, counts), number(1))));
    const Out places = reduce("ReduceSum", own, ints({1}), false);
    const Out choices = range(int_scalar(0), extent_of(experts, 0), int_scalar(1), ElementType::kI32);
    const auto sorted = [&](const Out& values) {
      return op("ScatterElementsUpdate", 3, {values, places, values, int_scalar(0)});
    };
    return {places, sorted(div(choices, number(k()))), sorted(experts), ends};
  }

  static Out gather(const Out& rows, const Out& which) {
    return op("Gather", 8, {rows, which, int_scalar(0)}, {{"batch_dims", 0}});
  }

  Out bias(const LayerInputs& layer, std::int64_t outputs) const {
    return reshape(node_.input(layer.bias), Ints{experts_, outputs});
  }

  /// The rows of each expert by its weights: [rows * k, outputs].
  Out grouped(const Out& rows, const LayerInputs& layer, std::int64_t outputs, std::int64_t inputs,
              const Order& order) const {
    return op("GroupedMatMul", 17, {rows, weights(layer, outputs, inputs), order.ends});
  }
  Out inner_layer(const Out& rows, const LayerInputs& layer, std::int64_t outputs, const Order& order) const {
    const Out y = grouped(rows, layer, outputs, hidden_, order);
    return node_.has_input(layer.bias) ? add(y, gather(bias(layer, outputs), order.experts)) : y;
  }

  /// [experts, outputs, inputs]
  Out weights(const LayerInputs& layer, std::int64_t outputs, std::int64_t inputs) const {
    if (!is_quantized_) {
      const Out& given = node_.input(layer.weights);
      const PartialShape wanted(Shape{size_of(experts_), size_of(outputs), size_of(inputs)});
      if (!(given.get_partial_shape() == wanted))
        fail("input " + std::to_string(layer.weights) + " has the shape " + given.get_partial_shape().to_string() +
             ", expected " + wanted.to_string());
      return given;
    }
    const std::int64_t bits = node_.get_int(layer.bits, node_.get_int("expert_weight_bits", 4)),
                       asked = node_.get_int("block_size", 0), block = asked > 0 ? asked : inputs;
    if (inputs % block != 0)
      fail("block_size " + std::to_string(block) + " does not divide " + std::to_string(inputs) +
           ", the inputs of a layer");
    if (bits < 1 || bits > 8 || inputs * bits % 8 != 0)
      fail("rows of " + std::to_string(inputs) + " numbers of " + std::to_string(bits) + " bits are no whole bytes");
    const std::int64_t rows = experts_ * outputs, blocks = inputs / block;
    const Ints by_group{rows, blocks, 1};
    const Out numbers = unpacked_rows(node_, layer.weights, {.bits = bits, .rows = rows, .columns = inputs},
                                      Shape{size_of(rows), size_of(blocks), size_of(block)});
    Out zero;
    if (node_.has_input(layer.zero)) {
      // Without blocks the numbers of all rows of an expert share bytes.
      const PackedRows from = asked > 0 ? PackedRows{.bits = bits, .rows = rows, .columns = blocks}
                                        : PackedRows{.bits = bits, .rows = experts_, .columns = outputs};
      const Out codes = unpacked_rows(node_, layer.zero, from, Shape{size_of(rows), size_of(blocks)});
      zero = reshape(convert(codes, node_.type(layer.scale)), by_group);
    }
    const Out made = dequantized_numbers(numbers, reshape(node_.input(layer.scale), by_group), zero, bits);
    return convert(reshape(made, Ints{experts_, outputs, inputs}), node_.type(0));
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

  /// The inner layer of each expert for its rows: [rows * k, inner].
  Out activated(const Out& rows, const Order& order) const {
    const Out h = inner_layer(rows, first_, first_rows_, order);
    if (is_gated_) {
      Out gate = h, linear;
      if (has_third_) {
        linear = inner_layer(rows, third_, inner_, order);
      } else {
        const std::int64_t axis = fusion_ == 1 ? 2 : 1;
        const Out pairs = reshape_like(h, fusion_ == 1 ? Ints{0, inner_, 2} : Ints{0, 2, inner_});
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
    return has_third_ ? mul(y, inner_layer(rows, third_, inner_, order)) : y;
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
