// SPDX-License-Identifier: Apache-2.0
#include <tenon/frameworks/ffmpeg/video.hpp>

#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/testing/bytes_of.hpp>
#include <tenon/frameworks/ffmpeg/pool.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

namespace video_test {

using tenon::Code;
using tenon::Error;
using tenon::Frame;
using tenon::Tensor;
using tenon_test::bytes_of;
using tenon_test::ClipSpec;
using tenon_test::Folder;
namespace ff = tenon::ffmpeg;

const tenon::LedgerEntry booked(const tenon::Ledger& ledger, std::string_view name) {
  for (const tenon::LedgerEntry& entry : ledger.snapshot()) {
    if (entry.name == name) return entry;
  }
  return {};
}

/// A context that counts its allocations and can make them fail.
class CountingContext final : public tenon::ContextImpl {
 public:
  std::string_view name() const override { return "counting"; }
  tenon::MemoryKind kind() const override { return tenon::kCpuMemory; }
  tenon::Ref<tenon::Memory> allocate(const tenon::Requirements& wanted) override {
    if (++count > limit) throw Error(Code::kResourceExhausted, "counting: the budget of this test is spent");
    return tenon::HostMemory::allocate(wanted.size_bytes + wanted.tail_padding, wanted.alignment);
  }
  std::atomic<int> count{0};
  int limit = INT_MAX;
};

TEST(FfmpegVideo, SaysHowItsPicturesAreToBeTurned) {
  Folder folder;
  tenon_test::ClipSpec spec;
  spec.width = 64;
  spec.height = 48;
  spec.frames = 5;
  tenon_test::make_clip(folder.file("stored.mp4"), spec);
  for (const int clockwise : {0, 90, 180, 270}) {
    const std::string path = folder.file("turned" + std::to_string(clockwise) + ".mp4");
    tenon_test::remux_turned(folder.file("stored.mp4"), path, clockwise);
    const auto decoded = tenon_test::decode_by_ffmpeg(path);
    for (const bool pool : {false, true}) {
      ff::Video video = ff::open(path);
      if (pool) video.use_pool();
      EXPECT_EQ(degrees(video.info().rotation), static_cast<unsigned>(clockwise)) << "before the first picture";
      std::size_t frames = 0;
      for (const Frame& frame : video) {
        EXPECT_EQ(degrees(frame.info().rotation), static_cast<unsigned>(clockwise));
        EXPECT_EQ(frame.info().width_px, 64u);
        EXPECT_EQ(frame.info().upright_width_px(), clockwise % 180 ? 48u : 64u);
        EXPECT_EQ(bytes_of(frame), decoded[frames++]) << "the pixels lie as they are stored";
      }
      EXPECT_EQ(frames, 5u);
      EXPECT_EQ(video.size_changes(), 0u);
    }
  }
}

/// Frame threads, slice threads, with pool or without.
struct DecodeCase {
  const char* name;
  bool frame_threads;
  int threads;
  bool pool;
};
class DecodeTest : public testing::TestWithParam<DecodeCase> {};

TEST_P(DecodeTest, IsBitExactWithFfmpegsOwn) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  ClipSpec spec;
  spec.width = 322;  // Not a multiple of 16: the stream is cropped.
  tenon_test::make_clip(clip, spec, "g=12:slices=2");
  const auto expected = tenon_test::decode_by_ffmpeg(clip);
  ASSERT_EQ(expected.size(), 40u);
  tenon::Ledger ledger;
  ff::Options options;
  options.frame_threads = GetParam().frame_threads;
  options.threads = GetParam().threads;
  options.ledger = &ledger;
  ff::Video video = ff::open(clip, options);
  if (GetParam().pool) video.use_pool();
  std::size_t i = 0;
  for (const Frame& frame : video) {
    ASSERT_LT(i, expected.size());
    EXPECT_EQ(bytes_of(frame), expected[i]) << "frame " << i;
    EXPECT_EQ(frame.timestamp_ns(), static_cast<std::int64_t>(i) * 40'000'000);
    EXPECT_EQ(frame.plane(0).kind() == tenon::kCpuMemory, GetParam().pool);
    ++i;
  }
  EXPECT_EQ(i, expected.size());
  EXPECT_EQ(ledger.total().copied + ledger.total().converted, 0u);
  EXPECT_FALSE(video.read()) << "the end stays the end";
}
INSTANTIATE_TEST_SUITE_P(All, DecodeTest,
                         testing::Values(DecodeCase{"OneThread", false, 1, false},
                                         DecodeCase{"OneThreadPool", false, 1, true},
                                         DecodeCase{"SlicesPool", false, 2, true}, DecodeCase{"Frames", true, 4, false},
                                         DecodeCase{"FramesPool", true, 4, true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FfmpegVideo, SaysWhatItIs) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  ClipSpec spec;
  spec.space = AVCOL_SPC_BT709;
  spec.range = AVCOL_RANGE_MPEG;
  tenon_test::make_clip(clip, spec);
  ff::Video video = ff::open(clip);
  EXPECT_EQ(video.info(),
            (tenon::FrameInfo{tenon::kI420, 320, 180, tenon::ColourSpace::kBt709, tenon::ColourRange::kLimited}));
  EXPECT_DOUBLE_EQ(video.fps(), 25);
  EXPECT_EQ(video.frame_count(), 40u);
  EXPECT_EQ(video.duration(), std::chrono::milliseconds(1600));
  EXPECT_EQ(video.codec(), "h264");
  EXPECT_FALSE(video.live());
  EXPECT_EQ(video.path(), "h264 -> ffmpeg");
  const auto frame = video.read();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->info(), video.info());
}

