// SPDX-License-Identifier: Apache-2.0
// Models, their nodes and ports.
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nanobind/operators.h>

#include <tenon/bindings/python/native/base/shapes.hpp>
#include <tenon/bindings/python/native/memory/tensors.hpp>
#include <tenon/bindings/python/native/models/ports.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

namespace tenon::python {
namespace {

using ModelPtr = std::shared_ptr<Model>;
using NodePtr = std::shared_ptr<Node>;
/// Python has no const: nodes of a compiled model are only read.
NodePtr readable(const std::shared_ptr<const Node>& node) { return std::const_pointer_cast<Node>(node); }

template <typename Port>
std::string shown_port(const char* kind, const Port& port) {
  std::string names;
  for (const std::string& each : port.get_names()) names += (names.empty() ? "" : ", ") + each;
  return std::string("<") + kind + ": names[" + names + "] shape" + port.get_partial_shape().to_string() +
         " type: " + port.get_element_type().get_type_name() + ">";
}

template <typename Port>
void add_port(nb::module_& module, const char* kind, const char* doc) {
  const std::string kind_text = kind;
  auto port = nb::class_<Port>(module, kind, doc);
  port.def_prop_ro(
          "node", [](const Port& self) { return readable(self.get_node_shared_ptr()); }, "The node that has this port.")
      .def_prop_ro("index", &Port::get_index, "Its number among the outputs of the node.")
      .def_prop_ro("any_name", &Port::get_any_name, "One of its tensor names. @errors NotFound: it has none.")
      .def_prop_ro(
          "names", [](const Port& self) { return self.get_names(); }, "All of its tensor names.")
      .def_prop_ro(
          "shape", [](const Port& self) { return self.get_shape(); },
          "Its extents. @errors an Error where they are open: see partial_shape.")
      .def_prop_ro(
          "partial_shape", [](const Port& self) { return self.get_partial_shape(); },
          "Its extents, of which some may be open.")
      .def_prop_ro(
          "element_type", [](const Port& self) { return self.get_element_type(); }, "The type of its elements.")
      .def_prop_ro(
          "rt_info", [](const Port& self) { return dict_from(self.get_rt_info()); },
          "Values that readers and passes note, by name.")
      .def("get_node", [](const Port& self) { return readable(self.get_node_shared_ptr()); })
      .def("get_index", &Port::get_index)
      .def("get_any_name", &Port::get_any_name)
      .def("get_names", [](const Port& self) { return self.get_names(); })
      .def("get_shape", [](const Port& self) { return self.get_shape(); })
      .def("get_partial_shape", [](const Port& self) { return self.get_partial_shape(); })
      .def("get_element_type", [](const Port& self) { return self.get_element_type(); })
      .def("get_rt_info", [](const Port& self) { return dict_from(self.get_rt_info()); })
      .def(
          "__eq__", [](const Port& self, const Port& other) { return self == other; }, nb::is_operator())
      .def("__hash__", [](const Port& self) { return std::hash<const void*>()(self.get_node()) ^ self.get_index(); })
      .def("__repr__", [kind_text](const Port& self) { return shown_port(kind_text.c_str(), self); });
  if constexpr (std::is_same_v<Port, Output<Node>>) {
    port.def("set_names", &Port::set_names, nb::arg("names"), "Sets its tensor names.")
        .def("add_names", &Port::add_names, nb::arg("names"), "Adds tensor names.")
        .def("replace", &Port::replace, nb::arg("replacement"), "Gives its readers another port in its place.")
        .def("get_tensor", &Port::get_tensor, nb::rv_policy::reference_internal,
             "Type, shape and names, which can be changed through it.")
        .def_prop_ro("tensor", &Port::get_tensor, nb::rv_policy::reference_internal, "As get_tensor().");
  }
}

void add_described_tensor(nb::module_& module) {
  using Described = descriptor::Tensor;
  nb::class_<Described>(module, "DescriptorTensor", "Type, shape and names of one output.")
      .def("get_names", &Described::get_names)
      .def("set_names", &Described::set_names, nb::arg("names"))
      .def("add_names", &Described::add_names, nb::arg("names"))
      .def("get_any_name", &Described::get_any_name)
      .def_prop_rw("names", &Described::get_names, &Described::set_names, "Tensor names.")
      .def_prop_ro("element_type", &Described::get_element_type, "The type of its elements.")
      .def_prop_ro("partial_shape", &Described::get_partial_shape, "Its extents, of which some may be open.")
      .def_prop_ro("shape", &Described::get_shape, "Its extents, where all are known.");
}

nb::object attribute_of(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> nb::object {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, ElementType>)
          return nb::cast(element::Type(value));
        else
          return nb::cast(value);
      },
      attribute.value());
}

