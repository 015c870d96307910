// SPDX-License-Identifier: Apache-2.0
// Pad in every mode, Roll, Reverse, ReverseSequence; blocks of channels or of the batch to space and back, shuffled
// channels.
#include <algorithm>
#include <memory>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/engine/kernels/data_movement/mapped_copy.hpp>
#include <tenon/engine/kernels/simd/copy.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/table.hpp>

namespace tenon::inline v1::engine {
namespace {

using kernels::MappedCopy;
using Strides = std::vector<std::ptrdiff_t>;

std::size_t axis_at(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

bool is_movable(const Value& value) { return bit_width(value.type) >= 8 && element_count(value.shape) > 0; }

void add_mapped(PlanBuilder& builder, const std::shared_ptr<Node>& node, const char* kernel,
                const MappedCopy::Maps& maps, std::array<char, 8> fill = {}) {
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  const auto copy = std::make_shared<const MappedCopy>(source.shape, maps, size_bytes(made.type), fill);
  const BufferSlice from = builder.plain(source), to = builder.define_plain(made);
  builder.add_kernel(node, kernel, {from}, {to}, [copy](std::span<void* const> p) { copy->run(p[0], p[1]); });
}

/// Where the element that a pad repeats lies; -1 for the pad value.
std::int64_t padded_from(const std::string& mode, std::int64_t at, std::int64_t extent) {
  if (at >= 0 && at < extent) return at;
  if (mode == "constant") return -1;
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, extent - 1);
  if (mode == "reflect") return at < 0 ? -at : 2 * (extent - 1) - at;
  return at < 0 ? -at - 1 : 2 * extent - 1 - at;
}

bool lower_pad(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  std::vector<std::int64_t> before;
  if (!is_movable(source) || !is_movable(made) || !builder.constant_ints(node, 1, before)) return false;
  const std::string& mode = node->get_attributes().get_string("pad_mode");
  std::array<char, 8> fill{};
  if (mode == "constant" && node->get_input_size() > 3) {
    const Tensor value = builder.constant_input(node, 3);
    if (!value || value.element_type() != made.type || value.element_count() != 1) return false;
    std::memcpy(fill.data(), value.data(), size_bytes(made.type));
  }
  MappedCopy::Maps maps(made.shape.size());
  for (std::size_t axis = 0; axis < maps.size(); ++axis)
    for (std::size_t i = 0; i < made.shape[axis]; ++i)
      maps[axis].push_back(padded_from(mode, static_cast<std::int64_t>(i) - before[axis],
                                       static_cast<std::int64_t>(source.shape[axis])));
  add_mapped(builder, node, "pad", maps, fill);
  return true;
}

/// Maps that leave every axis as it is.
MappedCopy::Maps identity_maps(const Shape& shape) {
  MappedCopy::Maps maps(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    for (std::size_t i = 0; i < shape[axis]; ++i) maps[axis].push_back(static_cast<std::int64_t>(i));
  return maps;
}

bool lower_roll(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  std::vector<std::int64_t> shifts, axes;
  if (!is_movable(source) || !builder.constant_ints(node, 1, shifts) || !builder.constant_ints(node, 2, axes))
    return false;
  if (shifts.size() == 1) shifts.assign(axes.size(), shifts[0]);
  if (shifts.size() != axes.size()) return false;
  auto maps = identity_maps(source.shape);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto& map = maps[axis_at(axes[i], maps.size())];
    const auto extent = static_cast<std::int64_t>(map.size());
    std::rotate(map.rbegin(), map.rbegin() + (shifts[i] % extent + extent) % extent, map.rend());
  }
  add_mapped(builder, node, "roll", maps);
  return true;
}

bool lower_reverse(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  std::vector<std::int64_t> axes;
  if (!is_movable(source) || node->get_attributes().get_string("mode") != "index" ||
      !builder.constant_ints(node, 1, axes))
    return false;
  auto maps = identity_maps(source.shape);
  std::vector<bool> is_turned(maps.size(), false);
  for (const std::int64_t axis : axes) is_turned[axis_at(axis, maps.size())] = true;
  for (std::size_t axis = 0; axis < maps.size(); ++axis)
    if (is_turned[axis]) std::reverse(maps[axis].begin(), maps[axis].end());
  add_mapped(builder, node, "reverse", maps);
  return true;
}

/// Element strides of a packed tensor, also along extents of 1.
Strides strides_of_packed(const Shape& shape) {
  Strides strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * static_cast<std::ptrdiff_t>(shape[i]);
  return strides;
}

/// The result is the source seen with these extents and strides, packed.
void add_permuted(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Shape& extents,
                  const Strides& strides) {
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  const auto walk = kernels::make_walk<2>(extents, {strides_of_packed(extents), strides});
  const std::size_t size = size_bytes(made.type);
  const BufferSlice from = builder.plain(source), to = builder.define_plain(made);
  builder.add_kernel(node, "strided copy", {from}, {to},
                     [walk, size](std::span<void* const> p) { kernels::strided_copy(walk, size, p[1], p[0]); });
}

/// Channels are (blocks..., depth) or (depth, blocks...), space is pairs of extent and block.
bool lower_depth_to_space(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const Value &deep = builder.input(node, 0), &wide = builder.value(node->output(0));
  if (!is_movable(deep)) return false;
  const auto block = static_cast<std::ptrdiff_t>(node->get_attributes().get_int("block_size"));
  const bool blocks_first = node->get_attributes().get_string("mode") == "blocks_first";
  const Strides own = strides_of_packed(deep.shape);
  const std::size_t spatial = deep.shape.size() - 2, depth = wide.shape[1];
  std::ptrdiff_t volume = 1;
  for (std::size_t i = 0; i < spatial; ++i) volume *= block;
  Shape extents{deep.shape[0], depth};
  Strides strides{own[0], blocks_first ? own[1] : own[1] * volume};
  for (std::size_t i = 0; i < spatial; ++i) {
    volume /= block;  // Blocks of later axes are closer together.
    extents.push_back(deep.shape[2 + i]);
    strides.push_back(own[2 + i]);
    extents.push_back(static_cast<std::size_t>(block));
    strides.push_back(own[1] * volume * (blocks_first ? static_cast<std::ptrdiff_t>(depth) : 1));
  }
  add_permuted(builder, node, extents, strides);
  return true;
}

bool lower_space_to_depth(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const Value &wide = builder.input(node, 0), &deep = builder.value(node->output(0));
  if (!is_movable(wide)) return false;
  const auto block = static_cast<std::size_t>(node->get_attributes().get_int("block_size"));
  const bool blocks_first = node->get_attributes().get_string("mode") == "blocks_first";
  const Strides own = strides_of_packed(wide.shape);
  const std::size_t spatial = wide.shape.size() - 2;
  Shape extents{wide.shape[0]};
  Strides strides{own[0]};
  const auto add = [&](std::size_t extent, std::ptrdiff_t stride) {
    extents.push_back(extent);
    strides.push_back(stride);
  };
  if (!blocks_first) add(wide.shape[1], own[1]);
  for (std::size_t i = 0; i < spatial; ++i) add(block, own[2 + i]);
  if (blocks_first) add(wide.shape[1], own[1]);
  for (std::size_t i = 0; i < spatial; ++i) add(deep.shape[2 + i], own[2 + i] * static_cast<std::ptrdiff_t>(block));
  add_permuted(builder, node, extents, strides);
  return true;
}

bool lower_shuffle(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const Value& source = builder.input(node, 0);
  if (!is_movable(source)) return false;
  const std::size_t axis = axis_at(node->get_attributes().get_int("axis"), source.shape.size());
  const auto groups = static_cast<std::size_t>(node->get_attributes().get_int("group"));
  const std::size_t each = source.shape[axis] / groups;
  const Strides own = strides_of_packed(source.shape);
  Shape extents;
  Strides strides;
  for (std::size_t i = 0; i < source.shape.size(); ++i) {
    if (i == axis) {
      extents.push_back(each);
      strides.push_back(own[i]);
      extents.push_back(groups);
      strides.push_back(own[i] * static_cast<std::ptrdiff_t>(each));
    } else {
      extents.push_back(source.shape[i]);
      strides.push_back(own[i]);
    }
  }
  add_permuted(builder, node, extents, strides);
  return true;
}

/// A part of the blocks' places: one place within them, in the batch of each.
struct BlockPlace {
  kernels::Walk<2> walk;
  std::size_t to = 0, from = 0;  ///< Where its first element lies, in bytes.
};

/// SpaceToBatch and BatchToSpace: data, blocks, begins, ends. Each place within the blocks has its own part of the batch,
/// and takes every so many places of the wide side.
bool lower_blocks(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  std::vector<std::int64_t> block, before;
  if (!is_movable(source) || !is_movable(made) || !builder.constant_ints(node, 1, block) ||
      !builder.constant_ints(node, 2, before))
    return false;
  const bool to_batch = is_op(node, "SpaceToBatch");
  const Shape &wide = to_batch ? source.shape : made.shape, &narrow = to_batch ? made.shape : source.shape;
  const Strides wide_strides = strides_of_packed(wide), narrow_strides = strides_of_packed(narrow);
  const std::size_t rank = wide.size(), size = size_bytes(made.type), places = narrow[0] / wide[0];
  constexpr std::size_t kMostPlaces = 4096;  // Each is a part of the plan.
  if (places > kMostPlaces) return false;
  std::vector<BlockPlace> parts;
  std::size_t covered = 0;
  for (std::size_t place = 0; place < places; ++place) {
    Shape extents = wide;
    Strides steps = wide_strides;
    std::ptrdiff_t in_wide = 0, in_narrow = static_cast<std::ptrdiff_t>(place * wide[0]) * narrow_strides[0];
    std::size_t rest = place;
    for (std::size_t axis = rank; axis-- > 1;) {
      const std::int64_t step = block[axis], extent = static_cast<std::int64_t>(wide[axis]);
      const std::int64_t shift = static_cast<std::int64_t>(rest) % step - before[axis];
      rest /= static_cast<std::size_t>(step);
      // Places shift + k * step that are there.
      const std::int64_t first = shift < 0 ? (-shift + step - 1) / step : 0;
      const std::int64_t end = std::min<std::int64_t>(static_cast<std::int64_t>(narrow[axis]),
                                                      shift < extent ? (extent - 1 - shift) / step + 1 : 0);
      extents[axis] = static_cast<std::size_t>(std::max<std::int64_t>(end - first, 0));
      steps[axis] *= step;
      in_wide += (shift + first * step) * wide_strides[axis];
      in_narrow += first * narrow_strides[axis];
    }
    if (element_count(extents) == 0) continue;
    covered += element_count(extents);
    const auto bytes = [&](std::ptrdiff_t offset) { return static_cast<std::size_t>(offset) * size; };
    if (to_batch)
      parts.push_back({kernels::make_walk<2>(extents, {narrow_strides, steps}), bytes(in_narrow), bytes(in_wide)});
    else
      parts.push_back({kernels::make_walk<2>(extents, {steps, narrow_strides}), bytes(in_wide), bytes(in_narrow)});
  }
  const std::size_t zeros = covered < element_count(made.shape) ? element_count(made.shape) * size : 0;
  const BufferSlice from = builder.plain(source), to = builder.define_plain(made);
  builder.add_kernel(node, "strided copy", {from}, {to}, [parts, size, zeros](std::span<void* const> p) {
    std::memset(p[1], 0, zeros);
    for (const BlockPlace& part : parts)
      kernels::strided_copy(part.walk, size, static_cast<char*>(p[1]) + part.to,
                            static_cast<const char*>(p[0]) + part.from);
  });
  return true;
}

/// Rows of a tensor of sequences, each of which lies together: what stands behind the axes of batch and sequence.
struct SequenceRows {
  std::size_t count = 1, bytes = 1;
  std::size_t batch = 1, batch_step = 1, length = 1, step = 1;  ///< Extents, and rows from one index to the next.
};

template <typename Index>
void reverse_sequences(const SequenceRows& what, const char* from, const Index* lengths, char* to) {
  for (std::size_t i = 0; i < what.batch; ++i)
    if (lengths[i] < 0 || static_cast<std::size_t>(lengths[i]) > what.length)
      throw Error(Code::kInvalidArgument, "ReverseSequence: the length of sequence " + std::to_string(i) + " is " +
                                              std::to_string(lengths[i]) + ", expected 0 to " +
                                              std::to_string(what.length));
  kernels::parallel(what.count, 2 * what.count * what.bytes, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const auto length = static_cast<std::size_t>(lengths[row / what.batch_step % what.batch]);
      const std::size_t at = row / what.step % what.length;
      const std::size_t source = at < length ? row - at * what.step + (length - 1 - at) * what.step : row;
      std::memcpy(to + row * what.bytes, from + source * what.bytes, what.bytes);
    }
  });
}

