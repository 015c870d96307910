// SPDX-License-Identifier: Apache-2.0
// Normalisations and softmax.
#include <algorithm>
#include <cmath>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
// --- Softmax ---
void infer_softmax(Node& node) {
  require_real(node, 0);
  const PartialShape& data = node.get_input_partial_shape(0);
  if (data.rank().is_static()) {
    const std::int64_t axis = node.get_attributes().get_int("axis");
    if (node.operation().opset < 8 && axis < 0 && node.operation().type == "Softmax")
      fail("axis " + std::to_string(axis) + " is negative: allowed since opset8");
    normalized_axis(axis, data.size());
  }
  infer_same(node);
}
template <bool kLog>
void evaluate_softmax(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const std::size_t axis = normalized_axis(node.get_attributes().get_int("axis"), shape.size());
  const std::size_t outer = extent_product(shape, 0, axis), extent = shape[axis],
                    inner = extent_product(shape, axis + 1, shape.size());
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    for (std::size_t o = 0; o < outer && y.size() > 0; ++o) {
      for (std::size_t i = 0; i < inner; ++i) {
        const T* from = x.data() + o * extent * inner + i;
        T* to = y.data() + o * extent * inner + i;
        T most = from[0];
        for (std::size_t n = 1; n < extent; ++n) most = std::max(most, from[n * inner]);
        T sum{0};
        for (std::size_t n = 0; n < extent; ++n) {
          const T power = std::exp(from[n * inner] - most);
          sum += power;
          to[n * inner] = kLog ? from[n * inner] - most : power;
        }
        if constexpr (kLog) sum = std::log(sum);
        for (std::size_t n = 0; n < extent; ++n) to[n * inner] = kLog ? to[n * inner] - sum : to[n * inner] / sum;
      }
    }
    y.commit();
  });
}

// --- BatchNormInference ---
void infer_batch_norm(Node& node) {
  const bool first = node.operation().opset < 5;  // The first version has gamma and beta before the data.
  const std::size_t data_input = first ? 2 : 0;
  const element::Type type = common_type(node, 0, 5);
  require_real(node, data_input);
  if (!(node.get_attributes().get_double("epsilon") >= 0)) fail("attribute 'epsilon' must not be negative");
  PartialShape data = node.get_input_partial_shape(data_input);
  require_rank(node, data_input, 2, 8);
  for (std::size_t i = 0; i < 5; ++i) {
    if (i == data_input) continue;
    require_rank(node, i, 1, 1);
    const PartialShape& list = node.get_input_partial_shape(i);
    if (data.rank().is_static() && list.rank().is_static() && !Dimension::merge(data[1], data[1], list[0])) {
      fail("input " + std::to_string(i) + " has " + list[0].to_string() + " values, the data " + data.to_string() +
           " has " + data[1].to_string() + " channels");
    }
  }
  node.set_output_type(0, type, data);
}
void evaluate_batch_norm(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const bool first = node.operation().opset < 5;
  const Tensor& data = inputs[first ? 2 : 0];
  const Shape& shape = data.shape();
  const std::size_t plane = extent_product(shape, 2, shape.size());
  dispatch_real(data.element_type(), [&](auto zero) {
    using T = decltype(zero);
    const T epsilon = static_cast<T>(node.get_attributes().get_double("epsilon"));
    const Read<T> x(data), gamma(inputs[first ? 0 : 1]), beta(inputs[first ? 1 : 2]), mean(inputs[3]),
        variance(inputs[4]);
    Write<T> y(outputs[0]);
    for (std::size_t i = 0; i < shape[0] * shape[1]; ++i) {
      const std::size_t c = i % shape[1];
      const T scale = gamma[c] / std::sqrt(variance[c] + epsilon);
      for (std::size_t k = 0; k < plane; ++k) y[i * plane + k] = (x[i * plane + k] - mean[c]) * scale + beta[c];
    }
    y.commit();
  });
}

/// Calls f(list of element offsets) for each group of elements that are normalised together.
template <typename F>
void for_each_group(const Shape& shape, const std::vector<std::size_t>& axes, F f) {
  const auto strides = element_strides(shape);
  Shape outer, inner;
  std::vector<std::size_t> outer_strides, inner_strides;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool joined = std::binary_search(axes.begin(), axes.end(), axis);
    (joined ? inner : outer).push_back(shape[axis]);
    (joined ? inner_strides : outer_strides).push_back(strides[axis]);
  }
  std::vector<std::size_t> offsets;
  std::vector<std::size_t> index(inner.size(), 0);
  do {
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < inner.size(); ++axis) at += index[axis] * inner_strides[axis];
    offsets.push_back(at);
  } while (advance(index, inner));
  index.assign(outer.size(), 0);
  do {
    std::size_t base = 0;
    for (std::size_t axis = 0; axis < outer.size(); ++axis) base += index[axis] * outer_strides[axis];
    f(base, offsets);
  } while (advance(index, outer));
}

