// SPDX-License-Identifier: Apache-2.0
// Attributes and inputs of an ONNX node.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {
using schema::AttributeProto;

const AttributeProto& typed(const AttributeProto* attribute, std::string_view name,
                            AttributeProto::AttributeType type) {
  if (!attribute) fail("attribute \"" + std::string(name) + "\" is missing");
  // Writers of old files omit the type; then the set field decides, and an unset one reads as empty.
  if (attribute->has_type() && attribute->type() != type) {
    fail("attribute \"" + std::string(name) + "\" has type " + std::to_string(attribute->type()) + ", expected " +
         std::to_string(type));
  }
  return *attribute;
}
}  // namespace

void fail(const std::string& message) { throw Error(Code::kInvalidArgument, message); }
void unimplemented(const std::string& message) { throw Error(Code::kUnimplemented, message); }

const Out& NodeContext::input(std::size_t index) const {
  if (!has_input(index)) fail("input " + std::to_string(index) + " is missing");
  return inputs_[index];
}

OutputVector NodeContext::inputs() const {
  OutputVector all;
  for (std::size_t i = 0; i < inputs_.size(); ++i) all.push_back(input(i));
  return all;
}

std::int64_t NodeContext::rank(std::size_t index) const {
  const PartialShape& shape = input(index).get_partial_shape();
  if (shape.rank().is_dynamic())
    unimplemented(
        "input " + std::to_string(index) +
        " has a dynamic rank, and this operation is written out for a known one: give the model's inputs ranks, "
        "or run ONNX's shape inference over the file");
  return shape.rank().get_length();
}

std::optional<Ints> known_ints(const Out& x) {
  const auto& value = x.get_tensor().value();
  if (!value || !element::Type(value->element_type()).is_integral()) return std::nullopt;
  return op::v0::Constant(*value).to_integers();
}

std::optional<Ints> NodeContext::known_ints(std::size_t index) const { return onnx_reader::known_ints(input(index)); }

Ints NodeContext::constant_ints(std::size_t index, const char* meaning) const {
  auto values = known_ints(index);
  if (!values) {
    unimplemented("input " + std::to_string(index) + " (" + meaning +
                  ") is known only when the model runs; only a constant is supported");
  }
  return *values;
}

schema::AttributeProto* NodeContext::find(std::string_view attribute) const {
  for (auto& candidate : *proto_.mutable_attribute()) {
    if (candidate.name() == attribute) return &candidate;
  }
  return nullptr;
}

std::int64_t NodeContext::get_int(std::string_view attribute) const {
  return typed(find(attribute), attribute, AttributeProto::INT).i();
}
std::int64_t NodeContext::get_int(std::string_view attribute, std::int64_t fallback) const {
  return has(attribute) ? get_int(attribute) : fallback;
}
double NodeContext::get_float(std::string_view attribute, double fallback) const {
  return has(attribute) ? static_cast<double>(typed(find(attribute), attribute, AttributeProto::FLOAT).f()) : fallback;
}
std::string NodeContext::get_string(std::string_view attribute, std::string_view fallback) const {
  return has(attribute) ? typed(find(attribute), attribute, AttributeProto::STRING).s() : std::string(fallback);
}
Ints NodeContext::get_ints(std::string_view attribute) const {
  const auto& values = typed(find(attribute), attribute, AttributeProto::INTS).ints();
  return Ints(values.begin(), values.end());
}
Ints NodeContext::get_ints(std::string_view attribute, Ints fallback) const {
  return has(attribute) ? get_ints(attribute) : std::move(fallback);
}
std::vector<double> NodeContext::get_floats(std::string_view attribute) const {
  if (!has(attribute)) return {};
  const auto& values = typed(find(attribute), attribute, AttributeProto::FLOATS).floats();
  return std::vector<double>(values.begin(), values.end());
}
std::vector<std::string> NodeContext::get_strings(std::string_view attribute) const {
  if (!has(attribute)) return {};
  const auto& values = typed(find(attribute), attribute, AttributeProto::STRINGS).strings();
  return std::vector<std::string>(values.begin(), values.end());
}
Tensor NodeContext::get_tensor(std::string_view attribute) const {
  typed(find(attribute), attribute, AttributeProto::TENSOR);
  return tensor_from_proto(*find(attribute)->mutable_t(), external_, "attribute \"" + std::string(attribute) + "\"");
}
Tensor NodeContext::get_sparse_tensor(std::string_view attribute) const {
  typed(find(attribute), attribute, AttributeProto::SPARSE_TENSOR);
  return tensor_from_sparse(*find(attribute)->mutable_sparse_tensor(), external_,
                            "attribute \"" + std::string(attribute) + "\"");
}
const schema::GraphProto& NodeContext::get_graph(std::string_view attribute) const {
  return typed(find(attribute), attribute, AttributeProto::GRAPH).g();
}
ElementType NodeContext::get_type(std::string_view attribute) const {
  return element_type_from_onnx(static_cast<int>(get_int(attribute)), "attribute \"" + std::string(attribute) + "\"");
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