nb::dict attributes_of(const Node& node) {
  nb::dict dict;
  for (const auto& [key, value] : node.get_attributes()) dict[nb::str(key.c_str())] = attribute_of(value);
  return dict;
}

}  // namespace

Attribute attribute_from(nb::handle value, const std::string& key) {
  if (PyBool_Check(value.ptr())) return Attribute(nb::cast<bool>(value));
  if (PyLong_Check(value.ptr())) return Attribute(nb::cast<std::int64_t>(value));
  if (PyFloat_Check(value.ptr())) return Attribute(nb::cast<double>(value));
  if (PyUnicode_Check(value.ptr())) return Attribute(nb::cast<std::string>(value));
  if (nb::isinstance<element::Type>(value)) return Attribute(nb::cast<element::Type>(value));
  if (nb::isinstance<PartialShape>(value)) return Attribute(nb::cast<PartialShape>(value));
  if (PySequence_Check(value.ptr())) {
    const nb::list items(nb::borrow(value));
    if (nb::len(items) == 0) return Attribute(std::vector<std::int64_t>{});
    if (PyUnicode_Check(nb::object(items[0]).ptr())) return Attribute(nb::cast<std::vector<std::string>>(items));
    bool has_float = false;
    for (const nb::handle each : items) has_float |= PyFloat_Check(each.ptr()) != 0;
    return has_float ? Attribute(nb::cast<std::vector<double>>(items))
                     : Attribute(nb::cast<std::vector<std::int64_t>>(items));
  }
  raise(PyExc_TypeError, "attribute " + key + ": no attribute takes " + shown(value));
}

