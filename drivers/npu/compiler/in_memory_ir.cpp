// SPDX-License-Identifier: Apache-2.0
// Parses the client's buffer.
#include <tenon/drivers/npu/compiler/in_memory_ir.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <system_error>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>

namespace tenon::npu::compiler {
namespace {

constexpr std::uint32_t kParts = 2;  // XML and weights.

[[noreturn]] void refuse_ir(const std::string& why) {
  throw Error(Code::kInvalidArgument, "NPU: the in-memory IR is malformed: " + why);
}

/// Reads numbers and ranges, never past the end.
class Cursor {
 public:
  explicit Cursor(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  template <typename T>
  T number(const char* what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::span<const std::uint8_t> take(std::uint64_t size, const char* what) {
    if (size > bytes_.size() - at_)
      refuse_ir(std::string(what) + " wants " + std::to_string(size) + " bytes at " + std::to_string(at_) + " of " +
                std::to_string(bytes_.size()));
    const auto part = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return part;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  return text;
}

bool looks_like_xml(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != text.npos && text[start] == '<';
}

/// Layout: u16 major, u16 minor, u32 number of parts, then each part after its u64 size.
bool parse_copied(std::span<const std::uint8_t> bytes, InMemoryIr& ir) {
  constexpr std::size_t kLead = 2 * sizeof(std::uint16_t) + sizeof(std::uint32_t);
  std::uint32_t count = 0;
  if (bytes.size() >= kLead) std::memcpy(&count, bytes.data() + 2 * sizeof(std::uint16_t), sizeof count);
  if (count != kParts) return false;
  Cursor cursor(bytes);
  ir.compiler_major = cursor.number<std::uint16_t>("the version");
  ir.compiler_minor = cursor.number<std::uint16_t>("the version");
  cursor.number<std::uint32_t>("the number of parts");
  ir.xml = text_of(cursor.take(cursor.number<std::uint64_t>("the XML's size"), "the XML"));
  ir.weights = cursor.take(cursor.number<std::uint64_t>("the weights' size"), "the weights");
  return true;
}

/// Layout: offsets and sizes (six u64) of custom data, constants and model; custom data is the compiler version.
bool parse_by_pointer(std::span<const std::uint8_t> bytes, InMemoryIr& ir) {
  struct Part {
    std::uint64_t offset, size;
  } parts[3];
  if (bytes.size() < sizeof parts) return false;
  std::memcpy(parts, bytes.data(), sizeof parts);
  const auto [version, constants, model] = parts;
  if (version.offset != sizeof parts || version.size != 2 * sizeof(std::uint16_t)) return false;
  const auto part = [&](const Part& p, const char* what) {
    if (p.offset > bytes.size() || p.size > bytes.size() - p.offset)
      refuse_ir(std::string(what) + " lies at " + std::to_string(p.offset) + "+" + std::to_string(p.size) + " of " +
                std::to_string(bytes.size()) + " bytes");
    return bytes.subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.size));
  };
  const auto numbers = part(version, "the version");
  std::memcpy(&ir.compiler_major, numbers.data(), sizeof ir.compiler_major);
  std::memcpy(&ir.compiler_minor, numbers.data() + sizeof ir.compiler_major, sizeof ir.compiler_minor);
  ir.weights = part(constants, "the constants");
  ir.xml = text_of(part(model, "the model"));
  ir.weights_by_pointer = true;
  return true;
}

/// Readable memory of this process, from the kernel's list: clients' addresses outside it are refused.
class ReadableMemory {
 public:
  ReadableMemory() {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    while (std::getline(maps, line)) {
      unsigned long long begin = 0, end = 0;
      char access[5] = {};
      if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, access) != 3 || access[0] != 'r') continue;
      if (const auto last = ranges_.rbegin(); last != ranges_.rend() && last->second == begin)
        last->second = end;
      else
        ranges_[begin] = end;
    }
  }
  bool holds(std::uint64_t address, std::uint64_t size) const {
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return false;
    --range;
    return address < range->second && size <= range->second - address;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;
};

using AttributeMap = std::map<std::string, std::string, std::less<>>;

bool number_of(const AttributeMap& attribute, std::span<const char* const> keys, std::uint64_t& value) {
  for (const char* key : keys) {
    const auto found = attribute.find(key);
    if (found == attribute.end()) continue;
    const std::string& text = found->second;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc{} && result.ptr == text.data() + text.size();
  }
  return false;
}

/// The address and size in a constant's attribute. The spelling of the keys changed between clients.
bool find_pointer(const AttributeMap& attribute, std::uint64_t& address, std::uint64_t& size) {
  const auto name = attribute.find("name");
  if (name == attribute.end() || name->second != "WeightsPointerAttribute") return false;
  static constexpr const char* kAddress[] = {"mp", "np", "mpZ"};
  static constexpr const char* kSize[] = {"ms", "ns", "msZ"};
  if (!number_of(attribute, kAddress, address) || !number_of(attribute, kSize, size))
    refuse_ir("a WeightsPointerAttribute has no address (mp) or no size (ms)");
  return true;
}

/// Bytes behind a pointer; they are part of the model, and so of its hash.
struct PointedAt {
  const ReadableMemory readable;
  Tensor operator()(const AttributeMap& attribute) const {
    std::uint64_t address = 0, size = 0;
    if (!find_pointer(attribute, address, size) || size == 0) return {};
    if (!readable.holds(address, size))
      refuse_ir("a constant names " + std::to_string(size) + " bytes at an address that this process cannot read");
    return Tensor(ElementType::kU8, Shape{static_cast<std::size_t>(size)},
                  reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)));
  }
};

}  // namespace

