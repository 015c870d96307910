// SPDX-License-Identifier: Apache-2.0
// Edges between USM, host memory and dma-bufs: what is shared, what is refused and why; events, fences, semaphores.
#include <atomic>
#include <cerrno>
#include <string_view>
#include <thread>

#include <unistd.h>

#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>

#include <tenon/frameworks/level_zero/testing/level_zero.hpp>

namespace tenon::level_zero {
namespace sharing_test {

class LevelZeroSharing : public LevelZeroFixture {
 protected:
  /// Whole pages owned by the process.
  static std::shared_ptr<std::byte> pages(std::size_t count) {
    return {static_cast<std::byte*>(std::aligned_alloc(4096, count * 4096)), std::free};
  }
  MapOptions strict(Access access = Access::kReadWrite) {
    MapOptions options;
    options.access = access;
    options.policy = ZeroCopy::kRequire;
    options.ledger = &ledger;
    return options;
  }
  std::uint64_t copied() const {
    std::uint64_t bytes = 0;
    for (const LedgerEntry& entry : ledger.snapshot()) bytes += entry.copied;
    return bytes;
  }
  bool exports() {
    const Device& device = level_zero::device(context);
    return device.exports_dmabuf() || (device.exports_opaque() && usm().native().imports_memfd);
  }
  Ledger ledger;
};

TEST_F(LevelZeroSharing, HostMemoryOfTheDriverIsTheCpusInPlace) {
  for (UsmType type : {UsmType::kHost, UsmType::kShared}) {
    const Tensor tensor = allocate(context, type, bytes_info(100));
    const Tensor seen = router->map(tensor, host_context(), strict());
    EXPECT_EQ(seen.data(), usm_pointer(tensor));
    std::memset(const_cast<void*>(seen.data()), 42, 100);
    EXPECT_EQ(bytes_of(tensor), std::vector<std::uint8_t>(100, 42));
    write(tensor, counted(100, 1));
    EXPECT_EQ(std::memcmp(seen.data(), counted(100, 1).data(), 100), 0);
  }
  EXPECT_EQ(copied(), 0u);
}

TEST_F(LevelZeroSharing, DeviceMemoryIsMappedOnlyWhereTheDriverSaysSo) {
  const Context discrete = make_context(level_zero::device(context), false);
  router->add(discrete);
  const Tensor tensor = allocate(discrete, UsmType::kDevice, bytes_info(100));
  EXPECT_FALSE(tensor.is_host_addressable());
  write(tensor, counted(100, 5));
  MapOptions options = strict(Access::kRead);
  EXPECT_EQ(error_of([&] { router->map(tensor, host_context(), options); }).code(), Code::kFailedPrecondition);
  options.policy = ZeroCopy::kPrefer;
  const Tensor copy = router->map(tensor, host_context(), options);
  EXPECT_EQ(std::memcmp(copy.data(), counted(100, 5).data(), 100), 0);
  EXPECT_EQ(copied(), 100u);
  if (!level_zero::device(context).maps_device_memory()) return;
  const Tensor mapped = allocate(context, UsmType::kDevice, bytes_info(100));
  EXPECT_EQ(router->map(mapped, host_context(), strict()).data(), usm_pointer(mapped));
}

TEST_F(LevelZeroSharing, WholePagesOfTheUserAreImportedInPlace) {
  if (!level_zero::device(context).imports_system_memory()) GTEST_SKIP() << "the driver imports no system memory";
  const auto block = pages(2);
  {
    const Tensor tensor(element::u8, {2 * 4096}, block.get());
    const Tensor imported = router->map(tensor, context, strict());
    EXPECT_EQ(usm_pointer(imported), block.get());
    EXPECT_EQ(usm_type(imported), UsmType::kHost);
    write(imported, std::vector<std::uint8_t>(2 * 4096, 17));
    EXPECT_EQ(block.get()[5000], std::byte{17});
    block.get()[0] = std::byte{3};
    EXPECT_EQ(bytes_of(imported)[0], 3);
    EXPECT_EQ(usm_pointer(router->map(tensor, context, strict())), block.get()) << "the second time";
    EXPECT_EQ(copied(), 0u);
  }
  EXPECT_FALSE(detail::find_usm(usm().native(), block.get())) << "the import outlived its memory";
}

TEST_F(LevelZeroSharing, PagesThatSeveralWrapAreImportedOnce) {
  if (!level_zero::device(context).imports_system_memory()) GTEST_SKIP() << "the driver imports no system memory";
  const auto block = pages(4);
  Tensor whole(element::u8, {4 * 4096}, block.get());
  Tensor imported = router->map(whole, context, strict());
  const std::uint64_t id = allocation_id(imported);
  Tensor part(element::u8, {4096}, block.get() + 8192);
  Tensor part_imported = router->map(part, context, strict());
  EXPECT_EQ(usm_pointer(part_imported), block.get() + 8192);
  EXPECT_EQ(allocation_id(part_imported), id) << "imported a second time";
  whole = {}, imported = {};
  EXPECT_TRUE(detail::find_usm(usm().native(), block.get())) << "the import went while a part of it is used";
  write(part_imported, counted(4096, 9));
  EXPECT_EQ(std::memcmp(block.get() + 8192, counted(4096, 9).data(), 4096), 0);
  part = {}, part_imported = {};
  EXPECT_FALSE(detail::find_usm(usm().native(), block.get()));
}

TEST_F(LevelZeroSharing, SeveralZeContextsImportTheSamePages) {
  if (!level_zero::device(context).imports_system_memory()) GTEST_SKIP() << "the driver imports no system memory";
  const Context other = make_context(level_zero::device(context));
  router->add(other);
  const auto block = pages(1);
  const Tensor tensor(element::u8, {4096}, block.get());
  const Tensor here = router->map(tensor, context, strict()), there = router->map(tensor, other, strict());
  EXPECT_EQ(usm_pointer(here), usm_pointer(there));
  EXPECT_NE(here.view(), there.view());
  write(here, counted(4096, 31));
  EXPECT_EQ(bytes_of(there), counted(4096, 31));
  EXPECT_EQ(copied(), 0u);
}

TEST_F(LevelZeroSharing, MemoryOfTheDriverThatWasWrappedAsTheHostsNeedsNoImport) {
  const Tensor own = allocate(context, UsmType::kHost, bytes_info(8192));
  const Tensor wrapped(element::u8, {8192}, usm_pointer(own));
  if (describe(wrapped).alignment < 4096) GTEST_SKIP() << "the driver does not align to pages";
  const std::size_t handles = detail::Probe::handles;
  const Tensor mapped = router->map(wrapped, context, strict());
  EXPECT_EQ(usm_pointer(mapped), usm_pointer(own));
  EXPECT_EQ(detail::Probe::handles, handles) << "it was imported";
}

TEST_F(LevelZeroSharing, TheCpusViewOfOtherDriversMemoryIsNotImported) {
  const Context other = make_context(level_zero::device(context));
  const Tensor own = allocate(context, UsmType::kHost, bytes_info(8192));
  const Tensor seen = router->map(own, host_context(), strict());
  const Error error = error_of([&] {
    MapOptions options = strict();
    detail::usm_edges()[1]->map(seen, other, options);
  });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  router->add(other);
  MapOptions options = strict(Access::kRead);
  options.policy = ZeroCopy::kPrefer;
  write(own, counted(8192, 4));
  EXPECT_EQ(bytes_of(router->map(own, other, options)), counted(8192, 4));
  EXPECT_EQ(copied(), 8192u) << "planned from the memory itself, it is copied";
}

TEST_F(LevelZeroSharing, ARefusalNamesTheAlignment) {
  if (!level_zero::device(context).imports_system_memory()) GTEST_SKIP() << "the driver imports no system memory";
  const auto block = pages(2);
  const Tensor off(element::u8, {4096}, block.get() + 64);
  EXPECT_THAT(error_of([&] { router->map(off, context, strict()); }, Code::kFailedPrecondition),
              ::testing::AllOf(::testing::HasSubstr("aligned to 64 bytes"), ::testing::HasSubstr("4096")));
  const Tensor odd(element::u8, {5000}, block.get());
  EXPECT_THAT(error_of([&] { router->map(odd, context, strict()); }, Code::kFailedPrecondition),
              ::testing::HasSubstr("5000 bytes"));
  MapOptions options = strict(Access::kRead);
  options.policy = ZeroCopy::kPrefer;
  std::memset(block.get(), 8, 8192);
  EXPECT_EQ(bytes_of(router->map(off, context, options)), std::vector<std::uint8_t>(4096, 8));
  EXPECT_EQ(copied(), 4096u) << "what cannot be shared is copied, and booked";
}

TEST_F(LevelZeroSharing, AMemfdIsImportedOnceAndShared) {
  if (!usm().native().imports_memfd) GTEST_SKIP() << "the driver takes no memfd where it takes a dma-buf";
  const Ref<Memory> memory = dmabuf::allocate({dmabuf::Allocator::Kind::kStandIn, {}}, 4096);
  const Tensor tensor(bytes_info(4096), memory);
  const Tensor imported = router->map(tensor, context, strict());
  const Tensor again = router->map(tensor, context, strict());
  EXPECT_EQ(usm_pointer(again), usm_pointer(imported)) << "imported twice";
  EXPECT_EQ(memory->view_count(), 1u);
  write(imported, counted(4096, 11));
  std::vector<std::uint8_t> seen(4096);
  ASSERT_EQ(::pread(memory->borrow_fd(), seen.data(), seen.size(), 0), 4096);
  EXPECT_EQ(seen, counted(4096, 11)) << "the driver works on other memory than the descriptor's";
  EXPECT_EQ(copied(), 0u);
}

/// Another device's fence on every dma-buf: how often poll says that it is still there.
std::atomic<int> fence_polls{0};
int fence_of_another_device(const char* call) {
  return std::string_view(call) == "poll" && fence_polls > 0 && fence_polls-- > 0 ? EAGAIN : 0;
}

TEST_F(LevelZeroSharing, ADmaBufIsWaitedForAndBookedAndHasNoAddressForTheCpu) {
  if (!usm().native().imports_memfd) GTEST_SKIP() << "the driver takes no memfd where it takes a dma-buf";
  // A memfd that passes for a dma-buf: the VM's tests have real ones.
  const Tensor home(bytes_info(4096), dmabuf::allocate({dmabuf::Allocator::Kind::kStandIn, {}}, 4096));
  auto view = std::make_unique<dmabuf::DmabufView>(dmabuf::context(), Access::kReadWrite, cpu::UniqueFd(),
                                                   home.memory()->borrow_fd(), false);
  view->set_fd_kind(FdKind::kDmabuf);
  const Tensor tensor = home.through(view.get());
  dmabuf::native::fault = fence_of_another_device;
  fence_polls = 3;
  const Tensor mapped = detail::dmabuf_to_usm().map(tensor, context, strict());
  EXPECT_EQ(fence_polls, 0) << "mapped before the other device was done";
  EXPECT_EQ(ledger.total().waits, 1u);
  EXPECT_FALSE(mapped.is_host_addressable()) << "the CPU could skip the bracket";
  detail::dmabuf_to_usm().map(tensor, context, strict());
  EXPECT_EQ(ledger.total().waits, 1u) << "there was no wait";
  fence_polls = 1 << 30;
  MapOptions options = strict();
  options.deadline = Clock::now() + std::chrono::milliseconds(5);
  EXPECT_THAT(error_of([&] { detail::dmabuf_to_usm().map(tensor, context, options); }, Code::kDeadlineExceeded),
              ::testing::HasSubstr("a device had not finished"));
  dmabuf::native::fault = nullptr;
}

TEST_F(LevelZeroSharing, WhatIsMadeToBeExportedGoesOutByDescriptor) {
  if (!exports()) GTEST_SKIP() << "the driver exports no descriptors that others can map";
  Requirements wanted;
  wanted.size_bytes = 8192;
  wanted.fd = FdKind::kMemfd;
  const Tensor tensor(bytes_info(8192), context->allocate(wanted));
  const Tensor out = router->map(tensor, dmabuf::context(), strict());
  EXPECT_EQ(out.kind(), dmabuf::kDmabufMemory);
  write(tensor, counted(8192, 2));
  const cpu::UniqueFd fd = export_fd(tensor);
  const Ref<Memory> elsewhere = dmabuf::import(cpu::UniqueFd::duplicate(fd.get()), 8192);
  std::vector<std::uint8_t> seen(8192);
  const Tensor same(bytes_info(8192), elsewhere);
  dmabuf::context()->read(same, std::as_writable_bytes(std::span(seen)));
  EXPECT_EQ(seen, counted(8192, 2));
  write(out, counted(8192, 3));
  EXPECT_EQ(bytes_of(tensor), counted(8192, 3)) << "a write through the descriptor is not the device's";
  EXPECT_EQ(copied(), 0u);
}

TEST_F(LevelZeroSharing, PassesBetweenZeContextsAsADescriptorOnly) {
  const Context other = make_context(level_zero::device(context));
  router->add(other);
  const Tensor plain = allocate(context, UsmType::kHost, bytes_info(4096));
  const Step step = detail::usm_edges()[3]->step(describe(plain), other, Access::kRead);
  ASSERT_TRUE(std::holds_alternative<Refusal>(step));
  EXPECT_THAT(std::get<Refusal>(step).reason, ::testing::HasSubstr("another ze_context"));
  if (!exports()) GTEST_SKIP() << "the driver exports no descriptors that others can map";
  Requirements wanted;
  wanted.size_bytes = 4096;
  wanted.fd = FdKind::kMemfd;
  const Tensor exported(bytes_info(4096), context->allocate(wanted));
  const auto route = router->plan(describe(exported), other, strict().access, strict().policy);
  ASSERT_TRUE(route->host_wait()) << route->explain();
  EXPECT_EQ(route->host_wait()->hop, 0u) << "the export waits already: " << route->explain();
  EXPECT_EQ(route->hops()[0].edge, &detail::usm_to_dmabuf());
  const Tensor there = router->map(exported, other, strict());
  EXPECT_EQ(there.context(), other);
  write(exported, counted(4096, 21));
  EXPECT_EQ(bytes_of(there), counted(4096, 21));
  EXPECT_EQ(copied(), 0u);
}

TEST_F(LevelZeroSharing, RefusesToExportWhatWasNotMadeForIt) {
  const Tensor plain = allocate(context, UsmType::kHost, bytes_info(4096));
  EXPECT_THAT(error_of([&] { export_fd(plain); }, Code::kFailedPrecondition), ::testing::HasSubstr("Requirements::fd"));
  const Step step = detail::usm_to_dmabuf().step(describe(plain), dmabuf::context(), Access::kRead);
  EXPECT_THAT(std::get<Refusal>(step).reason, ::testing::HasSubstr("was not made to be exported"));
  if (level_zero::device(context).exports_dmabuf()) return;
  Requirements wanted;
  wanted.size_bytes = 4096;
  wanted.fd = FdKind::kDmabuf;
  EXPECT_THAT(error_of([&] { context->allocate(wanted); }, Code::kUnavailable), ::testing::HasSubstr("no dma-bufs"));
}

TEST_F(LevelZeroSharing, DescriptorsThatAreNoMemoryAreRefusedAndStayTheCallers) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const cpu::UniqueFd read_end(ends[0]), write_end(ends[1]);
  const std::size_t before = open_fds();
  const Error error = error_of([&] { detail::import_fd(usm().native_ref(), read_end.get(), 4096, true); });
  EXPECT_FALSE(error.native_api().empty());
  EXPECT_NE(error.code(), Code::kInternal) << error.what();
  const cpu::UniqueFd small = dmabuf::client::sealed_memfd(4096);
  if (usm().native().imports_memfd) {
    EXPECT_EQ(error_of([&] { detail::import_fd(usm().native_ref(), small.get(), 1 << 20, false); }).code(),
              Code::kInvalidArgument);
  }
  EXPECT_EQ(error_of([&] { detail::import_fd(usm().native_ref(), -1, 4096, true); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(open_fds(), before + 1) << "a refused descriptor was closed, or something was left open";
}

TEST_F(LevelZeroSharing, EventsArePointsThatAreWaitedForWithADeadline) {
  UserEvent user;
  make_event(user);
  const TimelinePoint late = point(user.event);
  EXPECT_EQ(late.state(), PointState::kPending);
  const auto begin = Clock::now();
  EXPECT_THAT(error_of([&] { late.wait(Clock::now() + std::chrono::milliseconds(20)); }, Code::kDeadlineExceeded),
              ::testing::HasSubstr("not done in time"));
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(19));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  std::thread signal([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    zeEventHostSignal(user.event);
  });
  late.wait();
  signal.join();
  EXPECT_EQ(late.state(), PointState::kReached);
  zeEventHostReset(user.event);
  EXPECT_EQ(late.state(), PointState::kReached) << "a point that was reached stays so when the event is used again";
  user.destroy();
  EXPECT_NO_THROW(late.wait());
  error_of([] { point(ze_event_handle_t{}); }, Code::kInvalidArgument);
}

TEST_F(LevelZeroSharing, FencesArePoints) {
  const Device& device = level_zero::device(context);
  auto queue_wanted = detail::typed<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  queue_wanted.ordinal = *device.compute_group;
  ze_command_queue_handle_t queue = nullptr;
  ASSERT_EQ(zeCommandQueueCreate(handle(context), device.handle, &queue_wanted, &queue), ZE_RESULT_SUCCESS);
  const detail::Handle<ze_command_queue_handle_t> owned_queue(queue);
  const auto fence_wanted = detail::typed<ze_fence_desc_t>(ZE_STRUCTURE_TYPE_FENCE_DESC);
  ze_fence_handle_t fence = nullptr;
  ASSERT_EQ(zeFenceCreate(queue, &fence_wanted, &fence), ZE_RESULT_SUCCESS);
  const detail::Handle<ze_fence_handle_t> owned_fence(fence);
  const TimelinePoint end = point(fence);
  EXPECT_EQ(end.state(), PointState::kPending);
  auto list_wanted = detail::typed<ze_command_list_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
  list_wanted.commandQueueGroupOrdinal = *device.compute_group;
  ze_command_list_handle_t list = nullptr;
  ASSERT_EQ(zeCommandListCreate(handle(context), device.handle, &list_wanted, &list), ZE_RESULT_SUCCESS);
  const detail::Handle<ze_command_list_handle_t> owned_list(list);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence), ZE_RESULT_SUCCESS);
  end.wait();
  EXPECT_EQ(end.state(), PointState::kReached);
}

TEST_F(LevelZeroSharing, TheHostWaitsForWhatTheUsersCommandsDo) {
  UserEvent user;
  make_event(user);
  const Tensor tensor = allocate(context, UsmType::kHost, bytes_info(64));
  wrote(tensor, user.event);
  MapOptions options = strict(Access::kRead);
  options.deadline = Clock::now() + std::chrono::milliseconds(20);
  error_of([&] { router->map(tensor, host_context(), options); }, Code::kDeadlineExceeded);
  WaitList list = wait_list(tensor, Access::kRead);
  ASSERT_EQ(list.size(), 1u) << "the event is handed on, not waited for";
  EXPECT_EQ(*list.data(), user.event);
  zeEventHostSignal(user.event);
  EXPECT_TRUE(router->map(tensor, host_context(), strict(Access::kRead)));
  EXPECT_EQ(wait_list(tensor, Access::kRead).size(), 0u);
  EXPECT_EQ(wait_list(tensor, Access::kRead).data(), nullptr);
}

TEST_F(LevelZeroSharing, ACopyThatIsLateKeepsItsMemoryAlive) {
  // A list waiting for an event blocks the queue of copies, as a busy device would.
  UserEvent user;
  make_event(user);
  const Tensor from = allocate(context, UsmType::kDevice, bytes_info(64));
  Ref<Memory> to = usm().stage(64);
  const detail::CopyRegion regions[] = {{to->host(), usm_pointer(from), 64}};
  const std::size_t references_before = detail::Probe::handles;
  usm().native().before_copies = [&](ze_command_list_handle_t list) {
    return zeCommandListAppendWaitOnEvents(list, 1, &user.event);
  };
  error_of([&] { usm().native().copy(regions, to, Clock::now() + std::chrono::milliseconds(20)); },
           Code::kDeadlineExceeded);
  usm().native().before_copies = nullptr;
  to = {};
  EXPECT_GT(detail::Probe::handles, references_before) << "the memory went while the device may still write it";
  zeEventHostSignal(user.event);
  write(from, counted(64, 1));  // The late copy has finished by now; the next one cleans it up.
  write(from, counted(64, 1));
  usm().native().drop_idle();
  EXPECT_EQ(detail::Probe::handles, references_before - 1) << "the late copy's memory stayed";
}

TEST_F(LevelZeroSharing, SemaphoresAreRefusedByWhoLacksThem) {
  const Device& device = level_zero::device(context);
  if (device.driver->has(abi::kSemaphoreExtension) && detail::newer().import_semaphore)
    GTEST_SKIP() << device.name << " has external semaphores; there is nothing to import here";
  EXPECT_THAT(error_of([&] { Semaphore(context, 0, abi::kSemaphoreOpaqueFd); }, Code::kUnimplemented),
              ::testing::HasSubstr("not offered"));
}

}  // namespace sharing_test
}  // namespace tenon::level_zero
