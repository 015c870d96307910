// SPDX-License-Identifier: Apache-2.0
// The driver's calls: libcuda.so.1 loaded by name, codes become errors, and tests can make any call fail.
#include <tenon/frameworks/cuda/native.hpp>

#include <dlfcn.h>

namespace tenon {
inline namespace v1 {
namespace cuda {
namespace detail {

TENON_INLINE Loaded load() {
  Loaded loaded;
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // Never closed: drivers do not survive it.
  if (!library) {
    const char* const why = ::dlerror();
    loaded.missing = std::string("cuda: no driver on this machine: ") + (why ? why : kLibrary) +
                     "; install NVIDIA's driver, or use OpenCL";
    return loaded;
  }
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
    if (!function && loaded.missing.empty())
      loaded.missing = std::string("cuda: ") + kLibrary + " has no " + symbol + ": a driver of CUDA 12 or newer has it";
  };
#define TENON_CUDA_FIND(name, symbol, ...) find(loaded.driver.name, #symbol);
  TENON_CUDA_CALLS(TENON_CUDA_FIND)
#undef TENON_CUDA_FIND
#define TENON_CUDA_FIND(name, symbol, ...) \
  loaded.driver.name = reinterpret_cast<decltype(loaded.driver.name)>(::dlsym(library, #symbol));
  TENON_CUDA_NEWER_CALLS(TENON_CUDA_FIND)
#undef TENON_CUDA_FIND
  if (!loaded.missing.empty()) return loaded;
  const abi::Result result = loaded.driver.cuInit(0);
  if (result != abi::kSuccess) {
    const char* text = nullptr;
    loaded.driver.cuGetErrorString(result, &text);
    loaded.missing = std::string("cuda: the driver does not start: ") + (text ? text : "no reason given") +
                     " (cuInit gave " + std::to_string(result) + "); look at nvidia-smi, and at CUDA_VISIBLE_DEVICES";
  }
  return loaded;
}

TENON_INLINE const Loaded& loaded() {
  static const auto* once = new Loaded(load());  // Outlives static destructors.
  return *once;
}

TENON_INLINE const Driver& driver() {
  if (!loaded().missing.empty()) throw Error(Code::kUnavailable, loaded().missing);
  return loaded().driver;
}

}  // namespace detail

TENON_INLINE std::string result_name(abi::Result result) {
  const char* name = nullptr;
  const detail::Loaded& loaded = detail::loaded();
  if (loaded.driver.cuGetErrorName && loaded.driver.cuGetErrorName(result, &name) == abi::kSuccess && name) return name;
  return "a CUDA code";
}

namespace detail {

[[noreturn]] TENON_INLINE void fail(abi::Result result, const char* call, const std::string& what) {
  throw Error(code_of(result), "cuda: " + what + ": " + result_name(result), call, result);
}

}  // namespace detail
}  // namespace cuda
}  // namespace v1
}  // namespace tenon
