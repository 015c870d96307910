// SPDX-License-Identifier: Apache-2.0
// Programs for remote contexts and tensors of the GPU: all kinds of memory, queues of the application, pictures, copies, states, refusals.
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <openvino/op/util/variable.hpp>
#include <openvino/opsets/opset8.hpp>
#include <openvino/runtime/intel_gpu/ocl/va.hpp>
#include <openvino/runtime/intel_gpu/properties.hpp>

#include "opencl.hpp"
#include "remote.hpp"

namespace gpu_programs {
namespace {

using ov::intel_gpu::ocl::ClBufferTensor;
using ov::intel_gpu::ocl::ClContext;
using ov::intel_gpu::ocl::ClImage2DTensor;
using ov::intel_gpu::ocl::USMTensor;

void contexts(ov::Core& core) {
  const OpenCl cl;
  ClContext by_context(core, cl.context.get());
  ClContext by_number(core, cl.context.get(), 0);
  ClContext by_queue(core, cl.queue.get());
  ov::RemoteContext by_keys =
      core.create_context("GPU", {ov::intel_gpu::context_type(ov::intel_gpu::ContextType::OCL),
                                  ov::intel_gpu::ocl_context(static_cast<void*>(cl.context.get()))});
  ov::RemoteContext by_texts =
      core.create_context("GPU", {{"CONTEXT_TYPE", "OCL"}, {"OCL_CONTEXT", static_cast<void*>(cl.context.get())}});
  for (ov::RemoteContext* each :
       std::initializer_list<ov::RemoteContext*>{&by_context, &by_number, &by_queue, &by_keys, &by_texts}) {
    line(each->get_device_name().substr(0, 3), ' ', keys(each->get_params()), ' ',
         each->get_params().at("OCL_CONTEXT").as<void*>() == static_cast<void*>(cl.context.get()), ' ',
         each->get_params().at("CONTEXT_TYPE").as<std::string>(), ' ', each->is<ClContext>(), ' ',
         each->is<ov::intel_gpu::ocl::VAContext>(), ' ', static_cast<bool>(*each));
  }
  ov::RemoteContext standard = core.get_default_context("GPU");
  ClContext held = standard.as<ClContext>();
  line(standard.get_device_name(), ' ', keys(standard.get_params()), ' ', standard.is<ClContext>(), ' ',
       held.get() != nullptr);
  line(cl::Context(held).getInfo<CL_CONTEXT_DEVICES>().size(), ' ', static_cast<cl_context>(held) == held.get());
  refused("a context of the wrong class", [&] { standard.as<ov::intel_gpu::ocl::VAContext>(); });
  refused("a device beyond", [&] { ClContext(core, cl.context.get(), 5); });
  refused("no handle",
          [&] { core.create_context("GPU", {ov::intel_gpu::context_type(ov::intel_gpu::ContextType::OCL)}); });
  refused("no type",
          [&] { core.create_context("GPU", {ov::intel_gpu::ocl_context(static_cast<void*>(cl.context.get()))}); });
  refused("no such type", [&] { core.create_context("GPU", {{"CONTEXT_TYPE", "VULKAN"}}); });
  refused("nothing", [&] { core.create_context("GPU", {}); });
  refused("an empty context", [&] { ov::RemoteContext().get_device_name(); });
}

template <typename T>
void describe(const char* name, T& tensor) {
  line(name, ' ', tensor.get_element_type(), tensor.get_shape(), ' ', tensor.get_byte_size(), ' ', tensor.get_size(),
       ' ', keys(tensor.get_params()), ' ', tensor.get_params().at("SHARED_MEM_TYPE").template as<std::string>(), ' ',
       tensor.template is<ClBufferTensor>(), tensor.template is<ClImage2DTensor>(), tensor.template is<USMTensor>(),
       ' ', tensor.get_device_name().substr(0, 3), ' ', tensor.get() != nullptr);
}

void tensors(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.queue.get());
  cl::Buffer buffer = cl.buffer(std::vector<float>(8, 1.0F));
  cl::Image2D image(cl.context, CL_MEM_READ_WRITE, cl::ImageFormat(CL_R, CL_UNORM_INT8), 8, 4);
  auto by_object = context.create_tensor(ov::element::f32, {2, 4}, buffer);
  auto by_handle = context.create_tensor(ov::element::f32, {2, 4}, buffer.get());
  auto smaller = context.create_tensor(ov::element::f32, {2, 2}, buffer);
  auto of_image = context.create_tensor(ov::element::u8, {1, 4, 8, 1}, image);
  auto host = context.create_usm_host_tensor(ov::element::f16, {3});
  auto device = context.create_usm_device_tensor(ov::element::i32, {2, 2});
  describe("buffer", by_object);
  describe("handle", by_handle);
  describe("smaller", smaller);
  describe("image", of_image);
  describe("host", host);
  describe("device", device);
  auto of_pointer = context.create_tensor(ov::element::i32, {2, 2}, device.get());
  describe("pointer", of_pointer);
  line(of_pointer.get() == device.get());
  line(by_object.get() == buffer.get(), static_cast<cl_mem>(by_handle) == buffer.get(), of_image.get() == image.get(),
       cl::Image2D(of_image).get() == image.get());
  ov::RemoteTensor any = context.create_tensor(ov::element::u8, {2, 3});
  line("own ", any.get_element_type(), any.get_shape(), ' ', any.get_params().at("SHARED_MEM_TYPE").as<std::string>(),
       ' ', any.is<ClBufferTensor>() || any.is<USMTensor>());
  ov::Tensor of_host = context.create_host_tensor(ov::element::f32, {4});
  line("host tensor ", of_host.get_shape(), ' ', of_host.data() != nullptr, ' ', of_host.is<ov::RemoteTensor>());
  // Memory of the program's own, by its address.
  alignas(4096) static float numbers[1024];
  numbers[3] = 5;
  auto virtual_address = context.create_tensor(ov::element::f32, {1024}, ov::intel_gpu::VirtualAddressMemory{numbers});
  describe("address", virtual_address);
  ov::Tensor back(ov::element::f32, {1024});
  virtual_address.copy_to(back);
  line(back.data<float>()[3]);
  ov::Tensor(any).is<ov::RemoteTensor>() ? line("a tensor that is remote") : line("none");
  refused("too small", [&] { context.create_tensor(ov::element::f32, {9}, buffer); });
  refused("no buffer", [&] { context.create_tensor(ov::element::f32, {9}, static_cast<cl_mem>(nullptr)); });
  refused("no address",
          [&] { context.create_tensor(ov::element::f32, {1}, ov::intel_gpu::VirtualAddressMemory{nullptr}); });
  refused("the data", [&] { static_cast<ov::Tensor&>(by_object).data(); });
  refused("of the wrong class", [&] { by_object.as<USMTensor>(); });
  refused("an image of the wrong class", [&] { of_image.as<ClBufferTensor>(); });
  refused("a host's tensor", [&] { ov::Tensor(ov::element::f32, {1}).as<ov::RemoteTensor>(); });
  refused("keys without a handle", [&] {
    context.ov::RemoteContext::create_tensor(ov::element::f32, {8}, {{"SHARED_MEM_TYPE", "OCL_BUFFER"}});
  });
  refused("no such kind", [&] {
    context.ov::RemoteContext::create_tensor(ov::element::f32, {8}, {{"SHARED_MEM_TYPE", "PAPER"}});
  });
  refused("an empty tensor", [] { ov::RemoteTensor().get_params(); });
}

void copies(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.queue.get());
  std::vector<float> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  ov::Tensor host(ov::element::f32, {4, 6}, values.data());
  cl::Buffer buffer = cl.buffer(std::vector<float>(24, 0.0F));
  auto remote = context.create_tensor(ov::element::f32, {4, 6}, buffer);
  auto device = context.create_usm_device_tensor(ov::element::f32, {4, 6});
  auto usm_host = context.create_usm_host_tensor(ov::element::f32, {4, 6});
  remote.copy_from(host);
  line("from the host ", cl.read(buffer, 24)[23]);
  device.copy_from(remote);
  usm_host.copy_from(device);
  line("from device to host ", static_cast<float*>(usm_host.get())[22]);
  ov::Tensor back(ov::element::f32, {4, 6});
  usm_host.copy_to(back);
  print_values("back", back, 24);
  ov::Tensor grown(ov::element::f32, {1});
  refused("into another shape", [&] {
    remote.copy_to(grown);
    print_values("grown", grown, 3);
  });
  ov::Tensor part(ov::element::f32, {2, 2});
  ov::RemoteTensor region(remote, {1, 2}, {3, 4});
  line(region.get_shape(), ' ', region.get_byte_size());
  region.copy_to(part);
  print_values("a region", part);
  std::fill_n(part.data<float>(), 4, -1.0F);
  region.copy_from(part);
  remote.copy_to(back);
  print_values("written", back, 24);
  ov::RemoteTensor(device, {0, 0}, {2, 2}).copy_from(region);
  device.copy_to(back);
  print_values("between", back, 8);
  ov::Tensor(host, {0, 0}, {2, 2}).copy_to(part);
  refused("another type", [&] {
    ov::Tensor wrong(ov::element::i32, {4, 6});
    remote.copy_to(wrong);
  });
  refused("a region beyond", [&] { ov::RemoteTensor(remote, {0, 0}, {5, 6}); });
  refused("into a smaller one", [&] { context.create_usm_device_tensor(ov::element::f32, {1}).copy_from(host); });
}

