// SPDX-License-Identifier: Apache-2.0
// What a request tells of itself: states, and times of nodes.
#include <chrono>
#include <cstdint>
#include <string>

#include <tenon/bindings/python/native/base/interpreter.hpp>
#include <tenon/bindings/python/native/memory/tensors.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/bindings/python/native/run/request.hpp>
#include <tenon/runtime/profiling_info.hpp>
#include <tenon/runtime/variable_state.hpp>

namespace tenon::python {

void add_profiling(nb::module_& module) {
  nb::enum_<ProfilingInfo::Status>(module, "ProfilingStatus")
      .value("NOT_RUN", ProfilingInfo::Status::NOT_RUN)
      .value("OPTIMIZED_OUT", ProfilingInfo::Status::OPTIMIZED_OUT)
      .value("EXECUTED", ProfilingInfo::Status::EXECUTED);
  const auto seconds = [](std::chrono::microseconds time) {
    return nb::module_::import_("datetime").attr("timedelta")(nb::arg("microseconds") = time.count());
  };
  nb::class_<ProfilingInfo>(module, "ProfilingInfo", "The time that one node of a request took.")
      .def_ro("status", &ProfilingInfo::status, "Whether the node ran, was optimized out, or was not reached.")
      .def_ro("node_name", &ProfilingInfo::node_name, "The node's friendly name.")
      .def_ro("exec_type", &ProfilingInfo::exec_type, "How the device ran it: the kernel.")
      .def_ro("node_type", &ProfilingInfo::node_type, "The operation.")
      .def_prop_ro(
          "real_time", [seconds](const ProfilingInfo& self) { return seconds(self.real_time); }, "Wall time.")
      .def_prop_ro(
          "cpu_time", [seconds](const ProfilingInfo& self) { return seconds(self.cpu_time); },
          "Processor time of the thread that ran it; without threads that helped.")
      .def_prop_ro(
          "start_time", [seconds](const ProfilingInfo& self) { return seconds(self.start_time); },
          "When it began, from the beginning of the inference.")
      .def("__repr__", [](const ProfilingInfo& self) {
        return "<ProfilingInfo: " + self.node_name + " (" + self.node_type + ", " + self.exec_type + ") " +
               std::to_string(self.real_time.count()) + " us>";
      });
}

void add_state(nb::module_& module) {
  nb::class_<VariableState>(module, "VariableState", "One state of a request, kept between its inferences.")
      .def_prop_ro("name", &VariableState::get_name, "The variable's name in the model.")
      .def_prop_rw(
          "state", [](const VariableState& self) { return object_of(freely([&] { return self.get_state(); })); },
          [](VariableState& self, nb::handle value) {
            const Tensor state = tensor_to_read(value, ElementType::kUndefined);
            freely([&] { self.set_state(state); });
          },
          "The value: a Tensor over memory of the device, or a copy where that is not addressable. An array that is "
          "set is copied, and converted.")
      .def(
          "reset", [](VariableState& self) { freely([&] { self.reset(); }); },
          "Sets the value that the model begins with.")
      .def("__repr__", [](const VariableState& self) { return "<VariableState: '" + self.get_name() + "'>"; });
}

}  // namespace tenon::python
