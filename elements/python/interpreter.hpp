// SPDX-License-Identifier: Apache-2.0
// Python's interpreter in a process: the one that runs it, or one that is started.
#pragma once

#include <string>

#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace elements::python {

/// The element that a Python class or function describes, made by the package tenon.
///
/// In a process of Python's that is its own interpreter. Elsewhere the library of the interpreter `python3`, or of the one that the
/// environment variable TENON_PYTHON names, is loaded and started once; it stays for the process.
/// @param owner   The element's name, for messages.
/// @param module  A path of a file, or the dotted name of a module.
/// @param name    The class or function; empty: the only one that fits.
/// @param kwarg   A JSON object; empty: none.
/// @errors kUnavailable: no Python, or no package tenon of this release in it; kInvalidArgument: the text of the Python exception with
/// its lines.
KnownElement element_from(const std::string& owner, const std::string& module, const std::string& name,
                          const std::string& kwarg, Role role);

}  // namespace elements::python
}  // namespace v1
}  // namespace tenon