/// Two models and a kernel of the program's, one after the other on its queue.
void on_its_queue(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.queue.get());
  const auto model = sum_model({1, 8});
  ov::CompiledModel compiled = core.compile_model(model, context, ov::hint::inference_precision(ov::element::f32));
  line(keys(compiled.get_context().get_params()), ' ',
       compiled.get_context().get_params().at("OCL_CONTEXT").as<void*>() == static_cast<void*>(cl.context.get()));
  ov::InferRequest first = compiled.create_infer_request(), second = compiled.create_infer_request();
  cl::Buffer in = cl.buffer(std::vector<float>(8, 0.0F)), between = cl.buffer(std::vector<float>(8, 0.0F)),
             out = cl.buffer(std::vector<float>(8, 0.0F));
  cl::Program program(cl.context, "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }");
  program.build({cl.device});
  cl::Kernel kernel(program, "twice");
  first.set_input_tensor(context.create_tensor(ov::element::f32, {1, 8}, in));
  first.set_output_tensor(context.create_tensor(ov::element::f32, {1, 8}, between));
  second.set_tensor("x", context.create_tensor(ov::element::f32, {1, 8}, between));
  second.set_tensor("y", context.create_tensor(ov::element::f32, {1, 8}, out));
  for (int round = 0; round < 3; ++round) {
    const std::vector<float> start(8, static_cast<float>(round));
    cl.queue.enqueueWriteBuffer(in, CL_FALSE, 0, 32, start.data());
    first.start_async();
    kernel.setArg(0, between);
    cl.queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(8));
    second.start_async();
    kernel.setArg(0, out);
    cl.queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(8));
    line("round ", round, ": ", cl.read(out, 8)[7]);
    first.wait();
    second.wait();
  }
  ClBufferTensor held = first.get_tensor("y").as<ClBufferTensor>();
  line(first.get_input_tensor().is<ClBufferTensor>(), ' ', held.get() == between.get());
}

