// SPDX-License-Identifier: Apache-2.0
// What the device must remember of a compiled model beside the driver's blob.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::npu_device {

/// A state of the model: the driver sees a pair of arguments, an input and an output. One of static shape is a variable
/// of the driver's graph; one of open shape is a port there, with arguments for its extents.
struct Variable {
  std::string name;
  element::Type type;
  PartialShape shape;     ///< With upper bounds.
  Tensor initial;         ///< Packed; empty: zeros, of the least extents.
  bool computed = false;  ///< `initial` comes from ModelInfo::initialisers.
};
/// Names of the ports that stand for states of open shape: before the variable's.
inline constexpr std::string_view kStateIn = "tenon_state_in_", kStateOut = "tenon_state_out_";

struct ModelInfo {
  std::string name;      ///< The model's friendly name.
  std::string platform;  ///< That it was compiled for.
  Ports ports;           ///< As the application sees them.
  std::vector<Variable> variables;
  /// Makes the first values that depend on the inputs: a result for each, called as its variable. Null: none does.
  std::shared_ptr<const Model> initialisers;
  /// The driver's graph takes one item at a time of a batch of so many. 0: the batch is the graph's own; kAnyBatch: as
  /// many as the tensors have.
  std::uint32_t batch = 0;
  static constexpr std::uint32_t kAnyBatch = ~0u;
  bool profiled = false;  ///< Compiled with PERF_COUNT.
};

/// Reads the model's states into `info`. @return the model for the driver: its variables have no first values, which
/// requests write, and those of open shape are ports. @errors kUnimplemented: a state without upper bounds, or an
/// initialiser that reads another state.
std::shared_ptr<const Model> take_states(const std::shared_ptr<const Model>& model, ModelInfo& info);

/// What stands behind a blob's header and ports.
enum class BlobKind : std::uint32_t {
  kNative = 1,      ///< The driver's own blob.
  kWeightless = 2,  ///< weightless.hpp: to be compiled again, with weights that are found elsewhere.
};

/// Throws the error (kDataLoss) of a blob that is damaged.
[[noreturn]] void damaged(const std::string& what);

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
