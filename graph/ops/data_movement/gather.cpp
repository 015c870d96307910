// SPDX-License-Identifier: Apache-2.0
// Gathering and scattering by indices.
#include <algorithm>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
/// Negative indices count from the end. @errors outside the axis.
std::size_t checked_index(std::int64_t index, std::size_t extent) {
  const auto count = static_cast<std::int64_t>(extent);
  if (index < -count || index >= count)
    fail("index " + std::to_string(index) + " is outside an axis of " + std::to_string(extent));
  return static_cast<std::size_t>(index < 0 ? index + count : index);
}

std::int64_t batch_dims(const Node& node, std::size_t rank) {
  std::int64_t dims = node.get_attributes().get_int("batch_dims", 0);
  if (dims < 0) dims += static_cast<std::int64_t>(rank);
  if (dims < 0 || dims > static_cast<std::int64_t>(rank))
    fail("batch_dims " + std::to_string(dims) + " is outside the indices' rank " + std::to_string(rank));
  return dims;
}

void infer_gather(Node& node) {
  const PartialShape &data = node.get_input_partial_shape(0), &indices = node.get_input_partial_shape(1);
  require_integral(node, 1);
  require_integral(node, 2);
  const auto axis = known_ints(node, 2);
  if (axis && axis->size() != 1) fail("the axis input must hold one value, it has " + std::to_string(axis->size()));
  if (data.rank().is_dynamic() || indices.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  const auto batch = static_cast<std::size_t>(batch_dims(node, indices.size()));
  if (!axis)
    return set_output(node, 0,
                      PartialShape::dynamic(static_cast<std::int64_t>(
                          data.size() + indices.size() - std::min(data.size() + indices.size(), 1 + batch))));
  const std::size_t at = normalized_axis((*axis)[0], data.size());
  if (batch > at) fail("batch_dims " + std::to_string(batch) + " exceeds axis " + std::to_string(at));
  PartialShape out;
  for (std::size_t i = 0; i < at; ++i) out.push_back(data[i]);
  for (std::size_t i = 0; i < batch; ++i) {
    if (!Dimension::merge(out[i], data[i], indices[i]))
      fail("data " + data.to_string() + " and indices " + indices.to_string() + " differ in batch axis " +
           std::to_string(i));
  }
  for (std::size_t i = batch; i < indices.size(); ++i) out.push_back(indices[i]);
  for (std::size_t i = at + 1; i < data.size(); ++i) out.push_back(data[i]);
  set_output(node, 0, out);
}
/// data seen as [batch, outer, axis, inner], indices as [batch, count].
void evaluate_gather(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &shape = inputs[0].shape(), &index_shape = inputs[1].shape();
  const std::size_t axis = normalized_axis(to_vector<std::int64_t>(inputs[2]).at(0), shape.size());
  const auto batch = static_cast<std::size_t>(batch_dims(node, index_shape.size()));
  const std::size_t size = movable_size(inputs[0]);
  if (outputs[0].element_count() == 0) return;
  Tensor packed = inputs[0];
  if (!packed.is_contiguous()) {
    packed = Tensor(inputs[0].element_type(), shape);
    move_tensor(inputs[0], packed);
  }
  const std::size_t batches = extent_product(shape, 0, batch), outer = extent_product(shape, batch, axis),
                    inner = extent_product(shape, axis + 1, shape.size()) * size;
  const std::size_t count = extent_product(index_shape, batch, index_shape.size());
  const Read<std::int64_t> indices(inputs[1]);
  // Since opset 8 negative indices count from the end; in earlier versions none reach this point.
  const bool out_of_range_is_zero = node.operation().opset < 8 && node.operation().opset >= 7;
  const auto* src = static_cast<const char*>(packed.data());
  auto* dst = static_cast<char*>(outputs[0].data());
  for (std::size_t b = 0; b < batches; ++b) {
    for (std::size_t o = 0; o < outer; ++o) {
      const char* plane = src + (b * outer + o) * shape[axis] * inner;
      for (std::size_t i = 0; i < count; ++i, dst += inner) {
        const std::int64_t index = indices[b * count + i];
        if (out_of_range_is_zero && (index < 0 || index >= static_cast<std::int64_t>(shape[axis])))
          std::memset(dst, 0, inner);
        else
          std::memcpy(dst, plane + checked_index(index, shape[axis]) * inner, inner);
      }
    }
  }
}

void infer_gather_elements(Node& node) {
  const PartialShape &data = node.get_input_partial_shape(0), &indices = node.get_input_partial_shape(1);
  require_integral(node, 1);
  if (data.rank().is_static() && indices.rank().is_static()) {
    if (data.size() != indices.size())
      fail("data " + data.to_string() + " and indices " + indices.to_string() + " differ in rank");
    const std::size_t axis = normalized_axis(node.get_attributes().get_int("axis"), data.size());
    for (std::size_t i = 0; i < data.size(); ++i) {
      // As in ONNX and PyTorch, indices may be of a part of the data; OpenVINO wants equal extents.
      if (i != axis && data[i].get_max_length() >= 0 && indices[i].get_min_length() > data[i].get_max_length())
        fail("data " + data.to_string() + " and indices " + indices.to_string() + " differ outside axis " +
             std::to_string(axis) + ", where indices may only be fewer");
    }
  }
  set_output(node, 0, indices);
}
void evaluate_gather_elements(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &shape = inputs[0].shape(), &out = outputs[0].shape();
  const std::size_t axis = normalized_axis(node.get_attributes().get_int("axis"), shape.size());
  if (outputs[0].element_count() == 0) return;
  const std::size_t size = movable_size(inputs[0]);
  const Read<std::int64_t> indices(inputs[1]);
  const auto* src = static_cast<const char*>(inputs[0].data());
  auto* dst = static_cast<char*>(outputs[0].data());
  std::vector<std::size_t> index(out.size(), 0);
  std::size_t at = 0;
  do {
    std::ptrdiff_t offset = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t position = i == axis ? checked_index(indices[at], shape[axis]) : index[i];
      offset += static_cast<std::ptrdiff_t>(position) * inputs[0].byte_strides()[i];
    }
    std::memcpy(dst + at * size, src + offset, size);
    ++at;
  } while (advance(index, out));
}

