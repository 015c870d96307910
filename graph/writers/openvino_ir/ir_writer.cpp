// SPDX-License-Identifier: Apache-2.0
// OpenVINO IR v11: nodes become the XML's layers and edges, constants become the weights.
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include <pugixml.hpp>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/graph/exec_model_info.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/readers/openvino_ir/internal/ir_text.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {

namespace {

// Large constants start on a cache line, so that readers may use them in place with vector loads; small ones are
// aligned to 8 bytes.
constexpr std::size_t kLargeBytes = 4096, kLargeAlignment = 64, kSmallAlignment = 8;

std::uint64_t hash_bytes(const void* data, std::size_t size) {
  // FNV-1a over words. Only finds candidates, which are then compared in full.
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::uint64_t hash = 0xcbf29ce484222325u ^ size;
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = (hash ^ word) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  for (; size > 0; --size) hash = (hash ^ *bytes++) * 0x100000001b3u;
  return hash;
}

class WeightStore {
 public:
  WeightStore() = default;
  /// Stores nothing: constants are identified by the numbers that `number` returns.
  explicit WeightStore(NumberOfConstant number) : number_(std::move(number)) {}
  bool by_number() const { return number_ != nullptr; }
  std::uint64_t number(const Tensor& tensor) const { return number_(tensor); }
  /// Returns the offset of the bytes in the file.
  std::size_t add(const Tensor& tensor) {
    const std::size_t size = tensor.size_bytes();
    if (size == 0) return end_;
    const void* data = tensor.data();
    auto& candidates = by_hash_[hash_bytes(data, size)];
    for (const Piece& piece : candidates) {
      if (piece.tensor.size_bytes() == size && std::memcmp(piece.tensor.data(), data, size) == 0) return piece.offset;
    }
    const std::size_t alignment = size >= kLargeBytes ? kLargeAlignment : kSmallAlignment;
    const std::size_t offset = (end_ + alignment - 1) / alignment * alignment;
    candidates.push_back({tensor, offset});
    pieces_.push_back({tensor, offset});
    end_ = offset + size;
    return offset;
  }
  std::size_t size_bytes() const { return end_; }
  /// Calls sink(data, size) for consecutive bytes, padding included.
  template <typename Sink>
  void write(Sink&& sink) const {
    static constexpr char kZeros[kLargeAlignment] = {};
    std::size_t position = 0;
    for (const Piece& piece : pieces_) {
      sink(kZeros, piece.offset - position);
      sink(static_cast<const char*>(piece.tensor.data()), piece.tensor.size_bytes());
      position = piece.offset + piece.tensor.size_bytes();
    }
  }

 private:
  struct Piece {
    Tensor tensor;
    std::size_t offset;
  };
  std::unordered_map<std::uint64_t, std::vector<Piece>> by_hash_;
  std::vector<Piece> pieces_;
  std::size_t end_ = 0;
  NumberOfConstant number_;
};

bool is_xml_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !letter(text[0]) || text == "info") return false;
  for (char c : text) {
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '-' && c != '.') return false;
  }
  return true;
}

void write_model_info(pugi::xml_node parent, const AnyMap& map) {
  for (const auto& [key, value] : map) {
    pugi::xml_node child = parent.append_child(is_xml_name(key) ? key.c_str() : "info");
    if (!is_xml_name(key)) child.append_attribute("name") = key.c_str();
    if (value.is<AnyMap>())
      write_model_info(child, value.as<AnyMap>());
    else
      child.append_attribute("value") = value.to_text().c_str();
  }
}

// Only entries in the form that the reader makes can be written; others (pointers, objects) belong to the process.
void write_node_info(pugi::xml_node parent, const RTMap& map) {
  pugi::xml_node info;
  for (const auto& [key, value] : map) {
    if (!value.is<AnyMap>()) continue;
    const AnyMap attributes = value.as<AnyMap>();
    if (!attributes.count("name") || !attributes.count("version")) continue;
    if (!info) info = parent.append_child("rt_info");
    pugi::xml_node attribute = info.append_child("attribute");
    attribute.append_attribute("name") = attributes.at("name").to_text().c_str();
    attribute.append_attribute("version") = attributes.at("version").to_text().c_str();
    for (const auto& [name, text] : attributes) {
      if (name != "name" && name != "version") attribute.append_attribute(name.c_str()) = text.to_text().c_str();
    }
  }
}

std::string sorted_names(const std::unordered_set<std::string>& names) {
  std::vector<std::string> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  return ir::join_names(sorted);
}

