// SPDX-License-Identifier: Apache-2.0
// A value known when the model is made.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "openvino/core/axis_set.hpp"
#include "openvino/core/axis_vector.hpp"
#include "openvino/core/coordinate.hpp"
#include "openvino/core/coordinate_diff.hpp"
#include "openvino/core/node.hpp"
#include "openvino/core/rtti.hpp"
#include "openvino/op/op.hpp"
#include "openvino/runtime/tensor.hpp"

namespace ov {
namespace op {
namespace v0 {
class OPENVINO_API Constant : public Op {
 public:
  OPENVINO_RTTI("Constant", "opset1")
  /// Shares the tensor's memory, whose content must not change.
  explicit Constant(const Tensor& tensor);
  /// Copies packed elements.
  Constant(const element::Type& type, const Shape& shape, const void* data);
  /// One value for each element, or one for all. @errors Exception: another count.
  Constant(const element::Type& type, const Shape& shape, const std::vector<double>& values);
  Constant(const element::Type& type, const Shape& shape, const std::vector<std::int64_t>& values);
  template <typename T>
  Constant(const element::Type& type, const Shape& shape, const std::vector<T>& values)
      : Constant(type, shape, std::vector<Wide<T>>(values.begin(), values.end())) {}
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Constant(const element::Type& type, const Shape& shape, T value)
      : Constant(type, shape, std::vector<Wide<T>>{static_cast<Wide<T>>(value)}) {}
  /// Texts.
  Constant(const element::Type& type, const Shape& shape, const std::vector<std::string>& values);
  /// Zeros, or empty texts.
  Constant(const element::Type& type, const Shape& shape);
  /// Shares memory that `so` keeps, whose content must not change.
  Constant(const element::Type& type, const Shape& shape, const void* data, std::shared_ptr<void> so);
  /// Shares the other one's memory. @errors Exception: a shape of another number of elements.
  Constant(const Constant& other);
  Constant(const Constant& other, const Shape& new_shape);
  explicit Constant(std::shared_ptr<Impl> impl) : Op(std::move(impl)) {}
  template <typename T>
  static std::shared_ptr<Constant> create(const element::Type& type, const Shape& shape, const std::vector<T>& values) {
    return std::make_shared<Constant>(type, shape, values);
  }
  template <typename T>
  static std::shared_ptr<Constant> create(const element::Type& type, const Shape& shape,
                                          std::initializer_list<T> values) {
    return std::make_shared<Constant>(type, shape, std::vector<T>(values));
  }
  static std::shared_ptr<Constant> create(const element::Type& type, const Shape& shape, const void* data) {
    return std::make_shared<Constant>(type, shape, data);
  }

  std::size_t get_byte_size() const;
  const void* get_data_ptr() const;
  template <typename T>
  const T* get_data_ptr() const {
    return static_cast<const T*>(get_data_ptr());
  }
  /// The values, converted; at most `count` of them if it is not negative.
  template <typename T>
  std::vector<T> cast_vector(std::int64_t count = -1) const {
    const auto all = [&] {
      if constexpr (std::is_same_v<T, std::string>)
        return get_value_strings();
      else
        return wide_values(static_cast<Wide<T>*>(nullptr));
    }();
    const auto end = count < 0 || static_cast<std::size_t>(count) > all.size() ? all.end() : all.begin() + count;
    std::vector<T> values;
    for (auto value = all.begin(); value != end; ++value) values.push_back(static_cast<T>(*value));
    return values;
  }
  template <typename T>
  std::vector<T> get_vector() const {
    const T* first = get_data_ptr<T>();
    return std::vector<T>(first, first + shape_size(get_shape()));
  }
  /// In bytes.
  Strides get_strides() const { return get_tensor_view().get_strides(); }
  AxisVector get_axis_vector_val() const { return AxisVector(cast_vector<std::size_t>()); }
  Shape get_shape_val() const { return Shape(cast_vector<std::size_t>()); }
  Strides get_strides_val() const { return Strides(cast_vector<std::size_t>()); }
  AxisSet get_axis_set_val() const {
    const AxisVector axes = get_axis_vector_val();
    return AxisSet(std::set<std::size_t>(axes.begin(), axes.end()));
  }
  Coordinate get_coordinate_val() const { return Coordinate(cast_vector<std::size_t>()); }
  CoordinateDiff get_coordinate_diff_val() const { return CoordinateDiff(cast_vector<std::ptrdiff_t>()); }
  Tensor get_tensor_view() const;
  /// Element `index` as text, packed elements counted one by one.
  std::string convert_value_to_string(std::size_t index) const;
  std::vector<std::string> get_value_strings() const;
  bool get_all_data_elements_bitwise_identical() const;

 private:
  template <typename T>
  using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  std::vector<double> wide_values(double*) const;
  std::vector<std::int64_t> wide_values(std::int64_t*) const;
};
}  // namespace v0
}  // namespace op
}  // namespace ov