void infer_gather_nd(Node& node) {
  const PartialShape &data = node.get_input_partial_shape(0), &indices = node.get_input_partial_shape(1);
  require_integral(node, 1);
  const std::int64_t batch = node.get_attributes().get_int("batch_dims");
  require_rank(node, 0, 1, 64);
  require_rank(node, 1, 1, 64);
  if (data.rank().is_dynamic() || indices.rank().is_dynamic() || indices.size() == 0 ||
      indices[indices.size() - 1].is_dynamic())
    return set_output(node, 0, PartialShape::dynamic());
  const std::int64_t depth = indices[indices.size() - 1].get_length();
  if (batch < 0 || batch >= static_cast<std::int64_t>(std::min(data.size(), indices.size())))
    fail("batch_dims " + std::to_string(batch) + " is outside the ranks");
  if (depth > static_cast<std::int64_t>(data.size()) - batch)
    fail("indices of depth " + std::to_string(depth) + " into data of " + data.to_string());
  PartialShape out;
  const auto first = static_cast<std::size_t>(batch);
  for (std::size_t i = 0; i < first; ++i) {
    Dimension merged;
    if (!Dimension::merge(merged, data[i], indices[i]))
      fail("data " + data.to_string() + " and indices " + indices.to_string() + " differ in batch axis " +
           std::to_string(i));
    out.push_back(merged);
  }
  if (node.operation().opset < 8 && batch > 1) {
    // The first version merges the batch axes into one.
    Dimension joined(1);
    for (const Dimension& d : out) joined = joined * d;
    out = PartialShape{joined};
  }
  for (std::size_t i = first; i + 1 < indices.size(); ++i) out.push_back(indices[i]);
  for (std::size_t i = first + static_cast<std::size_t>(depth); i < data.size(); ++i) out.push_back(data[i]);
  set_output(node, 0, out);
}
void evaluate_gather_nd(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &shape = inputs[0].shape(), &index_shape = inputs[1].shape();
  const auto batch = static_cast<std::size_t>(node.get_attributes().get_int("batch_dims"));
  const std::size_t depth = index_shape.back();
  if (outputs[0].element_count() == 0) return;
  Tensor packed(inputs[0].element_type(), shape);
  move_tensor(inputs[0], packed);
  const std::size_t inner = extent_product(shape, batch + depth, shape.size()) * movable_size(inputs[0]);
  const std::size_t batches = extent_product(shape, 0, batch),
                    count = extent_product(index_shape, batch, index_shape.size() - 1);
  const std::size_t plane = extent_product(shape, batch, shape.size()) * movable_size(inputs[0]);
  const Read<std::int64_t> indices(inputs[1]);
  const auto* src = static_cast<const char*>(packed.data());
  auto* dst = static_cast<char*>(outputs[0].data());
  for (std::size_t b = 0; b < batches; ++b) {
    for (std::size_t i = 0; i < count; ++i, dst += inner) {
      std::size_t at = 0;
      for (std::size_t d = 0; d < depth; ++d)
        at = at * shape[batch + d] + checked_index(indices[(b * count + i) * depth + d], shape[batch + d]);
      std::memcpy(dst, src + b * plane + at * inner, inner);
    }
  }
}

