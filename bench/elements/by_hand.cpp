// SPDX-License-Identifier: Apache-2.0
// The streams as an expert writes them: a decoding thread for each by libavcodec, wrapped planes, OpenVINO with requests in flight.
#include <exception>
#include <thread>
#include <utility>

#include <tenon/bench/elements/results.hpp>
#include <tenon/bench/peers/libav_openvino.hpp>

namespace {

using namespace tenon;

struct Slot {
  peers::Picture picture;  // Outlives the request that reads it.
  ov::InferRequest request;
};

void run_streams(const bench_elements::Arguments& arguments) {
  std::vector<std::unique_ptr<peers::Video>> videos;
  std::vector<bench_elements::Results> results;
  for (const std::string& path : arguments.videos) {
    videos.push_back(std::make_unique<peers::Video>(path, 1));
    FrameInfo info;
    info.format = kI420;
    info.width_px = static_cast<std::uint32_t>(videos.back()->width());
    info.height_px = static_cast<std::uint32_t>(videos.back()->height());
    results.emplace_back(arguments, info);
  }
  const std::size_t width = videos[0]->width(), height = videos[0]->height();
  ov::Core core;
  const bench_elements::Stopwatch stopwatch;
  auto compiled = core.compile_model(peers::with_planes(core.read_model(arguments.model), width, height), "CPU",
                                     ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT),
                                     ov::hint::inference_precision(ov::element::f32));
  std::vector<Slot> slots(compiled.get_property(ov::optimal_number_of_infer_requests));
  for (Slot& slot : slots) slot.request = compiled.create_infer_request();
  const bench_elements::File json = bench_elements::open_json(arguments.json);

  std::vector<std::unique_ptr<peers::Queue>> queues(videos.size());
  for (auto& queue : queues) queue = std::make_unique<peers::Queue>();
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < videos.size(); ++i)
    threads.emplace_back([&, i] {
      for (peers::Picture picture = videos[i]->read(); picture; picture = videos[i]->read())
        if (!queues[i]->push(std::move(picture))) return;
      queues[i]->push(nullptr);
    });
  bench_elements::InOrder<Slot> running(slots, results, json.get());
  std::vector<bool> has_ended(videos.size(), false);
  for (std::size_t left = videos.size(); left > 0;) {
    for (std::size_t i = 0; i < videos.size(); ++i) {
      if (has_ended[i]) continue;
      peers::Picture picture = queues[i]->pop();
      if (!picture) {
        has_ended[i] = true;
        --left;
        continue;
      }
      if (!results[i].wants_next()) {
        running.skipped(i);
        continue;
      }
      Slot& slot = running.free_slot();
      slot.picture = std::move(picture);
      slot.request.set_input_tensor(0, peers::plane(*slot.picture, 0, width, height));
      slot.request.set_input_tensor(1, peers::plane(*slot.picture, 1, width / 2, height / 2));
      slot.request.set_input_tensor(2, peers::plane(*slot.picture, 2, width / 2, height / 2));
      slot.request.start_async();
      running.started(i);
    }
  }
  running.finish_all();
  std::size_t frames = 0, detections = 0;
  for (const auto& one : results) frames += one.frames, detections += one.detections;
  stopwatch.finish(frames, detections);
}

}  // namespace

int main(int argc, char** argv) { return bench_elements::run(argc, argv, run_streams); }