// --- MVN ---
void infer_mvn(Node& node) {
  require_real(node, 0);
  const PartialShape& data = node.get_input_partial_shape(0);
  if (node.get_input_size() > 1) {
    require_integral(node, 1);
    const auto axes = known_ints(node, 1);
    if (axes && data.rank().is_static()) normalized_axes(*axes, data.size());
  }
  infer_same(node);
}
void evaluate_mvn(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  if (inputs[0].element_count() == 0) return;
  const Attributes& attributes = node.get_attributes();
  std::vector<std::size_t> axes;
  bool inside = true;
  if (inputs.size() > 1) {
    axes = normalized_axes(to_vector<std::int64_t>(inputs[1]), shape.size());
    inside = attributes.get_string("eps_mode") == "inside_sqrt";
  } else {
    const auto& listed = attributes.get_ints("reduction_axes");
    if (!listed.empty())
      axes = normalized_axes(listed, shape.size());
    else
      for (std::size_t axis = attributes.get_bool("across_channels") ? 1 : 2; axis < shape.size(); ++axis)
        axes.push_back(axis);
  }
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const T epsilon = static_cast<T>(attributes.get_double("eps"));
    const bool scaled = attributes.get_bool("normalize_variance");
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    for_each_group(shape, axes, [&](std::size_t base, const std::vector<std::size_t>& offsets) {
      // Sums of many terms in double: a float sum over a plane loses the digits that make up the variance.
      double sum = 0, squares = 0;
      for (std::size_t at : offsets) sum += static_cast<double>(x[base + at]);
      const double mean = sum / static_cast<double>(offsets.size());
      for (std::size_t at : offsets)
        squares += (static_cast<double>(x[base + at]) - mean) * (static_cast<double>(x[base + at]) - mean);
      const T variance = static_cast<T>(squares / static_cast<double>(offsets.size()));
      const T scale = !scaled  ? T{1}
                      : inside ? T{1} / std::sqrt(variance + epsilon)
                               : T{1} / (std::sqrt(variance) + epsilon);
      for (std::size_t at : offsets) y[base + at] = (x[base + at] - static_cast<T>(mean)) * scale;
    });
    y.commit();
  });
}

// --- NormalizeL2 ---
void evaluate_normalize_l2(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  if (inputs[0].element_count() == 0) return;
  const auto axes = normalized_axes(to_vector<std::int64_t>(inputs[1]), shape.size());
  const bool added = node.get_attributes().get_string("eps_mode") == "add";
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const T epsilon = static_cast<T>(node.get_attributes().get_double("eps"));
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    for_each_group(shape, axes, [&](std::size_t base, const std::vector<std::size_t>& offsets) {
      T squares{0};
      for (std::size_t at : offsets) squares += x[base + at] * x[base + at];
      const T norm = std::sqrt(added ? squares + epsilon : std::max(squares, epsilon));
      for (std::size_t at : offsets) y[base + at] = x[base + at] / norm;
    });
    y.commit();
  });
}
void infer_axes_input(Node& node) {
  require_real(node, 0);
  require_integral(node, 1);
  const auto axes = known_ints(node, 1);
  const PartialShape& data = node.get_input_partial_shape(0);
  if (axes && data.rank().is_static()) normalized_axes(*axes, data.size());
  infer_same(node);
}

// --- LRN ---
void evaluate_lrn(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  if (inputs[0].element_count() == 0) return;
  const auto axes = normalized_axes(to_vector<std::int64_t>(inputs[1]), shape.size());
  const Attributes& a = node.get_attributes();
  const std::int64_t size = a.get_int("size");
  const auto strides = element_strides(shape);
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const T alpha = static_cast<T>(a.get_double("alpha")), beta = static_cast<T>(a.get_double("beta")),
            bias = static_cast<T>(a.get_double("bias"));
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    const T scale = alpha / static_cast<T>(std::pow(static_cast<double>(size), static_cast<double>(axes.size())));
    std::vector<std::size_t> index(shape.size(), 0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      // Sum of squares over the box around this element, cut to the data.
      Shape box;
      std::size_t start = i;
      for (std::size_t axis : axes) {
        const auto at = static_cast<std::int64_t>(index[axis]), extent = static_cast<std::int64_t>(shape[axis]);
        const std::int64_t first = std::max<std::int64_t>(0, at - (size - 1) / 2),
                           last = std::min(extent, at + (size - 1) / 2 + 1);
        start -= static_cast<std::size_t>(at - first) * strides[axis];
        box.push_back(static_cast<std::size_t>(last - first));
      }
      T squares{0};
      std::vector<std::size_t> inner(box.size(), 0);
      do {
        std::size_t at = start;
        for (std::size_t n = 0; n < axes.size(); ++n) at += inner[n] * strides[axes[n]];
        squares += x[at] * x[at];
      } while (advance(inner, box));
      y[i] = x[i] / std::pow(bias + scale * squares, beta);
      advance(index, shape);
    }
    y.commit();
  });
}
void infer_lrn(Node& node) {
  const std::int64_t size = node.get_attributes().get_int("size");
  if (size < 1 || size > (1 << 20)) fail("attribute 'size': " + std::to_string(size) + " is outside 1..2^20");
  infer_axes_input(node);
}

