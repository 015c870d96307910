// SPDX-License-Identifier: Apache-2.0
// OpenVINO IR: converts the XML's layers and edges to nodes.
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <system_error>
#include <unordered_map>

#include <pugixml.hpp>

#include <tenon/graph/limits.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/readers/internal/few_bits.hpp>
#include <tenon/graph/readers/internal/weights.hpp>
#include <tenon/graph/readers/openvino_ir/internal/ir_text.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {

namespace {

constexpr int kMaxInfoDepth = 32;

/// Ids of a layer's ports, in order. Most layers have two or three; a Concat may have any number.
class PortIds {
 public:
  void add(std::string id) {
    ids_.push_back(std::move(id));
    if (ids_.size() < kFew) return;
    for (std::size_t i = places_.empty() ? 0 : ids_.size() - 1; i < ids_.size(); ++i) places_.emplace(ids_[i], i);
  }
  std::size_t size() const { return ids_.size(); }
  std::optional<std::size_t> find(const std::string& id) const {
    if (places_.empty()) {
      const auto found = std::find(ids_.begin(), ids_.end(), id);
      if (found == ids_.end()) return std::nullopt;
      return static_cast<std::size_t>(found - ids_.begin());
    }
    const auto found = places_.find(id);
    if (found == places_.end()) return std::nullopt;
    return found->second;
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::vector<std::string> ids_;
  std::unordered_map<std::string, std::size_t> places_;  ///< Empty while there are only a few.
};

struct Layer {
  pugi::xml_node xml;
  std::string id, type, name;
  unsigned opset = 1;
  PortIds input_ports, output_ports;
  // The source of each input: layer and output index; layer -1 means not connected.
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> sources;
  std::shared_ptr<Node> node;  // Null for Identity, which stands for its input.
  OutputVector outputs;
};

class IrReader {
 public:
  IrReader(const Tensor& weights, std::string origin, const ConstantBytes& elsewhere)
      : weights_(weights), origin_(std::move(origin)), elsewhere_(elsewhere) {}

  std::shared_ptr<Model> read(std::string_view xml) {
    parse(xml);
    refuse_missing_operations();
    return read_net();
  }

 private:
  /// Reads a body within `outer`.
  IrReader(const IrReader& outer, pugi::xml_node net, const Layer& layer)
      : weights_(outer.weights_),
        origin_(outer.origin_ + ": body of '" + layer.name + "'"),
        elsewhere_(outer.elsewhere_),
        net_(net),
        version_(outer.version_) {}

  std::shared_ptr<Model> read_net() {
    read_layers();
    read_edges();
    build();
    return finish();
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(Code::kInvalidArgument, origin_ + ": " + message);
  }
  static std::string quoted(const Layer& layer) {
    return layer.type + " layer '" + layer.name + "' (id " + layer.id + ")";
  }

  void parse(std::string_view xml) {
    const auto result = document_.load_buffer(xml.data(), xml.size());
    if (!result) {
      fail("is not well-formed XML: " + std::string(result.description()) + " at byte " +
           std::to_string(result.offset) + "; the file is truncated or damaged");
    }
    net_ = document_.child("net");
    if (!net_) fail("has no <net> element; an OpenVINO IR is expected");
    version_ = net_.attribute("version").as_int();
    if (version_ != 10 && version_ != 11) {
      fail("is IR version \"" + std::string(net_.attribute("version").as_string("none")) +
           "\"; supported are 10 and 11. Older ones can be converted by OpenVINO's own tools");
    }
  }

  void read_layers() {
    for (pugi::xml_node xml : net_.child("layers").children("layer")) {
      Layer layer;
      layer.xml = xml;
      layer.id = xml.attribute("id").as_string();
      layer.name = xml.attribute("name").as_string();
      layer.type = ir::operation_from_layer(xml.attribute("type").as_string());
      layer.opset = opset_of(xml.attribute("version").as_string("opset1"));
      for (pugi::xml_node port : xml.child("input").children("port")) {
        layer.input_ports.add(port.attribute("id").as_string());
      }
      for (pugi::xml_node port : xml.child("output").children("port")) {
        layer.output_ports.add(port.attribute("id").as_string());
      }
      layer.sources.resize(layer.input_ports.size(), {-1, 0});
      if (!by_id_.emplace(layer.id, layers_.size()).second) fail("two layers have the id \"" + layer.id + "\"");
      layers_.push_back(std::move(layer));
    }
    if (layers_.empty()) fail("has no layers");
  }

