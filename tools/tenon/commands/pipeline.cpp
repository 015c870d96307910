// SPDX-License-Identifier: Apache-2.0
// tenon pipeline: runs the pipeline that a file describes, and shows what each of its elements does.
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>
#include <tenon/tools/tenon/show/live_text.hpp>
#include <tenon/tools/tenon/show/pipeline_report.hpp>
#include <tenon/tools/tenon/show/text_table.hpp>

namespace tenon::tool {
namespace {

using elements::PipelinePlan;
using elements::PipelineSpec;
using std::chrono::milliseconds;

constexpr auto kStopping = std::chrono::seconds(10);  ///< What is in flight gets that long after Ctrl-C.

struct PipelineOptions {
  std::string file, trace, metrics;
  std::vector<std::string> settings;
  std::uint64_t frames = 0;
  double duration_s = 0;
  bool json = false, dot = false, check = false, quiet = false;
};

std::string read_all(const std::string& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  const RegularFile known(file);  // Refuses what is none, with its reason.
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// "node.parameter=value". @errors kInvalidArgument: not of that form; kNotFound: no such node.
void apply_setting(PipelineSpec& spec, const std::string& setting) {
  const std::size_t equals = setting.find('='), dot = setting.rfind('.', equals);
  if (equals == std::string::npos || dot == std::string::npos || dot == 0 || dot + 1 == equals)
    throw Error(Code::kInvalidArgument, "--set \"" + setting + "\" is not NODE.PARAMETER=VALUE");
  const std::string node = setting.substr(0, dot);
  std::vector<std::string> names;
  for (elements::NodeSpec& one : spec.nodes) {
    if (one.name == node) {
      one.parameters[setting.substr(dot + 1, equals - dot - 1)] = setting.substr(equals + 1);
      return;
    }
    names.push_back(one.name);
  }
  const std::string nearest = elements::nearest_name(node, names);
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  throw Error(Code::kNotFound, "--set \"" + setting + "\": there is no node '" + node + "'; " +
                                   (nearest.empty() ? "there are: " + known : "did you mean '" + nearest + "'?"));
}

/// The file with the options, every node named.
PipelineSpec read_spec(const PipelineOptions& options) {
  PipelineSpec spec;
  try {
    spec = elements::parse_pipeline(read_all(options.file));
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument) throw;
    throw Error(error.code(), options.file + ": " + error.what());
  }
  const PipelinePlan plan = elements::plan_pipeline(spec);
  spec.nodes.clear();
  for (const PipelinePlan::Node& node : plan.nodes) spec.nodes.push_back(node.spec);
  for (const std::string& setting : options.settings) apply_setting(spec, setting);
  spec.frames = options.frames;
  return spec;
}

std::string words(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return text;
}

/// What would run. @errors as check_element()
void show_plan(const PipelinePlan& plan, bool json) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows{{"node", "element", "from", "streams", "queue"}};
  for (const PipelinePlan::Node& node : plan.nodes) {
    elements::check_element(description_of(node.spec), node.spec.parameters, {node.spec.name, nullptr});
    nodes.push_back({{"name", node.spec.name},
                     {"element", node.spec.element},
                     {"parameters", node.spec.parameters},
                     {"from", node.spec.from},
                     {"streams", node.streams},
                     {"own_thread", node.has_thread}});
    const bool has_queue = node.has_thread && !node.spec.from.empty();
    const std::size_t size = node.spec.queue.value_or(elements::QueueOptions{}).size;
    rows.push_back({node.spec.name, node.spec.element, words(node.spec.from), fmt::format("{}", node.streams.size()),
                    has_queue ? fmt::format("{}", size) : "-"});
  }
  if (json)
    fmt::print("{}\n", nlohmann::ordered_json{{"streams", plan.streams}, {"nodes", nodes}}.dump(2));
  else
    fmt::print("{}", text_table(rows));
}

Code code_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return known.code();
  } catch (...) {
    return Code::kInternal;
  }
}

