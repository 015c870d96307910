// SPDX-License-Identifier: Apache-2.0
// MatMul on oneDNN: constant right sides packed once, batches of rows folded into one product.
#include <numeric>
#include <optional>

#include <tenon/engine/lower/build/post_ops.hpp>
#include <tenon/engine/lower/build/precision.hpp>
#include <tenon/engine/lower/build/quantization.hpp>
#include <tenon/engine/lower/build/strides.hpp>
#include <tenon/engine/lower/build/table.hpp>

namespace tenon::inline v1::engine {
namespace {

using dims = dnnl::memory::dims;

/// One side as [batch..., rows, columns] with strides, transposition applied.
struct Side {
  dims extents, strides;
  md desc(ElementType type) const { return md(extents, data_type(type), strides); }
};

Side side_of(const Shape& shape, bool transpose, bool is_left, std::size_t rank) {
  dims extents = to_dims(shape);
  if (shape.size() == 1) extents = is_left ? dims{1, extents[0]} : dims{extents[0], 1};
  extents.insert(extents.begin(), rank - extents.size(), 1);
  dims strides(rank);
  std::int64_t step = 1;
  for (std::size_t i = rank; i-- > 0;) {
    strides[i] = step;
    step *= extents[i];
  }
  if (transpose && shape.size() > 1) {
    std::swap(extents[rank - 1], extents[rank - 2]);
    std::swap(strides[rank - 1], strides[rank - 2]);
  }
  return {extents, strides};
}

std::int64_t product(const dims& extents, std::size_t count) {
  std::int64_t result = 1;
  for (std::size_t i = 0; i < count; ++i) result *= extents[i];
  return result;
}

/// The shapes of a product: [batch..., rows, columns] of both sides and of the result.
struct Product {
  Side a, b;
  dims out;
  bool transpose_a = false, transpose_b = false;
  md plain_out(ElementType type) const { return plain_desc(type, Shape(out.begin(), out.end())); }
};

std::optional<Product> product_of(const std::shared_ptr<Node>& node) {
  const Shape a_shape = node->get_input_shape(0), b_shape = node->get_input_shape(1);
  if (element_count(a_shape) == 0 || element_count(b_shape) == 0 || a_shape.empty() || b_shape.empty()) return {};
  const bool transpose_a = node->get_attributes().get_bool("transpose_a", false) && a_shape.size() > 1;
  const bool transpose_b = node->get_attributes().get_bool("transpose_b", false);
  const std::size_t rank = std::max<std::size_t>({a_shape.size(), b_shape.size(), 2});
  if (rank > DNNL_MAX_NDIMS) return {};
  Side a = side_of(a_shape, transpose_a, true, rank), b = side_of(b_shape, transpose_b, false, rank);
  dims out(rank);
  for (std::size_t i = 0; i + 2 < rank; ++i) out[i] = std::max(a.extents[i], b.extents[i]);
  out[rank - 2] = a.extents[rank - 2];
  out[rank - 1] = b.extents[rank - 1];
  // All rows of all batches times one matrix: a single product, whose right side can be packed.
  if (rank > 2 && product(b.extents, rank - 2) == 1 && !(transpose_a && product(a.extents, rank - 2) != 1)) {
    const std::int64_t rows = product(a.extents, rank - 1);
    if (!transpose_a) {
      a = {{rows, a.extents[rank - 1]}, {a.extents[rank - 1], 1}};
    } else {
      a = {{a.extents[rank - 2], a.extents[rank - 1]}, {a.strides[rank - 2], a.strides[rank - 1]}};
    }
    b = {{b.extents[rank - 2], b.extents[rank - 1]}, {b.strides[rank - 2], b.strides[rank - 1]}};
    out = {rows, out[rank - 1]};
  }
  return Product{a, b, out, transpose_a, transpose_b};
}

/// What the chain's second node adds to each column; empty if it does anything else.
Tensor bias_after(PlanBuilder& builder, const Chain& chain, const dims& out) {
  const Shape shape = chain.anchor()->get_output_shape(0);
  if (chain.nodes.size() < 2 || shape.empty()) return {};
  const Tensor bias = bias_of(builder, chain.nodes[1], chain.anchor(), shape, shape.size() - 1);
  // A vector times a matrix yields [N]; a matrix times a vector yields rows, which a bias along columns is not.
  return bias && bias.element_count() == static_cast<std::size_t>(out.back()) ? bias : Tensor();
}

/// The layouts of a product's three sides.
struct Layouts {
  md left, right, result;
};

/// How an operand of a batched product lies after a transposition; plain layout otherwise.
md natural_desc(PlanBuilder& builder, Value& value, bool transpose, const Side& side, ElementType type) {
  if (value.constant || value.shape.size() != side.extents.size()) return side.desc(type);
  const auto& variant = builder.native(value);
  if (variant.packed || element_type(variant.desc) != type) return side.desc(type);
  if (!transpose) return variant.desc;
  std::vector<int> swap(value.shape.size());
  std::iota(swap.begin(), swap.end(), 0);
  std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
  return variant.desc.permute_axes(swap);
}

/// Layouts to try for a batched product, best first; packed ones are the last.
std::vector<Layouts> layouts_of(PlanBuilder& builder, const Chain& chain, const Product& product, ElementType type,
                                ElementType made_type) {
  const auto& node = chain.anchor();
  const Layouts packed{product.a.desc(type), product.b.desc(type), product.plain_out(made_type)};
  if (!builder.options().fuse) return {packed};
  const Layouts lie{natural_desc(builder, builder.input(node, 0), product.transpose_a, product.a, type),
                    natural_desc(builder, builder.input(node, 1), product.transpose_b, product.b, type), packed.result};
  std::vector<Layouts> choices;
  const md transposed = chain.nodes.size() == 1 ? transposed_result(builder, node, made_type) : md();
  if (transposed.get_ndims() && transposed.get_dims() == product.out)
    choices.push_back({lie.left, lie.right, transposed});
  choices.push_back(lie);
  choices.push_back(packed);
  return choices;
}

/// The first of `choices` whose kernel is as good as that for packed sides, which come last; null if there is none.
dnnl::matmul::primitive_desc choose(const dnnl::engine& engine, const std::vector<Layouts>& choices, const md& bias,
                                    const dnnl::primitive_attr& attributes, Layouts& chosen) {
  const auto kernel = [&](const Layouts& l) {
    return dnnl::matmul::primitive_desc(engine, l.left, l.right, bias, l.result, attributes, true);
  };
  chosen = choices.back();
  auto packed = kernel(chosen);
  for (std::size_t i = 0; packed && i + 1 < choices.size(); ++i) {
    auto found = kernel(choices[i]);
    if (!found || std::string_view(found.impl_info_str()) != packed.impl_info_str()) continue;
    chosen = choices[i];
    return found;
  }
  return packed;
}

/// A product of sides of `type`, or with 8-bit numbers on the left and `weights` on the right.
bool lower_in(ElementType type, ElementType made_type, const planning::QuantizedWeights* weights, PlanBuilder& builder,
              const Chain& chain) {
  const auto& node = chain.anchor();
  const auto product = product_of(node);
  if (!product) return false;
  Value& left = builder.input(node, 0);
  Value& right = builder.input(node, 1);
  const bool packed = static_cast<bool>(right.constant) && product->out.size() == 2;
  const Tensor bias = bias_after(builder, chain, product->out);
  dims bias_dims(product->out.size(), 1);
  bias_dims.back() = product->out.back();
  const md bias_desc = bias ? plain_desc(ElementType::kF32, Shape(bias_dims.begin(), bias_dims.end())) : md();

  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  PostOps post_ops(builder, chain, bias ? 2 : 1);
  if (weights) {
    describe_scale(attributes, DNNL_ARG_SRC);
    describe_scale(attributes, DNNL_ARG_WEIGHTS, weights->scales.size() == 1 ? 0 : 2);
    describe_zero_point(attributes, DNNL_ARG_SRC, left.quantization->zero_point);
  }
  if (!post_ops.describe(node->get_output_shape(0), product->plain_out(made_type), attributes)) return false;
  std::vector<Layouts> choices;
  if (product->out.size() > 2)
    choices = layouts_of(builder, chain, *product, type, made_type);
  else
    choices = {
        {product->a.desc(type),
         packed ? md(product->b.extents, data_type(weights ? ElementType::kI8 : type), dnnl::memory::format_tag::any)
                : product->b.desc(type),
         product->plain_out(made_type)}};
  KernelKey key{PlanBuilder::key_of(dnnl::primitive::kind::matmul), weights ? weights->scales.size() : 0,
                weights && left.quantization->zero_point != 0, choices.size()};
  append(key, bias_desc);
  for (const Layouts& layouts : choices)
    for (const md* desc : {&layouts.left, &layouts.right, &layouts.result}) append(key, *desc);
  key.insert(key.end(), post_ops.words().begin(), post_ops.words().end());
  const auto made = builder.kernel(key, [&]() -> MadeKernel {
    Layouts best;
    auto pd = choose(builder.engine(), choices, bias_desc, attributes, best);
    if (!pd) return {};
    // oneDNN's f32 kernel before AVX-512 packs weights in each run, which is faster where they lie by columns, as a file often has them:
    // on AVX2 1.9 times for 768 x 3072. From fewer rows it is slower, and plans for moving shapes share weights in one layout.
    constexpr std::int64_t kLeastRows = 32;
    if (packed && product->out[0] >= kLeastRows && !builder.plan().shared &&
        std::string_view(pd.impl_info_str()).substr(0, 5) == "gemm:") {
      best.right = md(product->b.extents, data_type(type), dnnl::memory::format_tag::ba);
      pd = choose(builder.engine(), {best}, bias_desc, attributes, best);
      if (!pd) return {};
    }
    return {dnnl::matmul(pd),
            pd.impl_info_str(),
            {best.left, best.right, best.result, pd.weights_desc(), pd.scratchpad_desc()}};
  });
  if (!*made) return false;
  const Layouts chosen{made->descs[0], made->descs[1], made->descs[2]};
  const md &weights_desc = made->descs[3], &scratchpad_desc = made->descs[4];
  if (is_slow(made->name.c_str()) && (chain.nodes.size() > 1 || type != ElementType::kF32)) return false;
  // As they lie, if the kernel takes that; else packed.
  const auto place_of = [&](Value& value, const md& desc, const Side& side) {
    return desc == side.desc(type) ? builder.in_layout(value, plain_desc(type, value.shape))
                                   : builder.native(value).place;
  };
  const BufferSlice left_place = place_of(left, chosen.left, product->a);
  const BufferSlice right_place =
      packed ? builder.packed_constant(weights ? weights->values : right.constant,
                                       product->b.desc(weights ? ElementType::kI8 : right.type), weights_desc)
             : place_of(right, chosen.right, product->b);
  const BufferSlice bias_place = bias ? builder.constant_place(bias) : BufferSlice{};
  const BufferSlice result = post_ops.define_result(chosen.result);
  auto& step = builder.add_primitive(node, made->primitive, made->name + post_ops.name());
  builder.add_argument(step, DNNL_ARG_SRC, left_place, chosen.left);
  builder.add_argument(step, DNNL_ARG_WEIGHTS, right_place, weights_desc);
  if (bias) builder.add_argument(step, DNNL_ARG_BIAS, bias_place, bias_desc);
  if (weights) {
    add_scales(builder, step, DNNL_ARG_SRC, {left.quantization->scale});
    add_scales(builder, step, DNNL_ARG_WEIGHTS, weights->scales);
    add_zero_point(builder, step, DNNL_ARG_SRC, left.quantization->zero_point);
  }
  post_ops.add_arguments(step);
  builder.add_argument(step, DNNL_ARG_DST, result, chosen.result, true);
  builder.add_scratchpad(step, scratchpad_desc);
  builder.note_fused(chain);
  return true;
}

bool lower_8_bit(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& left = builder.input(node, 0);
  if (!left.quantization || left.constant || !builder.input(node, 1).constant) return false;
  const ElementType lies_in = element_type(builder.native(left).desc);
  const std::size_t rank = node->get_input_shape(1).size();
  const auto product = product_of(node);
  if (!is_8_bit(lies_in) || rank < 2 || !product || product->out.size() != 2) return false;
  const auto weights =
      quantized_matrix(builder, node, rank - (node->get_attributes().get_bool("transpose_b", false) ? 2 : 1));
  if (!weights) return false;
  const auto rounded = chain.nodes.size() > 1 ? quantization_of(builder, chain.last()) : std::nullopt;
  if (rounded) return lower_in(lies_in, rounded->type, &*weights, builder, chain);
  const ElementType real = result_type(builder, chain, builder.compute_type());
  return lower_in(lies_in, real, &*weights, builder, chain) ||
         (real != ElementType::kF32 && lower_in(lies_in, ElementType::kF32, &*weights, builder, chain));
}

bool lower_matmul(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  if (node->get_input_element_type(0) != element::f32 || node->get_input_element_type(1) != element::f32) return false;
  const ElementType type = builder.compute_type();
  const ElementType result = result_type(builder, chain, type);
  return lower_8_bit(builder, chain) || (result != type && lower_in(type, result, nullptr, builder, chain)) ||
         lower_in(type, type, nullptr, builder, chain) ||
         (type != ElementType::kF32 && lower_in(ElementType::kF32, ElementType::kF32, nullptr, builder, chain));
}

}  // namespace

void register_matmul(LoweringTable& table) { table["MatMul"] = {lower_matmul, true}; }

}  // namespace tenon::inline v1::engine
