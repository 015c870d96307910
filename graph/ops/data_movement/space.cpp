// SPDX-License-Identifier: Apache-2.0
// Rearrangement of elements: batches to space and back, patches, reversal, writing into slices, sampling at a grid; and
// positions in sorted lists.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/graph/ops/grid_sample.hpp>
#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/ops/internal/window.hpp>

namespace tenon {
inline namespace v1 {

namespace {
using Indices = std::vector<std::int64_t>;

/// For each element of the output in order: source(index) gives the input's element, or -1 for zero. `index` has one
/// entry per axis of the output.
template <typename F>
void gather_elements(const Tensor& input, Tensor& output, F source) {
  const Shape& out = output.shape();
  if (output.element_count() == 0) return;
  const std::size_t size = movable_size(input);
  Tensor packed(input.element_type(), input.shape());
  move_tensor(input, packed);
  const auto* from = static_cast<const char*>(packed.data());
  auto* to = static_cast<char*>(output.data());
  std::vector<std::size_t> index(out.size(), 0);
  do {
    const std::int64_t at = source(index);
    if (at < 0)
      std::memset(to, 0, size);
    else
      std::memcpy(to, from + static_cast<std::size_t>(at) * size, size);
    to += size;
  } while (advance(index, out));
}

// --- BatchToSpace, SpaceToBatch: data, block_shape, begin, end --------------------------------------------------------

bool is_to_space(const Node& node) { return is_op(&node, "BatchToSpace"); }

struct Blocks {
  Indices block, begin, end;
  Blocks(Indices blocks, Indices begins, Indices ends, std::size_t rank)
      : block(std::move(blocks)), begin(std::move(begins)), end(std::move(ends)) {
    for (const Indices* list : {&block, &begin, &end})
      if (list->size() != rank)
        fail("data of rank " + std::to_string(rank) + " needs as many blocks, begins and ends; one has " +
             std::to_string(list->size()));
    for (std::size_t i = 0; i < rank; ++i) {
      if (block[i] < 1 || block[i] > (1 << 20)) fail("block_shape has the value " + std::to_string(block[i]));
      if (begin[i] < 0 || end[i] < 0 || begin[i] > (1 << 28) || end[i] > (1 << 28))
        fail("begins and ends must not be negative, found " + std::to_string(std::min(begin[i], end[i])));
    }
    if (rank > 0 && block[0] != 1)
      fail("block_shape begins with " + std::to_string(block[0]) + ", expected 1: the first axis is the batch");
  }
  std::int64_t product() const {
    std::int64_t all = 1;
    for (const std::int64_t extent : block) {
      all *= extent;
      if (all > (1 << 28)) fail("the blocks hold more than 2^28 elements");
    }
    return all;
  }
};

void infer_blocks(Node& node) {
  PartialShape out = node.get_input_partial_shape(0);
  for (std::size_t i = 1; i < 4; ++i) {
    require_integral(node, i);
    require_rank(node, i, 1, 1);
  }
  if (out.rank().is_dynamic()) return set_output(node, 0, out);
  if (out.size() < 2) fail("data " + out.to_string() + " has no spatial axis");
  const auto block = known_ints(node, 1), begin = known_ints(node, 2), end = known_ints(node, 3);
  if (!block || !begin || !end)
    return set_output(node, 0, PartialShape::dynamic(static_cast<std::int64_t>(out.size())));
  const Blocks blocks(*block, *begin, *end, out.size());
  const std::int64_t product = blocks.product();
  const bool to_space = is_to_space(node);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].is_dynamic()) continue;
    const std::int64_t extent = out[i].get_length(), trim = blocks.begin[i] + blocks.end[i];
    const std::int64_t whole = to_space ? (i == 0 ? extent : extent * blocks.block[i]) - trim : extent + trim;
    const std::int64_t divisor = to_space ? (i == 0 ? product : 1) : blocks.block[i];
    if (whole < 0 || whole % divisor != 0)
      fail("axis " + std::to_string(i) + " of " + out.to_string() + " does not fit: " + std::to_string(whole) +
           " places in blocks of " + std::to_string(divisor));
    out[i] = to_space || i > 0 ? Dimension(whole / divisor) : Dimension(whole * product);
  }
  set_output(node, 0, out);
}

