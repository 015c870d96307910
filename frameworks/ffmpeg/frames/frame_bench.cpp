// SPDX-License-Identifier: Apache-2.0
// Cost of wrapping an AVFrame beside its lower bound, av_frame_ref.
#include <benchmark/benchmark.h>

#include <thread>

#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/ffmpeg/frame.hpp>
#include <tenon/frameworks/ffmpeg/pool.hpp>

namespace {

namespace ff = tenon::ffmpeg;

/// libstdc++ counts without atomics until a second thread has run; real programs have run one.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

ff::FramePtr picture() {
  ff::FramePtr frame(av_frame_alloc());
  frame->format = AV_PIX_FMT_YUV420P;
  frame->width = 1920;
  frame->height = 1080;
  av_frame_get_buffer(frame.get(), 0);
  return frame;
}

/// A decoder's frame in a pool buffer.
ff::FramePtr pooled_picture() {
  ff::FramePtr frame(av_frame_alloc());
  frame->format = AV_PIX_FMT_YUV420P;
  frame->width = 1920;
  frame->height = 1080;
  const int alignments[AV_NUM_DATA_POINTERS] = {64, 64, 64, 64, 64, 64, 64, 64};
  static auto pool = tenon::make_ref<ff::detail::DecodePool>(
      ff::PoolLayout::make(AV_PIX_FMT_YUV420P, 1920, 1080, 1920, 1090, alignments, {}), tenon::Requirements{},
      tenon::host_context(), 8);
  pool->fill(*frame, tenon::Deadline::max());
  return frame;
}

void AvFrameRef(benchmark::State& state) {
  const ff::FramePtr source = picture();
  const ff::FramePtr target(av_frame_alloc());
  for (auto _ : state) {
    av_frame_ref(target.get(), source.get());
    av_frame_unref(target.get());
  }
}
BENCHMARK(AvFrameRef)->Name("Wrap/floor/av_frame_ref");

void Wrap(benchmark::State& state) {
  const ff::FramePtr source = state.range(0) ? pooled_picture() : picture();
  tenon::Ledger& ledger = tenon::Ledger::process();
  const std::uint64_t before = ledger.total().copied;
  for (auto _ : state) benchmark::DoNotOptimize(ff::wrap(source.get()));
  state.counters["bytes_copied"] = static_cast<double>(ledger.total().copied - before);
}
BENCHMARK(Wrap)->Name("Wrap/ffmpeg->tenon/1080p_i420")->Arg(0)->Arg(1)->ArgName("pooled");

void MapToCpu(benchmark::State& state) {
  const ff::FramePtr source = picture();
  tenon::Router router;
  router.add(tenon::host_context());
  router.add(ff::context());
  const tenon::Frame frame = ff::wrap(source.get());
  for (auto _ : state) benchmark::DoNotOptimize(router.map(frame, tenon::host_context()));
}
BENCHMARK(MapToCpu)->Name("Map/ffmpeg->cpu/1080p_i420");

void AvFrame(benchmark::State& state) {
  const tenon::Frame frame = tenon::Frame::allocate({tenon::kI420, 1920, 1080});
  for (auto _ : state) benchmark::DoNotOptimize(ff::av_frame(frame));
}
BENCHMARK(AvFrame)->Name("Wrap/tenon->ffmpeg/1080p_i420");

}  // namespace
