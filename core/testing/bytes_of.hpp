// SPDX-License-Identifier: Apache-2.0
// For tests that compare pictures: what their planes hold.
#pragma once

#include <cstdint>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon_test {

/// Rows of all planes, in Tenon's order, packed.
inline std::vector<std::uint8_t> bytes_of(const tenon::Frame& frame) {
  std::vector<std::uint8_t> all;
  for (const tenon::Tensor& plane : frame.planes()) {
    tenon::Tensor packed;
    plane.copy_to(packed);
    const auto* data = static_cast<const std::uint8_t*>(packed.data());
    all.insert(all.end(), data, data + packed.size_bytes());
  }
  return all;
}

}  // namespace tenon_test
