// SPDX-License-Identifier: Apache-2.0
// From the decoder to the first consumer without a copy, by witnesses independent of the ledger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include <tenon/core/router.hpp>

#include <tenon/tests/zero_copy/decoded.hpp>
#include <tenon/tests/zero_copy/detour.hpp>
#include <tenon/tests/zero_copy/witness.hpp>

namespace decoder_test {

using tenon::Frame;
using tenon::Tensor;
using zero_copy::av_frame_of;
using zero_copy::CopyWatch;
using zero_copy::PageTrap;
namespace ff = tenon::ffmpeg;

/// Every row of every plane lies in one of the AVFrame's own buffers.
void expect_inside_av_buffers(const Frame& frame) {
  const AVFrame& av = av_frame_of(frame);
  for (const Tensor& plane : frame.planes()) {
    const auto* first = static_cast<const std::uint8_t*>(plane.data());
    const auto* last = first + *tenon::checked_extent_bytes(plane.info()) - 1;
    bool inside = false;
    for (int i = 0; i < AV_NUM_DATA_POINTERS && av.buf[i]; ++i) {
      inside = inside || (first >= av.buf[i]->data && last < av.buf[i]->data + av.buf[i]->size);
    }
    EXPECT_TRUE(inside);
  }
}

class ZeroCopyDecoder : public testing::TestWithParam<bool> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new tenon_test::Folder;
    zero_copy::make_clip(*folder_, 60, 30);
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string clip() { return folder_->file("clip.mp4"); }

  static tenon_test::Folder* folder_;
};
tenon_test::Folder* ZeroCopyDecoder::folder_ = nullptr;

