// SPDX-License-Identifier: Apache-2.0
// The GPU device over PoCL, or whatever OpenCL devices there are: contexts, queues and tensors of the application's.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>
#include <thread>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/public/properties.hpp>
#include <tenon/devices/gpu/public/va.hpp>
#include <tenon/devices/gpu/remote/va_library.hpp>
#include <tenon/devices/gpu/testing/gpu.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/graph/exec_model_info.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/wanted.hpp>
#include <tenon/runtime/roofline.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::gpu_testing {
namespace gpu_device_test {

using intel_gpu::ocl::ClBufferTensor;
using intel_gpu::ocl::ClContext;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <typename Body>
std::string message_of(Body&& body) {
  return error_of(std::forward<Body>(body)).what();
}

TEST_F(Gpu, TheDefaultContextIsOne) {
  ClContext context(core);
  EXPECT_NE(context.get(), nullptr);
  EXPECT_EQ(ClContext(core).get(), context.get());
  EXPECT_EQ(core.compile_model(line_model(), "GPU").get_context().as<ClContext>().get(), context.get());
  EXPECT_EQ(context.get_params().at("CONTEXT_TYPE").as<std::string>(), "OCL");
  EXPECT_EQ(context.get_params().at("OCL_QUEUE").as<void*>(), nullptr);
}

TEST_F(Gpu, RunsInTheApplicationsContextOnItsBuffers) {
  const cl_uint references = app.references();
  {
    ClContext context(core, app.context);
    EXPECT_EQ(context.get(), app.context);
    auto request = core.compile_model(line_model(), context).create_infer_request();
    const cl_mem x = app.buffer(kCount * 4), y = app.buffer(kCount * 4);
    auto in = context.create_tensor(element::f32, Shape{kCount}, x);
    auto out = context.create_tensor(element::f32, Shape{kCount}, y);
    EXPECT_EQ(in.get(), x);
    EXPECT_THROW(static_cast<Tensor&>(in).data(), Error) << "its host address is hidden";
    const float begin = 5;
    app.run("fill", {x}, &begin);
    clFinish(app.queue);
    request.set_tensor("x", in);
    request.set_tensor("y", out);
    request.infer();
    const auto values = app.read(y);
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 2 * (5 + static_cast<float>(i)) + 1);
    EXPECT_EQ(request.ledger().total().copied, 0u);
    EXPECT_EQ(request.ledger().total().transferred, 0u);
    clReleaseMemObject(x), clReleaseMemObject(y);
  }
  drain_deferred(default_deadline());
  EXPECT_TRUE(app.references_fall_to(references)) << "something still holds the application's context";
}

TEST_F(Gpu, SurfacesAreRefusedByWhatIsMissing) {
  int display = 0;
  const Context here = opencl::make_context(app.device);
  const bool takes_memory =
      opencl::imports(here, FdKind::kDmabuf) || opencl::coherency(here) == opencl::Coherency::kStanding;
  if (gpu_device::va_obstacle().empty() && takes_memory) {
    EXPECT_EQ(static_cast<void*>(intel_gpu::ocl::VAContext(core, &display)), static_cast<void*>(&display));
  } else {
    const std::string text = message_of([&] { intel_gpu::ocl::VAContext(core, &display); });
    EXPECT_THAT(text, HasSubstr("cl_intel_va_api_media_sharing"));
    EXPECT_THAT(text, HasSubstr("By a dma-buf: "));
    EXPECT_THAT(text, HasSubstr("In the host's memory: "));
  }
  EXPECT_THAT(message_of([&] {
                core.get_default_context("GPU").create_tensor(
                    element::u8, Shape{1, 8, 16, 1},
                    {{"SHARED_MEM_TYPE", "VA_SURFACE"}, {"DEV_OBJECT_HANDLE", std::uint32_t{5}}});
              }),
              HasSubstr("Shared context is required"));
  EXPECT_THAT(message_of([&] { intel_gpu::ocl::VAContext(core, nullptr); }), HasSubstr("user handle is nullptr"));
}

