// SPDX-License-Identifier: Apache-2.0
// Runs pipelines with sinks that look at the clock.
#include <tenon/tools/tenon/tune/trial.hpp>

#include <stdlib.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>

#include <tenon/tools/tenon/shared/clock.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;
using elements::NodeSpec;
using elements::PipelineSpec;
using elements::Role;
using std::chrono::duration;
using std::chrono::milliseconds;

constexpr const char* kMeter = "tenon_tune_meter";
constexpr auto kStopTime = std::chrono::seconds(10);

/// What one sink sees of its streams. @thread any
class Sight {
 public:
  struct Seen {
    bool has_begun = false;
    double fps = 0;
    std::uint64_t frames = 0;
    std::vector<double>
        transits_ms;  ///< Each frame's arrival minus its time in the stream, by a clock that is common to the stream.
  };

  void begin(std::uint32_t stream, double fps) {
    const std::lock_guard lock(mutex_);
    seen_[stream].fps = fps;
  }
  void see(std::uint32_t stream, std::int64_t time_ns, std::int64_t born_ns) {
    const std::int64_t now = ns_of(std::chrono::system_clock::now()), steady = ns_of(Clock::now());
    const std::lock_guard lock(mutex_);
    Seen& one = seen_[stream];
    one.has_begun = true;
    if (!is_open_) return;
    ++one.frames;
    if (time_ns != kNoTimestamp) one.transits_ms.push_back(static_cast<double>(steady - time_ns) / 1e6);
    if (born_ns > 0) latencies_ms_.push_back(static_cast<double>(now - born_ns) / 1e6);
  }
  /// Whether `count` streams have begun.
  bool has_begun(std::size_t count) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(seen_.begin(), seen_.end(),
                                                  [](const auto& one) { return one.second.has_begun; })) >= count;
  }
  void open(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
  }
  /// @pre Nothing writes any more.
  const std::map<std::uint32_t, Seen>& seen() const { return seen_; }
  const std::vector<double>& latencies_ms() const { return latencies_ms_; }

 private:
  template <typename Time>
  static std::int64_t ns_of(Time time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  }
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Seen> seen_;
  std::vector<double> latencies_ms_;
  bool is_open_ = false;
};

class MeterSink final : public elements::Sink {
 public:
  explicit MeterSink(std::shared_ptr<Sight> sight) : sight_(std::move(sight)) {}
  /// Frames then say when their source read them.
  bool wants_origin() const override { return true; }
  void open(std::uint32_t stream, const elements::StreamInfo& info) override {
    sight_->begin(stream, info.frames_per_second);
  }
  void write(std::uint32_t stream, const Frame& frame) override {
    std::int64_t born = 0;
    if (const auto known = metadata::find(frame))
      for (const auto& time : known->all<metadata::ReferenceTime>())
        if (time->clock == "unix") born = time->time_ns;
    sight_->see(stream, frame.timestamp_ns(), born);
  }
  void write_audio(std::uint32_t stream, const AudioFrame& audio) override {
    sight_->see(stream, audio.timestamp_ns(), 0);
  }

 private:
  std::shared_ptr<Sight> sight_;
};

/// Adds a meter beside each sink. @return What they see, and how many streams come to each.
std::vector<std::pair<std::shared_ptr<Sight>, std::size_t>> add_meters(PipelineSpec& spec) {
  const elements::PipelinePlan plan = elements::plan_pipeline(spec);
  std::vector<std::pair<std::shared_ptr<Sight>, std::size_t>> sights;
  for (const auto& node : plan.nodes) {
    if (!node.to.empty()) continue;
    auto sight = std::make_shared<Sight>();
    elements::KnownElement known;
    known.description.name = kMeter;
    known.description.role = Role::kSink;
    known.description.is_shared = true;
    known.description.takes = description_of(node.spec).takes;
    known.factory = [sight](const elements::Parameters&, const elements::Environment&) -> elements::AnyElement {
      return std::make_unique<MeterSink>(sight);
    };
    NodeSpec meter;
    meter.element = kMeter;
    meter.name = fmt::format("{}_{}", kMeter, sights.size());
    meter.from = node.spec.from;
    meter.own = std::make_shared<const elements::KnownElement>(std::move(known));
    spec.nodes.push_back(std::move(meter));
    sights.emplace_back(std::move(sight), node.streams.size());
  }
  return sights;
}

