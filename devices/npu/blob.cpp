// SPDX-License-Identifier: Apache-2.0
// Blobs of compiled models: a header that is checked before anything of it is used, what the device remembers, and the
// driver's own blob.
#include <tenon/devices/npu/model_info_internal.hpp>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <span>

#include <tenon/core/error.hpp>
#include <tenon/devices/npu/blob_table_internal.hpp>
#include <tenon/graph/op.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::npu_device {
namespace {

constexpr char kMagic[8] = {'T', 'N', 'P', 'U', 'B', 'L', 'O', 'B'};
/// Major: what older readers can't read. Minor: what they may leave out.
constexpr std::uint32_t kMajor = 2, kMinor = 0;
constexpr const char* kVersion = "Tenon 0.1.0";
constexpr std::size_t kPage = 4096;

/// Little-endian, as every machine with such a device.
struct Header {
  char magic[8];
  std::uint32_t major, minor;
  std::uint64_t total;
  std::uint64_t table_bytes;    ///< Right after the header.
  std::uint64_t native_offset;  ///< On a page.
  std::uint64_t native_bytes;
  store::ContentHash content;  ///< Of all that follows the header.
  char made_by[32];
  char platform[32];
  BlobKind kind;
  char unused[364];
  store::ContentHash own;  ///< Of the header before this field.
};
static_assert(sizeof(Header) == 512 && std::is_trivially_copyable_v<Header>);

/// Entries of rt_info that are texts, and those of maps of texts (layouts).
void write_rt_info(TableWriter& table, const RTMap& info) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [key, value] : info)
    if (value.is<std::string>()) texts.emplace_back(key, value.as<std::string>());
  std::vector<std::pair<std::string, AnyMap>> maps;
  for (const auto& [key, value] : info)
    if (value.is<AnyMap>()) maps.emplace_back(key, value.as<AnyMap>());
  table.number(texts.size());
  for (const auto& [key, value] : texts) table.text(key), table.text(value);
  table.number(maps.size());
  for (const auto& [key, map] : maps) {
    table.text(key);
    table.number(map.size());
    for (const auto& [name, value] : map) table.text(name), table.text(value.to_text());
  }
}

void read_rt_info(TableReader& table, RTMap& info) {
  for (std::uint64_t left = table.count(); left > 0; --left) {
    std::string key = table.text();
    info[std::move(key)] = Any(table.text());
  }
  for (std::uint64_t left = table.count(); left > 0; --left) {
    const std::string key = table.text();
    AnyMap map;
    for (std::uint64_t entries = table.count(); entries > 0; --entries) {
      std::string name = table.text();
      map[std::move(name)] = Any(table.text());
    }
    info[key] = Any(map);
  }
}

void write_port(TableWriter& table, const Output<const Node>& port) {
  const Node& node = *port.get_node();
  table.text(node.get_friendly_name());
  table.text(node.get_input_size() > 0 ? node.get_input_node_ptr(0)->get_friendly_name() : std::string());
  table.text(port.get_element_type().get_type_name());
  table.text(port.get_partial_shape().to_string());
  table.names(port.get_names());
  write_rt_info(table, node.get_rt_info());
}

Output<const Node> read_port(TableReader& table, bool is_input) {
  const std::string name = table.text(), source = table.text(), type = table.text(), shape = table.text();
  try {
    auto value = std::make_shared<op::v0::Parameter>(Any(type).as<element::Type>(), PartialShape(shape));
    value->output(0).set_names(table.names());
    if (is_input) {
      value->set_friendly_name(name);
      read_rt_info(table, value->get_rt_info());
      return {std::shared_ptr<const Node>(value), 0};
    }
    value->set_friendly_name(source);
    auto result = std::make_shared<op::v0::Result>(value->output(0));
    result->set_friendly_name(name);
    read_rt_info(table, result->get_rt_info());
    return {std::shared_ptr<const Node>(result), 0};
  } catch (const Error& error) {
    if (error.code() == Code::kDataLoss) throw;
    damaged(std::string("a port of it can't be read: ") + error.what());
  }
}

std::string_view bytes_of(const Tensor& tensor) {
  if (!tensor || tensor.size_bytes() == 0) return {};
  return {static_cast<const char*>(tensor.data()), tensor.size_bytes()};
}