/// One tensor of each kind at input and output; the results lie where they were asked for.
void in_place(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.context.get());
  const auto model = sum_model({1, 8});
  ov::CompiledModel compiled = core.compile_model(model, context, ov::hint::inference_precision(ov::element::f32));
  ov::InferRequest request = compiled.create_infer_request();
  ov::Tensor host(ov::element::f32, {1, 8});
  const auto filled = [&](float value) {
    std::fill_n(host.data<float>(), 8, value);
    return host;
  };
  auto usm_host = context.create_usm_host_tensor(ov::element::f32, {1, 8});
  auto usm_device = context.create_usm_device_tensor(ov::element::f32, {1, 8});
  auto own = context.create_tensor(ov::element::f32, {1, 8});
  usm_device.copy_from(filled(2));
  std::fill_n(static_cast<float*>(usm_host.get()), 8, 3.0F);
  own.copy_from(filled(4));
  for (const ov::Tensor& input : std::initializer_list<ov::Tensor>{usm_host, usm_device, own}) {
    request.set_input_tensor(input);
    request.infer();
    print_values("into the request's own", request.get_output_tensor(), 2);
  }
  auto out = context.create_usm_host_tensor(ov::element::f32, {1, 8});
  request.set_output_tensor(out);
  request.infer();
  line("into memory of the host ", static_cast<float*>(out.get())[7]);
  auto device_out = context.create_usm_device_tensor(ov::element::f32, {1, 8});
  request.set_output_tensor(device_out);
  request.set_input_tensor(filled(10));
  request.infer();
  ov::Tensor back(ov::element::f32, {1, 8});
  device_out.copy_to(back);
  print_values("of the host into the device", back, 2);
  request.set_output_tensor(host);
  request.set_input_tensor(usm_device);
  request.infer();
  print_values("into the program's", host, 2);
  refused("another shape", [&] {
    request.set_input_tensor(context.create_usm_device_tensor(ov::element::f32, {1, 9}));
  });
  refused("another type", [&] {
    request.set_input_tensor(context.create_usm_device_tensor(ov::element::i32, {1, 8}));
  });
  refused("an empty one", [&] { request.set_input_tensor(ov::RemoteTensor()); });
}

