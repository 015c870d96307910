// SPDX-License-Identifier: Apache-2.0
// Text of properties' values: enumerations, identities of devices, numbers of streams.
#include <tenon/runtime/properties.hpp>

#include <algorithm>
#include <cctype>
#include <ios>
#include <string_view>

namespace tenon {
inline namespace v1 {
namespace detail {

std::ostream& print_enum(std::ostream& out, int value, std::span<const EnumText> table) {
  for (const EnumText& entry : table) {
    if (entry.value == value) return out << entry.text;
  }
  throw Error(Code::kInvalidArgument, "enumerator " + std::to_string(value) + " has no name");
}

std::istream& parse_enum(std::istream& in, int& value, std::span<const EnumText> table, const char* what) {
  std::string text;
  in >> text;
  // "LATENCY" as it is written, and "latency" as it is often typed.
  const auto same = [&](std::string_view name) {
    return std::equal(name.begin(), name.end(), text.begin(), text.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  std::string known;
  for (const EnumText& entry : table) {
    if (same(entry.text)) return value = entry.value, in;
    known += std::string(known.empty() ? "" : ", ") + entry.text;
  }
  throw Error(Code::kInvalidArgument, std::string("Unsupported ") + what + ": " + text + "; known: " + known);
}

}  // namespace detail

namespace device {
namespace {

std::ostream& print_hex(std::ostream& out, std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (std::uint8_t byte : bytes) out << kDigits[byte >> 4] << kDigits[byte & 15];
  return out;
}

std::istream& parse_hex(std::istream& in, std::span<std::uint8_t> bytes) {
  std::string text;
  in >> text;
  if (text.size() != 2 * bytes.size() || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
    in.setstate(std::ios::failbit);
    return in;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return in;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const UUID& value) { return print_hex(out, value.uuid); }
std::istream& operator>>(std::istream& in, UUID& value) { return parse_hex(in, value.uuid); }
std::ostream& operator<<(std::ostream& out, const LUID& value) { return print_hex(out, value.luid); }
std::istream& operator>>(std::istream& in, LUID& value) { return parse_hex(in, value.luid); }

std::ostream& operator<<(std::ostream& out, const PCIInfo& pci) {
  const auto flags = out.flags();
  out << "{domain: " << pci.domain << " bus: " << pci.bus << " device: 0x" << std::hex << pci.device << std::dec
      << " function: " << pci.function << "}";
  out.flags(flags);
  return out;
}

std::pair<std::string, Any> Properties::operator()(const AnyMap& config) const { return {name(), Any(config)}; }
std::pair<std::string, Any> Properties::operator()(const std::string& device, const AnyMap& config) const {
  return {name() + std::string("_") + device, Any(config)};
}

}  // namespace device

namespace streams {

std::ostream& operator<<(std::ostream& out, const Num& value) {
  if (value.num == AUTO.num) return out << "AUTO";
  if (value.num == NUMA.num) return out << "NUMA";
  return out << value.num;
}
std::istream& operator>>(std::istream& in, Num& value) {
  std::string text;
  in >> text;
  if (text == "AUTO") return value = AUTO, in;
  if (text == "NUMA") return value = NUMA, in;
  std::int32_t number = 0;
  if (!parse_text(text, number)) {
    throw Error(Code::kInvalidArgument,
                "Could not read number of streams from str: " + text + "; AUTO, NUMA or a number");
  }
  value = Num(number);
  return in;
}

}  // namespace streams
}  // namespace v1
}  // namespace tenon
