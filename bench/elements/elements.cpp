// SPDX-License-Identifier: Apache-2.0
// The streams as a pipeline of elements: file, infer, track, and a sink that writes lines of JSON.
#include <mutex>

#include <tenon/bench/elements/results.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/vision/metadata.hpp>

namespace {

using namespace tenon;
using namespace tenon::elements;

std::size_t frames = 0, detections = 0;

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

void run_streams(const bench_elements::Arguments& arguments) {
  register_element(
      {"json_lines", "Lines of JSON", Role::kSink, {{"path", "File", std::string(), true}}, true, true},
      [](const Parameters& given, const Environment&) -> AnyElement { return std::make_unique<JsonLines>(given); });
  PipelineSpec spec;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < arguments.videos.size(); ++i) {
    names.push_back("stream" + std::to_string(i));
    spec.nodes.push_back({"file", names.back(), {{"path", arguments.videos[i]}, {"threads", "1"}}});
  }
  spec.nodes.push_back({"infer", "infer", {{"model", arguments.model}, {"precision", "f32"}}, names});
  spec.nodes.push_back({"track"});
  spec.nodes.push_back({"json_lines", "", {{"path", arguments.json}}});
  Pipeline pipeline(spec);
  const bench_elements::Stopwatch stopwatch;
  pipeline.start();
  pipeline.wait(Clock::now() + std::chrono::minutes(10));
  pipeline.stop();
  for (const Failure& failure : pipeline.failures()) throw std::runtime_error(failure.node + ": " + failure.message);
  std::uint64_t copied = 0;
  for (const NodeStats& node : pipeline.stats()) copied += node.moved.copied;
  stopwatch.finish(frames, detections, static_cast<double>(copied) / static_cast<double>(frames));
}

}  // namespace

int main(int argc, char** argv) { return bench_elements::run(argc, argv, run_streams); }