InMemoryIr parse_in_memory_ir(std::span<const std::uint8_t> bytes) {
  InMemoryIr ir;
  if (!parse_by_pointer(bytes, ir) && !parse_copied(bytes, ir))
    refuse_ir("neither a version with " + std::to_string(kParts) +
              " parts nor a table of three parts is at its start (" + std::to_string(bytes.size()) + " bytes)");
  if (!looks_like_xml(ir.xml)) refuse_ir("its model is no XML");
  return ir;
}

std::shared_ptr<Model> read_in_memory_ir(const InMemoryIr& ir) {
  Tensor weights;
  if (!ir.weights.empty())
    weights = Tensor(ElementType::kU8, Shape{ir.weights.size()}, const_cast<std::uint8_t*>(ir.weights.data()));
  if (!ir.weights_by_pointer) return read_ir(ir.xml, weights, "the IR");
  return read_ir(ir.xml, weights, "the IR", PointedAt{});
}

store::ContentHash hash_of(const InMemoryIr& ir) {
  store::ContentHasher hasher;
  hasher.add(std::uint64_t{ir.weights_by_pointer});
  if (!ir.weights_by_pointer) {
    hasher.add(ir.xml);
    hasher.add(std::string_view(reinterpret_cast<const char*>(ir.weights.data()), ir.weights.size()));
    return hasher.result();
  }
  // Addresses change from run to run, so hash the text without them, and the bytes they point to.
  const ReadableMemory readable;
  static constexpr std::string_view kMark = "\"WeightsPointerAttribute\"";
  std::size_t at = 0;
  while (true) {
    const std::size_t mark = ir.xml.find(kMark, at);
    hasher.add(ir.xml.substr(at, mark == ir.xml.npos ? mark : mark - at));
    if (mark == ir.xml.npos) break;
    const std::size_t end = std::min(ir.xml.find('>', mark), ir.xml.size());
    std::vector<std::uint64_t> numbers;  // Version, address and size in any order; the largest is the address.
    for (std::size_t i = mark; i < end; ++i) {
      if (ir.xml[i] != '"' || i + 1 >= end || ir.xml[i + 1] < '0' || ir.xml[i + 1] > '9') continue;
      std::uint64_t value = 0;
      std::from_chars(ir.xml.data() + i + 1, ir.xml.data() + end, value);
      numbers.push_back(value);
      i = std::min(ir.xml.find('"', i + 1), end);
    }
    std::sort(numbers.begin(), numbers.end());
    if (numbers.size() >= 2) {
      const std::uint64_t address = numbers.back(), size = numbers[numbers.size() - 2];
      hasher.add(size);
      if (readable.holds(address, size))
        hasher.add(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)), static_cast<std::size_t>(size));
    }
    at = end;
  }
  hasher.add(std::string_view(reinterpret_cast<const char*>(ir.weights.data()), ir.weights.size()));
  return hasher.result();
}

}  // namespace tenon::npu::compiler
