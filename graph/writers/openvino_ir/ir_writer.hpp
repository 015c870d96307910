// SPDX-License-Identifier: Apache-2.0
// The writer of OpenVINO IR, version 11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {

/// A model as an IR in memory.
struct SerializedModel {
  std::string xml;
  Tensor weights;  ///< u8; equal constants are stored once.
};

/// Writes xml_path and bin_path (empty: xml_path with ".bin"), each as a temporary file beside it that is then renamed:
/// an existing file is replaced completely or left unchanged. The same model gives the same bytes.
/// @errors kPermissionDenied, kNotFound: the target cannot be written; kResourceExhausted: disk full. Nothing is left
/// behind.
TENON_API void serialize(const Model& model, const std::filesystem::path& xml_path,
                         const std::filesystem::path& bin_path = {});

/// As above, to memory.
TENON_API SerializedModel serialize(const Model& model);

/// As above; `place` receives the XML and the size of the weights, and returns where to write them (null: nowhere).
/// Called once, so that weights are copied only once, straight to their reader's memory.
using PlaceWeights = std::function<void*(const std::string& xml, std::size_t weights_bytes)>;
TENON_API void serialize(const Model& model, const PlaceWeights& place);

/// Only the XML, for a reader in this process: each constant holds the address and size of its bytes (rt_info
/// WeightsPointerAttribute, mp and ms, like OpenVINO's NPU plugin). Valid as long as the model lives.
/// @cost no bytes of constants are read.
TENON_API std::string serialize_by_address(const Model& model);

/// As above, but a constant with bytes is identified by a number from the caller (as mp) instead of its address, for
/// callers that keep the bytes elsewhere. read_ir takes a function that finds them again.
using NumberOfConstant = std::function<std::uint64_t(const Tensor& constant)>;
TENON_API std::string serialize_by_number(const Model& model, const NumberOfConstant& number);

}  // namespace v1
}  // namespace tenon
