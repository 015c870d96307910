// SPDX-License-Identifier: Apache-2.0
// The streams as GStreamer users write them: its stock elements decode, convert and scale into appsinks, and OpenVINO
// infers on the results.
#include <thread>
#include <utility>

#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <openvino/core/preprocess/pre_post_process.hpp>
#include <openvino/runtime/core.hpp>

#include <tenon/bench/elements/results.hpp>

namespace {

using namespace tenon;

struct Unref {
  void operator()(GstElement* element) const {
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
  }
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
};
using Sample = std::unique_ptr<GstSample, Unref>;

/// A mapped picture, which the request reads in place.
class Mapped {
 public:
  Mapped() = default;
  explicit Mapped(Sample sample) : sample_(std::move(sample)) {
    if (!gst_buffer_map(gst_sample_get_buffer(sample_.get()), &map_, GST_MAP_READ))
      throw std::runtime_error("gst_buffer_map failed");
  }
  Mapped(Mapped&& other) noexcept : sample_(std::move(other.sample_)), map_(other.map_) {}
  Mapped& operator=(Mapped&& other) noexcept {
    std::swap(sample_, other.sample_);
    std::swap(map_, other.map_);
    return *this;
  }
  ~Mapped() {
    if (sample_) gst_buffer_unmap(gst_sample_get_buffer(sample_.get()), &map_);
  }
  void* data() const { return map_.data; }

 private:
  Sample sample_;
  GstMapInfo map_{};
};

struct Stream {
  std::unique_ptr<GstElement, Unref> pipeline, sink;
};

Stream open_stream(const std::string& path, std::size_t width, std::size_t height) {
  const std::string line =
      "filesrc location=\"" + path +
      "\" ! qtdemux ! h264parse ! avdec_h264 max-threads=1 ! videoconvert ! videoscale add-borders=false ! "
      "video/x-raw,format=RGB,width=" +
      std::to_string(width) + ",height=" + std::to_string(height) + " ! appsink name=out sync=false max-buffers=4";
  GError* error = nullptr;
  Stream made;
  made.pipeline.reset(gst_parse_launch(line.c_str(), &error));
  if (error) throw std::runtime_error(error->message);
  made.sink.reset(gst_bin_get_by_name(GST_BIN(made.pipeline.get()), "out"));
  gst_element_set_state(made.pipeline.get(), GST_STATE_PLAYING);
  return made;
}

void run_streams(const bench_elements::Arguments& arguments) {
  gst_init(nullptr, nullptr);
  ov::Core core;
  const auto model = core.read_model(arguments.model);
  const ov::Shape shape = model->input().get_shape();
  const std::size_t height = shape[2], width = shape[3];
  FrameInfo info;
  info.format = kRgb24;
  info.width_px = static_cast<std::uint32_t>(width), info.height_px = static_cast<std::uint32_t>(height);
  std::vector<bench_elements::Results> results;
  for (std::size_t i = 0; i < arguments.videos.size(); ++i) results.emplace_back(arguments, info);
  const bench_elements::Stopwatch stopwatch;
  ov::preprocess::PrePostProcessor processor(model);
  processor.input().tensor().set_element_type(ov::element::u8).set_layout("NHWC");
  processor.input().preprocess().convert_element_type(ov::element::f32).scale(255.f);
  processor.input().model().set_layout("NCHW");
  auto compiled =
      core.compile_model(processor.build(), "CPU", ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT),
                         ov::hint::inference_precision(ov::element::f32));
  struct Slot {
    Mapped picture;
    ov::InferRequest request;
  };
  std::vector<Slot> slots(compiled.get_property(ov::optimal_number_of_infer_requests));
  for (Slot& slot : slots) slot.request = compiled.create_infer_request();
  const bench_elements::File json = bench_elements::open_json(arguments.json);
  std::vector<Stream> streams;
  for (const std::string& path : arguments.videos) streams.push_back(open_stream(path, width, height));

  bench_elements::InOrder<Slot> running(slots, results, json.get());
  std::vector<bool> has_ended(streams.size(), false);
  for (std::size_t left = streams.size(); left > 0;) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (has_ended[i]) continue;
      Sample sample(gst_app_sink_try_pull_sample(GST_APP_SINK(streams[i].sink.get()), 10 * GST_SECOND));
      if (!sample) {
        has_ended[i] = true;
        --left;
        continue;
      }
      if (!results[i].wants_next()) {
        running.skipped(i);
        continue;
      }
      Slot& slot = running.free_slot();
      slot.picture = Mapped(std::move(sample));
      slot.request.set_input_tensor(ov::Tensor(ov::element::u8, {1, height, width, 3}, slot.picture.data()));
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
