// SPDX-License-Identifier: Apache-2.0
// Shared by the two halves of the suite.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tenon/core/deferred.hpp>

#include <tenon/tests/conformance/framework.hpp>

namespace tenon::conformance {

std::size_t open_descriptors();
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

/// Live objects of all frameworks and open descriptors: equal counts before and after mean released, once each.
struct Census {
  std::vector<std::size_t> counts;
  friend bool operator==(const Census&, const Census&) = default;
};
inline Census take_census() {
  Census census;
  for (const auto& framework : all()) framework->drop_idle();
  drain_deferred(default_deadline());
  for (const auto& framework : all()) census.counts.push_back(framework->live_objects());
  census.counts.push_back(open_descriptors());
  return census;
}

}  // namespace tenon::conformance
