// SPDX-License-Identifier: Apache-2.0
// Frames of dma-bufs: planes in and out, and every descriptor, pitch, offset and modifier that must be refused.
#include <fcntl.h>
#include <unistd.h>

#include <tenon/frameworks/dmabuf/testing/dmabuf.hpp>

#include <cstring>
#include <thread>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/tests/support/asleep.hpp>

namespace dmabuf_frame_test {

using namespace tenon;
using namespace tenon::dmabuf::test;
using dmabuf::export_frame;
using dmabuf::FrameObject;
using dmabuf::FramePlane;
using dmabuf::import_frame;
using dmabuf::UniqueFd;
using ::testing::HasSubstr;

constexpr std::uint64_t kTiled = 0x0300'0000'0060'6010ull;  // A vendor in the top byte.

class DmabufFrame : public NothingLeaks {
 protected:
  const FrameInfo nv12{kNv12, 64, 48};
  Ref<Memory> memory = dmabuf::allocate(128 * 48 + 128 * 24);
  void TearDown() override {
    memory = {};
    NothingLeaks::TearDown();
  }
  FrameObject object() const { return {memory->borrow_fd(), 0}; }
  /// Imports a frame that must be refused, and checks that nothing else happens.
  Error refusal(const FrameInfo& info, std::vector<FrameObject> objects, std::vector<FramePlane> planes,
                std::span<const std::uint64_t> accepted = dmabuf::kLinearOnly) {
    const std::size_t before = open_descriptors();
    Error error = error_of([&] { import_frame(info, objects, planes, TimelinePoint::ready(), accepted); });
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_THAT(error.what(), HasSubstr("dmabuf"));
    return error;
  }
};

TEST_F(DmabufFrame, PlanesOfOneObjectShareOneMemoryAndLieWhereTheySay) {
  const std::vector<FrameObject> objects{object()};
  const std::vector<FramePlane> planes{{0, 0, 128}, {0, 128 * 48, 128}};
  const Frame frame = import_frame(nv12, objects, planes);
  EXPECT_EQ(frame.plane(0).memory(), frame.plane(1).memory());
  EXPECT_EQ(frame.plane(1).offset(), 128u * 48);
  EXPECT_EQ(frame.plane(0).byte_strides(), (ByteStrides{128, 1}));
  EXPECT_EQ(frame.plane(1).byte_strides(), (ByteStrides{128, 2, 1}));
  std::vector<std::byte> luma(64 * 48, std::byte{0x11}), chroma(64 * 24, std::byte{0x22});
  dmabuf::context()->write(frame.plane(0), luma);
  dmabuf::context()->write(frame.plane(1), chroma);
  std::vector<std::byte> all(memory->size_bytes());
  dmabuf::context()->read(Tensor({element::u8, {all.size()}, {}}, memory), all);
  EXPECT_EQ(all[128 * 47 + 63], std::byte{0x11});
  EXPECT_EQ(all[64], std::byte{0}) << "wrote into the padding";
  EXPECT_EQ(all[128 * 48], std::byte{0x22});
  EXPECT_EQ(all[128 * 71 + 63], std::byte{0x22});
}

TEST_F(DmabufFrame, DescriptorsOfOneDmabufAreOneMemory) {
  const UniqueFd again = UniqueFd::duplicate(memory->borrow_fd());
  const std::vector<FrameObject> objects{object(), {again.get(), 0}};
  const std::vector<FramePlane> planes{{0, 0, 128}, {1, 128 * 48, 128}};
  const Frame frame = import_frame(nv12, objects, planes);
  EXPECT_EQ(frame.plane(0).memory(), frame.plane(1).memory()) << "two hazard states over one allocation";
  EXPECT_THAT(refusal(nv12, objects, {{0, 0, 128}, {1, 128 * 40, 128}}).what(), HasSubstr("overlap"));
}

TEST_F(DmabufFrame, OfAStreamIsImportedOnceAndMappedOnce) {
  dmabuf::ImportCache cache;
  const std::vector<FramePlane> planes{{0, 0, 128}, {0, 128 * 48, 128}};
  Router router;
  router.add(dmabuf::context());
  router.add(host_context());
  Ref<Memory> first;
  Faults faults;
  for (int round = 0; round < 3; ++round) {
    const UniqueFd dequeued = UniqueFd::duplicate(memory->borrow_fd());  // The number differs from time to time.
    const std::vector<FrameObject> objects{{dequeued.get(), 0}};
    const Frame frame = import_frame(nv12, objects, planes, TimelinePoint::ready(), dmabuf::kLinearOnly, &cache);
    if (!first) first = frame.plane(0).memory();
    EXPECT_EQ(frame.plane(1).memory(), first);
    EXPECT_TRUE(router.map(frame, host_context(), Access::kRead));
  }
  EXPECT_EQ(Faults::count("mmap"), 1);
  const std::uint64_t accepted[] = {kTiled};
  FrameInfo tiled = nv12;
  tiled.format.modifier = kTiled;
  const std::vector<FrameObject> objects{object()};
  EXPECT_NE(import_frame(tiled, objects, planes, TimelinePoint::ready(), accepted, &cache).plane(0).memory(), first)
      << "tiled memory would be read as linear";
}

TEST_F(DmabufFrame, OneBracketIsPlannedForEachMemoryNotForEachPlane) {
  const std::vector<FrameObject> objects{object()};
  const Frame frame = import_frame(nv12, objects, std::vector<FramePlane>{{0, 0, 128}, {0, 128 * 48, 128}});
  const Edge& edge = *dmabuf::context()->edges()[1];
  for (FdKind fd : {FdKind::kMemfd, FdKind::kDmabuf}) {
    FrameDescription from = describe(frame);
    from.planes[0].fd = from.planes[1].fd = fd;
    const double one = std::get<Reached>(edge.step(from.planes[0], host_context(), Access::kRead)).total_ns();
    const auto judged = [&] { return edge.step_frame(from, host_context(), Access::kRead); };
    FrameStep step = judged();
    EXPECT_EQ(std::get<ReachedFrame>(step).cost_ns, one) << fd.name();
    EXPECT_TRUE(std::get<ReachedFrame>(step).result.in_one_memory());
    EXPECT_EQ(std::get<ReachedFrame>(step).result.planes[1].context, host_context());
    from.first_in_memory[1] = 1;
    step = judged();
    EXPECT_EQ(std::get<ReachedFrame>(step).cost_ns, 2 * one) << fd.name() << ": two memories";
    from.planes[1].modifier = kTiled;
    step = judged();
    ASSERT_TRUE(std::holds_alternative<Refusal>(step)) << "tiled chroma is read as linear";
    EXPECT_THAT(std::get<Refusal>(step).reason, HasSubstr("0x0300000000606010"));
  }
}

TEST_F(DmabufFrame, ObjectsOfTheirOwnStayApart) {
  const Ref<Memory> chroma = dmabuf::allocate(128 * 24);
  const std::vector<FrameObject> objects{object(), {chroma->borrow_fd(), 128 * 24}};
  const std::vector<FramePlane> planes{{0, 0, 128}, {1, 0, 128}};
  const Frame frame = import_frame(nv12, objects, planes);
  EXPECT_NE(frame.plane(0).memory(), frame.plane(1).memory());
  EXPECT_EQ(frame.plane(1).memory()->identity(), chroma->identity());
}

TEST_F(DmabufFrame, GoesOutAsItCameIn) {
  const std::vector<FrameObject> objects{object()};
  const std::vector<FramePlane> planes{{0, 0, 128}, {0, 128 * 48, 128}};
  const dmabuf::FrameDescriptor out = export_frame(import_frame(nv12, objects, planes));
  EXPECT_EQ(out.info, nv12);
  ASSERT_EQ(out.objects.size(), 1u);
  EXPECT_GE(out.objects[0].size_bytes, 128u * 72);
  EXPECT_EQ(out.objects[0].stand_in, real_allocators().empty());
  ASSERT_EQ(out.planes.size(), 2u);
  EXPECT_EQ(out.planes[1].object, 0u);
  EXPECT_EQ(out.planes[1].offset_bytes, 128u * 48);
  EXPECT_EQ(out.planes[1].pitch_bytes, 128u);
  EXPECT_FALSE(out.acquire.needs_wait());
  const std::vector<FrameObject> again{{out.objects[0].fd.get(), out.objects[0].size_bytes}};
  const Frame back = import_frame(out.info, again, out.planes, out.acquire);
  EXPECT_EQ(back.plane(0).memory()->identity(), memory->identity());
}

TEST_F(DmabufFrame, OfACpuPoolIsExportedWithoutACopy) {
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  wanted.pitch_alignment = 64;
  cpu::FramePool pool(nv12, wanted, 1);
  Router router;
  router.add(dmabuf::context());
  MapOptions options;
  options.policy = ZeroCopy::kRequire;
  int descriptors_after_first = 0;
  for (int round = 0; round < 3; ++round) {
    Frame frame = pool.acquire();
    std::memset(frame.plane(1).data(), 0x40 + round, 64 * 24);
    const Frame mapped = router.map(frame, dmabuf::context(), options);
    frame = {};
    EXPECT_FALSE(pool.try_acquire()) << "the buffer went back while the dma-buf is in use";
    const dmabuf::FrameDescriptor out = export_frame(mapped);
    ASSERT_EQ(out.objects.size(), 1u);
    EXPECT_EQ(out.objects[0].stand_in, !dmabuf::detail::has_udmabuf());
    const std::vector<FrameObject> objects{{out.objects[0].fd.get(), 0}};
    std::vector<std::byte> chroma(64 * 24);
    dmabuf::context()->read(import_frame(nv12, objects, out.planes).plane(1), chroma);
    EXPECT_EQ(chroma, std::vector<std::byte>(64 * 24, static_cast<std::byte>(0x40 + round)));
    const int now = static_cast<int>(open_descriptors());
    if (round == 0) descriptors_after_first = now;
    EXPECT_EQ(now, descriptors_after_first) << "a dma-buf per use instead of one per buffer";
  }
}

TEST_F(DmabufFrame, OfHostMemoryIsNotExported) {
  EXPECT_THAT(error_of([&] { export_frame(Frame::allocate(nv12)); }).what(), HasSubstr("Router"));
  EXPECT_EQ(error_of([] { export_frame({}); }).code(), Code::kInvalidArgument);
}

TEST_F(DmabufFrame, CarriesTheProducersPoint) {
  auto timeline = make_ref<HostTimeline>();
  const TimelinePoint written = timeline->next();
  const std::vector<FrameObject> objects{object()};
  const std::vector<FramePlane> planes{{0, 0, 128}, {0, 128 * 48, 128}};
  const Frame frame = import_frame(nv12, objects, planes, written);
  ASSERT_EQ(frame.plane(1).memory()->pending(Access::kRead).size(), 1u);
  EXPECT_EQ(frame.plane(1).memory()->pending(Access::kRead)[0], written);
  EXPECT_EQ(export_frame(frame).acquire, written);
  const Error late =
      error_of([&] { dmabuf::CpuAccess(frame.plane(0), Access::kRead, Clock::now() + std::chrono::milliseconds(5)); });
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded);
  timeline->advance(written.value());
  EXPECT_NO_THROW(dmabuf::CpuAccess(frame.plane(0), Access::kRead));
  EXPECT_FALSE(export_frame(frame).acquire.needs_wait());
}

