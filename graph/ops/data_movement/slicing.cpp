// SPDX-License-Identifier: Apache-2.0
// Slices and splits.
#include <algorithm>
#include <limits>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/slices.hpp>

namespace tenon {
inline namespace v1 {

namespace {
/// Negative positions count from the end, and all are clamped to the axis. Backwards, ONNX and OpenVINO clamp a start
/// before the first element to that element, where numpy takes none.
AxisSlice slice_axis(std::int64_t begin, std::int64_t end, std::int64_t step, std::int64_t extent) {
  if (step == 0) fail("a slice's step is 0");
  const auto clamped = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
    if (at < 0) at = at < -extent ? low : at + extent;
    return std::clamp(at, low, high);
  };
  AxisSlice slice;
  slice.step = step;
  if (step > 0) {
    slice.start = clamped(begin, 0, extent);
    const std::int64_t stop = clamped(end, 0, extent);
    slice.count = stop > slice.start ? (stop - slice.start - 1) / step + 1 : 0;
  } else {
    slice.start = extent == 0 ? -1 : clamped(begin, 0, extent - 1);
    const std::int64_t stop = clamped(end, -1, extent - 1);
    // The smallest int64 has no positive counterpart. No axis is that long: a step of the axis' length does the same.
    if (step < -extent) slice.step = step = -std::max<std::int64_t>(extent, 1);
    slice.count = slice.start > stop ? (slice.start - stop - 1) / -step + 1 : 0;
  }
  return slice;
}
Dimension sliced(std::optional<std::int64_t> begin, std::optional<std::int64_t> end, std::optional<std::int64_t> step,
                 const Dimension& extent) {
  if (step && *step == 0) fail("a slice's step is 0");
  if (begin && end && step && extent.is_static())
    return Dimension(slice_axis(*begin, *end, *step, extent.get_length()).count);
  const std::int64_t most = extent.get_max_length();
  if (begin && end && step && *step > 0) {
    // Slicing all of a dynamic axis leaves that axis.
    if (*begin == 0 && *step == 1 && *end == std::numeric_limits<std::int64_t>::max()) return extent;
    if (*begin >= 0 && *end >= 0) {
      const std::int64_t upper = slice_axis(*begin, *end, *step, most < 0 ? Dimension::kUnbounded : most).count;
      const std::int64_t lower = slice_axis(*begin, *end, *step, extent.get_min_length()).count;
      return Dimension(lower, upper > (std::int64_t{1} << 62) ? -1 : upper);
    }
  }
  return Dimension(0, most);
}

void evaluate_slices(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Tensor& input = inputs[0];
  Tensor& output = outputs[0];
  const std::vector<AxisSlice> slices = slices_of(node, input.shape(), inputs.subspan(1));
  Shape taken;
  for (const AxisSlice& slice : slices) taken.push_back(static_cast<std::size_t>(slice.count));
  if (element_count(taken) != output.element_count())
    fail("the slice " + to_string(taken) + " does not fill the output " + to_string(output.shape()));
  if (output.element_count() == 0) return;
  const std::size_t size = movable_size(input);
  const char* from = static_cast<const char*>(input.data());
  ByteStrides strides;
  for (std::size_t axis = 0; axis < taken.size(); ++axis) {
    from += slices[axis].start * input.byte_strides()[axis];
    strides.push_back(slices[axis].count > 1 ? input.byte_strides()[axis] * slices[axis].step : 0);
  }
  move_elements(size, taken, from, strides, output.data(), packed_strides(input.element_type(), taken));
}

// --- StridedSlice ---
struct Mask {
  std::vector<std::int64_t> bits;
  bool at(std::size_t i) const { return i < bits.size() && bits[i] != 0; }
};
struct StridedMasks {
  Mask begin, end, new_axis, shrink, ellipsis;
  explicit StridedMasks(const Attributes& a)
      : begin{a.get_ints("begin_mask")},
        end{a.get_ints("end_mask")},
        new_axis{a.get_ints("new_axis_mask")},
        shrink{a.get_ints("shrink_axis_mask")},
        ellipsis{a.get_ints("ellipsis_mask")} {}
};

/// Walks the slice specification. Calls visit(axis, spec index or nothing, shrinks) for each data axis and added() for
/// each new axis.
template <typename Visit, typename Added>
void walk_strided(const StridedMasks& masks, std::size_t specs, std::size_t rank, Visit visit, Added added) {
  std::size_t named = 0, ellipses = 0;
  for (std::size_t i = 0; i < specs; ++i) {
    if (masks.ellipsis.at(i))
      ++ellipses;
    else if (!masks.new_axis.at(i))
      ++named;
  }
  if (ellipses > 1) fail("the ellipsis mask is set more than once");
  if (named > rank) fail("the slice names " + std::to_string(named) + " axes, the data has " + std::to_string(rank));
  std::size_t axis = 0;
  for (std::size_t i = 0; i < specs; ++i) {
    if (masks.ellipsis.at(i)) {
      for (std::size_t n = rank - named; n > 0; --n) visit(axis++, std::optional<std::size_t>{}, false);
    } else if (masks.new_axis.at(i)) {
      added();
    } else {
      visit(axis++, std::optional<std::size_t>{i}, masks.shrink.at(i));
    }
  }
  while (axis < rank) visit(axis++, std::optional<std::size_t>{}, false);
}

std::optional<std::int64_t> entry(const std::optional<std::vector<ValueBound>>& list, std::size_t i) {
  if (!list || i >= list->size() || !(*list)[i].is_known()) return std::nullopt;
  return (*list)[i].min;
}

void infer_strided_slice(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  for (std::size_t i = 1; i < node.get_input_size(); ++i) {
    require_integral(node, i);
    require_rank(node, i, 1, 1);
  }
  const auto begin = known_bounds(node, 1), end = known_bounds(node, 2);
  const bool has_step = node.get_input_size() > 3;
  const auto step = has_step ? known_bounds(node, 3) : std::optional<std::vector<ValueBound>>{};
  const PartialShape& list = node.get_input_partial_shape(1);
  if (data.rank().is_dynamic() || list.is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  const auto specs = static_cast<std::size_t>(list[0].get_length());
  if (specs > 128) fail("a slice of " + std::to_string(specs) + " axes");
  if (begin && end && begin->size() != end->size())
    fail("begin has " + std::to_string(begin->size()) + " entries, end " + std::to_string(end->size()));
  const StridedMasks masks(node.get_attributes());
  PartialShape out;
  walk_strided(
      masks, specs, data.size(),
      [&](std::size_t axis, std::optional<std::size_t> spec, bool shrinks) {
        if (!spec) return out.push_back(data[axis]);
        const auto by = has_step ? entry(step, *spec) : std::optional<std::int64_t>(1);
        if (shrinks) {
          const auto at = entry(begin, *spec);
          if (at && data[axis].is_static() && (*at < -data[axis].get_length() || *at >= data[axis].get_length())) {
            fail("index " + std::to_string(*at) + " is outside axis " + std::to_string(axis) + " of " +
                 data.to_string());
          }
          return;
        }
        constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                               kLeast = std::numeric_limits<std::int64_t>::min();
        const bool backwards = by && *by < 0;
        const auto first =
            masks.begin.at(*spec) ? std::optional<std::int64_t>(backwards ? kMost : 0) : entry(begin, *spec);
        const auto last =
            masks.end.at(*spec) ? std::optional<std::int64_t>(backwards ? kLeast : kMost) : entry(end, *spec);
        out.push_back(sliced(first, last, by, data[axis]));
      },
      [&] { out.push_back(1); });
  set_output(node, 0, out);
}
std::vector<AxisSlice> strided_slices(const Node& node, const Shape& shape, std::span<const Tensor> positions) {
  const auto begin = to_vector<std::int64_t>(positions[0]), end = to_vector<std::int64_t>(positions[1]);
  const auto step =
      positions.size() > 2 ? to_vector<std::int64_t>(positions[2]) : std::vector<std::int64_t>(begin.size(), 1);
  if (begin.size() != end.size() || begin.size() != step.size())
    fail("begin, end and strides differ in their number of entries");
  const StridedMasks masks(node.get_attributes());
  std::vector<AxisSlice> slices(shape.size());
  walk_strided(
      masks, begin.size(), shape.size(),
      [&](std::size_t axis, std::optional<std::size_t> spec, bool shrinks) {
        const auto extent = static_cast<std::int64_t>(shape[axis]);
        AxisSlice& slice = slices[axis];
        if (!spec) {
          slice = {0, 1, extent};
        } else if (shrinks) {
          const std::int64_t at = begin[*spec];
          if (at < -extent || at >= extent)
            fail("index " + std::to_string(at) + " is outside axis " + std::to_string(axis) + " of " +
                 to_string(shape));
          slice = {at < 0 ? at + extent : at, 1, 1};
        } else {
          constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                                 kLeast = std::numeric_limits<std::int64_t>::min();
          const bool backwards = step[*spec] < 0;
          slice = slice_axis(masks.begin.at(*spec) ? (backwards ? kMost : 0) : begin[*spec],
                             masks.end.at(*spec) ? (backwards ? kLeast : kMost) : end[*spec], step[*spec], extent);
        }
      },
      [] {});
  return slices;
}

// --- Slice ---
void infer_slice(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  for (std::size_t i = 1; i < node.get_input_size(); ++i) {
    require_integral(node, i);
    require_rank(node, i, 1, 1);
  }
  if (data.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  PartialShape out = data;
  const auto begin = known_bounds(node, 1), end = known_bounds(node, 2), step = known_bounds(node, 3);
  std::optional<std::vector<std::int64_t>> axes;
  if (node.get_input_size() > 4) {
    axes = known_ints(node, 4);
    if (!axes) return set_output(node, 0, PartialShape::dynamic(static_cast<std::int64_t>(data.size())));
  } else {
    const PartialShape& list = node.get_input_partial_shape(1);
    if (list.is_dynamic()) return set_output(node, 0, PartialShape::dynamic(static_cast<std::int64_t>(data.size())));
    if (list[0].get_length() > static_cast<std::int64_t>(data.size()))
      fail("start names " + list[0].to_string() + " axes, the data has " + std::to_string(data.size()));
    axes.emplace();
    for (std::int64_t i = 0; i < list[0].get_length(); ++i) axes->push_back(i);
  }
  normalized_axes(*axes, data.size());  // Throws for repeated axes.
  for (std::size_t input = 1; input < 4; ++input) {
    const auto& list = node.get_input_partial_shape(input);
    if (list.is_static() && list[0].get_length() != static_cast<std::int64_t>(axes->size())) {
      fail("input " + std::to_string(input) + " has " + list[0].to_string() + " entries for " +
           std::to_string(axes->size()) + " axes");
    }
  }
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::size_t axis = normalized_axis((*axes)[i], data.size());
    out[axis] = sliced(entry(begin, i), entry(end, i), entry(step, i), data[axis]);
  }
  set_output(node, 0, out);
}
std::vector<AxisSlice> plain_slices(const Shape& shape, std::span<const Tensor> positions) {
  const auto begin = to_vector<std::int64_t>(positions[0]), end = to_vector<std::int64_t>(positions[1]),
             step = to_vector<std::int64_t>(positions[2]);
  std::vector<std::int64_t> axes;
  if (positions.size() > 3)
    axes = to_vector<std::int64_t>(positions[3]);
  else
    for (std::size_t i = 0; i < begin.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (begin.size() != axes.size() || end.size() != axes.size() || step.size() != axes.size())
    fail("start, stop, step and axes differ in their number of entries");
  std::vector<AxisSlice> slices;
  for (std::size_t extent : shape) slices.push_back({0, 1, static_cast<std::int64_t>(extent)});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = normalized_axis(axes[i], shape.size());
    slices[axis] = slice_axis(begin[i], end[i], step[i], static_cast<std::int64_t>(shape[axis]));
  }
  return slices;
}

// --- Split ---
void infer_split(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  const std::int64_t parts = node.get_attributes().get_int("num_splits");
  // A count read from a file decides how many outputs are created.
  if (parts < 1 || parts > 65536) fail("attribute 'num_splits': " + std::to_string(parts) + " is outside 1..65536");
  require_integral(node, 1);
  const auto axis = known_ints(node, 1);
  if (axis && axis->size() != 1) fail("the axis input must hold one value, it has " + std::to_string(axis->size()));
  PartialShape out =
      data.rank().is_static() ? PartialShape::dynamic(static_cast<std::int64_t>(data.size())) : PartialShape::dynamic();
  if (axis && data.rank().is_static()) {
    const std::size_t at = normalized_axis((*axis)[0], data.size());
    out = data;
    if (data[at].is_static()) {
      if (data[at].get_length() % parts != 0)
        fail("axis " + std::to_string(at) + " of " + data.to_string() + " does not divide into " +
             std::to_string(parts) + " equal parts");
      out[at] = Dimension(data[at].get_length() / parts);
    } else {
      out[at] = Dimension(data[at].get_min_length() / parts,
                          data[at].get_max_length() < 0 ? -1 : data[at].get_max_length() / parts);
    }
  }
  node.set_output_size(static_cast<std::size_t>(parts));
  for (std::int64_t i = 0; i < parts; ++i) set_output(node, static_cast<std::size_t>(i), out);
}
void evaluate_split(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const std::size_t axis = normalized_axis(to_vector<std::int64_t>(inputs[1]).at(0), shape.size());
  Shape begin(shape.size(), 0), end = shape;
  for (Tensor& part : outputs) {
    if (part.shape().size() != shape.size())
      fail("part of shape " + to_string(part.shape()) + " of " + to_string(shape));
    end[axis] = begin[axis] + part.shape()[axis];
    if (part.element_count() > 0) {
      movable_size(part);
      move_tensor(inputs[0].slice(begin, end), part);
    }
    begin[axis] = end[axis];
  }
}
void infer_variadic_split(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  require_integral(node, 1);
  require_integral(node, 2);
  const auto axis = known_ints(node, 1);
  const auto lengths = known_bounds(node, 2);
  if (axis && axis->size() != 1) fail("the axis input must hold one value, it has " + std::to_string(axis->size()));
  const PartialShape& list = node.get_input_partial_shape(2);
  if (list.is_dynamic() || list.size() != 1)
    fail("the number of parts must be known and a list, the lengths have shape " + list.to_string());
  const std::int64_t parts = list[0].get_length();
  if (parts < 1 || parts > 65536) fail("the number of parts, " + std::to_string(parts) + ", is outside 1..65536");
  node.set_output_size(static_cast<std::size_t>(parts));
  std::vector<PartialShape> shapes(static_cast<std::size_t>(parts),
                                   data.rank().is_static()
                                       ? PartialShape::dynamic(static_cast<std::int64_t>(data.size()))
                                       : PartialShape::dynamic());
  if (axis && data.rank().is_static()) {
    const std::size_t at = normalized_axis((*axis)[0], data.size());
    std::fill(shapes.begin(), shapes.end(), data);
    std::int64_t sum = 0;
    std::optional<std::size_t> rest;
    bool all_known = lengths.has_value();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto length = entry(lengths, i);
      if (!length) {
        shapes[i][at] = Dimension::dynamic();
        all_known = false;
      } else if (*length == -1) {
        if (rest) fail("the lengths hold -1 twice");
        rest = i;
        shapes[i][at] = Dimension::dynamic();
      } else {
        if (*length < 0 || __builtin_add_overflow(sum, *length, &sum))
          fail("length " + std::to_string(*length) + " of part " + std::to_string(i) + " is not an extent");
        shapes[i][at] = Dimension(*length);
      }
    }
    if (all_known && data[at].is_static()) {
      const std::int64_t left = data[at].get_length() - sum;
      if (left < 0 || (!rest && left != 0))
        fail("the lengths add up to " + std::to_string(sum) + ", axis " + std::to_string(at) + " of " +
             data.to_string() + " has " + data[at].to_string());
      if (rest) shapes[*rest][at] = Dimension(left);
    }
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) set_output(node, i, shapes[i]);
}
}  // namespace

std::vector<AxisSlice> slices_of(const Node& node, const Shape& data, std::span<const Tensor> positions) {
  return is_op(&node, "StridedSlice") ? strided_slices(node, data, positions) : plain_slices(data, positions);
}

void add_slicing_rows(OperationTable& table) {
  const std::vector<std::int64_t> none;
  table
      .add("StridedSlice", 1, 3, 4, infer_strided_slice, evaluate_slices,
           "numpy slicing with masks: whole ends, new axes, single elements, ellipsis.")
      .ints("begin_mask")
      .ints("end_mask")
      .ints("new_axis_mask", none)
      .ints("shrink_axis_mask", none)
      .ints("ellipsis_mask", none);
  table.add("Slice", 8, 4, 5, infer_slice, evaluate_slices, "start:stop:step along the given axes.");
  table.add("Split", 1, 2, 2, infer_split, evaluate_split, "Equal parts along an axis.").integer("num_splits");
  table.add("VariadicSplit", 1, 3, 3, infer_variadic_split, evaluate_split,
            "Parts of given lengths along an axis; -1 is the rest.");
}

}  // namespace v1
}  // namespace tenon
