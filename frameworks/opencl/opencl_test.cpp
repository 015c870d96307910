// SPDX-License-Identifier: Apache-2.0
// Contexts, buffers and events: what is specific to them, and bad input.
#include <cstdlib>
#include <set>
#include <thread>

#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>

#include <tenon/frameworks/opencl/testing/opencl.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace tenon::opencl {
namespace opencl_test {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::HasSubstr;

using ContextTest = OpenclFixture;
using BufferTest = OpenclFixture;
using EventTest = OpenclFixture;

TEST_F(ContextTest, WrapsTheUsersContextAndQueueAndGivesThemBack) {
  cl_int status = CL_SUCCESS;
  const cl_device_id id = device(context).id;
  const Released<cl_context> mine(clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status));
  const Released<cl_command_queue> my_queue(new_queue(mine, id));
  const auto count = [&] {
    return detail::info<cl_uint>(clGetCommandQueueInfo, "", my_queue.object, CL_QUEUE_REFERENCE_COUNT);
  };
  const cl_uint before = count();
  {
    const Context wrapped = opencl::wrap(mine, my_queue);
    EXPECT_EQ(handle(wrapped), mine.object);
    EXPECT_EQ(queue(wrapped), my_queue.object);
    EXPECT_EQ(device(wrapped).id, id);
    EXPECT_EQ(count(), before + 1);
    EXPECT_EQ(opencl::wrap(mine, nullptr)->kind(), kBufferMemory) << "without a queue one is made";
  }
  EXPECT_EQ(count(), before);
}

