// SPDX-License-Identifier: Apache-2.0
// What this device uses of OpenCL.
#pragma once

#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/make.hpp>    // IWYU pragma: export
#include <tenon/frameworks/opencl/opencl.hpp>  // IWYU pragma: export

namespace tenon::inline v1::gpu_device {

namespace client = tenon::v1::opencl::client;

}  // namespace tenon::inline v1::gpu_device