Tensor tensor_of(ElementType type, const Shape& shape, const std::string& bytes) {
  const auto size = checked_size_bytes(type, shape);
  if (!size || *size != bytes.size()) damaged("a tensor in it has another size than its shape says");
  Tensor tensor(type, shape);
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

std::string write_table(const ModelInfo& info) {
  TableWriter table;
  table.text(info.name);
  table.number(info.batch);
  table.number(info.profiled ? 1 : 0);
  for (const auto* ports : {&info.ports.inputs, &info.ports.outputs}) {
    table.number(ports->size());
    for (const auto& port : *ports) write_port(table, port);
  }
  table.number(info.variables.size());
  for (const Variable& variable : info.variables) {
    table.text(variable.name);
    table.text(variable.type.get_type_name());
    table.text(variable.shape.to_string());
    table.number(variable.computed ? 1 : 0);
    table.number(variable.initial ? 1 : 0);
    if (!variable.initial) continue;
    table.text(PartialShape(variable.initial.shape()).to_string());
    table.text(bytes_of(variable.initial));
  }
  table.number(info.initialisers ? 1 : 0);
  if (info.initialisers) {
    const SerializedModel initialisers = serialize(*info.initialisers);
    table.text(initialisers.xml);
    table.text(bytes_of(initialisers.weights));
  }
  return std::move(table.bytes);
}

Variable read_variable(TableReader& table) {
  Variable variable;
  variable.name = table.text();
  const std::string type = table.text(), shape = table.text();
  variable.computed = table.number() != 0;
  const bool has_initial = table.number() != 0;
  Shape initial;
  try {
    variable.type = Any(type).as<element::Type>();
    variable.shape = PartialShape(shape);
    if (has_initial) initial = PartialShape(table.text()).to_shape();
  } catch (const Error& error) {
    if (error.code() == Code::kDataLoss) throw;
    damaged(std::string("a state of it can't be read: ") + error.what());
  }
  const bool is_bounded =
      variable.shape.rank().is_static() && std::all_of(variable.shape.begin(), variable.shape.end(),
                                                       [](const Dimension& d) { return d.get_max_length() >= 0; });
  if (!is_bounded) damaged("a state of it has no bounds");
  if (!has_initial) return variable;
  if (!variable.shape.compatible(PartialShape(initial))) damaged("a state's first value does not fit the state");
  variable.initial = tensor_of(variable.type, initial, table.text());
  return variable;
}

std::shared_ptr<const Model> read_initialisers(TableReader& table, const ModelInfo& info) {
  const std::string xml = table.text(), weights = table.text();
  std::shared_ptr<const Model> model;
  try {
    model = read_ir(xml, tensor_of(ElementType::kU8, Shape{weights.size()}, weights), "the states' first values");
  } catch (const Error& error) {
    damaged(std::string("its states' first values can't be read: ") + error.what());
  }
  if (model->inputs().size() != info.ports.inputs.size()) damaged("its states' first values have other inputs");
  for (const Variable& variable : info.variables) {
    const auto makes = [&](const auto& result) {
      return result->get_friendly_name() == variable.name && result->get_output_element_type(0) == variable.type;
    };
    const auto& results = model->get_results();
    if (variable.computed && std::none_of(results.begin(), results.end(), makes))
      damaged("a state's first value is not there");
  }
  return model;
}

ModelInfo read_table(std::span<const char> bytes) {
  TableReader table(bytes);
  ModelInfo info;
  info.name = table.text();
  info.batch = static_cast<std::uint32_t>(table.number());
  info.profiled = table.number() != 0;
  for (const bool is_input : {true, false}) {
    auto& ports = is_input ? info.ports.inputs : info.ports.outputs;
    for (std::uint64_t left = table.count(); left > 0; --left) ports.push_back(read_port(table, is_input));
  }
  for (std::uint64_t left = table.count(); left > 0; --left) info.variables.push_back(read_variable(table));
  if (table.number() != 0) info.initialisers = read_initialisers(table, info);
  for (const Variable& variable : info.variables)
    if (variable.computed && !info.initialisers) damaged("a state's first value is not there");
  return info;
}

[[noreturn]] void foreign(const Tensor& bytes) {
  const auto* start = static_cast<const char*>(bytes.data());
  const std::size_t size = bytes.size_bytes();
  std::string what = "they begin with no TNPUBLOB";
  if (size >= 5 && std::memcmp(start + size - 5, "OVNPU", 5) == 0)
    what = "they end in OVNPU: OpenVINO's own NPU plugin wrote them";
  else if (size >= 8 && std::memcmp(start, "TENONCPU", 8) == 0)
    what = "they were compiled for the CPU device";
  else if (size >= 8 && std::memcmp(start, "TENONNPU", 8) == 0)
    what = "they are a bare blob of the software NPU's driver";
  throw Error(Code::kInvalidArgument, "NPU: these bytes are no compiled blob of Tenon's NPU device: " + what +
                                          "; a bare blob of the driver is taken with NPU_IMPORT_RAW_BLOB");
}

void check_header(const Header& header, std::size_t available, bool any_version) {
  const auto version = [](std::uint32_t major, std::uint32_t minor) {
    return std::to_string(major) + "." + std::to_string(minor);
  };
  if (header.major != kMajor)
    throw Error(Code::kFailedPrecondition, "NPU: Metadata version is not supported! Imported blob metadata version: " +
                                               version(header.major, header.minor) + ", but the current version is " +
                                               version(kMajor, kMinor) + "; compile the model anew");
  if (header.own != store::content_hash(&header, offsetof(Header, own)))
    damaged("its header does not have the hash that it names");
  const std::string_view made_by(header.made_by, ::strnlen(header.made_by, sizeof header.made_by));
  if (!any_version && made_by != kVersion)
    throw Error(Code::kFailedPrecondition, "NPU: the compiled blob was made by \"" + std::string(made_by) +
                                               "\", this is \"" + kVersion +
                                               "\"; compile the model anew, or set NPU_DISABLE_VERSION_CHECK");
  if (header.total > available)
    damaged(std::to_string(available) + " bytes of " + std::to_string(header.total) + " are there");
  if (header.kind != BlobKind::kNative && header.kind != BlobKind::kWeightless) damaged("it is of an unknown kind");
  if (header.total < sizeof header || header.table_bytes > header.total - sizeof header ||
      header.native_offset % kPage != 0 || header.native_offset < sizeof header + header.table_bytes ||
      header.native_offset > header.total || header.native_bytes != header.total - header.native_offset)
    damaged("parts of it lie outside");
}

}  // namespace

