// SPDX-License-Identifier: Apache-2.0
// What other frameworks may use of this one: the guard of a release callback.
#pragma once

#include <tenon/frameworks/cpu/cpu.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::ReleaseGuard;

}  // namespace client

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