/// Combines an existing element with an incoming one, as the reduction says.
template <typename T>
T reduced(std::string_view mode, T held, T value) {
  if (mode == "none") return value;
  if (mode == "sum") return held + value;
  if (mode == "prod") return held * value;
  if (mode == "min") return std::min(held, value);
  if (mode == "max") return std::max(held, value);
  if (mode == "sub") return held - value;
  return held + value;  // mean: divided later.
}

void check_updates(const Node& node, std::size_t updates) {
  common_type(node, 0, 1);
  const element::Type a = node.get_input_element_type(0), b = node.get_input_element_type(updates);
  if (!a.is_dynamic() && !b.is_dynamic() && !(a == b))
    fail("the updates are " + b.to_string() + ", the data " + a.to_string());
  require_integral(node, 1);
}
void infer_scatter_nd(Node& node) {
  check_updates(node, 2);
  require_rank(node, 1, 1, 64);
  const PartialShape &data = node.get_input_partial_shape(0), &indices = node.get_input_partial_shape(1),
                     &updates = node.get_input_partial_shape(2);
  if (data.rank().is_static() && indices.rank().is_static() && indices.size() > 0 &&
      indices[indices.size() - 1].is_static()) {
    const auto depth = static_cast<std::size_t>(indices[indices.size() - 1].get_length());
    if (depth > data.size()) fail("indices of depth " + std::to_string(depth) + " into data of " + data.to_string());
    PartialShape expected(std::vector<Dimension>(indices.begin(), indices.end() - 1));
    for (std::size_t i = depth; i < data.size(); ++i) expected.push_back(data[i]);
    if (!expected.compatible(updates))
      fail("expected updates of shape " + expected.to_string() + ", found " + updates.to_string());
  }
  infer_same(node);
}
void evaluate_scatter_nd(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &shape = inputs[0].shape(), &index_shape = inputs[1].shape();
  const std::string mode = node.get_attributes().get_string("reduction", "none");
  const std::size_t depth = index_shape.back(), count = extent_product(index_shape, 0, index_shape.size() - 1);
  const std::size_t inner = extent_product(shape, depth, shape.size());
  if (inputs[2].element_count() != count * inner)
    fail("expected " + std::to_string(count * inner) + " updates, found " + std::to_string(inputs[2].element_count()));
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), updates(inputs[2]);
    const Read<std::int64_t> indices(inputs[1]);
    Write<T> y(outputs[0]);
    std::copy(x.data(), x.data() + x.size(), y.data());
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = 0;
      for (std::size_t d = 0; d < depth; ++d) at = at * shape[d] + checked_index(indices[i * depth + d], shape[d]);
      for (std::size_t k = 0; k < inner; ++k)
        y[at * inner + k] = reduced(mode, y[at * inner + k], updates[i * inner + k]);
    }
    y.commit();
  });
}

void infer_scatter_elements(Node& node) {
  check_updates(node, 2);
  const PartialShape &indices = node.get_input_partial_shape(1), &updates = node.get_input_partial_shape(2);
  if (!indices.compatible(updates))
    fail("indices " + indices.to_string() + " and updates " + updates.to_string() + " differ in shape");
  const PartialShape& data = node.get_input_partial_shape(0);
  if (data.rank().is_static() && indices.rank().is_static() && data.size() != indices.size())
    fail("data " + data.to_string() + " and indices " + indices.to_string() + " differ in rank");
  infer_same(node);
}
void evaluate_scatter_elements(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &shape = inputs[0].shape(), &index_shape = inputs[1].shape();
  const std::size_t axis = normalized_axis(to_vector<std::int64_t>(inputs[3]).at(0), shape.size());
  const std::string mode = node.get_attributes().get_string("reduction", "none");
  const bool use_init =
      node.get_attributes().has("use_init_val") ? node.get_attributes().get_bool("use_init_val") : true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis && index_shape[i] > shape[i])
      fail("indices " + to_string(index_shape) + " reach past data " + to_string(shape));
  }
  const auto strides = element_strides(shape);
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), updates(inputs[2]);
    const Read<std::int64_t> indices(inputs[1]);
    Write<T> y(outputs[0]);
    std::copy(x.data(), x.data() + x.size(), y.data());
    std::vector<std::int64_t> hits(y.size(), use_init ? 1 : 0);
    std::vector<std::size_t> index(index_shape.size(), 0);
    for (std::size_t i = 0; i < updates.size(); ++i) {
      std::size_t at = 0;
      for (std::size_t d = 0; d < shape.size(); ++d)
        at += (d == axis ? checked_index(indices[i], shape[d]) : index[d]) * strides[d];
      y[at] = hits[at]++ == 0 ? updates[i] : reduced(mode, y[at], updates[i]);
      advance(index, index_shape);
    }
    if (mode == "mean") {
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (hits[i] <= 1) continue;
        if constexpr (std::is_integral_v<T>) {
          const T count = static_cast<T>(hits[i]);
          y[i] = y[i] / count - (y[i] % count != 0 && y[i] < 0);
        } else {
          y[i] /= static_cast<T>(hits[i]);
        }
      }
    }
    y.commit();
  });
}

