// SPDX-License-Identifier: Apache-2.0
// Tensors as Python's objects.
#pragma once

#include <nanobind/nanobind.h>

#include <tenon/core/tensor.hpp>

namespace tenon::python {

/// A Tensor, or a RemoteTensor where the memory is a device's.
nanobind::object object_of(const Tensor& tensor);

}  // namespace tenon::python