/// Another API's memory: behind the layer of frameworks/opencl that adds external memory to a CPU's platform.
TEST_F(Gpu, MemoryOfOtherApisIsUsedInPlace) {
  ClContext context(core);
  // By each of the keys that name a descriptor.
  bool by_pointer = false;
  const auto wrap = [&](int fd) -> RemoteTensor {
    by_pointer = !by_pointer;
    if (!by_pointer) return context.create_tensor(element::f32, Shape{kCount}, intel_gpu::SharedBufferHandle{fd});
    return static_cast<RemoteContext&>(context).create_tensor(
        element::f32, Shape{kCount},
        {{"SHARED_MEM_TYPE", "BUFFER_FROM_HANDLE"},
         {"MEM_HANDLE", reinterpret_cast<void*>(static_cast<std::intptr_t>(fd))}});
  };
  for (int i = 0; i < 2; ++i) EXPECT_THAT(message_of([&] { wrap(-1); }), HasSubstr("must be a valid file descriptor"));
  const UniqueFd memory = dmabuf::client::sealed_memfd(kCount * sizeof(float));
  auto* const theirs =
      static_cast<float*>(::mmap(nullptr, kCount * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0));
  std::iota(theirs, theirs + kCount, 5.0f);
  std::string reason;
  if (!opencl::imports(opencl::make_context(app.device), FdKind::kMemfd, &reason)) {
    EXPECT_THAT(message_of([&] { wrap(memory.get()); }), HasSubstr(reason));
  } else {
    auto request = core.compile_model(line_model(), context).create_infer_request();
    for (int i = 0; i < 2; ++i) {
      const RemoteTensor in = wrap(memory.get());
      EXPECT_EQ(in.get_params().at("SHARED_MEM_TYPE").as<std::string>(), "BUFFER_FROM_HANDLE");
      request.set_tensor("x", in);
      request.infer();
      for (std::size_t x = 0; x < kCount; ++x)
        ASSERT_EQ(request.get_tensor("y").data<float>()[x], 2 * (5 + static_cast<float>(x)) + 1);
    }
    EXPECT_EQ(request.ledger().total().copied, 0u);
  }
  ::munmap(theirs, kCount * sizeof(float));
}

