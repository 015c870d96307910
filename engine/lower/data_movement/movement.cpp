// SPDX-License-Identifier: Apache-2.0
// Views and joins: reshape, transpose, concatenation, splits and slices. A view costs nothing, where one is possible.
#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>

#include <tenon/engine/kernels/simd/copy.hpp>
#include <tenon/engine/lower/build/8_bit.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/graph/slices.hpp>

namespace tenon::inline v1::engine {
namespace {

using Strides = std::vector<std::ptrdiff_t>;

std::size_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  std::size_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= shape[i];
  return result;
}

std::size_t normalized(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

/// Type of the elements of a variant, which may differ from its value's.
ElementType type_of(const Value& value, const Value::Variant& variant) {
  return variant.desc.get_ndims() ? element_type(variant.desc) : value.type;
}

/// `made` begins `offset` elements into a packed variant.
void define_packed_view(PlanBuilder& builder, Value& made, Value& whole, std::size_t offset) {
  const auto source = builder.packed(whole);
  const ElementType type = type_of(made, source);
  made.quantization = whole.quantization;
  BufferSlice place = source.place;
  place.offset += offset * size_bytes(type);
  builder.define_view(made, plain_desc(type, made.shape), place);
}

/// Whether pictures and their channels stay what they are, and only places are counted in another way.
bool keeps_channels(const Shape& from, const Shape& to) {
  return from.size() >= 3 && to.size() >= 3 && to.size() <= 5 && from[0] == to[0] && from[1] == to[1];
}

/// Element-wise functions, which leave their result as the operand lies.
bool reads_elements(const Node& node) {
  constexpr std::string_view kTypes[] = {"Add",  "Subtract", "Multiply", "Divide", "Relu",  "Sigmoid",
                                         "Tanh", "Clamp",    "Gelu",     "Swish",  "HSwish"};
  return std::find(std::begin(kTypes), std::end(kTypes), node.get_type_name()) != std::end(kTypes);
}

/// Whether all readers, also those behind views, read pictures wherever their channels lie.
bool only_pictures_readers(const Node& node) {
  const auto readers = node.get_output_target_inputs(0);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const auto& reader) {
    const Node* by = reader.get_node();
    if (is_op(by, "Transpose") || is_op(by, "Interpolate") || is_op(by, "MaxPool") || is_op(by, "AvgPool")) return true;
    if (by->get_output_size() == 1 && by->get_output_shape(0) == by->get_input_shape(reader.get_index()) &&
        reads_elements(*by))
      return true;
    if (is_op(by, "Concat"))
      return normalized(by->get_attributes().get_int("axis"), by->get_output_shape(0).size()) == 1;
    if (is_op(by, "Convolution") || is_op(by, "GroupConvolution")) return reader.get_index() == 0;
    return is_op(by, "Reshape") && reader.get_index() == 0 &&
           keeps_channels(by->get_input_shape(0), by->get_output_shape(0)) && only_pictures_readers(*by);
  });
}

/// A view that leaves the channels in blocks or innermost.
bool view_picture(PlanBuilder& builder, const std::shared_ptr<Node>& node, Value& source, Value& made) {
  if (!builder.options().fuse || made.type != ElementType::kF32 || !keeps_channels(source.shape, made.shape) ||
      element_count(made.shape) == 0)
    return false;
  const Value::Variant from = builder.native(source);
  if (from.packed || !only_pictures_readers(*node)) return false;
  const ElementType type = type_of(source, from);
  const bool is_last = from.desc == channels_last(type, source.shape);
  if (!is_last && from.desc != builder.blocked_desc(source.shape, type)) return false;
  made.quantization = source.quantization;
  builder.define_view(made, is_last ? channels_last(type, made.shape) : builder.blocked_desc(made.shape, type),
                      from.place);
  return true;
}

bool lower_view(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  if (made.type != source.type) return false;
  if (view_picture(builder, node, source, made)) {
    builder.note_optimized_out(node);
    return true;
  }
  define_packed_view(builder, made, source, 0);
  builder.note_optimized_out(node);
  return true;
}

// -- Transpose

/// Whether all readers are matrix products or attention, which take their operands with any strides.
bool only_products_read(const PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  const auto readers = node->get_output_target_inputs(0);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const auto& reader) {
    return is_op(reader.get_node(), "MatMul") || is_op(reader.get_node(), "ScaledDotProductAttention") ||
           builder.is_of_attention(reader.get_node());
  });
}

