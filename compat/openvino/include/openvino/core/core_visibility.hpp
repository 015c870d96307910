// SPDX-License-Identifier: Apache-2.0
// Marks of what the library exports.
#pragma once

// What the original's headers bring, whichever of them is included; programs rely on it.
#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>
#include <typeindex>
#include <unordered_map>

// The linker names of these classes differ from the original's, which may be in the same process. openvino::runtime and the pkg-config module
// define this for whole programs, so that names which are declared ahead of all headers are the same.
#ifndef ov
#define ov tenon_ov
#endif

#define OPENVINO_API __attribute__((visibility("default")))
#define OPENVINO_API_C(...) extern "C" OPENVINO_API __VA_ARGS__
#define OPENVINO_RUNTIME_API OPENVINO_API
#define OPENVINO_CORE_EXPORTS OPENVINO_API
#define OPENVINO_CORE_IMPORTS OPENVINO_API
#define OPENVINO_EXTERN_C extern "C"
#define OPENVINO_EXTENSION_API OPENVINO_API
#define OPENVINO_EXTENSION_C_API OPENVINO_EXTERN_C OPENVINO_API
// The C API's header has these, too.
#undef OPENVINO_DEPRECATED
#undef OPENVINO_SUPPRESS_DEPRECATED_START
#undef OPENVINO_SUPPRESS_DEPRECATED_END
#define OPENVINO_DEPRECATED(message) [[deprecated(message)]]
#define OPENVINO_SUPPRESS_DEPRECATED_START \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"")
#define OPENVINO_SUPPRESS_DEPRECATED_END _Pragma("GCC diagnostic pop")
