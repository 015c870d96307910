// SPDX-License-Identifier: Apache-2.0
// The CPU device's blob: a compiled model as bytes that are used where they lie.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/engine/packed_model.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::engine {

/// What a blob holds. Either a plan's model (prepared, with packed constants), or a model whose plans are made as
/// shapes come, or (weightless) a model that takes its weights from the file or model that it was made from.
struct Blob {
  enum class Kind : std::uint32_t { kPrepared = 1, kModel = 2, kWeightless = 3 };
  Kind kind = Kind::kModel;
  std::string name;                           ///< The model's friendly name.
  ElementType precision = ElementType::kF32;  ///< What its plans compute in: kept when it is imported.
  PackedModel prepared;                       ///< prepared.model is the model, whatever the kind.
};

/// Writes a blob: header, the graph as IR, the constants, the packed constants. A weightless one is without the large
/// constants of its model, which is as it was given to the compiler: small, and as dear to load as a compilation.
/// @errors kDataLoss: the stream does not take it.
void write_blob(std::ostream& stream, const Blob& blob);

/// @param bytes  The whole blob, 64-byte aligned; kept by the constants, which are used in place.
/// @param is_verified  Its bytes were compared with a hash already.
/// @param source  For weightless blobs: gives the model with the weights, whose constants are compared with what the
///        blob says of them; null where the caller named none.
/// @errors kDataLoss: truncated, damaged;  kFailedPrecondition: made by another version, on another processor, or
///         weightless without its weights. Each says what was expected and found.
using WeightsSource = std::function<std::shared_ptr<const Model>()>;
Blob read_blob(const Tensor& bytes, bool is_verified, const WeightsSource& source = {});

/// Versions and processor that a blob must have been made with: compared as text.
std::string blob_identity();

}  // namespace tenon::inline v1::engine