  // 0 for anything but "opset<N>": such operations are extensions, which are not supported.
  static unsigned opset_of(std::string_view text) {
    if (text.substr(0, 5) != "opset") return 0;
    unsigned number = 0;
    const auto end = text.data() + text.size();
    const auto result = std::from_chars(text.data() + 5, end, number);
    return result.ec == std::errc{} && result.ptr == end ? number : 0;
  }

  static const Operation* operation_of(const Layer& layer) {
    return layer.opset == 0 ? nullptr : find_operation(layer.type, layer.opset);
  }
  static bool is_identity(const Layer& layer) {
    return layer.type == "Identity" && layer.opset > 0 && layer.sources.size() == 1;
  }

  using Missing = std::map<std::string, std::vector<std::string>>;
  /// Includes this net and all bodies in it.
  void collect_missing(pugi::xml_node net, Missing& missing, int depth, std::uint64_t& nodes) const {
    const ModelLimits limits = model_limits();
    if (static_cast<std::uint64_t>(depth) > limits.depth)
      throw Error(Code::kResourceExhausted, origin_ + ": its bodies are nested deeper than " +
                                                std::to_string(limits.depth) + " levels" +
                                                limit_text(limit_property::kDepth, limits.depth));
    for (pugi::xml_node xml : net.child("layers").children("layer")) {
      if (++nodes > limits.nodes)
        throw Error(Code::kResourceExhausted, origin_ + " has more than " + std::to_string(limits.nodes) + " layers" +
                                                  limit_text(limit_property::kNodes, limits.nodes));
      const std::string type = ir::operation_from_layer(xml.attribute("type").as_string());
      const unsigned opset = opset_of(xml.attribute("version").as_string("opset1"));
      const auto inputs = xml.child("input").children("port");
      const bool is_identity = type == "Identity" && opset > 0 && std::distance(inputs.begin(), inputs.end()) == 1;
      if (!is_identity && (opset == 0 || !find_operation(type, opset)))
        missing[type + " of " + xml.attribute("version").as_string("no version")].push_back(
            xml.attribute("name").as_string());
      for (const char* body : {"body", "then_body", "else_body"}) {
        if (xml.child(body)) collect_missing(xml.child(body), missing, depth + 1, nodes);
      }
    }
  }

  void refuse_missing_operations() const {
    Missing missing;
    std::uint64_t nodes = 0;
    collect_missing(net_, missing, 0, nodes);
    if (missing.empty()) return;
    std::string text = origin_ + " uses operations that are not supported:";
    for (const auto& [type, names] : missing) {
      const std::string known = known_versions(type.substr(0, type.find(' ')));
      text += "\n  " + type + " at '" + names.front() + "'" +
              (names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more" : "") +
              (known.empty() ? "" : " (supported: opset " + known + ")");
    }
    std::string supported;
    for (const Operation* operation : operations()) {
      if (supported.find(" " + operation->type + ",") == std::string::npos) supported += " " + operation->type + ",";
    }
    if (!supported.empty()) supported.back() = '.';
    throw Error(Code::kUnimplemented, text + "\nSupported operations:" + supported);
  }

  std::size_t layer_index(const pugi::xml_attribute& id) const {
    const auto found = by_id_.find(id.as_string());
    if (found == by_id_.end())
      fail("an edge names layer \"" + std::string(id.as_string()) + "\", which does not exist");
    return found->second;
  }

  std::size_t port_index(const PortIds& ports, const pugi::xml_attribute& port, const Layer& layer) const {
    const auto found = ports.find(port.as_string());
    if (!found) {
      fail("an edge names port \"" + std::string(port.as_string()) + "\" of " + quoted(layer) +
           ", which does not exist");
    }
    return *found;
  }

  void read_edges() {
    for (pugi::xml_node edge : net_.child("edges").children("edge")) {
      const std::size_t from = layer_index(edge.attribute("from-layer")), to = layer_index(edge.attribute("to-layer"));
      const std::size_t output = port_index(layers_[from].output_ports, edge.attribute("from-port"), layers_[from]);
      const std::size_t input = port_index(layers_[to].input_ports, edge.attribute("to-port"), layers_[to]);
      auto& source = layers_[to].sources[input];
      if (source.first >= 0) fail("input " + std::to_string(input) + " of " + quoted(layers_[to]) + " has two edges");
      source = {static_cast<std::ptrdiff_t>(from), output};
    }
    for (const Layer& layer : layers_) {
      for (std::size_t i = 0; i < layer.sources.size(); ++i) {
        if (layer.sources[i].first < 0) fail("input " + std::to_string(i) + " of " + quoted(layer) + " has no edge");
      }
    }
  }

  // Builds layers in file order as far as their inputs allow; files are nearly always sorted already.
  void build() {
    std::vector<std::size_t> waiting(layers_.size());
    std::vector<std::vector<std::size_t>> users(layers_.size());
    std::vector<std::size_t> ready;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      waiting[i] = layers_[i].sources.size();
      for (const auto& source : layers_[i].sources) users[static_cast<std::size_t>(source.first)].push_back(i);
      if (waiting[i] == 0) ready.push_back(i);
    }
    std::size_t built = 0;
    while (!ready.empty()) {
      const std::size_t index = ready.back();
      ready.pop_back();
      build_layer(layers_[index]);
      ++built;
      for (std::size_t user : users[index]) {
        if (--waiting[user] == 0) ready.push_back(user);
      }
    }
    if (built == layers_.size()) return;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (waiting[i] != 0) fail("its layers form a cycle, in or before " + quoted(layers_[i]));
    }
  }