void evaluate_blocks(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const Blocks blocks(to_vector<std::int64_t>(inputs[1]), to_vector<std::int64_t>(inputs[2]),
                      to_vector<std::int64_t>(inputs[3]), in.size());
  const bool to_space = is_to_space(node);
  // The side with the batch of blocks: its batch index is the position within the blocks, then the batch.
  const auto batch = static_cast<std::int64_t>(to_space ? out[0] : in[0]);
  gather_elements(inputs[0], outputs[0], [&](const std::vector<std::size_t>& index) -> std::int64_t {
    std::int64_t at = 0;
    if (to_space) {
      std::int64_t within = 0, rest = 0;
      for (std::size_t i = 1; i < in.size(); ++i) {
        const std::int64_t place = static_cast<std::int64_t>(index[i]) + blocks.begin[i];
        within = within * blocks.block[i] + place % blocks.block[i];
        rest = rest * static_cast<std::int64_t>(in[i]) + place / blocks.block[i];
      }
      at = within * batch + static_cast<std::int64_t>(index[0]);
      return at * static_cast<std::int64_t>(extent_product(in, 1, in.size())) + rest;
    }
    std::int64_t within = static_cast<std::int64_t>(index[0]) / batch;
    Indices inside(in.size(), 0);
    for (std::size_t i = in.size(); i-- > 1;) {
      inside[i] = within % blocks.block[i];
      within /= blocks.block[i];
    }
    at = static_cast<std::int64_t>(index[0]) % batch;
    for (std::size_t i = 1; i < in.size(); ++i) {
      const std::int64_t place = static_cast<std::int64_t>(index[i]) * blocks.block[i] + inside[i] - blocks.begin[i];
      if (place < 0 || place >= static_cast<std::int64_t>(in[i])) return -1;
      at = at * static_cast<std::int64_t>(in[i]) + place;
    }
    return at;
  });
}

// --- ExtractImagePatches: [N, C, H, W] to [N, rows * columns * C, patches down, patches across] ------------------------

struct PatchAxis {
  std::int64_t size, stride, rate, count = 0, before = 0;
};

std::vector<PatchAxis> patch_axes(const Node& node, const PartialShape& data) {
  const Attributes& attributes = node.get_attributes();
  const auto &sizes = attributes.get_ints("sizes"), &strides = attributes.get_ints("strides"),
             &rates = attributes.get_ints("rates");
  if (sizes.size() != 2 || strides.size() != 2 || rates.size() != 2)
    fail("sizes, strides and rates must have two values each");
  const std::string& mode = attributes.get_string("auto_pad");
  std::vector<PatchAxis> axes;
  for (std::size_t i = 0; i < 2; ++i) {
    PatchAxis axis{sizes[i], strides[i], rates[i]};
    for (const std::int64_t value : {axis.size, axis.stride, axis.rate})
      if (value < 1 || value > (1 << 20))
        fail("sizes, strides and rates must be positive, found " + std::to_string(value));
    if (data[i + 2].is_static()) {
      const std::int64_t extent = data[i + 2].get_length(), reach = (axis.size - 1) * axis.rate + 1;
      if (mode == "valid") {
        axis.count = extent < reach ? 0 : (extent - reach) / axis.stride + 1;
      } else {
        axis.count = (extent + axis.stride - 1) / axis.stride;
        const std::int64_t pads = std::max<std::int64_t>((axis.count - 1) * axis.stride + reach - extent, 0);
        axis.before = mode == "same_upper" ? pads / 2 : pads - pads / 2;
      }
    }
    axes.push_back(axis);
  }
  return axes;
}

void infer_patches(Node& node) {
  require_rank(node, 0, 4, 4);
  const PartialShape& data = node.get_input_partial_shape(0);
  if (data.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic(4));
  const auto axes = patch_axes(node, data);
  PartialShape out{data[0], data[1] * Dimension(axes[0].size * axes[1].size), Dimension::dynamic(),
                   Dimension::dynamic()};
  for (std::size_t i = 0; i < 2; ++i)
    if (data[i + 2].is_static()) out[i + 2] = axes[i].count;
  set_output(node, 0, out);
}

