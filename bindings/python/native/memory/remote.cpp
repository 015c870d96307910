// SPDX-License-Identifier: Apache-2.0
// RemoteContext.
#include <string>

#include <tenon/bindings/python/native/memory/tensors.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/runtime/remote_context.hpp>

namespace tenon::python {

void add_remote(nb::module_& module) {
  nb::class_<RemoteContext>(module, "RemoteContext",
                            "A device's context: tensors made here lie in the device's memory.")
      .def("get_device_name", &RemoteContext::get_device_name, "\"GPU.0\" or the like.")
      .def("get_params", &RemoteContext::get_params,
           "The context's handles and what kind they are, as OpenVINO's properties of remote contexts.")
      .def(
          "create_tensor",
          [](RemoteContext& self, nb::handle type, const Shape& shape, nb::handle properties) {
            const AnyMap params = map_from(properties);
            const element::Type element = element_type_from(type);
            const Released released;
            return self.create_tensor(element, shape, params);
          },
          nb::arg("type"), nb::arg("shape"), nb::arg("properties") = nb::none(),
          "A tensor in the device's memory; with properties, over memory that exists: {\"SHARED_MEM_TYPE\": ..., "
          "\"MEM_HANDLE\": ctypes.c_void_p(...)}.")
      .def(
          "create_host_tensor",
          [](RemoteContext& self, nb::handle type, const Shape& shape) {
            const element::Type element = element_type_from(type);
            return object_of(freely([&] { return self.create_host_tensor(element, shape); }));
          },
          nb::arg("type"), nb::arg("shape"), "Host memory that the device reads in place where it can.")
      .def("__repr__", [](const RemoteContext& self) {
        return self ? "<RemoteContext: " + self.get_device_name() + ">" : std::string("<RemoteContext: empty>");
      });
}

}  // namespace tenon::python