// --- GroupNormalization ---
void infer_group_norm(Node& node) {
  require_real(node, 0);
  require_rank(node, 0, 2, 8);
  const std::int64_t groups = node.get_attributes().get_int("num_groups");
  const PartialShape& data = node.get_input_partial_shape(0);
  if (groups < 1) fail("attribute 'num_groups': " + std::to_string(groups) + " is not positive");
  if (data.rank().is_static()) {
    if (data[1].is_static() && data[1].get_length() % groups != 0)
      fail(data[1].to_string() + " channels are no multiple of " + std::to_string(groups) + " groups");
    for (std::size_t i = 1; i < 3; ++i) {
      require_rank(node, i, 1, 1);
      const PartialShape& list = node.get_input_partial_shape(i);
      if (list.rank().is_static() && !list[0].compatible(data[1]))
        fail("input " + std::to_string(i) + " has " + list[0].to_string() + " values for " + data[1].to_string() +
             " channels");
    }
  }
  infer_same(node);
}
void evaluate_group_norm(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  if (inputs[0].element_count() == 0) return;
  const auto groups = static_cast<std::size_t>(node.get_attributes().get_int("num_groups"));
  const std::size_t plane = extent_product(shape, 2, shape.size()), each = shape[1] / groups, count = each * plane;
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const T epsilon = static_cast<T>(node.get_attributes().get_double("epsilon"));
    const Read<T> x(inputs[0]), scale(inputs[1]), bias(inputs[2]);
    Write<T> y(outputs[0]);
    for (std::size_t g = 0; g < shape[0] * groups; ++g) {
      const std::size_t base = g * count;
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(x[base + i]);
      const double mean = sum / static_cast<double>(count);
      for (std::size_t i = 0; i < count; ++i)
        squares += (static_cast<double>(x[base + i]) - mean) * (static_cast<double>(x[base + i]) - mean);
      const T factor = T{1} / std::sqrt(static_cast<T>(squares / static_cast<double>(count)) + epsilon);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t c = g % groups * each + i / plane;
        y[base + i] = (x[base + i] - static_cast<T>(mean)) * factor * scale[c] + bias[c];
      }
    }
    y.commit();
  });
}
}  // namespace

void add_normalisation_rows(OperationTable& table) {
  table
      .add("Softmax", 1, 1, 1, infer_softmax, evaluate_softmax<false>,
           "Exponentials along an axis, scaled to the sum 1.")
      .integer("axis", 1);
  table
      .add("Softmax", 8, 1, 1, infer_softmax, evaluate_softmax<false>,
           "Exponentials along an axis, scaled to the sum 1.")
      .integer("axis", 1);
  table.add("LogSoftmax", 5, 1, 1, infer_softmax, evaluate_softmax<true>, "Logarithm of softmax.").integer("axis", 1);
  const char* norm = "(data - mean) / sqrt(variance + epsilon) * gamma + beta, per channel.";
  table.add("BatchNormInference", 1, 5, 5, infer_batch_norm, evaluate_batch_norm, norm).real("epsilon");
  table.add("BatchNormInference", 5, 5, 5, infer_batch_norm, evaluate_batch_norm, norm).real("epsilon");
  table.add("MVN", 2, 1, 1, infer_mvn, evaluate_mvn, "Mean 0 and variance 1 over space, or space and channels.")
      .flag("across_channels", true)
      .flag("normalize_variance", true)
      .real("eps", 1e-9)
      .ints("reduction_axes", std::vector<std::int64_t>{});
  table.add("MVN", 6, 2, 2, infer_mvn, evaluate_mvn, "Mean 0 and variance 1 over the given axes.")
      .flag("normalize_variance")
      .real("eps")
      .text("eps_mode", {}, {"inside_sqrt", "outside_sqrt"});
  table.add("NormalizeL2", 1, 2, 2, infer_axes_input, evaluate_normalize_l2, "Length 1 over the given axes.")
      .real("eps")
      .text("eps_mode", {}, {"add", "max"});
  table.add("LRN", 1, 2, 2, infer_lrn, evaluate_lrn, "Local response normalisation.")
      .real("alpha")
      .real("beta")
      .real("bias")
      .integer("size");
  table
      .add("GroupNormalization", 12, 3, 3, infer_group_norm, evaluate_group_norm,
           "Mean 0 and variance 1 over groups of channels, then scale and bias.")
      .integer("num_groups")
      .real("epsilon");
}

}  // namespace v1
}  // namespace tenon
