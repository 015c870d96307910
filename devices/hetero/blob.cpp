// SPDX-License-Identifier: Apache-2.0
// Blobs of HETERO: the connections of the parts, and each part's own blob.
#include <cstring>
#include <ostream>
#include <sstream>

#include <tenon/devices/hetero/hetero.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/store/bytes.hpp>
#include <tenon/store/release.hpp>
#include <tenon/store/sealed_header.hpp>
#include <tenon/store/table.hpp>

namespace tenon::inline v1::hetero {
namespace {

/// More than any model has, so that a wrong number does not request all memory.
constexpr std::uint64_t kMaxItems = 1 << 24;

/// The rest is a table.
struct Fields {
  store::MadeBy made_by;
};
using Header = store::Sealed<Fields>;

[[noreturn]] void damaged(const std::string& what) {
  throw Error(Code::kDataLoss, "HETERO: the compiled blob is damaged or truncated: " + what);
}

store::Format format() {
  const auto foreign = [] {
    throw Error(Code::kInvalidArgument, "HETERO: these bytes are no blob of this device, or of another version");
  };
  return {.magic = "TENONHET",
          .version = 3,
          .minor = 0,
          .damaged = &damaged,
          .foreign = foreign,
          .other_version = [foreign](const store::SealStart&) { foreign(); }};
}

class Writer : public store::TableWriter {
 public:
  void ids(const std::vector<std::size_t>& values) {
    number(values.size());
    for (const std::size_t value : values) number(value);
  }
  void model(const Model* model) {
    SerializedModel written;
    if (model) written = serialize(*model);
    text(written.xml);
    text(store::bytes_of(written.weights));
  }
};

class Reader : public store::TableReader {
 public:
  explicit Reader(std::string_view bytes)
      : store::TableReader(bytes, &hetero::damaged,
                           {.ends_early = "it ends early",
                            .too_many = "it counts more things than can be",
                            .out_of_range = "it counts more things than can be"}) {}
  /// Values below `limit`, or kNoValue where that is allowed.
  ValueId id(std::size_t limit, bool may_lack = false) {
    const std::uint64_t value = number();
    if (value >= limit && !(may_lack && value == kNoValue)) damaged("it names a value that does not exist");
    return value;
  }
  std::vector<ValueId> ids(std::size_t limit) {
    std::vector<ValueId> values(count());
    for (ValueId& value : values) value = id(limit);
    return values;
  }
  std::shared_ptr<Model> model() {
    const std::string_view xml = view(), bytes = view();
    if (xml.empty()) return nullptr;
    Tensor weights(ElementType::kU8, Shape{bytes.size()});
    if (!bytes.empty()) std::memcpy(weights.data(), bytes.data(), bytes.size());
    return read_ir(xml, weights, "the blob's graph");
  }
};

/// The ports as a model of nothing else: the inputs, and each result read from a parameter of its own.
std::shared_ptr<Model> skeleton(const Ports& ports) {
  ParameterVector parameters;
  ResultVector results;
  const auto parameter = [&](const Output<const Node>& port, const std::string& name) {
    auto made = std::make_shared<op::v0::Parameter>(port.get_element_type(), port.get_partial_shape());
    made->set_friendly_name(name);
    made->output(0).set_names(port.get_names());
    parameters.push_back(made);
    return made;
  };
  for (const auto& port : ports.inputs) parameter(port, port.get_node()->get_friendly_name());
  for (const auto& port : ports.outputs) {
    const auto source = parameter(port, port.get_node()->get_input_node_ptr(0)->get_friendly_name());
    results.push_back(std::make_shared<op::v0::Result>(source->output(0)));
    results.back()->set_friendly_name(port.get_node()->get_friendly_name());
  }
  return std::make_shared<Model>(results, parameters, "ports");
}

}  // namespace

void CompiledModel::export_model(std::ostream& stream) const {
  Writer out;
  out.text(name_);
  out.number(ports().inputs.size());
  out.model(skeleton(ports()).get());
  out.number(partition_.value_count);
  out.ids(partition_.inputs);
  out.ids(partition_.outputs);
  out.number(partition_.constants.size());
  for (const auto& [value, tensor] : partition_.constants) {
    out.number(value);
    const auto node = std::make_shared<op::v0::Constant>(tensor);
    const Model holder(OutputVector{node->output(0)}, ParameterVector{}, "constant");
    out.model(&holder);
  }
  out.number(partition_.variables.size());
  for (const Variable& variable : partition_.variables) {
    out.text(variable.id);
    out.text(variable.type.get_type_name());
    out.text(Attribute(variable.shape).to_text());
    out.number(variable.before);
    out.number(variable.after);
  }
  out.ids(partition_.initialised);
  out.model(partition_.initialiser.get());
  out.number(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    out.text(partition_.parts[i].device);
    out.ids(partition_.parts[i].inputs);
    out.ids(partition_.parts[i].outputs);
    std::ostringstream blob;
    tenon::CompiledModel part = parts_[i].model;
    part.export_model(blob);
    out.text(std::move(blob).str());
  }
  Header header{};
  header.start.total = sizeof header + out.bytes().size();
  header.fields.made_by = store::MadeBy::this_release();
  header.start.content = store::content_hash(out.bytes().data(), out.bytes().size());
  store::seal(header, format());
  stream.write(reinterpret_cast<const char*>(&header), sizeof header);
  stream << out.bytes();
  if (!stream) throw Error(Code::kDataLoss, "HETERO: the stream took only a part of the blob");
}

Imported read_blob(const Tensor& bytes) {
  const std::string_view all = store::bytes_of(bytes);
  const Header header = store::unseal<Fields>(all, format());
  store::check_made_by(header.fields.made_by, "HETERO");
  store::check_total(header.start, sizeof header, all.size(), &damaged);
  if (header.start.total != all.size()) damaged("something follows it");
  store::check_content(header.start, sizeof header, all, &damaged);
  Reader in(all.substr(sizeof header));
  Imported imported;
  imported.name = in.text();
  const std::size_t inputs = in.number(kMaxItems);
  const auto ports = in.model();
  if (!ports || ports->get_parameters().size() < inputs) damaged("it lacks its ports");
  imported.ports = Ports::of(*ports);
  imported.ports.inputs.resize(inputs);
  Partition& partition = imported.partition;
  partition.value_count = in.number(kMaxItems);
  const std::size_t limit = partition.value_count;
  partition.inputs = in.ids(limit);
  partition.outputs = in.ids(limit);
  if (partition.inputs.size() != inputs || partition.outputs.size() != imported.ports.outputs.size())
    damaged("its ports are not its values");
  for (std::uint64_t count = in.count(); count > 0; --count) {
    const ValueId value = in.id(limit);
    const auto holder = in.model();
    const auto* constant = holder && holder->get_results().size() == 1
                               ? as_type<op::v0::Constant>(holder->get_results()[0]->get_input_node_ptr(0))
                               : nullptr;
    if (!constant) damaged("a constant is none");
    partition.constants[value] = constant->get_tensor();
  }
  for (std::uint64_t count = in.count(); count > 0; --count) {
    Variable variable;
    variable.id = in.text();
    variable.type = *Attribute::from_text(AttributeKind::kType, in.view()).get_if<ElementType>();
    variable.shape = *Attribute::from_text(AttributeKind::kShape, in.view()).get_if<PartialShape>();
    variable.before = in.id(limit, true);
    variable.after = in.id(limit, true);
    partition.variables.push_back(std::move(variable));
  }
  partition.initialised = in.ids(partition.variables.size());
  partition.initialiser = in.model();
  if ((partition.initialiser ? partition.initialiser->get_results().size() : 0) != partition.initialised.size())
    damaged("its states have other initial values than it names");
  for (std::uint64_t count = in.count(); count > 0; --count) {
    Part part;
    part.device = in.text();
    part.inputs = in.ids(limit);
    part.outputs = in.ids(limit);
    imported.blobs.push_back(in.text());
    partition.parts.push_back(std::move(part));
  }
  return imported;
}

}  // namespace tenon::inline v1::hetero