void evaluate_patches(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& in = inputs[0].shape();
  const auto axes = patch_axes(node, PartialShape(in));
  gather_elements(inputs[0], outputs[0], [&](const std::vector<std::size_t>& index) -> std::int64_t {
    const std::size_t channel = index[1] % in[1], place = index[1] / in[1];
    const auto columns = static_cast<std::size_t>(axes[1].size);
    const std::int64_t offset[] = {static_cast<std::int64_t>(place / columns),
                                   static_cast<std::int64_t>(place % columns)};
    std::int64_t at = static_cast<std::int64_t>(index[0] * in[1] + channel);
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t x =
          static_cast<std::int64_t>(index[i + 2]) * axes[i].stride - axes[i].before + offset[i] * axes[i].rate;
      if (x < 0 || x >= static_cast<std::int64_t>(in[i + 2])) return -1;
      at = at * static_cast<std::int64_t>(in[i + 2]) + x;
    }
    return at;
  });
}

// --- Reverse: data, axes (numbers, or a flag for each axis) -----------------------------------------------------------

std::vector<std::size_t> reversed_axes(const Node& node, const Indices& given, std::size_t rank) {
  if (node.get_attributes().get_string("mode") == "index") return normalized_axes(given, rank);
  if (given.size() != rank)
    fail("the mask has " + std::to_string(given.size()) + " flags for " + std::to_string(rank) + " axes");
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < rank; ++i)
    if (given[i] != 0) axes.push_back(i);
  return axes;
}

void infer_reverse(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  const auto axes = known_ints(node, 1);
  if (axes && data.rank().is_static()) reversed_axes(node, *axes, data.size());
  infer_same(node);
}

void evaluate_reverse(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const auto axes = reversed_axes(node, to_vector<std::int64_t>(inputs[1]), shape.size());
  const auto steps = element_strides(shape);
  gather_elements(inputs[0], outputs[0], [&](const std::vector<std::size_t>& index) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool turned = std::find(axes.begin(), axes.end(), i) != axes.end();
      at += (turned ? shape[i] - 1 - index[i] : index[i]) * steps[i];
    }
    return static_cast<std::int64_t>(at);
  });
}

// --- SliceScatter: data, updates, start, stop, step [, axes] ----------------------------------------------------------

struct Span {
  std::int64_t first = 0, step = 1, count = 0;
};

/// The positions of a slice of each axis.
std::vector<Span> spans_of(const Shape& data, const Indices& start, const Indices& stop, const Indices& step,
                           const Indices& axes) {
  std::vector<Span> spans;
  for (const std::size_t extent : data) spans.push_back({0, 1, static_cast<std::int64_t>(extent)});
  if (start.size() != stop.size() || start.size() != step.size() || start.size() != axes.size())
    fail("start, stop, step and axes have " + std::to_string(start.size()) + ", " + std::to_string(stop.size()) + ", " +
         std::to_string(step.size()) + " and " + std::to_string(axes.size()) + " values");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = normalized_axis(axes[i], data.size());
    const auto extent = static_cast<std::int64_t>(data[axis]);
    if (step[i] == 0) fail("step 0 along axis " + std::to_string(axis));
    const bool forward = step[i] > 0;
    const auto bounded = [&](std::int64_t value) {
      if (value < 0) value = std::max<std::int64_t>(value, -extent - 1) + extent;
      return std::clamp<std::int64_t>(value, forward ? 0 : -1, forward ? extent : extent - 1);
    };
    const std::int64_t first = bounded(start[i]), last = bounded(stop[i]);
    const std::int64_t distance = forward ? last - first : first - last;
    const std::int64_t stride = forward ? step[i]
                                : step[i] == std::numeric_limits<std::int64_t>::min()
                                    ? std::numeric_limits<std::int64_t>::max()
                                    : -step[i];
    spans[axis] = {first, step[i], distance <= 0 ? 0 : (distance - 1) / stride + 1};
  }
  return spans;
}

void infer_slice_scatter(Node& node) {
  common_type(node, 0, 2);
  for (std::size_t i = 2; i < node.get_input_size(); ++i) {
    require_integral(node, i);
    require_rank(node, i, 1, 1);
  }
  const PartialShape &data = node.get_input_partial_shape(0), &updates = node.get_input_partial_shape(1);
  if (data.rank().is_static() && updates.rank().is_static() && data.size() != updates.size())
    fail("data " + data.to_string() + " and updates " + updates.to_string() + " differ in rank");
  infer_same(node);
}

