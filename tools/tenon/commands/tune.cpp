// SPDX-License-Identifier: Apache-2.0
// tenon tune: finds settings with which a pipeline is faster on this machine.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <tenon/core/error.hpp>
#include <tenon/elements/pipeline_spec.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/runtime/core.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/clock.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>
#include <tenon/tools/tenon/shared/pipeline_file.hpp>
#include <tenon/tools/tenon/shared/software_npu.hpp>
#include <tenon/tools/tenon/show/reports/tune_report.hpp>
#include <tenon/tools/tenon/tune/compare.hpp>
#include <tenon/tools/tenon/tune/knobs.hpp>
#include <tenon/tools/tenon/tune/streams.hpp>
#include <tenon/tools/tenon/tune/trial.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;
using elements::PipelineSpec;

/// The last part of the time is for comparing the file with the result.
constexpr double kForTheLast = 0.25;

struct TuneOptions {
  std::string file, output, goal = "fps", report;
  std::vector<std::string> devices, settings;
  double budget_s = 180, latency_ms = 0;
  std::size_t streams = 0;
  TrialOptions trial;
  CompareOptions compare;
  bool in_place = false, json = false, quiet = false;
};

/// "cameras.tuned.json" beside "cameras.json".
std::string output_for(const TuneOptions& options) {
  if (options.in_place) return options.file;
  if (!options.output.empty()) return options.output;
  fs::path path = options.file;
  path.replace_extension(".tuned" + path.extension().string());
  return path.string();
}

/// Devices that models may be moved to: those that were named, else the file's own.
std::vector<std::string> devices_for(const TuneOptions& options) {
  for (const std::string& device : options.devices) stand_in_for_npu(device);
  if (options.devices.empty()) return {};
  Core core;
  for (const std::string& device : options.devices)
    core.get_versions(device);  // Throws, with the known ones, for an unknown device.
  return options.devices;
}

/// One run of tenon tune. @thread one
class Tuning {
 public:
  Tuning(const TuneOptions& options, std::string text)
      : options_(options), text_(std::move(text)), begin_(Clock::now()) {
    PipelineSpec file = read_pipeline(text_, options_.file);
    names_ = names_of(file);
    spec_ = named(std::move(file));
    for (const std::string& setting : options_.settings) apply_setting(spec_, setting);
    report_.file = options_.file;
    report_.goal = options_.goal == "fps" ? "frames per second" : "streams in real time";
    report_.machine = machine_text();
    report_.budget_s = options_.budget_s;
    report_.latency_bound_ms = options_.latency_ms;
  }

  TuneReport run() {
    base_ = prepared(spec_);
    try {
      choose_streams();
      measure_noise();
      search();
      confirm();
    } catch (const Error& error) {
      if (error.code() != Code::kCancelled || !Interrupt::requested()) throw;
      report_.interrupted = true;
      changes_.clear();  // They were not confirmed.
    }
    report_.seconds = ms_since(begin_) / 1e3;
    for (const Change& change : changes_) report_.changes.push_back(change.text());
    return report_;
  }
  /// The file's text with all that was taken; empty: nothing was.
  std::string result() const { return changes_.empty() ? std::string() : with_changes(text_, names_, changes_); }

 private:
  double left_s() const { return options_.budget_s - ms_since(begin_) / 1e3; }
  void tell(const std::string& line) const {
    if (!options_.quiet) fmt::print(stderr, "[{:4.0f} s left] {}\n", std::max(0.0, left_s()), line);
  }

  PipelineSpec prepared(const PipelineSpec& spec) {
    PipelineSpec made = repeatable(spec, scratch_.path(), false, report_.notes.empty() ? &report_.notes : nullptr);
    // Each trial makes the pipeline anew; models are compiled once for each setting.
    for (elements::NodeSpec& node : made.nodes) {
      const auto& known = description_of(node).parameters;
      const bool caches =
          std::any_of(known.begin(), known.end(), [](const auto& one) { return one.name == "cache_dir"; });
      if (caches && node.parameters["cache_dir"].empty()) node.parameters["cache_dir"] = cache_.path().string();
    }
    return made;
  }

  TrialResult trial(const PipelineSpec& spec) {
    const TrialResult result = run_trial(spec, options_.trial);
    scratch_.empty();
    return result;
  }
  Score score(const PipelineSpec& spec) {
    const TrialResult one = trial(spec);
    return {one.fps(), one.p99_ms, options_.latency_ms <= 0 || one.p99_ms <= options_.latency_ms, one.failure};
  }

