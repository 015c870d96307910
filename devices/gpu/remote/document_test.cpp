// SPDX-License-Identifier: Apache-2.0
// The calls of OpenVINO's document on remote tensors of the GPU, as programs write them: only the namespace's name is changed. Its part on
// VADisplays is in tests/va, where there is a driver.
#define TENON_OPENCL_HPP
#include <tenon/devices/gpu/testing/gpu.hpp>

#ifdef CL_HPP_
#include <numeric>

#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>

namespace ov = tenon;

namespace tenon::gpu_testing {
namespace document_test {

/// The document's names: a model of one input, its device's context, and what its fragments are given.
class GpuDocument : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    if (IsSkipped()) return;
    model = line_model();
    compiled_model = core.compile_model(model, "GPU");
    infer_request = compiled_model.create_infer_request();
    input = model->get_parameters().at(0);
    input_size = ov::shape_size(input->get_shape()) * sizeof(float);
  }
  /// What an application's kernel would have left there.
  void fill(cl_mem buffer, cl_context in) {
    const cl::CommandQueue queue(cl::Context(in, true), cl::Device(app.device, true));
    std::vector<float> values(kCount);
    std::iota(values.begin(), values.end(), 1.0f);
    ASSERT_EQ(queue.enqueueWriteBuffer(cl::Buffer(buffer, true), CL_TRUE, 0, input_size, values.data()), CL_SUCCESS);
  }
  void expect_line(ov::InferRequest& request) {
    const auto* y = request.get_output_tensor().data<float>();
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(y[i], 2 * (static_cast<float>(i) + 1) + 1);
    EXPECT_EQ(moved_beside_results(request.ledger()), 0u);
  }
  /// A model of pictures [1, 3 or 1, 16, 32], which it only adds a half to.
  static std::shared_ptr<ov::Model> picture_model(std::size_t channels, std::size_t batch) {
    auto x =
        std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape(ov::Shape{batch, channels, 16, 32}));
    x->set_friendly_name("x");
    auto half = ov::op::v0::Constant::create(ov::element::f32, ov::Shape{}, std::vector<double>{0.5});
    return std::make_shared<ov::Model>(ov::OutputVector{make_node("Add", 1, {x, half}, {}, "sum")},
                                       ov::ParameterVector{x}, "picture");
  }
  /// A picture of one grey.
  cl::Image2D image(std::size_t width, std::size_t height, std::uint8_t value) {
    const std::vector<std::uint8_t> pixels(width * height, value);
    return cl::Image2D(app.image(CL_R, CL_UNORM_INT8, width, height, pixels.data()));
  }
  void expect_all(const ov::Tensor& tensor, std::size_t begin, std::size_t end, float value) {
    for (std::size_t i = begin; i < end; ++i) ASSERT_NEAR(tensor.data<float>()[i], value, 1) << i;
  }

  std::shared_ptr<ov::Model> model;
  ov::CompiledModel compiled_model;
  ov::InferRequest infer_request;
  std::shared_ptr<ov::op::v0::Parameter> input;
  std::size_t input_size = 0;
};

TEST_F(GpuDocument, ContextsAreMadeOfHandles) {
  cl_context ctx = app.context;
  ov::intel_gpu::ocl::ClContext of_context(core, ctx);
  EXPECT_EQ(of_context.get(), ctx);
  cl_command_queue queue = app.queue;
  ov::intel_gpu::ocl::ClContext of_queue(core, queue);
  EXPECT_EQ(static_cast<cl_context>(of_queue), ctx);
}

TEST_F(GpuDocument, TheDevicesContextIsAskedFor) {
  auto of_core = core.get_default_context("GPU").as<ov::intel_gpu::ocl::ClContext>();
  cl_context context_handle = of_core.get();
  auto of_model = compiled_model.get_context().as<ov::intel_gpu::ocl::ClContext>();
  EXPECT_EQ(of_model.get(), context_handle);
}

TEST_F(GpuDocument, HandlesAreWrapped) {
  auto gpu_context = compiled_model.get_context().as<ov::intel_gpu::ocl::ClContext>();
  const auto type = input->get_element_type();
  const auto shape = input->get_shape();
  const cl::Context own = gpu_context;
  {  // A cl_mem and a cl::Buffer.
    cl::Buffer shared_buffer(own, CL_MEM_READ_WRITE, input_size);
    auto of_class = gpu_context.create_tensor(type, shape, shared_buffer);
    cl_mem handle = shared_buffer.get();
    auto remote_tensor = gpu_context.create_tensor(type, shape, handle);
    cl::Buffer back = remote_tensor;
    EXPECT_EQ(back.get(), handle);
    fill(handle, own.get());
    for (const ov::Tensor& tensor : {ov::Tensor(of_class), ov::Tensor(remote_tensor)}) {
      infer_request.set_tensor(input, tensor);
      infer_request.infer();
      expect_line(infer_request);
    }
  }
  {  // A USM pointer: of another tensor's, which stays.
    auto allocated = gpu_context.create_usm_device_tensor(type, shape);
    void* shared_buffer = allocated.get();
    auto remote_tensor = gpu_context.create_tensor(type, shape, shared_buffer);
    EXPECT_EQ(remote_tensor.get(), shared_buffer);
  }
  {  // A cl::Image2D.
    const cl::Image2D shared_buffer(own, CL_MEM_READ_WRITE, cl::ImageFormat(CL_R, CL_UNORM_INT8), 32, 16);
    auto remote_tensor = gpu_context.create_tensor(ov::element::u8, ov::Shape{16, 32}, shared_buffer);
    cl::Image2D back = remote_tensor;
    EXPECT_EQ(back.get(), shared_buffer.get());
  }
}