void write_port(pugi::xml_node parent, std::size_t id, const descriptor::Tensor& tensor, bool is_output) {
  pugi::xml_node port = parent.append_child("port");
  port.append_attribute("id") = static_cast<unsigned long long>(id);
  port.append_attribute("precision") = ir::precision_name(tensor.get_element_type()).c_str();
  if (is_output && !tensor.get_names().empty())
    port.append_attribute("names") = sorted_names(tensor.get_names()).c_str();
  if (tensor.get_partial_shape().rank().is_static()) {
    for (const Dimension& dimension : tensor.get_partial_shape()) {
      const long long length = dimension.is_static() ? dimension.get_length() : -1;
      port.append_child("dim").text() = length;
    }
  }
  if (is_output) write_node_info(port, tensor.get_rt_info());
}

std::string attribute_text(const Attribute& attribute) {
  if (const auto* shape = attribute.get_if<PartialShape>()) return ir::shape_to_text(*shape);
  return attribute.to_text();
}

void write_data(pugi::xml_node layer, const Node& node, WeightStore& weights) {
  if (is_op(&node, "Result")) return;
  pugi::xml_node data = layer.append_child("data");
  if (const auto* constant = as_type<op::v0::Constant>(&node)) {
    const Tensor& tensor = constant->get_tensor();
    if (tensor.element_type() == ElementType::kString)
      throw Error(Code::kUnimplemented, node.describe() + " holds strings, which are not written to OpenVINO IR");
    if (!tensor.is_contiguous()) throw Error(Code::kInternal, node.describe() + " holds a strided tensor");
    data.append_attribute("element_type") = std::string(name(tensor.element_type())).c_str();
    data.append_attribute("shape") = ir::shape_to_text(PartialShape(tensor.shape())).c_str();
    const std::size_t size = weights.by_number() ? 0 : tensor.size_bytes();
    data.append_attribute("offset") = static_cast<unsigned long long>(weights.by_number() ? 0 : weights.add(tensor));
    data.append_attribute("size") = static_cast<unsigned long long>(size);
    return;
  }
  if (is_op(&node, "Parameter")) {
    data.append_attribute("shape") = ir::shape_to_text(node.get_output_partial_shape(0)).c_str();
    data.append_attribute("element_type") = node.get_output_element_type(0).get_type_name().c_str();
    return;
  }
  if (as_type<exec_model_info::ExecutionNode>(&node))
    for (const auto& [key, value] : node.get_rt_info())
      if (key != exec_model_info::LAYER_TYPE) data.append_attribute(key.c_str()) = value.to_text().c_str();
  for (const auto& [name, value] : node.get_attributes())
    data.append_attribute(name.c_str()) = attribute_text(value).c_str();
  if (!data.first_attribute()) layer.remove_child(data);
}

void write_net(pugi::xml_node net, const Model& model, WeightStore& weights);
NodeVector layer_order(const Model& model);

void append_number(pugi::xml_node xml, const char* name, std::int64_t value) {
  xml.append_attribute(name) = static_cast<long long>(value);
}

template <typename Part>
void write_part(pugi::xml_node port, const Part& part) {
  append_number(port, "axis", part.m_axis);
  append_number(port, "start", part.m_start);
  append_number(port, "end", part.m_end);
  append_number(port, "stride", part.m_stride);
  append_number(port, "part_size", part.m_part_size);
}

/// A body's layers begin with its parameters and end with its results, so their ids follow from their positions.
struct BodyIds {
  explicit BodyIds(const Model& body)
      : first_result(static_cast<std::int64_t>(layer_order(body).size() - body.get_results().size())) {}
  std::int64_t parameter(std::uint64_t index) const { return static_cast<std::int64_t>(index); }
  std::int64_t result(std::uint64_t index) const { return first_result + static_cast<std::int64_t>(index); }
  std::int64_t first_result;
};

