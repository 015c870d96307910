// SPDX-License-Identifier: Apache-2.0
// The in-memory IR and the build flags.
#include <tenon/devices/npu/ir.hpp>

#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

namespace tenon::inline v1::npu_device {
namespace {

const char* precision_name(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return "FP32";
    case ElementType::kF16:
      return "FP16";
    case ElementType::kF64:
      return "FP64";
    case ElementType::kBf16:
      return "BF16";
    case ElementType::kI64:
      return "I64";
    case ElementType::kI32:
      return "I32";
    case ElementType::kI16:
      return "I16";
    case ElementType::kI8:
      return "I8";
    case ElementType::kI4:
      return "I4";
    case ElementType::kU64:
      return "U64";
    case ElementType::kU32:
      return "U32";
    case ElementType::kU16:
      return "U16";
    case ElementType::kU8:
      return "U8";
    case ElementType::kU4:
      return "U4";
    case ElementType::kBool:
      return "BOOL";
    default:
      return "UNSPECIFIED";
  }
}

const char* layout_name(const PartialShape& shape) {
  if (shape.rank().is_dynamic()) return "BLOCKED";
  static constexpr const char* kByRank[] = {"**SCALAR**", "C", "NC", "CHW", "NCHW", "NCDHW"};
  return shape.size() < std::size(kByRank) ? kByRank[shape.size()] : "BLOCKED";
}

/// The name that compilers without port numbers use: a result is named after its value.
std::string name_of(const Node& port) {
  if (port.get_input_size() == 0) return port.get_friendly_name();
  const Output<const Node> value = port.input_value(0);
  const std::string& name = value.get_node()->get_friendly_name();
  return value.get_node()->get_output_size() > 1 ? name + "." + std::to_string(value.get_index()) : name;
}

template <typename Ports>
void add_ports(std::string& flags, const char* side, const Ports& ports, bool by_name) {
  std::string precisions, layouts;
  std::size_t index = 0;
  for (const auto& port : ports) {
    const std::string key = (by_name ? name_of(*port) : std::to_string(index)) + ":";
    const char* gap = index++ == 0 ? "" : " ";
    precisions += gap + key + precision_name(port->get_output_element_type(0));
    layouts += gap + key + layout_name(port->get_output_partial_shape(0));
  }
  flags += std::string("--") + side + "_precisions=\"" + precisions + "\" --" + side + "_layouts=\"" + layouts + "\" ";
}

template <typename T>
std::byte* put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

}  // namespace

Tensor write_in_memory_ir(const Model& model, CompilerVersion version) {
  Tensor bytes;
  serialize(model, [&](const std::string& xml, std::size_t weights) -> void* {
    bytes = Tensor(ElementType::kU8, Shape{2 + 2 + 4 + 8 + xml.size() + 8 + weights});
    auto* at = static_cast<std::byte*>(bytes.data());
    at = put(at, version.major);
    at = put(at, version.minor);
    at = put(at, std::uint32_t{2});
    at = put(at, static_cast<std::uint64_t>(xml.size()));
    std::memcpy(at, xml.data(), xml.size());
    return put(at + xml.size(), static_cast<std::uint64_t>(weights));
  });
  return bytes;
}

Tensor write_in_memory_ir_by_address(const Model& model, CompilerVersion version) {
  const std::string xml = serialize_by_address(model);
  constexpr std::uint64_t kVersionAt = 6 * sizeof(std::uint64_t), kModelAt = kVersionAt + 2 * sizeof(std::uint16_t);
  Tensor bytes(ElementType::kU8, Shape{static_cast<std::size_t>(kModelAt) + xml.size()});
  auto* at = static_cast<std::byte*>(bytes.data());
  for (const std::uint64_t number : {kVersionAt, kModelAt - kVersionAt, kModelAt, std::uint64_t{0}, kModelAt,
                                     static_cast<std::uint64_t>(xml.size())})
    at = put(at, number);
  at = put(at, version.major);
  at = put(at, version.minor);
  std::memcpy(at, xml.data(), xml.size());
  return bytes;
}

std::string build_flags(const Model& model, const std::map<std::string, std::string>& config, bool by_name) {
  std::string flags;
  add_ports(flags, "inputs", model.get_parameters(), by_name);
  add_ports(flags, "outputs", model.get_results(), by_name);
  flags += "--config";
  for (const auto& [key, value] : config) {
    if (value.find('"') != std::string::npos)
      throw Error(
          Code::kInvalidArgument,
          "NPU: property " + key + " contains a quotation mark, which cannot be passed to the driver's compiler");
    flags += " " + key + "=\"" + value + "\"";
  }
  return flags;
}

}  // namespace tenon::inline v1::npu_device