  void build_layer(Layer& layer) {
    OutputVector inputs;
    for (const auto& [source, output] : layer.sources) {
      Layer& from = layers_[static_cast<std::size_t>(source)];
      if (output >= from.outputs.size()) {
        fail("an edge reads output " + std::to_string(output) + " of " + quoted(from) + ", which has " +
             std::to_string(from.outputs.size()));
      }
      inputs.push_back(from.outputs[output]);
    }
    if (is_identity(layer) && !is_op(inputs[0].get_node(), "Parameter")) {
      // OpenVINO puts Identity before results to keep their names apart from inner ones, so the names are replaced.
      layer.outputs = inputs;
      const auto names = ir::split_names(layer.xml.child("output").child("port").attribute("names").as_string());
      if (!names.empty()) inputs[0].get_tensor().set_names({names.begin(), names.end()});
      return;
    }
    try {
      layer.node = make_layer(layer, inputs);
    } catch (const Error& error) {
      throw Error(error.code(), origin_ + ": " + quoted(layer) + ": " + error.what());
    }
    layer.node->set_friendly_name(layer.name);
    layer.outputs = layer.node->outputs();
    read_ports(layer);
    read_node_info(layer.xml.child("rt_info"), layer.node->get_rt_info());
  }

  std::shared_ptr<Node> make_layer(const Layer& layer, const OutputVector& inputs) {
    const pugi::xml_node data = layer.xml.child("data");
    if (layer.type == "Constant") return std::make_shared<op::v0::Constant>(read_constant(data, layer));
    if (layer.type == "Parameter") {
      return std::make_shared<op::v0::Parameter>(read_type(data),
                                                 ir::shape_from_text(data.attribute("shape").as_string()));
    }
    if (layer.type == "Result") {
      if (inputs.size() != 1)
        throw Error(Code::kInvalidArgument, "has " + std::to_string(inputs.size()) + " inputs, expected 1");
      return std::make_shared<op::v0::Result>(inputs[0]);
    }
    if (is_identity(layer)) {
      const Attribute same(static_cast<ElementType>(inputs[0].get_element_type()));
      return make_node("Convert", 1, inputs, {{"destination_type", same}});
    }
    if (layer.type == "TensorIterator") return make_tensor_iterator(layer, inputs);
    if (layer.type == "Loop") return make_loop(layer, inputs);
    if (layer.type == "If") return make_if(layer, inputs);
    const Operation& operation = *operation_of(layer);
    Attributes attributes;
    // Attributes that the table lacks are leftovers of older writers; OpenVINO ignores them too.
    for (pugi::xml_attribute attribute : data.attributes()) {
      const AttributeSpec* spec = operation.find_attribute(attribute.name());
      if (!spec) continue;
      if (spec->kind == AttributeKind::kShape)
        attributes.set(spec->name, ir::shape_from_text(attribute.as_string()));
      else
        attributes.set(spec->name, Attribute::from_text(spec->kind, attribute.as_string()));
    }
    return make_node(layer.type, layer.opset, inputs, std::move(attributes), layer.name);
  }

  // --- control flow: bodies, and how they are connected to the node -------------------------------------------------
  using Op = op::util::MultiSubGraphOp;

