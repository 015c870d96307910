// SPDX-License-Identifier: Apache-2.0
// Element types in OpenCL C: how they lie in memory, and in what a kernel computes.
#pragma once

#include <string>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::gpu_device {

/// In memory: "half" for f16, "ushort" for bf16, "uchar" for boolean. Null for types that kernels do not read.
const char* storage_name(ElementType type);
/// In registers: "float" for all reals but f64, "int" for boolean.
const char* compute_name(ElementType type);
/// Whether kernels read and write it. f64 wants cl_khr_fp64 besides.
inline bool is_readable(ElementType type) { return storage_name(type) != nullptr; }

/// Element `index` at `pointer`, in the type of the computation.
std::string load_text(ElementType type, const std::string& pointer, const std::string& index);
/// A statement without its semicolon.
std::string store_text(ElementType type, const std::string& pointer, const std::string& index,
                       const std::string& value);
/// A value of one type as one of another: truncated towards zero, rounded to f16 or bf16, compared with zero.
std::string convert_text(ElementType from, ElementType to, const std::string& value);
/// A literal. @param type  Decides the suffix.
std::string literal_text(ElementType type, double value);

/// What every program begins with: functions that the texts above and expressions call.
const std::string& prelude();

}  // namespace tenon::inline v1::gpu_device