TEST_F(GpuDocument, MemoryIsAllocated) {
  auto gpu_context = compiled_model.get_context().as<ov::intel_gpu::ocl::ClContext>();
  auto of_host = gpu_context.create_usm_host_tensor(input->get_element_type(), input->get_shape());
  void* allocated_buffer = of_host.get();
  EXPECT_NE(allocated_buffer, nullptr);
  auto of_device = gpu_context.create_usm_device_tensor(input->get_element_type(), input->get_shape());
  EXPECT_NE(of_device.get(), nullptr);
  auto remote_tensor = gpu_context.create_tensor(input->get_element_type(), input->get_shape());
  auto buffer_tensor = remote_tensor.as<ov::intel_gpu::ocl::ClBufferTensor>();
  cl_mem handle = buffer_tensor.get();
  fill(handle, gpu_context.get());
  infer_request.set_tensor(input, remote_tensor);
  infer_request.infer();
  expect_line(infer_request);
}

TEST_F(GpuDocument, PicturesOfTwoPlanesComeFromImages) {
  for (const std::size_t batch : {1u, 2u}) {
    using namespace ov::preprocess;
    auto p = PrePostProcessor(picture_model(3, batch));
    p.input()
        .tensor()
        .set_element_type(ov::element::u8)
        .set_color_format(ov::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
        .set_memory_type(ov::intel_gpu::memory_type::surface);
    p.input().preprocess().convert_color(ov::preprocess::ColorFormat::BGR);
    p.input().model().set_layout("NCHW");
    auto with_preprocessing = p.build();
    ov::intel_gpu::ocl::ClContext context(core, app.context);
    auto compiled = core.compile_model(with_preprocessing, context);
    auto request = compiled.create_infer_request();
    auto input_y = with_preprocessing->get_parameters().at(0);
    auto input_uv = with_preprocessing->get_parameters().at(1);
    std::vector<ov::Tensor> y_tensors, uv_tensors;
    for (std::size_t i = 0; i < batch; ++i) {
      auto nv12_blob = context.create_tensor_nv12(image(32, 16, i == 0 ? 126 : 235), image(32, 8, 128));
      y_tensors.push_back(nv12_blob.first);
      uv_tensors.push_back(nv12_blob.second);
    }
    if (batch == 1) {
      request.set_tensor(input_y->get_friendly_name(), y_tensors.front());
      request.set_tensor(input_uv->get_friendly_name(), uv_tensors.front());
    } else {
      request.set_tensors(input_y->get_friendly_name(), y_tensors);
      request.set_tensors(input_uv->get_friendly_name(), uv_tensors);
    }
    request.start_async();
    request.wait();
    expect_all(request.get_output_tensor(), 0, 3 * 512, 128.5f);
    if (batch == 2) expect_all(request.get_output_tensor(), 3 * 512, 6 * 512, 255.5f);
  }
}

TEST_F(GpuDocument, PicturesOfOnePlaneAndOfGreyComeFromImages) {
  using namespace ov::preprocess;
  for (const bool is_grey : {false, true}) {
    auto p = PrePostProcessor(picture_model(is_grey ? 1 : 3, 1));
    p.input().tensor().set_element_type(ov::element::u8).set_memory_type(ov::intel_gpu::memory_type::surface);
    if (is_grey) {
      p.input().tensor().set_layout("NHWC");
    } else {
      p.input().tensor().set_color_format(ColorFormat::NV12_SINGLE_PLANE);
      p.input().preprocess().convert_color(ColorFormat::BGR);
    }
    p.input().model().set_layout("NCHW");
    auto with_preprocessing = p.build();
    ov::intel_gpu::ocl::ClContext context(core, app.context);
    auto request = core.compile_model(with_preprocessing, context).create_infer_request();
    // Both planes in one image, or luma alone.
    auto port = with_preprocessing->get_parameters().at(0);
    auto tensor = context.create_tensor(port->get_element_type(), port->get_shape(), image(32, is_grey ? 16 : 24, 128));
    request.set_tensor(port->get_friendly_name(), tensor);
    request.infer();
    expect_all(request.get_output_tensor(), 0, is_grey ? 512 : 3 * 512, is_grey ? 128.5f : 130.9f);
  }
}

TEST_F(GpuDocument, AQueueIsShared) {
  const cl::Context ctx(app.context, true);
  const cl::Device device(app.device, true);
  cl::CommandQueue queue(ctx, device, cl_command_queue_properties{0});
  auto remote_context = ov::intel_gpu::ocl::ClContext(core, queue.get());
  auto exec_net_shared = core.compile_model(model, remote_context);
  auto request = exec_net_shared.create_infer_request();
  auto output = model->get_results().at(0);
  const cl::Buffer before(ctx, CL_MEM_READ_WRITE, input_size), behind(ctx, CL_MEM_READ_WRITE, input_size);
  request.set_tensor(input, remote_context.create_tensor(input->get_element_type(), input->get_shape(), before));
  request.set_tensor(output, remote_context.create_tensor(output->get_element_type(), output->get_shape(), behind));
  const cl::Program program(app.program, true);
  cl::Kernel pre(program, "fill"), post(program, "twice");
  pre.setArg(0, before);
  pre.setArg(1, 1.0f);
  queue.enqueueNDRangeKernel(pre, cl::NullRange, cl::NDRange(kCount));
  request.start_async();
  const cl::Buffer result(ctx, CL_MEM_READ_WRITE, input_size);
  post.setArg(0, behind);
  post.setArg(1, result);
  queue.enqueueNDRangeKernel(post, cl::NullRange, cl::NDRange(kCount));
  std::vector<float> values(kCount);
  queue.enqueueReadBuffer(result, CL_TRUE, 0, input_size, values.data());
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 2 * (2 * (static_cast<float>(i) + 1) + 1));
}

