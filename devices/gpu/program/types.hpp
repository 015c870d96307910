// SPDX-License-Identifier: Apache-2.0
// Element types in OpenCL C: how they lie in memory, and in what a kernel computes.
#pragma once

#include <cstddef>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>

namespace tenon::inline v1::gpu_device {

/// In memory: "half" for f16, "ushort" for bf16, "uchar" for boolean and all of 8 bits and fewer. Null for types that kernels do not read.
const char* storage_name(ElementType type);
/// In registers: "float" for all reals but f64, "int" for boolean and integers of fewer than 8 bits.
const char* compute_name(ElementType type);
/// In which sums are kept: "float" for f16 and bf16, 64 bits for integers.
const char* accumulator_name(ElementType type);
/// Whether kernels read and write it. f64 wants cl_khr_fp64 besides.
inline bool is_readable(ElementType type) { return storage_name(type) != nullptr; }
/// Whether elements share bytes: kernels read them, but only whole bytes are written (code_text()).
inline bool shares_bytes(ElementType type) { return info(type).bits > 0 && info(type).bits < 8; }
/// The size of a packed tensor. @pre it fits in memory.
inline std::size_t bytes_of(ElementType type, const Shape& shape) {
  return checked_size_bytes(type, shape).value_or(0);
}

/// Element `index` at `pointer`, in the type of the computation.
std::string load_text(ElementType type, const std::string& pointer, const std::string& index);
/// A statement without its semicolon.
std::string store_text(ElementType type, const std::string& pointer, const std::string& index,
                       const std::string& value);
/// A value of one type as one of another: truncated towards zero, rounded to f16 or bf16, compared with zero.
std::string convert_text(ElementType from, ElementType to, const std::string& value);
/// The bits of a value of a type whose elements share bytes, in the low bits of a byte.
std::string code_text(ElementType type, const std::string& value);
/// The bits of a value as an integer of as many, and the value that has such bits. @pre elements do not share bytes.
std::string bits_text(ElementType type, const std::string& value);
std::string from_bits_text(ElementType type, const std::string& bits);
/// A literal. @param type  Decides the suffix; integers beyond its ends are the ends.
std::string literal_text(ElementType type, double value);
/// The type's ends: infinities of reals.
std::string least_text(ElementType type);
std::string greatest_text(ElementType type);

/// The tables and functions of reals of 8 bits and fewer that a kernel's text calls.
std::string small_float_support(const std::string& text);

/// What every program begins with: functions that the texts above and expressions call.
const std::string& prelude();

}  // namespace tenon::inline v1::gpu_device
