// SPDX-License-Identifier: Apache-2.0
// Texts for loads, stores and conversions.
#include <tenon/devices/gpu/program/types.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/graph/small_floats.hpp>

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
    case ElementType::kI4:
    case ElementType::kU4:
    case ElementType::kU1:
      return "uchar";
    default:
      if (is_small_float(type)) return "uchar";
      return nullptr;
  }
}

const char* compute_name(ElementType type) {
  if (type == ElementType::kF16 || type == ElementType::kBf16 || is_small_float(type)) return "float";
  if (type == ElementType::kBool || shares_bytes(type)) return "int";
  return storage_name(type);
}

namespace {

/// "from_nf4(value)"
std::string call_text(const char* function, ElementType type, const std::string& value) {
  return function + std::string(name(type)) + "(" + value + ")";
}

/// The bits of an element that shares its byte. Those of u1 begin at the top, as in OpenVINO.
std::string shared_bits(ElementType type, const std::string& pointer, const std::string& index) {
  if (type == ElementType::kU1) return "(" + pointer + "[(" + index + ") / 8] >> (7 - (" + index + ") % 8) & 1)";
  return "(" + pointer + "[(" + index + ") / 2] >> ((" + index + ") % 2 * 4) & 15)";
}

std::string cut_text(ElementType type, const std::string& value) {
  if (type == ElementType::kI4) return "((int)(" + value + ") << 28 >> 28)";
  return "((int)(" + value + ") & " + (type == ElementType::kU1 ? "1" : "15") + ")";
}

}  // namespace

const char* accumulator_name(ElementType type) {
  if (type == ElementType::kF64) return "double";
  if (info(type).is_real) return "float";
  return info(type).is_signed || type == ElementType::kBool ? "long" : "ulong";
}

std::string load_text(ElementType type, const std::string& pointer, const std::string& index) {
  if (type == ElementType::kF16) return "vload_half(" + index + ", " + pointer + ")";
  const std::string element = shares_bytes(type) ? shared_bits(type, pointer, index) : pointer + "[" + index + "]";
  if (is_small_float(type)) return call_text("from_", type, element);
  if (shares_bytes(type)) return cut_text(type, element);
  if (type == ElementType::kBf16) return "from_bf16(" + element + ")";
  if (type == ElementType::kBool) return "(" + element + " != 0)";
  return element;
}

std::string store_text(ElementType type, const std::string& pointer, const std::string& index,
                       const std::string& value) {
  if (type == ElementType::kF16) return "vstore_half_rte((float)(" + value + "), " + index + ", " + pointer + ")";
  const std::string element = pointer + "[" + index + "] = ";
  if (is_small_float(type)) return element + call_text("to_", type, value);
  if (type == ElementType::kBf16) return element + "to_bf16(" + value + ")";
  if (type == ElementType::kBool) return element + "(uchar)((" + value + ") != 0)";
  return element + "(" + storage_name(type) + ")(" + value + ")";
}

std::string convert_text(ElementType from, ElementType to, const std::string& value) {
  if (from == to) return value;
  if (to == ElementType::kBool) return "(int)(" + value + " != 0)";
  if (to == ElementType::kF16) return "round_f16((float)" + value + ")";
  if (to == ElementType::kBf16) return "round_bf16((float)" + value + ")";
  if (is_small_float(to)) return call_text("from_", to, call_text("to_", to, "(float)" + value));
  const bool cuts = info(from).is_real && !info(to).is_real;
  if (shares_bytes(to)) return cut_text(to, cuts ? "convert_int_sat(" + value + ")" : value);
  // What lies outside becomes the nearest number, and NaN 0.
  // OpenCL says that a NaN becomes 0; NVIDIA's driver makes the least long of it (580, 2026-11-23).
  if (cuts) return "(isnan(" + value + ") ? 0 : convert_" + compute_name(to) + "_sat(" + value + "))";
  return "(" + std::string(compute_name(to)) + ")" + value;
}

std::string code_text(ElementType type, const std::string& value) {
  if (is_small_float(type)) return call_text("to_", type, value);
  return "((" + value + ") & " + (type == ElementType::kU1 ? "1" : "15") + ")";
}

std::string bits_text(ElementType type, const std::string& value) {
  if (type == ElementType::kF32) return "as_uint(" + value + ")";
  if (type == ElementType::kF64) return "as_ulong(" + value + ")";
  if (type == ElementType::kF16) return "to_f16(" + value + ")";
  if (type == ElementType::kBf16) return "to_bf16(" + value + ")";
  return is_small_float(type) ? code_text(type, value) : value;
}

std::string from_bits_text(ElementType type, const std::string& bits) {
  if (type == ElementType::kF32) return "as_float((uint)(" + bits + "))";
  if (type == ElementType::kF64) return "as_double((ulong)(" + bits + "))";
  if (type == ElementType::kF16) return "from_f16((ushort)(" + bits + "))";
  if (type == ElementType::kBf16) return "from_bf16((ushort)(" + bits + "))";
  if (is_small_float(type)) return call_text("from_", type, "(uchar)(" + bits + ")");
  if (type == ElementType::kBool) return "(int)((" + bits + ") != 0)";
  return "(" + std::string(storage_name(type)) + ")(" + bits + ")";
}

namespace {

/// The ends of an integer type.
double least_of(ElementType type) { return info(type).is_signed ? -std::ldexp(1.0, info(type).bits - 1) : 0; }
double greatest_of(ElementType type) {
  return type == ElementType::kBool ? 1 : std::ldexp(1.0, info(type).bits - info(type).is_signed) - 1;
}

}  // namespace

