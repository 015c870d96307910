// SPDX-License-Identifier: Apache-2.0
// Converts ONNX's serialised tensors.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include <tenon_onnx_schema.pb.h>

#include <tenon/core/element_type.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace schema = ::tenon::onnx_schema;

/// Newer than some schema files. Tensors hold their numbers as those of 4 bits; see has_two_bits.
inline constexpr int kUint2 = 25, kInt2 = 26;
constexpr bool is_two_bits(int type) { return type == kUint2 || type == kInt2; }

/// @errors kUnimplemented: a type that Tenon's tensors cannot hold (text, complex); names `what`.
ElementType element_type_from_onnx(int type, const std::string& what);

/// The model in a file's bytes. @errors kInvalidArgument: it does not parse; names `origin`.
schema::ModelProto parse_model(const Tensor& bytes, const std::string& origin);

/// Files of external data; each is mapped or read once.
class ExternalData {
 public:
  explicit ExternalData(std::filesystem::path folder, bool map = true) : folder_(std::move(folder)), map_(map) {}
  /// @errors kInvalidArgument: the location leaves the folder. kNotFound.
  const Tensor& file(const std::string& location, const std::string& what);

 private:
  std::filesystem::path folder_;
  bool map_;
  std::map<std::string, Tensor> files_;
};

/// The tensor's value. Large raw_data is moved out of `proto`, not copied; external data stays in its mapping.
/// @errors kInvalidArgument, kDataLoss, kUnimplemented, all naming `what`.
Tensor tensor_from_proto(schema::TensorProto& proto, ExternalData& external, const std::string& what);

/// A sparse tensor, made dense. @errors as tensor_from_proto; also for indices that are out of range or do not match
/// the values, and for an excessive dense size (kResourceExhausted).
Tensor tensor_from_sparse(schema::SparseTensorProto& proto, ExternalData& external, const std::string& what);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
