// SPDX-License-Identifier: Apache-2.0
// Shapes that may be known only in part, from Python's values.
#pragma once

#include <nanobind/nanobind.h>

#include <tenon/graph/partial_shape.hpp>

namespace tenon::python {

/// A PartialShape, a text, or a list of numbers (-1: any extent), texts, pairs of bounds and Dimensions. @errors TypeError
PartialShape partial_shape_from(nanobind::handle object);

}  // namespace tenon::python