TEST_F(DmabufFrame, OfTwoObjectsWrittenAtDifferentPointsIsExportedWhenBothAreReached) {
  const Ref<Memory> chroma = dmabuf::allocate(128 * 24);
  const std::vector<FrameObject> objects{object(), {chroma->borrow_fd(), 0}};
  const std::vector<FramePlane> planes{{0, 0, 128}, {1, 0, 128}};
  const Frame frame = import_frame(nv12, objects, planes);
  auto timeline = make_ref<HostTimeline>();
  const TimelinePoint first = timeline->next(), second = timeline->next();
  frame.plane(0).memory()->hazards().wrote(first);
  EXPECT_EQ(export_frame(frame).acquire, first);
  frame.plane(1).memory()->hazards().wrote(second);
  const auto late = Clock::now() + std::chrono::milliseconds(5);
  EXPECT_EQ(error_of([&] { export_frame(frame, late); }).code(), Code::kDeadlineExceeded);
  Ledger ledger;
  std::thread producer = tenon_test::once_this_thread_sleeps([&] { timeline->advance(2); });
  EXPECT_FALSE(export_frame(frame, default_deadline(), &ledger).acquire.needs_wait());
  producer.join();
  EXPECT_EQ(second.state(), PointState::kReached) << "exported while it was written";
  EXPECT_GE(ledger.total().waits, 1u);
}

