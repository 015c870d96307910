// SPDX-License-Identifier: Apache-2.0
// Shared by the two halves of the suite.
#pragma once

#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <tenon/core/deferred.hpp>

#include <tenon/tests/conformance/framework.hpp>

namespace tenon::conformance {

std::size_t open_descriptors();
/// Mappings of dma-bufs and of memfds of this library, as the kernel lists them: a millisecond where many libraries are loaded.
std::size_t shared_mappings();
/// The reason why `test` does not apply to `framework`; empty if it does.
std::string excluded(const FrameworkUnderTest& framework, std::string_view test);
/// Bytes that depend on every bit of position and seed: a shifted or stale buffer does not match.
std::vector<std::byte> pattern(std::size_t size, unsigned seed);
/// Writes and reads through the tensor's own framework.
void fill(const Tensor& tensor, unsigned seed);
std::vector<std::byte> content(const Tensor& tensor);
/// Shapes, strides and types with which every framework and edge is tested.
std::vector<TensorInfo> sample_infos();
std::vector<PixelFormat> sample_formats();

/// Live objects of all frameworks, open descriptors and shared mappings: equal counts before and after mean released, once each.
struct Census {
  std::vector<std::size_t> counts;
  friend bool operator==(const Census&, const Census&) = default;
  /// Whether something lives that did not live at `before`. Less is no fault: a driver's threads release objects a moment after the last
  /// call on them, so `before` may have counted objects that were on their way out.
  bool has_more_than(const Census& before) const {
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > before.counts[i]) return true;
    return false;
  }
  friend void PrintTo(const Census& census, std::ostream* out) {
    for (const std::size_t count : census.counts) *out << count << ' ';
  }
};
inline Census take_census() {
  Census census;
  for (const auto& framework : all()) framework->drop_idle();
  drain_deferred(default_deadline());
  for (const auto& framework : all()) census.counts.push_back(framework->live_objects());
  census.counts.push_back(open_descriptors());
  census.counts.push_back(shared_mappings());
  return census;
}
/// Whether something lives for a minute that did not live at `before`: drivers release objects on threads of their own.
inline bool leaves_more_than(const Census& before) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (take_census().has_more_than(before)) {
    if (std::chrono::steady_clock::now() >= deadline) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}
/// The census as soon as it is `expected`, else after a minute: drivers release objects on threads of their own.
inline Census settled_census(const Census& expected) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Census census = take_census();
  while (census != expected && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    census = take_census();
  }
  return census;
}

}  // namespace tenon::conformance
