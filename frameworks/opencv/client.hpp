// SPDX-License-Identifier: Apache-2.0
// What bridges to OpenCV may use of this framework: the layout of matrices, and calls whose exceptions become errors.
#pragma once

#include <tenon/frameworks/opencv/context.hpp>
#include <tenon/frameworks/opencv/layout.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::checked;
using detail::info_of;
using detail::kTiled;
using detail::lay_out;
using detail::MatLayout;

}  // namespace client

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
