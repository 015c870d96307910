// SPDX-License-Identifier: Apache-2.0
// Classes of operations that carry data or that users construct directly.
#include <tenon/graph/model_ops.hpp>

#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {
namespace op {

namespace v0 {

Parameter::Parameter(element::Type type, const PartialShape& shape)
    : Node(row("Parameter", 1), {}, {{"element_type", type}, {"shape", shape}}, Deferred{}) {
  constructor_validate_and_infer_types();
}
const DiscreteTypeInfo& Parameter::get_type_info_static() { return row("Parameter", 1).type_info; }
void Parameter::set_element_type(element::Type type) {
  set_attribute("element_type", type);
  validate_and_infer_types();
}
void Parameter::set_partial_shape(const PartialShape& shape) {
  set_attribute("shape", shape);
  validate_and_infer_types();
}
Layout Parameter::get_layout() const { return layout::get_layout(output(0)); }
void Parameter::set_layout(const Layout& layout) { layout::set_layout(output(0), layout); }
std::shared_ptr<Node> Parameter::clone_with_new_inputs(const OutputVector& inputs) const {
  if (!inputs.empty()) throw Error(Code::kInvalidArgument, describe() + ": a Parameter has no inputs");
  auto copy = std::make_shared<Parameter>(get_element_type(), get_partial_shape());
  if (has_friendly_name()) copy->set_friendly_name(get_friendly_name());
  copy->get_rt_info() = get_rt_info();
  return copy;
}

Result::Result(const Output<Node>& source) : Node(row("Result", 1), {source}, {}, Deferred{}) {
  after_arguments_change();
}
const DiscreteTypeInfo& Result::get_type_info_static() { return row("Result", 1).type_info; }
Layout Result::get_layout() const { return layout::get_layout(output(0)); }
void Result::set_layout(const Layout& layout) { layout::set_layout(output(0), layout); }
void Result::after_arguments_change() { share_output_tensor(0, input_value(0).get_tensor_ptr()); }
std::shared_ptr<Node> Result::clone_with_new_inputs(const OutputVector& inputs) const {
  if (inputs.size() != 1)
    throw Error(Code::kInvalidArgument,
                describe() + ": a Result has one input, found " + std::to_string(inputs.size()));
  auto copy = std::make_shared<Result>(inputs[0]);
  if (has_friendly_name()) copy->set_friendly_name(get_friendly_name());
  copy->get_rt_info() = get_rt_info();
  return copy;
}

Constant::Constant(const Tensor& value)
    : Node(row("Constant", 1), {}, {}, Deferred{}), value_(std::make_shared<Tensor>(value)) {
  if (!value) throw Error(Code::kInvalidArgument, "a Constant needs a tensor; the one given is empty");
  set_output_size(1);
  set_output_type(0, value.element_type(), PartialShape(value.shape()));
  get_output_tensor(0).set_value(value_);
}
namespace {
Tensor packed_copy(element::Type type, const Shape& shape, const void* data) {
  Tensor tensor(type, shape);
  if (tensor.size_bytes() == 0) return tensor;
  if (!data) throw Error(Code::kInvalidArgument, "Constant of shape " + to_string(shape) + ": null data");
  if (type == element::string)
    Tensor(type, shape, const_cast<void*>(data)).copy_to(tensor);
  else
    std::memcpy(tensor.data(), data, tensor.size_bytes());
  return tensor;
}
template <typename T>
Tensor converted(element::Type type, const Shape& shape, const std::vector<T>& values) {
  Tensor tensor(type, shape);
  const std::size_t count = tensor.element_count();
  if (values.size() != count && values.size() != 1) {
    throw Error(Code::kInvalidArgument, "Constant of shape " + to_string(shape) + ": expected " +
                                            std::to_string(count) + " values or one, found " +
                                            std::to_string(values.size()));
  }
  if (count == 0) return tensor;
  if (values.size() == count)
    store_elements(type, values.data(), count, tensor.data());
  else
    store_elements(type, std::vector<T>(count, values[0]).data(), count, tensor.data());
  return tensor;
}
}  // namespace
Constant::Constant(element::Type type, const Shape& shape, const void* data)
    : Constant(packed_copy(type, shape, data)) {}
Constant::Constant(element::Type type, const Shape& shape, const std::vector<double>& values)
    : Constant(converted(type, shape, values)) {}
Constant::Constant(element::Type type, const Shape& shape, const std::vector<std::int64_t>& values)
    : Constant(converted(type, shape, values)) {}
std::shared_ptr<Constant> Constant::create(element::Type type, const Shape& shape,
                                           std::initializer_list<double> values) {
  return std::make_shared<Constant>(type, shape, std::vector<double>(values));
}
const DiscreteTypeInfo& Constant::get_type_info_static() { return row("Constant", 1).type_info; }
std::size_t Constant::get_byte_size() const { return value_->size_bytes(); }
const void* Constant::get_data_ptr() const { return value_->data(); }
std::vector<double> Constant::to_doubles() const { return to_vector<double>(*value_); }
std::vector<std::int64_t> Constant::to_integers() const { return to_vector<std::int64_t>(*value_); }
std::shared_ptr<Node> Constant::clone_with_new_inputs(const OutputVector& inputs) const {
  if (!inputs.empty()) throw Error(Code::kInvalidArgument, describe() + ": a Constant has no inputs");
  auto copy = std::make_shared<Constant>(*value_);
  if (has_friendly_name()) copy->set_friendly_name(get_friendly_name());
  copy->get_rt_info() = get_rt_info();
  return copy;
}

}  // namespace v0

#define TENON_UNARY_OP(Name)                                      \
  Name::Name(const Output<Node>& x) : Node(row(#Name, 1), {x}) {} \
  const DiscreteTypeInfo& Name::get_type_info_static() { return row(#Name, 1).type_info; }
#define TENON_BINARY_OP(Name)                                                           \
  Name::Name(const Output<Node>& x, const Output<Node>& y, std::string auto_broadcast)  \
      : Node(row(#Name, 1), {x, y}, {{"auto_broadcast", std::move(auto_broadcast)}}) {} \
  const DiscreteTypeInfo& Name::get_type_info_static() { return row(#Name, 1).type_info; }

namespace v0 {
TENON_UNARY_OP(Relu)
TENON_UNARY_OP(Sigmoid)
TENON_UNARY_OP(Tanh)
TENON_UNARY_OP(Exp)
TENON_UNARY_OP(Sqrt)
TENON_UNARY_OP(Abs)
TENON_UNARY_OP(Negative)
Convert::Convert(const Output<Node>& x, element::Type destination)
    : Node(row("Convert", 1), {x}, {{"destination_type", destination}}) {}
const DiscreteTypeInfo& Convert::get_type_info_static() { return row("Convert", 1).type_info; }
Concat::Concat(const OutputVector& parts, std::int64_t axis) : Node(row("Concat", 1), parts, {{"axis", axis}}) {}
const DiscreteTypeInfo& Concat::get_type_info_static() { return row("Concat", 1).type_info; }
MatMul::MatMul(const Output<Node>& a, const Output<Node>& b, bool transpose_a, bool transpose_b)
    : Node(row("MatMul", 1), {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}) {}
const DiscreteTypeInfo& MatMul::get_type_info_static() { return row("MatMul", 1).type_info; }
}  // namespace v0

namespace v1 {
TENON_BINARY_OP(Add)
TENON_BINARY_OP(Subtract)
TENON_BINARY_OP(Multiply)
TENON_BINARY_OP(Divide)
TENON_BINARY_OP(Maximum)
TENON_BINARY_OP(Minimum)
Reshape::Reshape(const Output<Node>& x, const Output<Node>& pattern, bool special_zero)
    : Node(row("Reshape", 1), {x, pattern}, {{"special_zero", special_zero}}) {}
const DiscreteTypeInfo& Reshape::get_type_info_static() { return row("Reshape", 1).type_info; }
Transpose::Transpose(const Output<Node>& x, const Output<Node>& order) : Node(row("Transpose", 1), {x, order}) {}
const DiscreteTypeInfo& Transpose::get_type_info_static() { return row("Transpose", 1).type_info; }
Convolution::Convolution(const Output<Node>& data, const Output<Node>& filters,
                         const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& pads_begin,
                         const std::vector<std::int64_t>& pads_end, const std::vector<std::int64_t>& dilations,
                         const std::string& auto_pad)
    : Node(row("Convolution", 1), {data, filters},
           {{"strides", strides},
            {"pads_begin", pads_begin},
            {"pads_end", pads_end},
            {"dilations", dilations},
            {"auto_pad", auto_pad}}) {}
const DiscreteTypeInfo& Convolution::get_type_info_static() { return row("Convolution", 1).type_info; }
}  // namespace v1

namespace v8 {
Softmax::Softmax(const Output<Node>& x, std::int64_t axis) : Node(row("Softmax", 8), {x}, {{"axis", axis}}) {}
const DiscreteTypeInfo& Softmax::get_type_info_static() { return row("Softmax", 8).type_info; }
}  // namespace v8
#undef TENON_UNARY_OP
#undef TENON_BINARY_OP

}  // namespace op
}  // namespace v1
}  // namespace tenon
