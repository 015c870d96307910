// SPDX-License-Identifier: Apache-2.0
// ONNX: tensors, optionals and sequences among a graph's inputs.
#include <tenon/graph/readers/onnx/internal/inputs.hpp>

#include <tenon/graph/readers/onnx/internal/sequence.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

PartialShape read_shape(const schema::TypeProto::Tensor& type) {
  if (!type.has_shape()) return PartialShape::dynamic();
  std::vector<Dimension> dimensions;
  for (const auto& dimension : type.shape().dim()) {
    const bool known = dimension.has_dim_value() && dimension.dim_value() >= 0;
    dimensions.push_back(known ? Dimension(dimension.dim_value()) : Dimension::dynamic());
  }
  return PartialShape(std::move(dimensions));
}

Out add_parameter(const schema::TypeProto::Tensor& type, const std::string& name, const std::string& what,
                  ParameterVector& parameters) {
  auto parameter =
      std::make_shared<op::v0::Parameter>(element_type_from_onnx(type.elem_type(), what), read_shape(type));
  parameter->set_friendly_name(name);
  parameter->get_output_tensor(0).add_names({name});
  if (is_two_bits(type.elem_type())) mark_two_bits(parameter->output(0));
  parameters.push_back(parameter);
  return parameter->output(0);
}

std::int64_t stated_length(const OnnxOptions& options, const std::string& name, const std::string& what) {
  const auto length = options.sequence_lengths.find(name);
  if (length == options.sequence_lengths.end())
    throw Error(Code::kUnimplemented,
                what +
                    " is a sequence, whose length the file leaves open; models here take tensors: state the length "
                    "in OnnxOptions::sequence_lengths of read_onnx, or unpack the sequence outside");
  if (length->second > static_cast<std::size_t>(kMaxElements))
    throw Error(Code::kResourceExhausted, what + " has " + std::to_string(length->second) + " elements; up to " +
                                              std::to_string(kMaxElements) + " are");
  return static_cast<std::int64_t>(length->second);
}

}  // namespace

Out read_input(const schema::ValueInfoProto& input, const OnnxOptions& options, const std::string& what,
               ParameterVector& parameters) {
  const std::string& name = input.name();
  const bool is_optional = input.type().has_optional_type();
  if (is_optional && options.empty_optionals.count(name)) return sequence_of(Sequence::Form::kAbsent, {});
  // Any other optional always holds a value: a model's inputs are all given.
  const schema::TypeProto& type = is_optional ? input.type().optional_type().elem_type() : input.type();
  if (type.has_tensor_type()) return add_parameter(type.tensor_type(), name, what, parameters);
  if (!type.has_sequence_type() || !type.sequence_type().elem_type().has_tensor_type())
    throw Error(Code::kUnimplemented,
                what + " is neither a tensor nor a sequence of tensors; models here take tensors: unpack it outside");
  const schema::TypeProto::Tensor& element = type.sequence_type().elem_type().tensor_type();
  const std::int64_t length = stated_length(options, name, what);
  OutputVector elements;
  for (std::int64_t i = 0; i < length; ++i)
    elements.push_back(add_parameter(element, name + "." + std::to_string(i), what, parameters));
  return sequence_of(Sequence::Form::kList, std::move(elements));
}

void check_options(const OnnxOptions& options, const Values& inputs, const std::string& origin) {
  const auto check = [&](const std::string& name, Sequence::Form form, const char* kind) {
    const auto found = inputs.find(name);
    const Sequence* sequence = found == inputs.end() ? nullptr : as_sequence(found->second);
    if (!sequence || sequence->form() != form)
      throw Error(Code::kInvalidArgument,
                  origin + ": has no input '" + name + "' that is " + kind + ", which the options name");
  };
  for (const auto& [name, length] : options.sequence_lengths) check(name, Sequence::Form::kList, "a sequence");
  for (const auto& name : options.empty_optionals) check(name, Sequence::Form::kAbsent, "an optional");
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