void infer_scatter(Node& node) {
  check_updates(node, 2);
  require_integral(node, 3);
  infer_same(node);
}
/// Updates are data[:axis] + indices + data[axis+1:].
void evaluate_scatter(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const std::size_t axis = normalized_axis(to_vector<std::int64_t>(inputs[3]).at(0), shape.size());
  const std::size_t size = movable_size(inputs[0]);
  move_tensor(inputs[0], outputs[0]);
  const Read<std::int64_t> indices(inputs[1]);
  const std::size_t outer = extent_product(shape, 0, axis), inner = extent_product(shape, axis + 1, shape.size());
  if (inputs[2].element_count() != outer * indices.size() * inner)
    fail("expected " + std::to_string(outer * indices.size() * inner) + " updates, found " +
         std::to_string(inputs[2].element_count()));
  if (inputs[2].element_count() == 0) return;
  Tensor updates(inputs[2].element_type(), inputs[2].shape());
  move_tensor(inputs[2], updates);
  const auto* src = static_cast<const char*>(updates.data());
  auto* dst = static_cast<char*>(outputs[0].data());
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < indices.size(); ++i, src += inner * size) {
      std::memcpy(dst + (o * shape[axis] + checked_index(indices[i], shape[axis])) * inner * size, src, inner * size);
    }
  }
}
}  // namespace

void add_gather_rows(OperationTable& table) {
  table.add("Gather", 1, 3, 3, infer_gather, evaluate_gather, "Slices of data at indices along an axis.");
  table.add("Gather", 7, 3, 3, infer_gather, evaluate_gather, "Slices of data at indices along an axis, per batch.")
      .integer("batch_dims", 0);
  table
      .add("Gather", 8, 3, 3, infer_gather, evaluate_gather,
           "Slices of data at indices, negative ones from the end, along an axis, per batch.")
      .integer("batch_dims", 0);
  table
      .add("GatherElements", 6, 2, 2, infer_gather_elements, evaluate_gather_elements,
           "One element per index along an axis.")
      .integer("axis");
  table.add("GatherND", 5, 2, 2, infer_gather_nd, evaluate_gather_nd, "Slices at index tuples.")
      .integer("batch_dims", 0);
  table.add("GatherND", 8, 2, 2, infer_gather_nd, evaluate_gather_nd, "Slices at index tuples.")
      .integer("batch_dims", 0);
  table.add("ScatterUpdate", 3, 4, 4, infer_scatter, evaluate_scatter, "Data with slices along an axis replaced.");
  table.add("ScatterNDUpdate", 4, 3, 3, infer_scatter_nd, evaluate_scatter_nd,
            "Data with slices at index tuples replaced.");
  table
      .add("ScatterNDUpdate", 15, 3, 3, infer_scatter_nd, evaluate_scatter_nd,
           "Data with slices at index tuples replaced or reduced.")
      .text("reduction", "none", {"none", "sum", "sub", "prod", "min", "max"});
  table.add("ScatterElementsUpdate", 3, 4, 4, infer_scatter_elements, evaluate_scatter_elements,
            "Data with single elements along an axis replaced.");
  table
      .add("ScatterElementsUpdate", 12, 4, 4, infer_scatter_elements, evaluate_scatter_elements,
           "Data with single elements along an axis replaced or reduced.")
      .text("reduction", "none", {"none", "sum", "prod", "min", "max", "mean"})
      .flag("use_init_val", true);
}

}  // namespace v1
}  // namespace tenon