void evaluate_slice_scatter(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &shape = inputs[0].shape(), &updates = inputs[1].shape();
  const auto list = [&](std::size_t index) { return to_vector<std::int64_t>(inputs[index]); };
  Indices axes = inputs.size() > 5 ? list(5) : Indices(inputs[2].element_count());
  if (inputs.size() <= 5)
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  const auto spans = spans_of(shape, list(2), list(3), list(4), axes);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i >= updates.size() || static_cast<std::int64_t>(updates[i]) != spans[i].count)
      fail("updates " + to_string(updates) + " do not fit: the slice has " + std::to_string(spans[i].count) +
           " places along axis " + std::to_string(i));
  move_tensor(inputs[0], outputs[0]);
  if (inputs[1].element_count() == 0) return;
  const std::size_t size = movable_size(inputs[1]);
  Tensor packed(inputs[1].element_type(), updates);
  move_tensor(inputs[1], packed);
  const auto steps = element_strides(shape);
  std::vector<std::size_t> index(updates.size(), 0);
  const auto* from = static_cast<const char*>(packed.data());
  do {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < index.size(); ++i)
      at +=
          (spans[i].first + static_cast<std::int64_t>(index[i]) * spans[i].step) * static_cast<std::int64_t>(steps[i]);
    std::memcpy(static_cast<char*>(outputs[0].data()) + static_cast<std::size_t>(at) * size, from, size);
    from += size;
  } while (advance(index, updates));
}

// --- positions in sorted lists ------------------------------------------------------------------------------------------

void require_index_type(const Node& node, const char* attribute) {
  const ElementType type = node.get_attributes().get_type(attribute);
  if (type != ElementType::kI32 && type != ElementType::kI64)
    fail("attribute '" + std::string(attribute) + "': expected i32 or i64, found " + std::string(name(type)));
}

void infer_search_sorted(Node& node) {
  common_type(node, 0, 2);
  require_index_type(node, "output_type");
  const PartialShape &sorted = node.get_input_partial_shape(0), &values = node.get_input_partial_shape(1);
  if (sorted.rank().is_static() && sorted.size() == 0) fail("the sorted sequence is a scalar");
  if (sorted.rank().is_static() && values.rank().is_static() && sorted.size() > 1) {
    if (sorted.size() != values.size())
      fail("the sequences " + sorted.to_string() + " and the values " + values.to_string() + " differ in rank");
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i)
      if (!sorted[i].compatible(values[i]))
        fail("the sequences " + sorted.to_string() + " and the values " + values.to_string() + " differ in axis " +
             std::to_string(i));
  }
  node.set_output_type(0, node.get_attributes().get_type("output_type"), values);
}

void evaluate_search_sorted(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const bool right = node.get_attributes().get_bool("right_mode");
  const Shape &sorted = inputs[0].shape(), &values = inputs[1].shape();
  const std::size_t length = sorted.back(), each = sorted.size() == 1 ? inputs[1].element_count() : values.back();
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> list(inputs[0]), wanted(inputs[1]);
    Write<std::int64_t> y(outputs[0]);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const T* first = list.data() + (sorted.size() == 1 ? 0 : i / each * length);
      const T* found = right ? std::upper_bound(first, first + length, wanted[i])
                             : std::lower_bound(first, first + length, wanted[i]);
      y[i] = found - first;
    }
    y.commit();
  });
}

void infer_bucketize(Node& node) {
  require_index_type(node, "output_type");
  require_rank(node, 1, 1, 1);
  node.set_output_type(0, node.get_attributes().get_type("output_type"), node.get_input_partial_shape(0));
}

void evaluate_bucketize(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const bool right = node.get_attributes().get_bool("with_right_bound");
  const auto compute = [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), bounds(inputs[1]);
    Write<std::int64_t> y(outputs[0]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T *first = bounds.data(), *last = first + bounds.size();
      y[i] = (right ? std::lower_bound(first, last, x[i]) : std::upper_bound(first, last, x[i])) - first;
    }
    y.commit();
  };
  // An f64 holds integers up to 2^53 only.
  const bool is_real = info(inputs[0].element_type()).is_real || info(inputs[1].element_type()).is_real;
  is_real ? compute(double{}) : compute(std::int64_t{});
}

// --- GridSample: data [N, C, H, W], grid [N, rows, columns, 2] of x and y in -1..1 --------------------------------------

