// SPDX-License-Identifier: Apache-2.0
// Cost of the first map of a decoded picture to cv::Mats: each AVFrame is wrapped anew, so no view exists yet.
#include <benchmark/benchmark.h>

#include <thread>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/ffmpeg/frame.hpp>
#include <tenon/frameworks/opencv/opencv.hpp>

namespace {

using namespace tenon;

/// libstdc++ counts without atomics until a second thread has run; real programs have run one.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

/// In one buffer, or in one for each plane, as FFmpeg's own decoders allocate.
ffmpeg::FramePtr picture(bool buffer_per_plane) {
  ffmpeg::FramePtr frame(av_frame_alloc());
  frame->format = AV_PIX_FMT_YUV420P;
  frame->width = 1920;
  frame->height = 1080;
  if (!buffer_per_plane) {
    av_frame_get_buffer(frame.get(), 0);
    return frame;
  }
  for (int p = 0; p < 3; ++p) {
    frame->linesize[p] = p == 0 ? 1920 : 960;
    frame->buf[p] = av_buffer_alloc(static_cast<std::size_t>(frame->linesize[p]) * (p == 0 ? 1080 : 540));
    frame->data[p] = frame->buf[p]->data;
  }
  return frame;
}

void to_mats(const Frame& frame) {
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    cv::Mat mat = opencv::plane_mat(frame, p, {Access::kRead});
    benchmark::DoNotOptimize(mat);
  }
}

/// What the router adds to. It adds about 530 ns to this (planes in one buffer): 115 to describe the frame, 90 to look up
/// the plan, 130 for two hops that make a view each, 50 for the second frame, 40 for its own steps, and the rest to
/// destroy the views and the frame. A third of it all are reference counts.
void WrapAndMats(benchmark::State& state) {
  const ffmpeg::FramePtr source = picture(state.range(0) != 0);
  for (auto _ : state) to_mats(ffmpeg::wrap(source.get()));
}
BENCHMARK(WrapAndMats)->Name("Map/floor/wrap_and_mats/1080p_i420")->Arg(0)->Arg(1)->ArgName("buffer_per_plane");

void First(benchmark::State& state) {
  const ffmpeg::FramePtr source = picture(state.range(0) != 0);
  Router router;
  router.add(host_context());
  router.add(ffmpeg::context());
  router.add(opencv::context());
  for (auto _ : state) to_mats(router.map(ffmpeg::wrap(source.get()), opencv::context()));
}
BENCHMARK(First)->Name("Map/ffmpeg->opencv.mat/1080p_i420_first")->Arg(0)->Arg(1)->ArgName("buffer_per_plane");

}  // namespace