TEST_P(ZeroCopyDecoder, NoFunctionCopiesFrameMemoryOnTheWayToAConsumer) {
  CopyWatch watch;
  tenon::Ledger ledger;
  tenon::MapOptions options;
  options.ledger = &ledger;
  options.policy = tenon::ZeroCopy::kRequire;
  tenon::Router router;
  router.add(tenon::host_context());
  router.add(ff::context());
  ff::Options open_options;
  open_options.frame_threads = GetParam();
  open_options.threads = 2;
  open_options.ledger = &ledger;
  ff::Video video = ff::open(clip(), open_options);
  video.use_pool();
  std::set<const void*> watched;
  std::size_t frames = 0;
  for (const Frame& frame : video) {
    expect_inside_av_buffers(frame);
    // Pool buffers are reused: once known, they are watched while the decoder works in them too.
    const tenon::Memory& memory = *frame.plane(0).memory();
    if (watched.insert(memory.host()).second) watch.watch(memory.host(), memory.size_bytes());
    const Frame seen = router.map(frame, ff::context(), options);
    const ff::FramePtr consumer = ff::av_frame(seen);
    for (int p = 0; p < 3; ++p) EXPECT_EQ(consumer->data[p], av_frame_of(frame).data[p]);
    ++frames;
  }
  EXPECT_EQ(frames, 60u);
  EXPECT_EQ(watch.large_copies(), 0u) << "by " << watch.last_caller();
  EXPECT_LT(watch.bytes(), 4096u) << "rows add up to a copy, by " << watch.last_caller();
  EXPECT_EQ(watch.large_copies_into(), 0u) << "decoded elsewhere, by " << watch.last_caller_into();
  EXPECT_LT(watch.bytes_into(), 4096u) << "decoded elsewhere, by " << watch.last_caller_into();
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_P(ZeroCopyDecoder, WrappingTouchesNoPage) {
  PageTrap trap;
  ff::Options options;
  options.frame_threads = false;
  options.threads = GetParam() ? 2 : 1;
  ff::Video video = ff::open(clip(), options);
  tenon::Requirements wanted;
  wanted.fd = tenon::FdKind::kMemfd;
  video.use_pool(wanted);
  tenon::Router router;
  router.add(ff::context());
  for (const Frame& frame : video) {
    const tenon::Memory& memory = *frame.plane(0).memory();
    trap.arm(memory.host(), memory.size_bytes());
    const Frame again = ff::wrap(&av_frame_of(frame));
    const ff::FramePtr av = ff::av_frame(router.map(again, ff::context()));
    EXPECT_TRUE(again.plane(0).memory() == frame.plane(0).memory());
    EXPECT_EQ(trap.touches().size(), 0u) << PageTrap::module_of(trap.touches().empty() ? 0 : trap.touches()[0].code);
    // Check the trap: one byte is one touch, by this program.
    volatile std::uint8_t byte = *frame.plane(1).data<std::uint8_t>();
    (void)byte;
    EXPECT_EQ(trap.touches().size(), 1u);
    trap.release();
  }
}

TEST_P(ZeroCopyDecoder, APatternInTheDecodersBufferReachesTheConsumer) {
  ff::Options options;
  options.frame_threads = false;  // No other picture may be predicted from this one while the pattern is in it.
  options.threads = GetParam() ? 2 : 1;
  ff::Video video = ff::open(clip(), options);
  video.use_pool();
  tenon::Router router;
  router.add(ff::context());
  std::uint8_t value = 0;
  for (const Frame& frame : video) {
    const Frame seen = router.map(frame, ff::context());
    const AVFrame& decoder = av_frame_of(frame);
    const std::uint8_t before = decoder.data[1][7];
    decoder.data[1][7] = ++value;
    EXPECT_EQ(seen.plane(1).data<std::uint8_t>()[7], value);
    EXPECT_EQ(ff::av_frame(seen)->data[1][7], value);
    decoder.data[1][7] = before;  // The decoder predicts from it.
  }
}

TEST_P(ZeroCopyDecoder, OneInsertedCopyIsSeenByInterposerAndLedger) {
  CopyWatch watch;
  tenon::Ledger ledger;
  tenon::MapOptions options;
  options.ledger = &ledger;
  const tenon::Context detour = zero_copy::detour_context();
  tenon::Router router;
  router.add(tenon::host_context());
  router.add(detour);
  ff::Options open_options;
  open_options.frame_threads = GetParam();
  ff::Video video = ff::open(clip(), open_options);
  video.use_pool();
  for (int i = 0; i < 10; ++i) {
    const auto frame = video.read();
    ASSERT_TRUE(frame);
    const tenon::Memory& memory = *frame->plane(0).memory();
    watch.forget();
    watch.reset();
    ledger.reset();
    watch.watch(memory.host(), memory.size_bytes());
    router.map(*frame, detour, options);
    EXPECT_GE(watch.bytes(), frame->size_bytes()) << "the interposer overlooked a copy";
    EXPECT_EQ(ledger.total().copied, frame->size_bytes()) << "the ledger overlooked a copy";
    options.policy = tenon::ZeroCopy::kRequire;
    EXPECT_THROW(router.map(*frame, detour, options), tenon::Error);
    options.policy = tenon::ZeroCopy::kPrefer;
  }
}

TEST_P(ZeroCopyDecoder, TheInterposerSeesFfmpegsAndTheStandardLibrarysCopies) {
  CopyWatch watch;
  ff::Video video = ff::open(clip());
  const auto frame = video.read();
  ASSERT_TRUE(frame);
  const AVFrame& av = av_frame_of(*frame);
  for (int i = 0; i < AV_NUM_DATA_POINTERS && av.buf[i]; ++i) watch.watch(av.buf[i]->data, av.buf[i]->size);
  const auto seen = [&](auto copy) {
    watch.reset();
    copy();
    return watch.large_copies();
  };
  std::vector<std::uint8_t> room(frame->size_bytes() * 4);
  volatile std::size_t size = 8192;  // Not a constant, so that the compiler emits a call.
  EXPECT_EQ(seen([&] { std::memcpy(room.data(), av.data[0], size); }), 1u);
  EXPECT_EQ(seen([&] { std::memmove(room.data(), av.data[0] + 64, size); }), 1u);
  EXPECT_EQ(seen([&] { mempcpy(room.data(), av.data[0], size); }), 1u);
  EXPECT_EQ(seen([&] { std::memcpy(room.data() + size, room.data(), size); }), 0u) << "not frame memory";
  std::uint8_t* planes[4] = {room.data(), room.data() + 640 * 360, room.data() + 640 * 360 * 2, nullptr};
  int lines[4] = {640, 320, 320, 0};
  EXPECT_GE(seen([&] {
              av_image_copy(planes, lines, const_cast<const std::uint8_t**>(av.data), av.linesize, AV_PIX_FMT_YUV420P,
                            640, 360);
            }),
            1u);
  EXPECT_GE(seen([&] { av_image_copy_plane(room.data(), 640, av.data[0], av.linesize[0], 640, 360); }), 1u);
  SwsContext* sws =
      sws_getContext(640, 360, AV_PIX_FMT_YUV420P, 320, 180, AV_PIX_FMT_RGB24, SWS_BILINEAR, nullptr, nullptr, nullptr);
  int rgb_lines[4] = {320 * 3, 0, 0, 0};
  EXPECT_GE(seen([&] { sws_scale(sws, av.data, av.linesize, 0, 360, planes, rgb_lines); }), 1u);
  sws_freeContext(sws);
}

INSTANTIATE_TEST_SUITE_P(Threads, ZeroCopyDecoder, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Frames" : "Slices"; });

}  // namespace decoder_test