  StreamsResult real_time(const PipelineSpec& spec, const char* what) {
    const PipelineSpec paced = repeatable(spec, scratch_.path(), true);
    StreamsOptions wanted;
    wanted.latency_ms = options_.latency_ms;
    return find_streams(
        wanted, [&](std::size_t streams) { return trial(with_streams(paced, streams)); },
        [&](const StreamsTrial& one) {
          tell(fmt::format("{}: {} streams {}", what, one.streams, one.keeps_up ? "keep up" : "do not keep up"));
        });
  }

  void choose_streams() {
    std::size_t sources = 0;
    for (const elements::NodeSpec& node : base_.nodes) sources += description_of(node).role == elements::Role::kSource;
    report_.streams = options_.streams > 0 ? options_.streams : sources;
    if (options_.goal == "streams") {
      const StreamsResult before = real_time(base_, "as it is");
      report_.streams_before = before.streams;
      // Changes are judged by frames per second with so many streams that the machine is full; streams are counted again at the end.
      if (options_.streams == 0) report_.streams = std::max<std::size_t>(1, before.streams + 1);
    }
    if (report_.streams != sources) base_ = with_streams(base_, report_.streams);
  }

  void measure_noise() {
    const TrialResult first = trial(base_);
    if (!first.failure.empty())
      throw Error(Code::kFailedPrecondition, options_.file + ": the pipeline does not run as it is: " + first.failure);
    tell(fmt::format("as it is: {:.1f} frames/s, p99 {:.1f} ms", first.fps(), first.p99_ms));
    std::vector<double> values{std::log(std::max(1e-9, first.fps()))};
    for (int i = 0; i < 2 && left_s() > 0; ++i) values.push_back(std::log(std::max(1e-9, trial(base_).fps())));
    double mean = 0, squares = 0;
    for (const double one : values) mean += one / static_cast<double>(values.size());
    for (const double one : values) squares += (one - mean) * (one - mean);
    report_.noise = values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) : 0;
    tell(fmt::format("noise of one measurement: {:.1f}%", 100 * report_.noise));
  }

  void search() {
    const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
    const double reserved = kForTheLast * options_.budget_s;
    const auto goes_on = [&] { return left_s() > reserved; };
    PipelineSpec best = base_;
    for (const Knob& knob : knobs_of(base_, devices_for(options_), processors)) {
      const std::string first = value_of(best, knob);
      for (const std::string& value : knob.values) {
        const std::string before = value_of(best, knob);
        if (value == before || value == first) continue;
        if (!goes_on()) {
          ++report_.untried;
          continue;
        }
        const Change change{knob.node, knob.parameter, value};
        PipelineSpec changed = best;
        apply(changed, change);
        TuneStep step{change.text(), before,
                      compare([&] { return score(best); }, [&] { return score(changed); }, options_.compare, goes_on)};
        tell(fmt::format("{} (was {}): {}{}", step.change, before,
                         step.comparison.new_values.empty() ? "" : fmt::format("{:.3f} times, ", step.comparison.ratio),
                         step.comparison.why));
        if (step.comparison.is_better) {
          best = std::move(changed);
          take(change);
        }
        report_.steps.push_back(std::move(step));
      }
    }
    best_ = std::move(best);
  }

  void take(const Change& change) {
    std::erase_if(changes_,
                  [&](const Change& one) { return one.node == change.node && one.parameter == change.parameter; });
    changes_.push_back(change);
  }

  /// The file beside the result, with fresh measurements: of many changes some look better by chance.
  void confirm() {
    if (changes_.empty()) return;
    CompareOptions last = options_.compare;
    last.rounds = std::max<std::size_t>(last.rounds, 6);
    last.rejects_early = false;  // What was found must not be lost by one bad pair.
    tell("all changes beside the file as it was");
    report_.last = compare([&] { return score(base_); }, [&] { return score(best_); }, last, [] { return true; });
    if (!report_.last->is_better) {
      report_.notes.push_back("all changes together are not better beyond noise, so none is kept");
      changes_.clear();
    } else if (options_.goal == "streams") {
      PipelineSpec tuned = spec_;
      for (const Change& change : changes_) apply(tuned, change);
      report_.streams_after = real_time(prepared(tuned), "tuned").streams;
      if (*report_.streams_after <= report_.streams_before.value_or(0))
        report_.notes.push_back("no more streams run in real time, though frames per second are more");
    }
  }

  const TuneOptions& options_;
  const std::string text_;
  const Deadline begin_;
  ScratchFolder scratch_, cache_;
  std::vector<std::string> names_;
  PipelineSpec spec_, base_, best_;  ///< As the file is; as it is measured; with all changes.
  std::vector<Change> changes_;
  TuneReport report_;
};

