// SPDX-License-Identifier: Apache-2.0
// Elements written in Python.
#pragma once

#include <vector>

#include <nanobind/nanobind.h>

#include <tenon/elements/description.hpp>

namespace tenon::python {

/// An element of a class that derives from tenon.Source, Transform or Sink, of an object of such a class, or of a function of a frame.
/// Each stream (or the node, where the class says shared = True) gets an object of the class, made on one of the pipeline's threads.
/// @param kept  Gets the object, which the element then only borrows; null: the element holds it.
/// What Python throws fails the stream, with the Python line in the message. @errors TypeError
elements::KnownElement python_element(nanobind::handle element, std::vector<nanobind::object>* kept);

}  // namespace tenon::python