TEST_F(DmabufFrame, WhoseWriterFailedIsNotExported) {
  const std::vector<FrameObject> objects{object()};
  const std::vector<FramePlane> planes{{0, 0, 128}, {0, 128 * 48, 128}};
  const Frame frame = import_frame(nv12, objects, planes);
  auto timeline = make_ref<HostTimeline>();
  const TimelinePoint written = timeline->next();
  frame.plane(0).memory()->hazards().wrote(written);
  timeline->fail(written.value(), std::make_exception_ptr(Error(Code::kDataLoss, "the camera is gone")));
  EXPECT_THAT(error_of([&] { export_frame(frame); }).what(), HasSubstr("the camera is gone"));
}

TEST_F(DmabufFrame, RefusesModifiersThatNobodyAccepted) {
  FrameInfo tiled = nv12;
  tiled.format.modifier = kTiled;
  const Error error = refusal(tiled, {object()}, {{0, 0, 128}, {0, 128 * 48, 128}});
  EXPECT_EQ(error.code(), Code::kUnimplemented);
  EXPECT_THAT(error.what(), HasSubstr("0x0300000000606010"));
  EXPECT_THAT(error.what(), HasSubstr("accepted here: 0x0000000000000000"));
  tiled.format.modifier = kModifierInvalid;
  EXPECT_THAT(refusal(tiled, {object()}, {{0, 0, 128}, {0, 128 * 48, 128}}).what(), HasSubstr("implicit"));
  tiled.format.modifier = kTiled & 0xffffffffull;  // Cut to 32 bits it is a different modifier.
  const std::uint64_t accepted[] = {kModifierLinear, kTiled};
  EXPECT_THAT(refusal(tiled, {object()}, {{0, 0, 128}, {0, 128 * 48, 128}}, accepted).what(),
              HasSubstr("0x0300000000606010"));
}