bool lower_transpose(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  const std::size_t rank = source.shape.size();
  std::vector<std::int64_t> order;
  if (!builder.constant_ints(node, 1, order)) return false;
  if (order.empty()) {
    order.resize(rank);
    std::iota(order.rbegin(), order.rend(), 0);
  }
  if (bit_width(source.type) < 8 || element_count(made.shape) == 0) return false;
  if (source.narrow && normalized(order.back(), rank) == rank - 1 && only_products_read(builder, node)) {
    made.narrow = source.narrow;
    for (std::size_t i = 0; i < rank; ++i) made.narrow->strides[i] = source.narrow->strides[normalized(order[i], rank)];
    builder.note_optimized_out(node);
    return true;
  }
  // If only extents of 1 change places, the bytes are the same.
  std::vector<std::int64_t> moved;
  for (auto axis : order)
    if (source.shape[normalized(axis, rank)] != 1) moved.push_back(axis);
  if (std::is_sorted(moved.begin(), moved.end())) return lower_view(builder, chain);

  const md from_desc = builder.native(source).desc;
  made.quantization = source.quantization;
  const ElementType type = type_of(made, builder.native(source));
  const md to_desc = plain_desc(type, made.shape);
  if (from_desc.get_ndims()) {
    std::vector<int> permutation(rank);
    for (std::size_t i = 0; i < rank; ++i) permutation[normalized(order[i], rank)] = static_cast<int>(i);
    const md permuted = from_desc.permute_axes(permutation);
    const bool in_order = is_packed(permuted, made.shape);
    // Its readers take the channels innermost as they are, or bring them where they want them.
    if (!in_order && builder.options().fuse && builder.options().blocked_layouts && made.type == ElementType::kF32 &&
        permuted == channels_last(type, made.shape) && only_pictures_readers(*node)) {
      builder.define_view(made, permuted, builder.native(source).place);
      builder.note_optimized_out(node);
      return true;
    }
    if (in_order || (builder.options().fuse && made.type == ElementType::kF32 && only_products_read(builder, node))) {
      builder.define_view(made, in_order ? to_desc : permuted, builder.native(source).place);
      builder.note_optimized_out(node);
      return true;
    }
    KernelKey key{PlanBuilder::key_of(dnnl::primitive::kind::reorder), 1};
    append(key, permuted);
    append(key, to_desc);
    const auto kernel = builder.kernel(key, [&]() -> MadeKernel {
      dnnl::primitive_attr attributes;
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      const dnnl::reorder::primitive_desc pd(builder.engine(), permuted, builder.engine(), to_desc, attributes, true);
      if (!pd || is_slow(pd.impl_info_str())) return {};
      return {dnnl::reorder(pd), pd.impl_info_str(), {pd.scratchpad_desc()}};
    });
    if (*kernel) {
      const BufferSlice from = builder.native(source).place, to = builder.define(made, to_desc);
      auto& step = builder.add_primitive(node, kernel->primitive, kernel->name);
      builder.add_argument(step, DNNL_ARG_FROM, from, permuted);
      builder.add_argument(step, DNNL_ARG_TO, to, to_desc, true);
      builder.add_scratchpad(step, kernel->descs[0]);
      return true;
    }
  }
  const Strides source_strides = kernels::broadcast_strides(source.shape, source.shape);
  Strides strides(rank);
  for (std::size_t i = 0; i < rank; ++i) strides[i] = source_strides[normalized(order[i], rank)];
  const auto walk = kernels::make_walk<2>(made.shape, {kernels::broadcast_strides(made.shape, made.shape), strides});
  const std::size_t size = size_bytes(made.type);
  const BufferSlice from = builder.plain(source), to = builder.define_plain(made);
  builder.add_kernel(node, "strided copy", {from}, {to},
                     [walk, size](std::span<void* const> p) { kernels::strided_copy(walk, size, p[1], p[0]); });
  return true;
}

// -- Concat

/// The type in which most of the joined elements lie.
ElementType concat_type(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Value& made) {
  std::map<ElementType, std::size_t> counts;
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    Value& part = builder.input(node, i);
    if (!part.constant) counts[type_of(part, builder.real(part))] += element_count(part.shape);
  }
  ElementType best = made.type;
  for (const auto& [type, count] : counts)
    if (count > counts[best]) best = type;
  return best;
}

