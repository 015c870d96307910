// SPDX-License-Identifier: Apache-2.0
// Models and TensorProto: sizes, shapes and lengths are checked before any bytes are read.
#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <memory>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <tenon/core/adopt_bytes.hpp>
#include <tenon/core/host.hpp>
#include <tenon/graph/readers/internal/few_bits.hpp>
#include <tenon/graph/readers/internal/weights.hpp>
#include <tenon/graph/readers/onnx/internal/tensor_proto.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

// Below this size a copy is cheaper than keeping a string alive.
constexpr std::size_t kAdoptBytes = 4096;

Tensor adopt_raw(schema::TensorProto& proto, ElementType type, const Shape& shape) {
  std::unique_ptr<std::string> bytes(proto.release_raw_data());
  if (bytes->size() < kAdoptBytes) {
    Tensor tensor(type, shape);
    std::memcpy(tensor.data(), bytes->data(), bytes->size());
    return tensor;
  }
  void* data = bytes->data();
  const std::size_t size = bytes->size();
  auto memory = adopt_bytes(data, size, true, [raw = bytes.release()] { delete raw; });
  return Tensor(TensorInfo{type, shape, {}}, memory);
}

// Without a limit, a few bytes of a file could request any amount of memory.
constexpr std::size_t kMaxSparseBytes = std::size_t{1} << 30;

template <typename Destination, typename Field>
void fill(Tensor& tensor, const Field& field) {
  auto* out = static_cast<Destination*>(tensor.data());
  for (int i = 0; i < field.size(); ++i) out[i] = static_cast<Destination>(field.Get(i));
}

// In these types two elements share an 8-bit entry.
std::size_t field_length(ElementType type, std::size_t count) { return bit_width(type) == 4 ? (count + 1) / 2 : count; }

Tensor from_typed_fields(const schema::TensorProto& proto, ElementType type, const Shape& shape, std::size_t count,
                         const std::string& what) {
  const auto check = [&](int size, const char* field) {
    if (static_cast<std::size_t>(size) == field_length(type, count)) return;
    throw Error(Code::kInvalidArgument, what + " is " + std::string(name(type)) + " " + to_string(shape) +
                                            ", which needs " + std::to_string(field_length(type, count)) +
                                            " entries, but " + field + " has " + std::to_string(size));
  };
  switch (type) {
    case ElementType::kF32:
      check(proto.float_data_size(), "float_data");
      break;
    case ElementType::kF64:
      check(proto.double_data_size(), "double_data");
      break;
    case ElementType::kI64:
      check(proto.int64_data_size(), "int64_data");
      break;
    case ElementType::kString:
      check(proto.string_data_size(), "string_data");
      break;
    case ElementType::kU32:
    case ElementType::kU64:
      check(proto.uint64_data_size(), "uint64_data");
      break;
    default:
      check(proto.int32_data_size(), "int32_data");
      break;
  }
  Tensor tensor(type, shape);
  if (count == 0) return tensor;
  switch (type) {
    case ElementType::kString:
      std::copy(proto.string_data().begin(), proto.string_data().end(), tensor.data<std::string>());
      break;
    case ElementType::kF32:
      fill<float>(tensor, proto.float_data());
      break;
    case ElementType::kF64:
      fill<double>(tensor, proto.double_data());
      break;
    case ElementType::kI64:
      fill<std::int64_t>(tensor, proto.int64_data());
      break;
    case ElementType::kU64:
      fill<std::uint64_t>(tensor, proto.uint64_data());
      break;
    case ElementType::kU32:
      fill<std::uint32_t>(tensor, proto.uint64_data());
      break;
    case ElementType::kI32:
      fill<std::int32_t>(tensor, proto.int32_data());
      break;
    case ElementType::kBool: {
      auto* out = static_cast<std::uint8_t*>(tensor.data());
      for (int i = 0; i < proto.int32_data_size(); ++i) out[i] = proto.int32_data(i) != 0;
      break;
    }
    case ElementType::kI8:
    case ElementType::kU8:
    case ElementType::kI4:
    case ElementType::kU4:
    case ElementType::kF4E2M1:
    case ElementType::kF8E4M3:
    case ElementType::kF8E5M2:
    case ElementType::kF8E4M3Fnuz:
    case ElementType::kF8E5M2Fnuz:
    case ElementType::kF8E8M0:
      fill<std::uint8_t>(tensor, proto.int32_data());
      break;
    default:
      fill<std::uint16_t>(tensor, proto.int32_data());
      break;  // i16, u16, and the bits of f16 and bf16.
  }
  return tensor;
}

std::uint64_t byte_count(const std::string& text, const std::string& what) {
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size()) {
    throw Error(Code::kInvalidArgument, what + ": \"" + text + "\" is not a byte count of external data");
  }
  return value;
}