/// What a stream died of. @errors that, naming the element, if one did
void report_failures(const PipelineReport& report) {
  const elements::Failure* first = nullptr;
  for (const elements::Failure& failure : report.failures) {
    if (failure.was_restarted || first) fmt::print(stderr, "tenon: {}\n", text_of(failure));
    if (!failure.was_restarted && !first) first = &failure;
  }
  if (first) throw Error(code_of(first->error), text_of(*first));
}

void write_metrics(const std::string& path, const PipelineReport& report) {
  const std::string text = report.to_prometheus();
  NewFile file(path, 0666, Durability::kProcess);
  file.write(text.data(), text.size());
  file.commit();
}

/// Until its end, the time limit or Ctrl-C. Calls `tick` ten times a second.
template <typename Tick>
void run_until_end(elements::Pipeline& pipeline, double duration_s, Tick tick) {
  const auto begin = Clock::now();
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(duration_s));
  pipeline.start();
  while (!pipeline.wait(Clock::now() + milliseconds(100))) {
    if (Interrupt::requested() || (duration_s > 0 && Clock::now() - begin >= limit)) break;
    tick();
  }
  pipeline.stop(Clock::now() + kStopping);
}

void run(const PipelineOptions& options) {
  const PipelineSpec spec = read_spec(options);
  if (options.dot || options.check) {
    const PipelinePlan plan = elements::plan_pipeline(spec);
    if (options.dot)
      fmt::print("{}", elements::to_dot(plan));
    else
      show_plan(plan, options.json);
    return;
  }
  CommandFiles files;
  if (options.file != "-") files.add_input(options.file, "the pipeline");
  OutputFile trace_file(options.trace, "--trace", files);
  if (!options.metrics.empty()) files.add_output(options.metrics, "--metrics");
  elements::Pipeline pipeline(spec);
  const Interrupt interrupt;
  if (trace_file) Trace::start();
  PipelineWatch watch(pipeline, "");
  LiveText live(options.quiet || options.json);
  auto next_metrics = Clock::now();
  run_until_end(pipeline, options.duration_s, [&] {
    watch.sample();
    live.update(*watch.latest());
    if (options.metrics.empty() || Clock::now() < next_metrics) return;
    next_metrics = Clock::now() + std::chrono::seconds(1);
    write_metrics(options.metrics, *watch.latest());
  });
  if (trace_file) Trace::stop();
  live.clear();
  watch.finish(Interrupt::requested());
  const auto report = watch.latest();
  fmt::print("{}", options.json ? report->to_json() : fmt::format("{:.1f} s\n{}", report->seconds, report->to_text()));
  std::fflush(stdout);
  if (!options.metrics.empty()) write_metrics(options.metrics, *report);
  if (trace_file) {
    Trace::write(trace_file.partial());
    trace_file.commit();
  }
  report_failures(*report);
  if (report->interrupted) throw CLI::RuntimeError(Interrupt::status());
}

}  // namespace

void add_pipeline(CLI::App& app) {
  auto* command = app.add_subcommand("pipeline", "Run the pipeline of elements that a file describes");
  auto options = std::make_shared<PipelineOptions>();
  command->add_option("file", options->file, "JSON, as docs/guide/pipelines.md describes it; - reads standard input")
      ->required();
  command->add_option("--set", options->settings, "NODE.PARAMETER=VALUE instead of the file's; again for more")
      ->take_all();
  command->add_option("--frames", options->frames, "Of each stream at most; 0: all");
  command->add_option("--duration", options->duration_s, "Stop after this many seconds; 0: at the end")
      ->check(CLI::Range(0.0, 1e9));
  command->add_flag("--check", options->check, "Only say what would run: names, joints and parameters are checked");
  command->add_flag("--dot", options->dot, "Only print the graph for Graphviz");
  command->add_flag("--json", options->json, "Print the report, or with --check the plan, as JSON");
  command->add_option("--trace", options->trace, "Write a Chrome trace: what each element does when");
  command->add_option("--metrics", options->metrics, "Write Prometheus' text to this file every second");
  command->add_flag("-q,--quiet", options->quiet, "No live view, only the report");
  command->callback([options] { run(*options); });
}

}  // namespace tenon::tool
