// SPDX-License-Identifier: Apache-2.0
// The streams as a pipeline of elements: file, infer, track, analytics, and a sink that writes lines of JSON.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include <tenon/bench/elements/results.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/vision/metadata.hpp>

namespace {

using namespace tenon;
using namespace tenon::elements;

std::atomic<std::size_t> frames{0}, detections{0};

class JsonLines final : public Sink {
 public:
  explicit JsonLines(const Parameters& given) : file_(bench_elements::open_json(given.text("path"))) {}
  void write(std::uint32_t stream, const Frame& frame) override {
    const std::string line =
        "{\"stream\":" + std::to_string(stream) + "," + metadata::json_line(frame).substr(1) + "\n";
    std::fputs(line.c_str(), file_.get());
    ++frames;
    if (const auto known = metadata::find(frame)) detections += known->all<metadata::Detection>().size();
  }

 private:
  bench_elements::File file_;
};

/// Starts and stops streams at random until so many frames were written. A quarter of them runs at least.
void take_turns(Pipeline& pipeline, const bench_elements::Arguments& arguments) {
  std::minstd_rand random(7);
  std::vector<std::string> running(arguments.videos.size());  // By place: the name of its source; empty: none.
  running[0] = "stream0";
  std::size_t made = 0;
  while (frames < arguments.turns) {
    const std::vector<SourceState> known = pipeline.sources();
    for (std::string& name : running) {
      if (name.empty()) continue;
      const auto state =
          std::find_if(known.begin(), known.end(), [&](const SourceState& one) { return one.name == name; });
      const bool is_gone = state == known.end();  // It had ended when another one was added.
      if (!is_gone && state->now == SourceState::Now::kFailed) throw std::runtime_error(name + " failed");
      if (!is_gone && state->now != SourceState::Now::kEnded) continue;
      if (!is_gone) pipeline.remove_source(name);
      name.clear();
    }
    const auto is_on = [](const std::string& name) { return !name.empty(); };
    const auto on = static_cast<std::size_t>(std::count_if(running.begin(), running.end(), is_on));
    std::string& place = running[random() % running.size()];
    if (place.empty()) {
      place = "turn" + std::to_string(++made);
      const std::string& path = arguments.videos[made % arguments.videos.size()];
      pipeline.add_source({"file", place, {{"path", path}, {"threads", "1"}}});
    } else if (on * 4 > running.size()) {
      pipeline.remove_source(place);
      place.clear();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 80));
  }
}

void run_streams(const bench_elements::Arguments& arguments) {
  register_element(
      {"json_lines", "Lines of JSON", Role::kSink, {{"path", "File", std::string(), true}}, true, true},
      [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<JsonLines>(given); });
  PipelineSpec spec;
  std::vector<std::string> names;
  const std::size_t planned = arguments.turns ? 1 : arguments.videos.size();
  for (std::size_t i = 0; i < planned; ++i) {
    names.push_back("stream" + std::to_string(i));
    spec.nodes.push_back({"file", names.back(), {{"path", arguments.videos[i]}, {"threads", "1"}}});
  }
  spec.nodes.push_back(
      {"infer",
       "infer",
       {{"model", arguments.model}, {"precision", "f32"}, {"interval", std::to_string(arguments.interval)}},
       names});
  spec.nodes.push_back({"track"});
  if (arguments.has_zones)
    spec.nodes.push_back(
        {"analytics",
         "",
         {{"zones", bench_elements::kZones}, {"lines", bench_elements::kLines}, {"units", "fractions"}}});
  spec.more_sources = arguments.turns ? static_cast<std::uint32_t>(arguments.videos.size()) : 0;
  spec.nodes.push_back({"json_lines", "", {{"path", arguments.json}}});
  Pipeline pipeline(spec);
  const bench_elements::Stopwatch stopwatch;
  pipeline.start();
  if (arguments.turns)
    take_turns(pipeline, arguments);
  else
    pipeline.wait(Clock::now() + std::chrono::minutes(10));
  pipeline.stop();
  for (const Failure& failure : pipeline.failures()) throw std::runtime_error(failure.node + ": " + failure.message);
  std::uint64_t copied = 0;
  for (const NodeStats& node : pipeline.stats()) copied += node.moved.copied;
  stopwatch.finish(frames, detections, static_cast<double>(copied) / static_cast<double>(frames));
}

}  // namespace

int main(int argc, char** argv) { return bench_elements::run(argc, argv, run_streams); }
