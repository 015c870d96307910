// SPDX-License-Identifier: Apache-2.0
// Strides, dilations and paddings of convolutions and pooling, in oneDNN's terms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tenon/core/shape.hpp>
#include <tenon/engine/lower/build/builder.hpp>  // IWYU pragma: export
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

struct Window {
  dnnl::memory::dims kernel, strides;
  dnnl::memory::dims dilations;  ///< 0 means dense.
  dnnl::memory::dims pads_begin;
  dnnl::memory::dims
      pads_end;  ///< What the output's extent implies; may be negative when trailing elements are unused.
  bool is_dilated() const {
    for (auto d : dilations)
      if (d != 0) return true;
    return false;
  }
};

/// The window of a node that slides over `in` and yields `out` (spatial extents only).
inline Window make_window(const Node& node, const dnnl::memory::dims& in, const dnnl::memory::dims& out,
                          const dnnl::memory::dims& kernel) {
  const auto& attributes = node.get_attributes();
  const std::size_t rank = kernel.size();
  Window window;
  window.kernel = kernel;
  const auto list = [&](const char* name, std::int64_t fallback) {
    dnnl::memory::dims values = attributes.get_ints(name, dnnl::memory::dims(rank, fallback));
    values.resize(rank, fallback);
    return values;
  };
  window.strides = list("strides", 1);
  window.dilations = list("dilations", 1);
  window.pads_begin = list("pads_begin", 0);
  const std::string auto_pad = attributes.get_string("auto_pad", "explicit");
  for (std::size_t i = 0; i < rank; ++i) {
    const auto extent = (kernel[i] - 1) * window.dilations[i] + 1;
    const auto total = (out[i] - 1) * window.strides[i] + extent - in[i];
    const auto needed = std::max<std::int64_t>(total, 0);
    if (auto_pad == "same_upper")
      window.pads_begin[i] = needed / 2;
    else if (auto_pad == "same_lower")
      window.pads_begin[i] = needed - needed / 2;
    else if (auto_pad == "valid")
      window.pads_begin[i] = 0;
    window.pads_end.push_back(total - window.pads_begin[i]);
    --window.dilations[i];
  }
  return window;
}

inline dnnl::memory::dims spatial(const Shape& shape, std::size_t first = 2) {
  return dnnl::memory::dims(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end());
}

}  // namespace tenon::inline v1::engine