TEST(FfmpegVideo, ReusesPoolBuffersAndTheirViews) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  ClipSpec spec;
  spec.frames = 120;
  tenon_test::make_clip(clip, spec);
  auto counting = tenon::make_ref<CountingContext>();
  tenon::Router router;
  router.add(tenon::host_context());
  router.add(ff::context());
  tenon::Ledger ledger;
  tenon::MapOptions options;
  options.ledger = &ledger;
  ff::Options open_options;
  open_options.threads = 2;
  ff::Video video = ff::open(clip, open_options);
  video.use_pool({}, tenon::Context(counting));
  std::set<const tenon::Memory*> memories;
  for (const Frame& frame : video) {
    memories.insert(frame.plane(0).memory().get());
    EXPECT_TRUE(frame.plane(0).memory() == frame.plane(2).memory());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.plane(0).data()) % 64, 0u);
    EXPECT_EQ(frame.plane(1).byte_strides()[0] % 64, 0);
    router.map(frame, ff::context(), options);
  }
  EXPECT_EQ(memories.size(), static_cast<std::size_t>(counting->count.load()))
      << "the memory comes out of an AVFrame as itself";
  EXPECT_LT(memories.size(), 30u);
  EXPECT_EQ(ledger.total().maps, 120u);
  EXPECT_EQ(ledger.total().view_hits, 120u) << "views persist from use to use";
}

TEST(FfmpegVideo, PoolOfMemfdsGivesEachFrameItsDescriptor) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::make_clip(clip);
  const std::size_t before = tenon_test::open_descriptors();
  {
    ff::Video video = ff::open(clip);
    tenon::Requirements wanted;
    wanted.fd = tenon::FdKind::kMemfd;
    wanted.pitch_alignment = 256;
    wanted.height_alignment = 16;
    video.use_pool(wanted);
    EXPECT_EQ(video.path(), "h264 -> pool(memfd)");
    const auto expected = tenon_test::decode_by_ffmpeg(clip);
    std::size_t i = 0;
    Frame kept;
    for (const Frame& frame : video) {
      const Tensor& luma = frame.plane(0);
      ASSERT_GE(luma.memory()->borrow_fd(), 0);
      EXPECT_EQ(luma.byte_strides()[0] % 256, 0);
      EXPECT_EQ(frame.plane(1).byte_strides()[0] % 256, 0);
      std::uint8_t byte = 0;
      ASSERT_EQ(pread(luma.memory()->borrow_fd(), &byte, 1, static_cast<off_t>(luma.offset())), 1);
      EXPECT_EQ(byte, *luma.data<std::uint8_t>());
      EXPECT_EQ(bytes_of(frame), expected[i++]);
      kept = frame;
    }
    video = ff::open(clip);  // Destroys the first video and its pool; the frame stays.
    EXPECT_EQ(bytes_of(kept), expected.back());
  }
  EXPECT_EQ(tenon_test::open_descriptors(), before);
}

/// Memory that the CPU may write only within an access, as a dma-buf. It is mapped when it is made.
struct BracketedMemory final : tenon::Memory {
  BracketedMemory(const tenon::Context& context, tenon::Ref<tenon::Memory> pixels)
      : Memory(context, context->kind(), {pixels->size_bytes(), pixels->host(), false, tenon::FdKind::kDmabuf, 0, {}}),
        pixels(std::move(pixels)) {}
  ~BracketedMemory() override { drop_views(); }
  tenon::Ref<tenon::Memory> pixels;
  std::atomic<int> open{0}, ended{0};
};

