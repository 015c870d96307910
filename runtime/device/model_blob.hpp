// SPDX-License-Identifier: Apache-2.0
// Exported models of devices whose blob is the graph with its weights: what is compiled of it is made anew.
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

/// Of one device: a sealed header, which is judged before anything behind it is believed, the graph's text, padding to
/// 64 bytes, and the weights.
struct ModelBlobFormat {
  std::string_view device;    ///< Begins messages: "GPU".
  std::string_view magic;     ///< 8 letters, no other format's.
  std::uint32_t version = 1;  ///< The version of the device's own content.
};

/// @errors kDataLoss: the stream took only a part; those of serialize().
TENON_API void write_model_blob(std::ostream& stream, const Model& model, const ModelBlobFormat& format);

/// The weights stay in `bytes`, which the model keeps.
/// @param is_verified  The bytes have been hashed already: what the runtime took from its cache.
/// @errors kInvalidArgument: another format's bytes; kDataLoss: damaged; kFailedPrecondition: of another version or
/// release.
TENON_API std::shared_ptr<Model> read_model_blob(const Tensor& bytes, bool is_verified, const ModelBlobFormat& format);

}  // namespace v1
}  // namespace tenon
