// SPDX-License-Identifier: Apache-2.0
// What bridges to CUDA may use of this framework: checked calls, copies by the device, and streams' waits.
#pragma once

#include <tenon/frameworks/cuda/context.hpp>
#include <tenon/frameworks/cuda/cuda.hpp>
#include <tenon/frameworks/cuda/edges.hpp>
#include <tenon/frameworks/cuda/event.hpp>
#include <tenon/frameworks/cuda/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::call;
using detail::check;
using detail::check_stream;
using detail::copy_elements;
using detail::cuda_context;
using detail::Current;
using detail::Direction;
using detail::driver;
using detail::find_pointer;
using detail::keep_until;
using detail::kInjected;
using detail::make_wait;
using detail::Native;
using detail::Probe;
using detail::record;
using detail::Side;

/// A tensor of one context over a CUcontext in another one.
inline Tensor share_between(const Tensor& source, const Context& to, const MapOptions& options) {
  return detail::cuda_to_cuda().map(source, to, options);
}

}  // namespace client

}  // namespace cuda
}  // namespace v1
}  // namespace tenon