  /// A body, and which of its layers are parameters and results.
  struct Body {
    std::shared_ptr<Model> model;
    std::unordered_map<std::string, std::int64_t> parameters, results;
  };

  Body read_body(const Layer& layer, const char* element) const {
    const pugi::xml_node net = layer.xml.child(element);
    if (!net) throw Error(Code::kInvalidArgument, std::string("has no <") + element + ">");
    IrReader inner(*this, net, layer);
    Body body{inner.read_net(), {}, {}};
    for (const Layer& each : inner.layers_) {
      if (each.type == "Parameter")
        body.parameters.emplace(each.id, body.model->get_parameter_index(as_type_ptr<op::v0::Parameter>(each.node)));
      if (each.type == "Result") body.results.emplace(each.id, static_cast<std::int64_t>(body.results.size()));
      if (each.type == "Assign" || each.type == "ReadValue")
        throw Error(Code::kUnimplemented,
                    "its body has the state '" + each.name + "'; states within bodies are not supported");
    }
    return body;
  }

  static std::uint64_t inner_index(const std::unordered_map<std::string, std::int64_t>& layers,
                                   const pugi::xml_attribute& id, const char* what) {
    const auto found = layers.find(id.as_string());
    if (found == layers.end())
      throw Error(Code::kInvalidArgument,
                  std::string("names \"") + id.as_string() + "\" as " + what + " of its body, which it is not");
    return static_cast<std::uint64_t>(found->second);
  }

  static std::int64_t integer(pugi::xml_node xml, const char* name, std::int64_t fallback) {
    if (!xml.attribute(name)) return fallback;
    return *Attribute::from_text(AttributeKind::kInt, xml.attribute(name).as_string()).get_if<std::int64_t>();
  }

  /// Reads <port_map> (of one body); back_edges are those of loops, null otherwise.
  void join_body(const Layer& layer, pugi::xml_node map, pugi::xml_node back_edges, const Body& body, int index,
                 Op& node, op::v5::Loop::SpecialBodyPorts* special) const {
    std::unordered_map<std::uint64_t, std::uint64_t> fed_back;
    for (pugi::xml_node edge : back_edges.children("edge")) {
      const std::uint64_t to = inner_index(body.parameters, edge.attribute("to-layer"), "a parameter");
      if (!fed_back.emplace(to, inner_index(body.results, edge.attribute("from-layer"), "a result")).second)
        throw Error(Code::kInvalidArgument, "a parameter of its body is fed back twice");
    }
    for (pugi::xml_node port : map.children("input")) {
      const std::uint64_t inner = inner_index(body.parameters, port.attribute("internal_layer_id"), "a parameter");
      if (special && std::string_view(port.attribute("purpose").as_string()) == "current_iteration") {
        special->current_iteration_input_idx = static_cast<std::int64_t>(inner);
        continue;
      }
      const std::uint64_t outer = port_index(layer.input_ports, port.attribute("external_port_id"), layer);
      auto& inputs = node.get_input_descriptions(index);
      const auto back = fed_back.find(inner);
      if (back != fed_back.end()) {
        inputs.push_back(std::make_shared<Op::MergedInputDescription>(outer, inner, back->second));
      } else if (port.attribute("axis")) {
        inputs.push_back(std::make_shared<Op::SliceInputDescription>(
            outer, inner, integer(port, "start", 0), integer(port, "stride", 1), integer(port, "part_size", 1),
            integer(port, "end", -1), integer(port, "axis", 0)));
      } else {
        inputs.push_back(std::make_shared<Op::InvariantInputDescription>(outer, inner));
      }
    }
    for (pugi::xml_node port : map.children("output")) {
      const std::uint64_t inner = inner_index(body.results, port.attribute("internal_layer_id"), "a result");
      if (special && std::string_view(port.attribute("purpose").as_string()) == "execution_condition") {
        special->body_condition_output_idx = static_cast<std::int64_t>(inner);
        continue;
      }
      const std::uint64_t outer = port_index(layer.output_ports, port.attribute("external_port_id"), layer);
      auto& outputs = node.get_output_descriptions(index);
      if (port.attribute("axis"))
        outputs.push_back(std::make_shared<Op::ConcatOutputDescription>(
            inner, outer, integer(port, "start", 0), integer(port, "stride", 1), integer(port, "part_size", 1),
            integer(port, "end", -1), integer(port, "axis", 0)));
      else
        outputs.push_back(std::make_shared<Op::BodyOutputDescription>(inner, outer, integer(port, "iteration", -1)));
    }
    node.set_function(index, body.model);
  }

