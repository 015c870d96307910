// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention: scores, their softmax, and what it weighs.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matmul.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>
#include <tenon/devices/gpu/program/indexing.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// A view with its leading axes repeated to those of the result.
View with_batch(const View& view, const Shape& batch) {
  Shape shape = batch;
  for (std::size_t i = 2; i > 0; --i) shape.push_back(view.shape[view.shape.size() - i]);
  return broadcast(view, shape);
}

/// Where a batch begins, of a view [batch..., rows, columns].
std::string batch_place(Kernel& kernel, const std::string& name, const View& view, const Shape& batch) {
  std::vector<std::size_t> axes(batch.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  const Walk walk = collapse(batch, {&view}, axes);
  return index_text(kernel, name, walk.strides[0], coordinate_texts(kernel, walk, name + "_b", "(batch)"));
}

/// Where an element lies.
std::string place_of(Kernel& kernel, const std::string& name, const View& view, const Shape& batch,
                     const std::string& row, const std::string& column) {
  const std::size_t rank = view.shape.size();
  return batch_place(kernel, name + "_BATCH", view, batch) + " + " +
         index_text(kernel, name, {view.strides[rank - 2], view.strides[rank - 1]}, {row, column});
}

/// Adds LEFT, RIGHT and RIGHT16 over two views of [batch..., rows, columns].
void define_sides(Kernel& kernel, const View& left, const View& right, const Shape& batch) {
  kernel.reads("A", left).reads("MATRIX", right);
  const std::string from_left = place_of(kernel, "A", left, batch, "(m)", "(k)"),
                    from_right = place_of(kernel, "MATRIX", right, batch, "(k)", "(n)");
  kernel.define("LEFT(batch, m, k)", "A(" + from_left + ")").define("RIGHT(batch, k, n)", "MATRIX(" + from_right + ")");
  const bool are_neighbours = right.strides[right.shape.size() - 1] == 1 && right.type != ElementType::kBf16;
  kernel.define("RIGHT16(batch, k, n)", are_neighbours ? "MATRIX_LOAD16(" + from_right + ")" : neighbours_text());
}

struct Attention {
  View query, key, value;  ///< [batch..., rows, columns]; the key's rows are its columns here.
  Shape batch;
  std::size_t queries = 0, keys = 0;
  std::optional<View> mask;
  bool is_causal = false;
  std::string scale;  ///< A number, or an element of SCALE.
  std::optional<View> scale_view;
  std::size_t batches() const { return element_count(batch); }
};

Attention attention_of(Builder& builder, const Node& node) {
  Attention all;
  const Shape& out = node.get_output_shape(0);
  all.batch = Shape(out.begin(), out.end() - 2);
  all.query = with_batch(builder.view(node.input_value(0)), all.batch);
  View key = with_batch(builder.view(node.input_value(1)), all.batch);
  all.value = with_batch(builder.view(node.input_value(2)), all.batch);
  const std::size_t rank = out.size();
  all.queries = all.query.shape[rank - 2];
  all.keys = key.shape[rank - 2];
  std::swap(key.shape[rank - 2], key.shape[rank - 1]);
  std::swap(key.strides[rank - 2], key.strides[rank - 1]);
  all.key = key;
  all.is_causal = node.get_attributes().get_bool("causal");
  // A mask that is one number, 0, stands for none; a causal one replaces what is given.
  if (node.get_input_size() > 3 && !all.is_causal && node.get_input_shape(3).size() > 0) {
    Shape scores = out;
    scores[rank - 1] = all.keys;
    all.mask = broadcast(builder.view(node.input_value(3)), scores);
  }
  if (node.get_input_size() > 4)
    all.scale_view = builder.view(node.input_value(4));
  else
    all.scale = literal_text(ElementType::kF32, 1 / std::sqrt(static_cast<double>(all.query.shape[rank - 1])));
  return all;
}

/// SCORE(value, batch, m, n): a product of a query and a key, scaled and masked.
void define_score(Kernel& kernel, const Attention& what) {
  if (what.scale_view) kernel.reads("SCALE", *what.scale_view);
  std::string score = "(value) * " + (what.scale_view ? "SCALE(0)" : what.scale);
  if (what.is_causal) score = "((n) > (m) ? -INFINITY : " + score + ")";
  if (what.mask) {
    kernel.reads("MASK", *what.mask);
    const std::string mask = "MASK(" + place_of(kernel, "MASK", *what.mask, what.batch, "(m)", "(n)") + ")";
    score = what.mask->type == ElementType::kBool ? "(" + mask + " ? " + score + " : -INFINITY)" : score + " + " + mask;
  }
  kernel.define("SCORE(value, batch, m, n)", "(" + score + ")");
}

/// Columns of a tile in local memory.
constexpr std::size_t kMostHeadColumns = 64;

/// Whether one kernel does it all: heads of f16 with few columns, whose rows are read in chunks.
bool is_one_kernel(const Builder& builder, const Attention& what) {
  const std::size_t columns = what.query.shape.back();
  // A key's rows are its columns here.
  View key = what.key;
  std::swap(key.shape[key.shape.size() - 1], key.shape[key.shape.size() - 2]);
  std::swap(key.strides[key.shape.size() - 1], key.strides[key.shape.size() - 2]);
  const auto is_read_in_chunks = [&](const View& view) {
    return view.type == ElementType::kF16 && builder.is_wide(view, view.shape.size() - 1);
  };
  return builder.target().stores_f16 && takes_matrices(builder.target()) &&
         builder.target().local_bytes >= std::size_t{48} << 10 && columns <= kMostHeadColumns &&
         what.value.shape.back() == columns && is_read_in_chunks(what.query) && is_read_in_chunks(key) &&
         is_read_in_chunks(what.value);
}

void lower_in_one_kernel(Builder& builder, const Node& node, const Attention& what) {
  const Node* const self = &node;
  Producer producer;
  producer.emit_in_pieces = [&builder, self, what](const ExpressionRef& root, const View& out, const AxisGroups& axes) {
    // More queries for each warp read less, but then too few warps have place to hide each other's waits.
    static constexpr MatrixTiles kTiles{64, 64, 4, 1, 2};
    const std::size_t rank = what.query.shape.size();
    Kernel kernel = builder.kernel("attention");
    kernel.reads("Q", what.query).reads("K", what.key).reads("V", what.value);
    define_score(kernel, what);
    builder.add_wide_store(kernel, root, out, rows_and_columns(axes));
    kernel.define("STORE8_AT(v, batch, m, n)", "STORE8(v, (batch) * M + (m), n)");
    // Elements of sub-groups lie otherwise than these kernels take them.
    Target target = builder.target();
    if (target.matrices == Target::Matrices::kIntel) target.matrices = Target::Matrices::kPortable;
    define_tiles(kernel, kTiles, target, ElementType::kF16);
    kernel.number("M", static_cast<std::int64_t>(what.queries))
        .number("N", static_cast<std::int64_t>(what.keys))
        .number("D", static_cast<std::int64_t>(what.query.shape[rank - 1]))
        .number("Q_ROW", what.query.strides[rank - 2])
        .number("K_ROW", what.key.strides[rank - 1])
        .number("V_ROW", what.value.strides[rank - 2]);
    for (const auto& [name, view] :
         {std::pair("Q_BATCH", &what.query), {"K_BATCH", &what.key}, {"V_BATCH", &what.value}})
      kernel.define(std::string(name) + "(batch)", batch_place(kernel, name, *view, what.batch));
    const std::size_t columns = what.query.shape[rank - 1] + what.value.shape[rank - 1];
    kernel.multiply_adds(std::uint64_t{what.batches()} * what.queries * what.keys * columns);
    kernel.text(kernels::attention);
    kernel.over({(what.queries + kTiles.m - 1) / kTiles.m * kTiles.lanes(), 1, what.batches()}, {kTiles.lanes(), 1, 1});
    builder.launch(kernel, *self);
  };
  builder.set(node, 0, ElementType::kF32, std::move(producer));
}

/// query x key^T * scale + mask, in f32.
View lower_scores(Builder& builder, const Node& node, const Attention& what) {
  const View out = builder.scratch(ElementType::kF32, {what.batches(), what.queries, what.keys});
  Kernel kernel = builder.kernel("attention_scores");
  define_sides(kernel, what.query, what.key, what.batch);
  kernel.writes("OUT", out);
  define_score(kernel, what);
  kernel.define("STORE_AT(value, batch, m, n)",
                "OUT_SET(((batch) * M_ROWS + (m)) * N_KEYS + (n), SCORE(value, batch, m, n))");
  kernel.number("M_ROWS", static_cast<std::int64_t>(what.queries))
      .number("N_KEYS", static_cast<std::int64_t>(what.keys));
  Product product;
  product.type = what.query.type;
  product.m = what.queries;
  product.n = what.keys;
  product.k = what.query.shape.back();
  product.batch = what.batches();
  product.right_columns = what.key.strides[what.key.shape.size() - 1] != 1;
  launch_product(builder, node, std::move(kernel), product);
  return out;
}

void lower_weights(Builder& builder, const Node& node, const View& scores) {
  Kernel kernel = builder.kernel("attention_weights");
  const std::size_t lanes = std::min<std::size_t>(builder.target().max_group, builder.target().is_cpu ? 16 : 128);
  kernel.updates("X", scores).number("KEYS", static_cast<std::int64_t>(scores.shape[2]));
  kernel.define("LANES", static_cast<std::int64_t>(lanes)).text(kernels::attention_weights);
  kernel.over({scores.shape[0] * scores.shape[1] * lanes}, {lanes});
  builder.launch(kernel, node);
}

void lower_attention(Builder& builder, const Node& node) {
  const Attention what = attention_of(builder, node);
  if (is_one_kernel(builder, what)) return lower_in_one_kernel(builder, node, what);
  const View scores = lower_scores(builder, node, what);
  lower_weights(builder, node, scores);
  const Node* const self = &node;
  Producer producer;
  producer.emit = [&builder, self, what, scores](const ExpressionRef& root, const View& out) {
    Shape shape = what.batch;
    shape.push_back(what.queries);
    shape.push_back(what.keys);
    View weights = scores;
    reshape(weights, shape);
    Kernel kernel = builder.kernel("attention_values");
    define_sides(kernel, weights, what.value, what.batch);
    AxisGroups all(1);
    for (std::size_t axis = 0; axis < out.shape.size(); ++axis) all[0].push_back(axis);
    builder.add_store(kernel, root, out, all);
    kernel.define("STORE_AT(value, batch, m, n)", "STORE(value, ((batch) * M_ROWS + (m)) * N_COLUMNS + (n))");
    Product product;
    product.type = what.value.type;
    product.m = what.queries;
    product.n = what.value.shape.back();
    product.k = what.keys;
    product.batch = what.batches();
    kernel.number("M_ROWS", static_cast<std::int64_t>(product.m))
        .number("N_COLUMNS", static_cast<std::int64_t>(product.n));
    launch_product(builder, *self, std::move(kernel), product);
  };
  builder.set(node, 0, ElementType::kF32, std::move(producer));
}

std::string refuses_attention(const Node& node) {
  if (node.get_input_element_type(0) == element::f64) return "its kernel computes in f32, not f64";
  return node.get_input_size() > 5 ? "sinks have no kernel" : "";
}

}  // namespace

void register_attention(LoweringTable& table) {
  table["ScaledDotProductAttention"] = {lower_attention, refuses_attention};
}

}  // namespace tenon::inline v1::gpu_device
