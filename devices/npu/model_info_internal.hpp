// SPDX-License-Identifier: Apache-2.0
// What the device must remember of a compiled model beside the driver's blob.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/device.hpp>

namespace tenon::inline v1::npu_device {

/// A state of the model: the driver sees a pair of arguments, an input and an output.
struct Variable {
  std::string name;
  element::Type type;
  Shape shape;
  Tensor initial;  ///< Packed; empty: zeros.
};

struct ModelInfo {
  std::string name;      ///< The model's friendly name.
  std::string platform;  ///< That it was compiled for.
  Ports ports;           ///< As the application sees them.
  std::vector<Variable> variables;
  /// The driver's graph takes one item at a time of a batch of so many. 0: the batch is the graph's own; kAnyBatch: as
  /// many as the tensors have.
  std::uint32_t batch = 0;
  static constexpr std::uint32_t kAnyBatch = ~0u;
  bool profiled = false;  ///< Compiled with PERF_COUNT.
};

/// Reads the model's states. @errors kUnimplemented: a state of dynamic shape, or an initialiser that depends on the
/// model's inputs.
std::vector<Variable> variables_of(const Model& model);

/// What stands behind a blob's header and ports.
enum class BlobKind : std::uint32_t {
  kNative = 1,      ///< The driver's own blob.
  kWeightless = 2,  ///< weightless_internal.hpp: to be compiled again, with weights that are found elsewhere.
};

/// Writes a blob: header, ports, states, and the rest, which begins on a page.
/// @errors kDataLoss: the stream takes only a part.
void write_blob(std::ostream& stream, const ModelInfo& info, BlobKind kind, const void* native,
                std::size_t native_bytes);

struct Blob {
  BlobKind kind = BlobKind::kNative;
  ModelInfo info;
  Tensor native;  ///< u8; a view of the bytes that were read.
};
/// @param bytes  u8, kept by the result.  @param is_verified  they were compared with a hash already.
/// @param any_version  takes blobs of other versions of Tenon, as far as the format is the same.
/// @errors kInvalidArgument: no blob of this device (and what it is, where that can be told); kDataLoss: truncated or
///         damaged; kFailedPrecondition: of another version.
Blob read_blob(const Tensor& bytes, bool is_verified, bool any_version);

}  // namespace tenon::inline v1::npu_device
