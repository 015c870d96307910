// SPDX-License-Identifier: Apache-2.0
// Shared by the three programs and not counted as their own code: input files, decoding of the model's output, ids,
// lines of JSON, times. Usage: PROGRAM MODEL JSON VIDEO...
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <tenon/core/metadata.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/tracker.hpp>

namespace tenon::bench_elements {

struct Arguments {
  std::string model, json;
  std::vector<std::string> videos;
  Arguments(int argc, char** argv) {
    if (argc < 4) throw std::runtime_error("usage: MODEL JSON VIDEO...");
    model = argv[1], json = argv[2];
    videos.assign(argv + 3, argv + argc);
  }
};

/// "frames 600 seconds 6.1 processor 11.5 detections 4753" from the first requested frame.
class Stopwatch {
 public:
  void finish(std::size_t frames, std::size_t detections, double copied_per_frame = -1) const {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
    std::printf("frames %zu seconds %.6f processor %.6f detections %zu copied %.1f\n", frames, seconds.count(),
                processor_seconds() - processor_begin_, detections, copied_per_frame);
  }

 private:
  static double processor_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
  }
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double processor_begin_ = processor_seconds();
};

struct Closing {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closing>;

inline File open_json(const std::string& path) {
  File file(std::fopen(path.c_str(), "w"));
  if (!file) throw std::runtime_error("cannot write " + path);
  return file;
}

/// Results of one stream: from output to objects to ids to a line of JSON. For programs without elements.
class Results {
 public:
  /// @param info  Format of the pictures to which the model's output refers.
  Results(const std::string& model, const FrameInfo& info)
      : decoder_(vision::decode_options(*read_model(model), info)) {}

  void frame(std::size_t stream, const std::vector<std::size_t>& extents, const float* values, std::FILE* json) {
    const Tensor output(ElementType::kF32, Shape(extents.begin(), extents.end()), const_cast<float*>(values));
    const auto& found = decoder_.decode({&output, 1});
    const auto ids = tracker_.update(found);
    std::string line =
        "{\"stream\":" + std::to_string(stream) + ",\"frame\":" + std::to_string(frames++) + ",\"metadata\":[";
    for (std::size_t i = 0; i < found.size(); ++i) {
      const vision::Box& box = found[i].box;
      const metadata::Detection one{
          {box.x1, box.y1, box.x2, box.y2}, found[i].label, found[i].label_id, found[i].score, ids[i]};
      line += (i ? "," : "") + one.json();
    }
    line += "]}\n";
    std::fputs(line.c_str(), json);
    detections += found.size();
  }

  std::size_t frames = 0, detections = 0;

 private:
  vision::Decoder decoder_;
  vision::Tracker tracker_;
};

template <typename Body>
int run(int argc, char** argv, Body body) {
  try {
    body(Arguments(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

}  // namespace tenon::bench_elements
