// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, and running sums.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
void infer_reduce(Node& node) {
  const PartialShape& data = node.get_input_partial_shape(0);
  require_integral(node, 1);
  require_rank(node, 1, 0, 1);
  const bool keep = node.get_attributes().get_bool("keep_dims");
  const auto given = known_ints(node, 1);
  if (data.rank().is_dynamic() || !given) {
    return set_output(node, 0,
                      keep && data.rank().is_static() ? PartialShape::dynamic(static_cast<std::int64_t>(data.size()))
                                                      : PartialShape::dynamic());
  }
  const auto axes = normalized_axes(*given, data.size());
  PartialShape out;
  for (std::size_t axis = 0; axis < data.size(); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis))
      out.push_back(data[axis]);
    else if (keep)
      out.push_back(1);
  }
  set_output(node, 0, out);
}
void infer_reduce_logical(Node& node) {
  const element::Type type = node.get_input_element_type(0);
  if (!type.is_dynamic() && !(type == element::boolean)) fail("expected boolean, found " + type.to_string());
  infer_reduce(node);
}

/// What an infinity is in that type: for integers, their limit on that side.
template <typename T>
T extreme(ElementType type, double infinity) {
  std::array<std::byte, sizeof(double)> stored{};
  store_elements(type, &infinity, 1, stored.data());
  T value{};
  load_elements(type, stored.data(), 0, 1, &value);
  return value;
}

struct Sum {
  template <typename T>
  static T start(ElementType) {
    return 0;
  }
  template <typename T>
  static T step(T held, T x) {
    return held + x;
  }
  template <typename T>
  static T finish(T held, std::size_t) {
    return held;
  }
};
struct Mean : Sum {
  template <typename T>
  static T finish(T held, std::size_t count) {
    // The mean of no elements is NaN; integers have no NaN and give 0.
    if (count == 0) return std::numeric_limits<T>::quiet_NaN();
    return held / static_cast<T>(count);
  }
};
struct Product : Sum {
  template <typename T>
  static T start(ElementType) {
    return 1;
  }
  template <typename T>
  static T step(T held, T x) {
    return held * x;
  }
};
struct Maximum : Sum {
  template <typename T>
  static T start(ElementType type) {
    return extreme<T>(type, -std::numeric_limits<double>::infinity());
  }
  template <typename T>
  static T step(T held, T x) {
    return x > held || x != x ? x : held;
  }
};
struct Minimum : Sum {
  template <typename T>
  static T start(ElementType type) {
    return extreme<T>(type, std::numeric_limits<double>::infinity());
  }
  template <typename T>
  static T step(T held, T x) {
    return x < held || x != x ? x : held;
  }
};
struct L1 : Sum {
  template <typename T>
  static T step(T held, T x) {
    return held + (x < T{0} ? T{0} - x : x);
  }
};
struct L2 : Sum {
  template <typename T>
  static T step(T held, T x) {
    return held + x * x;
  }
  template <typename T>
  static T finish(T held, std::size_t) {
    return static_cast<T>(std::sqrt(static_cast<std::conditional_t<std::is_integral_v<T>, double, T>>(held)));
  }
};
struct And : Sum {
  template <typename T>
  static T start(ElementType) {
    return 1;
  }
  template <typename T>
  static T step(T held, T x) {
    return held && x;
  }
};
struct Or : Sum {
  template <typename T>
  static T step(T held, T x) {
    return held || x;
  }
};

