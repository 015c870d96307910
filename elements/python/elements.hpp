// SPDX-License-Identifier: Apache-2.0
// The elements python, python_source and python_sink: classes and functions of Python files.
#pragma once

#include <vector>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements::python {

std::vector<KnownElement> elements();

}  // namespace elements::python
}  // namespace v1
}  // namespace tenon
