// SPDX-License-Identifier: Apache-2.0
// Padding, and operations that move blocks between axes.
#include <algorithm>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
void infer_pad(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  require_integral(node, 1);
  require_integral(node, 2);
  if (node.get_input_size() > 3) {
    const element::Type type = node.get_input_element_type(3), own = node.get_input_element_type(0);
    if (!type.is_dynamic() && !own.is_dynamic() && !(type == own))
      fail("the pad value is " + type.to_string() + ", the data " + own.to_string());
  }
  if (data.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  const auto begins = known_ints(node, 1), ends = known_ints(node, 2);
  PartialShape out = PartialShape::dynamic(static_cast<std::int64_t>(data.size()));
  if (!begins || !ends) return set_output(node, 0, out);
  if (begins->size() != data.size() || ends->size() != data.size()) {
    fail("pads_begin and pads_end must have " + std::to_string(data.size()) + " entries, found " +
         std::to_string(begins->size()) + " and " + std::to_string(ends->size()));
  }
  const std::string& mode = node.get_attributes().get_string("pad_mode");
  constexpr std::int64_t kLimit = std::int64_t{1} << 60;
  for (std::size_t axis = 0; axis < data.size(); ++axis) {
    const std::int64_t before = (*begins)[axis], after = (*ends)[axis];
    if (std::max(before, after) > kLimit || std::min(before, after) < -kLimit)
      fail("padding of " + std::to_string(before) + " and " + std::to_string(after) + " is too large");
    if (!data[axis].is_static()) {
      if (before == 0 && after == 0) out[axis] = data[axis];
      continue;
    }
    const std::int64_t extent = data[axis].get_length();
    if (extent > kLimit || extent + before + after < 0)
      fail("padding " + std::to_string(before) + " and " + std::to_string(after) + " leaves no extent of axis " +
           std::to_string(axis) + " of " + data.to_string());
    const std::int64_t most = mode == "reflect" ? extent - 1 : mode == "symmetric" ? extent : kLimit;
    if (before > most || after > most)
      fail("axis " + std::to_string(axis) + " of " + data.to_string() + " allows at most " + std::to_string(most) +
           " of " + mode + " padding");
    if (mode == "edge" && extent == 0 && (before > 0 || after > 0)) fail("an empty axis has no edge to repeat");
    out[axis] = Dimension(extent + before + after);
  }
  set_output(node, 0, out);
}

void evaluate_pad(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const auto begins = to_vector<std::int64_t>(inputs[1]);
  if (outputs[0].element_count() == 0) return;
  const std::size_t size = movable_size(inputs[0]);
  const std::string& mode = node.get_attributes().get_string("pad_mode");
  // For each axis and output position, the input position, or -1 for the pad value.
  std::vector<std::vector<std::int64_t>> from(out.size());
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    const auto extent = static_cast<std::int64_t>(in[axis]);
    for (std::size_t i = 0; i < out[axis]; ++i) {
      std::int64_t at = static_cast<std::int64_t>(i) - begins[axis];
      if (at < 0 || at >= extent) {
        if (mode == "constant")
          at = -1;
        else if (mode == "edge")
          at = std::clamp<std::int64_t>(at, 0, extent - 1);
        else if (mode == "reflect")
          at = at < 0 ? -at : 2 * (extent - 1) - at;
        else
          at = at < 0 ? -at - 1 : 2 * extent - 1 - at;
      }
      from[axis].push_back(at);
    }
  }
  std::vector<char> value(size, 0);
  if (mode == "constant" && inputs.size() > 3) {
    if (inputs[3].element_count() != 1)
      fail("the pad value must be one element, it has shape " + to_string(inputs[3].shape()));
    std::memcpy(value.data(), inputs[3].data(), size);
  }
  const auto* src = static_cast<const char*>(inputs[0].element_count() ? inputs[0].data() : nullptr);
  auto* to = static_cast<char*>(outputs[0].data());
  std::vector<std::size_t> index(out.size(), 0);
  do {
    std::ptrdiff_t offset = 0;
    bool inside = src != nullptr;
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
      const std::int64_t at = from[axis][index[axis]];
      inside &= at >= 0;
      offset += at * inputs[0].byte_strides()[axis];
    }
    std::memcpy(to, inside ? src + offset : value.data(), size);
    to += size;
  } while (advance(index, out));
}

