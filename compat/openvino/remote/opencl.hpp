// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include <openvino/runtime/intel_gpu/ocl/ocl.hpp>

/// What an application has before it asks for a model.
struct OpenCl {
  OpenCl() {
    std::vector<cl::Platform> platforms;
    cl::Platform::get(&platforms);
    std::vector<cl::Device> devices;
    platforms.at(0).getDevices(CL_DEVICE_TYPE_ALL, &devices);
    device = devices.at(0);
    context = cl::Context(device);
    queue = cl::CommandQueue(context, device);
  }
  cl::Buffer buffer(const std::vector<float>& values) const {
    cl::Buffer made(context, CL_MEM_READ_WRITE, values.size() * sizeof(float));
    queue.enqueueWriteBuffer(made, CL_TRUE, 0, values.size() * sizeof(float), values.data());
    return made;
  }
  std::vector<float> read(const cl::Buffer& from, std::size_t count) const {
    std::vector<float> values(count);
    queue.enqueueReadBuffer(from, CL_TRUE, 0, count * sizeof(float), values.data());
    return values;
  }
  /// A picture of one value in one component, or in pairs of two where the platform has such images.
  cl::Image2D image(std::size_t width, std::size_t height, unsigned char value, bool pairs = false) const {
    const bool has = pairs && has_pairs();
    const std::size_t columns = has ? width / 2 : width;
    cl::Image2D made(context, CL_MEM_READ_WRITE, cl::ImageFormat(has ? CL_RG : CL_R, CL_UNORM_INT8), columns, height);
    const std::vector<unsigned char> pixels(width * height, value);
    queue.enqueueWriteImage(made, CL_TRUE, {0, 0, 0}, {columns, height, 1}, 0, 0, pixels.data());
    queue.finish();
    return made;
  }
  bool has_pairs() const {
    std::vector<cl::ImageFormat> formats;
    context.getSupportedImageFormats(CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, &formats);
    for (const cl::ImageFormat& format : formats)
      if (format.image_channel_order == CL_RG && format.image_channel_data_type == CL_UNORM_INT8) return true;
    return false;
  }
  cl::Device device;
  cl::Context context;
  cl::CommandQueue queue;
};
