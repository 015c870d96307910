// SPDX-License-Identifier: Apache-2.0
// The typed tensors from and to the classes of CL/opencl.hpp.
#define TENON_OPENCL_HPP
#include <tenon/devices/gpu/testing/gpu.hpp>

#ifdef CL_HPP_
namespace tenon::gpu_testing {
namespace wrappers_test {

using intel_gpu::ocl::ClContext;

TEST_F(Gpu, OpenclsClassesAreTakenAndGiven) {
  const cl::Context own(app.context, true);
  ClContext context(core, own.get());
  EXPECT_EQ(static_cast<cl::Context>(context).get(), app.context);
  const cl::Buffer buffer(own, CL_MEM_READ_WRITE, kCount * sizeof(float));
  auto tensor = context.create_tensor(element::f32, Shape{kCount}, buffer);
  EXPECT_EQ(static_cast<cl::Buffer>(tensor).get(), buffer.get());
  const cl::ImageFormat bytes(CL_R, CL_UNORM_INT8);
  const cl::Image2D y(own, CL_MEM_READ_WRITE, bytes, 16, 8), uv(own, CL_MEM_READ_WRITE, bytes, 16, 4);
  auto pair = context.create_tensor_nv12(y, uv);
  EXPECT_EQ(static_cast<cl::Image2D>(pair.first).get(), y.get());
  EXPECT_EQ(pair.second.get(), uv.get());
  EXPECT_EQ(pair.second.shape(), (Shape{1, 4, 8, 2}));
  EXPECT_EQ(context.create_tensor(element::u8, Shape{8, 16}, y).get(), y.get());
}

}  // namespace wrappers_test
}  // namespace tenon::gpu_testing
#endif
