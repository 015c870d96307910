// SPDX-License-Identifier: Apache-2.0
// Direct3D 11 under OpenCL, which only Windows has.
#pragma once

#error \
    "openvino/runtime/intel_gpu/ocl/dx.hpp is for Windows: on Linux, share surfaces by openvino/runtime/intel_gpu/ocl/va.hpp"
