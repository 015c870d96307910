// SPDX-License-Identifier: Apache-2.0
// What bridges to OpenCL may use of this framework: checked calls, handles, events, and runs of a buffer.
#pragma once

#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/external.hpp>
#include <tenon/frameworks/opencl/fence.hpp>
#include <tenon/frameworks/opencl/image.hpp>
#include <tenon/frameworks/opencl/make.hpp>
#include <tenon/frameworks/opencl/native.hpp>
#include <tenon/frameworks/opencl/newer_calls.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

// Calls, whose failures become errors that name them; tests make them fail.
using detail::call;
using detail::check;
using detail::check_mem;
using detail::create;
using detail::fail;
using detail::injected;
using detail::injected_code;
using detail::injection;
using detail::look_up;
using detail::newer_calls;
using detail::Probe;

// Handles, what they say of themselves, and waiting for events.
using detail::all_devices;
using detail::devices_of;
using detail::find_devices;
using detail::finish;
using detail::Handle;
using detail::info;
using detail::info_list;
using detail::info_text;
using detail::keep_until;
using detail::marker;
using detail::pci_address_of;
using detail::read_device;
using detail::uuid_of;

// Images: how their pixels count as bytes, and what elements a format has.
using detail::elements_of;
using detail::image_and_layout;
using detail::ImageLayout;

// The queues and buffers behind a context, and the packed runs of a strided buffer.
using detail::copy_buffer;
using detail::event_for;
using detail::for_each_run;
using detail::make_buffer;
using detail::make_queue;
using detail::Native;

// For edges from other frameworks' memory with a descriptor: judge a description; map its memory, which is imported once
// for each cl_context, and acquired while tensors use it.
using detail::import_buffer;
using detail::import_obstacle;
using detail::map_by_descriptor;
using detail::refuses_descriptor;

}  // namespace client

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