bool lower_reverse_sequence(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &lengths = builder.input(node, 1), &made = builder.value(node->output(0));
  const bool is_wide = lengths.type == ElementType::kI64;
  if (!is_movable(source) || (!is_wide && lengths.type != ElementType::kI32)) return false;
  const std::size_t rank = source.shape.size(), batch = axis_at(node->get_attributes().get_int("batch_axis"), rank),
                    sequence = axis_at(node->get_attributes().get_int("seq_axis"), rank);
  SequenceRows what;
  what.bytes = size_bytes(source.type);
  what.batch = source.shape[batch];
  what.length = source.shape[sequence];
  if (element_count(lengths.shape) != what.batch) return false;  // The reference kernel says so.
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_within = axis > batch && axis > sequence;
    (is_within ? what.bytes : what.count) *= source.shape[axis];
    if (!is_within && axis > batch) what.batch_step *= source.shape[axis];
    if (!is_within && axis > sequence) what.step *= source.shape[axis];
  }
  const BufferSlice from = builder.plain(source), at = builder.plain(lengths), to = builder.define_plain(made);
  builder.add_kernel(node, "reverse", {from, at}, {to}, [what, is_wide](std::span<void* const> p) {
    const auto* data = static_cast<const char*>(p[0]);
    if (is_wide)
      reverse_sequences(what, data, static_cast<const std::int64_t*>(p[1]), static_cast<char*>(p[2]));
    else
      reverse_sequences(what, data, static_cast<const std::int32_t*>(p[1]), static_cast<char*>(p[2]));
  });
  return true;
}

}  // namespace

void register_rearrange(LoweringTable& table) {
  table["Pad"] = {lower_pad, false};
  table["Roll"] = {lower_roll, false};
  table["Reverse"] = {lower_reverse, false};
  table["DepthToSpace"] = {lower_depth_to_space, false};
  table["SpaceToDepth"] = {lower_space_to_depth, false};
  table["SpaceToBatch"] = {lower_blocks, false};
  table["BatchToSpace"] = {lower_blocks, false};
  table["ReverseSequence"] = {lower_reverse_sequence, false};
  table["ShuffleChannels"] = {lower_shuffle, false};
}

}  // namespace tenon::inline v1::engine