TEST_F(GpuDocument, AKernelWritesASharedBuffer) {
  auto gpu_context = compiled_model.get_context().as<ov::intel_gpu::ocl::ClContext>();
  cl::Context cl_context = gpu_context;
  cl::Device device = cl::Device(cl_context.getInfo<CL_CONTEXT_DEVICES>()[0].get(), true);
  cl_command_queue_properties props = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  cl::CommandQueue queue = cl::CommandQueue(cl_context, device, props);
  cl_int err = 0;
  cl::Buffer shared_buffer(cl_context, CL_MEM_READ_WRITE, input_size, NULL, &err);
  ASSERT_EQ(err, CL_SUCCESS);
  auto shared_blob = gpu_context.create_tensor(input->get_element_type(), input->get_shape(), shared_buffer);
  fill(shared_buffer.get(), cl_context.get());
  queue.finish();
  infer_request.set_tensor(input, shared_blob);
  infer_request.infer();
  expect_line(infer_request);
}

TEST_F(GpuDocument, InferenceRunsInTheUsersContext) {
  cl::Context ctx(app.context, true);
  auto remote_context = ov::intel_gpu::ocl::ClContext(core, ctx.get());
  auto exec_net_shared = core.compile_model(model, remote_context);
  auto request = exec_net_shared.create_infer_request();
  const cl::Buffer buffer(ctx, CL_MEM_READ_WRITE, input_size);
  fill(buffer.get(), ctx.get());
  request.set_tensor(input, remote_context.create_tensor(input->get_element_type(), input->get_shape(), buffer));
  request.infer();
  expect_line(request);
}

/// Without the classes, by maps.
TEST_F(GpuDocument, KeysDescribeContextsAndTensors) {
  ov::AnyMap context_params = {
      {ov::intel_gpu::context_type.name(), ov::intel_gpu::ContextType::OCL},
      {ov::intel_gpu::ocl_context.name(), static_cast<ov::intel_gpu::gpu_handle_param>(app.context)}};
  ov::RemoteContext remote_context = core.create_context("GPU", context_params);
  EXPECT_EQ(remote_context.get_params().at(ov::intel_gpu::ocl_context.name()).as<void*>(), app.context);
  const cl_mem buffer = app.buffer(input_size);
  ov::AnyMap tensor_params = {{ov::intel_gpu::shared_mem_type.name(), ov::intel_gpu::SharedMemType::OCL_BUFFER},
                              {ov::intel_gpu::mem_handle.name(), static_cast<ov::intel_gpu::gpu_handle_param>(buffer)}};
  ov::RemoteTensor tensor = remote_context.create_tensor(input->get_element_type(), input->get_shape(), tensor_params);
  EXPECT_EQ(tensor.get_params().at(ov::intel_gpu::mem_handle.name()).as<void*>(), buffer);
  clReleaseMemObject(buffer);
}

}  // namespace document_test
}  // namespace tenon::gpu_testing
#endif
