// SPDX-License-Identifier: Apache-2.0
// Ports as Python names them: by a port object, a tensor name or an index. Attributes from Python's values.
#pragma once

#include <string>

#include <nanobind/nanobind.h>

#include <tenon/graph/attributes.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::python {

/// An input of a model. @errors TypeError; NotFound and OutOfRange of the model.
Output<Node> model_port(Model& model, nanobind::handle key);

/// An attribute of the kind that the value has. @errors TypeError names the attribute.
Attribute attribute_from(nanobind::handle value, const std::string& key);

}  // namespace tenon::python
