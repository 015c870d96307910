// SPDX-License-Identifier: Apache-2.0
// The native binary: a compiled graph as bytes that are used in place.
#pragma once

#include <cstdint>
#include <span>

#include <tenon/core/element_type.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/drivers/npu/compiler/arguments.hpp>
#include <tenon/drivers/npu/compiler/options.hpp>
#include <tenon/drivers/npu/compiler/timing.hpp>
#include <tenon/engine/blob.hpp>
#include <tenon/engine/engine.hpp>

namespace tenon::npu::compiler {

/// The version that clients check; a blob's version must be this compiler's.
inline constexpr std::uint16_t kCompilerMajor = 7, kCompilerMinor = 28;
inline constexpr std::uint32_t kBlobFormat = 4;

/// Target and options of a compiled graph: enough to make its plan again.
struct Settings {
  Target target;
  bool profiling = false;
  bool fuse = true;
  bool blocked_layouts = true;
  bool reference_kernels = false;
  ElementType precision = ElementType::kF32;
  int optimization_level = 1;

  engine::Options engine_options() const;
};

struct NativeBlob {
  Settings settings;
  Interface interface;
  Timing timing;
  engine::Blob payload;
  Tensor bytes;  ///< The whole blob, without bytes that a client appended.
};

/// @return the bytes, page-aligned, in memory that no file backs. @errors kResourceExhausted.
Tensor write_native_blob(const Settings& settings, const Interface& interface, const Timing& timing,
                         const engine::Blob& payload);

/// Bytes behind the blob's end are ignored, because clients append metadata.
/// @param bytes  64-byte aligned; kept.
/// @errors kInvalidArgument: no blob of this driver; kFailedPrecondition: of another version, build or processor;
///         kDataLoss: truncated or damaged. Each says what was expected and found.
NativeBlob read_native_blob(const Tensor& bytes);

/// A copy of the client's bytes with the alignment that read_native_blob() needs. @errors kResourceExhausted.
Tensor own_copy(std::span<const std::uint8_t> bytes);

}  // namespace tenon::npu::compiler
