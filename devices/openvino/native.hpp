// SPDX-License-Identifier: Apache-2.0
// Shared by this device's files: converting values and errors between OpenVINO and Tenon.
#pragma once

#include <exception>
#include <string>

#include <openvino/core/any.hpp>

#include <tenon/core/any.hpp>

namespace tenon::inline v1::openvino_device {

/// "OPENVINO.GPU.0" for OpenVINO's "GPU.0".
inline std::string full_name(const std::string& native_name) { return "OPENVINO." + native_name; }

/// Converts values of properties and parameters. Types without a counterpart become text, which both sides parse.
Any from_native(const ov::Any& value);
AnyMap from_native(const ov::AnyMap& values);
ov::Any to_native(const Any& value);
ov::AnyMap to_native(const AnyMap& values);

/// Never unloads the currently loaded OpenVINO plugins: their threads, callbacks and exceptions may outlive the
/// ov::Core that would unload their code.
void keep_plugins_loaded();

/// Throws Tenon's class for the exception in flight, with OpenVINO's message. In catch blocks only.
/// @errors Cancelled, Busy, kNotFound for properties, else as openvino::client::raise.
[[noreturn]] void rethrow(const char* call, const std::string& what);
/// The same for an exception passed to a callback; never null.
std::exception_ptr translated(const std::exception_ptr& error, const char* call, const std::string& what) noexcept;

}  // namespace tenon::inline v1::openvino_device
