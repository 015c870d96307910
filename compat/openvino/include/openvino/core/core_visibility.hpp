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
#define OPENVINO_API_EXTERN OPENVINO_API
#define OPENVINO_EXTENSION_API OPENVINO_API
#define OPENVINO_EXTENSION_C_API OPENVINO_EXTERN_C OPENVINO_API
#define OPENVINO_CDECL
#define OPENVINO_STDCALL
#define OPENVINO_ENABLE_UNICODE_PATH_SUPPORT
// What a program is compiled for, and in which language.
#if defined(__x86_64__)
#define OPENVINO_ARCH_X86_64
#define OPENVINO_ARCH_64_BIT
#elif defined(__aarch64__)
#define OPENVINO_ARCH_ARM64
#define OPENVINO_ARCH_64_BIT
#elif defined(__riscv)
#define OPENVINO_ARCH_RISCV64
#define OPENVINO_ARCH_64_BIT
#elif defined(__i386__)
#define OPENVINO_ARCH_X86
#define OPENVINO_ARCH_32_BIT
#elif defined(__arm__)
#define OPENVINO_ARCH_ARM
#define OPENVINO_ARCH_32_BIT
#endif
#define OPENVINO_CPP_VER_AT_LEAST_11
#define OPENVINO_CPP_VER_AT_LEAST_14
#define OPENVINO_CPP_VER_AT_LEAST_17
#if __cplusplus >= 202002L
#define OPENVINO_CPP_VER_AT_LEAST_20
#endif
#if __cplusplus >= 202302L
#define OPENVINO_CPP_VER_AT_LEAST_23
#endif
#if defined(__GNUC__) && __GNUC__ >= 14
#define OV_NO_DANGLING [[gnu::no_dangling]]
#else
#define OV_NO_DANGLING
#endif
// The C API's header has these, too.
#undef OPENVINO_DEPRECATED
#undef OPENVINO_SUPPRESS_DEPRECATED_START
#undef OPENVINO_SUPPRESS_DEPRECATED_END
#define OPENVINO_DEPRECATED(message) [[deprecated(message)]]
#define OPENVINO_ENUM_DEPRECATED(message) OPENVINO_DEPRECATED(message)
#define OPENVINO_DO_PRAGMA(text) _Pragma(#text)
#define OPENVINO_SUPPRESS_SUGGEST_OVERRIDE_START \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wsuggest-override\"")
#define OPENVINO_SUPPRESS_SUGGEST_OVERRIDE_END _Pragma("GCC diagnostic pop")
#define OPENVINO_SUPPRESS_DEPRECATED_START \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"")
#define OPENVINO_SUPPRESS_DEPRECATED_END _Pragma("GCC diagnostic pop")