double at_share(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

bool has_parameter(const elements::Description& known, const char* name) {
  return std::any_of(known.parameters.begin(), known.parameters.end(),
                     [&](const auto& one) { return one.name == name; });
}

/// Whether the parameter "path" names a file or folder of this machine.
bool is_local(const NodeSpec& node) {
  const auto path = node.parameters.find("path");
  return path != node.parameters.end() && path->second.find("://") == std::string::npos;
}

void make_sink_harmless(NodeSpec& node, const elements::Description& known, const fs::path& scratch,
                        std::vector<std::string>* notes) {
  if (known.files && has_parameter(known, "path")) {
    const fs::path folder = scratch / node.name;
    fs::create_directories(folder);
    const auto path = node.parameters.find("path");
    const bool has_name = path != node.parameters.end() && path->second != "-";
    node.parameters["path"] =
        (folder / (has_name ? fs::path(path->second).filename() : fs::path("lines.jsonl"))).string();
    return;
  }
  if (node.element == "null" || node.own) return;
  if (notes)
    notes->push_back(
        fmt::format("'{}' ({}) is replaced by null while it is measured: it sends frames or results elsewhere",
                    node.name, node.element));
  node.element = "null";
  node.parameters.clear();
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "tenon_tune_XXXXXX").string();
  if (!::mkdtemp(name.data()))
    throw Error(Code::kPermissionDenied, "no temporary folder \"" + name + "\" can be made: set TMPDIR");
  path_ = name;
}
ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}
void ScratchFolder::empty() const {
  std::error_code ignored;
  for (fs::recursive_directory_iterator at(path_, ignored), end; !ignored && at != end; at.increment(ignored)) {
    std::error_code kept;
    if (at->is_regular_file(kept)) fs::remove(at->path(), kept);
  }
}

PipelineSpec repeatable(PipelineSpec spec, const fs::path& scratch, bool real_time, std::vector<std::string>* notes) {
  for (NodeSpec& node : spec.nodes) {
    const elements::Description known = description_of(node);
    if (known.role == Role::kSink) {
      make_sink_harmless(node, known, scratch, notes);
    } else if (node.element == "publish") {
      if (notes)
        notes->push_back(fmt::format(
            "'{}' (publish) is replaced by identity while it is measured: it sends results elsewhere", node.name));
      node.element = "identity";
      node.parameters.clear();
    } else if (known.role == Role::kSource) {
      if (has_parameter(known, "loop") && is_local(node)) node.parameters["loop"] = "true";
      if (has_parameter(known, "realtime") && is_local(node))
        node.parameters["realtime"] = real_time ? "true" : "false";
      if (node.element == "test") {
        node.parameters["frames"] = "0";
        node.parameters["live"] = real_time ? "true" : "false";
      }
    }
  }
  spec.frames = 0;
  spec.files = nullptr;
  spec.on_error = elements::OnError::kStop;
  return spec;
}

PipelineSpec with_streams(PipelineSpec spec, std::size_t count) {
  std::vector<std::string> sources;
  for (const NodeSpec& node : spec.nodes)
    if (description_of(node).role == Role::kSource) sources.push_back(node.name);
  // Sources that are too many leave, and then what nothing feeds any more.
  std::set<std::string> gone;
  for (std::size_t i = count; i < sources.size(); ++i) gone.insert(sources[i]);
  for (NodeSpec& node : spec.nodes) {  // Each stands behind the nodes that feed it.
    if (node.from.empty()) continue;
    std::erase_if(node.from, [&](const std::string& from) { return gone.contains(from); });
    if (node.from.empty()) gone.insert(node.name);
  }
  std::erase_if(spec.nodes, [&](const NodeSpec& node) { return gone.contains(node.name); });
  std::vector<NodeSpec> copies;
  for (std::size_t i = sources.size(); i < count; ++i) {
    const std::string& like = sources[i % sources.size()];
    const auto source =
        std::find_if(spec.nodes.begin(), spec.nodes.end(), [&](const NodeSpec& node) { return node.name == like; });
    NodeSpec copy = *source;
    copy.name = fmt::format("{} (copy {})", like, i / sources.size());
    for (NodeSpec& node : spec.nodes)
      if (std::find(node.from.begin(), node.from.end(), like) != node.from.end()) node.from.push_back(copy.name);
    copies.push_back(std::move(copy));
  }
  spec.nodes.insert(spec.nodes.begin(), std::make_move_iterator(copies.begin()), std::make_move_iterator(copies.end()));
  return spec;
}

