// SPDX-License-Identifier: Apache-2.0
// tenon pipeline: runs the pipeline that a file describes, and shows what each of its elements does.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/core/credentials.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/followed_sources.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>
#include <tenon/tools/tenon/shared/pipeline_file.hpp>
#include <tenon/tools/tenon/shared/software_npu.hpp>
#include <tenon/tools/tenon/shared/web_server.hpp>
#include <tenon/tools/tenon/show/pictures/preview.hpp>
#include <tenon/tools/tenon/show/pipelines/live_text.hpp>
#include <tenon/tools/tenon/show/pipelines/pipeline_control.hpp>
#include <tenon/tools/tenon/show/pipelines/pipeline_page.hpp>
#include <tenon/tools/tenon/show/pipelines/pipeline_report.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

using elements::PipelinePlan;
using elements::PipelineSpec;
using std::chrono::milliseconds;

constexpr auto kStopping = std::chrono::seconds(10);  ///< The time that frames in flight get after Ctrl-C.

struct PipelineOptions {
  std::string file, trace, metrics, report_html, web_host = "127.0.0.1", sources;
  int web_port = -1;  ///< -1: none.
  std::vector<std::string> settings;
  std::uint64_t frames = 0;
  double duration_s = 0;
  bool json = false, dot = false, check = false, quiet = false, follow = false;
};

constexpr std::uint32_t kFollowedSources = 64;  ///< The room for sources that come, where the file does not say it.

/// The pipeline of the file with the options applied, and a name for every node.
/// @param is_again  The file is followed: nodes that options name may have left it.
PipelineSpec read_spec(const PipelineOptions& options, bool is_again = false) {
  PipelineSpec spec = named(read_pipeline(options.file));
  for (const std::string& setting : options.settings) {
    try {
      apply_setting(spec, setting);
    } catch (const Error& error) {
      if (!is_again || error.code() != Code::kNotFound) throw;
    }
  }
  spec.frames = options.frames;
  return spec;
}

std::string words(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return text;
}

std::map<std::string, std::string> shown_parameters(std::map<std::string, std::string> parameters) {
  for (auto& [name, value] : parameters) value = shown_value(name, value);
  return parameters;
}

/// Prints what would run. @errors as check_element()
void show_plan(const PipelinePlan& plan, bool json) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows{{"node", "element", "from", "streams", "queue"}};
  for (const PipelinePlan::Node& node : plan.nodes) {
    elements::check_element(description_of(node.spec), node.spec.parameters, {node.spec.name, nullptr});
    nodes.push_back({{"name", node.spec.name},
                     {"element", node.spec.element},
                     {"parameters", shown_parameters(node.spec.parameters)},
                     {"from", node.spec.from},
                     {"streams", node.streams},
                     {"own_thread", node.has_thread}});
    const bool has_queue = node.has_thread && !node.spec.from.empty();
    const std::size_t size = node.spec.queue.value_or(elements::QueueOptions{}).size;
    rows.push_back({node.spec.name, node.spec.element, words(node.spec.from), fmt::format("{}", node.streams.size()),
                    has_queue ? fmt::format("{}", size) : "-"});
  }
  if (json)
    fmt::print("{}", json_text(nlohmann::ordered_json{{"streams", plan.streams}, {"nodes", nodes}}));
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

void tell(const elements::Failure& failure) { fmt::print(stderr, "tenon: {}\n", text_of(failure)); }

/// Reports the failures of streams. @param told  The number of failures that were reported before.
/// @errors The first failure that ended a stream; the message names the element.
void report_failures(const PipelineReport& report, std::size_t told) {
  const elements::Failure* first = nullptr;
  for (std::size_t i = 0; i < report.failures.size(); ++i) {
    const elements::Failure& failure = report.failures[i];
    if (i >= told && (failure.was_restarted || first)) tell(failure);
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

/// Waits for the pipeline's end, the time limit or Ctrl-C. Calls `tick` ten times a second. @return whether all that was in flight was
/// finished.
template <typename Tick>
bool run_until_end(elements::Pipeline& pipeline, double duration_s, Tick tick) {
  const auto begin = Clock::now();
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(duration_s));
  pipeline.start();
  while (!pipeline.wait(Clock::now() + milliseconds(100))) {
    if (Interrupt::requested() || (duration_s > 0 && Clock::now() - begin >= limit)) break;
    tick();
  }
  const auto deadline = Clock::now() + kStopping;
  pipeline.stop(deadline);
  return Clock::now() < deadline;
}

/// The port that --metrics names; nothing if it names a file. @errors CLI::ValidationError: a number that is no port
std::optional<int> metrics_port(const std::string& text) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  if (text.size() > 5 || std::stoi(text) > 65535)
    throw CLI::ValidationError("--metrics", text + " is no port: those go to 65535; ./" + text + " is a file");
  return std::stoi(text);
}

