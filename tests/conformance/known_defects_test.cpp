// SPDX-License-Identifier: Apache-2.0
// Defects of an older memory interop library, each shown to be absent here. Every test would fail on that library.
#include <fcntl.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/mman.h>

#include <tenon/core/frame.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/null/null.hpp>

#include <tenon/tests/support/error_of.hpp>

namespace known_defects_test {

using namespace tenon;
using ::testing::HasSubstr;

/// Host memory and one null context behind a router.
struct KnownDefects : ::testing::Test {
  Context device = null::make_context();
  Router router;
  std::size_t blocks_before = null::native::live_blocks();
  void SetUp() override {
    router.add(host_context());
    router.add(device);
  }
  std::vector<std::byte> through_device(const Tensor& tensor) {
    std::vector<std::byte> bytes(tensor.size_bytes());
    device->read(tensor, bytes);
    return bytes;
  }
};

Tensor numbered(const Shape& shape) {
  const Tensor tensor(element::u8, shape);
  for (std::size_t i = 0; i < tensor.size_bytes(); ++i)
    tensor.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  return tensor;
}

// There: context and mapper referred to each other, so neither was ever freed.
TEST(KnownDefectsCycle, ContextAndMappingsDieTogether) {
  class Counted final : public ContextImpl {
   public:
    explicit Counted(int& alive) : alive_(alive) { ++alive_; }
    ~Counted() override { --alive_; }
    std::string_view name() const override { return "counted"; }
    MemoryKind kind() const override { return null::kBlockMemory; }
    std::span<const Edge* const> edges() const override { return real_->edges(); }

   private:
    int& alive_;
    Context real_ = null::make_context();
  };
  int alive = 0;
  {
    Context context{make_ref<Counted>(alive)};
    Tensor source(element::u8, {256});
    {
      Router router;
      router.add(context);
      for (int i = 0; i < 3; ++i) router.map(source, context);
    }
    context = {};
    EXPECT_EQ(alive, 1) << "the view in the memory still needs its context";
    source = {};
    EXPECT_EQ(alive, 0) << "context, memory and view hold each other";
  }
  EXPECT_EQ(alive, 0);
}

// There: mappings were cached by raw handle, so a reused handle had the old extents.
TEST_F(KnownDefects, ReusedAddressBringsNoStaleMapping) {
  alignas(64) static std::byte arena[4096];
  for (std::size_t rows : {16u, 32u, 8u}) {
    const Tensor source(element::u8, {rows, 64}, arena);
    std::fill_n(arena, rows * 64, static_cast<std::byte>(rows));
    const Tensor mapped = router.map(source, device);
    EXPECT_EQ(null::block(mapped)->size, rows * 64) << "the block of the memory that was here before";
    EXPECT_EQ(mapped.shape()[0], rows);
    EXPECT_EQ(through_device(mapped), std::vector<std::byte>(rows * 64, static_cast<std::byte>(rows)));
  }
}

// There: the cache never shrank.
TEST_F(KnownDefects, MappingsDoNotPileUp) {
  for (int i = 0; i < 1000; ++i) {
    const Tensor source(element::u8, {256});
    router.map(source, device);
  }
  EXPECT_EQ(null::native::live_blocks(), blocks_before);
}

// There: the cache kept the mapping and dropped its source: use after free.
TEST_F(KnownDefects, MappingKeepsItsParentAlive) {
  bool released = false;
  alignas(64) static std::byte bytes[256];
  Tensor source = cpu::adopt(bytes, {element::u8, {256}, {}}, [&] { released = true; });
  Tensor mapped = router.map(source, device);
  source = {};
  EXPECT_FALSE(released);
  bytes[255] = std::byte{9};
  EXPECT_EQ(through_device(mapped)[255], std::byte{9});
  mapped = {};
  EXPECT_TRUE(released);
}

// There: both planes of NV12 on one descriptor mapped to the first plane.
TEST_F(KnownDefects, ChromaOnOneDescriptorIsNotLuma) {
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  wanted.pitch_alignment = 64;
  cpu::FramePool pool({kNv12, 64, 48}, wanted, 1);
  const Frame frame = pool.acquire();
  ASSERT_EQ(frame.plane(0).memory(), frame.plane(1).memory());
  ASSERT_EQ(frame.plane(0).memory()->fd_kind(), FdKind::kMemfd);
  std::memset(frame.plane(0).data(), 0x11, 64 * 48);
  std::memset(frame.plane(1).data(), 0x22, 64 * 24);
  for (int round = 0; round < 2; ++round) {
    const Frame mapped = router.map(frame, device);
    EXPECT_EQ(through_device(mapped.plane(0)), std::vector<std::byte>(64 * 48, std::byte{0x11}));
    EXPECT_EQ(through_device(mapped.plane(1)), std::vector<std::byte>(64 * 24, std::byte{0x22}));
  }
  EXPECT_EQ(null::native::live_blocks(), blocks_before + 1) << "one import per allocation, planes are offsets into it";
}

// There: a mapped frame released the frame that it was mapped from.
TEST_F(KnownDefects, MappedFrameKeepsItsSourceAndPoolBuffer) {
  cpu::FramePool pool({kI420, 64, 48}, {}, 1);
  Frame frame = pool.acquire();
  std::memset(frame.plane(2).data(), 0x33, 32 * 24);
  Frame mapped = router.map(frame, device);
  frame = {};
  EXPECT_FALSE(pool.try_acquire()) << "the buffer went back while it is being read";
  EXPECT_EQ(through_device(mapped.plane(2)), std::vector<std::byte>(32 * 24, std::byte{0x33}));
  mapped = {};
  EXPECT_TRUE(pool.try_acquire());
}

// There: each plane closed the descriptor that all shared.
TEST_F(KnownDefects, PlanesDoNotCloseTheDescriptorTheyShare) {
  const FrameInfo info{kNv12, 64, 48};
  const Requirements wanted;
  Ref<Memory> memory = cpu::SharedMemory::allocate(Frame::size_bytes_for(info, wanted));
  const int fd = memory->borrow_fd();
  Frame frame = Frame::over(info, memory, wanted);
  memory = {};
  {
    const Tensor luma = frame.plane(0);
    Tensor chroma = frame.plane(1);
    frame = {};
    chroma = {};
    EXPECT_GE(::fcntl(fd, F_GETFD), 0) << "one plane closed it under the other";
  }
  EXPECT_LT(::fcntl(fd, F_GETFD), 0) << "it was not closed";
}

// There: 64-bit modifiers were kept in an int, losing the vendor.
TEST_F(KnownDefects, ModifiersKeepAll64Bits) {
  constexpr std::uint64_t kTiled = 0x0300'0000'0060'6010ull;  // A vendor in the top byte.
  const FrameInfo info{{kNv12.fourcc, kTiled}, 64, 48};
  const Frame frame = Frame::allocate(info);
  EXPECT_EQ(frame.info().format.modifier, kTiled);
  EXPECT_EQ(router.map(frame, device).info().format.modifier, kTiled);
  EXPECT_FALSE(info.format == (PixelFormat{kNv12.fourcc, kTiled & 0xffffffffull}));
  EXPECT_THAT(to_string(info.format), HasSubstr("0x0300000000606010"));
  static_assert(std::is_same_v<decltype(Description::modifier), std::uint64_t>);
}

// There: offsets of regions ignored the bytes per pixel.
TEST_F(KnownDefects, RegionsStartAtWholePixels) {
  const Tensor picture = numbered({48, 64, 3});
  const Tensor region = picture.slice({10, 20, 0}, {12, 24, 3});
  EXPECT_EQ(region.offset(), 10u * 64 * 3 + 20 * 3);
  const std::vector<std::byte> seen = through_device(router.map(region, device));
  std::vector<std::byte> expected;
  for (std::size_t y = 10; y < 12; ++y) {
    for (std::size_t i = 20 * 3; i < 24 * 3; ++i)
      expected.push_back(static_cast<std::byte>(picture.data<std::uint8_t>()[y * 64 * 3 + i]));
  }
  EXPECT_EQ(seen, expected);
  const Tensor wide = Tensor(element::f32, {8, 8}).slice({1, 1}, {2, 2});
  EXPECT_EQ(wide.offset(), 36u);
}

// There: strides were lost on the way, so padded rows came out sheared.
TEST_F(KnownDefects, StridesTravelAlong) {
  const Tensor whole = numbered({16, 64});
  const Tensor padded(element::u8, {16, 50}, whole.data(), {64, 1});
  const Tensor mapped = router.map(padded, device);
  EXPECT_EQ(mapped.byte_strides(), (ByteStrides{64, 1}));
  const std::vector<std::byte> seen = through_device(mapped);
  for (std::size_t y = 0; y < 16; ++y) {
    for (std::size_t x = 0; x < 50; ++x) {
      ASSERT_EQ(static_cast<std::uint8_t>(seen[y * 50 + x]), whole.data<std::uint8_t>()[y * 64 + x])
          << "row " << y << " column " << x;
    }
  }
}

// There: size() was an int and overflowed at 2^31. Address space is reserved, not memory.
TEST_F(KnownDefects, SizesPast2To31AreExact) {
  constexpr std::size_t kSize = (std::size_t{3} << 31) + 4096;  // 6 GiB and a page.
  void* reserved = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  {
    const Tensor huge = cpu::wrap(reserved, {element::u8, {kSize / 4096, 4096}, {}});
    EXPECT_EQ(huge.size_bytes(), kSize);
    EXPECT_EQ(huge.element_count(), kSize);
    const Tensor mapped = router.map(huge, device, Access::kReadWrite);
    EXPECT_EQ(null::block(mapped)->size, kSize);
    const Tensor last = mapped.slice({kSize / 4096 - 1, 0}, {kSize / 4096, 4096});
    EXPECT_EQ(last.offset(), kSize - 4096);
    const std::vector<std::byte> ones(4096, std::byte{1});
    device->write(last, ones);
    EXPECT_EQ(static_cast<std::byte*>(reserved)[kSize - 1], std::byte{1});
    EXPECT_EQ(static_cast<std::byte*>(reserved)[kSize - 4097], std::byte{0});
  }
  ::munmap(reserved, kSize);
  EXPECT_EQ(error_of([] {
              Tensor(element::f64, {std::size_t{1} << 32, std::size_t{1} << 32});
            }).code(),
            Code::kInvalidArgument);
}

// There: OpenCL -> CPU returned null. Here mapping to the CPU gives a tensor or throws.
TEST_F(KnownDefects, MappingToTheCpuNeverGivesAnEmptyTensor) {
  for (bool host_visible : {true, false}) {
    Requirements wanted;
    wanted.size_bytes = 256;
    wanted.host_access = host_visible;
    const Tensor block({element::u8, {256}, {}}, device->allocate(wanted));
    device->write(block, std::vector<std::byte>(256, std::byte{5}));
    const Tensor mapped = router.map(block, host_context());
    ASSERT_TRUE(mapped);
    EXPECT_EQ(mapped.data<std::uint8_t>()[255], 5);
    if (host_visible) continue;
    null::native::fail_call(1);
    EXPECT_EQ(error_of([&] { router.map(block, host_context()); }).native_api(), "null_copy");
  }
}

// There: registries without locks crashed when threads mapped concurrently.
TEST_F(KnownDefects, ThreadsMayMapAtOnce) {
  cpu::Pool pool(4096, 8);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  const Tensor common(element::u8, {4096});
  for (int id = 0; id < 8; ++id) {
    threads.emplace_back([&, id] {
      Ledger ledger(&Ledger::process());
      MapOptions options;
      options.ledger = &ledger;
      for (int i = 0; i < 300; ++i) {
        const Tensor own = pool.acquire_tensor({element::u8, {4096 - static_cast<std::size_t>(i)}, {}});
        std::memset(own.data(), id, own.size_bytes());
        const Tensor mapped = router.map(own, device, options);
        std::vector<std::byte> seen(mapped.size_bytes());
        device->read(mapped, seen);
        if (seen.back() != static_cast<std::byte>(id)) ++wrong;
        if (router.map(common, device, options).view() != router.map(common, device, options).view()) ++wrong;
        if (!router.plan(describe(own), device)->possible()) ++wrong;
        register_edge("threads " + std::to_string(i % 10));
      }
      if (ledger.total().maps != 900) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(common.memory()->view_count(), 1u);
}

// There: these formats threw.
TEST_F(KnownDefects, GrayP010PackedAndPlanarFormatsWork) {
  for (PixelFormat format : {kGray8, kP010, kYuy2, kRgbPlanar, kBgrPlanar, kI420, kUyvy, kRgba}) {
    const FrameInfo info{format, 66, 50};
    const Frame frame = Frame::allocate(info);
    const std::string what(format_info(format).name);
    for (std::size_t p = 0; p < frame.plane_count(); ++p) {
      const std::vector<std::byte> bytes(frame.plane(p).size_bytes(), static_cast<std::byte>(p + 1));
      host_context()->write(frame.plane(p), bytes);
    }
    const Frame mapped = router.map(frame, device);
    ASSERT_EQ(mapped.plane_count(), frame.plane_count()) << what;
    for (std::size_t p = 0; p < frame.plane_count(); ++p) {
      EXPECT_EQ(through_device(mapped.plane(p)),
                std::vector<std::byte>(frame.plane(p).size_bytes(), static_cast<std::byte>(p + 1)))
          << what;
    }
  }
  EXPECT_EQ(plane_extent({kP010, 66, 50}, 1).row_bytes, 33u * 2 * 2) << "two bytes a sample";
  EXPECT_EQ(plane_extent({kYuy2, 66, 50}, 0).row_bytes, 66u * 2);
}

// There: errors were printed and an empty result returned.
TEST_F(KnownDefects, ErrorsAreRaisedNotPrinted) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  alignas(64) static std::byte bytes[256];
  null::native::fail_call(1);
  const Error native = error_of([&] { router.map(Tensor(element::u8, {256}), device); });
  const Error refused = error_of([&] { router.map(Tensor(element::u8, {64}, bytes + 8), device); });
  const Error read_only = error_of([&] {
    router.map(cpu::wrap(static_cast<const void*>(bytes), {element::u8, {64}, {}}), device, Access::kWrite);
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(native.native_api(), "null_create");
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_EQ(read_only.code(), Code::kPermissionDenied);
}

}  // namespace known_defects_test
