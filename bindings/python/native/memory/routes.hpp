// SPDX-License-Identifier: Apache-2.0
// The contexts of this machine, and ways between them, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon::python {

/// Loads the modules of frameworks that lie beside the package, once. Without the interpreter held, since they load libraries of others.
void load_frameworks();

/// The tensor as seen from the host. @errors as Router::map()
Tensor mapped_to_host(const Tensor& tensor, ZeroCopy policy = ZeroCopy::kPrefer);

}  // namespace tenon::python
