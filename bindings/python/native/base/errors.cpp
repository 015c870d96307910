// SPDX-License-Identifier: Apache-2.0
// Exceptions: tenon.errors has one class for each code.
#include <cerrno>
#include <exception>
#include <string_view>
#include <typeinfo>

#include <tenon/bindings/python/native/native.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::python {
namespace {

/// Whether the system said that there is no such file, as Python's FileNotFoundError does.
bool is_missing_file(const Error& error) {
  const std::string_view call = error.native_api();
  const bool is_of_system = call == "stat" || call == "open" || call == "opendir";
  return error.code() == Code::kNotFound && ((is_of_system && error.native_code() == ENOENT) ||
                                             (call == "avformat_open_input" && error.native_code() == -ENOENT));
}

nb::object class_of(const Error& error) {
  const nb::object errors = nb::module_::import_("tenon.errors");
  if (is_missing_file(error)) return errors.attr("MissingFile");
  if (dynamic_cast<const Busy*>(&error)) return errors.attr("Busy");
  const nb::object found = errors.attr("BY_CODE").attr("get")(static_cast<int>(error.code()));
  return found.is_none() ? errors.attr("Error") : found;
}

void set_error(const Error& error) {
  const nb::object made = class_of(error)(describe(error));
  made.attr("native_api") = error.native_api();
  made.attr("native_code") = error.native_code();
  if (is_missing_file(error)) made.attr("errno") = ENOENT;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

}  // namespace

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

void throw_showable(const nb::python_error& error) {
  const nb::handle value = error.value();
  const nb::object text = nb::steal(PyObject_Str(value.ptr()));
  if (!text.is_valid() || PyUnicode_AsUTF8AndSize(text.ptr(), nullptr)) {
    PyErr_Clear();
    throw nb::python_error(error);
  }
  PyErr_Clear();
  const nb::object escaped = text.attr("encode")("ascii", "backslashreplace").attr("decode")("ascii");
  const nb::object made =
      nb::handle(PyExc_RuntimeError)(nb::str("{}: {}").format(error.type().attr("__name__"), escaped));
  PyException_SetCause(made.ptr(), nb::borrow(value).release().ptr());
  if (const nb::object lines = error.traceback(); lines.is_valid()) PyException_SetTraceback(made.ptr(), lines.ptr());
  PyErr_SetObject(PyExc_RuntimeError, made.ptr());
  throw nb::python_error();
}

void add_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_error(error);
    } catch (const std::bad_cast&) {  // nb::cast() of an argument that is any object, or of a member of one.
      PyErr_SetString(
          PyExc_TypeError,
          "an argument, or what it holds, has a type that this function does not take; its help() says which it takes");
    }
  });
}

}  // namespace tenon::python
