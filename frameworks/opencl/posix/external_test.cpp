// SPDX-License-Identifier: Apache-2.0
// Memory and semaphores of other APIs by descriptor, surfaces, queues that are out of order. CMake runs these on the platform
// as it is, which refuses, and behind a layer that stands for several drivers.
#include <tenon/frameworks/opencl/testing/external.hpp>

namespace tenon::opencl {
namespace external_test {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::HasSubstr;

class ImportFd : public ExternalTest {
 protected:
  void SetUp() override {
    ExternalTest::SetUp();
    if (!context || IsSkipped()) return;
    if (!has_memory()) GTEST_SKIP() << "no memfds on " << device(context).name;
    if (driver_is("elsewhere")) GTEST_SKIP() << "a driver that imports other memory: see ADriverThatLies";
  }
};

TEST_F(ImportFd, IsTheSameMemoryBothWays) {
  const Foreign foreign;
  foreign.fill(1);
  const Tensor tensor = import_fd(context, foreign.fd.get(), FdKind::kOpaqueFd, kSize, bytes());
  EXPECT_THAT(bytes_of(tensor), Each(1));
  for (int round = 0; round < 3; ++round) {
    add_one_to(tensor);
    give_back(tensor).wait();
    EXPECT_TRUE(foreign.holds(2 + round * 10)) << "round " << round;
    foreign.fill(11 + round * 10);
    take(tensor);
    EXPECT_THAT(bytes_of(tensor), Each(11 + round * 10));
  }
}

TEST_F(ImportFd, LeavesTheDescriptorToTheCallerWhateverTheDriverDoes) {
  const Foreign foreign;
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 10; ++i) {
    Tensor tensor = import_fd(context, foreign.fd.get(), FdKind::kOpaqueFd, kSize, bytes());
    EXPECT_EQ(open_descriptors(), before + (driver_is("holds") ? 2 : 1)) << "the tensor's own, and the driver's";
    EXPECT_GE(::fcntl(foreign.fd.get(), F_GETFD), 0);
    give_back(tensor).wait();
  }
  EXPECT_TRUE(drain_deferred(default_deadline()));
  EXPECT_EQ(open_descriptors(), before);
}

/// What takes a descriptor's number while an import lives is not closed with it, and no import gets a closed one.
TEST_F(ImportFd, ClosesNoDescriptorOfOthers) {
  const Foreign foreign;
  const std::size_t before = open_descriptors();
  {
    std::vector<Tensor> imported;
    std::vector<UniqueFd> others;
    for (int i = 0; i < 4; ++i) {
      imported.push_back(import_fd(context, foreign.fd.get(), FdKind::kOpaqueFd, kSize, bytes()));
      give_back(imported.back()).wait();
    }
    // The lowest numbers that are free, and those after which imports used to look for theirs.
    for (const int from : {0, 0, 0, 0, 512, 512, 512, 512})
      others.emplace_back(::fcntl(foreign.fd.get(), F_DUPFD_CLOEXEC, from));
    imported.clear();
    EXPECT_TRUE(drain_deferred(default_deadline()));
    for (const UniqueFd& other : others) EXPECT_GE(::fcntl(other.get(), F_GETFD), 0) << other.get();
    tenon::testing::in_threads(8, [&](int) {
      for (int i = 0; i < 25; ++i)
        give_back(import_fd(context, foreign.fd.get(), FdKind::kOpaqueFd, kSize, bytes())).wait();
    });
    EXPECT_TRUE(drain_deferred(default_deadline()));
    for (const UniqueFd& other : others) EXPECT_GE(::fcntl(other.get(), F_GETFD), 0) << other.get();
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ImportFd, HandsOverAfterAllNotedWork) {
  const Foreign foreign;
  foreign.fill(1);
  const Tensor tensor = import_fd(context, foreign.fd.get(), FdKind::kOpaqueFd, kSize, bytes());
  const auto gate = user_event();
  const WaitList taken = wait_list(tensor, Access::kReadWrite);
  for (cl_uint i = 0; i < taken.size(); ++i) EXPECT_EQ(clWaitForEvents(1, taken.data() + i), CL_SUCCESS);
  wrote(tensor, add_one(buffer(tensor), 0, kSize, {gate}));
  const std::uint64_t waits = Ledger::process().total().waits;
  const TimelinePoint given = give_back(tensor);
  EXPECT_EQ(Ledger::process().total().waits, waits) << "the host has waited";
  EXPECT_EQ(given.state(), PointState::kPending);
  clSetUserEventStatus(gate, CL_COMPLETE);
  given.wait();
  EXPECT_TRUE(foreign.holds(2));
  const auto producer = make_ref<HostTimeline>("another API");
  const TimelinePoint written = producer->next();
  tensor.memory()->hazards().wrote(written);
  const TimelinePoint again = take(tensor);
  EXPECT_EQ(again.state(), PointState::kPending);
  foreign.fill(7);
  producer->advance(written.value());
  again.wait();
  EXPECT_THAT(bytes_of(tensor), Each(7));
}

TEST_F(ImportFd, RefusesBadInputAndLeaksNothing) {
  const Foreign foreign;
  const std::size_t before = open_descriptors();
  const auto refused = [&](int fd, FdKind kind, std::size_t size, const TensorInfo& info, Code code, const char* text) {
    const Error error = error_of([&] { import_fd(context, fd, kind, size, info); });
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(text));
  };
  const int fd = foreign.fd.get();
  refused(fd, FdKind::kOpaqueFd, kSize, bytes(kSize + 1), Code::kOutOfRange, "needs 8193 bytes, the memory has 8192");
  refused(fd, FdKind::kOpaqueFd, 0, bytes(0), Code::kOutOfRange, "the memory has 0");
  refused(fd, FdKind::kNone, kSize, bytes(), Code::kUnimplemented, "no descriptor");
  refused(fd, FdKind::kNtHandle, kSize, bytes(), Code::kUnimplemented, "NT handle");
  refused(-1, FdKind::kOpaqueFd, kSize, bytes(), Code::kInvalidArgument, "it is not open");
  refused(fd, FdKind::kOpaqueFd, 2 * kSize, bytes(), Code::kInvalidArgument, "importing 16384 bytes");
  EXPECT_EQ(error_of([&] { import_fd(host_context(), fd, FdKind::kOpaqueFd, kSize, bytes()); }).code(),
            Code::kInvalidArgument);
  const Tensor other(bytes(), context->allocate([] {
    Requirements wanted;
    wanted.size_bytes = kSize;
    return wanted;
  }()));
  EXPECT_THAT(error_of([&] { give_back(other); }).what(), HasSubstr("was not imported"));
  EXPECT_THAT(error_of([&] { take({}); }).what(), HasSubstr("an empty tensor"));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ImportFd, LeaksNothingWhicheverCallFails) {
  const Foreign foreign;
  const std::size_t descriptors = open_descriptors(), handles = detail::Probe::handles.load();
  std::size_t n = 1;
  for (;; ++n) {
    detail::Probe::failed.store(false);
    detail::Probe::countdown.store(static_cast<long>(n));
    try {
      const Tensor tensor = import_fd(context, foreign.fd.get(), FdKind::kOpaqueFd, kSize, bytes());
      give_back(tensor).wait();
    } catch (const Error& error) {
      EXPECT_EQ(error.native_code(), detail::injected_code()) << error.what();
    }
    detail::Probe::countdown.store(0);
    EXPECT_TRUE(drain_deferred(default_deadline()));
    // What was acquired is released by a command, and a driver may keep its descriptor until that has run.
    for (int i = 0; i < 60000 && open_descriptors() != descriptors; ++i) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(open_descriptors(), descriptors) << "call " << n;
    EXPECT_EQ(detail::Probe::handles.load(), handles) << "call " << n;
    if (!detail::Probe::failed.load()) break;
  }
  EXPECT_GE(n, 4u);
}

TEST_F(ExternalTest, PlatformsWithoutItSayWhatTheyLack) {
  if (imports(context, FdKind::kOpaqueFd)) GTEST_SKIP() << "it has external memory";
  const Foreign foreign;
  std::string reason;
  EXPECT_FALSE(imports(context, FdKind::kOpaqueFd, &reason));
  EXPECT_THAT(reason, HasSubstr("lacks cl_khr_external_memory_opaque_fd"));
  const Error refused = error_of([&] { import_fd(context, foreign.fd.get(), FdKind::kCudaFd, kSize, bytes()); });
  EXPECT_EQ(refused.code(), Code::kUnimplemented);
  EXPECT_THAT(refused.what(), HasSubstr("lacks cl_khr_external_memory_opaque_fd"));
  Description dmabuf;
  dmabuf.fd = FdKind::kDmabuf;
  const Step step = detail::dmabuf_to_buffer().step(dmabuf, context, Access::kRead);
  ASSERT_TRUE(std::holds_alternative<Refusal>(step));
  EXPECT_THAT(std::get<Refusal>(step).reason, HasSubstr("lacks cl_khr_external_memory_dma_buf"));
  EXPECT_THAT(error_of([&] { Semaphore::make(context, SemaphoreKind::kOpaqueFd); }).what(),
              HasSubstr("lacks cl_khr_external_semaphore_opaque_fd"));
}

/// The order for surfaces and cameras' buffers: mapped in place where the device is the CPU, else imported where it does
/// that, else copied. The route says which, the ledger what it cost.
TEST_F(ExternalTest, DmabufsTakeTheBestWayThatThereIs) {
  const Tensor home({element::u8, {kSize}, {}}, dmabuf::allocate(kSize));
  home.context()->write(home, std::vector<std::byte>(kSize, std::byte{5}));
  const FdKind kind = home.memory()->fd_kind();
  for (const auto wished : {std::optional<Coherency>(), std::optional<Coherency>(Coherency::kCopied)}) {
    const Context there = make_context(device(context).id, wished);
    Router way;
    for (const Context& known : {host_context(), dmabuf::context(), there}) way.add(known);
    Ledger ledger;
    MapOptions options;
    options.ledger = &ledger;
    EXPECT_THAT(bytes_of(way.map(home, there, options)), Each(5));
    const std::string route = way.plan(describe(home), there, Access::kRead)->explain();
    const bool imported = imports(there, kind), in_place = coherency(there) == Coherency::kStanding;
    EXPECT_THAT(route, HasSubstr(imported && !in_place ? "takes   dmabuf->opencl.buffer" : "takes   dmabuf->cpu"));
    EXPECT_EQ(ledger.total().copied, imported || in_place ? 0u : kSize) << route;
  }
}

/// The layer's driver accepts every import, and gives other memory; likewise host pointers.
TEST_F(ExternalTest, ADriverThatLiesIsNotBelieved) {
  if (!driver_is("elsewhere")) GTEST_SKIP() << "an honest driver";
  EXPECT_EQ(coherency(context), Coherency::kCopied) << "it copies behind host pointers";
  const detail::Native& native = context.as<FacetContext>()->native();
  EXPECT_FALSE(native.imports_memfd);
  const bool kernel_has_dmabufs = dmabuf::allocators().size() > 1;
  EXPECT_EQ(!native.dmabuf_obstacle.empty(), kernel_has_dmabufs);
  if (kernel_has_dmabufs) {
    EXPECT_THAT(native.dmabuf_obstacle, HasSubstr("other memory than theirs"));
  }
  router.add(dmabuf::context());
  router.add(host_context());
  const Tensor home({element::u8, {kSize}, {}}, dmabuf::allocate(kSize));
  home.context()->write(home, std::vector<std::byte>(kSize, std::byte{5}));
  EXPECT_THAT(bytes_of(router.map(home, context)), Each(5)) << "over the host, by a copy";
  EXPECT_THAT(router.explain(describe(home), context), HasSubstr("dmabuf->opencl.buffer"));
}

TEST_F(ExternalTest, AUnifiedGpuIsBelievedAfterATest) {
  if (!driver_is("unified") || driver_is("elsewhere")) GTEST_SKIP() << "no GPU with the host's memory";
  EXPECT_FALSE(device(context).is_cpu());
  EXPECT_EQ(coherency(context), Coherency::kMapped);
  Tensor host({element::u8, {kSize}, {}}, HostMemory::allocate(kSize, 4096));
  std::memset(host.data(), 1, kSize);
  {
    const Tensor mapped = router.map(host, context, Access::kReadWrite);
    EXPECT_EQ(mapped.memory(), host.memory());
    add_one_to(mapped);
  }
  host.memory()->wait_for(Access::kRead, default_deadline());
  EXPECT_EQ(host.data<std::uint8_t>()[kSize - 1], 2);
}

TEST_F(ExternalTest, SemaphoresOrderTheQueuesOfTwoContexts) {
  if (!detail::exports(context.as<FacetContext>()->native(), SemaphoreKind::kOpaqueFd))
    GTEST_SKIP() << "no external semaphores";
  const Context other = make_context(device(context).id);
  const std::size_t descriptors = open_descriptors();
  {
    const Semaphore ours = Semaphore::make(context, SemaphoreKind::kOpaqueFd);
    const Semaphore theirs = Semaphore::import(other, ours.export_fd(), SemaphoreKind::kOpaqueFd);
    for (int round = 0; round < 3; ++round) {
      const auto gate = user_event();
      const cl_event before = gate;
      EXPECT_EQ(clEnqueueBarrierWithWaitList(queue(context), 1, &before, nullptr), CL_SUCCESS);
      const TimelinePoint reached = theirs.wait(queue(other)), signalled = ours.signal(queue(context));
      std::this_thread::sleep_for(milliseconds(10));
      EXPECT_EQ(reached.state(), PointState::kPending);
      clSetUserEventStatus(gate, CL_COMPLETE);
      reached.wait();
      signalled.wait();
    }
  }
  clFinish(queue(other));
  // The driver lets go of a semaphore a moment after its last wait.
  for (int i = 0; i < 60000 && open_descriptors() != descriptors; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(open_descriptors(), descriptors);
  UniqueFd closed(::dup(0));
  ::close(closed.get());
  EXPECT_THROW(Semaphore::import(context, std::move(closed), SemaphoreKind::kOpaqueFd), Error);
  EXPECT_TRUE(closed) << "a descriptor that was not imported stays the caller's";
  (void)closed.release();
}

TEST_F(ExternalTest, SurfacesAreRefusedByWhatIsMissing) {
  std::string reason;
  EXPECT_FALSE(shares(context, PictureApi::kD3d11, &reason));
  EXPECT_THAT(reason, HasSubstr("Windows only"));
  EXPECT_FALSE(shares(context, PictureApi::kVa, &reason)) << "no context of a VADisplay";
  EXPECT_THAT(reason,
              HasSubstr(driver_is("surfaces") ? "was not made of a VADisplay" : "lacks cl_intel_va_api_media_sharing"));
  EXPECT_EQ(error_of([] { make_va_context(nullptr); }).code(), Code::kInvalidArgument);
  unsigned nothing = 0;
  const Error refused = error_of([&] { make_va_context(&nothing); });
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.what(), HasSubstr(driver_is("surfaces") ? "does not share surfaces of this display"
                                                              : "lacks cl_intel_va_api_media_sharing"));
  EXPECT_THAT(refused.what(), HasSubstr("vaExportSurfaceHandle"));
  if (device(context).max_width == 0) return;
  EXPECT_EQ(error_of([&] { import_va_surface(images(context), 0, 0); }).code(), Code::kUnimplemented);
}

TEST_F(ExternalTest, SurfacesAreImagesWhereThePlatformSharesThem) {
  if (!driver_is("surfaces")) GTEST_SKIP() << "no sharing of VA surfaces";
  unsigned display = 3;  // Surfaces, as the layer has them.
  const Context shared = make_va_context(&display), pictures = images(shared);
  EXPECT_TRUE(shares(shared, PictureApi::kVa));
  for (int round = 0; round < 3; ++round) {
    const Tensor y = import_va_surface(pictures, 2, 0);
    EXPECT_EQ(y.shape(), (Shape{32, 64}));
    EXPECT_THAT(bytes_of(y), Each(3));
  }
  EXPECT_TRUE(drain_deferred(default_deadline()));
  EXPECT_EQ(error_of([&] { import_va_surface(pictures, 3, 0); }).code(), Code::kInvalidArgument);
  EXPECT_THAT(error_of([&] { import_va_surface(pictures, 0, 2); }).what(), HasSubstr("plane 2 of VA surface 0"));
  EXPECT_EQ(error_of([&] { import_va_surface(shared, 0, 0); }).code(), Code::kInvalidArgument) << "no images";
  clFinish(queue(shared));
}

/// Commands of such a queue keep no order but the one that they are given.
class OutOfOrder : public ExternalTest {
 protected:
  void SetUp() override {
    ExternalTest::SetUp();
    if (!context || IsSkipped()) return;
    if (!device(context).out_of_order) GTEST_SKIP() << device(context).name << " has no such queues";
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_int status = CL_SUCCESS;
    loose = Released<cl_command_queue>(
        clCreateCommandQueueWithProperties(handle(context), device(context).id, &properties[0], &status));
    ASSERT_EQ(status, CL_SUCCESS);
    there = wrap(handle(context), loose);
    router.add(there);
  }
  void TearDown() override {
    there = {};
    loose = {};
    ExternalTest::TearDown();
  }
  Tensor allocated(std::uint8_t value) {
    Requirements wanted;
    wanted.size_bytes = kSize;
    Tensor made(bytes(), there->allocate(wanted));
    there->write(made, std::vector<std::byte>(kSize, std::byte{value}));
    return made;
  }
  Released<cl_command_queue> loose;
  Context there;
};

TEST_F(OutOfOrder, WaitListsOrderKernels) {
  const Tensor tensor = allocated(1);
  const auto gate = user_event();
  const cl_event before = gate;
  cl_event first = nullptr;
  ASSERT_EQ(clEnqueueMarkerWithWaitList(loose, 1, &before, &first), CL_SUCCESS);
  const Released<cl_event> marker(first);
  wrote(tensor, marker);
  const std::uint64_t waits = Ledger::process().total().waits;
  for (int i = 0; i < 8; ++i) add_one_to(tensor);  // Each after the one before, by its wait list.
  EXPECT_EQ(Ledger::process().total().waits, waits) << "the host has waited";
  clFlush(loose);
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(tensor.memory()->pending(Access::kRead).empty(), false);
  clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_THAT(bytes_of(tensor), Each(9));
}

TEST_F(OutOfOrder, StreamsPutABarrierBeforeWhatFollows) {
  const Tensor tensor = allocated(1);
  const auto gate = user_event();
  wrote(tensor, gate);
  const Ref<Stream> stream = opencl::stream(there);
  MapOptions options;
  options.access = Access::kReadWrite;
  options.stream = stream.get();
  options.deadline = Clock::now();
  const Tensor mapped = router.map(tensor, there, options);
  const Released<cl_kernel> kernel(add_kernel());
  const cl_mem memory = buffer(mapped);
  const cl_ulong from = 0;
  clSetKernelArg(kernel, 0, sizeof memory, &memory);
  clSetKernelArg(kernel, 1, sizeof from, &from);
  cl_event event = nullptr;
  ASSERT_EQ(clEnqueueNDRangeKernel(loose, kernel, 1, nullptr, &kSize, nullptr, 0, nullptr, &event), CL_SUCCESS);
  const Released<cl_event> done(event);
  const TimelinePoint all = stream->signal();
  mapped.memory()->hazards().wrote(all);
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(point(done).state(), PointState::kPending) << "the kernel did not wait for the barrier";
  clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_THAT(bytes_of(tensor), Each(2));
  EXPECT_EQ(all.state(), PointState::kReached);
}

}  // namespace external_test
}  // namespace tenon::opencl
