// SPDX-License-Identifier: Apache-2.0
// A program for OpenVINO's remote tensors: OpenCL's buffers, images, USM and queues on the GPU, Level Zero's memory on the NPU. It says what does
// not hold, and exits with 1.
#include <unistd.h>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

#include <openvino/op/relu.hpp>
#include <openvino/openvino.hpp>
#include <openvino/runtime/intel_gpu/ocl/ocl.hpp>
#include <openvino/runtime/intel_gpu/ocl/va.hpp>
#include <openvino/runtime/intel_gpu/properties.hpp>
#include <openvino/runtime/intel_npu/level_zero/level_zero.hpp>

namespace {

int failures = 0;
void check(bool holds, const char* what) {
  if (holds) return;
  std::cout << "does not hold: " << what << '\n';
  ++failures;
}
#define CHECK(condition) check(static_cast<bool>(condition), #condition)

std::shared_ptr<ov::Model> relu_model(const ov::PartialShape& shape) {
  auto x = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, shape);
  x->output(0).set_names({"x"});
  return std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<ov::op::v0::Relu>(x)}, ov::ParameterVector{x});
}

const float kIn[4] = {-1, 2, -3, 4};
bool is_result(const float* y) { return y[0] == 0 && y[1] == 2 && y[2] == 0 && y[3] == 4; }

void gpu_of_the_application(ov::Core& core) {
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  std::vector<cl::Device> devices;
  platforms.at(0).getDevices(CL_DEVICE_TYPE_ALL, &devices);
  cl::Context context(devices.at(0));
  cl::CommandQueue queue(context, devices.at(0));
  const auto model = relu_model({1, 4});
  ov::intel_gpu::ocl::ClContext remote(core, queue.get());
  ov::CompiledModel compiled = core.compile_model(model, remote);
  ov::InferRequest request = compiled.create_infer_request();
  cl::Buffer in(context, CL_MEM_READ_WRITE, sizeof kIn), out(context, CL_MEM_READ_WRITE, sizeof kIn);
  auto x = remote.create_tensor(ov::element::f32, {1, 4}, in);
  ov::intel_gpu::ocl::ClBufferTensor y = remote.create_tensor(ov::element::f32, {1, 4}, out.get());
  request.set_tensor(model->get_parameters().at(0), x);
  request.set_output_tensor(y);
  // On the application's queue nothing waits on the host until the read.
  queue.enqueueWriteBuffer(in, CL_FALSE, 0, sizeof kIn, kIn);
  request.start_async();
  float result[4] = {};
  queue.enqueueReadBuffer(out, CL_TRUE, 0, sizeof result, result);
  request.wait();
  CHECK(is_result(result));
  CHECK(y.get() == out.get());
  CHECK(static_cast<cl::Buffer>(y).get() == out.get());
  CHECK(y.is<ov::intel_gpu::ocl::ClBufferTensor>());
  CHECK(!y.is<ov::intel_gpu::ocl::USMTensor>());
  CHECK(!ov::Tensor(ov::element::f32, {1}).is<ov::RemoteTensor>());

  ov::Tensor host(ov::element::f32, {1, 4});
  y.copy_to(host);
  CHECK(is_result(host.data<float>()));
  std::memcpy(host.data<float>(), kIn, sizeof kIn);
  y.copy_from(host);
  ov::Tensor part(ov::element::f32, {1, 2});
  ov::RemoteTensor(y, {0, 1}, {1, 3}).copy_to(part);
  CHECK(part.data<float>()[0] == 2 && part.data<float>()[1] == -3);

  // By keys alone.
  ov::RemoteContext any = compiled.get_context();
  CHECK(any.get_params().at("CONTEXT_TYPE").as<std::string>() == "OCL");
  CHECK(any.get_params().at(ov::intel_gpu::ocl_context.name()).as<void*>() == context.get());
  CHECK(any.get_device_name().find("GPU") == 0);
  CHECK(static_cast<cl::Context>(any.as<ov::intel_gpu::ocl::ClContext>()).get() == context.get());
  CHECK(!any.is<ov::intel_gpu::ocl::VAContext>());
  ov::RemoteTensor low = any.create_tensor(ov::element::f32, {1, 4},
                                           {ov::intel_gpu::shared_mem_type(ov::intel_gpu::SharedMemType::OCL_BUFFER),
                                            ov::intel_gpu::mem_handle(static_cast<void*>(in.get()))});
  CHECK(low.get_params().at("SHARED_MEM_TYPE").as<std::string>() == "OCL_BUFFER");
  CHECK(low.get_params().at("SHARED_MEM_TYPE").as<ov::intel_gpu::SharedMemType>() ==
        ov::intel_gpu::SharedMemType::OCL_BUFFER);
  bool refused = false;
  try {
    static_cast<ov::Tensor&>(low).data();
  } catch (const ov::Exception&) {
    refused = true;
  }
  CHECK(refused);
  refused = false;
  try {
    remote.create_tensor(ov::element::f32, {1, 100}, in);
  } catch (const ov::Exception& error) {
    refused = std::strstr(error.what(), "400") != nullptr;
  }
  CHECK(refused);

  auto own = remote.create_usm_device_tensor(ov::element::f32, {1, 4});
  CHECK(own.get() != nullptr);
  own.copy_from(host);
  request.set_input_tensor(own);
  request.infer();
  y.copy_to(host);
  CHECK(is_result(host.data<float>()));
  auto plain = remote.create_tensor(ov::element::f32, {1, 4});
  CHECK(plain.get_shape() == ov::Shape({1, 4}));
}