class BracketedContext final : public tenon::ContextImpl {
 public:
  struct CpuAccess final : tenon::LeaseState {
    explicit CpuAccess(tenon::Ref<tenon::Memory> of) : memory(std::move(of)) { ++bracketed().open; }
    BracketedMemory& bracketed() const { return static_cast<BracketedMemory&>(*memory); }
    void dispose() noexcept override {
      --bracketed().open, ++bracketed().ended;
      delete this;
    }
    tenon::Ref<tenon::Memory> memory;
  };
  class ToCpu final : public tenon::Edge {
   public:
    std::string_view name() const override { return "bracketed->cpu"; }
    tenon::MemoryKind from() const override { return tenon::MemoryKind("bracketed"); }
    tenon::MemoryKind to() const override { return tenon::kCpuMemory; }
    tenon::Step step(const tenon::Description& from, const tenon::Context& to, tenon::Access) const override {
      tenon::Reached reached{from, false, 1, 0};
      reached.result.context = to;
      return reached;
    }
    Tensor map(const Tensor& source, const tenon::Context&, const tenon::MapOptions& options) const override {
      EXPECT_TRUE(writes(options.access));
      return source.with_lease(tenon::Lease(new CpuAccess(source.memory())));
    }
  };
  std::string_view name() const override { return "bracketed"; }
  tenon::MemoryKind kind() const override { return tenon::MemoryKind("bracketed"); }
  std::span<const tenon::Edge* const> edges() const override {
    static const ToCpu edge;
    static constexpr const tenon::Edge* kEdges[] = {&edge};
    return kEdges;
  }
  tenon::Ref<tenon::Memory> allocate(const tenon::Requirements& wanted) override {
    auto made = tenon::make_ref<BracketedMemory>(
        tenon::Context(tenon::Ref<tenon::ContextImpl>(this)),
        tenon::HostMemory::allocate(wanted.size_bytes + wanted.tail_padding, wanted.alignment));
    memories.push_back(made);
    return made;
  }
  std::vector<tenon::Ref<BracketedMemory>> memories;
};

TEST(FfmpegVideo, WritesToDmabufsWithinAnAccessThatEndsWhenThePictureIsGivenOut) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::make_clip(clip);
  const auto expected = tenon_test::decode_by_ffmpeg(clip);
  auto bracketed = tenon::make_ref<BracketedContext>();
  {
    ff::Options options;
    options.threads = 1;
    ff::Video video = ff::open(clip, options);
    video.use_pool({}, tenon::Context(bracketed));
    std::size_t given = 0;
    for (const Frame& frame : video) {
      const auto& memory = static_cast<const BracketedMemory&>(*frame.plane(0).memory());
      EXPECT_EQ(memory.open, 0) << "others may read picture " << given << " now";
      EXPECT_GE(memory.ended, 1) << "picture " << given << " was written without an access";
      EXPECT_EQ(bytes_of(frame), expected[given++]);
    }
    EXPECT_EQ(given, expected.size());
    int ended = 0;
    for (const auto& memory : bracketed->memories) ended += memory->ended;
    EXPECT_GE(ended, static_cast<int>(expected.size())) << "each use is an access of its own";
    video = ff::open(clip);
  }
  for (const auto& memory : bracketed->memories) EXPECT_EQ(memory->open, 0);
  bracketed->memories.clear();
}

TEST(FfmpegVideo, EndsItsAccessToPicturesThatNobodyGot) {
  auto bracketed = tenon::make_ref<BracketedContext>();
  ff::PoolLayout layout;
  layout.format = AV_PIX_FMT_GRAY8;
  layout.width_px = layout.height_px = 64;
  layout.size_bytes = 64 * 64;
  layout.planes = 1;
  layout.pitch[0] = 64;
  const auto pool =
      tenon::make_ref<ff::detail::DecodePool>(layout, tenon::Requirements{}, tenon::Context(bracketed), 1);
  for (int use = 1; use < 3; ++use) {
    auto frame = ff::detail::new_frame();
    pool->fill(*frame, tenon::default_deadline());
    ASSERT_EQ(bracketed->memories.size(), 1u);
    EXPECT_EQ(bracketed->memories[0]->open, 1);
    frame.reset();
    EXPECT_EQ(bracketed->memories[0]->open, 0);
    EXPECT_EQ(bracketed->memories[0]->ended, use);
  }
  bracketed->memories.clear();
}