  std::shared_ptr<Node> make_tensor_iterator(const Layer& layer, const OutputVector& inputs) const {
    auto node = std::make_shared<op::v0::TensorIterator>(inputs);
    node->set_friendly_name(layer.name);
    join_body(layer, layer.xml.child("port_map"), layer.xml.child("back_edges"), read_body(layer, "body"), 0, *node,
              nullptr);
    node->validate_and_infer_types();
    return node;
  }

  std::shared_ptr<Node> make_loop(const Layer& layer, const OutputVector& inputs) const {
    if (inputs.size() < 2) throw Error(Code::kInvalidArgument, "lacks the trip count or the condition");
    auto node = std::make_shared<op::v5::Loop>(inputs[0], inputs[1]);
    node->set_friendly_name(layer.name);
    for (std::size_t i = 2; i < inputs.size(); ++i) node->add_input(inputs[i]);
    op::v5::Loop::SpecialBodyPorts special;
    join_body(layer, layer.xml.child("port_map"), layer.xml.child("back_edges"), read_body(layer, "body"), 0, *node,
              &special);
    node->set_special_body_ports(special);
    node->validate_and_infer_types();
    return node;
  }

  std::shared_ptr<Node> make_if(const Layer& layer, const OutputVector& inputs) const {
    if (inputs.empty()) throw Error(Code::kInvalidArgument, "lacks the condition");
    auto node = std::make_shared<op::v8::If>(inputs[0]);
    node->set_friendly_name(layer.name);
    for (std::size_t i = 1; i < inputs.size(); ++i) node->add_input(inputs[i]);
    join_body(layer, layer.xml.child("then_port_map"), {}, read_body(layer, "then_body"), 0, *node, nullptr);
    join_body(layer, layer.xml.child("else_port_map"), {}, read_body(layer, "else_body"), 1, *node, nullptr);
    node->validate_and_infer_types();
    return node;
  }

  static ElementType read_type(pugi::xml_node data) {
    const std::string_view text = data.attribute("element_type").as_string();
    const auto type = element_type_from_name(text);
    if (!type) throw Error(Code::kUnimplemented, "element type \"" + std::string(text) + "\" is not supported");
    return *type;
  }

  Tensor read_constant(pugi::xml_node data, const Layer& layer) const {
    const PartialShape shape = ir::shape_from_text(data.attribute("shape").as_string());
    if (shape.is_dynamic())
      throw Error(Code::kInvalidArgument, "a constant needs a static shape, found " + shape.to_string());
    const std::string what = "constant '" + layer.name + "'";
    if (const auto few = readers::few_bits_from_name(data.attribute("element_type").as_string())) {
      const std::uint64_t size = few->bytes(element_count(shape.to_shape()));
      const Tensor bytes = read_bytes(data, layer, ElementType::kU8, Shape{size}, what);
      return readers::widened(bytes, *few, shape.to_shape(), what);
    }
    const ElementType type = read_type(data);
    if (type == ElementType::kUndefined) throw Error(Code::kInvalidArgument, "a constant needs an element type");
    return read_bytes(data, layer, type, shape.to_shape(), what);
  }

  Tensor read_bytes(pugi::xml_node data, const Layer& layer, ElementType type, const Shape& shape,
                    const std::string& what) const {
    if (const Tensor bytes = bytes_elsewhere(layer))
      return readers::tensor_at(bytes, 0, bytes.size_bytes(), type, shape, what);
    return readers::tensor_at(weights_, number(data, "offset"), number(data, "size"), type, shape, what);
  }

  Tensor bytes_elsewhere(const Layer& layer) const {
    if (!elsewhere_) return {};
    for (pugi::xml_node attribute : layer.xml.child("rt_info").children("attribute")) {
      std::map<std::string, std::string, std::less<>> values;
      for (pugi::xml_attribute value : attribute.attributes()) values[value.name()] = value.as_string();
      if (Tensor bytes = elsewhere_(values)) {
        said_where_ = attribute;
        return bytes;
      }
    }
    return {};
  }

