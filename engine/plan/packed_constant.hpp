// SPDX-License-Identifier: Apache-2.0
// A constant in the layouts that kernels need.
#pragma once

#include <string>

#include <tenon/core/tensor.hpp>

namespace tenon::inline v1::engine {

/// One layout of a constant.
struct PackedConstant {
  std::string from;    ///< The layout that the bytes were packed from, as layout_text() writes it...
  std::string layout;  ///< ...and the layout that they have.
  Tensor bytes;        ///< u8, 64-byte aligned.
};

}  // namespace tenon::inline v1::engine