TEST(FfmpegVideo, FramesOutliveTheVideo) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::make_clip(clip);
  const auto expected = tenon_test::decode_by_ffmpeg(clip);
  std::vector<Frame> frames;
  {
    ff::Video video = ff::open(clip);
    video.use_pool();
    for (const Frame& frame : video) frames.push_back(frame);
  }
  ASSERT_EQ(frames.size(), expected.size());
  for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(bytes_of(frames[i]), expected[i]);
}

TEST(FfmpegVideo, APoolFrameIsReadOnlyWhileTheDecoderRefersToIt) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::make_clip(clip, {}, "bf=0:refs=2");
  ff::Options options;
  options.threads = 1;
  ff::Video video = ff::open(clip, options);
  video.use_pool();
  auto frame = video.read();
  ASSERT_TRUE(frame);
  EXPECT_FALSE(frame->plane(0).is_writable());
  tenon::Router router;
  router.add(ff::context());
  EXPECT_THROW(router.map(frame->plane(0), ff::context(), tenon::Access::kWrite), Error);
  while (video.read()) {
  }
  video = ff::open(clip);
  EXPECT_TRUE(frame->plane(0).is_writable()) << "now nothing else does";
}

TEST(FfmpegVideo, AFailedAllocationInTheDecodersThreadSurfacesInRead) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::make_clip(clip);
  for (const bool frame_threads : {false, true}) {
    auto counting = tenon::make_ref<CountingContext>();
    counting->limit = 2;
    ff::Options options;
    options.threads = frame_threads ? 4 : 1;
    options.frame_threads = frame_threads;
    ff::Video video = ff::open(clip, options);
    video.use_pool({}, tenon::Context(counting));
    std::string message;
    std::vector<Frame> kept;
    try {
      while (auto frame = video.read()) kept.push_back(*frame);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kResourceExhausted);
      message = error.what();
    }
    EXPECT_THAT(message, testing::HasSubstr("budget of this test"));
  }
}

TEST(FfmpegVideo, AFileIsReadWholeHoweverShortTheDeadlines) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::ClipSpec spec;
  tenon_test::make_clip(clip, spec);
  ff::Video video = ff::open(clip);
  int frames = 0;
  // On a busy machine a step of 200 ms may pass before the first byte has come.
  while (video.read(tenon::Clock::now() - std::chrono::seconds(1))) ++frames;
  EXPECT_EQ(frames, spec.frames);
}

TEST(FfmpegVideo, AFullPoolEndsInTheDeadline) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::make_clip(clip, {}, "bf=0:refs=1");
  ff::Options options;
  options.threads = 1;
  options.read_timeout = std::chrono::milliseconds(200);
  ff::Video video = ff::open(clip, options);
  video.use_pool({}, {}, 6);
  std::vector<Frame> kept;
  try {
    while (auto frame = video.read()) kept.push_back(*frame);
    FAIL() << "kept " << kept.size() << " frames in 6 buffers";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
    EXPECT_THAT(error.what(), testing::HasSubstr("all are in use"));
  }
}

TEST(FfmpegVideo, WritesNoBufferThatADeviceStillReads) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::make_clip(clip, {}, "bf=0:refs=1");
  ff::Options options;
  options.threads = 1;
  options.read_timeout = std::chrono::milliseconds(200);
  ff::Video video = ff::open(clip, options);
  video.use_pool({}, {}, 12);
  const auto device = tenon::make_ref<tenon::HostTimeline>();
  try {
    for (int i = 0; i < 40; ++i) {
      auto frame = video.read();
      ASSERT_TRUE(frame);
      frame->plane(0).memory()->hazards().read_until(device->next());  // The frame goes, the reading continues.
    }
    FAIL() << "a buffer was decoded into while it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  }
}

TEST(FfmpegVideo, RefusesPoolsThatNoDecoderCanFill) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  tenon_test::make_clip(clip);
  ff::Video video = ff::open(clip);
  const auto refused = [&](auto change) {
    tenon::Requirements wanted;
    change(wanted);
    try {
      video.use_pool(wanted);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused([](auto& w) { w.contiguous = true; }), testing::HasSubstr("padding"));
  EXPECT_THAT(refused([](auto& w) { w.kinds.push_back(tenon::MemoryKind("opencl.usm")); }),
              testing::HasSubstr("kind cpu"));
  EXPECT_THAT(refused([](auto& w) { w.modifiers.push_back(1); }), testing::HasSubstr("tiled"));
  EXPECT_THAT(refused([](auto& w) { w.fd = tenon::FdKind::kDmabuf; }), testing::HasSubstr("dma-buf"));
  tenon::Requirements narrow;
  narrow.max_pitch = 100;
  video.use_pool(narrow);
  try {
    video.read();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_THAT(error.what(), testing::HasSubstr("at most 100"));
  }
}

