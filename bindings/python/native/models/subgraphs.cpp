// SPDX-License-Identifier: Apache-2.0
// Control flow: If, Loop and TensorIterator, with the descriptions of what their bodies read and put out.
#include <memory>
#include <string>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <tenon/bindings/python/native/native.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::python {
namespace {

using op::util::MultiSubGraphOp;
using op::util::SubGraphOp;
using In = MultiSubGraphOp::InputDescription;
using Out = MultiSubGraphOp::OutputDescription;
using Slice = MultiSubGraphOp::SliceInputDescription;
using Merged = MultiSubGraphOp::MergedInputDescription;
using Invariant = MultiSubGraphOp::InvariantInputDescription;
using Body = MultiSubGraphOp::BodyOutputDescription;
using Concat = MultiSubGraphOp::ConcatOutputDescription;
using ParameterPtr = std::shared_ptr<op::v0::Parameter>;
using ResultPtr = std::shared_ptr<op::v0::Result>;

void add_descriptions(nb::module_& module) {
  nb::class_<In>(module, "InputDescription", "Where a body's parameter comes from.")
      .def_ro("input_index", &In::m_input_index)
      .def_ro("body_parameter_index", &In::m_body_parameter_index)
      .def("copy", &In::copy);
  nb::class_<Out>(module, "OutputDescription", "What becomes of a body's result.")
      .def_ro("body_value_index", &Out::m_body_value_index)
      .def_ro("output_index", &Out::m_output_index)
      .def("copy", &Out::copy);
  nb::class_<Slice, In>(module, "SliceInputDescription")
      .def(nb::new_([](std::uint64_t input, std::uint64_t parameter, std::int64_t start, std::int64_t stride,
                       std::int64_t size, std::int64_t end, std::int64_t axis) {
             return std::make_shared<Slice>(input, parameter, start, stride, size, end, axis);
           }),
           nb::arg("input_index"), nb::arg("body_parameter_index"), nb::arg("start"), nb::arg("stride"),
           nb::arg("part_size"), nb::arg("end"), nb::arg("axis"))
      .def_ro("start", &Slice::m_start)
      .def_ro("stride", &Slice::m_stride)
      .def_ro("part_size", &Slice::m_part_size)
      .def_ro("end", &Slice::m_end)
      .def_ro("axis", &Slice::m_axis);
  nb::class_<Merged, In>(module, "MergedInputDescription")
      .def(nb::new_([](std::uint64_t input, std::uint64_t parameter, std::uint64_t value) {
             return std::make_shared<Merged>(input, parameter, value);
           }),
           nb::arg("input_index"), nb::arg("body_parameter_index"), nb::arg("body_value_index"))
      .def_ro("body_value_index", &Merged::m_body_value_index);
  nb::class_<Invariant, In>(module, "InvariantInputDescription")
      .def(nb::new_([](std::uint64_t input, std::uint64_t parameter) {
             return std::make_shared<Invariant>(input, parameter);
           }),
           nb::arg("input_index"), nb::arg("body_parameter_index"));
  nb::class_<Body, Out>(module, "BodyOutputDescription")
      .def(nb::new_([](std::uint64_t value, std::uint64_t output, std::int64_t iteration) {
             return std::make_shared<Body>(value, output, iteration);
           }),
           nb::arg("body_value_index"), nb::arg("output_index"), nb::arg("iteration") = -1)
      .def_ro("iteration", &Body::m_iteration);
  nb::class_<Concat, Out>(module, "ConcatOutputDescription")
      .def(nb::new_([](std::uint64_t value, std::uint64_t output, std::int64_t start, std::int64_t stride,
                       std::int64_t size, std::int64_t end, std::int64_t axis) {
             return std::make_shared<Concat>(value, output, start, stride, size, end, axis);
           }),
           nb::arg("body_value_index"), nb::arg("output_index"), nb::arg("start"), nb::arg("stride"),
           nb::arg("part_size"), nb::arg("end"), nb::arg("axis"))
      .def_ro("start", &Concat::m_start)
      .def_ro("stride", &Concat::m_stride)
      .def_ro("part_size", &Concat::m_part_size)
      .def_ro("end", &Concat::m_end)
      .def_ro("axis", &Concat::m_axis);
}

/// What TensorIterator and Loop share.
template <typename T>
void add_iteration(nb::class_<T, Node>& kind) {
  kind.def(
          "set_function", [](T& self, const std::shared_ptr<Model>& body) { self.set_function(body); }, nb::arg("func"))
      .def("get_function", [](const T& self) { return self.get_function(); })
      .def("set_sliced_input", &T::set_sliced_input, nb::arg("parameter"), nb::arg("value"), nb::arg("start"),
           nb::arg("stride"), nb::arg("part_size"), nb::arg("end"), nb::arg("axis"))
      .def("set_merged_input", &T::set_merged_input, nb::arg("body_parameter"), nb::arg("initial_value"),
           nb::arg("successive_value"))
      .def("set_invariant_input", &T::set_invariant_input, nb::arg("body_parameter"), nb::arg("value"))
      .def("get_iter_value", &T::get_iter_value, nb::arg("body_value"), nb::arg("iteration") = -1)
      .def("get_concatenated_slices", &T::get_concatenated_slices, nb::arg("value"), nb::arg("start"),
           nb::arg("stride"), nb::arg("part_size"), nb::arg("end"), nb::arg("axis"))
      .def("get_num_iterations", &T::get_num_iterations)
      .def("get_input_descriptions", [](const T& self) { return self.get_input_descriptions(); })
      .def("get_output_descriptions", [](const T& self) { return self.get_output_descriptions(); })
      .def("set_input_descriptions",
           [](T& self, const std::vector<In::Ptr>& inputs) {
             static_cast<MultiSubGraphOp&>(self).set_input_descriptions(0, inputs);
           })
      .def("set_output_descriptions", [](T& self, const std::vector<Out::Ptr>& outputs) {
        static_cast<MultiSubGraphOp&>(self).set_output_descriptions(0, outputs);
      });
}

void add_if(nb::module_& module) {
  using op::v8::If;
  nb::class_<If, Node>(module, "if_op", "Runs one of two bodies.")
      .def(nb::new_([](const Output<Node>& condition) { return std::make_shared<If>(condition); }),
           nb::arg("execution_condition"))
      .def(nb::new_([](const std::shared_ptr<Node>& condition) { return std::make_shared<If>(condition->output(0)); }),
           nb::arg("execution_condition"))
      .def("get_then_body", [](const If& self) { return self.get_then_body(); })
      .def("get_else_body", [](const If& self) { return self.get_else_body(); })
      .def("set_then_body", &If::set_then_body, nb::arg("body"))
      .def("set_else_body", &If::set_else_body, nb::arg("body"))
      .def("set_input", &If::set_input, nb::arg("value"), nb::arg("then_parameter").none(),
           nb::arg("else_parameter").none())
      .def("set_output", &If::set_output, nb::arg("then_result"), nb::arg("else_result"))
      .def(
          "get_function", [](const If& self, std::size_t index) { return self.get_function(index); }, nb::arg("index"))
      .def(
          "set_function",
          [](If& self, int index, const std::shared_ptr<Model>& body) { self.set_function(index, body); },
          nb::arg("index"), nb::arg("func"))
      .def(
          "get_input_descriptions", [](const If& self, int index) { return self.get_input_descriptions(index); },
          nb::arg("index"))
      .def(
          "get_output_descriptions", [](const If& self, int index) { return self.get_output_descriptions(index); },
          nb::arg("index"))
      .def("set_input_descriptions",
           [](If& self, int index, const std::vector<In::Ptr>& inputs) { self.set_input_descriptions(index, inputs); })
      .def("set_output_descriptions", [](If& self, int index, const std::vector<Out::Ptr>& outputs) {
        self.set_output_descriptions(index, outputs);
      });
}

}  // namespace

