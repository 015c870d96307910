// SPDX-License-Identifier: Apache-2.0
// What bridges to DLPack may use of this framework: checks of foreign structs, and what an exported struct owns.
#pragma once

#include <tenon/frameworks/dlpack/dlpack.hpp>

namespace tenon {
inline namespace v1 {
namespace dlpack {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::check_version;
using detail::checked_info;
using detail::checked_size;
using detail::device_name;
using detail::element_strides;
using detail::Exported;
using detail::to_dl;

}  // namespace client

}  // namespace dlpack
}  // namespace v1
}  // namespace tenon
