// SPDX-License-Identifier: Apache-2.0
// What programs change in models: inputs of nodes, parameters and results, passes; and the table of operations.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nanobind/operators.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <tenon/bindings/python/native/base/interpreter.hpp>
#include <tenon/bindings/python/native/base/shapes.hpp>
#include <tenon/bindings/python/native/memory/tensors.hpp>
#include <tenon/bindings/python/native/models/ports.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/passes/compress.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon::python {
namespace {

using ModelPtr = std::shared_ptr<Model>;
using NodePtr = std::shared_ptr<Node>;

/// An input of a node, which it keeps alive: Python's objects live as long as they are named.
struct NodeInput {
  NodePtr node;
  std::size_t index;
  Input<Node> port() const { return node->input(index); }
};

NodeInput held(const Input<Node>& input) { return {input.get_node()->shared_from_this(), input.get_index()}; }

template <typename Port>
nb::object readers_of(const Port& port) {
  nb::set readers;
  for (const Input<Node>& each : port.get_target_inputs()) readers.add(nb::cast(held(each)));
  return readers;
}

/// Adds methods to a class that another source made.
template <typename T>
class Methods {
 public:
  template <typename F, typename... Extra>
  Methods& def(const char* name, F&& function, const Extra&... extra) {
    nb::cpp_function_def<T>(std::forward<F>(function), nb::scope(class_), nb::name(name), nb::is_method(), extra...);
    return *this;
  }

