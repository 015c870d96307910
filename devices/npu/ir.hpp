// SPDX-License-Identifier: Apache-2.0
// A model as the driver's compiler takes it: IR in one piece of memory, and flags as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::npu_device {

/// Version of the driver's compiler; the IR is marked with it.
struct CompilerVersion {
  std::uint16_t major = 0, minor = 0;
};

/// u16 major, u16 minor, u32 count (2), u64 bytes, XML of IR v11, u64 bytes, weights.
/// @cost one copy of the weights.
Tensor write_in_memory_ir(const Model& model, CompilerVersion version);

/// For drivers whose compiler takes NPU_MODEL_SERIALIZER_VERSION=NO_WEIGHTS_COPY: three times u64 offset, u64 bytes
/// (the compiler's version, no constants, the XML), then these. Constants are named by address: they must not move
/// before the driver has compiled. @cost none for the weights.
Tensor write_in_memory_ir_by_address(const Model& model, CompilerVersion version);

/// --inputs_precisions="0:FP32" --inputs_layouts="0:NCHW" --outputs_... --config KEY="VALUE" ...
/// Ports by index, or by friendly name for drivers that know only these. @errors kInvalidArgument: a value with a
/// quotation mark.
std::string build_flags(const Model& model, const std::map<std::string, std::string>& config, bool by_name);

}  // namespace tenon::inline v1::npu_device
