// SPDX-License-Identifier: Apache-2.0
// tenon._native: the module that the Python package is made of.
#include <cstdlib>

#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/version.hpp>

NB_MODULE(_native, module) {
  // An exception that ends a program keeps objects alive; only tests want to be told.
  nb::set_leak_warnings(std::getenv("TENON_PYTHON_LEAKS") != nullptr);
  module.doc() = "Tenon's runtime and memory for Python; import tenon instead.";
  module.attr("__version__") = TENON_VERSION;
  tenon::python::add_errors(module);
  tenon::python::add_types(module);
  tenon::python::add_tensor(module);
  tenon::python::add_memory(module);
  tenon::python::add_model(module);
  tenon::python::add_nodes(module);
  tenon::python::add_subgraphs(module);
  tenon::python::add_remote(module);
  tenon::python::add_request(module);
  tenon::python::add_core(module);
  tenon::python::add_queue(module);
  tenon::python::add_preprocess(module);
  tenon::python::add_frames(module);
  tenon::python::add_frame_planes(module);
  tenon::python::add_pipeline(module);
  tenon::python::add_routes(module);
  tenon::python::add_absent(module);
  tenon::python::add_unwinder(module);
}
