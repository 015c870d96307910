// SPDX-License-Identifier: Apache-2.0
// Brings both sides into rows.
#include <tenon/devices/gpu/lower/matmul_conv/matrix_matmul.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/matmul_conv/matrix.hpp>
#include <tenon/devices/gpu/program/indexing.hpp>

namespace tenon::inline v1::gpu_device {

View rows_of(Builder& builder, const Node& node, const View& view) {
  const ElementType type = builder.target().reals();
  if (view.type == type && builder.is_wide(view, view.shape.size() - 1)) return view;
  const View copy = builder.scratch(type, view.shape);
  builder.copy(view, copy, node);
  return copy;
}

namespace {

View turned(View view) {
  const std::size_t rank = view.shape.size();
  std::swap(view.shape[rank - 1], view.shape[rank - 2]);
  std::swap(view.strides[rank - 1], view.strides[rank - 2]);
  return view;
}

std::optional<RowNorm> optional_of(const RowNorm* norm) { return norm ? std::optional(*norm) : std::nullopt; }

/// Whether all batches have the same right side: their rows are then those of one product.
bool is_for_all(const View& right) {
  for (std::size_t axis = 0; axis + 2 < right.shape.size(); ++axis)
    if (right.shape[axis] != 1 && right.strides[axis] != 0) return false;
  return true;
}

/// See MatrixProduct::beside.
std::size_t products_beside(const Builder& builder, const Node& node) {
  const auto is_alike = [&](const Input<Node>& reader) {
    const Node& other = *reader.get_node();
    return std::string_view(other.get_type_name()) == node.get_type_name() && reader.get_index() == 0 &&
           other.get_input_shape(1) == node.get_input_shape(1) && other.get_attributes() == node.get_attributes() &&
           builder.constant(other.input_value(1));
  };
  const auto readers = node.input_value(0).get_target_inputs();
  return std::clamp<std::size_t>(std::ranges::count_if(readers, is_alike), 1, kMostJoined);
}

}  // namespace

bool lower_matrix_matmul(Builder& builder, const Node& node, const MatrixSides& sides, const Tensor& weights,
                         bool is_transposed, const RowNorm* norm) {
  const std::size_t rank = sides.left.shape.size(), k = sides.left.shape[rank - 1];
  if (!takes_matrices(builder.target()) || node.get_output_element_type(0) != element::f32 || k % kChunk != 0 ||
      node.get_output_shape(0).size() != rank)
    return false;
  View left = rows_of(builder, node, sides.left), right;
  if (weights) {
    const ElementType type = builder.target().reals();
    const std::string how = is_transposed ? "right sides" : "right sides, transposed";
    right = broadcast(builder.hold_packed(weights, how,
                                          [is_transposed, type](const Tensor& source) {
                                            return pack_right_sides(source, type, is_transposed);
                                          }),
                      turned(sides.right).shape);
  } else {
    right = rows_of(builder, node, turned(sides.right));
  }
  MatrixWork work{left, {{right}}, k, optional_of(norm)};
  if (weights) work.beside = products_beside(builder, node);
  builder.set(node, 0, ElementType::kF32, matrix_producer(builder, node, work));
  return true;
}

namespace {

/// All of the right side's rows as reals. A work-item has the same places of several rows, so that enough is on its way from memory.
View expanded(Builder& builder, const Node& node, const FewBits& few, std::size_t k) {
  constexpr std::size_t kBytes = 32, kLanes = 64;  // A work-item reads so many bytes.
  const std::size_t n = few.numbers.shape()[0], blocks = (k / kChunk + kLanes - 1) / kLanes;
  std::size_t rows = kBytes / bit_width(few.numbers.element_type());
  while (n % rows != 0) rows /= 2;
  const View all = builder.scratch(builder.target().reals(), {n, k});
  Kernel kernel = builder.kernel("expand");
  define_few_bits(kernel, builder, few, k);
  kernel.writes("OUT", all)
      .number("STEP", signed_of(n / rows))
      .number("BLOCKS", signed_of(blocks))
      .define("ROWS", signed_of(rows))
      .define("LANES", signed_of(kLanes));
  kernel.text(
      "KERNEL {\n"
      "  const int group = (int)get_group_id(0), n = group / BLOCKS;\n"
      "  const int k = (group % BLOCKS * LANES + (int)get_local_id(0)) * 8;\n"
      "  if (k >= K) return;\n"
      "  tn_few_bits few[ROWS];\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < ROWS; ++i) RIGHT_READ(0, (n + i * STEP), k, few[i])\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < ROWS; ++i) {\n"
      "    float reals[8];\n"
      "    RIGHT_REALS(few[i], reals)\n"
      "    for (int j = 0; j < 8; ++j) reals[j] *= RIGHT_SCALE(few[i]) * PLACE(j);\n"
      "    OUT_STORE8((n + i * STEP) * K + k, reals);\n"
      "  }\n"
      "}\n");
  kernel.over({n / rows * blocks * kLanes}, {kLanes});
  builder.launch(std::move(kernel), node);
  return all;
}

/// What all numbers are counted from, if that is one for all and whole.
std::optional<int> whole_zero(const FewBits& few) {
  if (!few.zero_points) return 0;
  if (element_count(few.zero_points.shape()) != 1) return std::nullopt;
  const float value = *few.zero_points.data<float>();
  return value == std::floor(value) && std::abs(value) <= 256 ? std::optional(static_cast<int>(value)) : std::nullopt;
}

/// A number of `bits` bits, which lies at a place of its word, as a real times what that place stands for, and exact: its bits are the
/// last ones of a real between 2^23 and 2^24. Places beyond these bits are shifted down before. Signed numbers are moved up to be
/// unsigned. So a number takes an operation to cut, and one to subtract.
std::string placed_real(int bits, bool is_signed, std::optional<int> zero) {
  const std::string places = std::to_string(16 / bits), of_bits = std::to_string(bits),
                    word = bits == 4 ? "(from).words.x" : "(j < 4 ? (from).words.x : (from).words.y)",
                    up = !is_signed  ? ""
                         : bits == 4 ? " ^ 0x88888888u"
                                     : " ^ 0x80808080u",
                    place = "(1 << " + of_bits + " * (j % " + places + "))";
  const int less = (is_signed ? 1 << (bits - 1) : 0) + zero.value_or(0);
  std::string text = "as_float(((" + word + up + ") >> j / " + places + " % 2 * 16 & " +
                     std::to_string((1 << bits) - 1) + "u * " + place + ") | 0x4b000000u) - (float)(8388608 + " +
                     std::to_string(less) + " * " + place + ")";
  if (!zero) text += " - (from).zero * " + place;
  return text;
}

}  // namespace

void define_few_bits(Kernel& kernel, Builder& builder, const FewBits& few, std::size_t k, const std::string& row_text,
                     const std::string& side) {
  const ElementType type = few.numbers.element_type();
  const Shape& stored = few.numbers.shape();
  const std::string numbers = side + "B";
  kernel.reads(numbers, builder.hold(few.numbers)).number("K", signed_of(k));
  // Where a group's number lies: its row, and which of the row's it is.
  const auto define = [&](const std::string& of, const Tensor& values) {
    const std::string name = side + of;
    const View view = broadcast(builder.hold(values), stored);
    kernel.reads(name, view);
    const std::string row = index_text(kernel, name + "_ROW", {view.strides[0]}, {row_text});
    if (stored.size() == 2) return name + "(" + row + ")";
    return name + "(" + row + " + " +
           index_text(kernel, name + "_GROUP", {view.strides[1]}, {"((k) / " + std::to_string(stored.back()) + ")"}) +
           ")";
  };
  const bool is_signed = type == ElementType::kI4 || type == ElementType::kI8, is_nf4 = type == ElementType::kNf4;
  const int bits = static_cast<int>(bit_width(type));
  const std::optional<int> zero = whole_zero(few);
  const std::string from = row_text + " * K + (k)",
                    real = is_nf4 ? "from_nf4((uchar)((from).words.x >> 4 * j & 15)) - " +
                                        (zero ? std::to_string(*zero) : "(from).zero")
                                  : placed_real(bits, is_signed, zero),
                    words = bits == 4 ? "(uint2)(*(__global const uint*)(" + numbers + "_p + from / 2), 0)"
                                      : "*(__global const uint2*)(" + numbers + "_p + from)";
  const std::string scale = define("SCALE", few.scales), zero_point = zero ? "" : define("ZERO", few.zero_points);
  kernel.define("HAS_SCALES", 1)
      .define(side + "GROUP_SCALE(n, k)", scale)
      .define(side + "GROUP_ZERO(n, k)", zero_point)
      .define(side + "RIGHT_T", "tn_few_bits")
      .define(side + "RIGHT_READ(batch, n, k, to)", "{ const int from = " + from + "; (to).scale = " + scale + ";" +
                                                        (zero ? "" : " (to).zero = " + zero_point + ";") +
                                                        " (to).words = " + words + "; }")
      .define(side + "RIGHT_SCALE(from)", "(from).scale")
      .define(side + "RIGHT_REALS(from, to)",
              "_Pragma(\"unroll\") for (int j = 0; j < 8; ++j) (to)[j] = " + real + ";");
  kernel.define(
      "PLACE(j)",
      is_nf4 ? "1.0f" : "(1.0f / (1 << " + std::to_string(bits) + " * ((j) % " + std::to_string(16 / bits) + ")))");
}

void define_reals(Kernel& kernel, ElementType type, const std::string& row, const std::string& side) {
  const std::string name = type == ElementType::kF16 ? "reals8_f16" : "reals8_f32";
  kernel.define("HAS_SCALES", 0)
      .define(side + "RIGHT_T", type == ElementType::kF16 ? "uint4" : "float8")
      .define(side + "RIGHT_READ(batch, n, k, to)", "to = " + side + "B_READ8(" + row + " + (k));")
      .define(side + "RIGHT_REALS(from, to)", name + "(from, to);");
}

bool lower_few_bits_matmul(Builder& builder, const Node& node) {
  if (!keeps_few_bits(builder.target())) return false;
  const auto few = few_bits_of(node);
  if (!few) return false;
  const RowNorm* const norm = builder.row_norm(node.input_value(0));
  const View left = norm ? norm->x : rows_of(builder, node, builder.view(node.input_value(0)));
  const std::size_t rank = left.shape.size(), k = left.shape[rank - 1];
  View right{{}, builder.target().reals(), left.shape, {}};
  right.shape[rank - 2] = few->numbers.shape()[0];
  right.strides.resize(rank);
  right.strides[rank - 1] = 1;
  right.strides[rank - 2] = signed_of(k);
  builder.set(node, 0, ElementType::kF32, matrix_producer(builder, node, {left, {{right, few}}, k, optional_of(norm)}));
  return true;
}

namespace {

/// Axes that count rows, and those before them, each of which is a product of its own.
struct RowAxes {
  std::vector<std::size_t> rows, batches;
};
RowAxes row_axes(const MatrixWork& work) {
  const std::size_t rank = work.left.shape.size();
  RowAxes axes;
  axes.rows.resize(rank - 1);
  std::iota(axes.rows.begin(), axes.rows.end(), std::size_t{0});
  if (is_for_all(work.rights[0].view)) return axes;
  axes.batches.assign(axes.rows.begin(), axes.rows.end() - 1);
  axes.rows = {rank - 2};
  return axes;
}

/// How many words of 32 bits 8 neighbours of a right side are as they lie, if they may be read before the kernel before this one is
/// over; 0: they may not.
std::size_t words_ahead(const Builder& builder, const MatrixWork::Right& right) {
  if (right.few) return bit_width(right.few->numbers.element_type()) / 4 + (whole_zero(*right.few) ? 1 : 2);
  return builder.is_constant(right.view) ? 2 * size_bytes(right.view.type) : 0;
}

/// A whole number from 1 to 2047 as f16.
std::uint32_t half_bits(int value) {
  const int exponent = std::bit_width(static_cast<unsigned>(value)) - 1;
  return static_cast<std::uint32_t>((exponent + 15) << 10 | ((value << (10 - exponent)) & 0x3ff));
}

/// What is added to signed numbers of 4 or 8 bits so that they are unsigned.
int moved_by(ElementType type) { return type == ElementType::kI4 ? 8 : type == ElementType::kI8 ? 128 : 0; }

/// What numbers of 4 or 8 bits count from once they are moved to be unsigned, if that is one for all that f16 takes exactly.
std::optional<int> unsigned_zero(const FewBits& few) {
  const auto zero = whole_zero(few);
  if (!zero) return std::nullopt;
  const int moved = *zero + moved_by(few.numbers.element_type());
  return moved >= 0 && moved < 512 ? std::optional(moved) : std::nullopt;
}

/// See MatrixProduct::chunk_bytes. Four neighbours have a step, in which numbers have one scale. Gains are read before the kernel that is before
/// this one is over.
std::size_t chunk_bytes_of(const Builder& builder, const MatrixWork& work) {
  const Target& target = builder.target();
  const auto suits = [](const View& view) { return view.type == ElementType::kF16 && !view.source; };
  if (!takes_fragments(target) || !suits(work.left)) return 0;
  if (work.norm && work.norm->gain && !(suits(*work.norm->gain) && builder.is_constant(*work.norm->gain))) return 0;
  std::size_t bytes = 16, bits = 16;
  for (const auto& [view, few] : work.rights) {
    std::size_t run = work.k;
    if (few) {
      const ElementType type = few->numbers.element_type();
      const auto& first = work.rights[0].few;
      if (type == ElementType::kNf4 || (whole_zero(*few) && !unsigned_zero(*few)) ||
          unsigned_zero(*few) != unsigned_zero(*first))
        return 0;
      bits = bit_width(type);
      if (few->numbers.shape().size() == 3) run = few->numbers.shape().back();
    } else if (!suits(view) || !builder.is_constant(view)) {
      return 0;
    }
    while (bytes >= bits && run % (bytes * 32 / bits) != 0) bytes /= 2;  // A chunk has 8 numbers or more.
  }
  return work.k > 0 && bytes >= bits ? bytes : 0;
}

MatrixProduct product_of(const Builder& builder, const MatrixWork& work) {
  const View &left = work.left, &right = work.rights[0].view;
  MatrixProduct product{left.type};
  product.m = product.batch = 1;
  const RowAxes axes = row_axes(work);
  for (const std::size_t axis : axes.rows) product.m *= left.shape[axis];
  for (const std::size_t axis : axes.batches) product.batch *= left.shape[axis];
  product.n = right.shape[right.shape.size() - 2];
  product.k = work.k;
  product.has_weights = builder.is_constant(right);
  product.beside = work.beside;
  product.sides = work.rights.size();
  product.has_norm = work.norm.has_value();
  for (const MatrixWork::Right& each : work.rights) {
    const std::size_t words = words_ahead(builder, each);
    product.words_ahead = words == 0 ? 0 : std::max(product.words_ahead, words);
    if (words == 0) break;
  }
  constexpr std::size_t kMostStaged = std::size_t{40} << 10;  // Sums take the rest of what OpenCL lends a group.
  if (std::bit_ceil(product.m) * product.k * sizeof(std::uint16_t) <= kMostStaged)
    product.chunk_bytes = chunk_bytes_of(builder, work);
  product.bits = work.rights[0].few ? bit_width(work.rights[0].few->numbers.element_type()) : 16;
  return product;
}

/// One right side of a product of few rows, and how it is brought before.
void define_side(Kernel& kernel, Builder& builder, const MatrixWork& work, std::size_t side) {
  const MatrixWork::Right& right = work.rights[side];
  const std::string name = side > 0 ? "SECOND_" : "";
  if (right.few) {
    define_few_bits(kernel, builder, *right.few, work.k, "(n)", name);
    const std::string bytes = bit_width(right.few->numbers.element_type()) == 4 ? "(K / 2)" : "K";
    return define_early(kernel, builder.target(), name + "B_p + (n) * " + bytes, bytes, name);
  }
  const std::string row = name + "B_BATCH(batch) + (n) * " + name + "B_ROW";
  define_reals(kernel, right.view.type, row, name);
  if (builder.is_constant(right.view))
    define_early(kernel, builder.target(), name + "B_p + " + row, "K * " + std::to_string(size_bytes(right.view.type)),
                 name);
}

/// How numbers as they lie become pairs of f16 (kernels/fragment_rows.cl).
void define_pairs(Kernel& kernel, const MatrixWork::Right& right) {
  const ElementType type = right.few ? right.few->numbers.element_type() : ElementType::kF16;
  const bool is_of_4 = right.few && bit_width(type) == 4;
  const auto one_zero = right.few ? unsigned_zero(*right.few) : std::optional<int>(0);
  const int zero = one_zero.value_or(moved_by(type));  // Zero points that differ count from where numbers were before.
  const auto pair = [](int value, std::uint32_t sign) {
    return std::to_string((half_bits(value) | sign) * 0x10001u) + "u";
  };
  kernel.define("HAS_ZEROS", one_zero ? 0 : 1)
      .define("ZERO_LOW", pair(1024 + zero, 0))
      .define("ZERO_HIGH", pair(64 + zero, 0x8000))
      .define("FLIP",
              type == ElementType::kI4 || type == ElementType::kI8 ? (is_of_4 ? "0x88888888u" : "0x80808080u") : "0u");
}

void define_norm(Kernel& kernel, const RowNorm& norm) {
  if (norm.gain) kernel.reads("GAIN", *norm.gain);
  kernel.define("HAS_GAIN", norm.gain ? 1 : 0)
      .define("SPREAD(v)", norm.spread)
      .define("GAIN8(k, to)",
              norm.gain ? "GAIN_LOAD8(k, to);" : "_Pragma(\"unroll\") for (int j = 0; j < 8; ++j) (to)[j] = 1;");
}

void emit_products(Builder& builder, const Node& node, MatrixWork work, const ExpressionRef& root, const View& out,
                   const AxisGroups& axes) {
  const AxisGroups groups = rows_and_columns(axes);
  const RowAxes counted = row_axes(work);
  const MatrixProduct product = product_of(builder, work);
  const bool is_of_rows = has_few_rows(product);
  std::string how = "rows";
  if (is_of_rows) {
    how.clear();
    for (const auto& [view, few] : work.rights)
      how += (how.empty() ? "" : ", ") + (few ? std::string(name(few->numbers.element_type())) : "reals");
  } else if (auto& [view, few] = work.rights[0]; few) {
    view = broadcast(expanded(builder, node, *few, work.k), view.shape);
    few.reset();
  }
  Kernel kernel = builder.kernel("matmul");
  kernel.reads("A", work.left);
  const Walk lines = collapse(work.left.shape, {&work.left}, counted.rows);
  const auto define_batch = [&](const std::string& name, const View& view) {
    const Walk walk = collapse(work.left.shape, {&view}, counted.batches);
    const std::string of = name + "_BATCH";
    kernel.define(of + "(batch)",
                  index_text(kernel, of, walk.strides[0], coordinate_texts(kernel, walk, of + "_b", "(batch)")));
  };
  define_batch("A", work.left);
  kernel
      .define("A_PLACE(m)", index_text(kernel, "A_LINE", lines.strides[0], coordinate_texts(kernel, lines, "r", "(m)")))
      .define("IS_PLAIN", 1);
  for (std::size_t side = 0; side < work.rights.size(); ++side) {
    const auto& [view, few] = work.rights[side];
    const std::string name = side > 0 ? "SECOND_B" : "B";
    if (!few) {
      kernel.reads(name, view).number(name + "_ROW", view.strides[view.strides.size() - 2]);
      define_batch(name, view);
    }
    if (is_of_rows) define_side(kernel, builder, work, side);
  }
  if (is_of_rows && product.chunk_bytes != 0) define_pairs(kernel, work.rights[0]);
  if (work.norm) define_norm(kernel, *work.norm);
  if (product.n % kChunk == 0 && !is_of_rows)
    builder.add_wide_store(kernel, root, out, groups);
  else
    builder.add_store(kernel, root, out, groups);
  kernel.define("STORE_AT(value, batch, m, n)", "STORE(value, (batch) * M + (m), n)")
      .define("STORE8_AT(value, batch, m, n)", "STORE8(value, (batch) * M + (m), n)");
  kernel.multiply_adds(std::uint64_t{product.m} * product.n * product.k * product.batch * product.sides);
  is_of_rows ? launch_rows(builder, node, kernel, product, how) : launch_matrix(builder, node, kernel, product, how);
}

/// Whether one kernel can compute both: rows of constants for the rows of one left side.
bool are_alike(const Builder& builder, const MatrixWork& one, const MatrixWork& other) {
  const MatrixWork::Right &a = one.rights[0], &b = other.rights[0];
  const auto is_constant = [&](const MatrixWork::Right& right) { return right.few || builder.is_constant(right.view); };
  const auto type_of = [](const MatrixWork::Right& right) {
    return right.few ? right.few->numbers.element_type() : right.view.type;
  };
  return one.rights.size() == 1 && other.rights.size() == 1 && one.left == other.left && one.norm == other.norm &&
         a.view.shape == b.view.shape && a.few.has_value() == b.few.has_value() && type_of(a) == type_of(b) &&
         is_constant(a) && is_constant(b) && is_for_all(a.view) && is_for_all(b.view);
}

}  // namespace

Producer matrix_producer(Builder& builder, const Node& node, const MatrixWork& work) {
  const Node* const self = &node;
  const auto kept = std::make_shared<const MatrixWork>(work);  // Producers are copied often.
  Producer producer;
  producer.emit_in_pieces = [&builder, self, kept](const ExpressionRef& root, const View& out, const AxisGroups& axes) {
    emit_products(builder, *self, *kept, root, out, axes);
  };
  if (work.rights.size() > 1 || !has_few_rows(product_of(builder, work))) return producer;
  producer.work = kept;
  producer.with_second = [&builder, self, kept](const Producer& other) -> std::shared_ptr<Producer> {
    if (!other.work || !are_alike(builder, *kept, *other.work)) return nullptr;
    MatrixWork both = *kept;
    both.rights.push_back(other.work->rights[0]);
    return std::make_shared<Producer>(matrix_producer(builder, *self, both));
  };
  return producer;
}

}  // namespace tenon::inline v1::gpu_device