void open_shapes(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.context.get());
  ov::CompiledModel compiled =
      core.compile_model(sum_model({-1, 4}), context, ov::hint::inference_precision(ov::element::f32));
  ov::InferRequest request = compiled.create_infer_request();
  for (const std::size_t rows : {1, 3, 2}) {
    auto x = context.create_usm_host_tensor(ov::element::f32, {rows, 4});
    std::fill_n(static_cast<float*>(x.get()), rows * 4, static_cast<float>(rows));
    request.set_input_tensor(x);
    request.infer();
    print_values("rows", request.get_output_tensor(), 5);
  }
}

void batches(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.context.get());
  auto model = sum_model({2, 4});
  model->get_parameters()[0]->set_layout("N?");
  ov::InferRequest request =
      core.compile_model(model, context, ov::hint::inference_precision(ov::element::f32)).create_infer_request();
  std::vector<ov::Tensor> rows;
  for (int i = 0; i < 2; ++i)
    rows.emplace_back(
        context.create_tensor(ov::element::f32, {1, 4}, cl.buffer(std::vector<float>(4, static_cast<float>(i * 5)))));
  refused("rows of remote tensors", [&] {
    request.set_tensors("x", rows);
    request.infer();
    print_values("rows", request.get_output_tensor(), 8);
  });
}

