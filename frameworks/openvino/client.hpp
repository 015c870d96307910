// SPDX-License-Identifier: Apache-2.0
// What devices over OpenVINO may use of this framework: its exceptions as errors, and memory of a device's own class.
#pragma once

#include <tenon/frameworks/openvino/memory.hpp>
#include <tenon/frameworks/openvino/openvino.hpp>

namespace tenon {
inline namespace v1 {
namespace openvino {

/// For other folders of this repository, beside the public functions. Not for applications: it may change with every
/// release. The rest of namespace detail is this folder's own.
namespace client {

using detail::raise;
using detail::wrap_in;

}  // namespace client

}  // namespace openvino
}  // namespace v1
}  // namespace tenon
