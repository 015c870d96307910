// SPDX-License-Identifier: Apache-2.0
// The data that the device stores about a compiled model in addition to the driver's blob.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::npu_device {

/// A state of the model: the driver sees an input and an output argument. With a static shape it is a variable of the
/// driver's graph; with a dynamic one it is a port there, with arguments for its extents.
struct Variable {
  std::string name;
  element::Type type;
  PartialShape shape;     ///< With upper bounds.
  Tensor initial;         ///< Packed; empty: zeros, of the smallest extents.
  bool computed = false;  ///< `initial` comes from ModelInfo::initialisers.
};
/// Name prefixes of the ports for states of dynamic shape.
inline constexpr std::string_view kStateIn = "tenon_state_in_", kStateOut = "tenon_state_out_";

struct ModelInfo {
  std::string name;      ///< The model's friendly name.
  std::string platform;  ///< The platform it was compiled for.
  Ports ports;           ///< Ports of the application's model.
  std::vector<Variable> variables;
  /// Computes the initial values that depend on inputs: one result per variable, with its name. Null: none does.
  std::shared_ptr<const Model> initialisers;
  /// The driver's graph takes one item of a batch of this size at a time. 0: the batch is the graph's own;
  /// kAnyBatch: the tensors decide.
  std::uint32_t batch = 0;
  static constexpr std::uint32_t kAnyBatch = ~0u;
  bool profiled = false;  ///< Compiled with PERF_COUNT.
};

/// Reads the model's states into `info`. @return the model for the driver: its variables have no initialisers (requests
/// write initial values), and those of dynamic shape are ports. @errors kUnimplemented: a state without upper bounds,
/// or an initialiser that reads another state.
std::shared_ptr<const Model> take_states(const std::shared_ptr<const Model>& model, ModelInfo& info);

/// Kind of the data behind a blob's header and ports.
enum class BlobKind : std::uint32_t {
  kNative = 1,      ///< The driver's own blob.
  kWeightless = 2,  ///< weightless.hpp: compiled again on import, with weights found elsewhere.
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
  Tensor native;  ///< u8; a view of the input bytes.
};
/// @param bytes  u8, kept by the result.  @param is_verified  their hash was checked already.
/// @param any_version  accepts blobs of other Tenon versions with the same format.
/// @errors kInvalidArgument: not a blob of this device (names its format, if known); kDataLoss: truncated or damaged;
///         kFailedPrecondition: of another version.
Blob read_blob(const Tensor& bytes, bool is_verified, bool any_version);

}  // namespace tenon::inline v1::npu_device
