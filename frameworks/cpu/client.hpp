// SPDX-License-Identifier: Apache-2.0
// What other frameworks may use of this one: the guard of a release callback.
#pragma once

#include <utility>

#include <tenon/core/host.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

/// Runs a release callback once, on destruction, unless it was disarmed.
class ReleaseGuard {
 public:
  explicit ReleaseGuard(HostMemory::Release release) : release_(std::move(release)) {}
  ReleaseGuard(const ReleaseGuard&) = delete;
  ReleaseGuard& operator=(const ReleaseGuard&) = delete;
  ~ReleaseGuard() {
    if (release_) release_();
  }
  /// Copy it into the object that will call it, then disarm().
  const HostMemory::Release& get() const { return release_; }
  void disarm() { release_ = nullptr; }

 private:
  HostMemory::Release release_;
};

}  // namespace client

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