 private:
  nb::handle class_ = nb::type<T>();
};

void add_node_input(nb::module_& module) {
  nb::class_<NodeInput>(module, "Input", "An input of a node.")
      .def("get_node", [](const NodeInput& self) { return self.node; })
      .def("get_index", [](const NodeInput& self) { return self.index; })
      .def("get_source_output", [](const NodeInput& self) { return self.port().get_source_output(); })
      .def("get_element_type", [](const NodeInput& self) { return self.port().get_element_type(); })
      .def("get_shape", [](const NodeInput& self) { return self.port().get_shape(); })
      .def("get_partial_shape", [](const NodeInput& self) { return self.port().get_partial_shape(); })
      .def(
          "get_tensor", [](const NodeInput& self) -> descriptor::Tensor& { return self.port().get_tensor(); },
          nb::rv_policy::reference_internal)
      .def(
          "replace_source_output",
          [](const NodeInput& self, const Output<Node>& source) { self.port().replace_source_output(source); },
          nb::arg("new_source_output"), "Reads from another output; types follow at the model's validation.")
      .def(
          "__eq__",
          [](const NodeInput& self, const NodeInput& other) {
            return self.node == other.node && self.index == other.index;
          },
          nb::is_operator())
      .def("__hash__", [](const NodeInput& self) { return std::hash<const void*>()(self.node.get()) ^ self.index; })
      .def("__repr__", [](const NodeInput& self) {
        return "<Input: shape" + self.port().get_partial_shape().to_string() +
               " type: " + self.port().get_element_type().get_type_name() + ">";
      });
}

void add_ports() {
  Methods<Output<Node>>()
      .def("get_target_inputs", [](const Output<Node>& self) { return readers_of(self); })
      .def("_set_rt", [](const Output<Node>& self, const std::string& key,
                         nb::handle value) { self.get_tensor().get_rt_info()[key] = any_from(value, key); })
      .def("_erase_rt", [](const Output<Node>& self, const std::string& key) {
        return self.get_tensor().get_rt_info().erase(key) != 0;
      });
  Methods<Output<const Node>>()
      .def("get_target_inputs", [](const Output<const Node>& self) { return readers_of(self); })
      .def(
          "get_tensor", [](const Output<const Node>& self) -> const descriptor::Tensor& { return self.get_tensor(); },
          nb::rv_policy::reference_internal);
}

template <typename T>
std::shared_ptr<T> node_of(nb::handle object) {
  std::shared_ptr<T> node;
  if (!object.is_none()) node = nb::cast<std::shared_ptr<T>>(object);
  if (!node) raise(PyExc_TypeError, "a node of the model is wanted, not None");
  return node;
}

OutputVector ports_from(nb::handle list) {
  OutputVector ports;
  for (const nb::handle each : nb::iter(list))
    ports.push_back(nb::isinstance<Output<Node>>(each) ? nb::cast<Output<Node>>(each) : node_of<Node>(each)->output(0));
  return ports;
}

std::vector<Tensor> tensors_from(nb::handle list) {
  std::vector<Tensor> tensors;
  for (const nb::handle each : nb::iter(list)) tensors.push_back(tensor_from(each, Sharing::kShare));
  return tensors;
}

/// Computes into the caller's tensors, as Node.evaluate() and Model.evaluate() have it.
void copy_results(const std::vector<Tensor>& results, nb::handle outputs) {
  if (nb::len(outputs) != results.size())
    throw Error(Code::kInvalidArgument, "evaluate() has " + std::to_string(results.size()) + " outputs, and " +
                                            std::to_string(nb::len(outputs)) + " tensors were given for them");
  std::size_t i = 0;
  for (const nb::handle each : nb::iter(outputs)) {
    Tensor& target = nb::cast<Tensor&>(each);
    if (target.shape() != results[i].shape()) target.set_shape(results[i].shape());
    results[i++].copy_to(target);
  }
}

void add_node_methods() {
  Methods<Node>()
      .def(
          "input", [](const NodePtr& self, std::size_t index) { return held(self->input(index)); },
          nb::arg("input_index"), "An input of the node: what it reads, and from where.")
      .def(
          "inputs",
          [](const NodePtr& self) {
            std::vector<NodeInput> inputs;
            for (const Input<Node>& each : self->inputs()) inputs.push_back(held(each));
            return inputs;
          },
          "All inputs.")
      .def(
          "get_input_element_type",
          [](const Node& self, std::size_t index) { return self.get_input_element_type(index); }, nb::arg("index"),
          "The element type of an input.")
      .def(
          "get_input_shape", [](const Node& self, std::size_t index) { return self.get_input_shape(index); },
          nb::arg("index"), "The shape of an input. @errors an Error where an extent is open.")
      .def(
          "get_input_partial_shape",
          [](const Node& self, std::size_t index) { return self.get_input_partial_shape(index); }, nb::arg("index"),
          "The shape of an input, of which extents may be open.")
      .def(
          "get_input_tensor",
          [](const Node& self, std::size_t index) -> descriptor::Tensor& { return self.get_input_tensor(index); },
          nb::rv_policy::reference_internal, nb::arg("index"), "Type, shape and names of what an input reads.")
      .def(
          "get_output_tensor",
          [](const Node& self, std::size_t index) -> descriptor::Tensor& { return self.get_output_tensor(index); },
          nb::rv_policy::reference_internal, nb::arg("index"), "Type, shape and names of an output.")
      .def(
          "set_argument",
          [](Node& self, std::size_t index, const Output<Node>& source) { self.set_argument(index, source); },
          nb::arg("index"), nb::arg("argument"), "Lets an input read another output.")
      .def(
          "set_arguments", [](Node& self, nb::handle sources) { self.set_arguments(ports_from(sources)); },
          nb::arg("arguments"), "Lets all inputs read other outputs.")
      .def("_set_attribute", [](Node& self, const std::string& name,
                                nb::handle value) { self.set_attribute(name, attribute_from(value, name)); })
      .def(
          "validate_and_infer_types", [](Node& self) { self.validate_and_infer_types(); },
          "Computes types and shapes of its outputs anew. @errors InvalidArgument: its inputs do not fit.")
      .def(
          "constructor_validate_and_infer_types", [](Node& self) { self.validate_and_infer_types(); },
          "As validate_and_infer_types().")
      .def("_type_info",
           [](const Node& self) {
             const DiscreteTypeInfo& info = self.get_type_info();
             return nb::make_tuple(std::string(info.name), std::string(info.version_id));
           })
      .def("_set_rt",
           [](Node& self, const std::string& key, nb::handle value) { self.get_rt_info()[key] = any_from(value, key); })
      .def("_erase_rt", [](Node& self, const std::string& key) { return self.get_rt_info().erase(key) != 0; })
      .def(
          "evaluate",
          [](const Node& self, nb::handle outputs, nb::handle inputs) {
            const std::vector<Tensor> given = tensors_from(inputs);
            std::vector<Tensor> results;
            {
              const Released released;
              results = evaluate_node(self, given);
            }
            copy_results(results, outputs);
            return true;
          },
          nb::arg("output_values"), nb::arg("input_values"), "Computes the node by its reference kernel.");
}

template <typename T>
std::vector<std::shared_ptr<T>> list_from(nb::handle list) {
  std::vector<std::shared_ptr<T>> nodes;
  for (const nb::handle each : nb::iter(list)) nodes.push_back(node_of<T>(each));
  return nodes;
}

void add_model_methods() {
  Methods<Model>()
      .def(
          "add_parameters",
          [](Model& self, nb::handle list) { self.add_parameters(list_from<op::v0::Parameter>(list)); },
          nb::arg("parameters"), "Adds Parameter nodes as inputs.")
      .def(
          "add_results", [](Model& self, nb::handle list) { self.add_results(list_from<op::v0::Result>(list)); },
          nb::arg("results"), "Adds Result nodes as outputs.")
      .def(
          "add_sinks", [](Model& self, nb::handle list) { self.add_sinks(list_from<Node>(list)); }, nb::arg("sinks"),
          "Adds nodes without readers, such as Assign.")
      .def("get_sinks", [](const Model& self) { return self.get_sinks(); })
      .def("get_output_element_type", &Model::get_output_element_type, nb::arg("index"),
           "The element type of an output.")
      .def(
          "get_output_shape", [](const Model& self, std::size_t index) { return self.get_output_shape(index); },
          nb::arg("index"), "The shape of an output. @errors an Error where an extent is open.")
      .def(
          "get_output_partial_shape",
          [](const Model& self, std::size_t index) { return self.get_output_partial_shape(index); }, nb::arg("index"),
          "The shape of an output, of which extents may be open.")
      .def("get_parameter_index", &Model::get_parameter_index, nb::arg("parameter"),
           "The number of an input; -1: it is none.")
      .def(
          "get_result_index", [](const Model& self, const Output<Node>& value) { return self.get_result_index(value); },
          nb::arg("value"), "The number of an output; -1: it is none.")
      .def(
          "get_result_index",
          [](const Model& self, const Output<const Node>& value) {
            return self.get_result_index(
                {std::const_pointer_cast<Node>(value.get_node_shared_ptr()), value.get_index()});
          },
          nb::arg("value"))
      .def("remove_parameter", &Model::remove_parameter, nb::arg("parameter"),
           "Takes an input out of the list. What reads it is left.")
      .def("remove_result", &Model::remove_result, nb::arg("result"), "Takes an output away.")
      .def("replace_parameter", &Model::replace_parameter, nb::arg("parameter_index"), nb::arg("parameter"),
           "Puts another Parameter in the place of one.")
      .def("_erase_rt", [](Model& self, const std::string& key) { return self.get_rt_info().erase(key) != 0; })
      .def(
          "evaluate",
          [](const Model& self, nb::handle outputs, nb::handle inputs, nb::handle) {
            const std::vector<Tensor> given = tensors_from(inputs);
            std::vector<Tensor> results;
            {
              const Released released;
              results = evaluate(self, given);
            }
            copy_results(results, outputs);
            return true;
          },
          nb::arg("output_tensors"), nb::arg("input_tensors"), nb::arg("evaluation_context") = nb::none(),
          "Computes the model by the reference kernels: right and slow.");
}

nb::object value_of(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> nb::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, ElementType>)
          return nb::cast(element::Type(value));
        else
          return nb::cast(value);
      },
      attribute.value());
}

