// SPDX-License-Identifier: Apache-2.0
// CUDA memory: ways in and out, transfers, pages pinned in place, exports, wrong arguments and failing calls.
#include <tenon/frameworks/cuda/testing/cuda.hpp>

#include <sys/mman.h>

#include <cstring>

#include <tenon/core/proof.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>

#include <tenon/tests/support/fail_each_call.hpp>

namespace tenon::cuda {
namespace cuda_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Cuda : public CudaFixture {};

TEST_F(Cuda, NamesTheDeviceAsOthersDo) {
  EXPECT_THAT(std::string(context->name()), ::testing::StartsWith("cuda:"));
  const DeviceIdentity identity = context->device();
  EXPECT_TRUE(identity.has(kDeviceUuid) && identity.has(kPciAddress));
  EXPECT_TRUE(same_device(context, make_context()));
  EXPECT_EQ(handle(context), handle(make_context())) << "one primary context for all";
  if (contexts().size() > 1) {
    EXPECT_FALSE(same_device(contexts()[0], contexts()[1]));
    EXPECT_NE(contexts()[0]->name(), contexts()[1]->name());
  }
}

TEST_F(Cuda, DeviceMemoryIsCopiedAndTransferred) {
  const Tensor there = allocate(context, MemoryType::kDevice, bytes_info(1000));
  EXPECT_FALSE(there.is_host_addressable());
  write(there, counted(1000, 1));
  Ledger ledger;
  const Tensor here = router->map(there, host_context(), MapOptions{Access::kRead, ZeroCopy::kPrefer, &ledger});
  EXPECT_EQ(std::memcmp(here.data(), counted(1000, 1).data(), 1000), 0);
  EXPECT_EQ(ledger.total().copied, 1000u);
  EXPECT_EQ(ledger.total().transferred, 1000u);
}

TEST_F(Cuda, PinnedMemoryIsSharedWithTheHost) {
  const Tensor pinned = allocate(context, MemoryType::kHost, bytes_info(4096));
  ASSERT_TRUE(pinned.is_host_addressable());
  Ledger ledger;
  MapOptions options{Access::kReadWrite, ZeroCopy::kRequire, &ledger};
  const Tensor here = router->map(pinned, host_context(), options);
  std::memset(here.data(), 7, 4096);
  EXPECT_EQ(bytes_of(pinned), std::vector<std::uint8_t>(4096, 7));
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(Cuda, WholePagesArePinnedInPlaceOnceForAllWhoUseThem) {
  const Tensor here(bytes_info(8192), cpu::SharedMemory::allocate(8192));
  Ledger ledger;
  const MapOptions options{Access::kReadWrite, ZeroCopy::kRequire, &ledger};
  const Tensor there = router->map(here, context, options);
  write(there, counted(8192, 3));
  EXPECT_EQ(std::memcmp(here.data(), counted(8192, 3).data(), 8192), 0) << "the device wrote elsewhere";
  std::memset(here.data(), 9, 8192);
  EXPECT_EQ(bytes_of(there), std::vector<std::uint8_t>(8192, 9)) << "the device reads elsewhere";
  // The same pages under other names: one memory over all of them, one over a part.
  const std::size_t pins = client::Probe::handles;
  const Tensor again = router->map(cpu::wrap(here.data(), bytes_info(8192)), context, options);
  const Tensor part =
      router->map(cpu::wrap(static_cast<std::byte*>(here.data()) + 4096, bytes_info(4096)), context, options);
  EXPECT_EQ(client::Probe::handles, pins);
  write(part, counted(4096, 5));
  EXPECT_EQ(bytes_of(again.slice({4096}, {8192})), counted(4096, 5));
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(Cuda, MemoryThatIsNoWholePageIsCopied) {
  Tensor here(element::u8, {1000});
  std::memset(here.data(), 4, 1000);
  EXPECT_THAT(router->explain(describe(here), context), HasSubstr("CUDA pins whole pages of"));
  const Tensor there = router->map(here, context);
  EXPECT_FALSE(there.is_host_addressable());
  EXPECT_EQ(bytes_of(there), std::vector<std::uint8_t>(1000, 4));
}

TEST_F(Cuda, RegionsAreCopiedRowByRow) {
  const Tensor whole = allocate(context, MemoryType::kDevice, {element::u8, {5, 16, 64}, {}});
  write(whole, counted(5 * 16 * 64, 0));
  const Tensor region = whole.slice({1, 3, 8}, {4, 9, 40});
  std::vector<std::uint8_t> expected;
  for (std::size_t z = 1; z < 4; ++z)
    for (std::size_t y = 3; y < 9; ++y)
      for (std::size_t x = 8; x < 40; ++x) expected.push_back(static_cast<std::uint8_t>((z * 16 + y) * 64 + x));
  EXPECT_EQ(bytes_of(region), expected);
  for (std::uint8_t& byte : expected) byte = static_cast<std::uint8_t>(byte ^ 0xff);
  write(region, expected);
  EXPECT_EQ(bytes_of(region), expected);
  EXPECT_EQ(bytes_of(whole.slice({0, 0, 0}, {1, 16, 64})), counted(16 * 64, 0)) << "a neighbour was written";
}

TEST_F(Cuda, AllocatesWhatIsWanted) {
  Requirements wanted;
  wanted.size_bytes = 1000;
  EXPECT_EQ(context->allocate(wanted)->host(), nullptr);
  wanted.host_access = true;
  EXPECT_NE(context->allocate(wanted)->host(), nullptr);
  wanted.fd = FdKind::kCudaFd;
  EXPECT_THAT(error_of([&] { context->allocate(wanted); }, Code::kUnimplemented), HasSubstr("exported"));
  wanted.host_access = false;
  wanted.alignment = 1 << 16;
  if (device(context).exports_fd) {
    const Ref<Memory> memory = context->allocate(wanted);
    EXPECT_EQ(memory->fd_kind().name(), FdKind::kCudaFd.name());
    EXPECT_GE(memory->borrow_fd(), 0);
    EXPECT_TRUE(memory->exporter() && memory->exporter()->same_device(context->device()));
    EXPECT_EQ(memory->size_bytes() % device(context).export_granularity, 0u);
  }
  wanted.fd = FdKind::kDmabuf;
  EXPECT_THAT(error_of([&] { context->allocate(wanted); }, Code::kUnimplemented), HasSubstr("dma-buf"));
}

TEST_F(Cuda, ExportsDescriptorsThatKeepTheMemory) {
  if (!device(context).exports_fd) GTEST_SKIP() << "the device exports none";
  UniqueFd fd;
  {
    const Tensor tensor = exported(100'000);
    write(tensor, counted(100'000, 1));
    EXPECT_EQ(bytes_of(tensor), counted(100'000, 1));
    fd = export_fd(tensor);
    EXPECT_GE(fd.get(), 0);
    EXPECT_NE(fd.get(), tensor.memory()->borrow_fd()) << "the caller closes its own";
  }
  EXPECT_EQ(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(Cuda, WrapsAPartOfAUsersAllocationAndFindsItsDescriptor) {
  const Tensor owner = allocate(context, MemoryType::kDevice, bytes_info(4096));
  write(owner, counted(4096, 1));
  const Tensor part = wrap(context, pointer(owner) + 100, bytes_info(50));
  EXPECT_EQ(part.offset(), 100u) << "the memory is the whole allocation, so that two wraps share its state";
  EXPECT_EQ(part.memory()->identity(), owner.memory()->identity());
  EXPECT_EQ(bytes_of(part), counted(50, 101));
  EXPECT_TRUE(part.memory()->fd_kind() == FdKind::kNone);
  EXPECT_THAT(error_of([&] { export_fd(part); }, Code::kFailedPrecondition),
              AllOf(HasSubstr("cudaMalloc"), HasSubstr("cuda::allocate_exported")));
  if (!device(context).exports_fd) return;
  const Tensor shared = exported(4096);
  const Tensor wrapped = wrap(context, pointer(shared) + 64, bytes_info(64));
  EXPECT_TRUE(wrapped.memory()->fd_kind() == FdKind::kCudaFd) << "a user's memory of the virtual memory API";
  EXPECT_EQ(wrapped.memory()->size_bytes(), shared.memory()->size_bytes());
}

TEST_F(Cuda, TheReleaseOfAdoptedMemoryIsCalledOnceOnEveryPath) {
  const Tensor owner = allocate(context, MemoryType::kDevice, bytes_info(64));
  int released = 0;
  {
    Tensor adopted = adopt(context, pointer(owner), bytes_info(64), [&] { ++released; });
    const Tensor copy = adopted;
    adopted = {};
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_THROW(adopt(context, pointer(owner), bytes_info(65), [&] { ++released; }), Error);
  EXPECT_EQ(released, 2);
  EXPECT_THROW(adopt(host_context(), pointer(owner), bytes_info(64), [&] { ++released; }), Error);
  EXPECT_EQ(released, 3);
}

TEST_F(Cuda, WrongArgumentsAreNamed) {
  const Tensor tensor = allocate(context, MemoryType::kDevice, bytes_info(64));
  int on_the_stack = 0;
  EXPECT_THAT(error_of([&] { wrap(context, nullptr, bytes_info(1)); }, Code::kInvalidArgument),
              HasSubstr("a null pointer"));
  EXPECT_THAT(error_of([&] { wrap(context, &on_the_stack, bytes_info(4)); }, Code::kInvalidArgument),
              HasSubstr("no memory that CUDA knows"));
  EXPECT_THAT(error_of([&] { wrap(context, pointer(tensor) + 60, bytes_info(1 << 22)); }, Code::kOutOfRange),
              AllOf(HasSubstr("needs 4194304 bytes"), HasSubstr("from there on")));
  EXPECT_THAT(error_of([&] { pointer(Tensor(element::u8, {4})); }, Code::kInvalidArgument), HasSubstr("map it to"));
  EXPECT_THAT(error_of([&] { handle(host_context()); }, Code::kInvalidArgument), HasSubstr("not a context of cuda"));
  EXPECT_THAT(error_of([&] { make_context(99); }, Code::kInvalidArgument), HasSubstr("no device 99"));
  EXPECT_THAT(error_of([&] { cuda::wrap(nullptr); }, Code::kInvalidArgument), HasSubstr("null CUcontext"));
  EXPECT_THAT(error_of(
                  [&] {
                    allocate(context, MemoryType::kDevice, {element::f64, {SIZE_MAX / 16, 16}, {}});
                  },
                  Code::kInvalidArgument),
              HasSubstr("63 bits"));
  const Error huge = error_of([&] { allocate(context, MemoryType::kDevice, bytes_info(std::size_t{1} << 46)); });
  EXPECT_EQ(huge.code(), Code::kResourceExhausted);
  EXPECT_THAT(huge.what(), AllOf(HasSubstr("70368744177664 bytes of device memory"),
                                 HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"), HasSubstr("cuMemAlloc gave 2")));
  if (contexts().size() > 1) {
    EXPECT_THAT(error_of([&] { wrap(contexts()[1], pointer(tensor), bytes_info(64)); }, Code::kInvalidArgument),
                HasSubstr("lies on device 0"));
  }
}

TEST_F(Cuda, EveryFailingCallIsAnErrorAndLeavesNothing) {
  const Tensor here(bytes_info(8192), cpu::SharedMemory::allocate(8192));
  std::memset(here.data(), 6, 8192);
  const auto work = [&] {
    const Context own = make_context();
    const Tensor made = device(own).exports_fd ? allocate_exported(own, bytes_info(8192))
                                               : allocate(own, MemoryType::kDevice, bytes_info(8192));
    write(made, counted(8192, 2));
    wrap(own, pointer(made), bytes_info(100));
    // A memory of its own, whose view goes with it.
    const Router routes;  // A router remembers contexts.
    const Tensor pinned = routes.map(cpu::wrap(here.data(), bytes_info(8192)), own, Access::kRead);
    EXPECT_EQ(bytes_of(pinned)[0], 6);
    return bytes_of(made);
  };
  testing::fail_each_call<client::Probe>("CUDA_ERROR_OUT_OF_MEMORY", work,
                                         [](const auto& bytes) { EXPECT_EQ(bytes, counted(8192, 2)); });
}

TEST_F(Cuda, SharingIsProved) {
  const auto pages = [](const Requirements& wanted) -> Ref<Memory> {
    return cpu::SharedMemory::allocate((wanted.size_bytes + 4095) / 4096 * 4096);
  };
  const ProofResult to = prove(*router, host_context(), context, 1 << 20, pages);
  EXPECT_EQ(name(to.proof), "proved") << to.reason;
  const ProofResult from = prove(*router, context, host_context(), 1 << 20, [&](const Requirements& wanted) {
    return context.as<CudaContext>()->allocate(wanted, MemoryType::kHost);
  });
  EXPECT_EQ(name(from.proof), "proved") << from.reason;
}

TEST(CudaWithoutADriver, SaysWhatIsMissing) {
  if (detail::loaded().missing.empty()) GTEST_SKIP() << "there is one";
  EXPECT_TRUE(contexts().empty());
  EXPECT_THAT(error_of([] { make_context(); }, Code::kUnavailable), AllOf(HasSubstr("cuda: "), HasSubstr("driver")));
}

}  // namespace cuda_test
}  // namespace tenon::cuda
