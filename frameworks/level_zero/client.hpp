// SPDX-License-Identifier: Apache-2.0
// What devices on Level Zero may use of this framework: checked calls, handles, and memory by its pieces.
#pragma once

#include <tenon/frameworks/level_zero/context.hpp>
#include <tenon/frameworks/level_zero/device.hpp>
#include <tenon/frameworks/level_zero/dmabuf_edges.hpp>
#include <tenon/frameworks/level_zero/event_origin.hpp>
#include <tenon/frameworks/level_zero/native.hpp>
#include <tenon/frameworks/level_zero/system_import.hpp>
#include <tenon/frameworks/level_zero/transfer.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

// Calls, whose failures become errors that name them; tests make them fail.
using detail::call;
using detail::check;
using detail::code_of;
using detail::last_words;
using detail::Probe;
using detail::synchronize;

// Handles, their owners, and what the loader or driver offers beyond the packaged headers.
using detail::driver_side;
using detail::EventOrigin;
using detail::extension_table;
using detail::Handle;
using detail::newer;

// Memory of a context whose owner is not a tensor of this framework.
using detail::allocate_usm;
using detail::find_usm;
using detail::find_usm_view;
using detail::import_fd;
using detail::Native;
using detail::refuses_descriptor;
using detail::SystemImport;
using detail::UsmBlock;
using detail::UsmFacts;
using detail::view_by_descriptor;

}  // namespace client

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
