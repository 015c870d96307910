// SPDX-License-Identifier: Apache-2.0
// What bridges to EGL, and the tests of other folders, may use of this framework.
#pragma once

#include <tenon/frameworks/egl/egl.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::Native;
using detail::Probe;

}  // namespace client

}  // namespace egl
}  // namespace v1
}  // namespace tenon
