// SPDX-License-Identifier: Apache-2.0
// Classes whose objects hold Python's: Python's collector of circles looks into them.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

/// Slots for nb::class_<T>. T has `int traverse(visitproc visit, void* arg) const`, which visits each object that it holds, and `clear()`,
/// which drops them.
template <typename T>
PyType_Slot* collected_slots() {
  constexpr auto kTraverse = +[](PyObject* self, visitproc visit, void* arg) -> int {
    Py_VISIT(Py_TYPE(self));
    return nanobind::inst_ready(self) ? nanobind::inst_ptr<T>(self)->traverse(visit, arg) : 0;
  };
  constexpr auto kClear = +[](PyObject* self) -> int {
    if (nanobind::inst_ready(self)) nanobind::inst_ptr<T>(self)->clear();
    return 0;
  };
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(kTraverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(kClear)},
                                {0, nullptr}};
  return slots;
}

}  // namespace tenon::python