void add_subgraphs(nb::module_& module) {
  add_descriptions(module);
  add_if(module);
  using op::v0::TensorIterator;
  using op::v5::Loop;
  auto iterator =
      nb::class_<TensorIterator, Node>(module, "tensor_iterator", "Runs its body for each part of an axis.");
  iterator.def(nb::new_([] { return std::make_shared<TensorIterator>(); }))
      .def("set_body", &TensorIterator::set_body, nb::arg("body"))
      .def("get_body", [](const TensorIterator& self) { return self.get_body(); });
  add_iteration(iterator);
  auto loop = nb::class_<Loop, Node>(module, "loop", "Runs its body while a condition holds.");
  loop.def(nb::new_([](const Output<Node>& count, const Output<Node>& condition) {
             return std::make_shared<Loop>(count, condition);
           }),
           nb::arg("trip_count"), nb::arg("execution_condition"))
      .def(nb::new_([](const std::shared_ptr<Node>& count, const std::shared_ptr<Node>& condition) {
             return std::make_shared<Loop>(count->output(0), condition->output(0));
           }),
           nb::arg("trip_count"), nb::arg("execution_condition"))
      .def("set_special_body_ports",
           [](Loop& self, const std::vector<std::int64_t>& ports) {
             if (ports.size() != 2) throw nb::value_error("special body ports are two numbers");
             self.set_special_body_ports({ports[0], ports[1]});
           })
      .def("get_special_body_ports", [](const Loop& self) {
        const auto ports = self.get_special_body_ports();
        return nb::make_tuple(ports.current_iteration_input_idx, ports.body_condition_output_idx);
      });
  add_iteration(loop);
}

}  // namespace tenon::python
