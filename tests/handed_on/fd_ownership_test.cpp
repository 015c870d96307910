// SPDX-License-Identifier: Apache-2.0
// Work of one API that commands of another wait for, and how often the host waits where a user's queue surrounds an
// inference on the NPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <list>
#include <memory>
#include <numeric>
#include <thread>
#include <type_traits>
#include <vector>

#include <tenon/core/deferred.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/router.hpp>
#include <tenon/devices/npu/public/level_zero.hpp>
#include <tenon/frameworks/level_zero/level_zero.hpp>
#include <tenon/frameworks/opencl/opencl.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/runtime/testing/reference_device.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon {
namespace fd_ownership_test {

using intel_npu::level_zero::ZeroContext;
using std::chrono::milliseconds;

constexpr std::size_t kCount = 1024, kBytes = kCount * sizeof(float);

struct ReleaseEvent {
  void operator()(cl_event event) const { clReleaseEvent(event); }
};
using ClEvent = std::unique_ptr<std::remove_pointer_t<cl_event>, ReleaseEvent>;

class FdOwnership : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      cl = opencl::make_context();
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      GTEST_SKIP() << error.what();
    }
    npu = std::make_unique<ZeroContext>(core);
    const auto native = static_cast<ze_context_handle_t>(npu->get());
    for (const level_zero::Device& found : level_zero::devices())
      if (found.is_npu() && !ze) ze = level_zero::wrap(native, found.handle);
    ASSERT_TRUE(ze);
    router.add(cl);
    router.add(ze);
    router.add(host_context());
    ze_command_queue_desc_t wanted{};
    wanted.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    wanted.ordinal = *level_zero::device(ze).compute_group;
    wanted.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    // In order, as users of one queue expect it: an immediate list whose commands are separated by barriers.
    ASSERT_EQ(zeCommandListCreateImmediate(native, level_zero::device(ze).handle, &wanted, &list), ZE_RESULT_SUCCESS);
    ze_event_pool_desc_t pool_wanted{};
    pool_wanted.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    pool_wanted.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    pool_wanted.count = 64;
    ASSERT_EQ(zeEventPoolCreate(native, &pool_wanted, 0, nullptr, &pool), ZE_RESULT_SUCCESS);
    request = core.compile_model(testing::relu_model(PartialShape{1, kCount}), *npu, zero_copy(ZeroCopy::kRequire))
                  .create_infer_request();
  }
  void TearDown() override {
    request = {};
    tensors.clear();
    EXPECT_TRUE(drain_deferred(default_deadline()));
    for (ze_event_handle_t event : events) zeEventDestroy(event);
    if (pool) zeEventPoolDestroy(pool);
    if (list) zeCommandListDestroy(list);
  }
  ze_event_handle_t new_event() {
    ze_event_desc_t wanted{};
    wanted.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    wanted.index = static_cast<std::uint32_t>(events.size());
    wanted.signal = wanted.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    ze_event_handle_t event = nullptr;
    EXPECT_EQ(zeEventCreate(pool, &wanted, &event), ZE_RESULT_SUCCESS);
    events.push_back(event);
    return event;
  }
  static bool is_signalled(ze_event_handle_t event) { return zeEventQueryStatus(event) == ZE_RESULT_SUCCESS; }
  ClEvent new_user_event() {
    cl_int status = CL_SUCCESS;
    ClEvent event(clCreateUserEvent(opencl::handle(cl), &status));
    EXPECT_EQ(status, CL_SUCCESS);
    return event;
  }
  /// Pages of the host's, with numbers around 0, which live until the end of the test.
  Tensor on_host() {
    Tensor made({element::f32, {1, kCount}, {}}, HostMemory::allocate(kBytes, 4096));
    std::iota(made.data<float>(), made.data<float>() + kCount, -500.f);
    return tensors.emplace_back(made);
  }
  Tensor map(const Tensor& tensor, const Context& to) {
    MapOptions options;
    options.access = Access::kReadWrite;
    options.policy = ZeroCopy::kRequire;
    options.deadline = Clock::now();  // No map may wait.
    return router.map(tensor, to, options);
  }
  /// A command of Level Zero: from -> to, when what is noted on both is over.
  ze_event_handle_t copy(const Tensor& from, const Tensor& to, ze_event_handle_t gate = nullptr) {
    level_zero::WaitList reads = level_zero::wait_list(from, Access::kRead);
    level_zero::WaitList writes = level_zero::wait_list(to, Access::kWrite);
    std::vector<ze_event_handle_t> before(reads.data(), reads.data() + reads.size());
    before.insert(before.end(), writes.data(), writes.data() + writes.size());
    if (gate) before.push_back(gate);
    ze_event_handle_t done = new_event();
    EXPECT_EQ(zeCommandListAppendMemoryCopy(list, level_zero::usm_pointer(to), level_zero::usm_pointer(from), kBytes,
                                            done, static_cast<std::uint32_t>(before.size()),
                                            before.empty() ? nullptr : before.data()),
              ZE_RESULT_SUCCESS);
    level_zero::reads(from, done, reads.owner());
    level_zero::wrote(to, done, writes.owner());
    return done;
  }
  /// The same in OpenCL.
  ClEvent copy_in_cl(const Tensor& from, const Tensor& to, cl_event gate = nullptr) {
    const opencl::WaitList reads = opencl::wait_list(from, Access::kRead);
    const opencl::WaitList writes = opencl::wait_list(to, Access::kWrite);
    std::vector<cl_event> before(reads.data(), reads.data() + reads.size());
    before.insert(before.end(), writes.data(), writes.data() + writes.size());
    if (gate) before.push_back(gate);
    cl_event done = nullptr;
    EXPECT_EQ(clEnqueueCopyBuffer(opencl::queue(cl), opencl::buffer(from), opencl::buffer(to), 0, 0, kBytes,
                                  static_cast<cl_uint>(before.size()), before.empty() ? nullptr : before.data(), &done),
              CL_SUCCESS);
    clFlush(opencl::queue(cl));
    opencl::reads(from, done);
    opencl::wrote(to, done);
    return ClEvent(done);
  }
  static bool is_complete(const ClEvent& event) { return opencl::point(event.get()).state() == PointState::kReached; }
  static std::uint64_t host_waits() { return Ledger::process().total().waits; }
  static void expect_relu(const Tensor& host) {
    EXPECT_EQ(host.data<float>()[499], 0);
    EXPECT_EQ(host.data<float>()[510], 10);
  }

  Core core;
  Context cl, ze;
  std::unique_ptr<ZeroContext> npu;
  Router router;
  std::list<Tensor> tensors;
  std::vector<ze_event_handle_t> events;
  ze_event_pool_handle_t pool = nullptr;
  ze_command_list_handle_t list = nullptr;
  InferRequest request;
};