TEST_F(Gpu, PagesOfTheApplicationAreUsedInPlace) {
  using intel_gpu::VirtualAddressMemory;
  ClContext context(core);
  constexpr std::size_t kBytes = kCount * sizeof(float);
  const auto pages = [] {
    return std::unique_ptr<float, decltype(&std::free)>(static_cast<float*>(std::aligned_alloc(4096, kBytes)),
                                                        &std::free);
  };
  const auto x = pages(), y = pages();
  const auto wrap = [&](void* at, std::int64_t size) {
    return context.create_tensor(element::f32, Shape{kCount}, VirtualAddressMemory(at, size));
  };
  EXPECT_THAT(message_of([&] { wrap(nullptr, -1); }), HasSubstr("must not be nullptr"));
  EXPECT_THAT(message_of([&] { wrap(x.get(), 100); }), HasSubstr("4096"));
  if (opencl::coherency(opencl::make_context(app.device)) != opencl::Coherency::kStanding) {
    EXPECT_THAT(message_of([&] { wrap(x.get(), -1); }), HasSubstr("give the request a Tensor"));
    return;
  }
  EXPECT_THAT(message_of([&] { wrap(reinterpret_cast<std::byte*>(x.get()) + 4, -1); }), HasSubstr("aligned_alloc"));
  auto request = core.compile_model(line_model(), context).create_infer_request();
  const ClBufferTensor in = wrap(x.get(), kBytes);
  EXPECT_EQ(in.get_params().at("SHARED_MEM_TYPE").as<std::string>(), "CPU_VA");
  request.set_tensor("x", in);
  request.set_tensor("y", wrap(y.get(), -1));
  for (int round = 0; round < 3; ++round) {
    std::iota(x.get(), x.get() + kCount, static_cast<float>(round));
    request.infer();
    for (std::size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(y.get()[i], 2 * static_cast<float>(round + static_cast<int>(i)) + 1);
  }
  EXPECT_EQ(request.ledger().total().copied + request.ledger().total().transferred, 0u);
}

/// A user's kernel, an inference, a user's kernel: one queue, and the host does not wait in between.
TEST_F(Gpu, AQueueIsSharedWithoutAWaitOfTheHost) {
  ClContext context(core, app.queue);
  EXPECT_EQ(context.get_params().at("OCL_QUEUE").as<void*>(), app.queue);
  auto request = core.compile_model(line_model(), context).create_infer_request();
  const cl_mem x = app.buffer(kCount * 4), y = app.buffer(kCount * 4), z = app.buffer(kCount * 4);
  request.set_tensor("x", context.create_tensor(element::f32, Shape{kCount}, x));
  request.set_tensor("y", context.create_tensor(element::f32, Shape{kCount}, y));
  // Nothing in the queue can run before this is set.
  const cl_event gate = clCreateUserEvent(app.context, nullptr);
  const float begin = 3;
  app.run("fill", {x}, &begin, gate);
  const auto waits = request.ledger().total().waits;
  request.start_async();
  app.run("twice", {y, z});
  EXPECT_FALSE(request.wait_for(std::chrono::milliseconds(20))) << "the inference ran before its input was written";
  clSetUserEventStatus(gate, CL_COMPLETE);
  request.wait();
  EXPECT_EQ(request.ledger().total().waits, waits);
  const auto values = app.read(z);
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 2 * (2 * (3 + static_cast<float>(i)) + 1));
  for (cl_mem each : {x, y, z}) clReleaseMemObject(each);
  clReleaseEvent(gate);
}