/// NV12 as a decoder leaves it: two images a picture.
void pictures(ov::Core& core) {
  using namespace ov::preprocess;
  auto model = sum_model({1, 3, 4, 4});
  PrePostProcessor ppp(model);
  ppp.input()
      .tensor()
      .set_element_type(ov::element::u8)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_memory_type(ov::intel_gpu::memory_type::surface);
  ppp.input().preprocess().convert_color(ColorFormat::RGB);
  ppp.input().model().set_layout("NCHW");
  model = ppp.build();
  for (const auto& input : model->inputs())
    line("plane ", input.get_any_name(), ' ', input.get_element_type(), input.get_shape());
  ov::CompiledModel compiled = core.compile_model(model, "GPU", ov::hint::inference_precision(ov::element::f32));
  ClContext context = compiled.get_context().as<ClContext>();
  cl::Context cl_context(context.get(), true);
  cl::CommandQueue queue(cl_context, cl_context.getInfo<CL_CONTEXT_DEVICES>().at(0));
  std::vector<cl::ImageFormat> formats;
  cl_context.getSupportedImageFormats(CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, &formats);
  bool pairs = false;
  for (const cl::ImageFormat& format : formats)
    pairs |= format.image_channel_order == CL_RG && format.image_channel_data_type == CL_UNORM_INT8;
  // PoCL has no CL_RG: there U and V are neighbours in an image of one component.
  const std::size_t columns = pairs ? 2 : 4;
  cl::Image2D y(cl_context, CL_MEM_READ_WRITE, cl::ImageFormat(CL_R, CL_UNORM_INT8), 4, 4);
  cl::Image2D uv(cl_context, CL_MEM_READ_WRITE, cl::ImageFormat(pairs ? CL_RG : CL_R, CL_UNORM_INT8), columns, 2);
  ov::InferRequest request = compiled.create_infer_request();
  auto planes = context.create_tensor_nv12(y, uv);
  line(planes.first.get_shape(), ' ', planes.second.get_shape(), ' ', planes.first.is<ClImage2DTensor>(), ' ',
       planes.first.is<ClBufferTensor>(), ' ', planes.second.get() == uv.get());
  request.set_tensor(compiled.input(0), planes.first);
  request.set_tensor(compiled.input(1), planes.second);
  for (const int shade : {16, 126, 235}) {
    const std::vector<unsigned char> luma(16, static_cast<unsigned char>(shade)), chroma(8, 128);
    queue.enqueueWriteImage(y, CL_TRUE, {0, 0, 0}, {4, 4, 1}, 0, 0, luma.data());
    queue.enqueueWriteImage(uv, CL_TRUE, {0, 0, 0}, {columns, 2, 1}, 0, 0, chroma.data());
    queue.finish();
    request.infer();
    line("gray ", static_cast<int>(request.get_output_tensor().data<float>()[0] + 0.5F));
  }
}

