// SPDX-License-Identifier: Apache-2.0
// DLPack's protocol for a tensor's members.
#pragma once

#include <nanobind/nanobind.h>

#include <tenon/bindings/python/native/native.hpp>

namespace tenon::python {

/// What __dlpack_device__ returns. @errors BufferError: memory that DLPack has no number for.
nb::object dlpack_device(const Tensor& tensor);
/// What __cuda_array_interface__ is. @errors AttributeError: no memory of CUDA.
nb::object cuda_interface(const Tensor& tensor);
/// What __dlpack__ returns. Arguments are None or as the array API's standard says. @errors BufferError
nb::object dlpack_capsule(const Tensor& tensor, nb::handle stream, nb::handle max_version, nb::handle device,
                          nb::handle copy);

/// Runs `make` with the interpreter; Tenon's errors become Python's BufferError, as DLPack's protocol wants.
template <typename Make>
auto exported_as_buffer_error(Make make) {
  try {
    return make();
  } catch (const Error& error) {
    raise(PyExc_BufferError, describe(error));
  }
}

}  // namespace tenon::python