TEST_F(Gpu, AnOutOfOrderQueueKeepsTheOrderOfKernels) {
  Application loose(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  ClContext context(core, loose.queue);
  auto request = core.compile_model(line_model(), context).create_infer_request();
  std::iota(request.get_tensor("x").data<float>(), request.get_tensor("x").data<float>() + kCount, 0.0f);
  for (int i = 0; i < 20; ++i) {
    request.infer();
    ASSERT_EQ(request.get_tensor("y").data<float>()[7], 15);
  }
}

TEST_F(Gpu, HostTensorsAreSharedWhereTheDeviceSharesMemory) {
  auto request = core.compile_model(line_model(), "GPU").create_infer_request();
  Tensor in(element::f32, Shape{kCount}), out(element::f32, Shape{kCount});
  std::iota(in.data<float>(), in.data<float>() + kCount, 0.0f);
  request.set_tensor("x", in);
  request.set_tensor("y", out);
  request.infer();
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(out.data<float>()[i], 2 * static_cast<float>(i) + 1);
  const auto total = request.ledger().total();
  if (opencl::coherency(opencl::make_context(app.device)) == opencl::Coherency::kStanding)
    EXPECT_EQ(total.copied + total.transferred, 0u);
  else
    EXPECT_EQ(total.transferred, 2 * kCount * sizeof(float));
}

TEST_F(Gpu, RemoteTensorsCopyBothWays) {
  ClContext context(core);
  RemoteTensor tensor = context.create_tensor(element::f32, Shape{4, 8});
  Tensor values(element::f32, Shape{4, 8}), back;
  std::iota(values.data<float>(), values.data<float>() + 32, 0.0f);
  tensor.copy_from(values);
  tensor.copy_to(back);
  EXPECT_EQ(std::memcmp(back.data(), values.data(), 128), 0);
  RemoteTensor part(tensor, Shape{1, 2}, Shape{3, 6});
  Tensor small;
  part.copy_to(small);
  EXPECT_EQ(small.shape(), (Shape{2, 4}));
  EXPECT_EQ(small.data<float>()[5], 19);
  EXPECT_EQ(tensor.get_params().at("SHARED_MEM_TYPE").as<std::string>(), "OCL_BUFFER");
}

TEST_F(Gpu, PartsOfRemoteTensorsAreInputsAndOutputs) {
  ClContext context(core);
  RemoteTensor wide = context.create_tensor(element::f32, Shape{4, kCount});
  Tensor values(element::f32, Shape{4, kCount});
  std::iota(values.data<float>(), values.data<float>() + 4 * kCount, 0.0f);
  wide.copy_from(values);
  const auto row = [&](std::size_t i) { return RemoteTensor(wide, Shape{i, 0}, Shape{i + 1, kCount}); };
  auto model = line_model();
  model->reshape(PartialShape{1, kCount});
  auto request = core.compile_model(model, context).create_infer_request();
  request.set_tensor("x", row(1));
  request.set_tensor("y", row(2));
  request.infer();
  wide.copy_to(values);
  for (std::size_t i = 0; i < 4 * kCount; ++i) {
    const float kept = static_cast<float>(i);
    ASSERT_EQ(values.data<float>()[i], i / kCount == 2 ? 2 * (kept - kCount) + 1 : kept) << i;
  }
  EXPECT_EQ(request.ledger().total().copied + request.ledger().total().transferred, 0u);
}

TEST_F(Gpu, ColumnsOfRemoteTensorsAreInputsAndNoOutputs) {
  ClContext context(core);
  RemoteTensor wide = context.create_tensor(element::f32, Shape{4, 64});
  Tensor values(element::f32, Shape{4, 64});
  std::iota(values.data<float>(), values.data<float>() + 4 * 64, 0.0f);
  wide.copy_from(values);
  auto model = line_model();
  model->reshape(PartialShape{4, 16});
  auto request = core.compile_model(model, context).create_infer_request();
  const RemoteTensor columns(wide, Shape{0, 8}, Shape{4, 24});
  request.set_tensor("x", columns);
  request.infer();
  const Tensor y = request.get_tensor("y");
  for (std::size_t i = 0; i < 4 * 16; ++i)
    ASSERT_EQ(y.data<float>()[i], 2 * static_cast<float>(i / 16 * 64 + 8 + i % 16) + 1) << i;
  EXPECT_EQ(moved_beside_results(request.ledger()), 0u);
  EXPECT_THAT(message_of([&] { request.set_tensor("y", columns); }), HasSubstr("is strided; copy_to() a packed one"));
}

/// USM, or SVM where there is none: the device's own, and an application's.
TEST_F(Gpu, PointersAreUsedInPlace) {
  const auto device = opencl::client::read_device(app.device);
  if (!device.usm && !(device.svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) GTEST_SKIP() << "neither USM nor SVM";
  ClContext context(core, app.context);
  auto request = core.compile_model(line_model(), context).create_infer_request();
  auto x = context.create_usm_device_tensor(element::f32, Shape{kCount});
  auto y = context.create_usm_host_tensor(element::f32, Shape{kCount});
  EXPECT_NE(x.get(), nullptr);
  EXPECT_EQ(y.get_params().at("SHARED_MEM_TYPE").as<std::string>(), "USM_HOST_BUFFER");
  // The host's own is reached by address, where the platform says that it may be: USM, and SVM of fine grain.
  const Tensor &on_host = y, &on_device = x;
  if (device.usm || (device.svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER)) {
    EXPECT_EQ(on_host.data(), y.get());
  }
  EXPECT_THAT(message_of([&] { on_device.data(); }), HasSubstr("copy_to()"));
  Tensor values(element::f32, Shape{kCount}), back;
  std::iota(values.data<float>(), values.data<float>() + kCount, 0.0f);
  x.copy_from(values);
  request.set_tensor("x", x);
  request.set_tensor("y", y);
  request.infer();
  y.copy_to(back);
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(back.data<float>()[i], 2 * static_cast<float>(i) + 1);
  // The result of one inference is the input of the next: through a tensor over the same pointer, a part of it.
  auto same = context.create_tensor(element::f32, Shape{kCount}, y.get());
  EXPECT_EQ(same.get(), y.get());
  request.set_tensor("x", same);
  request.set_tensor("y", x);
  request.infer();
  x.copy_to(back);
  EXPECT_EQ(back.data<float>()[3], 15);
  EXPECT_EQ(request.ledger().total().copied + request.ledger().total().transferred, 0u);
  EXPECT_THAT(message_of([&] { context.create_tensor(element::f32, Shape{4}, static_cast<void*>(nullptr)); }),
              HasSubstr("MEM_HANDLE"));
}

TEST_F(Gpu, BadHandlesAreRefusedAndNothingIsHeld) {
  const cl_uint references = app.references();
  {
    ClContext context(core, app.context);
    const auto tensor = [&](cl_mem memory) {
      return message_of([&] { context.create_tensor(element::f32, Shape{kCount}, memory); });
    };
    EXPECT_THAT(tensor(nullptr), HasSubstr("MEM_HANDLE"));
    const cl_mem small = app.buffer(64);
    EXPECT_THAT(tensor(small), ::testing::AllOf(HasSubstr("64 bytes"), HasSubstr("4096")));
    clReleaseMemObject(small);
    Application other;
    const cl_mem foreign = other.buffer(kCount * 4);
    EXPECT_THAT(tensor(foreign), HasSubstr("another cl_context"));
    clReleaseMemObject(foreign);
    EXPECT_THAT(message_of([&] { ClContext(core, static_cast<cl_context>(nullptr)); }), HasSubstr("nullptr"));
    EXPECT_THAT(message_of([&] { ClContext(core, static_cast<cl_command_queue>(nullptr)); }), HasSubstr("queue"));
    EXPECT_THAT(message_of([&] { ClContext(core, app.context, 7); }),
                AllOf(HasSubstr("Exactly one device"), HasSubstr("OCL_CONTEXT_DEVICE_ID is 7"),
                      HasSubstr("has 1 device: give 0")));
    EXPECT_THAT(message_of([&] {
                  core.create_context("GPU", {{"OCL_CONTEXT", static_cast<void*>(app.context)}});
                }),
                HasSubstr("CONTEXT_TYPE"));
    ClContext shared(core, app.queue);
    EXPECT_THAT(message_of([&] { core.compile_model(line_model(), shared, num_streams(4)); }),
                HasSubstr("Throughput streams can't be used with shared queue"));
  }
  drain_deferred(default_deadline());
  EXPECT_TRUE(app.references_fall_to(references));
}

TEST_F(Gpu, AMissingDeviceAndAMissingKernelAreNamed) {
  EXPECT_THAT(message_of([&] { core.compile_model(line_model(), "GPU.99"); }), HasSubstr("99"));
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, 2});
  auto greatest = make_node("SegmentMax", 16, {x, op::v0::Constant::create(element::i32, Shape{2}, {0, 1})},
                            {{"fill_mode", std::string("zero")}}, "the greatest");
  auto model = std::make_shared<Model>(OutputVector{greatest}, ParameterVector{x});
  EXPECT_THAT(message_of([&] { core.compile_model(model, "GPU"); }),
              ::testing::AllOf(HasSubstr("the greatest"), HasSubstr("no kernel"), HasSubstr("HETERO")));
  EXPECT_EQ(core.query_model(model, "GPU").count("the greatest"), 0u);
}

