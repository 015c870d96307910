// SPDX-License-Identifier: Apache-2.0
// Typed classes for operations that carry data or that users construct directly; make_node makes all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon {
inline namespace v1 {
class Layout;  // graph/layout.hpp

namespace op {

/// Values of padded elements.
enum class PadMode { CONSTANT = 0, EDGE, REFLECT, SYMMETRIC };

namespace v0 {

/// An input of a model.
class TENON_API Parameter final : public Node {
 public:
  Parameter(element::Type type, const PartialShape& shape);
  static const DiscreteTypeInfo& get_type_info_static();
  const element::Type& get_element_type() const { return get_output_element_type(0); }
  const PartialShape& get_partial_shape() const { return get_output_partial_shape(0); }
  void set_element_type(element::Type type);
  void set_partial_shape(const PartialShape& shape);
  /// Like layout::get_layout and set_layout of the output.
  Layout get_layout() const;
  void set_layout(const Layout& layout);
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override;
};

/// An output of a model. Its output is the same tensor that it reads, names included.
class TENON_API Result final : public Node {
 public:
  explicit Result(const Output<Node>& source);
  static const DiscreteTypeInfo& get_type_info_static();
  Layout get_layout() const;
  void set_layout(const Layout& layout);
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override;

 private:
  void after_arguments_change() override;
};

/// A value known when the model is made. Holds a core Tensor, so weights may lie in a mapped file without being read or
/// duplicated. The tensor's content must not change afterwards.
class TENON_API Constant final : public Node {
 public:
  explicit Constant(const Tensor& value);
  /// Copies size_bytes of packed elements.
  Constant(element::Type type, const Shape& shape, const void* data);
  /// Converts each value to `type`; a single value fills the whole shape. @errors kInvalidArgument: another count.
  Constant(element::Type type, const Shape& shape, const std::vector<double>& values);
  Constant(element::Type type, const Shape& shape, const std::vector<std::int64_t>& values);
  template <typename T>
  static std::shared_ptr<Constant> create(element::Type type, const Shape& shape, const std::vector<T>& values) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::make_shared<Constant>(type, shape, std::vector<double>(values.begin(), values.end()));
    } else {
      return std::make_shared<Constant>(type, shape, std::vector<std::int64_t>(values.begin(), values.end()));
    }
  }
  static std::shared_ptr<Constant> create(element::Type type, const Shape& shape, std::initializer_list<double> values);
  static const DiscreteTypeInfo& get_type_info_static();

  const Tensor& get_tensor() const { return *value_; }
  const Tensor& get_tensor_view() const { return *value_; }
  std::size_t get_byte_size() const;
  const void* get_data_ptr() const;
  template <typename T>
  const T* get_data_ptr() const {
    return static_cast<const T*>(get_data_ptr());
  }
  /// All values, converted. The cost is proportional to the tensor's size.
  template <typename T>
  std::vector<T> cast_vector() const {
    if constexpr (std::is_floating_point_v<T>) {
      const auto values = to_doubles();
      return std::vector<T>(values.begin(), values.end());
    } else {
      const auto values = to_integers();
      return std::vector<T>(values.begin(), values.end());
    }
  }
  std::vector<double> to_doubles() const;
  std::vector<std::int64_t> to_integers() const;
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override;

 private:
  std::shared_ptr<const Tensor> value_;
};

}  // namespace v0

// Thin classes: a constructor over make_node's row.
#define TENON_UNARY_OP(Name)                               \
  class TENON_API Name final : public Node {               \
   public:                                                 \
    explicit Name(const Output<Node>& x);                  \
    static const DiscreteTypeInfo& get_type_info_static(); \
  };
#define TENON_BINARY_OP(Name)                                                                 \
  class TENON_API Name final : public Node {                                                  \
   public:                                                                                    \
    Name(const Output<Node>& x, const Output<Node>& y, std::string auto_broadcast = "numpy"); \
    static const DiscreteTypeInfo& get_type_info_static();                                    \
  };
namespace v0 {
TENON_UNARY_OP(Relu)
TENON_UNARY_OP(Sigmoid)
TENON_UNARY_OP(Tanh)
TENON_UNARY_OP(Exp)
TENON_UNARY_OP(Sqrt)
TENON_UNARY_OP(Abs)
TENON_UNARY_OP(Negative)
class TENON_API Convert final : public Node {
 public:
  Convert(const Output<Node>& x, element::Type destination);
  static const DiscreteTypeInfo& get_type_info_static();
};
class TENON_API Concat final : public Node {
 public:
  Concat(const OutputVector& parts, std::int64_t axis);
  static const DiscreteTypeInfo& get_type_info_static();
};
class TENON_API MatMul final : public Node {
 public:
  MatMul(const Output<Node>& a, const Output<Node>& b, bool transpose_a = false, bool transpose_b = false);
  static const DiscreteTypeInfo& get_type_info_static();
};
}  // namespace v0
namespace v1 {
TENON_BINARY_OP(Add)
TENON_BINARY_OP(Subtract)
TENON_BINARY_OP(Multiply)
TENON_BINARY_OP(Divide)
TENON_BINARY_OP(Maximum)
TENON_BINARY_OP(Minimum)
class TENON_API Reshape final : public Node {
 public:
  Reshape(const Output<Node>& x, const Output<Node>& pattern, bool special_zero);
  static const DiscreteTypeInfo& get_type_info_static();
};
class TENON_API Transpose final : public Node {
 public:
  Transpose(const Output<Node>& x, const Output<Node>& order);
  static const DiscreteTypeInfo& get_type_info_static();
};
class TENON_API Convolution final : public Node {
 public:
  Convolution(const Output<Node>& data, const Output<Node>& filters, const std::vector<std::int64_t>& strides,
              const std::vector<std::int64_t>& pads_begin, const std::vector<std::int64_t>& pads_end,
              const std::vector<std::int64_t>& dilations, const std::string& auto_pad = "explicit");
  static const DiscreteTypeInfo& get_type_info_static();
};
}  // namespace v1
namespace v8 {
class TENON_API Softmax final : public Node {
 public:
  explicit Softmax(const Output<Node>& x, std::int64_t axis = 1);
  static const DiscreteTypeInfo& get_type_info_static();
};
}  // namespace v8
#undef TENON_UNARY_OP
#undef TENON_BINARY_OP

}  // namespace op

using ParameterVector = std::vector<std::shared_ptr<op::v0::Parameter>>;
using ResultVector = std::vector<std::shared_ptr<op::v0::Result>>;

}  // namespace v1
}  // namespace tenon
