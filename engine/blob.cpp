// SPDX-License-Identifier: Apache-2.0
// Blobs: a header that is checked byte by byte, then sections that are checked as a whole.
#include <tenon/engine/blob.hpp>

#include <cstring>
#include <functional>
#include <map>
#include <ostream>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/core/platform/modules.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/store/bytes.hpp>
#include <tenon/store/release.hpp>
#include <tenon/store/sealed_header.hpp>
#include <tenon/store/table.hpp>
#include <tenon/store/weights.hpp>

namespace tenon::inline v1::engine {
namespace {

constexpr std::uint32_t kFormat = 3;
constexpr std::size_t kAlignment = 64;
/// Names of the parameters that stand for packed constants in the graph.
constexpr std::string_view kStandIn = "tenon.packed.";

/// The start's `minor` is the blob's kind.
struct Fields {
  store::Section name, graph, constants, table, packed;
  std::uint64_t precision;  ///< ElementType computed in.
  char identity[368];
};
using Header = store::Sealed<Fields>;
static_assert(sizeof(Header) == 512);
constexpr std::size_t kHeaderBytes = sizeof(Header);

std::size_t aligned(std::size_t size) { return store::aligned(size, kAlignment); }

/// That of the file in which this code lies: another build may lower otherwise.
std::string build_id() { return platform::build_of(reinterpret_cast<const void*>(&build_id)); }

[[noreturn]] void damaged(const std::string& what) {
  throw Error(Code::kDataLoss, "CPU: the compiled blob is damaged or truncated: " + what + "; compile the model anew");
}

store::Format format() {
  store::Format format{.magic = "TENONCPU", .version = kFormat, .damaged = &damaged};
  format.foreign = [] {
    throw Error(Code::kInvalidArgument,
                "CPU: these bytes are no compiled blob of Tenon's CPU device (no TENONCPU at their start)");
  };
  format.other_version = [](const store::SealStart& found) {
    throw Error(Code::kFailedPrecondition, "CPU: the compiled blob has format " + std::to_string(found.version) +
                                               ", this device reads " + std::to_string(kFormat) +
                                               "; compile the model anew");
  };
  return format;
}

/// Parts of a blob in order, hashed and written without being put together in memory.
class Parts {
 public:
  store::Section add(const void* data, std::size_t size) {
    const store::Section section{end_, size};
    parts_.push_back({static_cast<const char*>(data), size});
    end_ += aligned(size);
    return section;
  }
  std::size_t end() const { return end_; }
  store::ContentHash hash() const {
    store::ContentHasher hasher;
    each([&](const char* data, std::size_t size) { hasher.add(data, size); });
    return hasher.result();
  }
  void write(std::ostream& stream) const {
    each([&](const char* data, std::size_t size) { stream.write(data, static_cast<std::streamsize>(size)); });
  }