/// Both planes of a picture as images, as a decoder leaves them.
void gpu_pictures(ov::Core& core) {
  using namespace ov::preprocess;
  auto model = relu_model({1, 3, 8, 8});
  PrePostProcessor p(model);
  p.input()
      .tensor()
      .set_element_type(ov::element::u8)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_memory_type(ov::intel_gpu::memory_type::surface);
  p.input().preprocess().convert_color(ColorFormat::BGR);
  p.input().model().set_layout("NCHW");
  model = p.build();
  ov::CompiledModel compiled = core.compile_model(model, "GPU");
  auto context = compiled.get_context().as<ov::intel_gpu::ocl::ClContext>();
  cl::Context cl_context(context.get(), true);
  cl::Device device = cl_context.getInfo<CL_CONTEXT_DEVICES>().at(0);
  cl::CommandQueue queue(cl_context, device);
  cl::Image2D y(cl_context, CL_MEM_READ_WRITE, cl::ImageFormat(CL_R, CL_UNORM_INT8), 8, 8);
  // PoCL has no CL_RG: there U and V are neighbours in an image of one component.
  std::vector<cl::ImageFormat> formats;
  cl_context.getSupportedImageFormats(CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, &formats);
  bool pairs = false;
  for (const cl::ImageFormat& format : formats)
    pairs |= format.image_channel_order == CL_RG && format.image_channel_data_type == CL_UNORM_INT8;
  const std::size_t columns = pairs ? 4 : 8;
  cl::Image2D uv(cl_context, CL_MEM_READ_WRITE, cl::ImageFormat(pairs ? CL_RG : CL_R, CL_UNORM_INT8), columns, 4);
  const std::vector<unsigned char> luma(64, 126), chroma(32, 128);
  queue.enqueueWriteImage(y, CL_TRUE, {0, 0, 0}, {8, 8, 1}, 0, 0, luma.data());
  queue.enqueueWriteImage(uv, CL_TRUE, {0, 0, 0}, {columns, 4, 1}, 0, 0, chroma.data());
  queue.finish();
  auto planes = context.create_tensor_nv12(y, uv);
  CHECK(planes.first.get() == y.get());
  ov::InferRequest request = compiled.create_infer_request();
  request.set_tensor(model->get_parameters().at(0), planes.first);
  request.set_tensor("x/uv", planes.second);
  request.infer();
  const float gray = request.get_output_tensor().data<float>()[0];
  CHECK(gray > 126 && gray < 130);  // 126 * 296.82 / 255 - 18.624
}

void npu(ov::Core& core) {
  ov::intel_npu::level_zero::ZeroContext context(core);
  CHECK(context.get() != nullptr);
  CHECK(context.get_device_name() == "NPU");
  ov::CompiledModel compiled = core.compile_model(relu_model({1, 4}), "NPU");
  ov::InferRequest request = compiled.create_infer_request();
  auto x = context.create_l0_host_tensor(ov::element::f32, {1, 4}, ov::intel_npu::TensorType::INPUT);
  CHECK(x.get() != nullptr);
  std::memcpy(x.get(), kIn, sizeof kIn);
  request.set_input_tensor(x);
  request.infer();
  CHECK(is_result(request.get_output_tensor().data<float>()));
  const std::string file = "/tmp/ov_remote_" + std::to_string(::getpid());
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(kIn), sizeof kIn);
  auto mapped = context.create_tensor(ov::element::f32, {1, 4}, ov::intel_npu::FileDescriptor(file));
  request.set_input_tensor(mapped);
  request.infer();
  CHECK(is_result(request.get_output_tensor().data<float>()));
  ::unlink(file.c_str());
  bool refused = false;
  try {
    int number = 0;
    context.create_tensor(ov::element::f32, {1, 4}, &number, ov::intel_npu::MemType::L0_INTERNAL_BUF);
  } catch (const ov::AssertFailure&) {
    refused = true;
  }
  CHECK(refused);
}

}  // namespace

int main() {
  ov::Core core;
  try {
    gpu_of_the_application(core);
    gpu_pictures(core);
    npu(core);
  } catch (const std::exception& error) {
    std::cout << error.what() << '\n';
    return 1;
  }
  std::cout << (failures ? "" : "remote tensors: all as expected\n");
  return failures ? 1 : 0;
}
