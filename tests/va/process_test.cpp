// SPDX-License-Identifier: Apache-2.0
// Video processing: what comes out, how it is booked, what is refused.
#include <cstdlib>

#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>

#include <tenon/tests/va/va_fixture.hpp>

namespace tenon::va_test {
namespace va_process_test {

using VaProcess = VaTest;

/// A picture whose left half has one colour, and its right half another.
Frame halves(std::uint32_t width, std::uint32_t height) {
  const Frame frame = vaapi::allocate(context(), {kNv12, width, height});
  std::vector<std::byte> luma(frame.plane(0).size_bytes()), chroma(frame.plane(1).size_bytes(), std::byte{128});
  for (std::size_t i = 0; i < luma.size(); ++i) luma[i] = i % width < width / 2 ? std::byte{40} : std::byte{200};
  frame.plane(0).context()->write(frame.plane(0), luma);
  frame.plane(1).context()->write(frame.plane(1), chroma);
  return frame;
}
int at(const Frame& frame, std::size_t x, std::size_t y, std::size_t pixel_bytes = 1, std::size_t byte = 0) {
  return std::to_integer<int>(read(frame.plane(0))[(y * frame.info().width_px + x) * pixel_bytes + byte]);
}

TEST_F(VaProcess, ScalesCropsAndBooksAsConverted) {
  const Frame source = halves(128, 64);
  Ledger ledger;
  vaapi::Processor half(context(), {kNv12, 64, 32});
  Frame small = half.run(source, {}, default_deadline(), &ledger);
  EXPECT_EQ(small.info().width_px, 64u);
  EXPECT_NEAR(at(small, 8, 16), 40, 2);
  EXPECT_NEAR(at(small, 56, 16), 200, 2);
  EXPECT_EQ(ledger.total().converted, source.size_bytes());
  EXPECT_EQ(ledger.total().copied, 0u);
  vaapi::Processing right;
  right.crop = {64, 0, 64, 64};
  small = {};
  small = half.run(source, right, default_deadline(), &ledger);
  EXPECT_NEAR(at(small, 4, 16), 200, 2);
}

TEST_F(VaProcess, ConvertsColoursFillsAndTurns) {
  const Frame source = halves(128, 64);
  vaapi::Processor to_rgb(context(), {kRgbx, 64, 64});
  vaapi::Processing letterbox;
  letterbox.region = {0, 16, 64, 32};
  letterbox.background = 0xff0000ff;
  const Frame boxed = to_rgb.run(source, letterbox);
  for (std::size_t channel = 0; channel < 3; ++channel)
    EXPECT_NEAR(at(boxed, 56, 32, 4, channel), (200 - 16) * 255 / 219, 4);
  EXPECT_NEAR(at(boxed, 32, 4, 4, 2), 255, 8) << "blue above";
  EXPECT_NEAR(at(boxed, 32, 4, 4, 0), 0, 8);
  FrameInfo info = source.info();
  info.rotation = Rotation::k90;
  const Frame sideways(info, std::vector<Tensor>(source.planes().begin(), source.planes().end()), 42);
  vaapi::Processor tall(context(), {kNv12, 64, 128});
  vaapi::Processing upright;
  upright.turns_upright = true;
  const Frame turned = tall.run(sideways, upright);
  EXPECT_EQ(turned.info().rotation, Rotation::kNone);
  EXPECT_EQ(turned.timestamp_ns(), 42);
  EXPECT_NEAR(at(turned, 32, 20), 40, 3) << "left becomes top";
  EXPECT_NEAR(at(turned, 32, 108), 200, 3);
  vaapi::Processor wide(context(), {kNv12, 128, 64});
  const auto mirrored = [&](vaapi::Processor& by, Rotation rotation) {
    info.rotation = rotation;
    return by.run(Frame(info, std::vector<Tensor>(source.planes().begin(), source.planes().end())), upright);
  };
  EXPECT_NEAR(at(mirrored(wide, Rotation::kMirrored), 20, 32), 200, 3) << "EXIF 2: right becomes left";
  EXPECT_NEAR(at(mirrored(wide, Rotation::kMirrored180), 20, 32), 40, 3) << "EXIF 4: only rows are exchanged";
  EXPECT_NEAR(at(mirrored(tall, Rotation::kMirrored270), 32, 20), 40, 3) << "EXIF 5: left becomes top";
  EXPECT_NEAR(at(mirrored(tall, Rotation::kMirrored90), 32, 20), 200, 3) << "EXIF 7: right becomes top";
}

TEST_F(VaProcess, ResultIsSharedOnwards) {
  const Frame source = halves(128, 64);
  vaapi::Processor half(context(), {kNv12, 64, 32});
  Router router;
  for (const Context& known : {context(), dmabuf::context(), host_context()}) router.add(known);
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  const Frame host = router.map(half.run(source), host_context(), options);
  EXPECT_NEAR(static_cast<const std::uint8_t*>(host.plane(0).data())[8], 40, 2);
}

TEST_F(VaProcess, ConvertsOnARoutersWay) {
  const Frame source = halves(128, 64);
  vaapi::Processor half(context(), {kNv12, 64, 32});
  vaapi::Processing right;
  right.crop = {64, 0, 64, 64};
  const Context place = half.place(right, "right half");
  Router router;
  for (const Context& known : {context(), dmabuf::context(), host_context()}) router.add(known);
  Ledger ledger;
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  options.ledger = &ledger;
  const std::string way = router.explain(describe(source), place);
  EXPECT_NE(way.find("takes   vaapi->vaapi.processed into right half, converts"), std::string::npos) << way;
  Frame small = router.map(source, place, options);
  EXPECT_EQ(small.info().width_px, 64u);
  EXPECT_EQ(small.plane(0).context(), place);
  EXPECT_NEAR(at(small, 4, 16), 200, 2);
  EXPECT_EQ(ledger.total().converted, source.size_bytes()) << ledger.report();
  EXPECT_EQ(ledger.total().copied, 0u) << ledger.report();
  // From there on it is shared: with VA-API, dma-bufs and the CPU.
  const Frame surface = router.map(small, context(), options);
  EXPECT_NE(vaapi::surface(surface), VA_INVALID_SURFACE);
  const Frame host = router.map(small, host_context(), options);
  EXPECT_NEAR(static_cast<const std::uint8_t*>(host.plane(0).data())[4], 200, 2);
  EXPECT_EQ(ledger.total().copied, 0u) << ledger.report();
  EXPECT_EQ(ledger.total().converted, source.size_bytes()) << "mapped onwards, converted once";
}

TEST_F(VaProcess, PlacesAreReachedFromOtherMemoryAndFromPartsOfFrames) {
  vaapi::Processor half(context(), {kNv12, 32, 32});
  const Context place = half.place();
  Router router;
  for (const Context& known : {context(), dmabuf::context(), host_context(), place}) router.add(known);
  const Frame source = halves(128, 64);
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const Frame part = router.map(crop(source, 64, 0, 64, 64), place, options);
  EXPECT_NEAR(at(part, 1, 16), 200, 2) << "its right half, not the whole surface";
  EXPECT_NEAR(at(half.run(crop(source, 32, 0, 64, 64)), 1, 16), 40, 2);
  const Frame host = router.map(source, host_context(), options);
  Frame copy = Frame::allocate(host.info());
  for (std::size_t p = 0; p < copy.plane_count(); ++p) {
    Tensor to = copy.plane(p);
    host.plane(p).copy_to(to);
  }
  ledger.reset();
  const Frame uploaded = router.map(copy, place, options);
  EXPECT_NEAR(at(uploaded, 30, 16), 200, 2);
  EXPECT_EQ(ledger.total().copied, copy.size_bytes()) << "into a surface; then it is converted\n" << ledger.report();
  EXPECT_EQ(ledger.total().converted, copy.size_bytes());
  // No way leads through a place, also when the router knows it.
  const std::string way = router.explain(describe(source), host_context());
  EXPECT_EQ(way.find("takes   vaapi->vaapi.processed"), std::string::npos) << way;
}

TEST_F(VaProcess, PlacesRefuseWithReasons) {
  const Frame source = halves(128, 64);
  Router router;
  router.add(context());
  std::string message;
  vaapi::Processing outside;
  outside.crop = {100, 0, 64, 64};
  vaapi::Processor half(context(), {kNv12, 64, 32});
  EXPECT_EQ(code_of([&] { router.map(source, half.place(outside), Access::kRead); }, &message),
            Code::kFailedPrecondition);
  EXPECT_NE(message.find("does not lie in a picture of 128x64"), std::string::npos) << message;
  EXPECT_EQ(code_of([&] { router.map(source, half.place(), Access::kReadWrite); }, &message),
            Code::kFailedPrecondition);
  EXPECT_NE(message.find("writes would not reach the source"), std::string::npos) << message;
  Context gone;
  Frame result;
  {
    vaapi::Processor brief(context(), {kNv12, 64, 32});
    gone = brief.place();
    result = router.map(source, gone, Access::kRead);
  }
  EXPECT_NEAR(at(result, 8, 16), 40, 2) << "results outlive their Processor";
  EXPECT_EQ(code_of([&] { router.map(source, gone, Access::kRead); }, &message), Code::kFailedPrecondition);
  EXPECT_NE(message.find("is gone"), std::string::npos) << message;
  const Context other = vaapi::open();
  vaapi::Processor foreign(other, {kNv12, 64, 32});
  EXPECT_EQ(code_of([&] { router.map(source, foreign.place(), Access::kRead); }, &message), Code::kFailedPrecondition);
  EXPECT_NE(message.find("another VADisplay"), std::string::npos) << message;
  vaapi::native::fault = [](const char* call) -> VAStatus {
    return std::string_view(call) == "vaCreateConfig" ? VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT : VA_STATUS_SUCCESS;
  };
  const Context plain = vaapi::open();
  EXPECT_EQ(code_of([&] { vaapi::Processor(plain, {kNv12, 64, 32}); }, &message), Code::kUnimplemented);
  EXPECT_NE(message.find("VAEntrypointVideoProc"), std::string::npos) << message;
}

TEST_F(VaProcess, ResultsSayInWhichColoursTheyAre) {
  FrameInfo info{kNv12, 128, 64, ColourSpace::kBt2020, ColourRange::kFull};
  const Frame source = vaapi::allocate(context(), info);
  vaapi::Processor large(context(), {kNv12, 1280, 720});
  EXPECT_EQ(large.run(source).info().colour_space, ColourSpace::kBt2020);
  EXPECT_EQ(large.run(source).info().colour_range, ColourRange::kFull);
}

TEST_F(VaProcess, RefusesWhatItCannot) {
  const Frame source = halves(128, 64);
  vaapi::Processor half(context(), {kNv12, 64, 32}, 1);
  vaapi::Processing outside;
  outside.crop = {100, 0, 64, 64};
  EXPECT_EQ(code_of([&] { half.run(source, outside); }), Code::kOutOfRange);
  outside = {};
  outside.region = {0, 0, 65, 32};
  EXPECT_EQ(code_of([&] { half.run(source, outside); }), Code::kOutOfRange);
  EXPECT_EQ(code_of([&] { half.run(Frame()); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { half.run(Frame::allocate({kNv12, 64, 64})); }), Code::kInvalidArgument);
  {
    const Context other = vaapi::open();
    const Frame foreign = vaapi::allocate(other, {kNv12, 64, 64});
    EXPECT_EQ(code_of([&] { half.run(foreign); }), Code::kInvalidArgument) << "a frame of another display";
  }
  const Frame held_result = half.run(source);
  EXPECT_EQ(code_of([&] { half.run(source, {}, Clock::now()); }), Code::kDeadlineExceeded);
  EXPECT_EQ(code_of([&] { vaapi::Processor(host_context(), {kNv12, 64, 32}); }), Code::kInvalidArgument);
  vaapi::native::fault = [](const char* call) -> VAStatus {
    return std::string_view(call) == "vaRenderPicture" ? VA_STATUS_ERROR_INVALID_PARAMETER : VA_STATUS_SUCCESS;
  };
  vaapi::Processor failing(context(), {kNv12, 64, 32});
  EXPECT_EQ(code_of([&] { failing.run(source); }), Code::kInvalidArgument);
  vaapi::native::fault = nullptr;
  EXPECT_NO_THROW(failing.run(source)) << "and works afterwards";
}

}  // namespace va_process_test
}  // namespace tenon::va_test