std::string least_text(ElementType type) {
  const ElementTypeInfo& of = info(type);
  if (of.is_real) return type == ElementType::kF64 ? "(-(double)INFINITY)" : "(-INFINITY)";
  if (!of.is_signed) return "0";
  return of.bits == 64 ? "LONG_MIN" : "(" + std::to_string(-(std::int64_t{1} << (of.bits - 1))) + "l)";
}
std::string greatest_text(ElementType type) {
  const ElementTypeInfo& of = info(type);
  if (of.is_real) return type == ElementType::kF64 ? "((double)INFINITY)" : "INFINITY";
  if (of.bits == 64) return of.is_signed ? "LONG_MAX" : "ULONG_MAX";
  return type == ElementType::kBool ? "1" : std::to_string((std::int64_t{1} << (of.bits - of.is_signed)) - 1) + "l";
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
    return std::signbit(value) ? "(" + std::string(text) + ")" : text;
  }
  // Beyond the ends the nearest number. The least one of 64 bits has no literal of its own.
  if (value <= least_of(type)) return least_text(type);
  if (value >= greatest_of(type)) return greatest_text(type);
  if (type == ElementType::kU64) return std::to_string(static_cast<std::uint64_t>(value)) + "ul";
  if (type == ElementType::kI64) return "(" + std::to_string(static_cast<std::int64_t>(value)) + "l)";
  return "((" + std::string(compute_name(type)) + ")(" + std::to_string(static_cast<std::int64_t>(value)) + "))";
}

namespace {

/// An order of floats as integers: as_int(), with negative ones turned around.
std::int32_t key_of(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
float value_of(std::int32_t key) { return std::bit_cast<float>(key < 0 ? key ^ 0x7fffffff : key); }

/// Where the codes of ascending floats change, found by halving: the graph's function is the only one that rounds.
struct Steps {
  ElementType type;
  std::vector<std::int32_t> keys{};
  std::vector<int> codes{};

  int code_at(std::int32_t key) const { return small_float_code(type, value_of(key)); }
  void add(std::int32_t first, std::int32_t last) {
    const int code = code_at(first);
    if (keys.empty() || codes.back() != code) {
      keys.push_back(first);
      codes.push_back(code);
    }
    while (code_at(last) != codes.back()) {
      std::int64_t low = first, high = last;  // The code changes after low, and at high at the latest.
      while (high - low > 1) {
        const std::int64_t middle = (low + high) / 2;
        (code_at(static_cast<std::int32_t>(middle)) == codes.back() ? low : high) = middle;
      }
      first = static_cast<std::int32_t>(high);
      keys.push_back(first);
      codes.push_back(code_at(first));
    }
  }
};

template <typename T>
std::string table_text(const std::string& type, const std::string& name, const std::vector<T>& numbers) {
  std::string text = "__constant " + type + " " + name + "[" + std::to_string(numbers.size()) + "] = {";
  for (std::size_t i = 0; i < numbers.size(); ++i) text += (i ? "," : "") + std::to_string(numbers[i]);
  return text + "};\n";
}

std::string support_of(ElementType type) {
  Steps steps{type};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // On each side of zero codes ascend with the values.
  steps.add(key_of(-kInfinity), key_of(-0.0f));
  steps.add(key_of(0.0f), key_of(kInfinity));
  std::vector<std::uint32_t> values;
  for (int code = 0; code < 1 << info(type).bits; ++code)
    values.push_back(std::bit_cast<std::uint32_t>(small_float_value(type, static_cast<std::uint8_t>(code))));
  const std::string id(name(type)), guard = "TN_HAS_" + id;
  return "#ifndef " + guard + "\n#define " + guard + "\n" + table_text("uint", "values_" + id, values) +
         table_text("int", "keys_" + id, steps.keys) + table_text("uchar", "codes_" + id, steps.codes) +
         "inline float from_" + id + "(int code) { return as_float(values_" + id + "[code]); }\ninline uchar to_" + id +
         "(float value) {\n  if (isnan(value)) return " +
         std::to_string(small_float_code(type, std::numeric_limits<float>::quiet_NaN())) +
         ";\n  const int bits = as_int(value), key = bits < 0 ? bits ^ 0x7fffffff : bits;\n  int low = 0, high = " +
         std::to_string(steps.keys.size()) +
         ";\n  while (high - low > 1) {\n    const int middle = (low + high) / 2;\n    if (keys_" + id +
         "[middle] <= key) low = middle; else high = middle;\n  }\n  return codes_" + id + "[low];\n}\n#endif\n";
}

}  // namespace

std::string small_float_support(const std::string& text) {
  static const auto all = [] {
    std::map<std::string, std::string> made;
    for (const ElementType type :
         {ElementType::kF8E4M3, ElementType::kF8E5M2, ElementType::kF8E4M3Fnuz, ElementType::kF8E5M2Fnuz,
          ElementType::kF8E8M0, ElementType::kF4E2M1, ElementType::kNf4})
      made["_" + std::string(name(type)) + "("] = support_of(type);
    return made;
  }();
  std::string needed;
  for (const auto& [call, support] : all)
    if (text.find(call) != text.npos) needed += support;
  return needed;
}

const std::string& prelude() {
  static const std::string text = kernels::prelude;
  return text;
}

}  // namespace tenon::inline v1::gpu_device
