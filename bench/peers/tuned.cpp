// SPDX-License-Identifier: Apache-2.0
// The demo as an expert writes it for OpenVINO: libavcodec's planes wrapped as tensors, colour, size and values inside
// the model, a decoding thread, as many requests as the device prefers.
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include <tenon/bench/peers/demo.hpp>
#include <tenon/bench/peers/libav_openvino.hpp>

namespace {

using tenon::peers::Picture;
using tenon::peers::plane;
using tenon::peers::Queue;
using tenon::peers::Video;
using tenon::peers::with_planes;

void detect(tenon::peers::Demo& demo) {
  Video video(demo.video);
  const std::size_t width = video.width(), height = video.height();
  ov::Core core;
  auto compiled = core.compile_model(with_planes(core.read_model(demo.model), width, height), "CPU",
                                     ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT),
                                     ov::hint::inference_precision(ov::element::f32));
  struct Slot {
    Picture picture;  // Outlives the request that reads it.
    ov::InferRequest request;
  };
  std::vector<Slot> slots(compiled.get_property(ov::optimal_number_of_infer_requests));
  for (Slot& slot : slots) slot.request = compiled.create_infer_request();

  demo.start(width, height);
  Queue queue;
  std::exception_ptr failure;
  std::jthread decoding([&] {
    try {
      for (Picture picture = video.read(); picture; picture = video.read())
        if (!queue.push(std::move(picture))) return;
    } catch (...) {
      failure = std::current_exception();
    }
    queue.push(nullptr);
  });
  const std::unique_ptr<Queue, void (*)(Queue*)> closing(&queue, [](Queue* q) { q->close(); });
  std::size_t started = 0, finished = 0;
  const auto finish = [&] {
    Slot& slot = slots[finished++ % slots.size()];
    slot.request.wait();
    const ov::Tensor output = slot.request.get_output_tensor();
    demo.frame(output.get_shape(), output.data<float>());
  };
  while (Picture picture = queue.pop()) {
    if (started - finished == slots.size()) finish();
    Slot& slot = slots[started++ % slots.size()];
    slot.picture = std::move(picture);
    slot.request.set_input_tensor(0, plane(*slot.picture, 0, width, height));
    slot.request.set_input_tensor(1, plane(*slot.picture, 1, width / 2, height / 2));
    slot.request.set_input_tensor(2, plane(*slot.picture, 2, width / 2, height / 2));
    slot.request.start_async();
  }
  while (finished < started) finish();
  if (failure) std::rethrow_exception(failure);
  demo.finish();
}

}  // namespace

int main(int argc, char** argv) { return tenon::peers::run(argc, argv, detect); }