void settings(ov::Core& core) {
  const auto model = sum_model({1, 8});
  core.set_property("GPU", ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT));
  core.set_property("GPU",
                    {ov::intel_gpu::hint::queue_priority(ov::hint::Priority::LOW),
                     ov::intel_gpu::hint::queue_throttle(ov::intel_gpu::hint::ThrottleLevel::HIGH),
                     ov::intel_gpu::hint::host_task_priority(ov::hint::Priority::HIGH),
                     ov::intel_gpu::disable_winograd_convolution(true), ov::intel_gpu::enable_loop_unrolling(false),
                     ov::intel_gpu::hint::enable_sdpa_optimization(false), ov::enable_profiling(true)});
  line(core.get_property("GPU", ov::hint::performance_mode), ' ',
       core.get_property("GPU", ov::intel_gpu::hint::queue_priority), ' ',
       core.get_property("GPU", ov::intel_gpu::hint::queue_throttle), ' ',
       core.get_property("GPU", ov::intel_gpu::hint::host_task_priority), ' ',
       core.get_property("GPU", ov::intel_gpu::disable_winograd_convolution), ' ',
       core.get_property("GPU", ov::intel_gpu::enable_loop_unrolling), ' ',
       core.get_property("GPU", ov::intel_gpu::hint::enable_sdpa_optimization), ' ',
       core.get_property("GPU", ov::enable_profiling));
  core.set_property("GPU",
                    {ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY),
                     ov::intel_gpu::hint::queue_priority(ov::hint::Priority::MEDIUM),
                     ov::intel_gpu::hint::queue_throttle(ov::intel_gpu::hint::ThrottleLevel::MEDIUM),
                     ov::intel_gpu::hint::host_task_priority(ov::hint::Priority::MEDIUM),
                     ov::intel_gpu::disable_winograd_convolution(false), ov::intel_gpu::enable_loop_unrolling(true),
                     ov::intel_gpu::hint::enable_sdpa_optimization(true), ov::enable_profiling(false)});
  line(core.get_property("GPU", ov::intel_gpu::device_total_mem_size) > 0, ' ',
       core.get_property("GPU", ov::intel_gpu::device_max_alloc_mem_size) > 0, ' ',
       core.get_property("GPU", ov::intel_gpu::execution_units_count) > 0, ' ',
       core.get_property("GPU", ov::intel_gpu::uarch_version).empty(), ' ',
       core.get_property("GPU", ov::device::full_name).empty(), ' ',
       core.get_property("GPU", ov::available_devices).at(0), ' ', core.get_property("GPU", ov::max_batch_size) >= 1);
  const auto names = core.get_property("GPU", ov::supported_properties);
  print_known(names, {"AVAILABLE_DEVICES",
                      "RANGE_FOR_ASYNC_INFER_REQUESTS",
                      "RANGE_FOR_STREAMS",
                      "OPTIMAL_BATCH_SIZE",
                      "MAX_BATCH_SIZE",
                      "DEVICE_ARCHITECTURE",
                      "FULL_DEVICE_NAME",
                      "DEVICE_UUID",
                      "DEVICE_LUID",
                      "DEVICE_TYPE",
                      "DEVICE_GOPS",
                      "OPTIMIZATION_CAPABILITIES",
                      "GPU_DEVICE_TOTAL_MEM_SIZE",
                      "GPU_UARCH_VERSION",
                      "GPU_EXECUTION_UNITS_COUNT",
                      "GPU_MEMORY_STATISTICS",
                      "PERF_COUNT",
                      "MODEL_PRIORITY",
                      "GPU_HOST_TASK_PRIORITY",
                      "GPU_QUEUE_PRIORITY",
                      "GPU_QUEUE_THROTTLE",
                      "GPU_ENABLE_SDPA_OPTIMIZATION",
                      "GPU_ENABLE_LOOP_UNROLLING",
                      "GPU_DISABLE_WINOGRAD_CONVOLUTION",
                      "CACHE_DIR",
                      "PERFORMANCE_HINT",
                      "EXECUTION_MODE_HINT",
                      "COMPILATION_NUM_THREADS",
                      "NUM_STREAMS",
                      "PERFORMANCE_HINT_NUM_REQUESTS",
                      "INFERENCE_PRECISION_HINT",
                      "ENABLE_CPU_PINNING",
                      "DEVICE_ID",
                      "DYNAMIC_QUANTIZATION_GROUP_SIZE",
                      "ACTIVATIONS_SCALE_FACTOR",
                      "KV_CACHE_PRECISION",
                      "GPU_DEVICE_MAX_ALLOC_MEM_SIZE"});
  ov::CompiledModel compiled = core.compile_model(model, "GPU", ov::hint::inference_precision(ov::element::f32),
                                                  ov::hint::execution_mode(ov::hint::ExecutionMode::ACCURACY),
                                                  ov::hint::num_requests(2), ov::num_streams(1));
  line(compiled.get_property(ov::hint::inference_precision), ' ', compiled.get_property(ov::hint::execution_mode), ' ',
       compiled.get_property(ov::num_streams), ' ', compiled.get_property(ov::hint::num_requests), ' ',
       compiled.get_property(ov::execution_devices).at(0), ' ', compiled.get_property(ov::model_name), ' ',
       compiled.get_property(ov::optimal_number_of_infer_requests) >= 1);
  print_known(compiled.get_property(ov::supported_properties),
              {"DEVICE_ID", "GPU_HOST_TASK_PRIORITY", "GPU_ENABLE_LOOP_UNROLLING", "GPU_DISABLE_WINOGRAD_CONVOLUTION",
               "DYNAMIC_QUANTIZATION_GROUP_SIZE", "ACTIVATIONS_SCALE_FACTOR", "OFFLOAD_RATIO", "ENABLE_CPU_PINNING"});
  line(compiled.get_property(ov::intel_gpu::hint::host_task_priority), ' ',
       compiled.get_property(ov::intel_gpu::enable_loop_unrolling), ' ', compiled.get_property(ov::device::id));
  refused("a throttle that is none", [&] { core.set_property("GPU", {{"GPU_QUEUE_THROTTLE", "FULL"}}); });
  refused(
      "no such key", [&] { core.get_property("GPU", "NO_SUCH_KEY"); }, "NO_SUCH_KEY");
}