void infer_grid_sample(Node& node) {
  require_rank(node, 0, 4, 4);
  require_rank(node, 1, 4, 4);
  require_real(node, 1);
  const PartialShape &data = node.get_input_partial_shape(0), &grid = node.get_input_partial_shape(1);
  PartialShape out = PartialShape::dynamic(4);
  if (data.rank().is_static()) out[0] = data[0], out[1] = data[1];
  if (grid.rank().is_static()) {
    if (!grid[3].compatible(2)) fail("the grid " + grid.to_string() + " does not hold pairs of coordinates");
    if (!Dimension::merge(out[0], out[0], grid[0]))
      fail("data " + data.to_string() + " and grid " + grid.to_string() + " differ in their batch");
    out[2] = grid[1], out[3] = grid[2];
  }
  set_output(node, 0, out);
}

void evaluate_grid_sample(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const GridAxis down(node.get_attributes(), in[2]), across(node.get_attributes(), in[3]);
  const Read<float> x(inputs[0]);
  const Read<double> grid(inputs[1]);
  Write<float> y(outputs[0]);
  const std::size_t points = out[2] * out[3], plane = in[2] * in[3];
  for (std::size_t n = 0; n < out[0]; ++n) {
    for (std::size_t p = 0; p < points; ++p) {
      const double* g = grid.data() + (n * points + p) * 2;
      const GridTaps rows = down.taps(g[1]), columns = across.taps(g[0]);
      for (std::size_t c = 0; c < in[1]; ++c) {
        const float* from = x.data() + (n * in[1] + c) * plane;
        double sum = 0;
        for (int i = 0; i < rows.count; ++i)
          for (int j = 0; j < columns.count; ++j)
            if (rows.at[i] >= 0 && columns.at[j] >= 0)
              sum += rows.weight[i] * columns.weight[j] *
                     static_cast<double>(
                         from[static_cast<std::size_t>(rows.at[i]) * in[3] + static_cast<std::size_t>(columns.at[j])]);
        y[(n * in[1] + c) * points + p] = static_cast<float>(sum);
      }
    }
  }
  y.commit();
}
}  // namespace

Spatial3 patch_window(const Node& node, const Shape& in, const Shape& out) {
  std::vector<WindowAxis> axes;
  for (const PatchAxis& axis : patch_axes(node, PartialShape(in)))
    axes.push_back({axis.size, axis.stride, axis.rate, axis.before, 0});
  return spatial3(axes, in, out, 2);
}

void add_space_rows(OperationTable& table) {
  table.add("BatchToSpace", 2, 4, 4, infer_blocks, evaluate_blocks,
            "Puts parts of the batch side by side as blocks, and cuts the borders.");
  table.add("SpaceToBatch", 2, 4, 4, infer_blocks, evaluate_blocks,
            "Pads the borders, and moves each position of a block to the batch.");
  table
      .add("ExtractImagePatches", 3, 1, 1, infer_patches, evaluate_patches,
           "Windows of an image, their pixels as channels.")
      .ints("sizes")
      .ints("strides")
      .ints("rates")
      .text("auto_pad", {}, {"valid", "same_upper", "same_lower"});
  table.add("Reverse", 1, 2, 2, infer_reverse, evaluate_reverse, "Reverses elements along some axes.")
      .text("mode", {}, {"index", "mask"});
  table.add("SliceScatter", 15, 5, 6, infer_slice_scatter, evaluate_slice_scatter, "Data with a slice replaced.");
  table
      .add("SearchSorted", 15, 2, 2, infer_search_sorted, evaluate_search_sorted,
           "Positions of values in sorted sequences.")
      .flag("right_mode", false)
      .type("output_type", ElementType::kI64);
  table
      .add("Bucketize", 3, 2, 2, infer_bucketize, evaluate_bucketize,
           "The bucket between sorted bounds that holds each value.")
      .type("output_type", ElementType::kI64)
      .flag("with_right_bound", true);
  table.add("GridSample", 9, 2, 2, infer_grid_sample, evaluate_grid_sample, "Interpolates at the positions of a grid.")
      .flag("align_corners", false)
      .text("mode", "bilinear", {"bilinear", "bicubic", "nearest"})
      .text("padding_mode", "zeros", {"zeros", "border", "reflection"});
}

}  // namespace v1
}  // namespace tenon
