// SPDX-License-Identifier: Apache-2.0
// Converts ONNX graphs to models: values by name, nodes in dependency order, functions inlined.
#include <tenon/graph/readers/onnx/onnx_reader.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>

#include <tenon/graph/limits.hpp>
#include <tenon/graph/readers/onnx/internal/inputs.hpp>
#include <tenon/graph/readers/onnx/internal/names.hpp>
#include <tenon/graph/readers/onnx/internal/onnx.hpp>
#include <tenon/graph/readers/onnx/internal/rank_cases.hpp>
#include <tenon/graph/readers/onnx/internal/sequence.hpp>

namespace tenon {
inline namespace v1 {

namespace onnx_reader {

namespace {

constexpr int kMaxFunctionDepth = 16;

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }
std::string key_of(const schema::NodeProto& node) { return domain_of(node.domain()) + ":" + node.op_type(); }
/// Functions of one name differ in their overload. @param name  A function's name or a call's operation.
template <typename Proto>
std::string function_key(const Proto& proto, const std::string& name) {
  return domain_of(proto.domain()) + ":" + name + ":" + proto.overload();
}

std::string describe_node(const schema::NodeProto& node) {
  std::string text =
      "node '" + node.name() + "' (" + (node.domain().empty() ? "" : node.domain() + ".") + node.op_type();
  if (node.name().empty() && node.output_size() > 0) text += ", output '" + node.output(0) + "'";
  return text + ")";
}

// The well-known entries of model_info may also appear on their own.
const std::set<std::string, std::less<>>& model_info_keys() {
  static const std::set<std::string, std::less<>> keys = {"model_type",          "labels",
                                                          "label_ids",           "mean_values",
                                                          "scale_values",        "reverse_input_channels",
                                                          "resize_type",         "confidence_threshold",
                                                          "iou_threshold",       "pad_value",
                                                          "embedded_processing", "input_dtype",
                                                          "multilabel",          "task_type"};
  return keys;
}

using OpsetMap = std::unordered_map<std::string, std::int64_t>;

class OnnxReader {
 public:
  OnnxReader(schema::ModelProto& proto, const std::filesystem::path& folder, std::string origin, bool map,
             const OnnxOptions& options)
      : proto_(proto), external_(folder, map), origin_(std::move(origin)), options_(options) {}

  std::shared_ptr<Model> read() {
    if (!proto_.has_graph()) invalid("has no graph");
    opsets_ = read_opsets(proto_.opset_import());
    if (opsets_.empty()) invalid("imports no operation set");
    opsets_.emplace("", 1);  // A model may use other domains only.
    for (auto& function : *proto_.mutable_functions()) {
      if (!functions_.emplace(function_key(function, function.name()), &function).second)
        invalid("has two functions '" + function.domain() + "." + function.name() + "'");
    }
    std::uint64_t in_file = 0;
    check_graph(proto_.graph(), 0, in_file);
    for (const auto& function : proto_.functions()) check_nodes(function.node(), 0, in_file);
    count_nodes(made_, proto_.graph().node_size());
    refuse_missing_operations();
    schema::GraphProto& graph = *proto_.mutable_graph();
    for (const auto& output : graph.output()) output_names_.insert(output.name());
    Values values;
    read_initializers(graph, values);
    ParameterVector parameters = read_inputs(graph, values);
    convert_nodes(*graph.mutable_node(), values, opsets_, wanted_names(graph), 0);
    auto model = std::make_shared<Model>(read_outputs(graph, values), parameters);
    model->set_friendly_name(graph.name().empty() ? "onnx" : graph.name());
    read_metadata(*model);
    return model;
  }

 private:
  [[noreturn]] void invalid(const std::string& message) const {
    throw Error(Code::kInvalidArgument, origin_ + ": " + message);
  }

  // --- limits
  // ----------------------------------------------------------------------------------------------------------
  /// Checked before anything is built from the file: nesting depth and total size.
  void check_graph(const schema::GraphProto& graph, std::uint64_t depth, std::uint64_t& found) const {
    count_nodes(found, graph.node_size());
    check_nodes(graph.node(), depth, found);
  }
  void check_nodes(const google::protobuf::RepeatedPtrField<schema::NodeProto>& nodes, std::uint64_t depth,
                   std::uint64_t& found) const {
    for (const auto& node : nodes) {
      for (const auto& attribute : node.attribute()) {
        if (!attribute.has_g()) continue;
        if (depth >= limits_.depth)
          throw Error(Code::kResourceExhausted, origin_ + ": " + describe_node(node) +
                                                    " holds a graph that is nested deeper than " +
                                                    std::to_string(limits_.depth) + " levels" +
                                                    limit_text(limit_property::kDepth, limits_.depth));
        check_graph(attribute.g(), depth + 1, found);
      }
    }
  }
  void count_nodes(std::uint64_t& total, int more) const {
    total += static_cast<std::uint64_t>(more);
    if (total > limits_.nodes)
      throw Error(Code::kResourceExhausted, origin_ + " has more than " + std::to_string(limits_.nodes) +
                                                " nodes, those in its graphs and functions included" +
                                                limit_text(limit_property::kNodes, limits_.nodes));
  }

  template <typename Imports>
  static OpsetMap read_opsets(const Imports& imports) {
    OpsetMap opsets;
    for (const auto& import : imports) opsets[domain_of(import.domain())] = import.version();
    return opsets;
  }

  std::int64_t opset_of(const schema::NodeProto& node, const OpsetMap& opsets) const {
    const auto found = opsets.find(domain_of(node.domain()));
    return found == opsets.end() ? 1 : found->second;
  }

  // --- missing operations, collected ---------------------------------------------------------------------------------
  struct Missing {
    std::string first_node;
    std::size_t count = 0;
  };

  void collect_missing(const google::protobuf::RepeatedPtrField<schema::NodeProto>& nodes, const OpsetMap& opsets,
                       std::map<std::string, Missing>& missing) const {
    for (const auto& node : nodes) {
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) collect_missing(attribute.g().node(), opsets, missing);
      }
      if (converters().count(key_of(node)) || functions_.count(function_key(node, node.op_type()))) continue;
      const std::string domain = domain_of(node.domain());
      Missing& entry = missing[node.op_type() + " (domain " + (domain.empty() ? "ai.onnx" : domain) +
                               ", operation set " + std::to_string(opset_of(node, opsets)) + ")"];
      if (entry.count++ == 0) entry.first_node = describe_node(node);
    }
  }

  void refuse_missing_operations() const {
    std::map<std::string, Missing> missing;
    collect_missing(proto_.graph().node(), opsets_, missing);
    for (const auto& function : proto_.functions()) {
      collect_missing(function.node(), read_opsets(function.opset_import()), missing);
    }
    if (missing.empty()) return;
    std::string text = origin_ + " uses operations that are not supported:";
    bool of_others = false;
    for (const auto& [type, entry] : missing) {
      of_others = of_others || type.find("(domain ai.onnx,") == type.npos;
      text += "\n  " + type + ": " + entry.first_node +
              (entry.count > 1 ? " and " + std::to_string(entry.count - 1) + " more" : "");
    }
    text += "\nSupported operations:";
    for (const std::string& name : supported_onnx_operations())
      if (of_others || name.find(':') == name.npos) text += " " + name;  // Other domains have a prefix.
    throw Error(Code::kUnimplemented, text);
  }

  // --- values
  // ----------------------------------------------------------------------------------------------------------
  void read_initializers(schema::GraphProto& graph, Values& values) {
    const auto add = [&](const std::string& name, const Tensor& tensor) {
      auto constant = std::make_shared<op::v0::Constant>(tensor);
      constant->set_friendly_name(name);
      constant->get_output_tensor(0).add_names({name});
      if (!values.emplace(name, constant->output(0)).second) invalid("two initializers are named '" + name + "'");
    };
    const auto label = [&](const std::string& name) { return origin_ + ": initializer '" + name + "'"; };
    for (auto& initializer : *graph.mutable_initializer()) {
      const std::string name = initializer.name();
      add(name, tensor_from_proto(initializer, external_, label(name)));
      if (is_two_bits(initializer.data_type())) mark_two_bits(values.at(name));
    }
    for (auto& initializer : *graph.mutable_sparse_initializer()) {
      const std::string name = initializer.values().name();
      add(name, tensor_from_sparse(initializer, external_, label(name)));
    }
  }

  ParameterVector read_inputs(const schema::GraphProto& graph, Values& values) {
    ParameterVector parameters;
    for (const auto& input : graph.input()) {
      // Files before IR version 4 list their initializers as inputs too.
      const auto known = values.find(input.name());
      if (known != values.end()) {
        if (is_op(known->second.get_node(), "Constant")) continue;
        invalid("two inputs are named '" + input.name() + "'");
      }
      const std::string what = origin_ + ": input '" + input.name() + "'";
      values.emplace(input.name(), read_input(input, options_, what, parameters));
    }
    check_options(options_, values, origin_);
    return parameters;
  }

  ResultVector read_outputs(const schema::GraphProto& graph, const Values& values) {
    ResultVector results;
    for (const auto& output : graph.output()) {
      const auto found = values.find(output.name());
      if (found == values.end()) invalid("output '" + output.name() + "' is computed by no node");
      if (const Sequence* sequence = as_sequence(found->second))
        add_sequence(*sequence, output.name(), results);
      else
        add_result(found->second, output.name(), results);
    }
    if (results.empty()) invalid("has no outputs: nothing would be computed");
    return results;
  }

  static void add_result(const Out& value, const std::string& name, ResultVector& results) {
    auto result = std::make_shared<op::v0::Result>(value);
    // Named as in OpenVINO, so that IR written by either is the same.
    result->set_friendly_name(name + "/sink_port_0");
    results.push_back(std::move(result));
  }

  /// A list becomes one output for each element, "name.0", "name.1"...; a stack stays one tensor.
  void add_sequence(const Sequence& sequence, const std::string& name, ResultVector& results) const {
    if (sequence.form() == Sequence::Form::kStack) {
      Out stack = sequence.input_value(0);
      name_output(stack, name);
      return add_result(stack, name, results);
    }
    if (sequence.form() != Sequence::Form::kList)
      throw Error(Code::kUnimplemented, origin_ + ": output '" + name + "' is an optional that holds nothing");
    for (std::size_t i = 0; i < sequence.get_input_size(); ++i) {
      Out element = sequence.input_value(i);
      if (is_op(element.get_node(), "Parameter")) element = copied(element);
      element.add_names({name + "." + std::to_string(i)});
      add_result(element, name + "." + std::to_string(i), results);
    }
  }

  // --- nodes
  // -----------------------------------------------------------------------------------------------------------
  using Nodes = google::protobuf::RepeatedPtrField<schema::NodeProto>;
  using NameSet = std::unordered_set<std::string>;

  template <typename Graph>
  static NameSet wanted_names(const Graph& graph) {
    NameSet names;
    for (const auto& node : graph.node()) {
      names.insert(node.input().begin(), node.input().end());
      const auto inner = inner_names(node);
      names.insert(inner.begin(), inner.end());
    }
    if constexpr (std::is_same_v<Graph, schema::GraphProto>) {
      for (const auto& output : graph.output()) names.insert(output.name());
    } else {
      names.insert(graph.output().begin(), graph.output().end());
    }
    return names;
  }

  // The standard requires sorted nodes; not every writer complies. Throws for cycles and for names without a producer.
  std::vector<int> sorted(const Nodes& nodes, const Values& values) const {
    std::unordered_map<std::string, int> producer;
    for (int i = 0; i < nodes.size(); ++i) {
      for (const auto& output : nodes[i].output()) {
        if (output.empty()) continue;
        if (values.count(output) || !producer.emplace(output, i).second) {
          invalid("two nodes or inputs produce '" + output + "'; one is " + describe_node(nodes[i]));
        }
      }
    }
    std::vector<int> waiting(static_cast<std::size_t>(nodes.size())), order;
    std::vector<std::vector<int>> users(waiting.size());
    for (int i = 0; i < nodes.size(); ++i) {
      for (const auto& name : inner_names(nodes[i])) {
        // A name without a producer here may come from an enclosing graph; capturing it checks that.
        const auto found = producer.find(name);
        if (values.count(name) || found == producer.end()) continue;
        users[static_cast<std::size_t>(found->second)].push_back(i);
        ++waiting[static_cast<std::size_t>(i)];
      }
      for (const auto& input : nodes[i].input()) {
        if (input.empty() || values.count(input)) continue;
        const auto found = producer.find(input);
        if (found == producer.end())
          invalid(describe_node(nodes[i]) + " reads '" + input + "', which nothing produces");
        users[static_cast<std::size_t>(found->second)].push_back(i);
        ++waiting[static_cast<std::size_t>(i)];
      }
    }
    // An ordered set of indices keeps the file's own order wherever it is valid.
    std::set<int> ready;
    for (int i = 0; i < nodes.size(); ++i) {
      if (waiting[static_cast<std::size_t>(i)] == 0) ready.insert(i);
    }
    while (!ready.empty()) {
      const int index = *ready.begin();
      ready.erase(ready.begin());
      order.push_back(index);
      for (int user : users[static_cast<std::size_t>(index)]) {
        if (--waiting[static_cast<std::size_t>(user)] == 0) ready.insert(user);
      }
    }
    if (order.size() != waiting.size()) {
      for (int i = 0; i < nodes.size(); ++i) {
        if (waiting[static_cast<std::size_t>(i)] != 0)
          invalid("its nodes form a cycle, in or before " + describe_node(nodes[i]));
      }
    }
    return order;
  }

  void convert_nodes(Nodes& nodes, Values& values, const OpsetMap& opsets, const NameSet& wanted, int depth) {
    for (int index : sorted(nodes, values)) convert_node(nodes[index], values, opsets, wanted, depth);
  }

  void convert_node(schema::NodeProto& node, Values& values, const OpsetMap& opsets, const NameSet& wanted, int depth) {
    OutputVector inputs;
    for (const auto& name : node.input()) inputs.push_back(name.empty() ? Out() : values.at(name));
    OutputVector outputs;
    try {
      const auto converter = converters().find(key_of(node));
      if (converter != converters().end()) {
        if (!takes_sequences(key_of(node))) refuse_sequences(inputs);
        ScopedBodies bodies(*this, values, opsets, depth);
        outputs = converted(node, converter->second, inputs, opset_of(node, opsets), bodies);
      } else {
        outputs = inline_function(*functions_.at(function_key(node, node.op_type())), node, inputs, depth + 1);
      }
    } catch (const Error& error) {
      // The table may lack an operation that a converter needs: to the user that is an unsupported operation
      // too.
      const Code code = error.code() == Code::kNotFound ? Code::kUnimplemented : error.code();
      const std::string prefix = depth == 0 ? origin_ + ": " : "";
      throw Error(code, prefix + describe_node(node) + ", operation set " + std::to_string(opset_of(node, opsets)) +
                            ": " + error.what());
    }
    keep_two_bits(node, inputs, outputs);
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& name = node.output(i);
      if (name.empty()) continue;
      if (static_cast<std::size_t>(i) < outputs.size() && as_sequence(outputs[static_cast<std::size_t>(i)])) {
        values.emplace(name, outputs[static_cast<std::size_t>(i)]);
        continue;
      }
      if (static_cast<std::size_t>(i) >= outputs.size() || !outputs[static_cast<std::size_t>(i)]) {
        if (!wanted.count(name)) continue;
        throw Error(Code::kUnimplemented, origin_ + ": " + describe_node(node) + ": its output " + std::to_string(i) +
                                              " ('" + name +
                                              "') is a form of the operation that is not computed here, and is read");
      }
      Out& output = outputs[static_cast<std::size_t>(i)];
      if (depth == 0) name_output(output, name);
      if (!output.get_node()->has_friendly_name()) {
        output.get_node()->set_friendly_name(node.name().empty() || i > 0 ? name : node.name());
      }
      values.emplace(name, output);
    }
  }

