// SPDX-License-Identifier: Apache-2.0
// Takes samples of a pipeline and writes them as text.
#include <tenon/tools/tenon/show/pipelines/pipeline_report.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <tenon/core/metadata.hpp>

#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/show/text/progress.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

using std::chrono::duration;

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

std::string queue_text(const elements::NodeStats& stats) {
  return stats.queue_size == 0 ? "-" : fmt::format("{}/{}", stats.queued, stats.queue_size);
}

nlohmann::ordered_json node_json(const PipelineReport& report, const PipelineReport::Node& node) {
  const elements::NodeStats& stats = node.stats;
  nlohmann::ordered_json to = nlohmann::ordered_json::array();
  for (const std::size_t next : node.to) to.push_back(report.nodes[next].stats.name);
  const auto ms = [](std::chrono::nanoseconds time) { return duration<double, std::milli>(time).count(); };
  return {{"name", stats.name},
          {"element", stats.element},
          {"to", to},
          {"streams", node.streams},
          {"frames_in", stats.frames_in},
          {"frames_out", stats.frames_out},
          {"dropped", stats.dropped},
          {"fps", node.fps},
          {"busy_ms", ms(stats.busy)},
          {"queued", stats.queued},
          {"queue_size", stats.queue_size},
          {"copied", stats.moved.copied},
          {"converted", stats.moved.converted},
          {"transferred", stats.moved.transferred},
          {"copied_per_frame", node.copied_per_frame()},
          {"latency_ms", {{"p50", ms(stats.p50)}, {"p90", ms(stats.p90)}, {"p99", ms(stats.p99)}}}};
}

}  // namespace