bool lower_concat(PlanBuilder& builder, const Chain& chain) {
  if (chain.nodes.size() > 1) return lower_8_bit_concat(builder, chain);
  const auto& node = chain.anchor();
  Value& made = builder.value(node->output(0));
  if (bit_width(made.type) < 8 || element_count(made.shape) == 0) return false;
  const std::size_t axis = normalized(node->get_attributes().get_int("axis"), made.shape.size());
  // Blocks of channels join without padding between them when every part is whole blocks.
  const ElementType type = concat_type(builder, node, made);
  const md blocked = made.type == ElementType::kF32 ? builder.blocked_desc(made.shape, type) : md();
  bool blocks_fit = blocked.get_ndims() && axis == 1;
  std::size_t blocked_bytes = 0, last_bytes = 0, plain_bytes = 0;
  const std::size_t block = static_cast<std::size_t>(std::max(builder.channel_block(), 1));
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    Value& part = builder.input(node, i);
    blocks_fit = blocks_fit && part.shape[1] % block == 0;
    const auto variant = builder.real(part);
    const bool last =
        made.type == ElementType::kF32 && variant.desc == channels_last(type_of(part, variant), part.shape);
    (variant.packed ? plain_bytes : last ? last_bytes : blocked_bytes) += element_count(part.shape);
  }
  const bool use_last = last_bytes > plain_bytes + blocked_bytes;
  const bool use_blocks = !use_last && blocks_fit && blocked_bytes > plain_bytes;
  const ChannelLayout layout = use_last     ? ChannelLayout::kChannelsLast
                               : use_blocks ? ChannelLayout::kBlocked
                                            : ChannelLayout::kPlain;
  // A row of the result is a piece of each part, one behind the other; with the channels last, theirs is the last axis.
  const std::size_t rank = made.shape.size();
  std::size_t outer = product(made.shape, 0, axis);
  if (use_last && axis > 0) outer = made.shape[0] * product(made.shape, 2, axis == 1 ? rank : axis);
  struct Part {
    std::size_t bytes, offset;  // per outer row
  };
  std::vector<Part> parts;
  std::vector<BufferSlice> places;
  std::size_t row_bytes = 0;
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    Value& part = builder.input(node, i);
    if (element_count(part.shape) == 0) continue;
    const std::size_t bytes = element_count(part.shape) * size_bytes(type) / outer;
    const bool plain = !use_last && !use_blocks && type == part.type;
    places.push_back(plain ? builder.plain(part)
                           : builder.in_layout(part, builder.image_desc(part.shape, type, layout)));
    parts.push_back({bytes, row_bytes});
    row_bytes += bytes;
  }
  const bool plain = !use_last && !use_blocks && type == made.type;
  const BufferSlice to =
      plain ? builder.define_plain(made) : builder.define(made, builder.image_desc(made.shape, type, layout));
  const std::size_t count = parts.size();
  builder.add_kernel(node, "copy", places, {to}, [parts, outer, row_bytes, count](std::span<void* const> p) {
    char* out = static_cast<char*>(p[count]);
    if (outer == 1) {
      for (std::size_t i = 0; i < count; ++i) kernels::copy_bytes(out + parts[i].offset, p[i], parts[i].bytes);
      return;
    }
    // Row by row, so that each line of the result is written while it is in the cache.
    kernels::parallel(outer, 2 * outer * row_bytes, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        for (std::size_t i = 0; i < count; ++i)
          std::memcpy(out + row * row_bytes + parts[i].offset, static_cast<const char*>(p[i]) + row * parts[i].bytes,
                      parts[i].bytes);
    });
  });
  if (outer == 1) {
    const std::size_t step = builder.step_count() - 1;
    for (std::size_t i = 0; i < count; ++i)
      builder.request_part(places[i], parts[i].bytes, {to.buffer, to.offset + parts[i].offset}, step);
  }
  return true;
}

// -- Parts