  /// Where the operation is written out for known ranks, and inputs have none, once for each rank that they can have.
  OutputVector converted(schema::NodeProto& node, Converter converter, const OutputVector& inputs, std::int64_t opset,
                         BodyReader& bodies, int given = 0) {
    constexpr int kMostInputs = 2;  // Their ranks are combined.
    try {
      return converter(NodeContext(node, inputs, opset, external_, bodies));
    } catch (const Error&) {
      const auto& attributes = node.attribute();
      // A graph within the node reads values of this one, not of the cases.
      if (given == kMostInputs || std::any_of(inputs.begin(), inputs.end(), as_sequence) ||
          std::any_of(attributes.begin(), attributes.end(), [](const auto& each) { return each.has_g(); }))
        throw;
      auto by_rank = converted_by_rank(inputs, [&](const OutputVector& ranked) {
        count_nodes(made_, 1);
        return converted(node, converter, ranked, opset, bodies, given + 1);
      });
      if (!by_rank) throw;
      return *std::move(by_rank);
    }
  }

  /// What moves numbers of 2 bits keeps them; what makes numbers of a type says itself which.
  static void keep_two_bits(const schema::NodeProto& node, const OutputVector& inputs, const OutputVector& outputs) {
    const std::string& type = node.op_type();
    for (const auto& attribute : node.attribute())
      if (type == "Constant" && attribute.has_t() && is_two_bits(attribute.t().data_type())) mark_two_bits(outputs[0]);
    if (type == "Cast" || type == "CastLike" || type == "QuantizeLinear") return;
    for (const Out& input : inputs) {
      if (!input || as_sequence(input) || !has_two_bits(input)) continue;
      for (const Out& output : outputs)
        if (output && output.get_element_type() == input.get_element_type()) mark_two_bits(output);
    }
  }