/// softmax(x x^T) x, as exporters write it.
std::shared_ptr<Model> attention_model() {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2, 8, 16});
  const auto scores = make_node("MatMul", 0, {x, x}, {{"transpose_a", false}, {"transpose_b", true}}, "scores");
  const auto scale = op::v0::Constant::create(element::f32, Shape{}, {0.25});
  const auto scaled = make_node("Multiply", 1, {scores, scale}, {}, "scaled");
  const auto weights = make_node("Softmax", 8, {scaled}, {{"axis", -1}}, "weights");
  const auto out = make_node("MatMul", 0, {weights, x}, {{"transpose_a", false}, {"transpose_b", false}}, "out");
  return std::make_shared<Model>(OutputVector{out}, ParameterVector{x}, "attention");
}

TEST_F(Gpu, AttentionIsOneNodeUnlessThatIsTurnedOff) {
  const auto softmaxes = [&](const AnyMap& settings) {
    const auto steps = core.compile_model(attention_model(), "GPU", settings).get_runtime_model();
    std::size_t count = 0;
    for (const auto& node : steps->get_ordered_ops())
      count += node->get_rt_info().at(exec_model_info::LAYER_TYPE).to_text() == "Softmax";
    return count;
  };
  EXPECT_EQ(softmaxes({}), 0u);
  EXPECT_GE(softmaxes({intel_gpu::hint::enable_sdpa_optimization(false)}), 1u);
}

