// SPDX-License-Identifier: Apache-2.0
// tenon bench: measures how fast a model runs on a device, how long it takes to start, and what it allocates while running.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/runtime/core.hpp>

#include <tenon/tools/tenon/commands/bench_streams.hpp>
#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/proof/allocation_count.hpp>
#include <tenon/tools/tenon/shared/clock.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/shared/known_device.hpp>
#include <tenon/tools/tenon/shared/load.hpp>
#include <tenon/tools/tenon/shared/model_options.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>
#include <tenon/tools/tenon/show/models/profile.hpp>
#include <tenon/tools/tenon/show/models/stage.hpp>
#include <tenon/tools/tenon/show/text/histogram.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

struct BenchOptions {
  std::string model, device = "CPU", hint = "throughput", trace;
  ModelOptions model_options;
  double seconds = 5;
  std::uint64_t requests = 0;
  int threads = 0;
  bool json = false, profile = false;
};

constexpr double kQuantiles[] = {0.5, 0.75, 0.9, 0.95, 0.99, 0.999};

struct Measured {
  std::vector<double> latency_ms;  ///< Sorted.
  double seconds = 0, compile_ms = 0, first_inference_ms = 0, read_ms = 0;
  std::uint64_t requests = 0, allocation_runs = 0;
  AllocationCounts allocations;
  std::optional<Profile> profile;
  double fps() const { return seconds > 0 ? static_cast<double>(latency_ms.size()) / seconds : 0; }
};

/// Peak memory of this process in MB; 0 if the system does not report it.
double peak_rss_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

AnyMap properties_of(const BenchOptions& options) {
  AnyMap properties{hint::performance_mode(options.hint == "latency" ? hint::PerformanceMode::LATENCY
                                                                     : hint::PerformanceMode::THROUGHPUT)};
  if (options.threads > 0) properties.insert(inference_num_threads(options.threads));
  for (const auto& [key, value] : properties_of(options.model_options)) properties[key] = value;
  return properties;
}

/// Runs again with every node measured. This is separate from the figures above, because measuring nodes slows inferences down.
Profile look_inside(Core& core, const std::shared_ptr<Model>& model, const BenchOptions& options,
                    const Measured& measured) {
  AnyMap properties = properties_of(options);
  properties[enable_profiling.name()] = Any(true);
  CompiledModel compiled = core.compile_model(model, options.device, properties);
  Load load(compiled, measured.requests);
  const auto room = Clock::now() + std::chrono::seconds(30);
  load.run(room, 2 * measured.requests, nullptr);  // Warm up.
  Profile profile(options.profile ? roof_of(core, compiled) : Roof());
  if (options.profile) {
    constexpr int kInferences = 20;
    const auto end = Clock::now() + std::chrono::seconds(10);
    for (int i = 0; i < kInferences && Clock::now() < end && !Interrupt::requested(); ++i) {
      load.first().infer();
      profile.add(load.first().get_profiling_info(), ExecutedSteps(compiled));
    }
  }
  if (!options.trace.empty()) {
    Trace::start();
    load.run(room, std::max<std::uint64_t>(10, 4 * measured.requests), nullptr);
    Trace::stop();
  }
  return profile;
}

Measured measure(const BenchOptions& options, CommandFiles& files) {
  Measured measured;
  Core core;
  check_device(core, options.device);
  auto begin = Clock::now();
  const auto model = read_model(core, files, options.model);
  measured.read_ms = ms_since(begin);
  reshape(*model, options.model_options);
  begin = Clock::now();
  CompiledModel compiled = core.compile_model(model, options.device, properties_of(options));
  measured.compile_ms = ms_since(begin);
  measured.requests = options.requests ? options.requests
                      : options.hint == "latency"
                          ? 1
                          : std::max<std::uint64_t>(1, compiled.get_property(optimal_number_of_infer_requests));
  Load load(compiled, measured.requests);
  begin = Clock::now();
  load.first().infer();
  measured.first_inference_ms = ms_since(begin);

  const Interrupt interrupt;
  const auto length = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  {
    const Stage stage(fmt::format("measuring for {:.1f} s", options.seconds));
    // Warm up first: caches, thread pools, clocks.
    load.run(Clock::now() + std::min<Clock::duration>(length / 5, std::chrono::seconds(1)), INT64_MAX / 2, nullptr);
    measured.latency_ms.reserve(4'000'000);
    begin = Clock::now();
    load.run(begin + length, INT64_MAX / 2, &measured.latency_ms);
    measured.seconds = ms_since(begin) / 1e3;
    std::sort(measured.latency_ms.begin(), measured.latency_ms.end());
  }
  if (can_count_allocations()) {
    start_counting_allocations();
    measured.allocation_runs =
        load.run(Clock::now() + length, std::max<std::uint64_t>(measured.requests * 4, 20), nullptr);
    measured.allocations = stop_counting_allocations();
  }
  if (options.profile || !options.trace.empty()) {
    const Stage stage("measuring each node");
    measured.profile = look_inside(core, model, options, measured);
  }
  return measured;
}