void write_port_map(pugi::xml_node layer, const char* element, const op::util::MultiSubGraphOp& node, int body) {
  using Op = op::util::MultiSubGraphOp;
  const BodyIds ids(*node.get_function(static_cast<std::size_t>(body)));
  pugi::xml_node map = layer.append_child(element);
  for (const auto& description : node.get_input_descriptions(body)) {
    pugi::xml_node port = map.append_child("input");
    append_number(port, "external_port_id", static_cast<std::int64_t>(description->m_input_index));
    append_number(port, "internal_layer_id", ids.parameter(description->m_body_parameter_index));
    if (const auto* slice = dynamic_cast<const Op::SliceInputDescription*>(description.get())) write_part(port, *slice);
  }
  for (const auto& description : node.get_output_descriptions(body)) {
    pugi::xml_node port = map.append_child("output");
    append_number(port, "external_port_id",
                  static_cast<std::int64_t>(node.get_input_size() + description->m_output_index));
    append_number(port, "internal_layer_id", ids.result(description->m_body_value_index));
    if (const auto* joint = dynamic_cast<const Op::ConcatOutputDescription*>(description.get()))
      write_part(port, *joint);
    const auto* single = dynamic_cast<const Op::BodyOutputDescription*>(description.get());
    if (single && single->m_iteration >= 0) append_number(port, "iteration", single->m_iteration);
  }
  const auto* loop = as_type<op::v5::Loop>(&node);
  if (!loop) return;
  const auto special = loop->get_special_body_ports();
  const auto write_special = [&](const char* direction, std::int64_t inner, const char* purpose) {
    pugi::xml_node port = map.append_child(direction);
    append_number(port, "external_port_id", -1);
    append_number(port, "internal_layer_id", inner);
    port.append_attribute("purpose") = purpose;
  };
  if (special.current_iteration_input_idx >= 0) {
    write_special("input", ids.parameter(static_cast<std::uint64_t>(special.current_iteration_input_idx)),
                  "current_iteration");
  }
  write_special("output", ids.result(static_cast<std::uint64_t>(special.body_condition_output_idx)),
                "execution_condition");
}

void write_joints(pugi::xml_node layer, const op::util::MultiSubGraphOp& node) {
  if (is_op(&node, "If")) {
    write_port_map(layer, "then_port_map", node, 0);
    write_port_map(layer, "else_port_map", node, 1);
    return;
  }
  write_port_map(layer, "port_map", node, 0);
  const BodyIds ids(*node.get_function(0));
  pugi::xml_node edges = layer.append_child("back_edges");
  for (const auto& description : node.get_input_descriptions(0)) {
    const auto* merged = dynamic_cast<const op::util::MultiSubGraphOp::MergedInputDescription*>(description.get());
    if (!merged) continue;
    pugi::xml_node edge = edges.append_child("edge");
    append_number(edge, "from-layer", ids.result(merged->m_body_value_index));
    append_number(edge, "to-layer", ids.parameter(merged->m_body_parameter_index));
  }
}

void write_bodies(pugi::xml_node layer, const op::util::MultiSubGraphOp& node, WeightStore& weights) {
  if (!is_op(&node, "If")) {
    write_net(layer.append_child("body"), *node.get_function(0), weights);
    return;
  }
  write_net(layer.append_child("then_body"), *node.get_function(0), weights);
  write_net(layer.append_child("else_body"), *node.get_function(1), weights);
}

void write_number(pugi::xml_node layer, const Tensor& tensor, const WeightStore& weights) {
  if (tensor.size_bytes() == 0) return;
  pugi::xml_node info = layer.child("rt_info");
  if (!info) info = layer.append_child("rt_info");
  pugi::xml_node attribute = info.append_child("attribute");
  attribute.append_attribute("name") = "WeightsPointerAttribute";
  attribute.append_attribute("version") = "0";
  attribute.append_attribute("mp") = static_cast<unsigned long long>(weights.number(tensor));
  attribute.append_attribute("ms") = static_cast<unsigned long long>(tensor.size_bytes());
}

/// The layer type; for an executed model, the type of the step, as OpenVINO writes it.
std::string layer_type(const Node& node) {
  const auto found = node.get_rt_info().find(exec_model_info::LAYER_TYPE);
  if (as_type<exec_model_info::ExecutionNode>(&node) && found != node.get_rt_info().end())
    return found->second.to_text();
  return ir::layer_from_operation(node.get_type_info().name);
}

void write_layer(pugi::xml_node layers, std::size_t id, const Node& node, WeightStore& weights) {
  pugi::xml_node layer = layers.append_child("layer");
  layer.append_attribute("id") = static_cast<unsigned long long>(id);
  layer.append_attribute("name") = node.get_friendly_name().c_str();
  layer.append_attribute("type") = layer_type(node).c_str();
  layer.append_attribute("version") = std::string(node.get_type_info().version_id).c_str();
  const bool is_result = is_op(&node, "Result");
  if (is_result && !node.get_input_tensor(0).get_names().empty()) {
    layer.append_attribute("output_names") = sorted_names(node.get_input_tensor(0).get_names()).c_str();
  }
  write_data(layer, node, weights);
  const auto* with_bodies = as_type<op::util::MultiSubGraphOp>(&node);
  if (with_bodies) write_joints(layer, *with_bodies);
  write_node_info(layer, node.get_rt_info());
  if (const auto* constant = as_type<op::v0::Constant>(&node); constant && weights.by_number())
    write_number(layer, constant->get_tensor(), weights);
  std::size_t port = 0;
  if (node.get_input_size() > 0) {
    pugi::xml_node input = layer.append_child("input");
    for (std::size_t i = 0; i < node.get_input_size(); ++i) write_port(input, port++, node.get_input_tensor(i), false);
  }
  if (!is_result && node.get_output_size() > 0) {
    pugi::xml_node output = layer.append_child("output");
    for (std::size_t i = 0; i < node.get_output_size(); ++i)
      write_port(output, port++, node.get_output_tensor(i), true);
  }
  if (with_bodies) write_bodies(layer, *with_bodies, weights);
}

