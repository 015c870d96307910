// SPDX-License-Identifier: Apache-2.0
// Core and CompiledModel.
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include <tenon/bindings/python/native/base/interpreter.hpp>
#include <tenon/bindings/python/native/base/interruptible.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/bindings/python/native/run/request.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/router.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/remote_context.hpp>

namespace tenon::python {
namespace {

using ModelPtr = std::shared_ptr<Model>;

/// A stream of Python's, such as io.BytesIO, gives its bytes from the beginning, as in OpenVINO; others are themselves.
nb::object read_stream(nb::handle data) {
  if (!nb::hasattr(data, "read")) return nb::borrow(data);
  if (nb::hasattr(data, "seek")) data.attr("seek")(0);
  return data.attr("read")();
}

std::string bytes_of(nb::handle data) {
  const Tensor bytes = tensor_from(read_stream(data), Sharing::kShare);
  if (!bytes.is_contiguous())
    raise(PyExc_BufferError, "the bytes of a model lie one after another; this array has strides");
  return freely([&] { return std::string(static_cast<const char*>(bytes.data()), bytes.size_bytes()); });
}

bool is_path(nb::handle object) { return PyUnicode_Check(object.ptr()) || nb::hasattr(object, "__fspath__"); }
std::filesystem::path path_from(nb::handle object) { return nb::cast<std::filesystem::path>(object); }

/// A model by its path, or by its bytes: of an ONNX file, or the XML of an IR with its weights.
ModelPtr read_model(const Core& core, nb::handle model, nb::handle weights, nb::handle config) {
  check_process();
  const AnyMap properties = map_from(config);
  // Text that begins like XML is an IR, not its path.
  const bool is_xml = PyUnicode_Check(model.ptr()) && nb::cast<std::string>(model).rfind("<?xml", 0) == 0;
  if (is_path(model) && !is_xml) {
    const auto path = path_from(model);
    const auto weights_path = weights.is_none() ? std::filesystem::path() : path_from(weights);
    return interruptible([&] { return core.read_model(path, weights_path, properties); });
  }
  const std::string text = is_xml ? nb::cast<std::string>(model) : bytes_of(model);
  const Tensor bytes = weights.is_none() ? Tensor() : tensor_from(read_stream(weights), Sharing::kShare);
  return interruptible([&] { return core.read_model(text, bytes); });
}

Compiled compile_model(Core& core, nb::handle given, nb::handle target, nb::handle config, nb::handle weights) {
  check_process();
  if (!weights.is_none() && nb::isinstance<Model>(given))
    raise(PyExc_TypeError, "weights belong to a model's text or path; a Model has its own");
  const nb::object model =
      weights.is_none() ? nb::borrow(given) : nb::cast(read_model(core, given, weights, nb::none()));
  const AnyMap properties = map_from(config);
  if (nb::isinstance<RemoteContext>(target)) {
    const auto context = nb::cast<RemoteContext>(target);
    const ModelPtr read =
        nb::isinstance<Model>(model) ? nb::cast<ModelPtr>(model) : read_model(core, model, nb::none(), nb::none());
    return Compiled(interruptible([&] { return core.compile_model(read, context, properties); }));
  }
  const std::string device = target.is_none() ? "" : nb::cast<std::string>(target);
  const auto compiled = [&](const auto& source) {
    return Compiled(interruptible([&] {
      return device.empty() ? core.compile_model(source, properties) : core.compile_model(source, device, properties);
    }));
  };
  if (nb::isinstance<Model>(model)) return compiled(std::shared_ptr<const Model>(nb::cast<ModelPtr>(model)));
  if (is_path(model)) return compiled(path_from(model));
  return compiled(std::shared_ptr<const Model>(read_model(core, model, nb::none(), nb::none())));
}

Compiled import_model(Core& core, nb::handle blob, nb::handle target, nb::handle config) {
  check_process();
  const AnyMap properties = map_from(config);
  const Tensor bytes = tensor_from(read_stream(blob), Sharing::kShare);
  if (nb::isinstance<RemoteContext>(target)) {
    const auto context = nb::cast<RemoteContext>(target);
    return Compiled(interruptible([&] { return core.import_model(bytes, context, properties); }));
  }
  const auto device = nb::cast<std::string>(target);
  return Compiled(interruptible([&] { return core.import_model(bytes, device, properties); }));
}

/// set_property(properties), set_property(device, properties), and pairs in place of dicts.
void set_property(Core& core, nb::handle first, nb::handle second) {
  const AnyMap properties = map_from(second.is_none() ? first : second);
  const std::string device = second.is_none() ? std::string() : nb::cast<std::string>(first);
  freely([&] { core.set_property(device, properties); });
}

nb::object property_of(const Any& value, const std::string& key) {
  return nb::module_::import_("tenon._enums").attr("from_text")(key, object_from(value));
}

nb::object get_property(const Core& core, const std::string& first, nb::handle second) {
  const bool has_device = !second.is_none();
  const std::string device = has_device ? first : std::string();
  const std::string key = has_device ? nb::cast<std::string>(second) : first;
  return property_of(freely([&] { return core.get_property(device, key); }), key);
}

}  // namespace

bool is_main_thread() {
  const nb::object main = nb::module_::import_("threading").attr("main_thread")();
  return main.attr("ident").equal(nb::int_(PyThread_get_thread_ident()));
}

namespace {

void add_version(nb::module_& module) {
  nb::class_<Version>(module, "Version", "Version of a device and of the runtime that it uses.")
      .def_ro("build_number", &Version::buildNumber, "The library's version.")
      .def_ro("description", &Version::description, "The name of the device or library.")
      .def("__repr__", [](const Version& self) {
        return std::string("<Version: ") + std::string(self.buildNumber) + " " + std::string(self.description) + ">";
      });
}

void add_core_class(nb::module_& module) {
  nb::class_<Core>(module, "Core",
                   "The starting point: reads models, finds devices, compiles. Usually one per program.\n\n"
                   "Devices: \"CPU\", \"GPU\", \"GPU.1\", \"NPU\", \"AUTO\", \"AUTO:GPU,CPU\", \"HETERO:GPU,CPU\", "
                   "\"MULTI:GPU,CPU\", \"BATCH:GPU(4)\".")
      .def(nb::init<>())
      .def("read_model", &read_model, nb::arg("model"), nb::arg("weights") = nb::none(), nb::arg("config") = nb::none(),
           "Reads an ONNX file or the .xml of an OpenVINO IR by its path, or from bytes. Weights are mapped, not "
           "copied.")
      .def("compile_model", &compile_model, nb::arg("model"), nb::arg("device_name") = nb::none(),
           nb::arg("config") = nb::none(), nb::kw_only(), nb::arg("weights") = nb::none(),
           "Compiles a Model, or the file at a path, for a device or in a RemoteContext. Other threads of Python run "
           "meanwhile.")
      .def("import_model", &import_model, nb::arg("model_stream"), nb::arg("device_name"),
           nb::arg("config") = nb::none(), "A model from the bytes that CompiledModel.export_model() gave.")
      .def(
          "query_model",
          [](const Core& self, const ModelPtr& model, const std::string& device, nb::handle config) {
            const AnyMap properties = map_from(config);
            const Released released;
            return self.query_model(model, device, properties);
          },
          nb::arg("model"), nb::arg("device_name"), nb::arg("config") = nb::none(),
          "The device of each node that it can run, by friendly name.")
      .def(
          "get_available_devices",
          [](const Core& self) {
            const Released released;
            return self.get_available_devices();
          },
          "As available_devices.")
      .def_prop_ro(
          "available_devices",
          [](const Core& self) {
            const Released released;
            return self.get_available_devices();
          },
          "Names of the devices that work on this machine: [\"CPU\", \"GPU\", \"NPU\"]. The first call loads them.")
      .def_prop_ro(
          "unavailable_devices",
          [](const Core& self) {
            const Released released;
            return self.get_unavailable_devices();
          },
          "The devices that do not work on this machine, each with the reason.")
      .def(
          "get_versions",
          [](const Core& self, const std::string& device) { return freely([&] { return self.get_versions(device); }); },
          nb::arg("device_name") = "", "Versions by device; of all available devices where none is named.")
      .def("set_property", &set_property, nb::arg("device_name"), nb::arg("properties") = nb::none(),
           "Sets properties of a device, from a dict: set_property(\"CPU\", {\"NUM_STREAMS\": 2}), or of all devices: "
           "set_property({\"CACHE_DIR\": \"cache\"}). They hold for models that are compiled later. @errors NotFound: "
           "no device or property of this name; InvalidArgument: the value does not fit.")
      .def("get_property", &get_property, nb::arg("device_name"), nb::arg("property") = nb::none(),
           "A property of a device, or of the Core where one argument is given. Enumerations come as tenon.properties "
           "has them. @errors NotFound.")
      .def(
          "create_context",
          [](Core& self, const std::string& device, nb::handle properties) {
            const AnyMap map = map_from(properties);
            const Released released;
            return self.create_context(device, map);
          },
          nb::arg("device_name"), nb::arg("properties") = nb::none(),
          "A new context of a device, over a foreign one where the properties name it, such as a cl_context. @errors "
          "Unimplemented: the device has none.")
      .def(
          "get_default_context",
          [](Core& self, const std::string& device) {
            const Released released;
            return self.get_default_context(device);
          },
          nb::arg("device_name"),
          "The context that a device's models use where none is given. @errors Unimplemented: the device has none.")
      .def(
          "register_plugin",
          [](Core& self, const std::filesystem::path& path, const std::string& device, nb::handle config) {
            const AnyMap properties = map_from(config);
            freely([&] { self.register_plugin(path, device, properties); });
          },
          nb::arg("plugin_name"), nb::arg("device_name"), nb::arg("config") = nb::none(),
          "Makes a device known by the path of its module.")
      .def(
          "unload_plugin", [](Core& self, const std::string& device) { freely([&] { self.unload_plugin(device); }); },
          nb::arg("device_name"), "Forgets a device until it is asked for again. Models that it compiled go on.")
      .def_prop_ro(
          "ledger", [](Core& self) -> Ledger& { return self.ledger(); }, nb::rv_policy::reference_internal,
          "What all models of this Core copied.")
      .def_prop_ro(
          "router", [](Core& self) -> Router& { return self.router(); }, nb::rv_policy::reference_internal,
          "Knows the contexts of the devices in use.")
      .def("__repr__", [](const Core& self) { return std::string("<Core>"); });
}

void add_compiled_model(nb::module_& module) {
  nb::class_<Compiled>(module, "CompiledModel", nb::dynamic_attr(), nb::is_weak_referenceable(),
                       "A model compiled for a device. Calling it runs one inference: compiled(array)[0] is the "
                       "first output as a NumPy array.")
      .def_prop_ro(
          "inputs", [](const Compiled& self) { return self.inputs(); }, "The inputs, in the order of the model.")
      .def_prop_ro(
          "outputs", [](const Compiled& self) { return self.outputs(); }, "The outputs, in the order of the model.")
      .def(
          "input", [](const Compiled& self) { return self.input(); },
          "An input by its index or tensor name; without either the only one. @errors NotFound, OutOfRange.")
      .def(
          "input", [](const Compiled& self, std::size_t index) { return self.input(index); }, nb::arg("index"))
      .def(
          "input", [](const Compiled& self, const std::string& name) { return self.input(name); },
          nb::arg("tensor_name"))
      .def(
          "output", [](const Compiled& self) { return self.output(); },
          "An output by its index or tensor name; without either the only one. @errors NotFound, OutOfRange.")
      .def(
          "output", [](const Compiled& self, std::size_t index) { return self.output(index); }, nb::arg("index"))
      .def(
          "output", [](const Compiled& self, const std::string& name) { return self.output(name); },
          nb::arg("tensor_name"))
      .def(
          "create_infer_request", [](const Compiled& self) { return std::make_unique<Request>(self); },
          nb::rv_policy::take_ownership, "A new request, with memory of its own for ports whose shapes are known.")
      .def(
          "get_runtime_model",
          [](const Compiled& self) {
            return std::const_pointer_cast<Model>(freely([&] { return self.get_runtime_model(); }));
          },
          "What the device runs: a Model whose nodes tell kernels and layouts in their rt_info.")
      .def(
          "get_property",
          [](const Compiled& self, const std::string& key) {
            return property_of(freely([&] { return self.get_property(key); }), key);
          },
          nb::arg("property"),
          "A property of the compiled model, or the value that it was compiled with. @errors NotFound.")
      .def(
          "set_property",
          [](Compiled& self, nb::handle given) {
            const AnyMap properties = map_from(given);
            freely([&] { self.set_property(properties); });
          },
          nb::arg("properties"),
          "Changes properties that may change after compiling, from a dict. @errors NotFound, InvalidArgument.")
      .def(
          "export_model",
          [](Compiled& self) {
            std::ostringstream out;
            {
              const Released released;
              self.export_model(out);
            }
            const std::string bytes = out.str();
            return nb::bytes(bytes.data(), bytes.size());
          },
          "The compiled model as bytes, for Core.import_model().")
      .def(
          "export_model",
          [](Compiled& self, nb::object stream) { stream.attr("write")(nb::find(self).attr("export_model")()); },
          nb::arg("model_stream"))
      .def(
          "release_memory", [](Compiled& self) { freely([&] { self.release_memory(); }); },
          "Gives back memory that inferences would use again. @errors Busy: one runs.")
      .def(
          "get_context", [](const Compiled& self) { return freely([&] { return self.get_context(); }); },
          "The context in which the model's memory lies. @errors Unimplemented: the device has none.");
}

}  // namespace

void add_core(nb::module_& module) {
  add_version(module);
  add_core_class(module);
  add_compiled_model(module);
  module.def("_leave_interpreter", &leave_interpreter);
  module.def("_note_fork", &note_fork);
}

}  // namespace tenon::python
