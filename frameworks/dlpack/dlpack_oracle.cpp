// SPDX-License-Identifier: Apache-2.0
// C functions through which dlpack_oracle_test.py tests other DLPack implementations against ours.
#include <atomic>
#include <cstring>
#include <string>

#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/dlpack/dlpack.hpp>

using namespace tenon;

namespace {

std::atomic<int> released{0};
thread_local std::string last_error;

template <typename Body>
auto guarded(Body body) noexcept -> decltype(body()) {
  try {
    last_error.clear();
    return body();
  } catch (const std::exception& error) {
    last_error = error.what();
    return {};
  }
}

Tensor counted(const char* type, const std::int64_t* shape, const std::int64_t* byte_strides, int ndim, void* data,
               int read_only) {
  TensorInfo info;
  info.type = element_type_from_name(type).value();
  for (int axis = 0; axis < ndim; ++axis) {
    info.shape.push_back(static_cast<std::size_t>(shape[axis]));
    if (byte_strides) info.strides.push_back(byte_strides[axis]);
  }
  return cpu::adopt(
      data, info, [] { ++released; }, read_only ? cpu::Wrapped::kReadOnly : cpu::Wrapped::kWritable);
}

}  // namespace

extern "C" {

TENON_API const char* oracle_error() { return last_error.c_str(); }
TENON_API int oracle_released() { return released; }

/// A tensor over the caller's bytes as DLManagedTensorVersioned* or DLManagedTensor*; null on refusal.
TENON_API void* oracle_export(const char* type, const std::int64_t* shape, const std::int64_t* byte_strides, int ndim,
                              void* data, int read_only, int legacy, int copy) {
  return guarded([&]() -> void* {
    const Tensor tensor = counted(type, shape, byte_strides, ndim, data, read_only);
    const dlpack::ExportOptions options{.copy = static_cast<dlpack::Copy>(copy)};
    if (legacy) return dlpack::export_legacy(tensor, options);
    return dlpack::export_tensor(tensor, options);
  });
}

TENON_API void* oracle_import(void* managed, int legacy) {
  return guarded([&]() -> void* {
    if (legacy) return new Tensor(dlpack::import_tensor(static_cast<dlpack::abi::DLManagedTensor*>(managed)));
    return new Tensor(dlpack::import_tensor(static_cast<dlpack::abi::DLManagedTensorVersioned*>(managed)));
  });
}
/// "f32 [2,3] strides [12,4]" and the address, for comparison with Python's view.
TENON_API const char* oracle_describe(void* tensor, std::uint64_t* address, int* writable) {
  const Tensor& t = *static_cast<Tensor*>(tensor);
  *address = reinterpret_cast<std::uint64_t>(t.data());
  *writable = t.is_writable();
  last_error =
      std::string(name(t.element_type())) + " " + to_string(t.shape()) + " strides " + to_string(t.byte_strides());
  return last_error.c_str();
}
/// The elements, packed.
TENON_API int oracle_read(void* tensor, void* out) {
  return guarded([&] {
    const Tensor& t = *static_cast<Tensor*>(tensor);
    t.context()->read(t, {static_cast<std::byte*>(out), t.size_bytes()});
    return 1;
  });
}
TENON_API void oracle_drop(void* tensor) { delete static_cast<Tensor*>(tensor); }
}