void write_blob(std::ostream& stream, const ModelInfo& info, BlobKind kind, const void* native,
                std::size_t native_bytes) {
  std::string table = write_table(info);
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.major = kMajor;
  header.minor = kMinor;
  header.kind = kind;
  header.table_bytes = table.size();
  header.native_offset = (sizeof header + table.size() + kPage - 1) / kPage * kPage;
  header.native_bytes = native_bytes;
  header.total = header.native_offset + native_bytes;
  table.resize(header.native_offset - sizeof header, '\0');
  store::ContentHasher hasher;
  hasher.add(table.data(), table.size());
  hasher.add(native, native_bytes);
  header.content = hasher.result();
  std::strncpy(header.made_by, kVersion, sizeof header.made_by - 1);
  std::strncpy(header.platform, info.platform.c_str(), sizeof header.platform - 1);
  header.own = store::content_hash(&header, offsetof(Header, own));
  stream.write(reinterpret_cast<const char*>(&header), sizeof header);
  stream.write(table.data(), static_cast<std::streamsize>(table.size()));
  stream.write(static_cast<const char*>(native), static_cast<std::streamsize>(native_bytes));
  stream.flush();
  if (!stream)
    throw Error(Code::kDataLoss,
                "NPU: the stream took only a part of the compiled blob of " + std::to_string(header.total) + " bytes");
}

Blob read_blob(const Tensor& bytes, bool is_verified, bool any_version) {
  const std::size_t available = bytes ? bytes.size_bytes() : 0;
  if (available >= sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) foreign(bytes);
  if (available < sizeof(Header))
    damaged(std::to_string(available) + " bytes are there, its header has " + std::to_string(sizeof(Header)));
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  check_header(header, available, any_version);
  const auto* start = static_cast<const char*>(bytes.data());
  if (!is_verified) {
    store::ContentHasher hasher;
    hasher.add(start + sizeof header, header.native_offset - sizeof header);
    hasher.add(start + header.native_offset, header.native_bytes);
    if (hasher.result() != header.content) damaged("its content does not have the hash that its header names");
  }
  Blob blob;
  blob.kind = header.kind;
  blob.info = read_table({start + sizeof header, header.table_bytes});
  blob.info.platform = std::string(header.platform, ::strnlen(header.platform, sizeof header.platform));
  blob.native = Tensor(TensorInfo{ElementType::kU8, Shape{header.native_bytes}, {}}, bytes.memory(),
                       bytes.offset() + header.native_offset, bytes.lease());
  return blob;
}

}  // namespace tenon::inline v1::npu_device