  static std::uint64_t number(pugi::xml_node data, const char* name) {
    const std::string_view text = data.attribute(name).as_string();
    std::uint64_t value = 0;
    const auto end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (text.empty() || result.ec != std::errc{} || result.ptr != end) {
      throw Error(Code::kInvalidArgument, std::string(name) + "=\"" + std::string(text) + "\" is not a byte count");
    }
    return value;
  }

  void read_ports(Layer& layer) {
    std::size_t index = 0;
    for (pugi::xml_node port : layer.xml.child("output").children("port")) {
      if (index >= layer.outputs.size()) break;
      descriptor::Tensor& tensor = layer.outputs[index++].get_tensor();
      const auto names = ir::split_names(port.attribute("names").as_string());
      tensor.add_names({names.begin(), names.end()});
      if (port.child("rt_info")) read_node_info(port.child("rt_info"), tensor.get_rt_info());
    }
    if (layer.type == "Result") {
      const auto names = ir::split_names(layer.xml.attribute("output_names").as_string());
      layer.node->get_input_tensor(0).add_names({names.begin(), names.end()});
    }
    if (version_ == 10) name_like_version_10(layer);
  }

  static void name_like_version_10(Layer& layer) {
    if (layer.type == "Parameter") layer.node->get_output_tensor(0).add_names({layer.name});
    if (layer.type == "Result") {
      const Output<Node> source = layer.node->input_value(0);
      const Node* producer = source.get_node();
      const std::string suffix = producer->get_output_size() > 1 ? "." + std::to_string(source.get_index()) : "";
      source.get_tensor().add_names({producer->get_friendly_name() + suffix});
    }
  }

  void read_node_info(pugi::xml_node info, RTMap& map) const {
    for (pugi::xml_node attribute : info.children("attribute")) {
      if (attribute == said_where_) continue;
      AnyMap values;
      for (pugi::xml_attribute value : attribute.attributes()) values[value.name()] = std::string(value.as_string());
      const std::string key =
          attribute.attribute("name").as_string() + std::string("_") + attribute.attribute("version").as_string("0");
      map[key] = std::move(values);
    }
  }

  void read_model_info(pugi::xml_node info, AnyMap& map, int depth) const {
    if (depth > kMaxInfoDepth) fail("rt_info is nested deeper than " + std::to_string(kMaxInfoDepth) + " levels");
    for (pugi::xml_node child : info.children()) {
      if (child.type() != pugi::node_element) continue;
      // Keys that are not valid XML names are stored in an attribute.
      const bool plain = !child.attribute("name") || std::string_view(child.name()) != "info";
      const std::string key = plain ? child.name() : child.attribute("name").as_string();
      if (child.attribute("value")) {
        map[key] = std::string(child.attribute("value").as_string());
      } else {
        AnyMap inner;
        read_model_info(child, inner, depth + 1);
        map[key] = std::move(inner);
      }
    }
  }

  std::shared_ptr<Model> finish() {
    ParameterVector parameters;
    ResultVector results;
    SinkVector sinks;
    for (Layer& layer : layers_) {
      if (layer.type == "Parameter") parameters.push_back(as_type_ptr<op::v0::Parameter>(layer.node));
      if (layer.type == "Result") results.push_back(as_type_ptr<op::v0::Result>(layer.node));
      if (layer.type == "Assign") sinks.push_back(layer.node);
    }
    if (results.empty() && sinks.empty()) fail("has no Result layer: nothing would be computed");
    auto model = std::make_shared<Model>(results, sinks, parameters);
    model->set_friendly_name(net_.attribute("name").as_string("model"));
    read_model_info(net_.child("rt_info"), model->get_rt_info(), 0);
    return model;
  }

  const Tensor weights_;
  const std::string origin_;
  const ConstantBytes elsewhere_;
  mutable pugi::xml_node
      said_where_;  ///< The last attribute that located the bytes of a constant; it is not part of the model.
  pugi::xml_document document_;
  pugi::xml_node net_;
  int version_ = 0;
  std::vector<Layer> layers_;
  std::unordered_map<std::string, std::size_t> by_id_;
};

}  // namespace

std::shared_ptr<Model> read_ir(std::string_view xml, const Tensor& weights, const std::string& origin) {
  return IrReader(weights, origin, {}).read(xml);
}

std::shared_ptr<Model> read_ir(std::string_view xml, const Tensor& weights, const std::string& origin,
                               const ConstantBytes& elsewhere) {
  return IrReader(weights, origin, elsewhere).read(xml);
}

}  // namespace v1
}  // namespace tenon