TEST_F(DmabufFrame, OfAnAcceptedModifierTravelsButIsNotReadByTheCpu) {
  FrameInfo tiled = nv12;
  tiled.format.modifier = kTiled;
  const std::uint64_t accepted[] = {kTiled};
  const std::vector<FrameObject> objects{object()};
  const std::vector<FramePlane> planes{{0, 0, 128}, {0, 128 * 48, 128}};
  const Frame frame = import_frame(tiled, objects, planes, TimelinePoint::ready(), accepted);
  EXPECT_EQ(export_frame(frame).info.format.modifier, kTiled);
  Router router;
  router.add(dmabuf::context());
  router.add(host_context());
  const Error error = error_of([&] { router.map(frame, host_context(), Access::kRead); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_THAT(error.what(), HasSubstr("0x0300000000606010"));
  EXPECT_FALSE(router.plan(describe(frame.plane(0)), host_context())->possible())
      << "judged before anything is touched";
  std::vector<std::byte> out(frame.plane(0).size_bytes());
  EXPECT_EQ(error_of([&] { dmabuf::context()->read(frame.plane(0), out); }).code(), Code::kFailedPrecondition);
}

TEST_F(DmabufFrame, RefusesWrongPitchesAndOffsets) {
  const Error narrow = refusal(nv12, {object()}, {{0, 0, 63}, {0, 128 * 48, 128}});
  EXPECT_EQ(narrow.code(), Code::kInvalidArgument);
  EXPECT_THAT(narrow.what(), HasSubstr("63"));
  EXPECT_THAT(narrow.what(), HasSubstr("64"));
  EXPECT_EQ(refusal(nv12, {object()}, {{0, 0, 128}, {0, 128 * 48, 0}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal(nv12, {object()}, {{0, 0, SIZE_MAX}, {0, 128 * 48, 128}}).code(), Code::kInvalidArgument);
  const Error beyond = refusal(nv12, {object()}, {{0, 0, 128}, {0, memory->size_bytes() - 128, 128}});
  EXPECT_EQ(beyond.code(), Code::kOutOfRange);
  EXPECT_THAT(beyond.what(), HasSubstr(std::to_string(memory->size_bytes())));
  EXPECT_EQ(refusal(nv12, {object()}, {{0, 0, 128}, {0, SIZE_MAX - 10, 128}}).code(), Code::kOutOfRange);
  EXPECT_EQ(refusal(nv12, {object()}, {{0, 0, 1 << 20}, {0, 64, 128}}).code(), Code::kOutOfRange);
  const FrameInfo p010{kP010, 16, 16};
  EXPECT_THAT(refusal(p010, {object()}, {{0, 0, 33}, {0, 1024, 32}}).what(), HasSubstr("multiples"));
  EXPECT_THAT(refusal(p010, {object()}, {{0, 1, 32}, {0, 1024, 32}}).what(), HasSubstr("multiples"));
}

TEST_F(DmabufFrame, RefusesPlanesThatOverlapButNotRowsThatTakeTurns) {
  const Error error = refusal(nv12, {object()}, {{0, 0, 128}, {0, 128 * 47, 128}});
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.what(), HasSubstr("planes 0 and 1 overlap"));
  EXPECT_THAT(refusal(nv12, {object()}, {{0, 0, 64}, {0, 0, 64}}).what(), HasSubstr("overlap"));
  const FrameInfo i420{kI420, 64, 48};
  const std::vector<FrameObject> objects{object()};
  const std::vector<FramePlane> turns{{0, 0, 64}, {0, 64 * 48, 64}, {0, 64 * 48 + 32, 64}};  // U and V side by side.
  EXPECT_EQ(import_frame(i420, objects, turns).plane(2).offset(), 64u * 48 + 32);
  EXPECT_THAT(refusal(i420, objects, {{0, 0, 64}, {0, 64 * 48, 64}, {0, 64 * 48 + 31, 64}}).what(),
              HasSubstr("overlap"));
}

TEST_F(DmabufFrame, TailOfTheLastRowNeedNotBeThere) {
  const Ref<Memory> exact = dmabuf::allocate(4096);
  const FrameInfo gray{kGray8, 64, 32};
  const std::vector<FrameObject> objects{{exact->borrow_fd(), 0}};
  const std::vector<FramePlane> planes{{0, 64, 128}};  // 64 + 31 * 128 + 64 = 4096.
  EXPECT_NO_THROW(import_frame(gray, objects, planes));
  EXPECT_EQ(refusal(gray, objects, {{0, 65, 128}}).code(), Code::kOutOfRange);
}

TEST_F(DmabufFrame, RefusesWrongCountsObjectsAndFormats) {
  EXPECT_THAT(refusal(nv12, {object()}, {{0, 0, 128}}).what(), HasSubstr("1 planes, expected 2"));
  EXPECT_THAT(refusal(nv12, {object()}, {{0, 0, 128}, {1, 0, 128}}).what(), HasSubstr("object 1 of 1"));
  EXPECT_EQ(refusal(nv12, {}, {{0, 0, 128}, {0, 0, 128}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal({kNv12, 0, 48}, {object()}, {{0, 0, 128}, {0, 0, 128}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal({kNv12, 1u << 31, 48}, {object()}, {{0, 0, 128}, {0, 0, 128}}).code(), Code::kInvalidArgument);
  const std::vector<FrameObject> objects{object()};
  const std::vector<FramePlane> planes{{0, 0, 128}};
  EXPECT_EQ(error_of([&] {
              import_frame({{fourcc('?', '?', '?', '?')}, 64, 48}, objects, planes);
            }).code(),
            Code::kUnimplemented);
}

TEST_F(DmabufFrame, RefusesObjectsThatAreNoMemoryOrTooSmall) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  UniqueFd read_end(pipe[0]), write_end(pipe[1]);
  const std::vector<FramePlane> planes{{0, 0, 128}, {1, 128 * 48, 128}};
  EXPECT_THAT(refusal(nv12, {object(), {read_end.get(), 0}}, planes).what(), HasSubstr("pipe"));
  EXPECT_GE(::fcntl(read_end.get(), F_GETFD), 0) << "the caller's descriptor was closed";
  EXPECT_EQ(error_of([&] {
              const std::vector<FrameObject> objects{object(), {-1, 0}};
              import_frame(nv12, objects, planes);
            }).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(refusal(nv12, {object(), {memory->borrow_fd(), 1 << 30}}, planes).code(), Code::kOutOfRange);
}

}  // namespace dmabuf_frame_test
