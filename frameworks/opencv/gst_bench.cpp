// SPDX-License-Identifier: Apache-2.0
// Cost of a GstBuffer as a cv::Mat, beside the same by hand: gst_video_frame_map and a header over its bytes.
#include <benchmark/benchmark.h>

#include <thread>

#include <opencv2/core/mat.hpp>

#include <tenon/core/ledger.hpp>
#include <tenon/core/testing/counted_loop.hpp>
#include <tenon/frameworks/gstreamer/frame.hpp>
#include <tenon/frameworks/opencv/opencv.hpp>

namespace {

using namespace tenon;
namespace gs = tenon::gstreamer;

/// libstdc++ counts without atomics until a second thread has run; real programs have run one.
const bool threads_ran = [] { return std::thread([] {}).join(), true; }();

struct Stream {
  Stream() {
    gs::start();
    caps = gs::caps(FrameInfo{kBgr24, 1920, 1080});
    video = gs::video_caps(caps.get());
    gst_video_info_from_caps(&native, caps.get());
    buffer.reset(gst_buffer_new_allocate(nullptr, native.size, nullptr));
  }
  gs::CapsPtr caps;
  gs::VideoCaps video;
  GstVideoInfo native;
  gs::BufferPtr buffer;
};

void ByHand(benchmark::State& state) {
  const Stream stream;
  tenon_test::counted(state, [&] {
    GstVideoFrame frame;
    gst_video_frame_map(&frame, &stream.native, stream.buffer.get(), GST_MAP_READ);
    cv::Mat mat(1080, 1920, CV_8UC3, frame.data[0], static_cast<std::size_t>(frame.info.stride[0]));
    benchmark::DoNotOptimize(mat);
    gst_video_frame_unmap(&frame);
  });
}
BENCHMARK(ByHand)->Name("Wrap/floor/gst_video_frame_map_and_cv::Mat/1080p_bgr");

void ByTenon(benchmark::State& state) {
  const Stream stream;
  const std::uint64_t before = Ledger::process().total().copied;
  tenon_test::counted(state, [&] {
    benchmark::DoNotOptimize(opencv::mat(gs::wrap(stream.buffer.get(), stream.video), {Access::kRead}));
  });
  state.counters["bytes_copied"] = static_cast<double>(Ledger::process().total().copied - before);
}
BENCHMARK(ByTenon)->Name("Wrap/gstreamer->opencv.mat/1080p_bgr");

}  // namespace
