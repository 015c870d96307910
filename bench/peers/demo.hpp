// SPDX-License-Identifier: Apache-2.0
// Shared by the three programs of the demo and not counted as their own code: arguments, timing, and decoding of the
// model's output. Usage: PROGRAM VIDEO MODEL [TRUTH], with a ground truth for measuring mAP instead of time.
#pragma once

#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/resource.h>

#include <tenon/core/pixel_format.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/ground_truth.hpp>

namespace tenon::peers {

/// Counts the detections, frame after frame, between start() and finish(). The same decoding for every program.
class Demo {
 public:
  Demo(int argc, char** argv) : video(argc > 1 ? argv[1] : ""), model(argc > 2 ? argv[2] : "") {
    if (argc < 3) throw std::runtime_error("usage: VIDEO MODEL [TRUTH]");
    if (argc > 3) truth_ = vision::read_ground_truth(argv[3]);
  }

  const std::string video, model;

  /// Call before the first frame is requested: compiling is not measured.
  void start(std::size_t width, std::size_t height) {
    FrameInfo info;
    info.format = kI420;
    info.width_px = static_cast<std::uint32_t>(width);
    info.height_px = static_cast<std::uint32_t>(height);
    vision::DecodeOptions options = vision::decode_options(*read_model(model), info);
    if (truth_) {
      options.confidence_threshold = 0.01f;
      options.top_k = 300;
      options.multi_label = true;
    }
    decoder_.emplace(options);
    call_if_there("tenon_copy_count_begin");
    begin_ = std::chrono::steady_clock::now();
    processor_begin_ = processor_seconds();
  }

  /// The output of one frame, in the order of the frames.
  void frame(const Tensor& output) {
    const auto& found = decoder_->decode({&output, 1});
    detections_ += found.size();
    if (truth_ && frames_ < truth_->frames.size()) meter_.add(found, truth_->frames[frames_]);
    ++frames_;
  }
  void frame(const std::vector<std::size_t>& extents, const float* values) {
    frame(Tensor(ElementType::kF32, Shape(extents.begin(), extents.end()), const_cast<float*>(values)));
  }

  /// "frames 600 seconds 6.1 processor 11.5 detections 4753 map50 0.95".
  void finish() {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
    std::printf("frames %zu seconds %.6f processor %.6f detections %zu", frames_, seconds.count(),
                processor_seconds() - processor_begin_, detections_);
    if (truth_) std::printf(" map50 %.4f", meter_.result().map50);
    std::printf("\n");
    call_if_there("tenon_copy_count_end");
  }

 private:
  /// CPU time of all threads: less affected by load on the machine than wall-clock time.
  static double processor_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
  }
  /// Calls copy_count.c's functions, if that is preloaded.
  static void call_if_there(const char* name) {
    if (auto* function = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, name))) function();
  }

  std::optional<vision::GroundTruth> truth_;
  std::optional<vision::Decoder> decoder_;
  vision::PrecisionMeter meter_;
  std::chrono::steady_clock::time_point begin_;
  double processor_begin_ = 0;
  std::size_t frames_ = 0, detections_ = 0;
};

/// main() of all three.
template <typename Body>
int run(int argc, char** argv, Body body) {
  try {
    Demo demo(argc, argv);
    body(demo);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

}  // namespace tenon::peers