/// Makes `made` the box of `source` that starts at `begin` (elements per axis) with step `steps`; the extents are
/// made's own, in the source's rank (`extents`).
bool take_box(PlanBuilder& builder, const std::shared_ptr<Node>& node, Value& source, Value& made, const Shape& extents,
              const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& steps) {
  const std::size_t rank = source.shape.size();
  if (bit_width(source.type) < 8 || element_count(made.shape) == 0) return false;
  // One range along one axis, with extents of 1 outside it: a view.
  std::size_t cut_axis = rank, cuts = 0;
  bool unit = true;
  for (std::size_t i = 0; i < rank; ++i) {
    if (extents[i] == source.shape[i] && begin[i] == 0 && steps[i] == 1) continue;
    ++cuts;
    cut_axis = i;
    unit = unit && (steps[i] == 1 || extents[i] == 1);
  }
  if (cuts == 0) {
    define_packed_view(builder, made, source, 0);
    builder.note_optimized_out(node);
    return true;
  }
  const std::size_t block = static_cast<std::size_t>(std::max(builder.channel_block(), 1));
  const auto variant = builder.native(source);
  made.quantization = source.quantization;
  if (cuts == 1 && unit && cut_axis == 1 && made.shape == extents && !variant.packed &&
      variant.desc == channels_last(type_of(source, variant), source.shape)) {
    // Channels innermost stay innermost: 8-bit convolutions read them.
    const std::size_t size = size_bytes(type_of(source, variant)), rows = element_count(source.shape) / source.shape[1];
    const std::size_t in = source.shape[1] * size, out = extents[1] * size,
                      first = static_cast<std::size_t>(begin[1]) * size;
    const BufferSlice to = builder.define(made, channels_last(type_of(source, variant), made.shape));
    builder.add_kernel(node, "channels", {variant.place}, {to}, [rows, in, out, first](std::span<void* const> p) {
      const char* from = static_cast<const char*>(p[0]) + first;
      char* result = static_cast<char*>(p[1]);
      kernels::parallel(rows, 2 * rows * out, [&](std::size_t start, std::size_t end) {
        for (std::size_t row = start; row < end; ++row) std::memcpy(result + row * out, from + row * in, out);
      });
    });
    return true;
  }
  if (cuts == 1 && unit && product(source.shape, 0, cut_axis) == 1) {
    const auto start = static_cast<std::size_t>(begin[cut_axis]);
    const std::size_t row = product(source.shape, cut_axis + 1, rank);
    const ElementType type = type_of(source, variant);
    if (cut_axis == 1 && !variant.packed && made.shape == extents &&
        variant.desc == builder.blocked_desc(source.shape, type) && start % block == 0 && extents[1] % block == 0 &&
        source.shape[1] % block == 0) {
      const BufferSlice place{variant.place.buffer, variant.place.offset + start * row * size_bytes(type)};
      builder.define_view(made, builder.blocked_desc(made.shape, type), place);
      builder.note_optimized_out(node);
      return true;
    }
    define_packed_view(builder, made, source, start * row);
    builder.note_optimized_out(node);
    return true;
  }
  Strides strides = kernels::broadcast_strides(source.shape, source.shape);
  std::ptrdiff_t offset = 0, step = 1;
  for (std::size_t i = rank; i-- > 0;) {
    offset += begin[i] * step;
    strides[i] = step * steps[i];
    step *= static_cast<std::ptrdiff_t>(source.shape[i]);
  }
  const auto walk = kernels::make_walk<2>(extents, {kernels::broadcast_strides(extents, extents), strides});
  const auto whole = builder.packed(source);
  const ElementType type = type_of(source, whole);
  const std::size_t size = size_bytes(type);
  const std::ptrdiff_t offset_bytes = offset * static_cast<std::ptrdiff_t>(size);
  const BufferSlice from = whole.place, to = type == made.type ? builder.define_plain(made)
                                                               : builder.define(made, plain_desc(type, made.shape));
  builder.add_kernel(node, "strided copy", {from}, {to}, [walk, size, offset_bytes](std::span<void* const> p) {
    kernels::strided_copy(walk, size, p[1], static_cast<const char*>(p[0]) + offset_bytes);
  });
  return true;
}

bool lower_split(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  std::vector<std::int64_t> axes;
  if (!builder.constant_ints(node, 1, axes) || axes.size() != 1 || bit_width(source.type) < 8) return false;
  const std::size_t rank = source.shape.size(), axis = normalized(axes[0], rank);
  for (std::size_t i = 0; i < node->get_output_size(); ++i)
    if (element_count(node->get_output_shape(i)) == 0) return false;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < node->get_output_size(); ++i) {
    std::vector<std::int64_t> begin(rank, 0), steps(rank, 1);
    begin[axis] = start;
    const Shape extents = node->get_output_shape(i);
    if (!take_box(builder, node, source, builder.value(node->output(i)), extents, begin, steps)) return false;
    start += static_cast<std::int64_t>(extents[axis]);
  }
  return true;
}

bool lower_slice(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  std::vector<Tensor> positions;
  for (std::size_t i = 1; i < node->get_input_size(); ++i) {
    std::vector<std::int64_t> list;
    if (!builder.constant_ints(node, i, list)) return false;
    positions.emplace_back(ElementType::kI64, Shape{list.size()});
    std::copy(list.begin(), list.end(), positions.back().data<std::int64_t>());
  }
  std::vector<std::int64_t> begin, steps;
  Shape extents;
  for (const AxisSlice& slice : slices_of(*node, source.shape, positions)) {
    begin.push_back(slice.start);
    steps.push_back(slice.step);
    extents.push_back(static_cast<std::size_t>(slice.count));
  }
  return take_box(builder, node, source, builder.value(node->output(0)), extents, begin, steps);
}

}  // namespace

void register_movement(LoweringTable& table) {
  for (const char* type : {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"}) table[type] = {lower_view, false};
  table["Transpose"] = {lower_transpose, false};
  table["Concat"] = {lower_concat, true};
  table["Split"] = {lower_split, false};
  table["VariadicSplit"] = {lower_split, false};
  table["Slice"] = table["StridedSlice"] = {lower_slice, false};
}

}  // namespace tenon::inline v1::engine