namespace {

Output<Node> port_from(nb::handle object) {
  if (nb::isinstance<Output<Node>>(object)) return nb::cast<Output<Node>>(object);
  if (nb::isinstance<Node>(object)) return nb::cast<NodePtr>(object)->output(0);
  return std::make_shared<op::v0::Constant>(tensor_from(object, Sharing::kCopy))->output(0);
}

/// Constant(type, shape, values): one value for all elements, or a value for each.
std::shared_ptr<op::v0::Constant> constant_of(nb::handle type, const Shape& shape, nb::handle values) {
  const ElementType element = element_type_from(type);
  const bool is_list = PyList_Check(values.ptr()) || PyTuple_Check(values.ptr());
  const nb::list items(is_list ? nb::borrow(values)
                               : nb::module_::import_("numpy").attr("ravel")(values).attr("tolist")());
  if (element == ElementType::kString) {
    Tensor strings = tensor_from(items, Sharing::kCopy);
    strings.set_shape(shape);
    return std::make_shared<op::v0::Constant>(strings);
  }
  bool has_float = false;
  for (const nb::handle each : items) has_float |= !PyIndex_Check(each.ptr());
  if (has_float) return std::make_shared<op::v0::Constant>(element, shape, nb::cast<std::vector<double>>(items));
  std::vector<std::uint64_t> numbers;  // Their upper half has the bits of negative ones.
  if (element == ElementType::kU64 && nb::try_cast(items, numbers))
    return std::make_shared<op::v0::Constant>(element, shape,
                                              std::vector<std::int64_t>(numbers.begin(), numbers.end()));
  return std::make_shared<op::v0::Constant>(element, shape, nb::cast<std::vector<std::int64_t>>(items));
}

NodePtr node_from(const std::string& type, nb::handle inputs, nb::handle attributes, const std::string& set,
                  const std::string& name) {
  OutputVector ports;
  if (!inputs.is_none())
    for (const nb::handle each : nb::iter(inputs)) ports.push_back(port_from(each));
  Attributes made;
  if (!attributes.is_none())
    for (const auto& [key, value] : nb::cast<nb::dict>(attributes))
      made.set(nb::cast<std::string>(key), attribute_from(value, nb::cast<std::string>(key)));
  if (set.rfind("opset", 0) != 0)
    throw Error(Code::kInvalidArgument, "an operation set is named like \"opset13\", not \"" + set + "\"");
  return make_node(type, static_cast<unsigned>(std::stoul(set.substr(5))), ports, made, name);
}

void add_node(nb::module_& module) {
  nb::class_<Node>(module, "Node", "An operation of a model.")
      .def_prop_ro(
          "name", [](const Node& self) { return self.get_name(); }, "A name that no other node of the process has.")
      .def_prop_rw(
          "friendly_name", [](const Node& self) { return self.get_friendly_name(); },
          [](Node& self, const std::string& name) { self.set_friendly_name(name); },
          "The name in the model's file, or the one that was set.")
      .def_prop_ro(
          "shape", [](const Node& self) { return self.get_shape(); }, "The extents of its only output.")
      .def_prop_ro(
          "rt_info", [](const Node& self) { return dict_from(self.get_rt_info()); },
          "Values that readers and passes note, by name.")
      .def("get_name", [](const Node& self) { return self.get_name(); })
      .def("get_friendly_name", [](const Node& self) { return self.get_friendly_name(); })
      .def(
          "set_friendly_name", [](Node& self, const std::string& name) { self.set_friendly_name(name); },
          nb::arg("name"))
      .def(
          "get_type_name", [](const Node& self) { return std::string(self.get_type_name()); },
          "The operation, such as \"MatMul\".")
      .def("get_attributes", &attributes_of, "The attributes of the operation, by name.")
      .def("get_rt_info", [](const Node& self) { return dict_from(self.get_rt_info()); })
      .def("get_input_size", &Node::get_input_size, "The number of inputs.")
      .def("get_output_size", &Node::get_output_size, "The number of outputs.")
      .def(
          "get_element_type", [](const Node& self) { return self.get_element_type(); },
          "The element type of its only output.")
      .def(
          "get_output_element_type",
          [](const Node& self, std::size_t index) { return self.get_output_element_type(index); }, nb::arg("index"),
          "The element type of an output.")
      .def(
          "get_output_partial_shape",
          [](const Node& self, std::size_t index) { return self.get_output_partial_shape(index); }, nb::arg("index"),
          "The shape of an output, of which extents may be open.")
      .def(
          "get_output_shape", [](const Node& self, std::size_t index) { return self.get_output_shape(index); },
          nb::arg("index"), "The shape of an output, where all extents are known.")
      .def(
          "output", [](Node& self, std::size_t index) { return self.output(index); }, nb::arg("output_index"),
          "An output.")
      .def(
          "outputs",
          [](Node& self) {
            std::vector<Output<Node>> ports;
            for (std::size_t i = 0; i < self.get_output_size(); ++i) ports.push_back(self.output(i));
            return ports;
          },
          "All outputs.")
      .def(
          "input_value", [](const Node& self, std::size_t index) { return self.input_value(index); }, nb::arg("index"),
          "The output of another node that feeds an input.")
      .def(
          "input_values",
          [](const Node& self) {
            std::vector<Output<Node>> ports;
            for (std::size_t i = 0; i < self.get_input_size(); ++i) ports.push_back(self.input_value(i));
            return ports;
          },
          "What feeds all inputs.")
      .def(
          "__eq__", [](const Node& self, const Node& other) { return &self == &other; }, nb::is_operator())
      .def("__hash__", [](const Node& self) { return std::hash<const void*>()(&self); })
      .def("__repr__", [](const Node& self) {
        return "<" + std::string(self.get_type_name()) + ": '" + self.get_friendly_name() + "'>";
      });
  nb::class_<op::v0::Parameter, Node>(module, "Parameter", "An input of a model.")
      .def(nb::new_([](nb::handle type, nb::handle shape) {
             return std::make_shared<op::v0::Parameter>(element_type_from(type), partial_shape_from(shape));
           }),
           nb::arg("element_type"), nb::arg("shape"))
      .def_prop_rw(
          "partial_shape", [](const op::v0::Parameter& self) { return self.get_partial_shape(); },
          [](op::v0::Parameter& self, nb::handle shape) { self.set_partial_shape(partial_shape_from(shape)); },
          "Its extents, of which some may be open.")
      .def_prop_rw("layout", &op::v0::Parameter::get_layout, &op::v0::Parameter::set_layout, "The meaning of its axes.")
      .def(
          "set_element_type",
          [](op::v0::Parameter& self, nb::handle type) { self.set_element_type(element_type_from(type)); },
          nb::arg("element_type"), "Sets the type of its elements.");
  nb::class_<op::v0::Result, Node>(module, "Result", "An output of a model.")
      .def(nb::new_([](nb::handle port) { return std::make_shared<op::v0::Result>(port_from(port)); }),
           nb::arg("port"));
  nb::class_<op::v0::Constant, Node>(module, "Constant", "A value known when the model is made.")
      .def(nb::new_(&constant_of), nb::arg("type"), nb::arg("shape"), nb::arg("values"))
      .def(nb::new_([](nb::handle array, bool shared) {
             return std::make_shared<op::v0::Constant>(tensor_from(array, shared ? Sharing::kShare : Sharing::kCopy));
           }),
           nb::arg("array"), nb::arg("shared_memory") = false)
      .def_prop_ro(
          "data", [](const op::v0::Constant& self) { return array_over(self.get_tensor()); },
          "A NumPy array over its memory.")
      .def(
          "get_tensor_view", [](const op::v0::Constant& self) { return self.get_tensor(); },
          "A tensor over its memory.")
      .def("get_byte_size", &op::v0::Constant::get_byte_size, "Bytes of its elements.");
  module.def(
      "make_node", &node_from, nb::arg("type"), nb::arg("inputs") = nb::none(), nb::arg("attributes") = nb::none(),
      nb::arg("opset") = "opset16", nb::arg("name") = "",
      "Makes an operation by its name in OpenVINO's sets: make_node(\"MatMul\", [a, b], {\"transpose_b\": True}).");
}

void reshape(Model& model, nb::handle shapes) {
  if (!PyDict_Check(shapes.ptr())) return model.reshape(partial_shape_from(shapes));
  std::map<Output<Node>, PartialShape> by_port;
  for (const auto& [key, value] : nb::cast<nb::dict>(shapes))
    by_port[model_port(model, key)] = partial_shape_from(value);
  model.reshape(by_port);
}

ResultVector results_from(nb::handle list) {
  ResultVector results;
  const bool is_one = nb::isinstance<Node>(list) || nb::isinstance<Output<Node>>(list);
  const nb::object all = is_one ? nb::object(nb::make_tuple(nb::borrow(list))) : nb::borrow(list);
  for (const nb::handle each : nb::iter(all))
    results.push_back(nb::isinstance<op::v0::Result>(each) ? nb::cast<std::shared_ptr<op::v0::Result>>(each)
                                                           : std::make_shared<op::v0::Result>(port_from(each)));
  return results;
}

std::vector<std::string> path_of(nb::handle path) {
  if (PyUnicode_Check(path.ptr())) return {nb::cast<std::string>(path)};
  return nb::cast<std::vector<std::string>>(path);
}

void add_model_class(nb::module_& module) {
  nb::class_<Model>(module, "Model", nb::is_weak_referenceable(),
                    "A graph as data: read by Core.read_model(), or made of nodes.")
      .def(nb::new_([](nb::handle results, const ParameterVector& parameters, const std::string& name) {
             return std::make_shared<Model>(results_from(results), parameters, name);
           }),
           nb::arg("results"), nb::arg("parameters"), nb::arg("name") = "")
      .def(nb::new_([](nb::handle results, const SinkVector& sinks, const ParameterVector& parameters,
                       const std::string& name) {
             return std::make_shared<Model>(results_from(results), sinks, parameters, name);
           }),
           nb::arg("results"), nb::arg("sinks"), nb::arg("parameters"), nb::arg("name") = "")
      .def(nb::new_([](nb::handle results, const SinkVector& sinks, const ParameterVector& parameters, const nb::list&,
                       const std::string& name) {
             return std::make_shared<Model>(results_from(results), sinks, parameters, name);
           }),
           nb::arg("results"), nb::arg("sinks"), nb::arg("parameters"), nb::arg("variables"), nb::arg("name") = "",
           "Variables follow from the model's states: the list is OpenVINO's, and read by nothing.")
      .def_prop_ro(
          "name", [](const Model& self) { return self.get_name(); }, "A name that no other model of the process has.")
      .def_prop_rw(
          "friendly_name", [](const Model& self) { return self.get_friendly_name(); },
          [](Model& self, const std::string& name) { self.set_friendly_name(name); },
          "The name in the model's file, or the one that was set.")
      .def_prop_ro(
          "inputs", [](Model& self) { return self.inputs(); }, "The ports that its inputs give.")
      .def_prop_ro(
          "outputs", [](Model& self) { return self.outputs(); }, "The ports of its outputs.")
      .def_prop_ro(
          "parameters", [](const Model& self) { return self.get_parameters(); }, "The nodes of its inputs.")
      .def_prop_ro(
          "results", [](const Model& self) { return self.get_results(); }, "The nodes of its outputs.")
      .def_prop_ro("dynamic", &Model::is_dynamic, "Whether an extent of an input is open.")
      .def_prop_ro(
          "rt_info", [](const Model& self) { return dict_from(self.get_rt_info()); },
          "Values that the model's file says of it, by name.")
      .def(
          "input", [](Model& self) { return self.input(); },
          "An input by its index or tensor name; without either the only one. @errors NotFound, OutOfRange.")
      .def(
          "input", [](Model& self, std::size_t index) { return self.input(index); }, nb::arg("index"))
      .def(
          "input", [](Model& self, const std::string& name) { return self.input(name); }, nb::arg("tensor_name"))
      .def(
          "output", [](Model& self) { return self.output(); },
          "An output by its index or tensor name; without either the only one. @errors NotFound, OutOfRange.")
      .def(
          "output", [](Model& self, std::size_t index) { return self.output(index); }, nb::arg("index"))
      .def(
          "output", [](Model& self, const std::string& name) { return self.output(name); }, nb::arg("tensor_name"))
      .def("get_name", [](const Model& self) { return self.get_name(); })
      .def("get_friendly_name", [](const Model& self) { return self.get_friendly_name(); })
      .def("set_friendly_name", [](Model& self, const std::string& name) { self.set_friendly_name(name); })
      .def("get_parameters", [](const Model& self) { return self.get_parameters(); })
      .def("get_results", [](const Model& self) { return self.get_results(); })
      .def("get_ops", &Model::get_ops, "All nodes.")
      .def("get_ordered_ops", &Model::get_ordered_ops, "All nodes, each behind those that feed it.")
      .def("get_output_size", &Model::get_output_size, "The number of outputs.")
      .def("is_dynamic", &Model::is_dynamic, "As dynamic.")
      .def("validate_nodes_and_infer_types", &Model::validate_nodes_and_infer_types,
           "Computes types and shapes of all nodes anew. @errors InvalidArgument: a node whose inputs do not fit.")
      .def("reshape", &reshape, nb::arg("shapes"),
           "One shape for a model of one input, or a dict from ports, names or indices to shapes.")
      .def("clone", &Model::clone, "A model with nodes of its own, over the same constants.")
      .def(
          "add_outputs",
          [](Model& self, nb::handle outputs) {
            std::vector<Output<Node>> added;
            const nb::object list = PyList_Check(outputs.ptr()) || PyTuple_Check(outputs.ptr())
                                        ? nb::borrow(outputs)
                                        : nb::object(nb::make_tuple(nb::borrow(outputs)));
            for (const nb::handle each : nb::iter(list))
              added.push_back(PyUnicode_Check(each.ptr()) ? self.add_output(nb::cast<std::string>(each))
                                                          : self.add_output(port_from(each)));
            return added;
          },
          nb::arg("outputs"), "Adds outputs at ports, nodes or tensor names; returns their ports. @errors NotFound.")
      .def(
          "has_rt_info", [](const Model& self, nb::handle path) { return self.has_rt_info(path_of(path)); },
          nb::arg("path"), "Whether the model's file says something at this path of names.")
      .def("get_rt_info", [](const Model& self) { return dict_from(self.get_rt_info()); })
      .def(
          "get_rt_info",
          [](const Model& self, nb::handle path) { return object_from(self.get_rt_info(path_of(path))); },
          nb::arg("path"))
      .def(
          "set_rt_info",
          [](Model& self, nb::handle value, nb::handle path) {
            self.set_rt_info(any_from(value, "rt_info"), path_of(path));
          },
          nb::arg("obj"), nb::arg("path"), "Sets a value at a path of names, such as [\"model_info\", \"labels\"].")
      .def("_save", [](const Model& self, const std::filesystem::path& xml, const std::filesystem::path& bin) {
        const Released released;
        serialize(self, xml, bin);
      });
}

}  // namespace

Output<Node> model_port(Model& model, nb::handle key) {
  if (PyUnicode_Check(key.ptr())) return model.input(nb::cast<std::string>(key));
  if (PyLong_Check(key.ptr())) return model.input(nb::cast<std::size_t>(key));
  if (nb::isinstance<Output<Node>>(key)) return nb::cast<Output<Node>>(key);
  if (nb::isinstance<Node>(key)) return nb::cast<NodePtr>(key)->output(0);
  raise(PyExc_TypeError, "an input is named by a port, its tensor name or its index, not by " + shown(key));
}

void add_model(nb::module_& module) {
  add_described_tensor(module);
  add_port<Output<Node>>(module, "Output", "An output of a node: a port of a model.");
  add_port<Output<const Node>>(module, "ConstOutput", "A port of a compiled model.");
  add_node(module);
  add_model_class(module);
}

}  // namespace tenon::python
