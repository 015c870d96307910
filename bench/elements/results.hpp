// SPDX-License-Identifier: Apache-2.0
// Shared by the three programs and not counted as their own code: input files, decoding of the model's output, ids, zones,
// lines of JSON, times. Usage: PROGRAM [--zones] [--interval=N] [--turns=FRAMES] MODEL JSON VIDEO...
// --interval=N: the model looks at every n-th frame of a stream, and objects are expected at places in those between.
// --turns=FRAMES: streams are started and stopped at random while others run, until so many frames were written.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include <tenon/core/metadata.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/tracker.hpp>
#include <tenon/vision/zones.hpp>

namespace tenon::bench_elements {

struct Arguments {
  std::string model, json;
  std::vector<std::string> videos;
  bool has_zones = false;
  std::size_t interval = 1, turns = 0;
  Arguments(int argc, char** argv) {
    std::vector<std::string> names;
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      const auto value_of = [&](std::string_view name) { return std::stoul(word.substr(name.size())); };
      if (word == "--zones")
        has_zones = true;
      else if (word.starts_with("--interval="))
        interval = std::max<std::size_t>(1, value_of("--interval="));
      else if (word.starts_with("--turns="))
        turns = value_of("--turns=");
      else
        names.push_back(word);
    }
    if (names.size() < 3)
      throw std::runtime_error("usage: [--zones] [--interval=N] [--turns=FRAMES] MODEL JSON VIDEO...");
    model = names[0], json = names[1];
    videos.assign(names.begin() + 2, names.end());
  }
};

/// The left half, the middle, and a line across it, in fractions of the picture.
inline constexpr const char* kZones =
    R"([{"name":"left","points":[[0,0],[0.5,0],[0.5,1],[0,1]]},{"name":"middle","points":[[0.3,0.3],[0.7,0.3],[0.7,0.7],[0.3,0.7]]}])";
inline constexpr const char* kLines = R"([{"name":"across","points":[[0.5,0],[0.5,1]]}])";

inline std::vector<vision::ZoneRule> zone_rules(const FrameInfo& info) {
  const auto w = static_cast<float>(info.width_px), h = static_cast<float>(info.height_px);
  using Shape = metadata::Zone::Shape;
  return {{"left", Shape::kZone, {{0, 0}, {0.5f * w, 0}, {0.5f * w, h}, {0, h}}},
          {"middle",
           Shape::kZone,
           {{0.3f * w, 0.3f * h}, {0.7f * w, 0.3f * h}, {0.7f * w, 0.7f * h}, {0.3f * w, 0.7f * h}}},
          {"across", Shape::kLine, {{0.5f * w, 0}, {0.5f * w, h}}}};
}

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

/// Results of one stream: from output to objects to ids to zones to a line of JSON. For programs without elements.
class Results {
 public:
  /// @param info  Format of the pictures to which the model's output refers.
  Results(const Arguments& arguments, const FrameInfo& info)
      : decoder_(vision::decode_options(*read_model(arguments.model), info)),
        interval_(arguments.interval),
        zones_(arguments.has_zones ? zone_rules(info) : std::vector<vision::ZoneRule>()) {}

  /// Whether the model is to look at the next frame that is read.
  bool wants_next() { return read_++ % interval_ == 0; }

  /// A frame that the model looked at.
  void frame(std::size_t stream, const std::vector<std::size_t>& extents, const float* values, std::FILE* json) {
    const Tensor output(ElementType::kF32, Shape(extents.begin(), extents.end()), const_cast<float*>(values));
    const auto& found = decoder_.decode({&output, 1});
    const auto ids = tracker_.update(found);
    objects_.clear();
    for (std::size_t i = 0; i < found.size(); ++i)
      objects_.push_back({box_of(found[i].box), found[i].label, found[i].label_id, found[i].score, ids[i]});
    write(stream, json);
  }
  /// A frame between those: objects are where they are expected.
  void skipped(std::size_t stream, std::FILE* json) {
    objects_.clear();
    for (const vision::Tracker::Expected& one : tracker_.skip()) {
      const auto label = static_cast<std::size_t>(one.label_id);
      const auto& labels = decoder_.options().labels;
      objects_.push_back(
          {box_of(one.box), label < labels.size() ? labels[label] : std::string(), one.label_id, one.score, one.id});
    }
    write(stream, json);
  }

  std::size_t frames = 0, detections = 0;

 private:
  static metadata::Box box_of(const vision::Box& box) { return {box.x1, box.y1, box.x2, box.y2}; }

  void write(std::size_t stream, std::FILE* json) {
    std::string line =
        "{\"stream\":" + std::to_string(stream) + ",\"frame\":" + std::to_string(frames) + ",\"metadata\":[";
    const auto add = [&](const std::string& entry) { line += (line.back() == '[' ? "" : ",") + entry; };
    for (const metadata::Detection& one : objects_) add("{" + one.json() + "}");
    if (!zones_.rules().empty()) watch(add);
    line += "]}\n";
    std::fputs(line.c_str(), json);
    ++frames;
    detections += objects_.size();
  }
  template <typename Add>
  void watch(Add add) {
    watched_.clear();
    for (const metadata::Detection& one : objects_)
      watched_.push_back({{one.box.x1, one.box.y1, one.box.x2, one.box.y2}, one.label, one.track_id});
    const auto now_ns = static_cast<std::int64_t>(frames) * 1'000'000'000 / 30;
    for (const vision::ZoneWatch::Event& event : zones_.update(now_ns, watched_)) {
      const metadata::ZoneEvent told{zones_.rules()[event.rule].name, event.what, event.seconds, event.track_id};
      add("{" + told.json() + "}");
    }
    for (std::size_t i = 0; i < zones_.rules().size(); ++i) add("{" + zones_.counted(i).json() + "}");
  }

  vision::Decoder decoder_;
  vision::Tracker tracker_;
  std::size_t interval_ = 1, read_ = 0;
  vision::ZoneWatch zones_;
  std::vector<metadata::Detection> objects_;
  std::vector<vision::ZoneWatch::Object> watched_;
};

/// Requests in flight, and frames between that no model looks at, in the order in which they were read. `Slot` has `stream` and `request`.
template <typename Slot>
class InOrder {
 public:
  InOrder(std::vector<Slot>& slots, std::vector<Results>& results, std::FILE* json)
      : slots_(slots), results_(results), json_(json) {}

  /// A slot that no frame is in; waits for the oldest where there is none.
  Slot& free_slot() {
    while (started_ - finished_ == slots_.size()) finish();
    return slots_[started_ % slots_.size()];
  }
  /// The free slot was started.
  void started(std::size_t stream) { waiting_.push_back({&slots_[started_++ % slots_.size()], stream}); }
  void skipped(std::size_t stream) {
    waiting_.push_back({nullptr, stream});
    while (!waiting_.empty() && !waiting_.front().first) finish();
  }
  void finish_all() {
    while (!waiting_.empty()) finish();
  }

 private:
  void finish() {
    const auto [slot, stream] = waiting_.front();
    waiting_.pop_front();
    if (!slot) return results_[stream].skipped(stream, json_);
    slot->request.wait();
    ++finished_;
    const auto output = slot->request.get_output_tensor();
    results_[stream].frame(stream, output.get_shape(), output.template data<float>(), json_);
  }

  std::vector<Slot>& slots_;
  std::vector<Results>& results_;
  std::FILE* json_;
  std::deque<std::pair<Slot*, std::size_t>> waiting_;
  std::size_t started_ = 0, finished_ = 0;
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