nlohmann::json json_of(const Measured& m, const BenchOptions& options, double own, double libraries) {
  using nlohmann::json;
  json quantiles, bands = json::array();
  for (const double q : kQuantiles) quantiles[fmt::format("p{:g}", q * 100)] = quantile(m.latency_ms, q);
  quantiles["min"] = m.latency_ms.front();
  quantiles["max"] = m.latency_ms.back();
  for (const Band& band : histogram(m.latency_ms))
    bands.push_back({{"from_ms", band.from}, {"to_ms", band.to}, {"count", band.count}});
  const bool counted = m.allocation_runs != 0;
  json all{{"model", options.model},
           {"device", options.device},
           {"hint", options.hint},
           {"requests", m.requests},
           {"inferences", m.latency_ms.size()},
           {"seconds", m.seconds},
           {"interrupted", Interrupt::requested()},
           {"latency_ms", quantiles},
           {"histogram", bands},
           {"fps", m.fps()},
           {"read_ms", m.read_ms},
           {"compile_ms", m.compile_ms},
           {"first_inference_ms", m.first_inference_ms},
           {"peak_rss_mb", peak_rss_mb()},
           {"allocations_per_inference",
            {{"own", counted ? json(own) : json(nullptr)}, {"libraries", counted ? json(libraries) : json(nullptr)}}}};
  if (options.profile) all["profile"] = m.profile->to_json();
  if (!options.trace.empty()) all["trace"] = options.trace;
  return all;
}

void bench(const BenchOptions& options) {
  if (options.model.empty())
    throw Error(Code::kInvalidArgument, "give --model to measure a model, or a pipeline file and --streams");
  CommandFiles files;
  OutputFile trace_file(options.trace, "--trace", files);
  const Measured m = measure(options, files);
  if (m.latency_ms.empty()) {
    std::fputs("tenon: bench was interrupted before the first inference ended\n", stderr);
    throw CLI::RuntimeError(Interrupt::requested() ? Interrupt::status() : 70);
  }
  if (trace_file) {
    Trace::write(trace_file.partial());
    trace_file.commit();
  }
  const double runs = static_cast<double>(std::max<std::uint64_t>(1, m.allocation_runs));
  const double own = static_cast<double>(m.allocations.own) / runs,
               libraries = static_cast<double>(m.allocations.libraries) / runs;
  if (options.json) {
    fmt::print("{}", json_text(json_of(m, options, own, libraries)));
    if (Interrupt::requested()) throw CLI::RuntimeError(Interrupt::status());
    return;
  }
  fmt::print("{} on {}, hint {}, {} request{} in flight\n", options.model, options.device, options.hint, m.requests,
             m.requests == 1 ? "" : "s");
  fmt::print("  read {:.1f} ms, compile {:.1f} ms, first inference {:.2f} ms, peak memory {:.0f} MB\n", m.read_ms,
             m.compile_ms, m.first_inference_ms, peak_rss_mb());
  fmt::print("  {} inferences in {:.1f} s: {:.1f} per second\n", m.latency_ms.size(), m.seconds, m.fps());
  fmt::print("  latency ms:");
  for (const double q : kQuantiles) fmt::print(" p{:g} {:.3f},", q * 100, quantile(m.latency_ms, q));
  fmt::print(" most {:.3f}\n", m.latency_ms.back());
  if (m.allocation_runs)
    fmt::print("  allocations per inference: {:.2f} by Tenon, {:.2f} by libraries\n", own, libraries);
  else
    fmt::print("  allocations were not counted: this build has another allocator\n");
  fmt::print("\n{}", histogram_text(m.latency_ms, "ms"));
  if (options.profile) fmt::print("\n{}", m.profile->to_text(20, terminal_width()));
  if (!options.trace.empty())
    fmt::print("\n{}: spans of requests and nodes, for chrome://tracing or ui.perfetto.dev\n", options.trace);
  if (!Interrupt::requested()) return;
  fmt::print("  interrupted: these are the inferences until then\n");
  std::fflush(stdout);
  throw CLI::RuntimeError(Interrupt::status());
}