TEST_F(FdOwnership, AUserEventOfOpenclGatesACommandOfLevelZero) {
  const Tensor from = on_host(), to = on_host();
  const auto gate = new_user_event();
  const Tensor written = map(from, cl);
  opencl::wrote(written, gate.get());
  const std::uint64_t waits = host_waits();
  const ze_event_handle_t done = copy(map(from, ze), map(to, ze));
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_FALSE(is_signalled(done));
  from.data<float>()[7] = 77;
  clSetUserEventStatus(gate.get(), CL_COMPLETE);
  EXPECT_EQ(zeEventHostSynchronize(done, 10'000'000'000), ZE_RESULT_SUCCESS);
  EXPECT_EQ(host_waits(), waits);
  EXPECT_EQ(router.map(to, host_context()).data<float>()[7], 77);
}

TEST_F(FdOwnership, AnEventOfLevelZeroGatesACommandOfOpencl) {
  const Tensor from = on_host(), to = on_host();
  const ze_event_handle_t gate = new_event();
  const Tensor written = map(from, ze);
  level_zero::wrote(written, gate);
  const std::uint64_t waits = host_waits();
  const auto done = copy_in_cl(map(from, cl), map(to, cl));
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_FALSE(is_complete(done));
  from.data<float>()[7] = 77;
  zeEventHostSignal(gate);
  for (int i = 0; i < 60000 && !is_complete(done); ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(is_complete(done));
  EXPECT_EQ(host_waits(), waits);
  EXPECT_EQ(router.map(to, host_context()).data<float>()[7], 77);
}

TEST_F(FdOwnership, AListOfLevelZeroAroundAnInferenceLeavesTheHostOneWait) {
  const Tensor source = map(on_host(), ze), in = map(on_host(), ze), out = map(on_host(), ze), result = on_host();
  request.set_tensor("x", in);
  request.set_tensor("y", out);
  int waited = 0;
  // On a busy machine the thread that waits for the fence may come to it when it is signalled: then once more.
  for (int round = 0; round < 20 && waited < 2; ++round) {
    const ze_event_handle_t gate = new_event();
    const std::uint64_t waits = host_waits();
    copy(source, in, gate);
    request.start_async();  // Returns at once: the device waits.
    const ze_event_handle_t done = copy(out, map(result, ze));
    EXPECT_EQ(host_waits(), waits);
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_FALSE(is_signalled(done));
    zeEventHostSignal(gate);
    EXPECT_EQ(zeEventHostSynchronize(done, 10'000'000'000), ZE_RESULT_SUCCESS);
    request.wait();
    // Level Zero has no callback for the end of an inference: one thread waits for its fence.
    EXPECT_LE(host_waits() - waits, 1u);
    waited += host_waits() - waits == 1;
    expect_relu(router.map(result, host_context()));
  }
  EXPECT_EQ(waited, 2);
}

TEST_F(FdOwnership, AQueueOfOpenclAroundAnInferenceLeavesTheHostTwo) {
  const Tensor source = map(on_host(), cl), in = on_host(), out = on_host(), result = on_host();
  request.set_tensor("x", map(in, ze));
  request.set_tensor("y", map(out, ze));
  const auto gate = new_user_event();
  const std::uint64_t waits = host_waits();
  copy_in_cl(source, map(in, cl), gate.get());
  std::thread opener = tenon_test::once_this_thread_sleeps([&] { clSetUserEventStatus(gate.get(), CL_COMPLETE); });
  request.start_async();  // No queue of Level Zero can wait for a cl_event: the host does.
  const auto done = copy_in_cl(map(out, cl), map(result, cl));
  opener.join();
  while (!is_complete(done)) std::this_thread::sleep_for(milliseconds(1));
  request.wait();
  EXPECT_LE(host_waits() - waits, 2u) << "the input's, and the fence's if that was not signalled yet";
  EXPECT_GE(host_waits() - waits, 1u);
  expect_relu(router.map(result, host_context()));
}

}  // namespace fd_ownership_test
}  // namespace tenon
