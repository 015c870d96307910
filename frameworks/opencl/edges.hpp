// SPDX-License-Identifier: Apache-2.0
// The edges of buffers and images.
#pragma once

#include <tenon/frameworks/opencl/buffer_edges.hpp>  // IWYU pragma: export
#include <tenon/frameworks/opencl/dmabuf_edges.hpp>  // IWYU pragma: export
#include <tenon/frameworks/opencl/image_edges.hpp>   // IWYU pragma: export