/// Whether a node writes its results to standard output, which the tool then leaves to it: lines that go into no file, and to no broker.
bool uses_stdout(const PipelineSpec& spec) {
  return std::any_of(spec.nodes.begin(), spec.nodes.end(), [](const elements::NodeSpec& node) {
    const auto method = node.parameters.find("method");
    const bool writes_lines = node.element == "json" || (node.element == "publish" &&
                                                         (method == node.parameters.end() || method->second == "file"));
    return writes_lines &&
           elements::element_files(description_of(node), node.parameters, {node.name, nullptr}).written.empty();
  });
}

/// Shows the pipeline while it runs: in the terminal, by HTTP, in a file.
class Watchers {
 public:
  /// @param tells_failures  Report failures at once, since other streams go on.
  Watchers(const PipelineOptions& options, elements::Pipeline& pipeline, Previews& previews, std::FILE* out,
           bool tells_failures)
      : watch_(pipeline, kPreviewElement), live_(options.quiet || options.json, out), tells_failures_(tells_failures) {
    // A scraper's configuration needs a token that stays.
    const char* const given = std::getenv("TENON_WEB_TOKEN");
    const std::string token = given && *given ? given : random_token();
    if (options.web_port >= 0) {
      web_.emplace(options.web_host, options.web_port, token);
      serve_pipeline(*web_, watch_, previews);
      serve_sources(*web_, pipeline);
      web_->start();
      fmt::print(stderr, "http://{}:{}/?token={}\n", options.web_host, web_->port(), token);
    }
    if (const auto port = metrics_port(options.metrics)) {
      metrics_.emplace("127.0.0.1", *port, token);
      metrics_->on("/metrics", [this](const std::string&) {
        return WebAnswer{200, "text/plain; version=0.0.4; charset=utf-8", watch_.latest()->to_prometheus()};
      });
      metrics_->start();
      fmt::print(stderr, "http://127.0.0.1:{}/metrics?token={}\n", metrics_->port(), token);
    } else {
      metrics_file_ = options.metrics;
    }
  }

  void tick() {
    watch_.sample();
    tell_failures(watch_.latest()->failures);
    live_.update(*watch_.latest());
    if (metrics_file_.empty() || Clock::now() < next_metrics_) return;
    next_metrics_ = Clock::now() + std::chrono::seconds(1);
    write_metrics_file();
  }

  std::shared_ptr<const PipelineReport> finish() {
    live_.clear();
    watch_.finish(Interrupt::requested());
    if (!metrics_file_.empty()) write_metrics_file();
    return watch_.latest();
  }
  /// After finish(). @errors what kept the last metrics out of their file
  void check_metrics() const {
    if (metrics_failure_) std::rethrow_exception(metrics_failure_);
  }

  std::size_t told() const { return told_; }
  /// A line about what happens, above the live view.
  void say(const std::string& text) {
    live_.clear();
    fmt::print(stderr, "tenon: {}\n", without_credentials(text));
  }

 private:
  void tell_failures(const std::vector<elements::Failure>& failures) {
    if (!tells_failures_ || told_ == failures.size()) return;
    live_.clear();
    while (told_ < failures.size()) tell(failures[told_++]);
  }

  /// A full disk ends no pipeline that it only shows: that is told once, and the file is written again when there is room.
  void write_metrics_file() {
    try {
      write_metrics(metrics_file_, *watch_.latest());
      metrics_failure_ = nullptr;
    } catch (const Error& error) {
      if (!metrics_failure_) say(error.what());
      metrics_failure_ = std::current_exception();
    }
  }

  PipelineWatch watch_;
  LiveText live_;
  const bool tells_failures_;
  std::size_t told_ = 0;
  std::optional<WebServer> web_, metrics_;  // Declared after what they show, so that they end first.
  std::string metrics_file_;
  std::exception_ptr metrics_failure_;
  Deadline next_metrics_{};
};