void add_streams_options(CLI::App& command, BenchStreamsOptions& options) {
  command.add_option("file", options.file, "With --streams: a pipeline file")
      ->type_name(kPipelineFile)
      ->check(CLI::ExistingFile);
  command.add_flag("--streams", options.counts, "Find how many streams of the pipeline run in real time");
  command
      .add_option_function<double>(
          "--bad", [&options](double percent) { options.streams.bad_share = percent / 100; },
          "With --streams: percent of a stream's frames that may be late or missing; 1 if not given")
      ->check(reals_between(0.0, 100.0));
  command
      .add_option("--late", options.trial.late_ms,
                  "With --streams: milliseconds by which a late frame takes longer than the fastest")
      ->check(reals_between(1.0, 1e6))
      ->capture_default_str();
  command
      .add_option("--latency", options.streams.latency_ms,
                  "With --streams: most milliseconds from a source to a sink, for 99% of frames; 0: any")
      ->check(reals_between(0.0, 1e6))
      ->capture_default_str();
  command.add_option("--max-streams", options.streams.most, "With --streams: try no more than these")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--report", options.report, "With --streams: write a page with a plot")
      ->type_name(kOutputFile)
      ->needs("--streams");
}

}  // namespace

void add_bench(CLI::App& app) {
  auto* command = app.add_subcommand("bench",
                                     "Measure a model on a device: latency, throughput, start, memory, allocations, "
                                     "each operation; or how many streams "
                                     "of a pipeline run in real time");
  auto options = std::make_shared<BenchOptions>();
  auto streams = std::make_shared<BenchStreamsOptions>();
  command->add_option("-m,--model", options->model, "ONNX file, or the .xml of an OpenVINO IR")->type_name(kModelFile);
  command->add_option("-d,--device", options->device, "Device, as 'tenon devices' lists it")->capture_default_str();
  command->add_option("--seconds", options->seconds, "How long to measure; with --streams, each number of them")
      ->check(reals_between(0.1, 3600.0))
      ->capture_default_str();
  add_streams_options(*command, *streams);
  command
      ->add_option("--requests", options->requests,
                   "Inferences in flight; 0: the number that the device prefers, or 1 with --hint latency")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  command->add_option("--hint", options->hint, "Goal for the device")
      ->check(CLI::IsMember({"latency", "throughput"}))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads of the device; 0: all processors")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  add_shape_option(*command, options->model_options);
  add_setting_option(*command, options->model_options);
  command->add_flag("--profile", options->profile,
                    "Run again with each kernel measured: time, GB/s, GFLOP/s, share of the device's roof");
  command->add_option("--trace", options->trace, "Write some inferences as a Chrome trace: requests and nodes")
      ->type_name(kOutputFile);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "\nLatency is from the start of a request to its end, including the wait for a stream: with many requests in\n"
      "flight it is longer than one inference takes. --profile and --trace run after the measurement.\n"
      "\nThe roof of --profile is the least time in which the device could move a kernel's bytes and compute its\n"
      "multiply-adds, from rates that it measures itself first (the GPU does; others show none). A share far below\n"
      "100% says that neither memory nor arithmetic is what the kernel waits for.\n"
      "\nWith a pipeline file and --streams, its sources give frames at the pace of their times, in as many copies as "
      "it\n"
      "takes: the number is doubled, then halved. One keeps up if no stream has more than --bad percent of its frames "
      "late\n"
      "or missing in the window; the answer has kept up twice.\n"
      "\nExamples:\n"
      "  tenon bench -m model.onnx                               inferences per second\n"
      "  tenon bench -m model.onnx --hint latency --profile      one at a time, and where the time goes\n"
      "  tenon bench -m model.onnx -d GPU --profile               how near each kernel comes to the roof\n"
      "  tenon bench -m model.onnx --trace trace.json            open it at ui.perfetto.dev\n"
      "  tenon bench -m model.onnx --shape \"x[8,3,224,224]\" --set NUM_STREAMS=2\n"
      "  tenon bench cameras.json --streams --seconds 10         how many cameras this machine takes\n");
  command->callback([options, streams] {
    const bool counts = streams->counts;
    if (counts != !streams->file.empty() || (counts && !options->model.empty()))
      throw Error(Code::kInvalidArgument, "--streams is for a pipeline file: tenon bench FILE --streams");
    if (!counts) return bench(*options);
    streams->trial.seconds = options->seconds;
    streams->json = options->json;
    streams->settings = options->model_options.settings;
    bench_streams(*streams);
  });
}

}  // namespace tenon::tool
