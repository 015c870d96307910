// SPDX-License-Identifier: Apache-2.0
// SYCL's USM: ways in and out, events as points, queues as streams, wrong arguments and failing calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>

#include <tenon/core/deferred.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/sycl/client.hpp>
#include <tenon/frameworks/sycl/contexts.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::sycl {
namespace sycl_test {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::uint8_t> counted(std::size_t size, std::uint8_t from) {
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), from);
  return bytes;
}
std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  std::vector<std::uint8_t> bytes(tensor.size_bytes());
  tensor.context()->read(tensor, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}
void write(const Tensor& tensor, const std::vector<std::uint8_t>& bytes) {
  tensor.context()->write(tensor, std::as_bytes(std::span(bytes)));
}
TensorInfo bytes_info(std::size_t size) { return {element::u8, {size}, {}}; }

/// Skipped, with the reason, where the runtime finds no device with USM.
class Sycl : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      make_context();
      drain_deferred(default_deadline());
      handles_before_ = client::Probe::handles;
      context = make_context();
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      GTEST_SKIP() << error.what();
    }
    router->add(context);
    router->add(host_context());
  }
  void TearDown() override {
    client::Probe::countdown = 0;
    go = true;
    if (!context) return;
    router.reset();
    context = {};
    EXPECT_TRUE(drain_deferred(default_deadline())) << "work is left";
    EXPECT_EQ(client::Probe::handles.load(), handles_before_) << "handles were left behind, or given back twice";
  }
  /// An event that is complete when `go` is set.
  ::sycl::event gate() {
    ::sycl::queue queue = sycl::queue(context);
    return queue.submit([this](::sycl::handler& handler) {
      handler.host_task([this] {
        while (!go) std::this_thread::sleep_for(std::chrono::microseconds(100));
      });
    });
  }
  std::atomic<bool> go{false};
  Context context;
  std::unique_ptr<Router> router = std::make_unique<Router>();

 private:
  std::size_t handles_before_ = 0;
};

TEST_F(Sycl, HostAndSharedUsmIsTheHostsMemoryToo) {
  for (const UsmType type : {UsmType::kHost, UsmType::kShared}) {
    const Tensor tensor = allocate(context, type, bytes_info(1000));
    EXPECT_EQ(usm_type(tensor), type);
    Ledger ledger;
    const Tensor here =
        router->map(tensor, host_context(), MapOptions{Access::kReadWrite, ZeroCopy::kRequire, &ledger});
    write(tensor, counted(1000, 4));
    EXPECT_EQ(std::memcmp(here.data(), counted(1000, 4).data(), 1000), 0);
    std::memset(here.data(), 8, 1000);
    EXPECT_EQ(bytes_of(tensor), std::vector<std::uint8_t>(1000, 8));
    EXPECT_EQ(ledger.total().copied, 0u);
  }
}

TEST_F(Sycl, DeviceUsmIsCopiedByTheDevice) {
  const Tensor tensor = allocate(context, UsmType::kDevice, {element::u8, {16, 64}, {}});
  write(tensor, counted(1024, 0));
  EXPECT_FALSE(tensor.is_host_addressable());
  Ledger ledger;
  const Tensor region = tensor.slice({2, 8}, {5, 40});
  const Tensor here = router->map(region, host_context(), MapOptions{Access::kRead, ZeroCopy::kPrefer, &ledger});
  EXPECT_EQ(bytes_of(here), bytes_of(region));
  EXPECT_EQ(here.data<std::uint8_t>()[0], 2 * 64 + 8);
  EXPECT_EQ(ledger.total().copied, 96u);
}

TEST_F(Sycl, HostMemoryComesInByACopyAndSaysWhy) {
  Tensor here(element::u8, {100});
  std::memset(here.data(), 3, 100);
  if (!device(context).has(::sycl::aspect::usm_system_allocations)) {
    EXPECT_THAT(router->explain(describe(here), context), HasSubstr("usm_system_allocations"));
  }
  EXPECT_EQ(bytes_of(router->map(here, context)), std::vector<std::uint8_t>(100, 3));
}

TEST_F(Sycl, AUsersQueueAndPointerComeInAndGoOut) {
  ::sycl::queue users = sycl::queue(context);
  const Context wrapped = wrap(users);
  EXPECT_EQ(handle(wrapped), users.get_context());
  auto* const data = ::sycl::malloc_host<std::uint8_t>(64, users);
  std::memset(data, 5, 64);
  {
    const Tensor tensor = wrap(wrapped, data, bytes_info(64));
    EXPECT_EQ(usm_pointer(tensor), data);
    const Tensor same = router->map(tensor, context, Access::kReadWrite);
    EXPECT_EQ(usm_pointer(same), data) << "one sycl::context, one memory";
    EXPECT_EQ(bytes_of(same), std::vector<std::uint8_t>(64, 5));
  }
  const Tensor owned = adopt(wrapped, data, bytes_info(64));
  EXPECT_EQ(usm_type(owned), UsmType::kHost);
}