TEST_F(Gpu, WhatGrowsGetsNoMoreRoomThanTheDeviceAllocatesAtOnce) {
  const auto gpu = gpu_device::find_gpu("");
  const std::size_t most = gpu->native().device.max_allocation;
  EXPECT_EQ(gpu->with_room(100), 150u);
  EXPECT_EQ(gpu->with_room(most - 10), most);
  EXPECT_EQ(gpu->with_room(most + 10), most + 10) << "which is refused as ever";
}

TEST_F(Gpu, QueuesGetTheHintsThatAreAskedFor) {
  using Priority = hint::Priority;
  const auto gpu = gpu_device::find_gpu("");
  const bool has_hints = gpu->native().device.has("cl_khr_priority_hints");
  if (!has_hints) {
    EXPECT_THAT(message_of([&] {
                  core.compile_model(line_model(), "GPU", intel_gpu::hint::queue_priority(Priority::HIGH))
                      .create_infer_request();
                }),
                HasSubstr("cl_khr_priority_hints"));
    return;
  }
  const auto queue = gpu_device::make_queue(*gpu, false, Priority::HIGH, Priority::MEDIUM);
  constexpr cl_command_queue_info kList = 0x1098;  // CL_QUEUE_PROPERTIES_ARRAY, of OpenCL 3.0.
  std::vector<cl_queue_properties> list(8, 0);
  if (clGetCommandQueueInfo(queue.get(), kList, list.size() * sizeof list[0], list.data(), nullptr) == CL_SUCCESS) {
    const auto found = std::find(list.begin(), list.end(), cl_queue_properties{CL_QUEUE_PRIORITY_KHR});
    ASSERT_NE(found, list.end());
    EXPECT_EQ(found[1], cl_queue_properties{CL_QUEUE_PRIORITY_HIGH_KHR});
  }
  ClContext shared(core, app.queue);
  EXPECT_THAT(
      message_of([&] { core.compile_model(line_model(), shared, intel_gpu::hint::queue_priority(Priority::HIGH)); }),
      HasSubstr("application's queue"));
}