TEST(FfmpegVideo, APoolIsMadeAsPlanned) {
  Folder folder;
  const std::string clip = folder.file("clip.mp4");
  ClipSpec spec;
  spec.frames = 3;
  tenon_test::make_clip(clip, spec);
  ff::Video video = ff::open(clip);
  tenon::AllocationPlan plan;
  plan.possible = true;
  plan.allocator = tenon::host_context();
  plan.requirements.fd = tenon::FdKind::kMemfd;
  plan.requirements.pitch_alignment = 512;
  video.use_pool(plan, 7);
  const auto frame = video.read();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->plane(0).memory()->fd_kind(), tenon::FdKind::kMemfd);
  EXPECT_EQ(frame->plane(0).byte_strides()[0] % 512, 0);
  EXPECT_THAT(video.path(), testing::HasSubstr("memfd"));
  plan.possible = false;
  plan.explanation = "no allocation serves all: too far away";
  try {
    video.use_pool(plan);
    FAIL() << "a plan that is not possible was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_THAT(error.what(), testing::HasSubstr("too far away"));
    EXPECT_THAT(error.what(), testing::HasSubstr("clip.mp4"));
  }
  plan.possible = true;
  EXPECT_THROW(video.use_pool(plan, 0), Error) << "the limit does not reach the pool";
}

TEST(FfmpegVideo, ADecoderWithoutDirectRenderingCopiesAndSaysSo) {
  Folder folder;
  const std::string clip = folder.file("raw.mkv");
  ClipSpec spec;
  spec.codec = "rawvideo";
  spec.frames = 5;
  tenon_test::make_clip(clip, spec);
  const auto expected = tenon_test::decode_by_ffmpeg(clip);
  tenon::Ledger ledger;
  ff::Options options;
  options.ledger = &ledger;
  {
    ff::Video video = ff::open(clip, options);
    std::size_t i = 0;
    for (const Frame& frame : video) EXPECT_EQ(bytes_of(frame), expected[i++]);
    EXPECT_EQ(ledger.total().copied, 0u) << "without a pool the packet's bytes are the frame's";
  }
  ff::Video video = ff::open(clip, options);
  video.use_pool();
  EXPECT_THAT(video.path(), testing::HasSubstr("copy"));
  std::size_t i = 0;
  for (const Frame& frame : video) EXPECT_EQ(bytes_of(frame), expected[i++]);
  EXPECT_EQ(booked(ledger, "ffmpeg.decoder-copy").copied, 5u * 320 * 180 * 3 / 2);
  options.policy = tenon::ZeroCopy::kRequire;
  ff::Video strict = ff::open(clip, options);
  EXPECT_THROW(strict.use_pool(), Error);
}

TEST(FfmpegVideo, PicturesOfMoreBitsAreReadInPlace) {
  Folder folder;
  const std::string clip = folder.file("ten.mkv");
  ClipSpec spec;
  spec.codec = "ffv1";
  spec.format = AV_PIX_FMT_YUV422P10LE;
  spec.frames = 2;
  tenon_test::make_clip(clip, spec);
  tenon::Ledger ledger;
  ff::Options options;
  options.ledger = &ledger;
  options.policy = tenon::ZeroCopy::kRequire;
  ff::Video video = ff::open(clip, options);
  for (const Frame& frame : video) EXPECT_EQ(frame.info().format, tenon::kI422p10);
  EXPECT_EQ(ledger.total().converted + ledger.total().copied, 0u);
}

