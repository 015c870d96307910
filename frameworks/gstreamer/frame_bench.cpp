// SPDX-License-Identifier: Apache-2.0
// Cost of a GstBuffer as a frame beside GStreamer's own map of it, and of caps; shows that nothing is allocated.
#include <benchmark/benchmark.h>

#include <thread>

#include <tenon/core/router.hpp>
#include <tenon/core/testing/counted_loop.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>

namespace {

using namespace tenon;
using tenon_test::counted;
namespace gs = tenon::gstreamer;

/// libstdc++ counts without atomics until a second thread has run; real programs have run one.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

struct Stream {
  explicit Stream(PixelFormat format) {
    gs::start();
    FrameInfo info{format, 1920, 1080};
    caps = gs::caps(info);
    video = gs::video_caps(caps.get());
    gst_video_info_from_caps(&native, caps.get());
    buffer.reset(gst_buffer_new_allocate(nullptr, native.size, nullptr));
  }
  gs::CapsPtr caps;
  gs::VideoCaps video;
  GstVideoInfo native;
  gs::BufferPtr buffer;
};

void BareMap(benchmark::State& state, PixelFormat format) {
  Stream stream(format);
  counted(state, [&] {
    GstVideoFrame frame;
    gst_video_frame_map(&frame, &stream.native, stream.buffer.get(), GST_MAP_READ);
    benchmark::DoNotOptimize(frame);
    gst_video_frame_unmap(&frame);
  });
}
BENCHMARK_CAPTURE(BareMap, nv12, kNv12)->Name("Wrap/floor/gst_video_frame_map/1080p_nv12");
BENCHMARK_CAPTURE(BareMap, bgr, kBgr24)->Name("Wrap/floor/gst_video_frame_map/1080p_bgr");

void Wrap(benchmark::State& state, PixelFormat format) {
  Stream stream(format);
  const std::uint64_t before = Ledger::process().total().copied;
  counted(state, [&] { benchmark::DoNotOptimize(gs::wrap(stream.buffer.get(), stream.video)); });
  state.counters["bytes_copied"] = static_cast<double>(Ledger::process().total().copied - before);
}
BENCHMARK_CAPTURE(Wrap, nv12, kNv12)->Name("Wrap/gstreamer->tenon/1080p_nv12");
BENCHMARK_CAPTURE(Wrap, bgr, kBgr24)->Name("Wrap/gstreamer->tenon/1080p_bgr");

/// A frame of the CPU's, which needs no router.
void WrapForCpu(benchmark::State& state, PixelFormat format) {
  Stream stream(format);
  counted(state, [&] { benchmark::DoNotOptimize(gs::wrap_for_cpu(stream.buffer.get(), stream.video)); });
}
BENCHMARK_CAPTURE(WrapForCpu, nv12, kNv12)->Name("Wrap/gstreamer->cpu/1080p_nv12");
BENCHMARK_CAPTURE(WrapForCpu, bgr, kBgr24)->Name("Wrap/gstreamer->cpu/1080p_bgr");

/// Wraps buffers of Tenon's own pool, whose memory is known.
void WrapPooled(benchmark::State& state) {
  Stream stream(kNv12);
  const auto pool = gs::pool();
  gs::configure(*pool, stream.caps.get());
  GstBuffer* buffer = nullptr;
  gst_buffer_pool_acquire_buffer(pool.get(), &buffer, nullptr);
  const gs::BufferPtr held(buffer);
  counted(state, [&] { benchmark::DoNotOptimize(gs::wrap(buffer, stream.video)); });
}
BENCHMARK(WrapPooled)->Name("Wrap/gstreamer->tenon/1080p_nv12_pooled");

/// End to end: a buffer to a frame of the CPU's, by a router.
void MapToCpu(benchmark::State& state) {
  Stream stream(kNv12);
  Router router;
  router.add(gs::context());
  router.add(host_context());
  counted(state,
          [&] { benchmark::DoNotOptimize(router.map(gs::wrap(stream.buffer.get(), stream.video), host_context())); });
}
BENCHMARK(MapToCpu)->Name("Map/gstreamer->cpu/1080p_nv12");

void Leave(benchmark::State& state) {
  Stream stream(kNv12);
  const Frame frame = gs::wrap(stream.buffer.get(), stream.video);
  counted(state, [&] { benchmark::DoNotOptimize(gs::buffer(frame)); });
}
BENCHMARK(Leave)->Name("Wrap/tenon->gstreamer/1080p_nv12_its_own_buffer");

void LeaveAnew(benchmark::State& state) {
  gs::start();
  const Frame frame = Frame::allocate({kNv12, 1920, 1080});
  counted(state, [&] { benchmark::DoNotOptimize(gs::buffer(frame)); });
}
BENCHMARK(LeaveAnew)->Name("Wrap/tenon->gstreamer/1080p_nv12");

void BareCaps(benchmark::State& state) {
  Stream stream(kNv12);
  counted(state, [&] {
    GstVideoInfo info;
    benchmark::DoNotOptimize(gst_video_info_from_caps(&info, stream.caps.get()));
  });
}
BENCHMARK(BareCaps)->Name("Caps/floor/gst_video_info_from_caps");

void ParseCaps(benchmark::State& state) {
  Stream stream(kNv12);
  counted(state, [&] { benchmark::DoNotOptimize(gs::video_caps(stream.caps.get())); });
}
BENCHMARK(ParseCaps)->Name("Caps/video_caps");

void CachedCaps(benchmark::State& state) {
  Stream stream(kNv12);
  gs::CapsCache cache;
  GstCaps* caps = stream.caps.get();
  counted(state, [&] {
    benchmark::DoNotOptimize(caps);  // Else the compiler asks once for all rounds.
    benchmark::DoNotOptimize(cache.of(caps));
  });
}
BENCHMARK(CachedCaps)->Name("Caps/cached");

}  // namespace
