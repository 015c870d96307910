// SPDX-License-Identifier: Apache-2.0
// cv::UMat and OpenCL buffers over one cl_mem: includes everything in this folder.
//
//   Context umats = opencv_opencl::make_context(opencl_context);      OpenCV on that cl_context and device
//   cv::ocl::OpenCLExecutionContextScope scope(opencv_opencl::execution(umats));   per thread that works on UMats
//   cv::UMat image = opencv_opencl::umat(router.map(tensor, umats));  the same cl_mem; keeps the memory
//   cv::add(image, 1, image);
//   opencv_opencl::wrote(tensor);                                     what OpenCV enqueued is the memory's last write
//   Tensor back = opencv_opencl::wrap(umats, image);                  a UMat as a tensor
#pragma once

#include <tenon/bridges/opencv_opencl/context.hpp>  // IWYU pragma: export
#include <tenon/bridges/opencv_opencl/edges.hpp>    // IWYU pragma: export
#include <tenon/bridges/opencv_opencl/umat.hpp>     // IWYU pragma: export
