// SPDX-License-Identifier: Apache-2.0
// Exported models of devices whose blob is the graph with its weights. An import compiles the graph again.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string_view>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {

/// The blob format of one device: a sealed header, which is checked before anything behind it is used, the graph's text,
/// padding to 64 bytes, and the weights.
struct ModelBlobFormat {
  std::string_view device;    ///< The begin of messages: "GPU".
  std::string_view magic;     ///< 8 letters that no other format has.
  std::uint32_t version = 1;  ///< The version of the device's own content.
};

/// Writes a blob. @errors kDataLoss: the stream took only a part; and those of serialize().
TENON_API void write_model_blob(std::ostream& stream, const Model& model, const ModelBlobFormat& format);

/// Reads a blob. The weights stay in `bytes`, which the model keeps.
/// @param is_verified  The bytes have been checked against their hash already, as those from the runtime's cache.
/// @errors kInvalidArgument: the bytes have another format; kDataLoss: they are damaged; kFailedPrecondition: the blob is of
/// another version or release.
TENON_API std::shared_ptr<Model> read_model_blob(const Tensor& bytes, bool is_verified, const ModelBlobFormat& format);

}  // namespace v1
}  // namespace tenon