TEST_F(ContextTest, RefusesWhatDoesNotBelongTogether) {
  const Context other = make_context();
  EXPECT_EQ(error_of([&] { opencl::wrap(nullptr, nullptr); }).code(), Code::kInvalidArgument);
  const Error foreign = error_of([&] { opencl::wrap(handle(context), queue(other)); });
  EXPECT_EQ(foreign.code(), Code::kInvalidArgument);
  EXPECT_THAT(foreign.what(), HasSubstr("another cl_context"));
  EXPECT_EQ(error_of([] { make_context(nullptr); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { queue(host_context()); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([] { handle(Context()); }).code(), Code::kInvalidArgument);
}

TEST_F(ContextTest, SaysByExtensionStringWhatADeviceCanDo) {
  Device fake;
  fake.extensions = "cl_khr_fp64 cl_intel_unified_shared_memory_preview cl_khr_icd";
  EXPECT_FALSE(fake.has("cl_intel_unified_shared_memory")) << "whole words only";
  EXPECT_FALSE(fake.has("khr_fp64"));
  EXPECT_TRUE(fake.has("cl_khr_fp64"));
  EXPECT_TRUE(fake.has("cl_khr_icd"));
  // A driver may accept and ignore an unknown property, so success proves nothing.
  const cl_mem_properties unknown[] = {0x7f00, 1, 0};
  cl_int status = CL_SUCCESS;
  const auto make = detail::newer_calls().make_buffer;
  const Released<cl_mem> made(make ? make(handle(context), &unknown[0], CL_MEM_READ_WRITE, 4096, nullptr, &status)
                                   : nullptr);
  EXPECT_EQ(device(context).usm, device(context).has("cl_intel_unified_shared_memory"));
  EXPECT_EQ(device(context).image_from_buffer, device(context).has("cl_khr_image2d_from_buffer"));
  if (!device(context).usm) {
    const Error none = error_of([&] { usm(context); });
    EXPECT_EQ(none.code(), Code::kUnavailable);
    EXPECT_THAT(none.what(), HasSubstr("cl_intel_unified_shared_memory"));
  }
}

TEST_F(ContextTest, OfOneDeviceAreOnOneDevice) {
  EXPECT_TRUE(same_device(context, make_context(device(context).id)));
  // All drivers for the CPU are on the CPU, whatever UUIDs they give it.
  EXPECT_EQ(same_device(context, host_context()), device(context).is_cpu());
  EXPECT_EQ(device(context).identity.has(kDeviceUuid),
            !device(context).is_cpu() && device(context).has("cl_khr_device_uuid"));
}

TEST_F(ContextTest, NamesAreShortAndDistinct) {
  EXPECT_EQ(detail::typable("Intel(R) Arc(TM) A770 Graphics"), "intel-arc-a770-graphics");
  EXPECT_EQ(detail::typable("  NVIDIA H200 "), "nvidia-h200");
  EXPECT_LE(detail::typable(std::string(200, 'x')).size(), 32u);
  Device cpu;
  cpu.type = CL_DEVICE_TYPE_CPU;
  cpu.platform_name = "Intel(R) OpenCL";
  EXPECT_EQ(detail::short_name(cpu), "intel-cpu");
  cpu.platform_name = "Portable Computing Language";
  EXPECT_EQ(detail::short_name(cpu), "pocl-cpu");
  const std::vector<Context> all = contexts();
  ASSERT_FALSE(all.empty());
  std::set<std::string> names;
  for (const Context& one : all) EXPECT_TRUE(names.insert(std::string(one->name())).second) << one->name();
  EXPECT_EQ(contexts(), all) << "made once";
}

TEST_F(BufferTest, KernelsAndHostSeeOneMemory) {
  if (coherency(context) != Coherency::kStanding) GTEST_SKIP() << device(context).name << " copies";
  cpu::Pool pool(4096, 1);
  const Tensor source = pool.acquire_tensor({element::u8, {4096}, {}});
  std::memset(source.data(), 7, 4096);
  const Tensor mapped = router.map(source, context, Access::kReadWrite);
  const auto event = add_one(buffer(mapped), 0, 4096);
  wrote(mapped, event);
  const Tensor back = router.map(mapped, host_context());  // Waits for the kernel.
  EXPECT_EQ(back.data(), source.data());
  EXPECT_THAT(std::vector<std::uint8_t>(source.data<std::uint8_t>(), source.data<std::uint8_t>() + 4096), Each(8));
  std::memset(source.data(), 9, 4096);
  EXPECT_THAT(bytes_of(mapped), Each(9));
}

TEST_F(BufferTest, SharesTheMappingOfADescriptor) {
  if (coherency(context) != Coherency::kStanding) GTEST_SKIP() << device(context).name << " copies";
  const Ref<cpu::SharedMemory> memory = cpu::SharedMemory::allocate(8192);
  const Ref<cpu::SharedMemory> elsewhere = cpu::SharedMemory::import(memory->export_fd());
  ASSERT_NE(memory->host(), elsewhere->host());
  std::memset(elsewhere->host(), 1, 8192);
  const Tensor mapped = router.map(Tensor({element::u8, {8192}, {}}, memory), context, Access::kReadWrite);
  const auto event = add_one(buffer(mapped), 4096, 4096);
  point(event).wait();
  const auto* seen = static_cast<const std::uint8_t*>(elsewhere->host());
  EXPECT_EQ(seen[4095], 1);
  EXPECT_EQ(seen[4096], 2) << "the other mapping of the descriptor does not see what the kernel wrote";
  EXPECT_EQ(seen[8191], 2);
}

TEST_F(BufferTest, RepeatedMapsAreOneView) {
  if (coherency(context) != Coherency::kStanding) GTEST_SKIP() << device(context).name << " copies";
  cpu::Pool pool(4096, 1);
  cl_mem first = nullptr;
  for (int i = 0; i < 5; ++i) {
    const Tensor mapped = router.map(pool.acquire_tensor({element::u8, {4096}, {}}), context);
    if (!first) first = buffer(mapped);
    EXPECT_EQ(buffer(mapped), first) << "the pool's buffer came round again with another cl_mem";
    EXPECT_EQ(references(first), 1u);
  }
}

TEST_F(BufferTest, WrappingBorrowsAndAdoptingTakesOver) {
  const auto mine = user_buffer(1024);
  {
    const Tensor tensor = opencl::wrap(context, mine, {element::u8, {1024}, {}});
    EXPECT_EQ(references(mine), 2u);
    EXPECT_EQ(buffer(tensor), mine.object);
    EXPECT_EQ(tensor.memory()->identity().kind, MemoryIdentity::Kind::kHandle);
  }
  EXPECT_EQ(references(mine), 1u);
  // A second reference shows what becomes of the given one.
  const auto witness = user_buffer(64);
  const auto given = [&] {
    clRetainMemObject(witness);
    return witness.object;
  };
  const auto left = [&] {
    EXPECT_TRUE(drain_deferred(default_deadline()));
    return references(witness);
  };
  { const Tensor tensor = opencl::adopt(context, given(), {element::u8, {64}, {}}); }
  EXPECT_EQ(left(), 1u);
  EXPECT_EQ(error_of([&] { opencl::adopt(context, given(), {element::u8, {65}, {}}); }).code(), Code::kOutOfRange);
  EXPECT_EQ(left(), 1u) << "a failed adoption gives the reference back too, once";
}

TEST_F(BufferTest, RefusesWhatIsNoBufferOfThisContext) {
  const TensorInfo info{element::u8, {16}, {}};
  EXPECT_EQ(error_of([&] { opencl::wrap(context, nullptr, info); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { opencl::adopt(context, nullptr, info); }).code(), Code::kInvalidArgument);
  const auto mine = user_buffer(64);
  const Context other = make_context();
  const Error foreign = error_of([&] { opencl::wrap(other, mine, info); });
  EXPECT_EQ(foreign.code(), Code::kInvalidArgument);
  EXPECT_THAT(foreign.what(), HasSubstr("another cl_context"));
  EXPECT_EQ(error_of([&] { opencl::wrap(host_context(), mine, info); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { opencl::wrap(context, mine, {element::f32, {17}, {}}); }).code(), Code::kOutOfRange);
  EXPECT_EQ(error_of([&] { opencl::wrap(context, mine, {element::u8, {2, 2}, {-1, 1}}); }).code(), Code::kOutOfRange);
  EXPECT_EQ(error_of([&] { buffer(Tensor(element::u8, {4})); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { buffer(Tensor()); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(references(mine), 1u);
}

TEST_F(BufferTest, MemoryOfAForeignContextIsRefusedAndGoesOverTheHost) {
  const Context other = make_context();
  const Tensor tensor = opencl::wrap(context, user_buffer(4096), {element::u8, {4096}, {}});
  const Step step = detail::buffer_to_buffer().step(describe(tensor), other, Access::kRead);
  ASSERT_TRUE(std::holds_alternative<Refusal>(step)) << "PoCL would take it and go wrong later";
  EXPECT_THAT(std::get<Refusal>(step).reason, HasSubstr("another cl_context"));
  router.add(other);
  router.add(host_context());
  context->write(tensor, std::vector<std::byte>(4096, std::byte{5}));
  EXPECT_THAT(bytes_of(router.map(tensor, other)), Each(5));
}

TEST_F(BufferTest, SubBuffersBeginAtTheTensorOrAreRefused) {
  const std::size_t align = device(context).base_alignment;
  const auto mine = user_buffer(8 * align);
  const Tensor whole = opencl::wrap(context, mine, {element::u8, {8, align}, {}});
  context->write(whole, std::vector<std::byte>(8 * align, std::byte{1}));
  {
    const SubBuffer part = sub_buffer(whole.slice({2, 0}, {4, align}));
    point(add_one(part.get(), 0, 2 * align)).wait();
  }
  EXPECT_EQ(references(mine), 2u) << "the tensor's alone: the region is gone";
  const std::vector<std::uint8_t> bytes = bytes_of(whole);
  EXPECT_EQ(bytes[2 * align - 1], 1);
  EXPECT_EQ(bytes[2 * align], 2);
  EXPECT_EQ(bytes[4 * align - 1], 2);
  EXPECT_EQ(bytes[4 * align], 1);
  const Error misaligned = error_of([&] { sub_buffer(whole.slice({2, 1}, {4, align})); });
  EXPECT_EQ(misaligned.code(), Code::kFailedPrecondition);
  EXPECT_THAT(misaligned.what(), HasSubstr(std::to_string(align)));
  EXPECT_EQ(error_of([&] { sub_buffer(whole.slice({2, 0}, {2, align})); }).code(), Code::kInvalidArgument);
}

TEST_F(BufferTest, RegionsOfAUsersSubBufferAreRegionsOfItsParent) {
  const std::size_t align = device(context).base_alignment;
  Tensor whole, part;
  {
    const auto mine = user_buffer(4 * align);
    whole = opencl::wrap(context, mine, {element::u8, {4 * align}, {}});
    context->write(whole, std::vector<std::byte>(4 * align, std::byte{0}));
    const cl_buffer_region region{align, 3 * align};
    cl_int status = CL_SUCCESS;
    part = opencl::adopt(context, clCreateSubBuffer(mine, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status),
                         {element::u8, {3, align}, {}});
  }
  point(add_one(sub_buffer(part.slice({1, 0}, {2, align})).get(), 0, align)).wait();
  const std::vector<std::uint8_t> bytes = bytes_of(whole);
  EXPECT_EQ(bytes[2 * align - 1], 0);
  EXPECT_EQ(bytes[2 * align], 1);
  EXPECT_EQ(bytes[3 * align], 0);
}

TEST_F(BufferTest, HostAccessThatTheBufferForbidsIsRefused) {
  for (const auto& [flag, access] : {std::pair<cl_mem_flags, Access>{CL_MEM_HOST_NO_ACCESS, Access::kRead},
                                     {CL_MEM_HOST_WRITE_ONLY, Access::kRead},
                                     {CL_MEM_HOST_READ_ONLY, Access::kReadWrite}}) {
    const Tensor tensor = opencl::wrap(context, user_buffer(4096, CL_MEM_READ_WRITE | flag), {element::u8, {4096}, {}});
    const Code code = error_of([&] { router.map(tensor, host_context(), access); }).code();
    // A copying edge refuses writers before it looks at the buffer.
    const bool copies = !device(context).is_cpu() || !context.as<FacetContext>()->native().maps_alias;
    EXPECT_EQ(code, writes(access) && copies ? Code::kFailedPrecondition : Code::kPermissionDenied);
  }
}

TEST_F(BufferTest, AllocationsSayWhatTheyCannotBe) {
  Requirements wanted;
  wanted.size_bytes = 4096;
  wanted.fd = FdKind::kMemfd;
  EXPECT_EQ(error_of([&] { context->allocate(wanted); }).code(), Code::kUnimplemented);
  wanted.fd = FdKind::kNone;
  wanted.size_bytes = device(context).max_allocation + 1;
  const Error huge = error_of([&] { context->allocate(wanted); });
  EXPECT_EQ(huge.code(), Code::kResourceExhausted);
  EXPECT_THAT(huge.what(), HasSubstr(std::to_string(device(context).max_allocation)));
}

TEST_F(BufferTest, MemoryThatCannotBeSharedIsCopiedAndExplained) {
  alignas(64) static std::byte arena[4096 + 64];
  const Tensor odd(element::u8, {1000}, arena + 4);
  std::memset(odd.data(), 3, 1000);
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const Tensor copy = router.map(odd, context, options);
  EXPECT_THAT(bytes_of(copy), Each(3));
  EXPECT_EQ(ledger.total().copied, 1000u);
  options.policy = ZeroCopy::kRequire;
  const Error refused = error_of([&] { router.map(odd, context, options); });
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.what(),
              HasSubstr(coherency(context) == Coherency::kCopied ? "has memory of its own" : "aligned to 4 bytes"));
}

TEST_F(EventTest, HostAccessWaitsForTheUsersCommand) {
  const Tensor tensor({element::u8, {4096}, {}}, context->allocate([] {
    Requirements wanted;
    wanted.size_bytes = 4096;
    return wanted;
  }()));
  context->write(tensor, std::vector<std::byte>(4096, std::byte{1}));
  const auto gate = user_event();
  const auto event = add_one(buffer(tensor), 0, 4096, {gate});
  clFlush(queue(context));
  wrote(tensor, event);
  std::thread opener =
      tenon_test::once_this_thread_sleeps([&] { clSetUserEventStatus(gate, CL_COMPLETE); }, milliseconds(30));
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const Tensor host = router.map(tensor, host_context(), options);
  EXPECT_EQ(host.data<std::uint8_t>()[4095], 2);
  EXPECT_EQ(ledger.total().waits, 1u);
  EXPECT_GE(ledger.total().wait_ns, 10'000'000u);
  opener.join();
}

TEST_F(EventTest, WaitingEndsAtTheDeadline) {
  const auto gate = user_event();
  const TimelinePoint never = point(gate);
  EXPECT_TRUE(never.needs_wait());
  const auto begin = Clock::now();
  const Error late = error_of([&] { never.wait(begin + milliseconds(50)); });
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
  EXPECT_GE(Clock::now() - begin, milliseconds(50));
  EXPECT_LT(Clock::now() - begin, milliseconds(20000));
  const Tensor tensor = opencl::wrap(context, user_buffer(64), {element::u8, {64}, {}});
  wrote(tensor, gate);
  MapOptions options;
  options.deadline = Clock::now() + milliseconds(20);
  EXPECT_EQ(error_of([&] { router.map(tensor, host_context(), options); }).code(), Code::kDeadlineExceeded);
  clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_FALSE(never.needs_wait());
  EXPECT_NO_THROW(never.wait());
}

TEST_F(EventTest, FailuresTravelInTheEvent) {
  const auto gate = user_event();
  const Tensor tensor = opencl::wrap(context, user_buffer(64), {element::u8, {64}, {}});
  wrote(tensor, gate);
  clSetUserEventStatus(gate, -42);
  EXPECT_EQ(point(gate).state(), PointState::kFailed);
  const Error failed = error_of([&] { router.map(tensor, host_context()); });
  EXPECT_EQ(failed.code(), Code::kAborted);
  EXPECT_EQ(failed.native_code(), -42);
  EXPECT_THAT(failed.native_api(), HasSubstr("EXECUTION_STATUS"));
  std::vector<std::byte> out(64);
  EXPECT_EQ(error_of([&] { context->read(tensor, out); }).native_code(), -42);
  tensor.memory()->hazards().wrote(TimelinePoint::ready());  // Written again, so usable again.
  EXPECT_NO_THROW(router.map(tensor, host_context()));
}

TEST_F(EventTest, CommandsOfTheSameContextAreFdOwnership) {
  const Tensor tensor = opencl::wrap(context, user_buffer(64), {element::u8, {64}, {}});
  EXPECT_EQ(wait_list(tensor, Access::kRead).size(), 0u);
  EXPECT_EQ(wait_list(tensor, Access::kRead).data(), nullptr) << "as OpenCL wants an empty list";
  const auto gate = user_event();
  wrote(tensor, gate);
  const WaitList list = wait_list(tensor, Access::kRead);
  ASSERT_EQ(list.size(), 1u) << "it was waited for on the host";
  EXPECT_EQ(list.data()[0], gate.object);
  reads(tensor, gate);
  EXPECT_EQ(wait_list(tensor, Access::kWrite).size(), 2u) << "writers wait for readers, in the queue";
  clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(wait_list(tensor, Access::kRead).size(), 0u);
}

TEST_F(EventTest, RefusesEventsThatCannotBeMeant) {
  const Tensor tensor = opencl::wrap(context, user_buffer(64), {element::u8, {64}, {}});
  EXPECT_EQ(error_of([&] { wrote(tensor, nullptr); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { point(nullptr); }).code(), Code::kInvalidArgument);
  const Context other = make_context();
  cl_int status = CL_SUCCESS;
  const Released<cl_event> foreign(clCreateUserEvent(handle(other), &status));
  EXPECT_EQ(error_of([&] { wrote(tensor, foreign); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { reads(Tensor(element::u8, {4}), foreign); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { wrote(Tensor(), foreign); }).code(), Code::kInvalidArgument);
  clSetUserEventStatus(foreign, CL_COMPLETE);
}

TEST(Status, NamesAreThoseOfTheHeader) {
  EXPECT_EQ(status_name(CL_SUCCESS), "CL_SUCCESS");
  EXPECT_EQ(status_name(CL_MISALIGNED_SUB_BUFFER_OFFSET), "CL_MISALIGNED_SUB_BUFFER_OFFSET");
  EXPECT_EQ(status_name(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST), "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST");
  EXPECT_EQ(status_name(CL_INVALID_VALUE), "CL_INVALID_VALUE");
  EXPECT_EQ(status_name(CL_INVALID_MEM_OBJECT), "CL_INVALID_MEM_OBJECT");
  EXPECT_EQ(status_name(CL_INVALID_EVENT), "CL_INVALID_EVENT");
  EXPECT_EQ(status_name(CL_INVALID_BUFFER_SIZE), "CL_INVALID_BUFFER_SIZE");
  EXPECT_EQ(status_name(CL_INVALID_IMAGE_DESCRIPTOR), "CL_INVALID_IMAGE_DESCRIPTOR");
  EXPECT_EQ(status_name(-9998), "an OpenCL code");
}

}  // namespace opencl_test
}  // namespace tenon::opencl