  static void refuse_sequences(const OutputVector& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (as_sequence(inputs[i]))
        fail("input " + std::to_string(i) + " is a sequence or an empty optional, expected a tensor");
  }

  // --- graphs within nodes ------------------------------------------------------------------------------------------
  /// Reads graphs that may use the values in `outer`.
  class ScopedBodies final : public BodyReader {
   public:
    ScopedBodies(OnnxReader& reader, const Values& outer, const OpsetMap& opsets, int depth)
        : reader_(reader), outer_(outer), opsets_(opsets), depth_(depth) {}
    Body read(const schema::GraphProto& graph, const OutputVector& inputs) override {
      Body body;
      Values values = capture(graph, &body);
      bind(graph, inputs, values);
      body.outputs = convert(graph, values);
      return body;
    }
    OutputVector read_inline(const schema::GraphProto& graph, const OutputVector& inputs) override {
      Values values = capture(graph, nullptr);
      bind(graph, inputs, values);
      return convert(graph, values);
    }

   private:
    static void bind(const schema::GraphProto& graph, const OutputVector& inputs, Values& values) {
      if (inputs.size() < static_cast<std::size_t>(graph.input_size())) {
        fail("its graph '" + graph.name() + "' has " + std::to_string(graph.input_size()) + " inputs, expected " +
             std::to_string(inputs.size()));
      }
      for (int i = 0; i < graph.input_size(); ++i) values[graph.input(i).name()] = inputs[static_cast<std::size_t>(i)];
    }

