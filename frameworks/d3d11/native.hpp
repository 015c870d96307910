// SPDX-License-Identifier: Apache-2.0
// Calls of Direct3D 11: references of COM objects, HRESULTs as errors, and failures that tests plant.
#pragma once

#include <tenon/core/platform/windows/api.hpp>
// After windows.h, whose types they use.
#include <d3d11_1.h>
#include <dxgi1_2.h>

#include <cstddef>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {

/// One reference of a COM object, released once. Moves; copy() takes another reference.
/// @thread as a pointer; COM counts atomically.
template <typename T>
class Com {
 public:
  Com() = default;
  /// Takes over the caller's reference.
  explicit Com(T* object) noexcept : object_(object) {}
  Com(Com&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Com& operator=(Com&& other) noexcept {
    if (this != &other) reset(std::exchange(other.object_, nullptr));
    return *this;
  }
  ~Com() { reset(); }
  /// A reference of its own; the caller keeps theirs.
  static Com share(T* object) noexcept {
    if (object) object->AddRef();
    return Com(object);
  }
  Com copy() const noexcept { return share(object_); }
  void reset(T* object = nullptr) noexcept {
    if (object_) object_->Release();
    object_ = object;
  }
  /// Where a call writes the object that it makes.
  T** out() noexcept {
    reset();
    return &object_;
  }
  /// The same object by another of its interfaces; empty where it has none.
  template <typename Other>
  Com<Other> as() const noexcept {
    Com<Other> other;
    if (object_) object_->QueryInterface(__uuidof(Other), reinterpret_cast<void**>(other.out()));
    return other;
  }
  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

namespace native {

/// "DXGI_ERROR_DEVICE_REMOVED", or the number where it has no name here.
std::string name_of(HRESULT result);
/// The code that an HRESULT counts as.
Code code_of(HRESULT result) noexcept;

/// @name Failures for tests: the n-th call from now on fails once with E_OUTOFMEMORY (1: the next one; 0 cancels that).
void fail_call(std::size_t n) noexcept;
bool call_failed() noexcept;
/// Whether this call is the one that fails. @cost a load where no failure is planted.
bool faulted() noexcept;

/// @errors always, as call()
[[noreturn]] void fail(const char* name, const std::string& what, ID3D11Device* device, HRESULT result);

/// Makes a call that returns an HRESULT. @param what  The object and what is done to it, for the message.
/// @param device  Whose removal explains the failure; may be null.
/// @errors by code_of(): the call, its HRESULT by name, and why the device was removed
template <typename Call>
void call(const char* name, const std::string& what, ID3D11Device* device, Call make) {
  const HRESULT result = faulted() ? E_OUTOFMEMORY : make();
  if (FAILED(result)) fail(name, what, device, result);
}

}  // namespace native

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
