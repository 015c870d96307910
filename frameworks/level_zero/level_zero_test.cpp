// SPDX-License-Identifier: Apache-2.0
// Calls, drivers and devices, contexts and memory, on the driver named by ZE_ENABLE_ALT_DRIVERS.
#include <tenon/frameworks/level_zero/testing/level_zero.hpp>

#include <set>

#include <fcntl.h>

#include <tenon/tests/support/in_threads.hpp>

#ifdef __SANITIZE_ADDRESS__
/// The contexts of the process are never destroyed, and drivers may hide addresses in their handles.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libze_tenon_npu.so"; }
#endif

namespace tenon::level_zero {
namespace level_zero_test {

TEST(LevelZeroCodes, AreNamedAsTheHeadersNameThem) {
  EXPECT_EQ(result_name(ZE_RESULT_SUCCESS), "ZE_RESULT_SUCCESS");
  EXPECT_EQ(result_name(ZE_RESULT_NOT_READY), "ZE_RESULT_NOT_READY");
  EXPECT_EQ(result_name(ZE_RESULT_ERROR_DEVICE_LOST), "ZE_RESULT_ERROR_DEVICE_LOST");
  EXPECT_EQ(result_name(ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE), "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE");
  EXPECT_EQ(result_name(ZE_RESULT_ERROR_UNINITIALIZED), "ZE_RESULT_ERROR_UNINITIALIZED");
  EXPECT_EQ(result_name(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT), "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT");
  EXPECT_EQ(result_name(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY), "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY");
  EXPECT_EQ(result_name(ZE_RESULT_ERROR_OVERLAPPING_REGIONS), "ZE_RESULT_ERROR_OVERLAPPING_REGIONS");
  EXPECT_EQ(result_name(ZE_RESULT_WARNING_ACTION_REQUIRED), "ZE_RESULT_WARNING_ACTION_REQUIRED");
  EXPECT_EQ(result_name(ZE_RESULT_ERROR_UNKNOWN), "ZE_RESULT_ERROR_UNKNOWN");
  EXPECT_EQ(result_name(static_cast<ze_result_t>(0x12345)), "a Level Zero code");
}

TEST(LevelZeroCodes, BecomeTheErrorsOfTheLibrary) {
  using detail::code_of;
  EXPECT_EQ(code_of(ZE_RESULT_NOT_READY), Code::kDeadlineExceeded);
  EXPECT_EQ(code_of(ZE_RESULT_ERROR_DEVICE_LOST), Code::kAborted);
  EXPECT_EQ(code_of(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY), Code::kResourceExhausted);
  EXPECT_EQ(code_of(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS), Code::kPermissionDenied);
  EXPECT_EQ(code_of(ZE_RESULT_ERROR_UNINITIALIZED), Code::kUnavailable);
  EXPECT_EQ(code_of(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE), Code::kUnimplemented);
  EXPECT_EQ(code_of(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY), Code::kInvalidArgument);
  EXPECT_EQ(code_of(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(ZE_RESULT_ERROR_UNKNOWN), Code::kInternal);
  const Error error = error_of([] { detail::check(ZE_RESULT_ERROR_INVALID_SIZE, "zeMemAllocHost", "allocating"); });
  EXPECT_EQ(error.native_api(), "zeMemAllocHost");
  EXPECT_EQ(error.native_code(), ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_THAT(error.what(), ::testing::HasSubstr("allocating: ZE_RESULT_ERROR_INVALID_SIZE"));
}

TEST(LevelZeroCalls, ThatTheLoaderLacksAreRefusedByName) {
  const auto text = error_of([] { detail::need(abi::InitDrivers{}, "zeInitDrivers"); }, Code::kUnimplemented);
  EXPECT_THAT(text, ::testing::HasSubstr("zeInitDrivers is not offered by"));
  EXPECT_NO_THROW(detail::need(zeInit, "zeInit"));
}

TEST(LevelZeroCalls, NeverWaitForEver) {
  EXPECT_EQ(detail::nanoseconds_left(Clock::now() - std::chrono::seconds(1)), 0u);
  EXPECT_EQ(detail::nanoseconds_left(Deadline::min()), 0u);
  EXPECT_LE(detail::nanoseconds_left(Deadline::max()), 3'600'000'000'000u);
  EXPECT_GT(detail::nanoseconds_left(Clock::now() + std::chrono::seconds(1)), 900'000'000u);
}

class LevelZeroTest : public LevelZeroFixture {};

TEST_F(LevelZeroTest, DriversSayWhatTheyAre) {
  const Device& device = level_zero::device(context);
  EXPECT_FALSE(device.name.empty());
  EXPECT_GE(device.driver->api_version, abi::version(1, 0));
  EXPECT_FALSE(device.driver->extensions.empty());
  EXPECT_FALSE(device.driver->has("ZE_extension_graph_that_nobody_has"));
  ASSERT_TRUE(device.compute_group);
  EXPECT_GT(device.max_allocation, 0u);
  if (!device.is_npu()) GTEST_SKIP() << device.name << " is no NPU";
  EXPECT_TRUE(device.driver->is_npu());
  EXPECT_GE(device.driver->extension(abi::kGraphExtension).value_or(0), abi::version(1, 5));
  EXPECT_EQ(device.vendor_id, 0x8086u);
  EXPECT_GT(device.slices, 0u);
  EXPECT_FALSE(device.identity.has(kDeviceUuid)) << "all NPUs bear one uuid: it tells nothing";
  const auto* table = detail::extension_table<abi::GraphTable>(device.driver->handle, abi::kGraphExtension);
  ASSERT_TRUE(table);
  abi::DeviceGraphProperties properties;
  ASSERT_EQ(table->device_get_graph_properties(detail::driver_side(device.handle), &properties), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties.extension_version, device.driver->extension(abi::kGraphExtension));
  EXPECT_EQ(detail::extension_table<abi::GraphTable>(device.driver->handle, "ZE_extension_of_nobody"), nullptr);
}

TEST_F(LevelZeroTest, EveryDriverThatIsNamedIsThere) {
  const char* const named = std::getenv("ZE_ENABLE_ALT_DRIVERS");
  if (!named) GTEST_SKIP() << "ZE_ENABLE_ALT_DRIVERS names no drivers";
  const std::string text(named);
  EXPECT_EQ(drivers().size(), 1u + static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')));
  // With several drivers the loader may wrap handles; extensions then need the drivers' own.
  for (const Device& device : devices()) {
    if (!device.driver->is_npu()) continue;
    const auto* table = detail::extension_table<abi::GraphTable>(device.driver->handle, abi::kGraphExtension);
    ASSERT_TRUE(table);
    abi::DeviceGraphProperties properties;
    EXPECT_EQ(table->device_get_graph_properties(detail::driver_side(device.handle), &properties), ZE_RESULT_SUCCESS);
    if (drivers().size() > 1 && detail::driver_side(device.handle) != device.handle) {
      EXPECT_NE(table->device_get_graph_properties(device.handle, &properties), ZE_RESULT_SUCCESS);
    }
  }
}

TEST_F(LevelZeroTest, EveryDeviceHasAContextOfItsOwnName) {
  std::set<std::string> names;
  for (const Context& known : contexts()) names.emplace(known->name());
  EXPECT_EQ(names.size(), contexts().size()) << "two contexts bear one name";
  EXPECT_EQ(names.size(), devices().size());
  if (const char* platforms = std::getenv("TENON_NPU_PLATFORM")) {
    const std::string text(platforms);
    EXPECT_EQ(names.size(),
              drivers().size() * (1u + static_cast<std::size_t>(std::count(text.begin(), text.end(), ','))));
  }
  const std::vector<Context> all = contexts();
  for (const Context& a : all)
    for (const Context& b : all) EXPECT_EQ(a->device().same_device(b->device()), a == b && !a->device().empty());
}

TEST_F(LevelZeroTest, AFailureOfAnyCallIsAnErrorAndLeavesNothing) {
  const Device device = level_zero::device(context);
  const auto fails_everywhere = [&](const char* what, const auto& body) {
    for (long n = 1;; ++n) {
      ASSERT_LT(n, 100) << what;
      usm().native().drop_idle();
      const std::size_t handles = detail::Probe::handles, fds = open_fds();
      detail::Probe::failed = false;
      detail::Probe::countdown = n;
      bool threw = false;
      try {
        body();
      } catch (const Error& error) {
        threw = true;
        EXPECT_FALSE(error.native_api().empty()) << what << ": " << error.what();
        EXPECT_EQ(error.native_code(), detail::kInjected) << what;
      }
      detail::Probe::countdown = 0;
      usm().native().drop_idle();
      EXPECT_EQ(detail::Probe::handles, handles) << what << ", call " << n;
      EXPECT_EQ(open_fds(), fds) << what << ", call " << n;
      EXPECT_EQ(threw, detail::Probe::failed) << what << ", call " << n << ": a failure was swallowed";
      if (!threw) return;
    }
  };
  const Tensor region = allocate(context, UsmType::kDevice, {element::u8, {8, 8}, {}}).slice({1, 1}, {5, 5});
  std::vector<std::byte> out(region.size_bytes());
  fails_everywhere("devices", [] { devices(); });
  fails_everywhere("make_context", [&] { make_context(device); });
  fails_everywhere("allocate", [&] {
    for (UsmType type : {UsmType::kHost, UsmType::kDevice, UsmType::kShared}) allocate(context, type, bytes_info(100));
  });
  fails_everywhere("wrap", [&] { wrap(context, usm_pointer(region), bytes_info(1)); });
  fails_everywhere("read", [&] { context->read(region, out); });
  fails_everywhere("write", [&] { context->write(region, out); });
  fails_everywhere("export", [&] {
    Requirements wanted;
    wanted.size_bytes = 4096;
    wanted.fd = FdKind::kMemfd;
    if (device.exports_dmabuf() || device.exports_opaque()) context->allocate(wanted);
  });
}

TEST_F(LevelZeroTest, MemoryOfEachTypeIsWhatItSays) {
  for (UsmType type : {UsmType::kHost, UsmType::kDevice, UsmType::kShared}) {
    const Tensor tensor = allocate(context, type, {element::f32, {3, 5}, {}});
    EXPECT_EQ(usm_type(tensor), type);
    EXPECT_EQ(tensor.kind(), kUsmMemory);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(usm_pointer(tensor)) % 64, 0u);
    EXPECT_EQ(tensor.is_host_addressable(),
              type != UsmType::kDevice || level_zero::device(context).maps_device_memory());
    EXPECT_NE(allocation_id(tensor), 0u);
    EXPECT_EQ(tensor.memory()->identity().low, allocation_id(tensor));
    const auto bytes = counted(60, 7);
    write(tensor, bytes);
    EXPECT_EQ(bytes_of(tensor), bytes);
    if (tensor.is_host_addressable()) {
      EXPECT_EQ(std::memcmp(tensor.data(), bytes.data(), 60), 0);
    }
  }
}

TEST_F(LevelZeroTest, EveryAllocationHasAnIdentityOfItsOwn) {
  std::vector<Tensor> kept;
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 20; ++i) {
    kept.push_back(allocate(context, i % 2 ? UsmType::kHost : UsmType::kShared, bytes_info(100)));
    ids.insert(allocation_id(kept.back()));
    if (i % 3 == 0) kept.pop_back();  // Addresses are reused; ids are not.
  }
  EXPECT_EQ(ids.size(), 20u);
}

TEST_F(LevelZeroTest, TakesHintsForAllocations) {
  UsmHints hints;
  hints.host = ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED;
  EXPECT_TRUE(allocate(context, UsmType::kHost, bytes_info(10), hints));
  hints.device = ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED;
  EXPECT_TRUE(allocate(context, UsmType::kDevice, bytes_info(10), hints));
}

TEST_F(LevelZeroTest, RefusesMoreThanTheDeviceHas) {
  const auto text = error_of([&] { allocate(context, UsmType::kHost, bytes_info(std::size_t{1} << 60)); });
  EXPECT_TRUE(text.code() == Code::kResourceExhausted || text.code() == Code::kInvalidArgument) << text.what();
  EXPECT_EQ(text.native_api(), "zeMemAllocHost");
}

TEST_F(LevelZeroTest, WrapsAUsersAllocationFromItsMiddle) {
  const Tensor whole = allocate(context, UsmType::kHost, bytes_info(1000));
  const auto bytes = counted(1000, 3);
  write(whole, bytes);
  auto* const middle = static_cast<std::byte*>(usm_pointer(whole)) + 100;
  const Tensor part = wrap(context, middle, bytes_info(50));
  EXPECT_EQ(usm_pointer(part), middle);
  EXPECT_EQ(part.memory()->identity(), whole.memory()->identity()) << "it is the same allocation";
  EXPECT_EQ(bytes_of(part), std::vector<std::uint8_t>(bytes.begin() + 100, bytes.begin() + 150));
  EXPECT_THAT(error_of([&] { wrap(context, middle, bytes_info(1 << 20)); }, Code::kOutOfRange),
              ::testing::HasSubstr("from there on"));
}

TEST_F(LevelZeroTest, WrapsNothingThatIsNotItsMemory) {
  int on_stack = 0;
  EXPECT_THAT(error_of([&] { wrap(context, &on_stack, bytes_info(1)); }, Code::kInvalidArgument),
              ::testing::HasSubstr("is not memory of this ze_context"));
  error_of([&] { wrap(context, nullptr, bytes_info(1)); }, Code::kInvalidArgument);
  error_of([&] { wrap(host_context(), &on_stack, bytes_info(1)); }, Code::kInvalidArgument);
  const Context other = make_context(level_zero::device(context));
  const Tensor foreign = allocate(other, UsmType::kHost, bytes_info(10));
  error_of([&] { wrap(context, usm_pointer(foreign), bytes_info(1)); }, Code::kInvalidArgument);
  error_of([&] { usm_pointer(Tensor(element::u8, {4})); }, Code::kInvalidArgument);
  error_of([&] { usm_pointer({}); }, Code::kInvalidArgument);
}

TEST_F(LevelZeroTest, AdoptsAndFreesOnce) {
  const auto user_memory = [&] {
    const auto wanted = detail::typed<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
    void* data = nullptr;
    EXPECT_EQ(zeMemAllocHost(handle(context), &wanted, 100, 64, &data), ZE_RESULT_SUCCESS);
    return static_cast<std::byte*>(data);
  };
  std::byte* data = user_memory();
  {
    const Tensor tensor = adopt(context, data, bytes_info(100));
    EXPECT_EQ(usm_pointer(tensor), data);
  }
  EXPECT_FALSE(detail::find_usm(usm().native(), data)) << "it was not freed";
  data = user_memory();
  error_of([&] { adopt(context, data + 1, bytes_info(1)); }, Code::kInvalidArgument);
  EXPECT_TRUE(detail::find_usm(usm().native(), data)) << "a refused pointer stays the caller's";
  error_of([&] { adopt(context, data, bytes_info(1 << 20)); }, Code::kOutOfRange);
  EXPECT_FALSE(detail::find_usm(usm().native(), data)) << "taken over, and freed when it does not fit";
}

TEST_F(LevelZeroTest, WrapsAUsersContextWithoutOwningIt) {
  const Device& device = level_zero::device(context);
  const auto wanted = detail::typed<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
  ze_context_handle_t native = nullptr;
  ASSERT_EQ(zeContextCreate(device.driver->handle, &wanted, &native), ZE_RESULT_SUCCESS);
  {
    const Context wrapped = wrap(native, device.handle);
    EXPECT_EQ(handle(wrapped), native);
    const Tensor tensor = allocate(wrapped, UsmType::kHost, bytes_info(16));
    write(tensor, counted(16, 1));
    EXPECT_EQ(bytes_of(tensor), counted(16, 1));
  }
  EXPECT_EQ(zeContextGetStatus(native), ZE_RESULT_SUCCESS) << "it was destroyed with the wrapper";
  EXPECT_EQ(zeContextDestroy(native), ZE_RESULT_SUCCESS);
  error_of([&] { wrap(nullptr, device.handle); }, Code::kInvalidArgument);
  int nothing = 0;
  error_of([&] { wrap(handle(context), reinterpret_cast<ze_device_handle_t>(&nothing)); }, Code::kInvalidArgument);
}

TEST_F(LevelZeroTest, AContextOfOthersThanTheDeviceIsRefused) {
  const auto wanted = detail::typed<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
  for (const Device& one : devices()) {
    ze_context_handle_t native = nullptr;
    ASSERT_EQ(zeContextCreate(one.driver->handle, &wanted, &native), ZE_RESULT_SUCCESS);
    const std::size_t handles = detail::Probe::handles;
    for (const Device& other : devices()) {
      if (other.driver->handle == one.driver->handle)
        EXPECT_NO_THROW(wrap(native, other.handle));
      else  // level_zero_drivers_test has two.
        EXPECT_THAT(error_of([&] { wrap(native, other.handle); }, Code::kInvalidArgument),
                    ::testing::HasSubstr("another driver's"));
    }
    EXPECT_EQ(detail::Probe::handles, handles);
    EXPECT_EQ(zeContextDestroy(native), ZE_RESULT_SUCCESS);
  }
}

TEST_F(LevelZeroTest, CopiesOfStridedRegionsTouchNothingElse) {
  const Tensor whole = allocate(context, UsmType::kDevice, {element::u8, {8, 8}, {}});
  write(whole, std::vector<std::uint8_t>(64, 9));
  const Tensor region = whole.slice({2, 3}, {5, 7});
  write(region, counted(12, 100));
  EXPECT_EQ(bytes_of(region), counted(12, 100));
  const auto all = bytes_of(whole);
  EXPECT_EQ(std::count(all.begin(), all.end(), 9), 64 - 12);
  EXPECT_EQ(all[2 * 8 + 3], 100);
}

TEST_F(LevelZeroTest, ManyThreadsCopyAtOnce) {
  tenon::testing::in_threads(8, [&](int t) {
    const Tensor tensor = allocate(context, UsmType::kDevice, bytes_info(1000));
    for (int i = 0; i < 20; ++i) {
      write(tensor, counted(1000, static_cast<std::uint8_t>(t + i)));
      EXPECT_EQ(bytes_of(tensor), counted(1000, static_cast<std::uint8_t>(t + i)));
    }
  });
}

}  // namespace level_zero_test
}  // namespace tenon::level_zero
