// SPDX-License-Identifier: Apache-2.0
// Level Zero calls of the device, and owners of extension handles.
#pragma once

#include <atomic>
#include <utility>

#include <tenon/frameworks/level_zero/client.hpp>
#include <tenon/frameworks/level_zero/device.hpp>
#include <tenon/frameworks/level_zero/native.hpp>

namespace tenon::inline v1::npu_device {

namespace abi = level_zero::abi;
using level_zero::result_name;
using level_zero::client::call;
using level_zero::client::check;
using level_zero::client::driver_side;
using level_zero::client::Handle;
using level_zero::client::Probe;

/// Owns an extension's handle; destroys it with the function from the extension's table.
template <typename T>
class Owned {
 public:
  using Destroy = ze_result_t(ZE_APICALL*)(T);
  Owned() = default;
  Owned(T handle, Destroy destroy) noexcept : handle_(handle), destroy_(destroy) {
    if (handle_) Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), destroy_(other.destroy_) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
      destroy_ = other.destroy_;
    }
    return *this;
  }
  ~Owned() { reset(); }

  T get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  void reset() noexcept {
    if (!handle_) return;
    destroy_(std::exchange(handle_, nullptr));
    Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  T handle_ = nullptr;
  Destroy destroy_ = nullptr;
};

}  // namespace tenon::inline v1::npu_device
