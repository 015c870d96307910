// SPDX-License-Identifier: Apache-2.0
// Memory that a Video decodes into: buffers that come again, descriptors, accesses, bounds, and pools that no decoder can fill.
#include <tenon/frameworks/ffmpeg/video.hpp>

#include <atomic>
#include <climits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/core/testing/bytes_of.hpp>
#include <tenon/frameworks/ffmpeg/pool.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

namespace video_pool_test {

using tenon::Code;
using tenon::Error;
using tenon::Frame;
using tenon::Tensor;
using tenon_test::bytes_of;
using tenon_test::ClipSpec;
using tenon_test::Folder;
namespace ff = tenon::ffmpeg;

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

TEST(FfmpegVideoPool, ReusesPoolBuffersAndTheirViews) {
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

TEST(FfmpegVideoPool, PoolOfMemfdsGivesEachFrameItsDescriptor) {
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

TEST(FfmpegVideoPool, WritesToDmabufsWithinAnAccessThatEndsWhenThePictureIsGivenOut) {
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

TEST(FfmpegVideoPool, EndsItsAccessToPicturesThatNobodyGot) {
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

TEST(FfmpegVideoPool, APoolFrameIsReadOnlyWhileTheDecoderRefersToIt) {
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

TEST(FfmpegVideoPool, AFailedAllocationInTheDecodersThreadSurfacesInRead) {
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

TEST(FfmpegVideoPool, AFullPoolEndsInTheDeadline) {
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

TEST(FfmpegVideoPool, WritesNoBufferThatADeviceStillReads) {
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

TEST(FfmpegVideoPool, RefusesPoolsThatNoDecoderCanFill) {
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

TEST(FfmpegVideoPool, APoolIsMadeAsPlanned) {
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

}  // namespace video_pool_test
