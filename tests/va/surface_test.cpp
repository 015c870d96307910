// SPDX-License-Identifier: Apache-2.0
// Surfaces as frames: to dma-bufs and the CPU and back, their points, and what is refused.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/core/host.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/dmabuf/frame.hpp>
#include <tenon/frameworks/dmabuf/testing/vgem.hpp>

#include <tenon/tests/support/in_threads.hpp>
#include <tenon/tests/va/va_fixture.hpp>

namespace tenon::va_test {
namespace surface_test {

using VaSurface = VaTest;

/// Makes a surface as an application does.
VASurfaceID make_surface(std::uint32_t fourcc, unsigned rt_format, unsigned width, unsigned height) {
  VASurfaceAttrib format{};
  format.type = VASurfaceAttribPixelFormat;
  format.flags = VA_SURFACE_ATTRIB_SETTABLE;
  format.value.type = VAGenericValueTypeInteger;
  format.value.value.i = static_cast<int>(fourcc);
  VASurfaceID id = VA_INVALID_SURFACE;
  EXPECT_EQ(vaCreateSurfaces(vaapi::display(context()), rt_format, width, height, &id, 1, &format, 1), 0);
  return id;
}
void destroy(VASurfaceID id) { EXPECT_EQ(vaDestroySurfaces(vaapi::display(context()), &id, 1), 0); }

Frame host_frame(const FrameInfo& info, unsigned seed) {
  Frame frame = Frame::allocate(info);
  paint(frame, seed);
  return frame;
}

/// A frame in one dma-buf (or its stand-in).
Frame dmabuf_frame(const FrameInfo& info) {
  Requirements wanted;
  wanted.pitch_alignment = 64;
  wanted.size_bytes = Frame::size_bytes_for(info, wanted);
  return Frame::over(info, dmabuf::context()->allocate(wanted), wanted);
}

Router& router() {
  static Router& the_one = *[] {
    auto* made = new Router;
    for (const Context& known : {context(), dmabuf::context(), host_context()}) made->add(known);
    return made;
  }();
  return the_one;
}

TEST_F(VaSurface, EveryFormatIsSharedWithDmabufsAndTheCpuBothWays) {
  for (const PixelFormat format :
       {kNv12, kP010, kI420, kYv12, kI422, kI444, kYuy2, kUyvy, kGray8, kRgba, kBgra, kRgbx, kBgrx}) {
    for (const auto& [width, height] : {std::pair{64u, 48u}, std::pair{35u, 19u}}) {
      SCOPED_TRACE(to_string(format) + " " + std::to_string(width));
      const Frame surface = vaapi::allocate(context(), {format, width, height});
      Ledger ledger;
      MapOptions options;
      options.ledger = &ledger;
      options.access = Access::kReadWrite;
      options.policy = ZeroCopy::kRequire;
      const Frame descriptors = router().map(surface, dmabuf::context(), options);
      const Frame host = router().map(surface, host_context(), options);
      paint(surface, 1);
      expect_painted(descriptors, 1);
      expect_painted(host, 1);
      paint(descriptors, 2);
      expect_painted(surface, 2);
      paint(host, 3);
      expect_painted(surface, 3);
      EXPECT_EQ(ledger.total().copied, 0u);
    }
  }
}

TEST_F(VaSurface, DerivedImageIsSharedAndEndsWithItsLease) {
  const Frame surface = vaapi::allocate(context(), {kNv12, 64, 48});
  paint(surface, 4);
  Router direct;
  const Edge* const edge = *std::find_if(context()->edges().begin(), context()->edges().end(),
                                         [](const Edge* each) { return each->name() == "vaapi->cpu"; });
  MapOptions options;
  options.access = Access::kReadWrite;
  VAImage image{};
  {
    const Frame host = edge->map_frame(surface, host_context(), options);
    const Frame again = edge->map_frame(surface, host_context(), options);
    EXPECT_EQ(host.plane(1).data(), again.plane(1).data());
    expect_painted(host, 4);
    paint(host, 5);
    // The driver refuses to give a surface a picture while one of its images is there; that shows that there is one.
    const VASurfaceID id = vaapi::surface(surface);
    ASSERT_EQ(vaDeriveImage(vaapi::display(context()), id, &image), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyImage(vaapi::display(context()), image.image_id), VA_STATUS_SUCCESS);
  }
  expect_painted(surface, 5);
  const Frame once_more = edge->map_frame(surface, host_context(), options);
  expect_painted(once_more, 5);
}

TEST_F(VaSurface, ImportKeepsOffsetsPitchesAndIsMadeOnce) {
  // Planes at odd places of one memory, and in two memories.
  const FrameInfo info{kNv12, 48, 20};
  const Ref<Memory> one = dmabuf::allocate(64 * 1024), other = dmabuf::allocate(16 * 1024);
  const TensorInfo luma{element::u8, {20, 48}, {192, 1}}, chroma{element::u8, {10, 24, 2}, {320, 2, 1}};
  const Frame frames[] = {Frame(info, {Tensor(luma, one, 4096), Tensor(chroma, one, 20480)}),
                          Frame(info, {Tensor(luma, one, 64), Tensor(chroma, other, 128)})};
  for (const Frame& frame : frames) {
    MapOptions options;
    options.access = Access::kReadWrite;
    options.policy = ZeroCopy::kRequire;
    const Frame seen = router().map(frame, context(), options);
    EXPECT_EQ(vaapi::surface(seen), vaapi::surface(router().map(frame, context(), options))) << "made anew";
    paint(frame, 6);
    expect_painted(seen, 6);
    paint(seen, 7);
    expect_painted(frame, 7);
    VADRMPRIMESurfaceDescriptor handed{};
    ASSERT_EQ(
        vaExportSurfaceHandle(vaapi::display(context()), vaapi::surface(seen), VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
                              VA_EXPORT_SURFACE_READ_WRITE | VA_EXPORT_SURFACE_SEPARATE_LAYERS, &handed),
        VA_STATUS_SUCCESS);
    for (std::uint32_t i = 0; i < handed.num_objects; ++i) ::close(handed.objects[i].fd);
    for (std::size_t p = 0; p < 2; ++p) {
      EXPECT_EQ(handed.layers[p].offset[0], frame.plane(p).offset());
      EXPECT_EQ(handed.layers[p].pitch[0], static_cast<std::uint32_t>(frame.plane(p).byte_strides()[0]));
    }
    const Frame back = router().map(seen, dmabuf::context(), options);
    expect_painted(back, 7);
  }
}

TEST_F(VaSurface, UploadCopiesAndSaysSo) {
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  options.policy = ZeroCopy::kAllow;
  Router direct;
  direct.add(context());
  for (const FrameInfo& info : {FrameInfo{kNv12, 64, 48}, FrameInfo{kI420, 33, 17}, FrameInfo{kBgra, 20, 10}}) {
    const Frame host = host_frame(info, 8);
    ledger.reset();
    const Frame surface = direct.map(host, context(), options);
    EXPECT_NE(vaapi::surface(surface), VA_INVALID_SURFACE);
    expect_painted(surface, 8);
    EXPECT_EQ(ledger.total().copied, host.size_bytes());
    options.policy = ZeroCopy::kRequire;
    EXPECT_EQ(code_of([&] { direct.map(host, context(), options); }), Code::kFailedPrecondition);
    options.policy = ZeroCopy::kAllow;
  }
}

TEST_F(VaSurface, IsCopiedByTheDriverWhereItShowsNoBytes) {
  vaapi::native::fault = [](const char* call) -> VAStatus {
    return std::strcmp(call, "vaDeriveImage") == 0 ? VA_STATUS_ERROR_OPERATION_FAILED : VA_STATUS_SUCCESS;
  };
  const Context blind = vaapi::wrap(vaapi::display(context()));
  EXPECT_FALSE(blind.as<vaapi::SurfaceContext>()->shows_bytes());
  const Frame surface = vaapi::allocate(blind, {kNv12, 50, 30});
  paint(surface, 9);
  expect_painted(surface, 9);
  Router direct;
  direct.add(blind);
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const Frame host = direct.map(surface, host_context(), options);
  expect_painted(host, 9);
  EXPECT_EQ(ledger.total().copied, surface.size_bytes());
  const Frame uploaded = direct.map(host_frame({kNv12, 50, 30}, 10), blind, options);
  expect_painted(uploaded, 10);
}

TEST_F(VaSurface, ApplicationsSurfacesAreWrappedInPlace) {
  const VASurfaceID id = make_surface(VA_FOURCC_NV12, VA_RT_FORMAT_YUV420, 64, 48);
  {
    FrameInfo visible{kNv12, 60, 46};
    visible.colour_space = ColourSpace::kBt709;
    const Frame frame = vaapi::wrap(context(), id, visible);
    EXPECT_EQ(vaapi::surface(frame), id);
    EXPECT_EQ(frame.info(), visible);
    EXPECT_EQ(frame.plane(0).shape(), (Shape{46, 60}));
    paint(frame, 11);
    expect_painted(vaapi::wrap(context(), id, visible), 11);
    EXPECT_EQ(vaapi::wrap(context(), id).info().width_px, 64u);
    EXPECT_EQ(code_of([&] { vaapi::wrap(context(), id, {kNv12, 65, 10}); }), Code::kOutOfRange);
  }
  destroy(id);
  const VASurfaceID given = make_surface(VA_FOURCC_NV12, VA_RT_FORMAT_YUV420, 64, 48);
  vaapi::adopt(context(), given);
  EXPECT_EQ(vaSyncSurface(vaapi::display(context()), given), VA_STATUS_ERROR_INVALID_SURFACE) << "not destroyed";
  const VASurfaceID unknown = make_surface(VA_FOURCC_ARGB, VA_RT_FORMAT_RGB32, 64, 48);
  EXPECT_EQ(code_of([&] { vaapi::adopt(context(), unknown); }), Code::kUnimplemented);
  EXPECT_EQ(vaSyncSurface(vaapi::display(context()), unknown), VA_STATUS_ERROR_INVALID_SURFACE) << "kept on failure";
}

TEST_F(VaSurface, CacheHandsOutEachSurfaceOnce) {
  const VASurfaceID ids[] = {make_surface(VA_FOURCC_NV12, VA_RT_FORMAT_YUV420, 64, 48),
                             make_surface(VA_FOURCC_NV12, VA_RT_FORMAT_YUV420, 64, 48)};
  {
    vaapi::SurfaceCache cache(context());
    const Memory* first = cache.wrap(ids[0]).plane(0).memory().get();
    const Held with_one = held();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(cache.wrap(ids[0]).plane(0).memory().get(), first);
    EXPECT_EQ(held(), with_one);
    EXPECT_NE(cache.wrap(ids[1]).plane(0).memory().get(), first);
    EXPECT_EQ(cache.size(), 2u);
  }
  for (const VASurfaceID id : ids) destroy(id);
}

TEST_F(VaSurface, PoolReusesSurfaces) {
  vaapi::SurfacePool pool(context(), {kNv12, 64, 48}, 2);
  VASurfaceID first = VA_INVALID_SURFACE;
  {
    const Frame one = pool.acquire();
    first = vaapi::surface(one);
    const Frame two = pool.acquire();
    EXPECT_NE(vaapi::surface(two), first);
    EXPECT_EQ(code_of([&] { pool.acquire(Clock::now()); }), Code::kDeadlineExceeded);
  }
  for (int i = 0; i < 5; ++i) pool.acquire();
  EXPECT_EQ(pool.size(), 2u);
}

TEST_F(VaSurface, PointsAreReachedWhenTheDriverIsDone) {
  const Frame frame = vaapi::allocate(context(), {kNv12, 64, 48});
  const TimelinePoint point = vaapi::ready_point(frame);
  EXPECT_EQ(point.state(), PointState::kReached);
  EXPECT_NO_THROW(point.wait());
  // A driver that never finishes, and one without vaSyncSurface2.
  vaapi::native::fault = [](const char* call) -> VAStatus {
    return std::strcmp(call, "vaSyncSurface2") == 0 ? VA_STATUS_ERROR_TIMEDOUT : VA_STATUS_SUCCESS;
  };
  EXPECT_EQ(code_of([&] { vaapi::ready_point(frame).wait(Clock::now()); }), Code::kDeadlineExceeded);
  vaapi::native::fault = [](const char* call) -> VAStatus {
    return std::strcmp(call, "vaSyncSurface2") == 0 ? VA_STATUS_ERROR_UNIMPLEMENTED : VA_STATUS_SUCCESS;
  };
  EXPECT_NO_THROW(vaapi::ready_point(frame).wait());
  // A map of a picture that could not be decoded reports that.
  vaapi::native::fault = [](const char* call) -> VAStatus {
    return std::strncmp(call, "vaSyncSurface", 13) == 0 ? VA_STATUS_ERROR_DECODING_ERROR : VA_STATUS_SUCCESS;
  };
  const VASurfaceID id = make_surface(VA_FOURCC_NV12, VA_RT_FORMAT_YUV420, 64, 48);
  {
    const Frame damaged = vaapi::wrap(context(), id);
    EXPECT_EQ(code_of([&] { router().map(damaged, host_context(), Access::kRead); }), Code::kDataLoss);
  }
  destroy(id);
}

/// A driver that attaches its fences to dma-bufs, so that others can wait for it; vgem plays its part.
TEST_F(VaSurface, AFenceOfTheDmabufIsTheReadyPoint) {
  if (!dmabuf::vgem::open_card()) {
    ASSERT_FALSE(expects_dmabufs()) << "the kernel of the VM has vgem";
    GTEST_SKIP() << "no vgem driver on this machine: nothing holds a fence back";
  }
  const dmabuf::vgem::Buffer buffer = dmabuf::vgem::allocate(16 * 1024);
  const Ref<Memory> memory = dmabuf::import(UniqueFd(::dup(buffer.fd.get())), 16 * 1024);
  const TensorInfo luma{element::u8, {32, 64}, {64, 1}}, chroma{element::u8, {16, 32, 2}, {64, 2, 1}};
  const Frame frame({kNv12, 64, 32}, {Tensor(luma, memory, 0), Tensor(chroma, memory, 4096)});
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  const Frame seen = router().map(frame, context(), options);
  EXPECT_FALSE(vaapi::ready_point(seen).needs_wait());
  const std::uint32_t fence = dmabuf::vgem::begin_write(buffer);
  const TimelinePoint point = vaapi::ready_point(seen);
  EXPECT_TRUE(point.needs_wait());
  EXPECT_EQ(code_of([&] { point.wait(Clock::now() + std::chrono::milliseconds(20)); }), Code::kDeadlineExceeded);
  ASSERT_TRUE(dmabuf::vgem::end_write(buffer, fence)) << "the kernel gave the fence up first";
  EXPECT_FALSE(point.needs_wait());
  EXPECT_NO_THROW(point.wait());
  EXPECT_FALSE(vaapi::ready_point(seen).needs_wait()) << "the fence is signalled, and the driver does nothing";
}

TEST_F(VaSurface, DestroyedWhileMapped) {
  const VASurfaceID id = make_surface(VA_FOURCC_NV12, VA_RT_FORMAT_YUV420, 64, 48);
  const Frame frame = vaapi::wrap(context(), id);
  paint(frame, 12);
  const Frame host = router().map(frame, host_context(), Access::kRead);
  const Frame descriptors = router().map(frame, dmabuf::context(), Access::kRead);
  destroy(id);
  expect_painted(host, 12);
  expect_painted(descriptors, 12);
  std::string message;
  EXPECT_EQ(code_of([&] { frame.plane(0).context()->write(frame.plane(0), bytes_of(frame.plane(0), 1)); }, &message),
            Code::kInvalidArgument);
  EXPECT_NE(message.find("surface"), std::string::npos) << message;
  EXPECT_EQ(code_of([&] { vaapi::ready_point(frame).wait(); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { vaapi::wrap(context(), id); }), Code::kInvalidArgument);
}

TEST_F(VaSurface, WhatIsGivenWrongIsRefused) {
  EXPECT_EQ(code_of([] { vaapi::wrap(static_cast<VADisplay>(nullptr)); }), Code::kInvalidArgument);
  int no_display = 0;
  EXPECT_EQ(code_of([&] { vaapi::wrap(static_cast<VADisplay>(&no_display)); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { vaapi::open("/dev/dri/none"); }), Code::kNotFound);
  EXPECT_EQ(code_of([] { vaapi::open("/dev/null"); }), Code::kUnavailable);
  EXPECT_EQ(code_of([] { vaapi::wrap(Context(), 1); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { vaapi::wrap(host_context(), 1); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { vaapi::wrap(context(), VA_INVALID_SURFACE); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { vaapi::allocate(context(), {kNv12, 0, 48}); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { vaapi::allocate(context(), {kRgb24, 64, 48}); }), Code::kUnimplemented);
  EXPECT_EQ(code_of([] { vaapi::surface(Frame()); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { vaapi::surface(Frame::allocate({kNv12, 64, 48})); }), Code::kInvalidArgument);
  // Modifiers that the driver does not have, and that the CPU does not read.
  PixelFormat tiled = kNv12;
  tiled.modifier = 0x0100000000000002;
  EXPECT_EQ(code_of([&] { vaapi::allocate(context(), {tiled, 64, 48}); }), Code::kInvalidArgument);
  const Ref<Memory> memory = dmabuf::allocate(64 * 1024);
  const dmabuf::FrameObject object{memory->borrow_fd(), 64 * 1024};
  const dmabuf::FramePlane planes[] = {{0, 0, 64}, {0, 64 * 48, 64}};
  const std::uint64_t accepted[] = {tiled.modifier};
  const Frame foreign =
      dmabuf::import_frame({tiled, 64, 48}, std::span(&object, 1), planes, TimelinePoint::ready(), accepted);
  EXPECT_EQ(code_of([&] { router().map(foreign, context(), Access::kRead); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { router().map(foreign.plane(0), context(), Access::kRead); }), Code::kFailedPrecondition);
  const bool stand_in = dmabuf::is_stand_in(foreign.plane(0));
  const View& view = foreign.plane(0).memory()->add_view(std::make_unique<dmabuf::DmabufView>(
      dmabuf::context(), Access::kReadWrite, dmabuf::UniqueFd(), memory->borrow_fd(), stand_in));
  EXPECT_EQ(dmabuf::is_stand_in(foreign.plane(0).through(&view)), stand_in);
  EXPECT_EQ(code_of([&] { dmabuf::CpuAccess(foreign.plane(0).through(&view), Access::kRead); }),
            Code::kFailedPrecondition);
}

TEST_F(VaSurface, BytesLieInAGreyPicture) {
  Requirements wanted;
  wanted.size_bytes = 100'000;
  const Tensor bytes({element::u8, {100'000}, {}}, context()->allocate(wanted));
  const std::vector<std::byte> pattern = bytes_of(bytes, 15);
  context()->write(bytes, pattern);
  EXPECT_EQ(read(bytes), pattern);
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  const Tensor host = router().map(bytes, host_context(), options);
  EXPECT_EQ(std::memcmp(host.data(), pattern.data(), pattern.size()), 0);
  wanted.host_access = true;
  EXPECT_EQ(code_of([&] { context()->allocate(wanted); }), Code::kUnimplemented);
  wanted = {};
  wanted.size_bytes = std::size_t{1} << 32;
  EXPECT_EQ(code_of([&] { context()->allocate(wanted); }), Code::kUnimplemented);
}

TEST_F(VaSurface, EveryCallThatFailsLeavesNothing) {
  static int countdown = 0;
  const Frame host = host_frame({kNv12, 64, 48}, 13), shared = dmabuf_frame({kNv12, 64, 48});
  Router direct;
  direct.add(context());
  const auto use = [&] {
    const Frame made = vaapi::allocate(context(), {kNv12, 64, 48});
    paint(made, 1);
    direct.map(made, host_context(), Access::kRead);
    vaapi::ready_point(made).wait();
    router().map(dmabuf_frame({kNv12, 64, 48}), context(), Access::kRead);
    MapOptions options;
    options.policy = ZeroCopy::kAllow;
    direct.map(host, context(), options);
  };
  use();
  const Held before = held();
  int calls = 0, thrown = 0;
  for (int n = 1; n < 100; ++n, ++calls) {
    countdown = n;
    vaapi::native::fault = [](const char*) -> VAStatus {
      return --countdown == 0 ? VA_STATUS_ERROR_ALLOCATION_FAILED : VA_STATUS_SUCCESS;
    };
    const Code code = code_of(use);
    vaapi::native::fault = nullptr;
    EXPECT_EQ(held(), before) << "call " << n;
    if (countdown > 0) break;
    thrown += code != Code::kOk;
  }
  EXPECT_GT(calls, 10);
  EXPECT_GT(thrown, calls * 2 / 3) << "of " << calls << ": some have another way, as a state that is asked for again";
}

TEST_F(VaSurface, ThreadsShareOneImageAndOneImport) {
  const Frame surface = vaapi::allocate(context(), {kNv12, 64, 48}), shared = dmabuf_frame({kNv12, 64, 48});
  paint(surface, 14);
  Router direct;
  direct.add(context());
  testing::in_threads(4, [&](int) {
    for (int i = 0; i < 50; ++i) {
      const Frame host = direct.map(surface, host_context(), Access::kRead);
      EXPECT_EQ(static_cast<const std::byte*>(host.plane(0).data())[1], bytes_of(host.plane(0), 14)[1]);
      router().map(shared, context(), Access::kRead);
    }
  });
  EXPECT_LE(shared.plane(0).memory()->view_count(), 2u);
}

}  // namespace surface_test
}  // namespace tenon::va_test