std::string in_time(std::chrono::nanoseconds time) {
  const auto ns = static_cast<double>(time.count());
  if (ns <= 0) return "-";
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string text_of(const elements::Failure& failure) {
  return fmt::format("'{}', stream {}: {}{}", failure.node, failure.stream, failure.message,
                     failure.was_restarted ? " (restarted)" : "");
}

double PipelineReport::Node::copied_per_frame() const {
  return frames() == 0 ? 0 : static_cast<double>(stats.moved.copied) / static_cast<double>(frames());
}

std::string PipelineReport::to_json() const {
  nlohmann::ordered_json all = {{"seconds", seconds},
                                {"interrupted", interrupted},
                                {"streams", streams},
                                {"nodes", nlohmann::ordered_json::array()},
                                {"failures", nlohmann::ordered_json::array()}};
  for (const Node& node : nodes) all["nodes"].push_back(node_json(*this, node));
  for (const elements::Failure& failure : failures) {
    all["failures"].push_back({{"node", failure.node},
                               {"stream", failure.stream},
                               {"message", failure.message},
                               {"restarted", failure.was_restarted}});
  }
  return json_text(all);
}

std::string PipelineReport::to_text() const {
  std::vector<std::vector<std::string>> rows{
      {"node", "frames", "fps", "queue", "dropped", "busy", "p50", "p90", "p99", "copied/frame"}};
  for (const Node& node : nodes) {
    const elements::NodeStats& stats = node.stats;
    const double busy = seconds > 0 ? 100 * duration<double>(stats.busy).count() / seconds : 0;
    rows.push_back({stats.name, fmt::format("{}", node.frames()), fmt::format("{:.1f}", node.fps), queue_text(stats),
                    fmt::format("{}", stats.dropped), fmt::format("{:.0f}%", busy), in_time(stats.p50),
                    in_time(stats.p90), in_time(stats.p99), in_bytes(node.copied_per_frame())});
  }
  return text_table(rows);
}

std::string PipelineReport::to_line() const {
  std::string line = fmt::format("{:.1f} s", seconds);
  if (!failures.empty()) line += fmt::format(", {} failure{}", failures.size(), failures.size() == 1 ? "" : "s");
  for (const Node& node : nodes) {
    line += fmt::format("  {} {} ({:.1f}/s", node.stats.name, node.frames(), node.fps);
    if (node.stats.queue_size > 0) line += ", queue " + queue_text(node.stats);
    if (node.stats.dropped > 0) line += fmt::format(", {} dropped", node.stats.dropped);
    line += ")";
  }
  return line;
}

std::string PipelineReport::to_prometheus() const {
  std::string text = fmt::format(
      "# HELP tenon_pipeline_seconds Seconds since the pipeline was started.\n# TYPE tenon_pipeline_seconds gauge\n"
      "tenon_pipeline_seconds {:.3f}\n"
      "# HELP tenon_pipeline_failures_total Failures of streams, including those that were restarted.\n"
      "# TYPE tenon_pipeline_failures_total counter\ntenon_pipeline_failures_total {}\n",
      seconds, failures.size());
  const auto family = [&](const char* name, const char* type, const char* help, auto value) {
    text += fmt::format("# HELP tenon_element_{0} {2}\n# TYPE tenon_element_{0} {1}\n", name, type, help);
    for (const Node& node : nodes) {
      text += fmt::format("tenon_element_{}{{node={},element={}}} {}\n", name, metadata::json_string(node.stats.name),
                          metadata::json_string(node.stats.element), value(node.stats));
    }
  };
  using Stats = elements::NodeStats;
  family("frames_in_total", "counter", "Frames that arrived at the node.", [](const Stats& s) { return s.frames_in; });
  family("frames_out_total", "counter", "Frames that left the node.", [](const Stats& s) { return s.frames_out; });
  family("dropped_total", "counter", "Frames that were dropped.", [](const Stats& s) { return s.dropped; });
  family("busy_seconds_total", "counter", "Time in the element's own code.",
         [](const Stats& s) { return duration<double>(s.busy).count(); });
  family("queue_frames", "gauge", "Frames that wait in the node's queues.", [](const Stats& s) { return s.queued; });
  family("queue_size", "gauge", "Capacity of the node's queues.", [](const Stats& s) { return s.queue_size; });
  family("copied_bytes_total", "counter", "Bytes copied.", [](const Stats& s) { return s.moved.copied; });
  family("converted_bytes_total", "counter", "Bytes read by conversions.",
         [](const Stats& s) { return s.moved.converted; });
  family("transferred_bytes_total", "counter", "Bytes transferred to or from a device's own memory.",
         [](const Stats& s) { return s.moved.transferred; });
  text +=
      "# HELP tenon_element_latency_seconds Time from the source's reading of a frame to the end of the node's work.\n"
      "# TYPE tenon_element_latency_seconds gauge\n";
  for (const Node& node : nodes) {
    if (node.is_source) continue;
    const std::pair<const char*, std::chrono::nanoseconds> quantiles[] = {
        {"0.5", node.stats.p50}, {"0.9", node.stats.p90}, {"0.99", node.stats.p99}};
    for (const auto& [quantile, time] : quantiles) {
      text += fmt::format("tenon_element_latency_seconds{{node={},element={},quantile=\"{}\"}} {}\n",
                          metadata::json_string(node.stats.name), metadata::json_string(node.stats.element), quantile,
                          duration<double>(time).count());
    }
  }
  return text;
}

PipelineWatch::PipelineWatch(const elements::Pipeline& pipeline, std::string hidden)
    : pipeline_(pipeline), begin_(std::chrono::steady_clock::now()), last_(begin_) {
  const auto& planned = pipeline.plan().nodes;
  std::vector<std::size_t> place(planned.size(), SIZE_MAX);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (planned[i].spec.element == hidden) continue;
    place[i] = shown_.size();
    shown_.push_back(i);
  }
  before_.streams = pipeline.plan().streams;
  for (const std::size_t i : shown_) {
    PipelineReport::Node& node = before_.nodes.emplace_back();
    node.is_source = planned[i].spec.from.empty();
    node.streams = planned[i].streams;
    for (const std::size_t to : planned[i].to)
      if (place[to] != SIZE_MAX) node.to.push_back(place[to]);
  }
  sample();
}

PipelineReport PipelineWatch::take() {
  const Time now = std::chrono::steady_clock::now();
  const double since = duration<double>(now - last_).count();
  PipelineReport report = before_;
  report.seconds = duration<double>(now - begin_).count();
  report.failures = pipeline_.failures();
  const std::vector<elements::NodeStats> stats = pipeline_.stats();
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    PipelineReport::Node& node = report.nodes[i];
    const std::uint64_t before = node.frames();
    node.stats = stats[shown_[i]];
    // Smoothed over about a second, to be readable.
    const double rate = per_second(node.frames() - before, since);
    node.fps = before == 0 ? rate : node.fps + (rate - node.fps) * std::min(1.0, since);
  }
  last_ = now;
  before_ = report;
  return report;
}

void PipelineWatch::finish(bool interrupted) {
  PipelineReport report = take();
  report.interrupted = interrupted;
  for (PipelineReport::Node& node : report.nodes) node.fps = per_second(node.frames(), report.seconds);
  publish(std::move(report));
}

void PipelineWatch::publish(PipelineReport report) {
  auto made = std::make_shared<const PipelineReport>(std::move(report));
  const std::lock_guard lock(mutex_);
  latest_.swap(made);
}

std::shared_ptr<const PipelineReport> PipelineWatch::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

}  // namespace tenon::tool
