// SPDX-License-Identifier: Apache-2.0
// What the parts of this device share: values and failures from OpenVINO to Tenon and back.
#pragma once

#include <exception>
#include <string>

#include <openvino/core/any.hpp>

#include <tenon/core/any.hpp>

namespace tenon::inline v1::openvino_device {

/// "OPENVINO.GPU.0" for OpenVINO's "GPU.0".
inline std::string full_name(const std::string& native_name) { return "OPENVINO." + native_name; }

/// Values of properties and parameters. What has no counterpart goes as text, which both sides parse.
Any from_native(const ov::Any& value);
AnyMap from_native(const ov::AnyMap& values);
ov::Any to_native(const Any& value);
ov::AnyMap to_native(const AnyMap& values);

/// The plugins that OpenVINO has loaded are never unloaded from now on: threads that they started, callbacks that
/// others hold of them, and exceptions of theirs may outlive the ov::Core that would take their code away.
void keep_plugins_loaded();

/// Turns the exception in flight into Tenon's class for it, with OpenVINO's words. In catch blocks only.
/// @errors Cancelled, Busy, kNotFound for properties, else as openvino::detail::raise.
[[noreturn]] void rethrow(const char* call, const std::string& what);
/// The same for what a callback was given; never null.
std::exception_ptr translated(std::exception_ptr error, const char* call, const std::string& what) noexcept;

}  // namespace tenon::inline v1::openvino_device
