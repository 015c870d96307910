// SPDX-License-Identifier: Apache-2.0
// Waiting in Direct3D 11: points of the immediate context, and keyed mutexes.
#pragma once

#include <cstdint>

#include <tenon/core/context.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/d3d11/native.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {

/// The point at which all commands that the immediate context has now are done (a query of D3D11_QUERY_EVENT).
/// @errors kInvalidArgument: another framework's context; those of CreateQuery. @cost a query object; an allocation.
TimelinePoint point(const Context& context);
/// After commands of the program's own on the immediate context: notes them on the tensor's memory, so that other uses wait for them.
/// @errors as point()
void wrote(const Tensor& tensor);
void reads(const Tensor& tensor);

/// Holds the keyed mutex of a shared texture during its lifetime.
class KeyedMutexGuard {
 public:
  /// Waits until the mutex is released with `key`. @errors kUnimplemented: the resource has no keyed mutex; kDeadlineExceeded; kDataLoss: its
  /// last holder ended without releasing it
  KeyedMutexGuard(IUnknown* resource, std::uint64_t key, std::uint64_t release_key, Deadline deadline);
  KeyedMutexGuard(const KeyedMutexGuard&) = delete;
  KeyedMutexGuard& operator=(const KeyedMutexGuard&) = delete;
  /// Releases it with `release_key`.
  ~KeyedMutexGuard();

 private:
  Com<IDXGIKeyedMutex> mutex_;
  std::uint64_t release_key_;
};

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