TEST_F(Gpu, WishesThatChangeNothingAreKept) {
  EXPECT_TRUE(core.get_property("GPU", intel_gpu::disable_winograd_convolution));
  const AnyMap wishes{intel_gpu::disable_winograd_convolution(false),
                      intel_gpu::enable_loop_unrolling(false),
                      intel_gpu::hint::host_task_priority(hint::Priority::HIGH),
                      intel_gpu::hint::enable_large_allocations(true),
                      intel_gpu::hint::enable_lora_operation(true),
                      hint::dynamic_quantization_group_size(32),
                      hint::activations_scale_factor(8.0F),
                      intel_gpu::offload_ratio(50),
                      hint::enable_cpu_pinning(true),
                      hint::enable_cpu_reservation(true)};
  core.set_property("GPU", wishes);
  for (const auto& [name, value] : wishes) EXPECT_EQ(core.get_property("GPU", name).to_text(), value.to_text()) << name;
  // A device's own wishes do not reach other cores.
  EXPECT_FALSE(Core().get_property("GPU", hint::enable_cpu_pinning));
  EXPECT_THAT(message_of([&] {
                core.set_property("GPU", {{"GPU_ENABLE_LOOP_UNROLLING", "PERHAPS"}});
              }),
              HasSubstr("GPU_ENABLE_LOOP_UNROLLING"));
  core.compile_model(line_model(), "GPU", intel_gpu::enable_loop_unrolling(true));
}

TEST_F(Gpu, MemoryThatModelsHoldIsCounted) {
  const auto held = [&] { return core.get_property("GPU", intel_gpu::memory_statistics).at("cl_mem"); };
  drain_deferred(default_deadline());
  const auto before = held();
  {
    auto request = core.compile_model(attention_model(), "GPU").create_infer_request();
    request.infer();
    EXPECT_GE(held(), before + 2 * 2 * 8 * 16 * 4) << "an input and an output at least";
  }
  drain_deferred(default_deadline());
  for (int i = 0; i < 6000 && held() > before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(held(), before);
}

TEST_F(Gpu, PartsOfADeviceAreDevices) {
  const auto whole = core.get_property("GPU.0", intel_gpu::execution_units_count);
  EXPECT_THAT(message_of([&] { core.compile_model(line_model(), "GPU.0.99"); }), HasSubstr("0.99"));
  if (whole < 2) GTEST_SKIP() << "a device of one unit has no parts";
  try {
    EXPECT_LT(core.get_property("GPU.0.1", intel_gpu::execution_units_count), whole);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not divide"));
    return;
  }
  auto compiled = core.compile_model(line_model(), "GPU.0.1");
  EXPECT_THAT(compiled.get_property(execution_devices), ::testing::ElementsAre("GPU.0.1"));
  auto request = compiled.create_infer_request();
  std::fill_n(request.get_tensor("x").data<float>(), kCount, 3.0F);
  request.infer();
  EXPECT_EQ(request.get_tensor("y").data<float>()[kCount - 1], 7.0F);
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(Gpu, TimesOfKernelsAreReported) {
  auto request = core.compile_model(line_model(), "GPU", enable_profiling(true)).create_infer_request();
  request.infer();
  const auto infos = request.get_profiling_info();
  ASSERT_FALSE(infos.empty());
  EXPECT_EQ(infos.front().exec_type, "map");
  EXPECT_EQ(infos.front().status, ProfilingInfo::Status::EXECUTED);
}

TEST_F(Gpu, MemoryAndArithmeticAreMeasuredOnce) {
  const auto gops = core.get_property("GPU", device::gops);
  const double bandwidth = core.get_property("GPU", device::memory_bandwidth);
  ASSERT_TRUE(gops.count(element::f32));
  // What no device of these days is below, or above.
  EXPECT_GT(gops.at(element::f32), 0.1F);
  EXPECT_LT(gops.at(element::f32), 1e7F);
  EXPECT_GT(bandwidth, 1e8);
  EXPECT_LT(bandwidth, 1e14);
  if (gops.count(element::f16)) {
    EXPECT_GT(gops.at(element::f16), gops.at(element::f32));
  }
  EXPECT_EQ(core.get_property("GPU.0", device::gops), gops) << "kept for the process";
  EXPECT_EQ(core.get_property("GPU.0", device::memory_bandwidth), bandwidth);
}

}  // namespace gpu_device_test
}  // namespace tenon::gpu_testing
