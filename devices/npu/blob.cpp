// SPDX-License-Identifier: Apache-2.0
// Blobs of compiled models: a header that is checked before any of its values is used, the device's own data, and the
// driver's blob.
#include <tenon/devices/npu/model_info.hpp>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <set>
#include <string_view>
#include <unordered_set>

#include <tenon/core/error.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/store/bytes.hpp>
#include <tenon/store/release.hpp>
#include <tenon/store/sealed_header.hpp>
#include <tenon/store/table.hpp>

namespace tenon::inline v1::npu_device {

void damaged(const std::string& what) {
  throw Error(Code::kDataLoss, "NPU: the compiled blob is damaged or truncated: " + what + "; compile the model anew");
}

namespace {

constexpr std::string_view kMagic = "TNPUBLOB";
/// The major version changes if older readers cannot read the blob; the minor version if they may ignore the addition.
constexpr std::uint32_t kMajor = 3, kMinor = 0;
constexpr std::size_t kAlignment = 4096;

struct Fields {
  std::uint64_t table_bytes;    ///< Right after the header.
  std::uint64_t native_offset;  ///< Page-aligned; the driver's blob extends to the end.
  store::MadeBy made_by;
  char platform[32];
  BlobKind kind;
  char unused[372];
};
using Header = store::Sealed<Fields>;
static_assert(sizeof(Header) == 512);

/// Entries of rt_info that are texts, and those of maps of texts (layouts).
void write_rt_info(store::TableWriter& table, const RTMap& info) {
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

void read_rt_info(store::TableReader& table, RTMap& info) {
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

/// Sorted, so that equal models have equal blobs.
void write_names(store::TableWriter& table, const std::unordered_set<std::string>& names) {
  const std::set<std::string> sorted(names.begin(), names.end());
  table.number(sorted.size());
  for (const std::string& name : sorted) table.text(name);
}

std::unordered_set<std::string> read_names(store::TableReader& table) {
  std::unordered_set<std::string> names;
  for (std::uint64_t left = table.count(); left > 0; --left) names.insert(table.text());
  return names;
}

void write_port(store::TableWriter& table, const Output<const Node>& port) {
  const Node& node = *port.get_node();
  table.text(node.get_friendly_name());
  table.text(node.get_input_size() > 0 ? node.get_input_node_ptr(0)->get_friendly_name() : std::string());
  table.text(port.get_element_type().get_type_name());
  table.text(port.get_partial_shape().to_string());
  write_names(table, port.get_names());
  write_rt_info(table, node.get_rt_info());
}

Output<const Node> read_port(store::TableReader& table, bool is_input) {
  const std::string name = table.text(), source = table.text(), type = table.text(), shape = table.text();
  try {
    auto value = std::make_shared<op::v0::Parameter>(Any(type).as<element::Type>(), PartialShape(shape));
    value->output(0).set_names(read_names(table));
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

Tensor tensor_of(ElementType type, const Shape& shape, const std::string& bytes) {
  const auto size = checked_size_bytes(type, shape);
  if (!size || *size != bytes.size()) damaged("a tensor in it has another size than its shape says");
  Tensor tensor(type, shape);
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

std::string write_table(const ModelInfo& info) {
  store::TableWriter table;
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
    table.text(store::bytes_of(variable.initial));
  }
  table.number(info.initialisers ? 1 : 0);
  if (info.initialisers) {
    const SerializedModel initialisers = serialize(*info.initialisers);
    table.text(initialisers.xml);
    table.text(store::bytes_of(initialisers.weights));
  }
  return std::move(table).bytes();
}

Variable read_variable(store::TableReader& table) {
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

std::shared_ptr<const Model> read_initialisers(store::TableReader& table, const ModelInfo& info) {
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

ModelInfo read_table(std::string_view bytes) {
  store::TableReader table(bytes, &damaged);
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

[[noreturn]] void foreign(std::string_view bytes) {
  std::string what = "they begin with no TNPUBLOB";
  if (bytes.ends_with("OVNPU"))
    what = "they end in OVNPU: OpenVINO's own NPU plugin wrote them";
  else if (bytes.starts_with("TENONCPU"))
    what = "they were compiled for the CPU device";
  else if (bytes.starts_with("TENONNPU"))
    what = "they are a bare blob of the software NPU's driver";
  throw Error(Code::kInvalidArgument, "NPU: these bytes are no compiled blob of Tenon's NPU device: " + what +
                                          "; a bare blob of the driver is taken with NPU_IMPORT_RAW_BLOB");
}

store::Format format() {
  store::Format format{.magic = kMagic, .version = kMajor, .damaged = &damaged};
  format.other_version = [](const store::SealStart& found) {
    const auto version = [](std::uint32_t major, std::uint32_t minor) {
      return std::to_string(major) + "." + std::to_string(minor);
    };
    throw Error(Code::kFailedPrecondition, "NPU: Metadata version is not supported! Imported blob metadata version: " +
                                               version(found.version, found.minor) + ", but the current version is " +
                                               version(kMajor, kMinor) + "; compile the model anew");
  };
  return format;
}

Header checked_header(std::string_view bytes, bool any_version) {
  if (bytes.size() >= kMagic.size() && !bytes.starts_with(kMagic)) foreign(bytes);
  const Header header = store::unseal<Fields>(bytes, format());
  const Fields& fields = header.fields;
  if (!any_version)
    store::check_made_by(fields.made_by, "NPU", "compile the model anew, or set NPU_DISABLE_VERSION_CHECK");
  store::check_total(header.start, sizeof header, bytes.size(), &damaged);
  if (fields.kind != BlobKind::kNative && fields.kind != BlobKind::kWeightless) damaged("it is of an unknown kind");
  if (!store::lies_within({sizeof header, fields.table_bytes}, sizeof header, fields.native_offset) ||
      !store::lies_within({fields.native_offset, 0}, sizeof header, header.start.total, kAlignment))
    damaged("parts of it lie outside");
  return header;
}

}  // namespace

void write_blob(std::ostream& stream, const ModelInfo& info, BlobKind kind, const void* native,
                std::size_t native_bytes) {
  std::string table = write_table(info);
  Header header{};
  Fields& fields = header.fields;
  header.start.minor = kMinor;
  fields.kind = kind;
  fields.table_bytes = table.size();
  fields.native_offset = store::aligned(sizeof header + table.size(), kAlignment);
  header.start.total = fields.native_offset + native_bytes;
  table.resize(fields.native_offset - sizeof header, '\0');
  store::ContentHasher hasher;
  hasher.add(table.data(), table.size());
  hasher.add(native, native_bytes);
  header.start.content = hasher.result();
  fields.made_by = store::MadeBy::this_release();
  std::strncpy(fields.platform, info.platform.c_str(), sizeof fields.platform - 1);
  store::seal(header, format());
  stream.write(reinterpret_cast<const char*>(&header), sizeof header);
  stream.write(table.data(), static_cast<std::streamsize>(table.size()));
  stream.write(static_cast<const char*>(native), static_cast<std::streamsize>(native_bytes));
  stream.flush();
  if (!stream)
    throw Error(Code::kDataLoss, "NPU: the stream took only a part of the compiled blob of " +
                                     std::to_string(header.start.total) + " bytes");
}

Blob read_blob(const Tensor& bytes, bool is_verified, bool any_version) {
  const std::string_view all = store::bytes_of(bytes);
  const Header header = checked_header(all, any_version);
  const Fields& fields = header.fields;
  if (!is_verified) store::check_content(header.start, sizeof header, all, &damaged);
  Blob blob;
  blob.kind = fields.kind;
  blob.info = read_table(all.substr(sizeof header, fields.table_bytes));
  blob.info.platform = std::string(fields.platform, ::strnlen(fields.platform, sizeof fields.platform));
  blob.native = store::part_of(bytes, fields.native_offset, header.start.total - fields.native_offset);
  return blob;
}

}  // namespace tenon::inline v1::npu_device