    /// Captures outer values: known ones as new constants, others as parameters (with `body`) or directly (without).
    Values capture(const schema::GraphProto& graph, Body* body) const {
      std::set<std::string> names;
      find_free_names(graph, names);
      Values values;
      for (const auto& name : names) {
        const auto found = outer_.find(name);
        if (found == outer_.end() || !found->second)
          fail("its graph '" + graph.name() + "' reads '" + name + "', which nothing produces");
        const Out& outer = found->second;
        values.emplace(name, body ? captured(outer, name, *body) : outer);
      }
      return values;
    }

    OutputVector convert(const schema::GraphProto& graph, Values& values) const {
      // A copy: a graph may be converted several times, and constants move their bytes out of it.
      schema::GraphProto copy = graph;
      reader_.count_nodes(reader_.made_, graph.node_size());
      reader_.read_initializers(copy, values);
      reader_.convert_nodes(*copy.mutable_node(), values, opsets_, wanted_names(copy), depth_ + 1);
      OutputVector outputs;
      for (const auto& output : graph.output()) {
        const auto found = values.find(output.name());
        if (found == values.end() || !found->second)
          fail("its graph's output '" + output.name() + "' is computed by no node");
        outputs.push_back(found->second);
      }
      return outputs;
    }

    OnnxReader& reader_;
    const Values& outer_;
    const OpsetMap& opsets_;
    int depth_;
  };