void blobs(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.context.get());
  ov::CompiledModel compiled =
      core.compile_model(sum_model({1, 8}), context, ov::hint::inference_precision(ov::element::f32));
  std::stringstream blob;
  compiled.export_model(blob);
  ov::CompiledModel imported = core.import_model(blob, context);
  ov::InferRequest request = imported.create_infer_request();
  cl::Buffer in = cl.buffer(std::vector<float>(8, 6.0F));
  request.set_input_tensor(context.create_tensor(ov::element::f32, {1, 8}, in));
  request.infer();
  print_values("imported", request.get_output_tensor(), 2);
  refused("no blob", [&] {
    std::stringstream none("no blob");
    core.import_model(none, context);
  });
}

void states(ov::Core& core) {
  ov::CompiledModel compiled =
      core.compile_model(stateful_model(), "GPU", ov::hint::inference_precision(ov::element::f32));
  ov::Tensor host(ov::element::f32, {1, 2});
  std::fill_n(host.data<float>(), 2, 70.0F);
  auto remote = compiled.get_context().create_tensor(ov::element::f32, {1, 2});
  remote.copy_from(host);
  print_states(compiled, remote);
}

void several(ov::Core& core) {
  const OpenCl cl;
  ClContext context(core, cl.context.get());
  ov::CompiledModel compiled =
      core.compile_model(sum_model({1, 8}), context, ov::hint::inference_precision(ov::element::f32));
  std::atomic<int> called{0};  // Outlives the requests.
  std::vector<ov::InferRequest> requests;
  for (int i = 0; i < 4; ++i) {
    requests.push_back(compiled.create_infer_request());
    requests.back().set_callback([&](std::exception_ptr error) { called += error ? 100 : 1; });
    requests.back().set_input_tensor(
        context.create_tensor(ov::element::f32, {1, 8}, cl.buffer(std::vector<float>(8, static_cast<float>(i)))));
    requests.back().start_async();
  }
  for (auto& each : requests) {
    each.wait();
    print_values("one of them", each.get_output_tensor(), 1);
  }
  line("called ", called.load(), ' ', requests[0].wait_for(std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace gpu_programs

void gpu(ov::Core& core) {
  run("contexts", [&] { gpu_programs::contexts(core); });
  run("tensors", [&] { gpu_programs::tensors(core); });
  run("copies", [&] { gpu_programs::copies(core); });
  run("on its queue", [&] { gpu_programs::on_its_queue(core); });
  run("in place", [&] { gpu_programs::in_place(core); });
  run("open shapes", [&] { gpu_programs::open_shapes(core); });
  run("batches", [&] { gpu_programs::batches(core); });
  run("pictures", [&] { gpu_programs::pictures(core); });
  run("settings", [&] { gpu_programs::settings(core); });
  run("blobs", [&] { gpu_programs::blobs(core); });
  run("states", [&] { gpu_programs::states(core); });
  run("several", [&] { gpu_programs::several(core); });
}
