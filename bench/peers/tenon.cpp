// SPDX-License-Identifier: Apache-2.0
// The demo on Tenon: what `tenon run` does, without its reports.
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/runtime/core.hpp>

#include <tenon/bench/peers/demo.hpp>

static void detect(tenon::peers::Demo& demo) {
  tenon::Core core;
  auto video = tenon::ffmpeg::open(demo.video);
  auto compiled = core.compile_model(demo.model, "CPU", tenon::input_frames(video.info()),
                                     tenon::hint::performance_mode(tenon::hint::PerformanceMode::THROUGHPUT),
                                     tenon::hint::inference_precision(tenon::element::f32));
  const std::size_t count = std::max(2u, compiled.get_property(tenon::optimal_number_of_infer_requests));
  std::vector<tenon::InferRequest> requests(count);
  for (auto& request : requests) request = compiled.create_infer_request();
  demo.start(video.info().width_px, video.info().height_px);
  std::size_t started = 0, finished = 0;
  const auto finish = [&] {
    auto& request = requests[finished++ % count];
    request.wait();
    demo.frame(request.get_output_tensor());
  };
  for (const tenon::Frame& frame : video) {
    if (started - finished == count) finish();
    auto& request = requests[started++ % count];
    request.set_frame(frame);
    request.start_async();
  }
  while (finished < started) finish();
  demo.finish();
}

int main(int argc, char** argv) { return tenon::peers::run(argc, argv, detect); }
