// SPDX-License-Identifier: Apache-2.0
// Texts for loads, stores and conversions.
#include <tenon/devices/gpu/program/types.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>

#include <tenon/devices/gpu/kernels.hpp>

namespace tenon::inline v1::gpu_device {

const char* storage_name(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return "float";
    case ElementType::kF64:
      return "double";
    case ElementType::kF16:
      return "half";
    case ElementType::kBf16:
    case ElementType::kU16:
      return "ushort";
    case ElementType::kI64:
      return "long";
    case ElementType::kI32:
      return "int";
    case ElementType::kI16:
      return "short";
    case ElementType::kI8:
      return "char";
    case ElementType::kU64:
      return "ulong";
    case ElementType::kU32:
      return "uint";
    case ElementType::kU8:
    case ElementType::kBool:
      return "uchar";
    default:
      return nullptr;
  }
}

const char* compute_name(ElementType type) {
  if (type == ElementType::kF16 || type == ElementType::kBf16) return "float";
  if (type == ElementType::kBool) return "int";
  return storage_name(type);
}

std::string load_text(ElementType type, const std::string& pointer, const std::string& index) {
  if (type == ElementType::kF16) return "vload_half(" + index + ", " + pointer + ")";
  const std::string element = pointer + "[" + index + "]";
  if (type == ElementType::kBf16) return "from_bf16(" + element + ")";
  if (type == ElementType::kBool) return "(" + element + " != 0)";
  return element;
}

std::string store_text(ElementType type, const std::string& pointer, const std::string& index,
                       const std::string& value) {
  if (type == ElementType::kF16) return "vstore_half_rte(" + value + ", " + index + ", " + pointer + ")";
  const std::string element = pointer + "[" + index + "] = ";
  if (type == ElementType::kBf16) return element + "to_bf16(" + value + ")";
  if (type == ElementType::kBool) return element + "(uchar)((" + value + ") != 0)";
  return element + "(" + storage_name(type) + ")(" + value + ")";
}

std::string convert_text(ElementType from, ElementType to, const std::string& value) {
  if (from == to) return value;
  if (to == ElementType::kBool) return "(int)(" + value + " != 0)";
  const bool rounds = to == ElementType::kF16 || to == ElementType::kBf16;
  if (rounds) return (to == ElementType::kF16 ? "round_f16((float)" : "round_bf16((float)") + value + ")";
  const bool narrow = size_bytes(to) < 4 && !info(to).is_real && info(from).is_real;
  return "(" + std::string(compute_name(to)) + ")" + (narrow ? "(int)" : "") + value;
}

std::string literal_text(ElementType type, double value) {
  const bool is_double = type == ElementType::kF64;
  if (info(type).is_real) {
    if (std::isnan(value)) return is_double ? "(double)NAN" : "NAN";
    if (std::isinf(value)) return std::string(value < 0 ? "-" : "") + (is_double ? "(double)INFINITY" : "INFINITY");
    char text[64];
    if (is_double)
      std::snprintf(text, sizeof text, "%a", value);
    else
      std::snprintf(text, sizeof text, "%af", static_cast<double>(static_cast<float>(value)));
    return value < 0 ? "(" + std::string(text) + ")" : text;
  }
  if (type == ElementType::kU64) return std::to_string(static_cast<std::uint64_t>(value)) + "ul";
  if (type == ElementType::kI64) {
    // The least number has no literal of its own.
    if (value <= -9223372036854775808.0) return "LONG_MIN";
    if (value >= 9223372036854775807.0) return "LONG_MAX";
    return "(" + std::to_string(static_cast<std::int64_t>(value)) + "l)";
  }
  return "((" + std::string(compute_name(type)) + ")(" + std::to_string(static_cast<std::int64_t>(value)) + "))";
}

const std::string& prelude() {
  static const std::string text = kernels::prelude;
  return text;
}

}  // namespace tenon::inline v1::gpu_device