TEST(FfmpegVideo, AFormatThatIsNotReadIsConvertedAndBooked) {
  Folder folder;
  const std::string clip = folder.file("words.nut");
  ClipSpec spec;
  spec.codec = "rawvideo";
  spec.format = AV_PIX_FMT_RGB565LE;
  spec.frames = 3;
  tenon_test::make_clip(clip, spec);
  for (const bool pool : {false, true}) {
    tenon::Ledger ledger;
    ff::Options options;
    options.ledger = &ledger;
    ff::Video video = ff::open(clip, options);
    if (pool) video.use_pool();
    EXPECT_THAT(video.path(), testing::HasSubstr("swscale"));
    std::size_t count = 0;
    for (const Frame& frame : video) {
      EXPECT_EQ(frame.info(), video.info());
      EXPECT_EQ(frame.plane(0).kind() == tenon::kCpuMemory, pool);
      ++count;
    }
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(booked(ledger, "ffmpeg.swscale").converted, 3u * 320 * 180 * 2);
    EXPECT_EQ(ledger.total().copied, 0u);
  }
  ff::Options strict;
  strict.policy = tenon::ZeroCopy::kRequire;
  try {
    ff::open(clip, strict);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("rgb565le"), testing::HasSubstr("zero copy is required")));
  }
}

TEST(FfmpegVideo, AChangeOfSizeGetsANewPoolAndIsFlagged) {
  Folder folder;
  // Two elementary streams in sequence, like a broadcaster's switch to another programme.
  ClipSpec small, large;
  small.frames = large.frames = 20;
  large.width = 480;
  large.height = 270;
  tenon_test::make_clip(folder.file("a.h264"), small);
  tenon_test::make_clip(folder.file("b.h264"), large);
  const std::string both = folder.file("both.h264");
  {
    std::ofstream out(both, std::ios::binary);
    for (const char* part : {"a.h264", "b.h264"}) out << std::ifstream(folder.file(part), std::ios::binary).rdbuf();
  }
  const auto expected = tenon_test::decode_by_ffmpeg(both);
  ASSERT_EQ(expected.size(), 40u);
  for (const int threads : {1, 4}) {
    ff::Options options;
    options.threads = threads;
    ff::Video video = ff::open(both, options);
    video.use_pool();
    std::size_t i = 0, flagged = 0;
    for (const Frame& frame : video) {
      EXPECT_EQ(bytes_of(frame), expected[i]) << i;
      EXPECT_EQ(frame.info().width_px, i < 20 ? 320u : 480u);
      if (frame.metadata().count("size_changed")) {
        ++flagged;
        EXPECT_EQ(i, 20u);
      }
      ++i;
    }
    EXPECT_EQ(i, 40u);
    EXPECT_EQ(flagged, 1u);
    EXPECT_EQ(video.size_changes(), 1u);
  }
}

TEST(FfmpegVideo, DecodesWhatOtherCodecsGive) {
  Folder folder;
  const struct {
    const char* codec;
    AVPixelFormat format;
    const char* file;
    tenon::PixelFormat expected;
  } cases[] = {{"mpeg4", AV_PIX_FMT_YUV420P, "a.mp4", tenon::kI420},
               {"mjpeg", AV_PIX_FMT_YUVJ422P, "b.mkv", tenon::kI422},
               {"ffv1", AV_PIX_FMT_GRAY8, "c.mkv", tenon::kGray8},
               {"ffv1", AV_PIX_FMT_GRAY16LE, "d.mkv", tenon::kGray16},
               {"png", AV_PIX_FMT_RGB24, "e.mkv", tenon::kRgb24},
               {"png", AV_PIX_FMT_RGBA, "f.mkv", tenon::kRgba},
               {"libx264rgb", AV_PIX_FMT_BGR24, "g.mkv", tenon::kGbrPlanar},
               {"libx264", AV_PIX_FMT_YUV444P, "h.mkv", tenon::kI444},
               // Its decoder writes four bytes past the last row of each plane.
               {"cfhd", AV_PIX_FMT_YUV422P10LE, "i.mov", tenon::kI422p10},
               // Its demuxer calls the end of the file an error of reading.
               {"roqvideo", AV_PIX_FMT_YUVJ444P, "j.roq", tenon::kI444}};
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.codec) + " " + c.file);
    ClipSpec spec;
    spec.codec = c.codec;
    spec.format = c.format;
    spec.frames = 4;
    spec.width = 128;
    spec.height = 96;
    tenon_test::make_clip(folder.file(c.file), spec);
    const auto expected = tenon_test::decode_by_ffmpeg(folder.file(c.file));
    ff::Video video = ff::open(folder.file(c.file));
    video.use_pool();
    EXPECT_EQ(video.info().format, c.expected);
    std::size_t i = 0;
    for (const Frame& frame : video) EXPECT_EQ(bytes_of(frame), expected[i++]);
    EXPECT_EQ(i, 4u);
  }
}

}  // namespace video_test