template <typename F>
void evaluate_reduce(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const auto axes = normalized_axes(to_vector<std::int64_t>(inputs[1]), shape.size());
  // Steps in the output: 0 along reduced axes.
  std::vector<std::size_t> steps(shape.size(), 0);
  std::size_t step = 1, reduced = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (std::binary_search(axes.begin(), axes.end(), axis)) {
      reduced *= shape[axis];
    } else {
      steps[axis] = step;
      step *= shape[axis];
    }
  }
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    // An f32 sum stops growing when it is 2^24 times an addend.
    using Held = std::conditional_t<std::is_same_v<T, float>, double, T>;
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    std::vector<Held> held(y.size(), F::template start<Held>(inputs[0].element_type()));
    if (x.size() > 0) {
      const std::size_t row = shape.empty() ? 1 : shape.back(), row_step = shape.empty() ? 0 : steps.back();
      Shape outer(shape.begin(), shape.empty() ? shape.end() : shape.end() - 1);
      std::vector<std::size_t> index(outer.size(), 0);
      const T* from = x.data();
      do {
        std::size_t at = 0;
        for (std::size_t axis = 0; axis < outer.size(); ++axis) at += index[axis] * steps[axis];
        if (row_step == 0) {
          Held value = held[at];
          for (std::size_t i = 0; i < row; ++i) value = F::step(value, static_cast<Held>(from[i]));
          held[at] = value;
        } else {
          for (std::size_t i = 0; i < row; ++i) held[at + i] = F::step(held[at + i], static_cast<Held>(from[i]));
        }
        from += row;
      } while (advance(index, outer));
    }
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(F::template finish<Held>(held[i], reduced));
    y.commit();
  });
}

void infer_cum_sum(Node& node) {
  require_integral(node, 1);
  const auto axis = known_ints(node, 1);
  const PartialShape& data = node.get_input_partial_shape(0);
  if (axis && axis->size() != 1) fail("the axis input must hold one value, it has " + std::to_string(axis->size()));
  if (axis && data.rank().is_static()) normalized_axis((*axis)[0], data.size());
  infer_same(node);
}
void evaluate_cum_sum(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const std::size_t axis = normalized_axis(to_vector<std::int64_t>(inputs[1]).at(0), shape.size());
  const bool exclusive = node.get_attributes().get_bool("exclusive"),
             reverse = node.get_attributes().get_bool("reverse");
  const std::size_t outer = extent_product(shape, 0, axis), extent = shape[axis],
                    inner = extent_product(shape, axis + 1, shape.size());
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t i = 0; i < inner; ++i) {
        T sum{0};
        for (std::size_t n = 0; n < extent; ++n) {
          const std::size_t at = (o * extent + (reverse ? extent - 1 - n : n)) * inner + i;
          const T value = x[at];
          y[at] = exclusive ? sum : sum + value;
          sum += value;
        }
      }
    }
    y.commit();
  });
}
}  // namespace

void add_reduction_rows(OperationTable& table) {
  const auto reduce = [&](const char* type, unsigned opset, Kernel kernel, const char* description,
                          void (*infer)(Node&) = infer_reduce) {
    table.add(type, opset, 2, 2, infer, kernel, description).flag("keep_dims", false);
  };
  reduce("ReduceSum", 1, evaluate_reduce<Sum>, "Sum over axes.");
  reduce("ReduceMean", 1, evaluate_reduce<Mean>, "Mean over axes.");
  reduce("ReduceProd", 1, evaluate_reduce<Product>, "Product over axes.");
  reduce("ReduceMax", 1, evaluate_reduce<Maximum>, "Greatest over axes.");
  reduce("ReduceMin", 1, evaluate_reduce<Minimum>, "Least over axes.");
  reduce("ReduceL1", 4, evaluate_reduce<L1>, "Sum of magnitudes over axes.");
  reduce("ReduceL2", 4, evaluate_reduce<L2>, "Root of the sum of squares over axes.");
  reduce("ReduceLogicalAnd", 1, evaluate_reduce<And>, "All true over axes.", infer_reduce_logical);
  reduce("ReduceLogicalOr", 1, evaluate_reduce<Or>, "Any true over axes.", infer_reduce_logical);
  table.add("CumSum", 3, 2, 2, infer_cum_sum, evaluate_cum_sum, "Running sum along an axis.")
      .flag("exclusive", false)
      .flag("reverse", false);
}

}  // namespace v1
}  // namespace tenon
