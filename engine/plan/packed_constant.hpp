// SPDX-License-Identifier: Apache-2.0
// A constant as some kernel wants it.
#pragma once

#include <string>

#include <tenon/core/tensor.hpp>

namespace tenon::inline v1::engine {

/// One layout of a constant.
struct PackedConstant {
  std::string from;    ///< The layout that the bytes were packed from, in words of ours (see layout_text)...
  std::string layout;  ///< ...and the one that they have.
  Tensor bytes;        ///< u8, 64-byte aligned.
};

}  // namespace tenon::inline v1::engine