// Parameters and results are in the model's order, because readers take it from the file.
NodeVector layer_order(const Model& model) {
  NodeVector order(model.get_parameters().begin(), model.get_parameters().end());
  for (const auto& node : model.get_ordered_ops()) {
    if (!is_op(node, "Parameter") && !is_op(node, "Result")) order.push_back(node);
  }
  order.insert(order.end(), model.get_results().begin(), model.get_results().end());
  return order;
}

struct StringWriter final : pugi::xml_writer {
  std::string text;
  void write(const void* data, std::size_t size) override { text.append(static_cast<const char*>(data), size); }
};

void write_net(pugi::xml_node net, const Model& model, WeightStore& weights) {
  const NodeVector order = layer_order(model);
  std::unordered_map<const Node*, std::size_t> ids;
  for (const auto& node : order) ids.emplace(node.get(), ids.size());
  pugi::xml_node layers = net.append_child("layers");
  pugi::xml_node edges = net.append_child("edges");
  for (const auto& node : order) {
    const std::size_t to = ids.at(node.get());
    write_layer(layers, to, *node, weights);
    for (std::size_t i = 0; i < node->get_input_size(); ++i) {
      const Output<Node> source = node->input_value(i);
      pugi::xml_node edge = edges.append_child("edge");
      edge.append_attribute("from-layer") = static_cast<unsigned long long>(ids.at(source.get_node()));
      const unsigned long long port = source.get_node()->get_input_size() + source.get_index();
      edge.append_attribute("from-port") = port;
      edge.append_attribute("to-layer") = static_cast<unsigned long long>(to);
      edge.append_attribute("to-port") = static_cast<unsigned long long>(i);
    }
  }
}

std::string write_xml(const Model& model, WeightStore& weights) {
  pugi::xml_document document;
  pugi::xml_node net = document.append_child("net");
  net.append_attribute("name") = model.get_friendly_name().c_str();
  net.append_attribute("version") = "11";
  write_net(net, model, weights);
  write_model_info(net.append_child("rt_info"), model.get_rt_info());
  StringWriter writer;
  document.save(writer, "\t");
  return std::move(writer.text);
}

}  // namespace

void serialize(const Model& model, const PlaceWeights& place) {
  WeightStore weights;
  const std::string xml = write_xml(model, weights);
  char* position = static_cast<char*>(place(xml, weights.size_bytes()));
  if (!position) return;
  weights.write([&](const char* data, std::size_t size) {
    if (size == 0) return;
    std::memcpy(position, data, size);
    position += size;
  });
}

SerializedModel serialize(const Model& model) {
  SerializedModel result;
  serialize(model, [&](const std::string& xml, std::size_t weights_bytes) {
    result = {xml, Tensor(ElementType::kU8, Shape{weights_bytes})};
    return weights_bytes == 0 ? nullptr : result.weights.data();
  });
  return result;
}

std::string serialize_by_number(const Model& model, const NumberOfConstant& number) {
  WeightStore weights(number);
  return write_xml(model, weights);
}

std::string serialize_by_address(const Model& model) {
  return serialize_by_number(model,
                             [](const Tensor& constant) { return reinterpret_cast<std::uintptr_t>(constant.data()); });
}

void serialize(const Model& model, const std::filesystem::path& xml_path, const std::filesystem::path& bin_path) {
  std::filesystem::path bin = bin_path;
  if (bin.empty()) bin = std::filesystem::path(xml_path).replace_extension(".bin");
  if (bin == xml_path)
    throw Error(Code::kInvalidArgument, "\"" + bin.string() + "\" cannot be both the .xml and the .bin file");
  WeightStore weights;
  const std::string xml = write_xml(model, weights);
  for (const auto& target : {bin, xml_path}) NewFile::remove_abandoned(target);
  NewFile bin_file(bin), xml_file(xml_path);
  weights.write([&](const char* data, std::size_t size) { bin_file.write(data, size); });
  xml_file.write(xml.data(), xml.size());
  bin_file.flush();
  xml_file.flush();
  bin_file.commit();
  xml_file.commit();
}

}  // namespace v1
}  // namespace tenon
