// SPDX-License-Identifier: Apache-2.0
// Caches that grow where they lie: a parameter that is joined with new rows, and the result that it becomes.
#pragma once

#include <cstddef>

#include <tenon/core/tensor.hpp>  // IWYU pragma: export

namespace tenon::inline v1::engine {

/// The result is Concat(parameter, new...) along `axis`, or Concat(Gather(parameter, rows, 0), new...), and nothing else
/// reads the parameter's elements. Both lie in one memory with room for `capacity` along the axis: a plan writes only
/// the new elements (and moves rows where it is told to).
struct Growth {
  std::size_t parameter = 0, result = 0, axis = 0;
  std::size_t capacity = 0;  ///< 0: not in place.
  friend bool operator==(const Growth&, const Growth&) = default;
};

/// The room that a cache gets when it needs `extent`: one of few sizes, so that plans for it are few, and by half
/// larger than what it needs, so that moving it costs amortised constant time per element.
std::size_t room_for(std::size_t extent);

}  // namespace tenon::inline v1::engine