  /// An input as a value with a name of its own.
  static Out copied(const Out& input) {
    return op("Convert", 1, {input}, {{"destination_type", static_cast<ElementType>(input.get_element_type())}});
  }

  // A node such as Identity passes its input through. The model's inputs and outputs then keep only their own names:
  // "the" name of an output is the one given in the file, not that of some inner tensor.
  void name_output(Out& output, const std::string& name) const {
    if (!output_names_.count(name)) {
      const auto& names = output.get_names();
      // Loops over the smaller set: a chain of Identity gives one value as many names as it has nodes.
      const bool is_output =
          names.size() < output_names_.size()
              ? std::any_of(names.begin(), names.end(), [&](const auto& n) { return output_names_.count(n) > 0; })
              : std::any_of(output_names_.begin(), output_names_.end(),
                            [&](const auto& n) { return names.count(n) > 0; });
      if (!is_output) output.add_names({name});
      return;
    }
    if (is_op(output.get_node(), "Parameter")) output = copied(output);
    std::unordered_set<std::string> names{name};
    for (const auto& known : output.get_names()) {
      if (output_names_.count(known)) names.insert(known);
    }
    output.set_names(names);
  }

  OutputVector inline_function(const schema::FunctionProto& function, const schema::NodeProto& call,
                               const OutputVector& inputs, int depth) {
    if (depth > kMaxFunctionDepth) {
      fail("functions call each other deeper than " + std::to_string(kMaxFunctionDepth) + " levels");
    }
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
      fail("the function has " + std::to_string(function.input_size()) + " inputs and " +
           std::to_string(function.output_size()) + " outputs, and the call " + std::to_string(call.input_size()) +
           " and " + std::to_string(call.output_size()));
    }
    count_nodes(made_, function.node_size());
    schema::FunctionProto body = function;
    for (auto& node : *body.mutable_node()) substitute_attributes(node, function, call);
    Values values;
    for (int i = 0; i < function.input_size(); ++i) {
      if (static_cast<std::size_t>(i) < inputs.size()) values[function.input(i)] = inputs[static_cast<std::size_t>(i)];
    }
    drop_absent_inputs(body, values);
    OpsetMap opsets = read_opsets(function.opset_import());
    opsets.emplace("", opsets_.at(""));
    convert_nodes(*body.mutable_node(), values, opsets, wanted_names(body), depth);
    OutputVector outputs;
    for (const auto& name : function.output()) {
      const auto found = values.find(name);
      if (found == values.end()) fail("function output '" + name + "' is computed by no node");
      outputs.push_back(found->second);
    }
    return outputs;
  }

  // Inputs omitted by the call are absent in the body too.
  static void drop_absent_inputs(schema::FunctionProto& body, Values& values) {
    std::set<std::string> absent;
    for (const auto& name : body.input()) {
      const auto found = values.find(name);
      if (found == values.end() || !found->second) absent.insert(name);
    }
    for (const auto& name : absent) values.erase(name);
    if (!absent.empty()) clear_inputs(*body.mutable_node(), absent);
  }

  // --- metadata
  // --------------------------------------------------------------------------------------------------------
  void read_metadata(Model& model) const {
    AnyMap model_info, framework;
    constexpr std::string_view kPrefix = "model_info ";
    for (const auto& entry : proto_.metadata_props()) {
      const std::string& key = entry.key();
      if (key.compare(0, kPrefix.size(), kPrefix) == 0)
        model_info[key.substr(kPrefix.size())] = entry.value();
      else if (model_info_keys().count(key))
        model_info[key] = entry.value();
      else
        framework[key] = entry.value();
    }
    if (!model_info.empty()) model.get_rt_info()["model_info"] = std::move(model_info);
    if (!framework.empty()) model.get_rt_info()["framework"] = std::move(framework);
  }

  schema::ModelProto& proto_;
  ExternalData external_;
  const std::string origin_;
  const OnnxOptions& options_;
  OpsetMap opsets_;
  std::unordered_set<std::string> output_names_;
  std::unordered_map<std::string, const schema::FunctionProto*> functions_;
  const ModelLimits limits_ = model_limits();
  std::uint64_t made_ = 0;  ///< Functions calling functions can grow without bound from a small file.
};

}  // namespace

}  // namespace onnx_reader

bool has_onnx_reader() { return true; }

std::shared_ptr<Model> read_onnx(const Tensor& bytes, const std::filesystem::path& folder, const std::string& origin,
                                 bool map) {
  return read_onnx(bytes, folder, origin, map, {});
}

std::shared_ptr<Model> read_onnx(const Tensor& bytes, const std::filesystem::path& folder, const std::string& origin,
                                 bool map, const OnnxOptions& options) {
  onnx_reader::schema::ModelProto proto = onnx_reader::parse_model(bytes, origin);
  return onnx_reader::OnnxReader(proto, folder, origin, map, options).read();
}

}  // namespace v1
}  // namespace tenon
