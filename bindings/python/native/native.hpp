// SPDX-License-Identifier: Apache-2.0
// What the sources of the Python module share: conversions between Python's objects and Tenon's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
// All in one place: a source that lacked one would convert its types otherwise than the sources that have it.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/unordered_set.h>
#include <nanobind/stl/vector.h>

#include <tenon/bindings/python/native/base/interpreter.hpp>
#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace nb = nanobind;

namespace tenon::python {

/// @name Each adds the classes of one source to the module.
void add_absent(nb::module_& module);
void add_unwinder(nb::module_& module);
void add_errors(nb::module_& module);
void add_types(nb::module_& module);
void add_tensor(nb::module_& module);
void add_memory(nb::module_& module);
void add_model(nb::module_& module);
void add_nodes(nb::module_& module);
void add_subgraphs(nb::module_& module);
void add_core(nb::module_& module);
void add_request(nb::module_& module);
void add_queue(nb::module_& module);
void add_remote(nb::module_& module);
void add_preprocess(nb::module_& module);
void add_frames(nb::module_& module);
void add_frame_planes(nb::module_& module);
void add_pipeline(nb::module_& module);
void add_routes(nb::module_& module);

/// Whether an array's memory is used as it is, or its elements are copied into memory of Tenon's.
enum class Sharing : std::uint8_t { kShare, kCopy };

/// A tensor over the memory of `array`: a Tensor, an object with the buffer protocol, DLPack or __array_interface__, a list or a number.
/// Under kShare the object lives as long as any tensor over its memory.
/// @errors Python's BufferError: the memory cannot be shared as it is (the reason is named); TypeError: no array, or elements that no
/// element type has.
Tensor tensor_from(nb::handle array, Sharing sharing);
/// The same, with the shape and type that a port wants: scalars and lists take its element type.
Tensor tensor_from(nb::handle array, Sharing sharing, ElementType wanted);
/// The same for a function that only reads it: over the array's memory where that can be shared, else a copy, as OpenVINO does.
Tensor tensor_to_read(nb::handle array, ElementType wanted);
/// A NumPy array over `tensor`'s memory; strings are copied. It keeps the memory alive. @errors BufferError: not host memory.
nb::object array_over(const Tensor& tensor);
/// A NumPy array of its own with `tensor`'s elements.
nb::object array_copy(const Tensor& tensor);
/// What __array__(dtype, copy) returns, from an array over the memory, or one that `was_copied`. @errors ValueError: copy is False
nb::object as_dtype(const nb::object& array, nb::handle dtype, nb::handle copy, bool was_copied);
/// The element type of a NumPy dtype, a Python type, a text, or a Type. @errors TypeError.
ElementType element_type_from(nb::handle object);
/// numpy.dtype of an element type. @errors TypeError: NumPy has none, and ml_dtypes is not installed.
nb::object dtype_of(ElementType type);

/// @name Values of properties. Enumerations of the Python package are texts there. @errors TypeError names the key.
Any any_from(nb::handle value, const std::string& key);
AnyMap map_from(nb::handle properties);
nb::object object_from(const Any& value);
nb::dict dict_from(const AnyMap& map);

/// Calls `call`, which may throw an exception that others are to get, too. Python takes what a python_error holds, so each gets a copy.
template <typename Throwing>
void throw_again(Throwing call) {
  try {
    call();
  } catch (const nb::python_error& error) {
    throw nb::python_error(error);
  }
}

/// Throws the exception again as one whose text others can show: a text that UTF-8 has no code for (a file name that was decoded with
/// surrogates) is written with escapes, in a RuntimeError with the exception as its cause. @pre This thread has the interpreter.
[[noreturn]] void throw_showable(const nb::python_error& error);

/// Calls Python from code that shows errors by what(), which ends the process where a text cannot be encoded.
template <typename Call>
auto showable(Call call) {
  try {
    return call();
  } catch (const nb::python_error& error) {
    throw_showable(error);
  }
}

/// Calls `wait(milliseconds)` without the interpreter, in slices, until it returns true; between two slices signals are handled, so that
/// Ctrl-C ends the wait. @errors those of `wait`, and KeyboardInterrupt.
template <typename Wait>
void wait_in_slices(Wait wait) {
  constexpr int kSliceMs = 50;
  while (true) {
    bool over = false;
    throw_again([&] {
      const Released released;
      over = wait(kSliceMs);
    });
    if (over) return;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

/// Waits, with the interpreter free, until memory may be accessed. Ctrl-C ends the wait. @errors as Hazards::wait_for
void wait_for_memory(const Memory& memory, Access access, Deadline deadline);

/// Throws the Python exception `type`.
[[noreturn]] void raise(PyObject* type, const std::string& message);
/// repr() of an object, cut to a line.
std::string shown(nb::handle object);

/// `value` as a T. @errors TypeError: `what` is `wanted`, not this value
template <typename T>
T cast_named(nb::handle value, const std::string& what, const char* wanted) {
  T cast{};
  if (!nb::try_cast(value, cast)) raise(PyExc_TypeError, what + " is " + wanted + ", not " + shown(value));
  return cast;
}

}  // namespace tenon::python

namespace nanobind::detail {

/// Shapes are tuples in Python, which also compare to lists: tenon._shape.Shape.
template <>
struct type_caster<tenon::Shape> {
  NB_TYPE_CASTER(tenon::Shape, const_name("collections.abc.Sequence[int]"))
  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept;
  static handle from_cpp(const tenon::Shape& shape, rv_policy policy, cleanup_list* cleanup) noexcept;
};

/// An element::Type may be given as a Type, a NumPy dtype or a text.
template <>
struct type_caster<tenon::AnyMap> {
  NB_TYPE_CASTER(tenon::AnyMap, const_name("dict[str, object]"))
  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept;
  static handle from_cpp(const tenon::AnyMap& map, rv_policy policy, cleanup_list* cleanup) noexcept;
};

}  // namespace nanobind::detail