TEST_F(Sycl, WhoReadsWaitsForTheEventOfWhoWrites) {
  const Tensor tensor = allocate(context, UsmType::kHost, bytes_info(64));
  wrote(tensor, gate());
  MapOptions options;
  options.deadline = Clock::now() + milliseconds(3);
  EXPECT_THAT(error_of([&] { router->map(tensor, host_context(), options); }, Code::kDeadlineExceeded),
              HasSubstr("sycl: an event"));
  EXPECT_EQ(depends_on(tensor, Access::kRead).size(), 1u) << "commands of SYCL wait by themselves";
  const Context same = wrap(sycl::queue(context));
  EXPECT_NO_THROW(router->map(tensor, same, options)) << "and so a map into SYCL does not wait";
  go = true;
  options.deadline = Deadline::max();
  EXPECT_NO_THROW(router->map(tensor, host_context(), options));
}

TEST_F(Sycl, AQueueWaitsForAnEventAndTheHostForOtherApis) {
  const Tensor tensor = allocate(context, UsmType::kHost, bytes_info(64));
  const ::sycl::event late = gate();
  wrote(tensor, late);
  ::sycl::queue other(handle(context), device(context), ::sycl::property_list{::sycl::property::queue::in_order()});
  const Ref<Stream> as_stream = stream(context, other);
  EXPECT_TRUE(as_stream->wait_for(point(late)));
  const TimelinePoint passed = as_stream->signal();
  std::this_thread::sleep_for(milliseconds(3));
  EXPECT_EQ(passed.state(), PointState::kPending) << "the queue did not wait";
  EXPECT_FALSE(as_stream->wait_for(make_ref<HostTimeline>("another API")->next()));
  go = true;
  passed.wait();
}

TEST_F(Sycl, MemoryIsFreedWhenNothingRunsOnIt) {
  const std::size_t before = client::Probe::handles;
  {
    const Tensor used = allocate(context, UsmType::kDevice, bytes_info(64));
    reads(used, gate());
  }
  EXPECT_FALSE(drain_deferred(Clock::now() + milliseconds(2))) << "freed while a command reads it";
  go = true;
  EXPECT_TRUE(drain_deferred(default_deadline()));
  EXPECT_EQ(client::Probe::handles, before);
}

TEST_F(Sycl, WrongArgumentsAreNamed) {
  const Tensor tensor = allocate(context, UsmType::kHost, bytes_info(64));
  int on_the_stack = 0;
  EXPECT_THAT(error_of([&] { wrap(context, nullptr, bytes_info(1)); }, Code::kInvalidArgument),
              HasSubstr("null pointer"));
  EXPECT_THAT(error_of([&] { wrap(context, &on_the_stack, bytes_info(4)); }, Code::kInvalidArgument),
              HasSubstr("no USM of this sycl::context"));
  EXPECT_THAT(error_of([&] { usm_pointer(Tensor(element::u8, {4})); }, Code::kInvalidArgument), HasSubstr("map it to"));
  EXPECT_THAT(error_of([&] { handle(host_context()); }, Code::kInvalidArgument), HasSubstr("not a context of sycl"));
  const ::sycl::buffer<float, 1> buffer{::sycl::range<1>(16)};
  EXPECT_THAT(error_of([&] { wrap(context, buffer); }, Code::kUnimplemented),
              AllOf(HasSubstr("64 bytes"), HasSubstr("sycl::malloc_shared")));
  const ::sycl::queue foreign(::sycl::context(device(context)), device(context));
  EXPECT_THAT(error_of([&] { stream(context, foreign); }, Code::kInvalidArgument), HasSubstr("another sycl::context"));
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  EXPECT_THAT(error_of([&] { context->allocate(wanted); }, Code::kUnimplemented), HasSubstr("no descriptor"));
  EXPECT_EQ(error_of([&] { allocate(context, UsmType::kDevice, bytes_info(std::size_t{1} << 50)); }).code(),
            Code::kResourceExhausted);
}

TEST_F(Sycl, EveryFailingCallIsAnErrorAndLeavesNothing) {
  const auto work = [&] {
    const Context own = wrap(sycl::queue(context));
    const Tensor made = allocate(own, UsmType::kDevice, bytes_info(256));
    write(made, counted(256, 2));
    wrap(own, usm_pointer(made), bytes_info(16));
    return bytes_of(made);
  };
  testing::fail_each_call<client::Probe>("memory_allocation", work,
                                         [](const auto& bytes) { EXPECT_EQ(bytes, counted(256, 2)); });
}

/// CMake runs it with ONEAPI_DEVICE_SELECTOR=level_zero:* and the software NPU: SYCL's runtime initialises Level Zero for GPUs.
TEST(SyclOnLevelZero, FindsNoNpuAndSaysWhatServesOne) {
  const char* const selected = std::getenv("ONEAPI_DEVICE_SELECTOR");
  if (!selected || std::string(selected) != "level_zero:*") GTEST_SKIP() << "other devices are selected";
  if (!detail::usable_devices().empty()) GTEST_SKIP() << "a GPU of Level Zero is installed";
  EXPECT_TRUE(contexts().empty());
  EXPECT_THAT(error_of([] { make_context(); }, Code::kUnavailable),
              ::testing::HasSubstr("for an NPU use frameworks/level_zero"));
}

}  // namespace sycl_test
}  // namespace tenon::sycl
