// SPDX-License-Identifier: Apache-2.0
// What bridges may use of this framework beside its public functions: the memory behind a surface's planes.
#pragma once

#include <tenon/frameworks/vaapi/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::find_part;

}  // namespace client

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
