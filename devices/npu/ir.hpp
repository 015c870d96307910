// SPDX-License-Identifier: Apache-2.0
// A model in the form for the driver's compiler: IR in one block of memory, flags as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::npu_device {

/// Version of the driver's compiler, written into the IR.
struct CompilerVersion {
  std::uint16_t major = 0, minor = 0;
};

/// Layout: u16 major, u16 minor, u32 count (2), u64 bytes, XML of IR v11, u64 bytes, weights.
/// @cost one copy of the weights.
Tensor write_in_memory_ir(const Model& model, CompilerVersion version);

/// For drivers whose compiler takes NPU_MODEL_SERIALIZER_VERSION=NO_WEIGHTS_COPY. Layout: three times u64 offset, u64
/// bytes (compiler version, no constants, XML), then these parts. The XML has the constants' addresses: they must not
/// move until the driver has compiled. @cost none for the weights.
Tensor write_in_memory_ir_by_address(const Model& model, CompilerVersion version);

/// --inputs_precisions="0:FP32" --inputs_layouts="0:NCHW" --outputs_... --config KEY="VALUE" ...
/// Ports are named by index, or by friendly name for older drivers. @errors kInvalidArgument: a value
/// contains a quotation mark.
std::string build_flags(const Model& model, const std::map<std::string, std::string>& config, bool by_name);

}  // namespace tenon::inline v1::npu_device