void tune(TuneOptions options) {
  ffmpeg::silence_log();
  if (options.in_place && !options.output.empty())
    throw Error(Code::kInvalidArgument, "give either --output or --in-place");
  CommandFiles files;
  if (!options.in_place) files.add_input(options.file, "the pipeline");
  OutputFile written(output_for(options), options.in_place ? "--in-place" : "--output", files),
      page(options.report, "--report", files);
  const Interrupt interrupt;
  std::string text = pipeline_text(options.file);
  const elements::PipelineSpec spec = read_pipeline(text, options.file);
  add_files(files, elements::plan_pipeline(spec));
  for (const elements::NodeSpec& node : spec.nodes)
    if (const auto device = node.parameters.find("device"); device != node.parameters.end())
      stand_in_for_npu(device->second);
  Tuning tuning(options, std::move(text));
  TuneReport report = tuning.run();
  if (const std::string result = tuning.result(); !result.empty()) {
    written.commit(result);
    report.written = output_for(options);
  }
  if (page) page.commit(report.to_html());
  fmt::print("{}", options.json ? report.to_json() : report.to_text());
  std::fflush(stdout);
  if (report.interrupted) throw CLI::RuntimeError(Interrupt::status());
}

}  // namespace

void add_tune(CLI::App& app) {
  auto* command = app.add_subcommand(
      "tune", "Find settings with which a pipeline file is faster on this machine, and write the better file");
  auto options = std::make_shared<TuneOptions>();
  command->add_option("file", options->file, "Pipeline, as docs/guide/pipelines.md describes it")
      ->type_name(kPipelineFile)
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("-o,--output", options->output, "The better file; NAME.tuned.json beside the input if not given")
      ->type_name(kOutputFile);
  command->add_flag("--in-place", options->in_place, "Write over the input; comments in it are lost");
  command
      ->add_option(
          "--goal", options->goal,
          "fps: frames per second of all streams, as fast as they go; streams: how many streams run in real time")
      ->check(CLI::IsMember({"fps", "streams"}))
      ->capture_default_str();
  command
      ->add_option("--latency", options->latency_ms,
                   "Most milliseconds from a source to a sink, for 99% of frames; 0: any")
      ->check(reals_between(0.0, 1e6))
      ->capture_default_str();
  command
      ->add_option("--streams", options->streams,
                   "Measure with so many streams (copies of the sources); 0: those of the file")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option(
          "--devices", options->devices,
          "Devices that models may be moved to, for example CPU,GPU,NPU; not given: each model stays where it is")
      ->delimiter(',');
  command
      ->add_option("--budget", options->budget_s,
                   "Seconds for the search; a comparison that has begun at their end is finished")
      ->check(reals_between(1.0, 1e6))
      ->capture_default_str();
  command->add_option("--window", options->trial.seconds, "Seconds of one measurement")
      ->check(reals_between(0.2, 3600.0))
      ->capture_default_str();
  command
      ->add_option("--warm-up", options->trial.warm_up_s,
                   "Seconds before each measurement, after all streams have begun")
      ->check(reals_between(0.0, 600.0))
      ->capture_default_str();
  command->add_option("--rounds", options->compare.rounds, "Pairs of measurements before a change is taken")
      ->check(CLI::Range(3, 12))
      ->capture_default_str();
  command->add_option("--set", options->settings, "NODE.PARAMETER=VALUE to use while measuring; not written")
      ->take_all();
  command->add_option("--report", options->report, "Write a page with a plot of all measurements")
      ->type_name(kOutputFile);
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("-q,--quiet", options->quiet, "No progress");
  command->footer(
      "\nWhat is tried: of models the device (with --devices), the streams and threads of the device, requests in "
      "flight and the batch; where\n"
      "converters (convert) and decoders work, and the decoders' threads; the length of queues. What frames mean is "
      "not touched, though another\n"
      "device or batch may round otherwise. Files begin again at their end; what sinks write goes to a temporary "
      "folder, and sinks that send\n"
      "elsewhere are replaced by null.\n"
      "\nA change is measured in pairs with what is best so far, by turns. It is taken after --rounds pairs if the 95% "
      "interval of the ratio is\n"
      "above 1 and it gains 2%; what looks no faster is given up early. At the end the file and the result are "
      "compared afresh: if the result is not\n"
      "better beyond noise, nothing is written.\n"
      "\nExamples:\n"
      "  tenon tune cameras.json                                  writes cameras.tuned.json, if there is something "
      "better\n"
      "  tenon tune cameras.json --latency 50 --report page.html  the most frames with 99% of them within 50 ms\n"
      "  tenon tune cameras.json --goal streams --budget 600\n"
      "  tenon tune cameras.json --devices CPU,GPU                also on which device each model runs\n"
      "  tenon bench cameras.json --streams                       how many streams run in real time\n");
  command->callback([options] { tune(*options); });
}

}  // namespace tenon::tool
