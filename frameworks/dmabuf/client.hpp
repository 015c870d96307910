// SPDX-License-Identifier: Apache-2.0
// What others may use of this one: where a tensor lies in its descriptor, its fences, memory for trying an import, and for
// drivers the kernel's calls behind all that.
#pragma once

#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::allocate_fd;
using detail::end_access;
using detail::find_place;
using detail::has_udmabuf;
using detail::inspect;
using detail::is_dmabuf;
using detail::map_whole;
using detail::Place;
using detail::place_of;
using detail::sealed_memfd;
using detail::start_access;
using detail::udmabuf_over;
using detail::wait_for_fences;

}  // namespace client

}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
