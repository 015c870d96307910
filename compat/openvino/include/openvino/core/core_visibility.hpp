// SPDX-License-Identifier: Apache-2.0
// Marks of what the library exports.
#pragma once

#define OPENVINO_API __attribute__((visibility("default")))
#define OPENVINO_API_C(...) extern "C" OPENVINO_API __VA_ARGS__
#define OPENVINO_RUNTIME_API OPENVINO_API
#define OPENVINO_CORE_EXPORTS OPENVINO_API
#define OPENVINO_CORE_IMPORTS OPENVINO_API
#define OPENVINO_EXTERN_C extern "C"
#define OPENVINO_DEPRECATED(message) [[deprecated(message)]]
#define OPENVINO_SUPPRESS_DEPRECATED_START \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"")
#define OPENVINO_SUPPRESS_DEPRECATED_END _Pragma("GCC diagnostic pop")