std::int64_t block_size(const Node& node) {
  const std::int64_t block = node.get_attributes().get_int("block_size");
  if (block < 1 || block > (1 << 20)) fail("attribute 'block_size': " + std::to_string(block) + " is outside 1..2^20");
  return block;
}
std::int64_t block_volume(std::int64_t block, std::size_t spatial) {
  std::int64_t volume = 1;
  for (std::size_t i = 0; i < spatial; ++i) {
    if (__builtin_mul_overflow(volume, block, &volume)) fail("block_size " + std::to_string(block) + " overflows");
  }
  return volume;
}
void infer_depth_to_space(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  const std::int64_t block = block_size(node);
  if (data.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  require_rank(node, 0, 3, 5);
  PartialShape out = data;
  const std::int64_t volume = block_volume(block, data.size() - 2);
  if (data[1].is_static()) {
    if (data[1].get_length() % volume != 0)
      fail("the " + data[1].to_string() + " channels are no multiple of " + std::to_string(volume));
    out[1] = Dimension(data[1].get_length() / volume);
  } else {
    out[1] = Dimension::dynamic();
  }
  for (std::size_t axis = 2; axis < data.size(); ++axis) out[axis] = data[axis] * Dimension(block);
  set_output(node, 0, out);
}
void infer_space_to_depth(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  const std::int64_t block = block_size(node);
  if (data.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  require_rank(node, 0, 3, 5);
  PartialShape out = data;
  out[1] = data[1] * Dimension(block_volume(block, data.size() - 2));
  for (std::size_t axis = 2; axis < data.size(); ++axis) {
    if (data[axis].is_dynamic()) {
      out[axis] = Dimension::dynamic();
      continue;
    }
    if (data[axis].get_length() % block != 0)
      fail("axis " + std::to_string(axis) + " of " + data.to_string() + " is not a multiple of block_size " +
           std::to_string(block));
    out[axis] = Dimension(data[axis].get_length() / block);
  }
  set_output(node, 0, out);
}
/// Both directions are the same permutation: channels as (blocks..., depth) or (depth, blocks...), space as (extent,
/// block) pairs.
void move_blocks(const Tensor& deep, const Tensor& wide, std::int64_t block, bool blocks_first, bool to_wide) {
  if (deep.element_count() == 0) return;
  const std::size_t spatial = deep.shape().size() - 2;
  const auto step = static_cast<std::ptrdiff_t>(block);
  const std::size_t depth = wide.shape()[1];
  Shape shape;
  ByteStrides d, w;
  const auto axis = [&](std::size_t extent, std::ptrdiff_t deep_stride, std::ptrdiff_t wide_stride) {
    shape.push_back(extent);
    d.push_back(deep_stride);
    w.push_back(wide_stride);
  };
  const ByteStrides &ds = deep.byte_strides(), &ws = wide.byte_strides();
  axis(deep.shape()[0], ds[0], ws[0]);
  std::ptrdiff_t volume = 1;
  for (std::size_t i = 0; i < spatial; ++i) volume *= step;
  axis(depth, blocks_first ? ds[1] : ds[1] * volume, ws[1]);
  for (std::size_t i = 0; i < spatial; ++i) {
    volume /= step;  // Blocks of later axes are closer together.
    axis(deep.shape()[2 + i], ds[2 + i], ws[2 + i] * step);
    axis(static_cast<std::size_t>(block), ds[1] * volume * (blocks_first ? static_cast<std::ptrdiff_t>(depth) : 1),
         ws[2 + i]);
  }
  if (to_wide)
    move_elements(movable_size(deep), shape, deep.data(), d, wide.data(), w);
  else
    move_elements(movable_size(deep), shape, wide.data(), w, deep.data(), d);
}
void evaluate_depth_to_space(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  move_blocks(inputs[0], outputs[0], block_size(node), node.get_attributes().get_string("mode") == "blocks_first",
              true);
}
void evaluate_space_to_depth(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  move_blocks(outputs[0], inputs[0], block_size(node), node.get_attributes().get_string("mode") == "blocks_first",
              false);
}

void infer_shuffle(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  const std::int64_t groups = node.get_attributes().get_int("group");
  if (groups < 1) fail("attribute 'group': " + std::to_string(groups) + " is not positive");
  if (data.rank().is_static()) {
    const Dimension& extent = data[normalized_axis(node.get_attributes().get_int("axis"), data.size())];
    if (extent.is_static() && extent.get_length() % groups != 0)
      fail("extent " + extent.to_string() + " is not a multiple of " + std::to_string(groups) + " groups");
  }
  infer_same(node);
}
void evaluate_shuffle(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (inputs[0].element_count() == 0) return;
  const Shape& in = inputs[0].shape();
  const std::size_t at = normalized_axis(node.get_attributes().get_int("axis"), in.size());
  const auto groups = static_cast<std::size_t>(node.get_attributes().get_int("group"));
  const std::size_t each = in[at] / groups;
  Shape shape;
  ByteStrides from, to;
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    const std::ptrdiff_t s = inputs[0].byte_strides()[axis], d = outputs[0].byte_strides()[axis];
    if (axis == at) {
      shape.push_back(each);
      from.push_back(s);
      to.push_back(d * static_cast<std::ptrdiff_t>(groups));
      shape.push_back(groups);
      from.push_back(s * static_cast<std::ptrdiff_t>(each));
      to.push_back(d);
    } else {
      shape.push_back(in[axis]);
      from.push_back(s);
      to.push_back(d);
    }
  }
  move_elements(movable_size(inputs[0]), shape, inputs[0].data(), from, outputs[0].data(), to);
}

void infer_roll(Node& node) {
  require_integral(node, 1);
  require_integral(node, 2);
  infer_same(node);
}
void evaluate_roll(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  auto shifts = to_vector<std::int64_t>(inputs[1]);
  const auto axes = to_vector<std::int64_t>(inputs[2]);
  if (shifts.size() == 1) shifts.assign(axes.size(), shifts[0]);
  if (shifts.size() != axes.size())
    fail("there are " + std::to_string(shifts.size()) + " shifts for " + std::to_string(axes.size()) + " axes");
  if (inputs[0].element_count() == 0) return;
  std::vector<std::int64_t> offset(shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = normalized_axis(axes[i], shape.size());
    const auto extent = static_cast<std::int64_t>(shape[axis]);
    offset[axis] = ((offset[axis] + shifts[i] % extent) % extent + extent) % extent;
  }
  const std::size_t size = movable_size(inputs[0]);
  const auto* src = static_cast<const char*>(inputs[0].data());
  auto* dst = static_cast<char*>(outputs[0].data());
  std::vector<std::size_t> index(shape.size(), 0);
  do {
    std::ptrdiff_t from = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto extent = static_cast<std::int64_t>(shape[axis]);
      from +=
          (static_cast<std::int64_t>(index[axis]) - offset[axis] + extent) % extent * inputs[0].byte_strides()[axis];
    }
    std::memcpy(dst, src + from, size);
    dst += size;
  } while (advance(index, shape));
}

