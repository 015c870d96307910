// SPDX-License-Identifier: Apache-2.0
// The reader of ONNX models.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/readers/onnx/onnx_options.hpp>

namespace tenon {
inline namespace v1 {

/// False in builds without protobuf or ONNX's schema file; read_onnx then throws kUnimplemented with the
/// reason.
TENON_API bool has_onnx_reader();

/// Reads a model of operation sets up to 28. Symbolic dimensions become dynamic ones. metadata_props whose key starts
/// with "model_info " (and the well-known keys of that map) become rt_info["model_info"]; others rt_info["framework"].
///
/// @param bytes   The serialised ModelProto, u8.
/// @param folder  Where external data is searched; paths outside it are refused.
/// @param origin  Names the model in messages.
/// @param map     False: external data is read into memory instead of mapped.
/// @errors kInvalidArgument: not ONNX, corrupt, cyclic, dangling names; kUnimplemented: missing operations (lists all
///         with node, domain and operation set); kNotFound, kDataLoss: external data.
TENON_API std::shared_ptr<Model> read_onnx(const Tensor& bytes, const std::filesystem::path& folder = {},
                                           const std::string& origin = "the ONNX model", bool map = true);

/// The same with options.
/// @errors also kInvalidArgument: they name what is no such input.
TENON_API std::shared_ptr<Model> read_onnx(const Tensor& bytes, const std::filesystem::path& folder,
                                           const std::string& origin, bool map, const OnnxOptions& options);

/// "Domain:Type" of every operation that the reader converts, sorted; the default domain has no prefix.
TENON_API std::vector<std::string> supported_onnx_operations();

}  // namespace v1
}  // namespace tenon
