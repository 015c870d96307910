// SPDX-License-Identifier: Apache-2.0
// Test support: interposes the framework's calls into libopenvino, so that the n-th can be made to fail. Include in one
// source file of a program; the program's symbols take precedence over the library's.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>

#include <openvino/runtime/tensor.hpp>

namespace tenon::testing {

inline std::atomic<std::size_t> fail_openvino_call{0};  ///< 1: the next call.
inline std::atomic<bool> openvino_call_failed{false};

inline void maybe_fail(const char* call) {
  std::size_t left = fail_openvino_call.load();
  while (left != 0 && !fail_openvino_call.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return;
  openvino_call_failed = true;
  throw std::runtime_error(std::string(call) + " was made to fail");
}

template <typename Function>
Function next_of(const char* symbol) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, symbol));
}

}  // namespace tenon::testing

// Defines `function` to replace the library's `symbol`. Not inline: it must be in the program, whose only file this is in.
// NOLINTBEGIN(bugprone-macro-parentheses, misc-definitions-in-headers)
#define TENON_INTERPOSE(function, symbol, parameters, arguments)                          \
  extern "C" __attribute__((visibility("default"))) void function parameters asm(symbol); \
  extern "C" void function parameters {                                                   \
    static const auto next = tenon::testing::next_of<void(*) parameters>(symbol);         \
    tenon::testing::maybe_fail(#function);                                                \
    next arguments;                                                                       \
  }

TENON_INTERPOSE(tensor_over_pointer, "_ZN2ov6TensorC1ERKNS_7element4TypeERKNS_5ShapeEPvRKNS_7StridesE",
                (void* self, const void* type, const void* shape, void* data, const void* strides),
                (self, type, shape, data, strides))
TENON_INTERPOSE(tensor_over_const_pointer, "_ZN2ov6TensorC1ERKNS_7element4TypeERKNS_5ShapeEPKvRKNS_7StridesE",
                (void* self, const void* type, const void* shape, const void* data, const void* strides),
                (self, type, shape, data, strides))
TENON_INTERPOSE(tensor_of_allocator, "_ZN2ov6TensorC1ERKNS_7element4TypeERKNS_5ShapeERKNS_9AllocatorE",
                (void* self, const void* type, const void* shape, const void* allocator),
                (self, type, shape, allocator))
// The destination is passed by value, which for a class with a destructor means by address.
TENON_INTERPOSE(tensor_copy_to, "_ZNK2ov6Tensor7copy_toES0_", (const void* self, void* destination),
                (self, destination))
#undef TENON_INTERPOSE
// NOLINTEND(bugprone-macro-parentheses, misc-definitions-in-headers)