double TrialResult::Stream::bad_share() const {
  const double all = std::max(expected, static_cast<double>(frames));
  if (all <= 0) return 1;
  // The window cuts one frame at each end.
  const double missing = std::max(0.0, expected - static_cast<double>(frames) - 2);
  return std::min(1.0, (static_cast<double>(late) + missing) / all);
}

double TrialResult::fps() const {
  std::uint64_t frames = 0;
  for (const Stream& one : streams) frames += one.frames;
  return seconds > 0 ? static_cast<double>(frames) / seconds : 0;
}

double TrialResult::worst_share() const {
  double worst = streams.empty() ? 1 : 0;
  for (const Stream& one : streams) worst = std::max(worst, one.bad_share());
  return worst;
}

TrialResult run_trial(const PipelineSpec& spec, const TrialOptions& options) {
  TrialResult result;
  PipelineSpec measured = spec;
  const auto sights = add_meters(measured);
  const auto in_seconds = [](double seconds) {
    return std::chrono::duration_cast<Clock::duration>(duration<double>(seconds));
  };
  try {
    elements::Pipeline pipeline(measured);
    /// Waits until `end`, or until `is_done`. @return False: the pipeline has ended or failed.
    const auto wait = [&](Deadline end, auto is_done) {
      while (Clock::now() < end && !is_done()) {
        if (Interrupt::requested()) {
          pipeline.stop(Clock::now() + kStopTime);
          throw Error(Code::kCancelled, "interrupted");
        }
        if (pipeline.wait(std::min(end, Clock::now() + milliseconds(20)))) return false;
      }
      return true;
    };
    const auto dropped = [&] {
      std::uint64_t sum = 0;
      for (const elements::NodeStats& node : pipeline.stats())
        if (node.element != kMeter) sum += node.dropped;
      return sum;
    };
    pipeline.start();
    bool runs = wait(Clock::now() + in_seconds(options.first_frame_s), [&] {
      return std::all_of(sights.begin(), sights.end(),
                         [](const auto& one) { return one.first->has_begun(one.second); });
    });
    const bool has_begun =
        std::all_of(sights.begin(), sights.end(), [](const auto& one) { return one.first->has_begun(one.second); });
    const auto never = [] { return false; };
    if (runs && has_begun) runs = wait(Clock::now() + in_seconds(options.warm_up_s), never);
    const std::uint64_t dropped_before = dropped();
    for (const auto& [sight, streams] : sights) sight->open(true);
    const auto begin = Clock::now();
    if (runs && has_begun) runs = wait(begin + in_seconds(options.seconds), never);
    for (const auto& [sight, streams] : sights) sight->open(false);
    result.seconds = ms_since(begin) / 1e3;
    result.dropped = dropped() - dropped_before;
    pipeline.stop(Clock::now() + kStopTime);
    const auto failures = pipeline.failures();
    if (!failures.empty())
      result.failure = fmt::format("'{}': {}", failures.front().node, failures.front().message);
    else if (!has_begun)
      result.failure = fmt::format("not every stream gave a frame within {:g} s", options.first_frame_s);
    else if (!runs)
      result.failure = "the pipeline ended while it was measured";
  } catch (const Error& error) {
    if (error.code() == Code::kCancelled && Interrupt::requested()) throw;
    result.failure = error.what();
  }
  if (!result.failure.empty()) return result;
  std::map<std::uint32_t, TrialResult::Stream> streams;
  std::vector<double> latencies;
  for (const auto& [sight, count] : sights) {
    latencies.insert(latencies.end(), sight->latencies_ms().begin(), sight->latencies_ms().end());
    for (const auto& [stream, seen] : sight->seen()) {
      const double fastest =
          seen.transits_ms.empty() ? 0 : *std::min_element(seen.transits_ms.begin(), seen.transits_ms.end());
      TrialResult::Stream one{stream, seen.frames, 0, seen.fps * result.seconds};
      for (const double transit : seen.transits_ms) one.late += transit > fastest + options.late_ms;
      const auto [at, is_new] = streams.try_emplace(stream, one);
      if (!is_new && (one.frames < at->second.frames || one.late > at->second.late)) at->second = one;
    }
  }
  for (const auto& [stream, one] : streams) result.streams.push_back(one);
  result.p50_ms = at_share(latencies, 0.5);
  result.p99_ms = at_share(std::move(latencies), 0.99);
  return result;
}

}  // namespace tenon::tool