void run(const PipelineOptions& options) {
  ffmpeg::silence_log();  // Tenon reports the errors itself.
  PipelineSpec spec = read_spec(options);
  spec.files = std::make_shared<CommandFiles>();
  CommandFiles& files = *spec.files;
  if (options.file != "-") files.add_input(options.file, "the pipeline");
  if (options.dot || options.check) {
    const PipelinePlan plan = elements::plan_pipeline(spec);
    add_files(files, plan);
    if (options.dot)
      fmt::print("{}", elements::to_dot(plan));
    else
      show_plan(plan, options.json);
    return;
  }
  for (const elements::NodeSpec& node : spec.nodes)
    if (const auto device = node.parameters.find("device"); device != node.parameters.end())
      stand_in_for_npu(device->second);
  add_followed_files(files, options.sources);
  OutputFile trace_file(options.trace, "--trace", files), page_file(options.report_html, "--report-html", files);
  if (!options.metrics.empty() && !metrics_port(options.metrics)) add_output(options.metrics, "--metrics", files);
  std::FILE* const out = uses_stdout(spec) ? stderr : stdout;
  const PipelineSpec as_read = spec;  // Without the previews.
  const auto previews = std::make_shared<Previews>(static_cast<bool>(page_file));
  if (page_file || options.web_port >= 0) add_previews(spec, previews);
  const bool follows = options.follow || !options.sources.empty();
  if (follows && spec.more_sources == 0) spec.more_sources = kFollowedSources;
  elements::Pipeline pipeline(spec);
  const Interrupt interrupt;
  if (trace_file) Trace::start();
  // With sources that come and go, a failure is told when it happens, as the pipeline goes on.
  Watchers watchers(options, pipeline, *previews, out,
                    spec.on_error != elements::OnError::kStop || spec.more_sources > 0);
  std::vector<FollowedSources> followed;
  const auto say = [&](const std::string& text) { watchers.say(text); };
  if (options.follow) {
    // What runs is what was read, whatever the file has become since.
    const auto running = sources_of_file([&] { return as_read; }, as_read)();
    followed.emplace_back(pipeline, sources_of_file([&] { return read_spec(options, true); }, as_read), running, say);
  }
  if (!options.sources.empty())
    followed.emplace_back(pipeline, sources_of_list(options.sources, as_read), std::map<std::string, WantedSource>(),
                          say);
  const bool is_whole = run_until_end(pipeline, options.duration_s, [&] {
    watchers.tick();
    for (FollowedSources& one : followed) one.tick();
  });
  if (trace_file) Trace::stop();
  const auto report = watchers.finish();
  fmt::print(out, "{}",
             options.json ? report->to_json() : fmt::format("{:.1f} s\n{}", report->seconds, report->to_text()));
  std::fflush(out);
  if (page_file) page_file.commit(page_of(*report, *previews));
  if (trace_file) {
    Trace::write(trace_file.partial());
    trace_file.commit();
  }
  report_failures(*report, watchers.told());
  watchers.check_metrics();
  if (!is_whole) {
    const std::string text = fmt::format(
        "what was in flight did not end within {} s of the stop and was dropped: files that were being written end "
        "with what was written by then; shorter queues before slow elements help",
        kStopping.count());
    if (!report->interrupted) throw Error(Code::kDeadlineExceeded, text);
    fmt::print(stderr, "tenon: {}\n", text);
  }
  if (report->interrupted) throw CLI::RuntimeError(Interrupt::status());
}

}  // namespace

void add_pipeline(CLI::App& app) {
  auto* command = app.add_subcommand("pipeline", "Run the pipeline of elements that a file describes");
  auto options = std::make_shared<PipelineOptions>();
  command->add_option("file", options->file, "JSON, as docs/guide/pipelines.md describes it; - reads standard input")
      ->type_name(kPipelineFile)
      ->required();
  command
      ->add_option("--set", options->settings,
                   "NODE.PARAMETER=VALUE to use instead of the file's value; may be given several times")
      ->take_all();
  command->add_option("--frames,--max-frames", options->frames, "Maximum number of frames of each stream; 0: all")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--duration", options->duration_s, "Stop after this many seconds; 0: run to the end")
      ->check(reals_between(0.0, 1e9));
  command->add_flag("--check", options->check,
                    "Only check names, connections and parameters, and print what would run");
  command->add_flag("--dot", options->dot, "Only print the graph for Graphviz");
  command->add_flag("--json", options->json, "Print the report, or with --check the plan, as JSON");
  command->add_option("--trace", options->trace, "Write a Chrome trace of what each element does at which time")
      ->type_name(kOutputFile);
  command
      ->add_option("--metrics", options->metrics,
                   "Metrics in Prometheus' text format; PORT: serve them there, for this machine, at the address "
                   "that is printed; FILE: write "
                   "them every second")
      ->type_name(kOutputFile);
  command->add_option("--web", options->web_port, "Show the pipeline on a web page at this port; 0: any free port")
      ->check(CLI::Range(0, 65535));
  command
      ->add_option("--web-host", options->web_host,
                   "Address to serve the page at; 0.0.0.0: all networks of this machine")
      ->capture_default_str();
  command->add_option("--report-html", options->report_html, "Write the web page at the end, as one file")
      ->type_name(kOutputFile);
  auto* follow = command->add_flag("--follow", options->follow,
                                   "Watch the file: sources that it gets or loses are added and removed while the "
                                   "pipeline runs");
  command
      ->add_option("--sources", options->sources,
                   "Playlist or folder to watch: each entry is a source like the first one of the file, with that path")
      ->type_name(kPictureFolder);
  follow->excludes(command->get_option("--dot"));
  command->add_flag("-q,--quiet", options->quiet, "No live view, only the report");
  command->callback([options] { run(*options); });
}

}  // namespace tenon::tool