 private:
  template <typename Sink>
  void each(Sink&& sink) const {
    static constexpr char kZeros[kAlignment] = {};
    for (const auto& [data, size] : parts_) {
      if (size) sink(data, size);
      if (aligned(size) != size) sink(kZeros, aligned(size) - size);
    }
  }
  std::vector<std::pair<const char*, std::size_t>> parts_;
  std::size_t end_ = kHeaderBytes;
};

/// Constants that leave the graph: by address, to their numbers.
using Leaving = std::map<const void*, std::size_t>;

/// The model with a parameter in place of each of them; `order` gives their numbers in the order of the parameters.
std::shared_ptr<Model> with_parameters(const Model& given, const Leaving& leaving, std::vector<std::size_t>& order) {
  const auto model = given.clone();
  ParameterVector added;
  for (const auto& node : model->get_ordered_ops()) {
    const auto* constant = as_type<op::v0::Constant>(node.get());
    if (!constant) continue;
    const auto found = leaving.find(constant->get_byte_size() ? constant->get_data_ptr() : nullptr);
    if (found == leaving.end()) continue;
    const auto parameter = std::make_shared<op::v0::Parameter>(constant->get_tensor().element_type(),
                                                               PartialShape(constant->get_tensor().shape()));
    parameter->set_friendly_name(std::string(kStandIn) + std::to_string(order.size()) + '/' +
                                 node->get_friendly_name());
    node->output(0).replace(parameter->output(0));
    added.push_back(parameter);
    order.push_back(found->second);
  }
  model->add_parameters(added);
  return model;
}

/// What leaves a weightless blob: constants of this size and more.
store::WeightsByHash no_weights() { return store::WeightsByHash(4096); }

/// Those of the model, each once.
std::vector<Tensor> large_constants(const Model& model) {
  const store::WeightsByHash weights = no_weights();
  std::vector<Tensor> found;
  std::set<const void*> seen;
  for (const auto& node : model.get_ordered_ops()) {
    const auto* constant = as_type<op::v0::Constant>(node.get());
    if (constant && weights.takes(constant->get_tensor()) && seen.insert(constant->get_data_ptr()).second)
      found.push_back(constant->get_tensor());
  }
  return found;
}

Header checked_header(std::string_view bytes) {
  const Header header = store::unseal<Fields>(bytes, format());
  const Fields& fields = header.fields;
  const std::string_view identity(fields.identity, ::strnlen(fields.identity, sizeof fields.identity));
  if (identity != blob_identity())
    throw Error(Code::kFailedPrecondition, "CPU: the compiled blob was made by \"" + std::string(identity) +
                                               "\", this is \"" + blob_identity() + "\"; compile the model anew");
  store::check_total(header.start, kHeaderBytes, bytes.size(), &damaged);
  for (const store::Section& section : {fields.name, fields.graph, fields.constants, fields.table, fields.packed})
    if (!store::lies_within(section, kHeaderBytes, header.start.total, kAlignment)) damaged("a section lies outside");
  return header;
}

store::TableReader table_of(const Tensor& bytes, const Header& header) {
  return {header.fields.table.in(store::bytes_of(bytes)), &damaged};
}

/// Puts constants in the place of the parameters that stand for them, the last ones of the model. `make` gives each.
void insert_constants(const std::shared_ptr<Model>& model, std::uint64_t count,
                      const std::function<Tensor(std::size_t, const op::v0::Parameter&)>& make) {
  const auto parameters = model->get_parameters();
  if (count > parameters.size()) damaged("it names more constants than its graph has");
  for (std::size_t i = 0; i < count; ++i) {
    const auto& parameter = parameters[parameters.size() - count + i];
    if (parameter->get_friendly_name().compare(0, kStandIn.size(), kStandIn) != 0 ||
        parameter->get_partial_shape().is_dynamic())
      damaged("a constant has no place");
    const auto node = std::make_shared<op::v0::Constant>(make(i, *parameter));
    node->set_friendly_name(parameter->get_friendly_name().substr(parameter->get_friendly_name().find('/') + 1));
    parameter->output(0).replace(node->output(0));
    model->remove_parameter(parameter);
  }
}

/// Packed constants behind stand-ins.
void insert_packed(Blob& blob, const std::shared_ptr<Model>& model, const Tensor& bytes, const Header& header) {
  store::TableReader table = table_of(bytes, header);
  insert_constants(model, table.number(), [&](std::size_t, const op::v0::Parameter& parameter) {
    PackedModel::Constant constant;
    constant.stand_in = make_stand_in(parameter.get_element_type(), parameter.get_output_shape(0));
    for (std::uint64_t k = table.number(); k > 0; --k) {
      PackedConstant packed;
      packed.from = table.text();
      packed.layout = table.text();
      store::Section part;
      part.offset = table.number();
      part.size = table.number();
      if (!store::lies_within(part, 0, header.fields.packed.size, kAlignment))
        damaged("a packed constant lies outside");
      packed.bytes = store::part_of(bytes, header.fields.packed.offset + part.offset, part.size);
      constant.packed.push_back(std::move(packed));
    }
    blob.prepared.constants.push_back(constant);
    return constant.stand_in;
  });
}

/// The source's constants, found again by their hashes.
void insert_weights(const std::shared_ptr<Model>& model, const Tensor& bytes, const Header& header,
                    const WeightsSource& source) {
  store::TableReader table = table_of(bytes, header);
  const std::shared_ptr<const Model> given = source ? source() : nullptr;
  if (!given)
    throw Error(
        Code::kFailedPrecondition,
        "CPU: Attempted to load a weightless compiled model, but no weights have been provided; give WEIGHTS_PATH "
        "(the model's file) or MODEL_PTR");
  store::WeightsByHash weights = no_weights();
  for (const Tensor& tensor : large_constants(*given)) weights.add(tensor);
  insert_constants(model, table.number(), [&](std::size_t, const op::v0::Parameter& parameter) {
    const Tensor tensor = weights.find(table.hash());
    if (!tensor)
      throw Error(Code::kFailedPrecondition, "CPU: the weights that were given lack those of '" +
                                                 parameter.get_friendly_name() + "': they belong to another model");
    const auto wanted = checked_size_bytes(parameter.get_element_type(), parameter.get_output_shape(0));
    if (!wanted || *wanted != tensor.size_bytes()) damaged("a constant has another size than its weights");
    return Tensor(TensorInfo{parameter.get_element_type(), parameter.get_output_shape(0), {}}, tensor.memory(),
                  tensor.offset(), tensor.lease());
  });
}

struct Packed {
  std::string table;
  std::vector<const Tensor*> tensors;
};

void write(std::ostream& stream, const Blob& blob, const Model& graph_model, const Packed& packed) {
  const SerializedModel graph = serialize(graph_model);
  Header header{};
  Fields& fields = header.fields;
  header.start.minor = static_cast<std::uint32_t>(blob.kind);
  fields.precision = static_cast<std::uint64_t>(blob.precision);
  std::strncpy(fields.identity, blob_identity().c_str(), sizeof fields.identity - 1);
  Parts parts;
  fields.name = parts.add(blob.name.data(), blob.name.size());
  fields.graph = parts.add(graph.xml.data(), graph.xml.size());
  fields.constants =
      parts.add(graph.weights ? graph.weights.data() : nullptr, graph.weights ? graph.weights.size_bytes() : 0);
  fields.table = parts.add(packed.table.data(), packed.table.size());
  fields.packed = {parts.end(), 0};
  for (const Tensor* tensor : packed.tensors) parts.add(tensor->data(), tensor->size_bytes());
  fields.packed.size = parts.end() - fields.packed.offset;
  header.start.total = parts.end();
  header.start.content = parts.hash();
  store::seal(header, format());
  stream.write(reinterpret_cast<const char*>(&header), sizeof header);
  parts.write(stream);
  stream.flush();
  if (!stream)
    throw Error(Code::kDataLoss, "CPU: the stream took only a part of the compiled blob of " +
                                     std::to_string(header.start.total) + " bytes");
}

void write_weightless(std::ostream& stream, const Blob& blob) {
  const Model& given = *blob.prepared.model;
  const std::vector<Tensor> weights = large_constants(given);
  Leaving leaving;
  for (std::size_t i = 0; i < weights.size(); ++i) leaving[weights[i].data()] = i;
  std::vector<std::size_t> order;
  const auto model = with_parameters(given, leaving, order);
  store::TableWriter table;
  table.number(order.size());
  for (const std::size_t index : order) table.hash(store::content_hash(weights[index]));
  write(stream, blob, *model, {std::move(table).bytes(), {}});
}

}  // namespace

std::string blob_identity() {
  static const std::string identity =
      std::string(store::release()) + " build " + build_id() + ", " + layout_authority();
  return identity;
}

void write_blob(std::ostream& stream, const Blob& blob) {
  if (blob.kind == Blob::Kind::kWeightless) return write_weightless(stream, blob);
  Leaving leaving;
  for (std::size_t i = 0; i < blob.prepared.constants.size(); ++i)
    leaving[blob.prepared.constants[i].stand_in.data()] = i;
  std::vector<std::size_t> order;
  const auto model = with_parameters(*blob.prepared.model, leaving, order);
  store::TableWriter table;
  Packed packed;
  table.number(order.size());
  std::size_t offset = 0;
  for (const std::size_t index : order) {
    const auto& constant = blob.prepared.constants[index];
    table.number(constant.packed.size());
    for (const PackedConstant& one : constant.packed) {
      table.text(one.from);
      table.text(one.layout);
      table.number(offset);
      table.number(one.bytes.size_bytes());
      offset += aligned(one.bytes.size_bytes());
      packed.tensors.push_back(&one.bytes);
    }
  }
  packed.table = std::move(table).bytes();
  write(stream, blob, *model, packed);
}

Blob read_blob(const Tensor& bytes, bool is_verified, const WeightsSource& source) {
  const std::string_view all = store::bytes_of(bytes);
  const Header header = checked_header(all);
  const Fields& fields = header.fields;
  if (!is_verified) store::check_content(header.start, kHeaderBytes, all, &damaged);
  Blob blob;
  blob.kind = static_cast<Blob::Kind>(header.start.minor);
  blob.name = fields.name.in(all);
  blob.precision = static_cast<ElementType>(fields.precision);
  if (blob.precision != ElementType::kF32 && blob.precision != ElementType::kBf16)
    damaged("it computes in a type that this device does not compute in");
  const auto model =
      read_ir(fields.graph.in(all), store::part_of(bytes, fields.constants.offset, fields.constants.size),
              "the compiled blob's graph");
  model->set_friendly_name(blob.name);
  if (blob.kind == Blob::Kind::kPrepared)
    insert_packed(blob, model, bytes, header);
  else if (blob.kind == Blob::Kind::kWeightless)
    insert_weights(model, bytes, header, source);
  else if (blob.kind != Blob::Kind::kModel)
    damaged("it is of an unknown kind");
  blob.prepared.model = model;
  return blob;
}

}  // namespace tenon::inline v1::engine
