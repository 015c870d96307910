// SPDX-License-Identifier: Apache-2.0
// What bridges to SYCL may use of this framework: its probe, and what is behind a context.
#pragma once

#include <tenon/frameworks/sycl/context.hpp>
#include <tenon/frameworks/sycl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace sycl {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::checked;
using detail::Native;
using detail::Probe;
using detail::usm_context;

}  // namespace client

}  // namespace sycl
}  // namespace v1
}  // namespace tenon