void infer_reverse_sequence(Node& node) {
  require_integral(node, 1);
  infer_same(node);
}
void evaluate_reverse_sequence(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const std::size_t batch = normalized_axis(node.get_attributes().get_int("batch_axis"), shape.size());
  const std::size_t sequence = normalized_axis(node.get_attributes().get_int("seq_axis"), shape.size());
  const auto lengths = to_vector<std::int64_t>(inputs[1]);
  if (lengths.size() != shape[batch])
    fail("there are " + std::to_string(lengths.size()) + " lengths for a batch of " + std::to_string(shape[batch]));
  for (std::int64_t length : lengths) {
    if (length < 0 || length > static_cast<std::int64_t>(shape[sequence]))
      fail("length " + std::to_string(length) + " exceeds the sequence of " + std::to_string(shape[sequence]));
  }
  if (inputs[0].element_count() == 0) return;
  const std::size_t size = movable_size(inputs[0]);
  const auto* src = static_cast<const char*>(inputs[0].data());
  auto* dst = static_cast<char*>(outputs[0].data());
  std::vector<std::size_t> index(shape.size(), 0);
  do {
    std::ptrdiff_t from = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      auto at = static_cast<std::int64_t>(index[axis]);
      if (axis == sequence && at < lengths[index[batch]]) at = lengths[index[batch]] - 1 - at;
      from += at * inputs[0].byte_strides()[axis];
    }
    std::memcpy(dst, src + from, size);
    dst += size;
  } while (advance(index, shape));
}
}  // namespace

void add_padding_rows(OperationTable& table) {
  const std::vector<std::string> modes = {"constant", "edge", "reflect", "symmetric"};
  table.add("Pad", 1, 3, 4, infer_pad, evaluate_pad, "Adds elements around the data.").text("pad_mode", {}, modes);
  table.add("Pad", 12, 3, 4, infer_pad, evaluate_pad, "Adds elements around the data; negative pads remove them.")
      .text("pad_mode", {}, modes);
  table
      .add("DepthToSpace", 1, 1, 1, infer_depth_to_space, evaluate_depth_to_space,
           "Moves blocks of channels into space.")
      .integer("block_size", 1)
      .text("mode", {}, {"blocks_first", "depth_first"});
  table
      .add("SpaceToDepth", 1, 1, 1, infer_space_to_depth, evaluate_space_to_depth,
           "Moves blocks of space into channels.")
      .integer("block_size", 1)
      .text("mode", {}, {"blocks_first", "depth_first"});
  table.add("ShuffleChannels", 1, 1, 1, infer_shuffle, evaluate_shuffle, "Interleaves groups of channels.")
      .integer("axis", 1)
      .integer("group", 1);
  table.add("Roll", 7, 3, 3, infer_roll, evaluate_roll, "Shifts along axes, around the ends.");
  table
      .add("ReverseSequence", 1, 2, 2, infer_reverse_sequence, evaluate_reverse_sequence,
           "Reverses the first elements of each sequence.")
      .integer("batch_axis", 0)
      .integer("seq_axis", 1);
}

}  // namespace v1
}  // namespace tenon
