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
#include <tenon/devices/gpu/program/tree_source.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// A view with its leading axes repeated to those of the result.
View with_batch(const View& view, const Shape& batch) {
  Shape shape = batch;
  for (std::size_t i = 2; i > 0; --i) shape.push_back(view.shape[view.shape.size() - i]);
  return broadcast(view, shape);
}

/// Keys or values as attention reads them: where several heads share them, an axis that repeats stands for these.
View heads_of(Builder& builder, const Output<Node>& value) {
  const View view = builder.source(value);
  if (!view.source || view.source->has_rows()) return view;
  const auto* const tree = dynamic_cast<const TreeSource*>(view.source.get());
  const View* const from = tree && view.is_packed() ? tree->reshaped() : nullptr;
  // Rows and columns are the same.
  const std::size_t rank = view.shape.size();
  if (!from || from->shape.size() < rank || !std::equal(view.shape.end() - 2, view.shape.end(), from->shape.end() - 2))
    return builder.view(value);
  return *from;
}

/// Whether some axes are several of the other shape's, side by side.
bool is_split(const Shape& axes, const Shape& parts) {
  std::size_t at = 0;
  for (const std::size_t extent : axes) {
    std::size_t product = 1;
    while (at < parts.size() && product < extent) product *= parts[at++];
    if (product != extent) return false;
    if (extent == 1 && at < parts.size() && parts[at] == 1) ++at;
  }
  return at == parts.size();
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

/// Whether 16 neighbours of a row are read at once, from each that is a multiple of 16.
bool has_runs(const View& view) {
  const std::size_t last = view.shape.size() - 1;
  if (view.strides[last] != 1 || view.type == ElementType::kBf16) return false;
  if (!view.source) return true;
  for (std::size_t axis = 0; axis < last; ++axis)
    if (view.strides[axis] % 16 != 0) return false;
  return view.source->has_rows() && view.shape[last] % 16 == 0 && view.place.offset % (16 * sizeof(float)) == 0;
}

/// Adds LEFT, RIGHT and RIGHT16 over two views of [batch..., rows, columns].
void define_sides(Kernel& kernel, const View& left, const View& right, const Shape& batch) {
  kernel.reads("A", left).reads("MATRIX", right);
  const std::string from_left = place_of(kernel, "A", left, batch, "(m)", "(k)"),
                    from_right = place_of(kernel, "MATRIX", right, batch, "(k)", "(n)");
  kernel.define("LEFT(batch, m, k)", "A(" + from_left + ")").define("RIGHT(batch, k, n)", "MATRIX(" + from_right + ")");
  kernel.define("RIGHT16(batch, k, n)", has_runs(right) ? "MATRIX_LOAD16(" + from_right + ")" : neighbours_text());
}

struct Attention {
  View query, key, value;  ///< [batch..., rows, columns]; the key's rows are its columns here.
  Shape batch;
  std::size_t queries = 0, keys = 0;
  std::optional<View> mask, sink;
  bool is_causal = false;
  std::string scale;  ///< A number, or an element of SCALE.
  std::optional<View> scale_view;
  std::size_t batches() const { return element_count(batch); }
};

/// Rows become columns.
View swapped(View view) {
  const std::size_t rank = view.shape.size();
  std::swap(view.shape[rank - 1], view.shape[rank - 2]);
  std::swap(view.strides[rank - 1], view.strides[rank - 2]);
  return view;
}

/// Whether a tensor of reals, or none, has nothing that a sum notices.
bool is_of_zeros(const Tensor& reals) {
  if (!reals || !info(reals.element_type()).is_real) return false;
  const auto* const bytes = static_cast<const unsigned char*>(reals.data());
  return std::all_of(bytes, bytes + reals.size_bytes(), [](unsigned char byte) { return byte == 0; });
}

Attention attention_of(Builder& builder, const Node& node) {
  Attention all;
  const Shape& out = node.get_output_shape(0);
  all.batch = Shape(out.begin(), out.end() - 2);
  all.query = with_batch(builder.view(node.input_value(0)), all.batch);
  View key = heads_of(builder, node.input_value(1)), value = heads_of(builder, node.input_value(2));
  std::size_t rank = out.size();
  const std::size_t shared_rank = std::max(key.shape.size(), value.shape.size());
  if (shared_rank > rank) {
    // One of the result's axes is several then.
    const View& shared = key.shape.size() > rank ? key : value;
    Shape batch(shared.shape.begin(), shared.shape.end() - 2);
    View query = all.query;
    Shape shape = batch;
    shape.push_back(query.shape[rank - 2]);
    shape.push_back(query.shape[rank - 1]);
    if (key.shape.size() == value.shape.size() && std::equal(batch.begin(), batch.end(), value.shape.begin()) &&
        is_split(all.batch, batch) && reshape(query, shape)) {
      all.query = query;
      all.batch = batch;
      rank = shared_rank;
    } else {
      key = builder.view(node.input_value(1));
      value = builder.view(node.input_value(2));
    }
  }
  key = with_batch(key, all.batch);
  all.value = with_batch(value, all.batch);
  all.queries = all.query.shape[rank - 2];
  all.keys = key.shape[rank - 2];
  all.key = swapped(key);
  all.is_causal = node.get_attributes().get_bool("causal");
  // As [batch..., queries, columns].
  const auto for_rows = [&](std::size_t input, std::size_t columns) {
    Shape shape = node.get_output_shape(0);
    shape.back() = columns;
    View view = broadcast(builder.view(node.input_value(input)), shape);
    shape = all.batch;
    shape.push_back(all.queries);
    shape.push_back(columns);
    reshape(view, shape);  // Axes are only split: every view can be.
    return view;
  };
  // A mask that is one number, 0, or zeros alone, as exporters write them, stands for none; a causal one replaces what is given.
  if (node.get_input_size() > 3 && !all.is_causal && node.get_input_shape(3).size() > 0 &&
      !is_of_zeros(builder.constant(node.input_value(3))))
    all.mask = for_rows(3, all.keys);
  if (node.get_input_size() > 5) all.sink = for_rows(5, 1);
  if (node.get_input_size() > 4)
    all.scale_view = builder.view(node.input_value(4));
  else
    all.scale = literal_text(ElementType::kF32, 1 / std::sqrt(static_cast<double>(all.query.shape[rank - 1])));
  return all;
}

/// Limits of the kernel for few queries: queries that a group computes together, columns of a warp, and groups that share the keys.
constexpr std::size_t kFewQueries = 8, kRowLanes = 128, kMostColumns = 256, kMostParts = 64;

/// How many neighbouring batches have the same keys and values.
std::size_t shared_batches(const Attention& what) {
  if (what.batch.empty()) return 1;
  const std::size_t last = what.batch.size() - 1;
  return what.key.strides[last] == 0 && what.value.strides[last] == 0 ? what.batch[last] : 1;
}

/// Whether keys are to be divided among groups: for so few queries everything else leaves most of the device idle.
bool has_few_queries(const Builder& builder, const Attention& what) {
  const Target& target = builder.target();
  return takes_matrices(target) && what.queries <= kFewQueries && what.query.shape.back() <= kMostColumns &&
         what.value.shape.back() <= kMostColumns;
}

/// SCORE(value, batch, m, n): a product of a query and a key, scaled and masked. What the mask says of it, a MASK_T, may be read before,
/// and SCALE_NOW be defined as what it was: MASK_AT(batch, m, n), SCORE_OF(value, mask, m, n).
void define_score(Kernel& kernel, const Attention& what) {
  if (what.scale_view) kernel.reads("SCALE", *what.scale_view);
  kernel.define("SCALE_NOW", what.scale_view ? "SCALE(0)" : what.scale);
  std::string score = "(value) * SCALE_NOW", mask = "0";
  if (what.is_causal) score = "((n) > (m) ? -INFINITY : " + score + ")";
  const bool is_bool = what.mask && what.mask->type == ElementType::kBool;
  if (what.mask) {
    kernel.reads("MASK", *what.mask);
    mask = "MASK(" + place_of(kernel, "MASK", *what.mask, what.batch, "(m)", "(n)") + ")";
    score = is_bool ? "((mask) ? " + score + " : -INFINITY)" : score + " + (mask)";
  }
  kernel.define("MASK_T", is_bool ? "int" : "float")
      .define("MASK_AT(batch, m, n)", mask)
      .define("SCORE_OF(value, mask, m, n)", "(" + score + ")")
      .define("SCORE(value, batch, m, n)", "SCORE_OF(value, MASK_AT(batch, m, n), m, n)");
}

/// FIRST_TOP(batch, m), FIRST_TOTAL(batch, m): the greatest score of a row, and the sum of its weights, before any key. Those of a sink,
/// which is one more score of a row.
void define_first(Kernel& kernel, const Attention& what) {
  std::string top = "-INFINITY", total = "0";
  if (what.sink) {
    kernel.reads("SINKS", *what.sink);
    const std::string sink = "SINKS(" + place_of(kernel, "SINKS", *what.sink, what.batch, "(m)", "0") + ")";
    top = "(isnan(" + sink + ") ? -INFINITY : " + sink + ")";
    total = "(" + sink + " == -INFINITY ? 0 : " + sink + " - " + sink + " + 1)";  // NaN of NaN and of infinity.
  }
  kernel.define("FIRST_TOP(batch, m)", top).define("FIRST_TOTAL(batch, m)", total);
}

/// Columns of a tile in local memory.
constexpr std::size_t kMostHeadColumns = 64;

/// Whether one kernel does it all: heads of few columns, whose rows are read in chunks of f16.
bool is_one_kernel(const Builder& builder, const Attention& what) {
  const std::size_t columns = what.query.shape.back();
  return builder.target().stores_f16 && takes_matrices(builder.target()) &&
         builder.target().local_bytes >= std::size_t{48} << 10 && columns <= kMostHeadColumns &&
         columns % kChunk == 0 && what.value.shape.back() == columns;
}

/// The view if its rows are f16 in chunks; else a copy, in which heads still share what they share.
View chunks_of(Builder& builder, const Node& node, const View& view) {
  if (view.type == ElementType::kF16 && builder.is_wide(view, view.shape.size() - 1)) return view;
  View once = view;
  for (std::size_t axis = 0; axis + 2 < once.shape.size(); ++axis)
    if (once.strides[axis] == 0) once.shape[axis] = 1;
  const View copy = builder.scratch(ElementType::kF16, once.shape);
  builder.copy(once, copy, node);
  return broadcast(copy, view.shape);
}

void lower_in_one_kernel(Builder& builder, const Node& node, const Attention& given) {
  const Node* const self = &node;
  Attention what = given;
  what.query = chunks_of(builder, node, given.query);
  what.key = swapped(chunks_of(builder, node, swapped(given.key)));
  what.value = chunks_of(builder, node, given.value);
  Producer producer;
  producer.emit_in_pieces = [&builder, self, kept = std::make_shared<const Attention>(std::move(what))](
                                const ExpressionRef& root, const View& out, const AxisGroups& axes) {
    const Attention& what = *kept;
    // More queries for each warp read less, but then too few warps have place to hide each other's waits. Two share a row of queries.
    const MatrixTiles tiles{64, 64, 4, builder.target().max_group >= 256 ? std::size_t{2} : std::size_t{1}, 2};
    const std::size_t rank = what.query.shape.size();
    Kernel kernel = builder.kernel("attention");
    kernel.reads("Q", what.query).reads("K", what.key).reads("V", what.value);
    define_score(kernel, what);
    define_first(kernel, what);
    builder.add_wide_store(kernel, root, out, rows_and_columns(axes));
    kernel.define("STORE8_AT(v, batch, m, n)", "STORE8(v, (batch) * M + (m), n)");
    // Elements of sub-groups lie otherwise than these kernels take them.
    Target target = builder.target();
    if (target.matrices == Target::Matrices::kIntel) target.matrices = Target::Matrices::kPortable;
    define_tiles(kernel, tiles, target, ElementType::kF16);
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
    kernel.over({(what.queries + tiles.m - 1) / tiles.m * tiles.lanes(), 1, what.batches()}, {tiles.lanes(), 1, 1});
    builder.launch(std::move(kernel), *self);
  };
  builder.set(node, 0, ElementType::kF32, std::move(producer));
}

/// The macro NAME8(batch, n, d, to): 8 columns of a row. @param view  [batch..., rows, columns]
void define_row(Kernel& kernel, const Builder& builder, const std::string& name, const std::string& as,
                const View& view, const Shape& batch) {
  kernel.reads(name, view);
  const std::size_t rank = view.shape.size();
  const std::string row = batch_place(kernel, name, view, batch) + " + " +
                          index_text(kernel, name + "_ROW", {view.strides[rank - 2]}, {"(n)"}) + " + ";
  if (builder.is_wide(view, rank - 1)) {
    kernel.define(as + "(batch, n, d, to)", name + "_LOAD8(" + row + "(d), to);");
    return;
  }
  const std::string at = index_text(kernel, name + "_COLUMN", {view.strides[rank - 1]}, {"((d) + j)"});
  kernel.define(as + "(batch, n, d, to)", "_Pragma(\"unroll\") for (int j = 0; j < 8; ++j) (to)[j] = (d) + j < " +
                                              std::to_string(view.shape.back()) + " ? " + name + "(" + row + at +
                                              ") : 0;");
}

AxisGroups one_group(const View& out) {
  AxisGroups all(1);
  for (std::size_t axis = 0; axis < out.shape.size(); ++axis) all[0].push_back(axis);
  return all;
}

/// Adds STORE_AT(value, batch, m, d).
void define_row_store(Kernel& kernel, const Builder& builder, const Attention& what, const ExpressionRef& root,
                      const View& out, const AxisGroups& axes) {
  builder.add_store(kernel, root, out, rows_and_columns(axes));
  kernel.define("STORE_AT(value, batch, m, d)", "STORE(value, (batch) * M + (m), d)")
      .number("M", static_cast<std::int64_t>(what.queries))
      .define("VALUES", static_cast<std::int64_t>(what.value.shape.back()));
}

/// How keys are divided: enough groups for every unit of the device, which read all that they wait for at once.
struct KeyParts {
  std::size_t rows, blocks;   ///< Rows of queries that a group computes, and groups for all of them.
  std::size_t team, at_once;  ///< Work-items of a key, and keys that each of them reads at once.
  std::size_t keys, count;    ///< The keys of a group, and groups that share all.
};
KeyParts parts_of(const Attention& what, const Target& target) {
  const std::size_t shared = shared_batches(what), all = shared * what.queries, units = target.compute_units,
                    sets = std::max<std::size_t>(what.batches() / shared, 1);
  KeyParts parts{1, 1, 1, 4, 1, 1};
  while (parts.team * kChunk < std::max(what.query.shape.back(), what.value.shape.back())) parts.team *= 2;
  std::size_t steps = 1;
  const auto divide = [&] {
    const std::size_t step = kRowLanes / parts.team * parts.at_once;
    parts.blocks = (all + parts.rows - 1) / parts.rows;
    steps = std::max<std::size_t>((what.keys + step - 1) / step, 1);
    parts.keys = step;
  };
  // A row is a group's alone as long as the device has room for so many groups: the fewer rows, the sooner their sums are joined.
  for (divide(); parts.rows < std::min(all, kFewQueries) &&
                 (2 * sets * parts.blocks > units / 4 || sets * parts.blocks * steps > 8 * units);
       divide())
    parts.rows *= 2;
  if (parts.rows == kFewQueries) parts.at_once = 2, divide();
  const std::size_t wanted = std::clamp<std::size_t>(2 * units / std::max<std::size_t>(sets * parts.blocks, 1), 1,
                                                     std::min(steps, kMostParts));
  parts.keys *= (steps + wanted - 1) / wanted;
  parts.count = std::max<std::size_t>((what.keys + parts.keys - 1) / parts.keys, 1);
  return parts;
}

/// Keys and values come into the second-level cache while the kernel before this one runs (kernels/early_nvidia.cl): a token's are
/// from long ago, but for the last.
void define_early_rows(Kernel& kernel, const Builder& builder, const View& key, const View& value, const Shape& batch) {
  if (builder.target().matrices != Target::Matrices::kNvidia || key.source || value.source) return;
  const auto define = [&](const std::string& as, const std::string& name, const View& view) {
    kernel.define(as + "(batch, n)",
                  "(" + name + "_p + " + batch_place(kernel, name, view, batch) + " + " +
                      index_text(kernel, name + "_ROW", {view.strides[view.strides.size() - 2]}, {"(n)"}) + ")");
  };
  define("EARLY_KEY", "K", key);
  define("EARLY_VALUE", "V", value);
  const std::size_t bytes =
      std::max(key.shape.back() * size_bytes(key.type), value.shape.back() * size_bytes(value.type));
  kernel.define("EARLY_BYTES", signed_of(bytes)).waits().text(kernels::early_nvidia);
}

Kernel few_queries_kernel(Builder& builder, const Attention& what, const KeyParts& parts) {
  Kernel kernel = builder.kernel("attention_rows");
  const std::size_t columns = what.query.shape.back(), values = what.value.shape.back(), shared = shared_batches(what);
  const View key = swapped(what.key);
  define_row(kernel, builder, "Q", "QUERY8", what.query, what.batch);
  define_row(kernel, builder, "K", "KEY8", key, what.batch);
  define_row(kernel, builder, "V", "VALUE8", what.value, what.batch);
  define_score(kernel, what);
  define_first(kernel, what);
  kernel.number("N", signed_of(what.keys))
      .number("PART_KEYS", signed_of(parts.keys))
      .define("HAS_PARTS", parts.count > 1 ? 1 : 0)
      .define("SHARED", signed_of(shared))
      .define("COLUMNS", signed_of(whole_chunks(columns)))
      .define("ROWS", signed_of(parts.rows))
      .define("TEAM", signed_of(parts.team))
      .define("AT_ONCE", signed_of(parts.at_once))
      .define("LANES", signed_of(kRowLanes));
  if (parts.count > 1) {
    const std::size_t sets = what.batches() / shared * parts.blocks;
    kernel.uses("PART", builder.scratch(ElementType::kF32, {sets, parts.count, parts.rows, values + 2}))
        .uses("COUNTERS", builder.counters(sets))
        .number("PARTS", signed_of(parts.count))
        .text(release_text(builder.target()));
  }
  define_early_rows(kernel, builder, key, what.value, what.batch);
  kernel.multiply_adds(std::uint64_t{what.batches()} * what.queries * what.keys * (columns + values));
  kernel.text(builder.target().matrices == Target::Matrices::kNvidia ? kernels::lanes_nvidia : kernels::lanes_portable)
      .text(kernels::attention_rows);
  kernel.over({parts.count * kRowLanes, parts.blocks, what.batches() / shared}, {kRowLanes, 1, 1});
  return kernel;
}

void lower_few_queries(Builder& builder, const Node& node, const Attention& what) {
  const Node* const self = &node;
  Producer producer;
  producer.emit_in_pieces = [&builder, self, kept = std::make_shared<const Attention>(what)](
                                const ExpressionRef& root, const View& out, const AxisGroups& axes) {
    const Attention& what = *kept;
    const KeyParts parts = parts_of(what, builder.target());
    Kernel kernel = few_queries_kernel(builder, what, parts);
    define_row_store(kernel, builder, what, root, out, axes);
    builder.launch(std::move(kernel), *self);
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

void lower_weights(Builder& builder, const Node& node, const Attention& what, const View& scores) {
  Kernel kernel = builder.kernel("attention_weights");
  const std::size_t lanes = std::min<std::size_t>(builder.target().max_group, builder.target().is_cpu ? 16 : 128);
  kernel.updates("X", scores).number("KEYS", static_cast<std::int64_t>(scores.shape[2]));
  define_first(kernel, what);
  kernel.number("M", static_cast<std::int64_t>(what.queries));
  kernel.define("LANES", static_cast<std::int64_t>(lanes)).text(kernels::attention_weights);
  kernel.over({scores.shape[0] * scores.shape[1] * lanes}, {lanes});
  builder.launch(std::move(kernel), node);
}

void lower_attention(Builder& builder, const Node& node) {
  const Attention what = attention_of(builder, node);
  if (has_few_queries(builder, what)) return lower_few_queries(builder, node, what);
  if (is_one_kernel(builder, what)) return lower_in_one_kernel(builder, node, what);
  const View scores = lower_scores(builder, node, what);
  lower_weights(builder, node, what, scores);
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
    builder.add_store(kernel, root, out, one_group(out));
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
  return node.get_input_element_type(0) == element::f64 ? "its kernel computes in f32, not f64" : "";
}

}  // namespace

void register_attention(LoweringTable& table) {
  table["ScaledDotProductAttention"] = {lower_attention, refuses_attention};
}

}  // namespace tenon::inline v1::gpu_device
