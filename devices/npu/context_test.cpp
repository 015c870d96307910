// SPDX-License-Identifier: Apache-2.0
// Models and tensors in an application's own ze_context.
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <thread>
#include <vector>

#include <tenon/core/hazards.hpp>
#include <tenon/devices/npu/testing/npu.hpp>
#include <tenon/frameworks/level_zero/level_zero.hpp>

namespace tenon::npu_testing {
namespace context_test {

using intel_npu::MemType;
using intel_npu::TensorType;
using intel_npu::level_zero::ZeroContext;
using level_zero::UsmType;
using ::testing::HasSubstr;

constexpr std::size_t kCount = 1000, kBytes = kCount * sizeof(float);  // Not a multiple of the page size.
const Shape kShape = {1, kCount};

/// An application without Tenon: it has a ze_context of the first NPU's driver, with memory in it.
class NpuOwnContext : public Npu {
 protected:
  void SetUp() override {
    Npu::SetUp();
    for (const level_zero::Device& found : level_zero::devices())
      if (found.is_npu() && !device) device = found.handle, driver = found.driver->handle;
    ASSERT_EQ(zeContextCreate(driver, &description, &native), ZE_RESULT_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(zeContextGetStatus(native), ZE_RESULT_SUCCESS) << "it is the application's, and was destroyed";
    for (void* data : allocations) EXPECT_EQ(zeMemFree(native, data), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeContextDestroy(native), ZE_RESULT_SUCCESS);
  }
  float* allocate(UsmType type, std::size_t bytes = kBytes) {
    const ze_host_mem_alloc_desc_t host{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    const ze_device_mem_alloc_desc_t local{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    void* data = nullptr;
    EXPECT_EQ(type == UsmType::kHost     ? zeMemAllocHost(native, &host, bytes, 64, &data)
              : type == UsmType::kDevice ? zeMemAllocDevice(native, &local, bytes, 64, device, &data)
                                         : zeMemAllocShared(native, &local, &host, bytes, 64, device, &data),
              ZE_RESULT_SUCCESS);
    allocations.push_back(data);
    return static_cast<float*>(data);
  }
  bool knows(ze_context_handle_t context, const void* data) const {
    ze_memory_allocation_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    ze_device_handle_t on = nullptr;
    EXPECT_EQ(zeMemGetAllocProperties(context, data, &properties, &on), ZE_RESULT_SUCCESS);
    return properties.type != ZE_MEMORY_TYPE_UNKNOWN;
  }
  InferRequest request(const RemoteContext& context) {
    return core.compile_model(relu(kShape), context, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  }
  static void fill(float* values) { std::iota(values, values + kCount, -500.f); }
  static void expect_relu(const float* values) {
    EXPECT_EQ(values[0], 0);
    EXPECT_EQ(values[499], 0);
    EXPECT_EQ(values[999], 499);
  }

  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t native = nullptr;
  ze_context_desc_t description{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  std::vector<void*> allocations;
};

TEST_F(NpuOwnContext, IsWhatModelsAndTensorsAreMadeIn) {
  const std::size_t before = handles();
  {
    ZeroContext context(core, native);
    EXPECT_EQ(context.get(), native);
    EXPECT_EQ(context.get_device_name(), "NPU");
    const auto default_context = static_cast<ze_context_handle_t>(ZeroContext(core).get());
    EXPECT_NE(default_context, native);
    auto compiled = core.compile_model(relu(kShape), context);
    EXPECT_EQ(compiled.get_context().get_params().at("L0_CONTEXT").as<void*>(), native);
    std::stringstream blob;
    compiled.export_model(blob);
    for (CompiledModel& model : std::vector<CompiledModel>{compiled, core.import_model(blob, context)}) {
      auto request = model.create_infer_request();
      Tensor x = request.get_tensor("x");
      EXPECT_TRUE(knows(native, x.data()));
      EXPECT_FALSE(knows(default_context, x.data()));
      fill(x.data<float>());
      request.infer();
      expect_relu(request.get_tensor("y").data<float>());
      EXPECT_TRUE(knows(native, request.get_tensor("y").data()));
    }
    EXPECT_TRUE(knows(native, context.create_l0_host_tensor(element::f32, kShape).get()));
    EXPECT_TRUE(knows(native, Tensor(context.create_host_tensor(element::f32, kShape)).data()));
  }
  EXPECT_TRUE(handles_fall_to(before)) << handles() << " of " << before;
}

TEST_F(NpuOwnContext, ItsAllocationsAreUsedInPlaceByRemoteTensors) {
  ZeroContext context(core, native);
  auto request = this->request(context);
  for (const UsmType type : {UsmType::kHost, UsmType::kDevice, UsmType::kShared}) {
    SCOPED_TRACE(name(type));
    float *in = allocate(type, kBytes + 64), *out = allocate(type);
    in += 16;  // In the middle of an allocation.
    auto x = context.create_tensor(element::f32, kShape, in, MemType::CPU_VA, TensorType::INPUT);
    auto y = context.create_tensor(element::f32, kShape, out, MemType::CPU_VA, TensorType::OUTPUT);
    EXPECT_EQ(x.get(), in);
    std::vector<float> values(kCount);
    fill(values.data());
    x.copy_from(floats(kShape, values));
    request.set_tensor("x", x);
    request.set_tensor("y", y);
    request.infer();
    expect_relu(values_of(y).data());
    if (type != UsmType::kDevice) expect_relu(out);
  }
  EXPECT_EQ(request.ledger().total().copied, 0u);
  EXPECT_THAT(error_of(
                  [&] {
                    context.create_tensor(element::f32, {2, kCount}, allocations[1], MemType::CPU_VA);
                  },
                  Code::kOutOfRange),
              HasSubstr("the tensor needs 8000"));
}

TEST_F(NpuOwnContext, ItsAllocationsAreUsedInPlaceByOrdinaryTensors) {
  ZeroContext context(core, native);
  auto request = this->request(context);
  for (const UsmType type : {UsmType::kHost, UsmType::kShared}) {
    SCOPED_TRACE(name(type));
    float *in = allocate(type), *out = allocate(type);
    fill(in);
    request.set_tensor("x", Tensor(element::f32, kShape, in));
    request.set_tensor("y", Tensor(element::f32, kShape, out));
    request.infer();
    expect_relu(out);
  }
  // Also tensors of the framework's context for the same ze_context, including device memory.
  const Context wrapped = level_zero::wrap(native, device);
  for (const UsmType type : {UsmType::kHost, UsmType::kDevice}) {
    const Tensor x = level_zero::allocate(wrapped, type, {element::f32, kShape, {}});
    std::vector<float> values(kCount);
    fill(values.data());
    wrapped->write(x, std::as_bytes(std::span(values)));
    request.set_tensor("x", x);
    request.infer();
    expect_relu(request.get_tensor("y").data<float>());
  }
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

TEST_F(NpuOwnContext, MemoryOfAnotherContextIsNotItsOwn) {
  ZeroContext own(core, native), common(core);
  auto request = this->request(own);
  EXPECT_THAT(error_of([&] { request.set_tensor("x", common.create_l0_host_tensor(element::f32, kShape)); }).what(),
              HasSubstr("not to this NPU's context"));
  auto other = this->request(common);
  EXPECT_THROW(other.set_tensor("x", own.create_l0_host_tensor(element::f32, kShape)), Error);
  EXPECT_THROW(common.create_tensor(element::f32, kShape, allocate(UsmType::kHost), MemType::CPU_VA), Error);
}

TEST_F(NpuOwnContext, TheSamePagesMayBeInTwoContexts) {
  TENON_NEEDS("sysmem");
  ZeroContext own(core, native), common(core);
  const Pages pages(4096);
  auto first = own.create_tensor(element::f32, {1024}, pages.data(), MemType::CPU_VA);
  auto second = common.create_tensor(element::f32, {1024}, pages.data(), MemType::CPU_VA);
  // Both imports still exist: asking again shares them.
  EXPECT_NO_THROW(own.create_tensor(element::f32, {1024}, pages.data(), MemType::CPU_VA));
  EXPECT_NO_THROW(common.create_tensor(element::f32, {1024}, pages.data(), MemType::CPU_VA));
}

/// Events that the application signals, from a pool in a ze_context.
class Events {
 public:
  explicit Events(ze_context_handle_t context) {
    ze_event_pool_desc_t wanted{};
    wanted.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    wanted.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    wanted.count = 8;
    EXPECT_EQ(zeEventPoolCreate(context, &wanted, 0, nullptr, &pool_), ZE_RESULT_SUCCESS);
  }
  ~Events() {
    for (ze_event_handle_t event : events_) zeEventDestroy(event);
    zeEventPoolDestroy(pool_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ze_event_handle_t next() {
    ze_event_desc_t wanted{};
    wanted.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    wanted.index = static_cast<std::uint32_t>(events_.size());
    wanted.signal = wanted.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    ze_event_handle_t event = nullptr;
    EXPECT_EQ(zeEventCreate(pool_, &wanted, &event), ZE_RESULT_SUCCESS);
    events_.push_back(event);
    return event;
  }

 private:
  ze_event_pool_handle_t pool_ = nullptr;
  std::vector<ze_event_handle_t> events_;
};

TEST_F(NpuOwnContext, TheDeviceWaitsForEventsOfItsZeContext) {
  ZeroContext context(core, native);
  Events events(native);
  auto request = this->request(context);
  const Context wrapped = level_zero::wrap(native, device);
  const Tensor x = level_zero::allocate(wrapped, UsmType::kHost, {element::f32, kShape, {}});
  request.set_tensor("x", x);
  std::uint64_t waited = 0;
  // On a busy machine the thread that waits for the fence may come to it when it is signalled: then once more.
  for (int round = 0; round < 8 && waited < 3; ++round) {
    const ze_event_handle_t event = events.next();
    level_zero::wrote(x, event);
    request.start_async();
    EXPECT_EQ(request.ledger().total().waits, waited) << "start_async has waited";
    EXPECT_FALSE(request.wait_for(std::chrono::milliseconds(5)));
    std::fill_n(x.data<float>(), kCount, -1.f);
    fill(x.data<float>());
    EXPECT_EQ(zeEventHostSignal(event), ZE_RESULT_SUCCESS);
    request.wait();
    expect_relu(request.get_tensor("y").data<float>());
    EXPECT_LE(request.ledger().total().waits, waited + 1) << "one thread waits for the fence";
    waited = request.ledger().total().waits;
  }
  EXPECT_EQ(waited, 3u);
  fill(x.data<float>());
  request.infer();  // Nothing to wait for any more.
  expect_relu(request.get_tensor("y").data<float>());
}

TEST_F(NpuOwnContext, TheHostWaitsForEventsOfOthers) {
  ZeroContext context(core, native), common(core);
  Events events(static_cast<ze_context_handle_t>(common.get()));
  auto request = this->request(context);
  const Tensor x = level_zero::allocate(level_zero::wrap(native, device), UsmType::kHost, {element::f32, kShape, {}});
  fill(x.data<float>());
  request.set_tensor("x", x);
  const ze_event_handle_t event = events.next();
  x.memory()->hazards().wrote(level_zero::point(event));
  std::thread signal([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    zeEventHostSignal(event);
  });
  request.start_async();
  EXPECT_EQ(zeEventQueryStatus(event), ZE_RESULT_SUCCESS) << "the host did not wait";
  request.wait();
  expect_relu(request.get_tensor("y").data<float>());
  signal.join();
}

TEST_F(NpuOwnContext, AnInferenceThatWaitsForAnEventIsCancelled) {
  TENON_NEEDS("cancel");
  ZeroContext context(core, native);
  Events events(native);
  auto request = this->request(context);
  const Tensor x = level_zero::allocate(level_zero::wrap(native, device), UsmType::kHost, {element::f32, kShape, {}});
  fill(x.data<float>());
  request.set_tensor("x", x);
  const ze_event_handle_t event = events.next();
  level_zero::wrote(x, event);
  request.start_async();
  request.cancel();
  EXPECT_THROW(request.wait(), Cancelled);
  EXPECT_EQ(zeEventHostSignal(event), ZE_RESULT_SUCCESS);
  request.infer();
  expect_relu(request.get_tensor("y").data<float>());
}

TEST_F(NpuOwnContext, AnEventThatNeverComesEndsTheInference) {
  if (std::getenv("TENON_NPU_WITHOUT") || std::getenv("TENON_NPU_GRAPH_VERSION") || level_zero::drivers().size() > 1)
    GTEST_SKIP() << "it takes 10 s, once is enough";
  ZeroContext context(core, native);
  Events events(native);
  auto request = this->request(context);
  const Tensor x = level_zero::allocate(level_zero::wrap(native, device), UsmType::kHost, {element::f32, kShape, {}});
  fill(x.data<float>());
  request.set_tensor("x", x);
  const ze_event_handle_t event = events.next();
  level_zero::wrote(x, event);
  request.start_async();
  EXPECT_THAT(error_of([&] { request.wait(); }, Code::kDeadlineExceeded), HasSubstr("its producer is late or gone"));
  EXPECT_EQ(zeEventHostSignal(event), ZE_RESULT_SUCCESS);
  request.infer();
  expect_relu(request.get_tensor("y").data<float>());
}

TEST_F(NpuOwnContext, CopiesOfRemoteTensorsWaitForOthers) {
  ZeroContext context(core, native);
  Events events(native);
  auto remote = context.create_l0_host_tensor(element::f32, {4});
  const ze_event_handle_t event = events.next();
  const Tensor& tensor = remote;
  tensor.memory()->hazards().wrote(level_zero::point(event));
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::fill_n(static_cast<float*>(remote.get()), 4, 6.f);
    zeEventHostSignal(event);
  });
  EXPECT_THAT(values_of(remote), ::testing::Each(6)) << "read before it was written";
  writer.join();
}

TEST_F(NpuOwnContext, WhatIsNoneOfTheNpusIsRefused) {
  EXPECT_THAT(error_of([&] { ZeroContext(core, nullptr); }, Code::kInvalidArgument), HasSubstr("L0_CONTEXT is null"));
  for (const level_zero::Device& found : level_zero::devices()) {
    if (found.driver->handle == driver) continue;  // npu_drivers_test also has another driver.
    ze_context_handle_t foreign = nullptr;
    ASSERT_EQ(zeContextCreate(found.driver->handle, &description, &foreign), ZE_RESULT_SUCCESS);
    EXPECT_THAT(error_of([&] { ZeroContext(core, foreign); }, Code::kInvalidArgument), HasSubstr("another driver's"));
    EXPECT_EQ(zeContextDestroy(foreign), ZE_RESULT_SUCCESS);
  }
}

TEST_F(NpuOwnContext, EveryCallMayFail) {
  float* const data = allocate(UsmType::kHost);
  std::fill_n(data, element_count(kShape), 9.f);
  fail_each_call(
      [&] {
        ZeroContext context(core, native);
        auto request = core.compile_model(relu(kShape), context).create_infer_request();
        request.set_tensor("x", context.create_tensor(element::f32, kShape, data, MemType::CPU_VA));
        request.infer();
        return values_of(request.get_tensor("y"));
      },
      [](const std::vector<float>& y) { ASSERT_THAT(y, ::testing::Each(9)); });
}

}  // namespace context_test
}  // namespace tenon::npu_testing
