// SPDX-License-Identifier: Apache-2.0
// Memory handed from one package to another: DLPack's capsules, and the bytes behind an array.
#pragma once

#include <nanobind/nanobind.h>

#include <tenon/core/tensor.hpp>

namespace tenon::python {

/// All bytes that a tensor touches, as an exporter of the plain buffer protocol; NumPy lays its arrays over it.
struct Extent {
  Tensor tensor;
};

/// A tensor over an object with __dlpack__ and __dlpack_device__. @errors BufferError: a device that is not reachable here, or what
/// the exporter refuses.
Tensor tensor_from_dlpack(nanobind::handle exporter);
/// A read-only NumPy array over an array that its package takes as constant (JAX's, on the host), whose DLPack cannot say so; empty for
/// other arrays. @errors BufferError: a deleted array
nanobind::object constant_view_of(nanobind::handle array);
/// A tensor over an object with __cuda_array_interface__, for libraries from before DLPack. @errors as above
Tensor tensor_from_cuda_interface(nanobind::handle array);

}  // namespace tenon::python
