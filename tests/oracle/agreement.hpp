// SPDX-License-Identifier: Apache-2.0
// How close two outputs are: cosine, and the largest difference relative to the largest value.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

namespace tenon {
inline namespace v1 {

struct Agreement {
  double cosine = 0;
  double max_relative_error = 0;
};

/// What a model's outputs must agree within, beside a judge that computes from the same weights. Random weights and f32
/// sums in another order differ by 1e-6 to 1e-4. In int8 a value that lies on the border between two steps may round
/// either way, and what follows carries that on: each such flip is one step in 255.
struct Limits {
  double min_cosine = 0.99999;
  double max_relative_error = 1e-3;
};
inline Limits limits_of(const std::string& model) {
  if (model.find("_int8") != std::string::npos) return {0.999, 5e-2};
  return {};
}

inline Agreement agreement(std::span<const float> actual, std::span<const float> expected) {
  double dot = 0, aa = 0, ee = 0, largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double a = actual[i], e = expected[i];
    dot += a * e;
    aa += a * a;
    ee += e * e;
    largest = std::max(largest, std::abs(e));
    // NaN on one side must not pass for agreement.
    if (!(std::abs(a - e) <= difference)) difference = std::abs(a - e);
  }
  const double norm = std::sqrt(aa) * std::sqrt(ee);
  return {norm > 0 ? dot / norm : (aa == ee ? 1 : 0), largest > 0 ? difference / largest : difference};
}

}  // namespace v1
}  // namespace tenon