Tensor from_external(const schema::TensorProto& proto, ExternalData& external, ElementType type, const Shape& shape,
                     std::size_t size, const std::string& what) {
  std::string location;
  std::uint64_t offset = 0, length = size;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset")
      offset = byte_count(entry.value(), what);
    else if (entry.key() == "length")
      length = byte_count(entry.value(), what);
  }
  if (location.empty()) throw Error(Code::kInvalidArgument, what + " has external data without a location");
  return readers::tensor_at(external.file(location, what), offset, length, type, shape,
                            what + " in \"" + location + "\"");
}

/// protobuf gives up at 100 nested messages (32 graphs) and reports it like a damaged file.
constexpr int kMessagesPerGraph = 3, kParsedGraphs = 300;

bool parse(const void* data, int size, schema::ModelProto& proto) {
  google::protobuf::io::ArrayInputStream array(data, size);
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetRecursionLimit(kMessagesPerGraph * kParsedGraphs);
  return proto.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}
}  // namespace

schema::ModelProto parse_model(const Tensor& bytes, const std::string& origin) {
  const std::size_t size = bytes ? bytes.size_bytes() : 0;
  if (size > static_cast<std::size_t>(INT_MAX)) {
    throw Error(Code::kInvalidArgument,
                origin + " is larger than the 2 GiB that ONNX's format allows; store weights as external data");
  }
  schema::ModelProto proto;
  if (size == 0 || !parse(bytes.data(), static_cast<int>(size), proto)) {
    throw Error(Code::kInvalidArgument,
                origin +
                    " is no ONNX model, or a truncated or damaged one (its protobuf does not parse, or its graphs are "
                    "nested hundreds of levels deep)");
  }
  return proto;
}

ElementType element_type_from_onnx(int type, const std::string& what) {
  using schema::TensorProto;
  switch (type) {
    case TensorProto::FLOAT:
      return ElementType::kF32;
    case TensorProto::UINT8:
      return ElementType::kU8;
    case TensorProto::INT8:
      return ElementType::kI8;
    case TensorProto::UINT16:
      return ElementType::kU16;
    case TensorProto::INT16:
      return ElementType::kI16;
    case TensorProto::INT32:
      return ElementType::kI32;
    case TensorProto::INT64:
      return ElementType::kI64;
    case TensorProto::BOOL:
      return ElementType::kBool;
    case TensorProto::FLOAT16:
      return ElementType::kF16;
    case TensorProto::DOUBLE:
      return ElementType::kF64;
    case TensorProto::UINT32:
      return ElementType::kU32;
    case TensorProto::UINT64:
      return ElementType::kU64;
    case TensorProto::BFLOAT16:
      return ElementType::kBf16;
    case TensorProto::STRING:
      return ElementType::kString;
    // The following are newer than some schema files.
    case 17:
      return ElementType::kF8E4M3;
    case 18:
      return ElementType::kF8E4M3Fnuz;
    case 19:
      return ElementType::kF8E5M2;
    case 20:
      return ElementType::kF8E5M2Fnuz;
    case 21:
      return ElementType::kU4;
    case 22:
      return ElementType::kI4;
    case 23:
      return ElementType::kF4E2M1;
    case 24:
      return ElementType::kF8E8M0;
    case kUint2:
      return ElementType::kU4;
    case kInt2:
      return ElementType::kI4;
    default:
      break;
  }
  const std::string label = type == TensorProto::COMPLEX64    ? "complex64"
                            : type == TensorProto::COMPLEX128 ? "complex128"
                                                              : std::to_string(type);
  throw Error(
      Code::kUnimplemented,
      what + " has element type " + label +
          ", which is not supported; supported are bool, string, float16/32/64, bfloat16, the floats of 4 and 8 "
          "bits and the integers of 2 to 64 bits");
}

const Tensor& ExternalData::file(const std::string& location, const std::string& what) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  namespace fs = std::filesystem;
  const fs::path relative(location);
  bool leaves = relative.is_absolute() || location.find('\0') != std::string::npos;
  for (const fs::path& part : relative) leaves |= part == "..";
  std::error_code error;
  const fs::path base = fs::weakly_canonical(folder_.empty() ? fs::path(".") : folder_, error);
  const fs::path target = fs::weakly_canonical(base / relative, error);
  // A link may also lead outside the folder.
  const fs::path inside = target.lexically_relative(base);
  if (leaves || error || inside.empty() || *inside.begin() == "..") {
    throw Error(Code::kInvalidArgument,
                what + " has its data at \"" + location + "\", outside the model's folder; such paths are refused");
  }
  return files_.emplace(location, map_ ? map_file(target) : read_file(target)).first->second;
}

