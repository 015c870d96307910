// SPDX-License-Identifier: Apache-2.0
// HRESULTs by name.
#include <tenon/frameworks/d3d11/native.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {
namespace native {
namespace detail {

struct NamedResult {
  HRESULT result;
  const char* name;
  Code code;
};
inline constexpr NamedResult kResults[] = {
    {E_OUTOFMEMORY, "E_OUTOFMEMORY", Code::kResourceExhausted},
    {E_INVALIDARG, "E_INVALIDARG", Code::kInvalidArgument},
    {E_NOTIMPL, "E_NOTIMPL", Code::kUnimplemented},
    {E_NOINTERFACE, "E_NOINTERFACE", Code::kUnimplemented},
    {E_ACCESSDENIED, "E_ACCESSDENIED", Code::kPermissionDenied},
    {E_FAIL, "E_FAIL", Code::kInternal},
    {E_POINTER, "E_POINTER", Code::kInvalidArgument},
    {E_HANDLE, "E_HANDLE", Code::kInvalidArgument},
    {E_ABORT, "E_ABORT", Code::kAborted},
    {DXGI_ERROR_DEVICE_REMOVED, "DXGI_ERROR_DEVICE_REMOVED", Code::kUnavailable},
    {DXGI_ERROR_DEVICE_HUNG, "DXGI_ERROR_DEVICE_HUNG", Code::kUnavailable},
    {DXGI_ERROR_DEVICE_RESET, "DXGI_ERROR_DEVICE_RESET", Code::kUnavailable},
    {DXGI_ERROR_DRIVER_INTERNAL_ERROR, "DXGI_ERROR_DRIVER_INTERNAL_ERROR", Code::kInternal},
    {DXGI_ERROR_INVALID_CALL, "DXGI_ERROR_INVALID_CALL", Code::kInvalidArgument},
    {DXGI_ERROR_NOT_FOUND, "DXGI_ERROR_NOT_FOUND", Code::kNotFound},
    {DXGI_ERROR_UNSUPPORTED, "DXGI_ERROR_UNSUPPORTED", Code::kUnimplemented},
    {DXGI_ERROR_WAS_STILL_DRAWING, "DXGI_ERROR_WAS_STILL_DRAWING", Code::kUnavailable},
    {DXGI_ERROR_WAIT_TIMEOUT, "DXGI_ERROR_WAIT_TIMEOUT", Code::kDeadlineExceeded},
    {DXGI_ERROR_ACCESS_LOST, "DXGI_ERROR_ACCESS_LOST", Code::kUnavailable},
    {DXGI_ERROR_NOT_CURRENTLY_AVAILABLE, "DXGI_ERROR_NOT_CURRENTLY_AVAILABLE", Code::kUnavailable},
    {DXGI_ERROR_SDK_COMPONENT_MISSING, "DXGI_ERROR_SDK_COMPONENT_MISSING", Code::kUnavailable},
    {D3D11_ERROR_FILE_NOT_FOUND, "D3D11_ERROR_FILE_NOT_FOUND", Code::kNotFound},
    {D3D11_ERROR_TOO_MANY_UNIQUE_STATE_OBJECTS, "D3D11_ERROR_TOO_MANY_UNIQUE_STATE_OBJECTS", Code::kResourceExhausted},
};

TENON_INLINE const NamedResult* find(HRESULT result) noexcept {
  for (const NamedResult& known : kResults)
    if (known.result == result) return &known;
  return nullptr;
}

TENON_INLINE std::atomic<std::size_t>& countdown() noexcept {
  static std::atomic<std::size_t> calls{0};
  return calls;
}
TENON_INLINE std::atomic<bool>& has_failed() noexcept {
  static std::atomic<bool> failed{false};
  return failed;
}

}  // namespace detail

TENON_INLINE std::string name_of(HRESULT result) {
  if (const detail::NamedResult* known = detail::find(result)) return known->name;
  char text[32];
  std::snprintf(text, sizeof text, "HRESULT 0x%08x", static_cast<unsigned>(result));
  return text;
}

TENON_INLINE Code code_of(HRESULT result) noexcept {
  const detail::NamedResult* known = detail::find(result);
  return known ? known->code : Code::kInternal;
}

TENON_INLINE void fail_call(std::size_t n) noexcept {
  detail::has_failed() = false;
  detail::countdown() = n;
}
TENON_INLINE bool call_failed() noexcept { return detail::has_failed(); }
TENON_INLINE bool faulted() noexcept {
  std::size_t left = detail::countdown().load(std::memory_order_relaxed);
  while (left != 0) {
    if (!detail::countdown().compare_exchange_weak(left, left - 1)) continue;
    if (left == 1) detail::has_failed() = true;
    return left == 1;
  }
  return false;
}

TENON_INLINE void fail(const char* name, const std::string& what, ID3D11Device* device, HRESULT result) {
  std::string why = "d3d11: " + what + ": " + name_of(result);
  const HRESULT removed = device ? device->GetDeviceRemovedReason() : S_OK;
  if (removed != S_OK)
    why += "; the device was removed (" + name_of(removed) + "): make a new device, contexts and tensors";
  throw Error(removed != S_OK ? Code::kUnavailable : code_of(result), why, name, result);
}

}  // namespace native
}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
