// SPDX-License-Identifier: Apache-2.0
// Ports as Python names them: by a port object, a tensor name or an index.
#pragma once

#include <nanobind/nanobind.h>

#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::python {

/// An input of a model. @errors TypeError; NotFound and OutOfRange of the model.
Output<Node> model_port(Model& model, nanobind::handle key);

}  // namespace tenon::python