namespace {
/// A tensor of 2-bit numbers, whose bytes hold four each.
Tensor from_two_bits(const schema::TensorProto& proto, const Shape& shape, ExternalData& external,
                     const std::string& what) {
  const bool is_signed = proto.data_type() == kInt2;
  const readers::FewBits stored{2, is_signed, is_signed ? ElementType::kI4 : ElementType::kU4};
  schema::TensorProto bytes = proto;
  bytes.set_data_type(schema::TensorProto::UINT8);
  bytes.clear_dims();
  bytes.add_dims(static_cast<std::int64_t>(stored.bytes(element_count(shape))));
  return readers::widened(tensor_from_proto(bytes, external, what), stored, shape, what);
}
}  // namespace

Tensor tensor_from_proto(schema::TensorProto& proto, ExternalData& external, const std::string& what) {
  const ElementType type = element_type_from_onnx(proto.data_type(), what);
  Shape shape;
  for (const auto extent : proto.dims()) {
    if (extent < 0) throw Error(Code::kInvalidArgument, what + " has a negative extent " + std::to_string(extent));
    shape.push_back(static_cast<std::size_t>(extent));
  }
  const auto size = checked_size_bytes(type, shape);
  if (!size)
    throw Error(Code::kInvalidArgument, what + " of shape " + to_string(shape) + " has more than 2^62 elements");
  if (is_two_bits(proto.data_type())) return from_two_bits(proto, shape, external, what);
  if (proto.has_segment())
    throw Error(Code::kUnimplemented, what + " is stored in segments; save it again in one piece");
  if (proto.data_location() == schema::TensorProto::EXTERNAL)
    return from_external(proto, external, type, shape, *size, what);
  if (!proto.has_raw_data() || *size == 0 || type == ElementType::kString) {
    return from_typed_fields(proto, type, shape, element_count(shape), what);
  }
  if (proto.raw_data().size() != *size) {
    throw Error(Code::kInvalidArgument, what + " is " + std::string(name(type)) + " " + to_string(shape) +
                                            ", which needs " + std::to_string(*size) + " bytes, but raw_data has " +
                                            std::to_string(proto.raw_data().size()));
  }
  return adopt_raw(proto, type, shape);
}

Tensor tensor_from_sparse(schema::SparseTensorProto& proto, ExternalData& external, const std::string& what) {
  const auto invalid = [&](const std::string& why) { return Error(Code::kInvalidArgument, what + why); };
  const Tensor values = tensor_from_proto(*proto.mutable_values(), external, what + ", values");
  const Tensor indices = tensor_from_proto(*proto.mutable_indices(), external, what + ", indices");
  Shape shape;
  for (const auto extent : proto.dims()) {
    if (extent < 0) throw invalid(" has a negative extent " + std::to_string(extent));
    shape.push_back(static_cast<std::size_t>(extent));
  }
  const std::size_t each = size_bytes(values.element_type()), count = values.element_count();
  const auto size = checked_size_bytes(values.element_type(), shape);
  if (!size || each == 0 || values.element_type() == ElementType::kString)
    throw invalid(" is a sparse " + std::string(name(values.element_type())) + " tensor of shape " + to_string(shape) +
                  ", which cannot be written out");
  if (*size > kMaxSparseBytes)
    throw Error(Code::kResourceExhausted, what + " is a sparse tensor of " + std::to_string(*size) +
                                              " bytes when written out; up to " + std::to_string(kMaxSparseBytes) +
                                              " are: store it densely");
  // One linear index per value, or one coordinate per axis.
  const bool is_linear = indices.shape().size() == 1;
  const bool fits =
      values.shape().size() == 1 && indices.element_type() == ElementType::kI64 &&
      (is_linear ? indices.shape()[0] == count
                 : indices.shape().size() == 2 && indices.shape()[0] == count && indices.shape()[1] == shape.size());
  if (!fits)
    throw invalid(" has indices of " + std::string(name(indices.element_type())) + " " + to_string(indices.shape()) +
                  " for values of shape " + to_string(values.shape()) + "; expected i64 [values] or [values, rank]");
  Tensor dense(values.element_type(), shape);
  if (*size > 0) std::memset(dense.data(), 0, *size);
  const std::size_t total = element_count(shape), rank = is_linear ? 1 : shape.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::int64_t index = indices.data<std::int64_t>()[i * rank + axis];
      const std::size_t extent = is_linear ? total : shape[axis];
      if (index < 0 || static_cast<std::size_t>(index) >= extent)
        throw invalid(" has the index " + std::to_string(index) + ", outside of " + std::to_string(extent) +
                      " elements");
      at = at * extent + static_cast<std::size_t>(index);
    }
    if (at >= total) throw invalid(" has an index outside of shape " + to_string(shape));
    std::memcpy(static_cast<char*>(dense.data()) + at * each, static_cast<const char*>(values.data()) + i * each, each);
  }
  return dense;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