/// The table's rows as (type, operation set, fewest and most inputs, {attribute: (kind, required, default, allowed)}).
nb::list rows() {
  nb::list list;
  for (const Operation* row : operations()) {
    nb::dict attributes;
    for (const AttributeSpec& each : row->attributes)
      attributes[nb::str(each.name.c_str())] =
          nb::make_tuple(std::string(name(each.kind)), each.required,
                         each.required ? nb::none() : value_of(each.fallback), each.allowed);
    list.append(nb::make_tuple(row->type, row->opset, row->min_inputs,
                               row->max_inputs == kManyInputs ? nb::none() : nb::cast(row->max_inputs), attributes));
  }
  return list;
}

bool run_pass(const ModelPtr& model, const std::string& which) {
  const Released released;
  pass::Manager manager;
  if (which == "compress_to_f16") return pass::compress_to_f16(*model).constants != 0;
  if (which == "fold_constants")
    manager.add(pass::fold_constants({.keep_decompression = false}));
  else if (which == "common")
    manager = pass::common_passes();
  else
    throw Error(Code::kNotFound, "no pass is named " + which + ": fold_constants, common or compress_to_f16");
  return manager.run(model);
}

}  // namespace

void add_nodes(nb::module_& module) {
  add_node_input(module);
  add_ports();
  add_node_methods();
  add_model_methods();
  module.def("_operations", &rows);
  module.def("_run_pass", &run_pass, nb::arg("model"), nb::arg("name"));
}

}  // namespace tenon::python
