// SPDX-License-Identifier: Apache-2.0
// Finds how many streams of a pipeline run in real time.
#include <tenon/tools/tenon/commands/bench_streams.hpp>

#include <cstdio>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/output_file.hpp>
#include <tenon/tools/tenon/shared/pipeline_file.hpp>
#include <tenon/tools/tenon/shared/software_npu.hpp>
#include <tenon/tools/tenon/show/reports/tune_report.hpp>

namespace tenon::tool {

void bench_streams(const BenchStreamsOptions& options) {
  ffmpeg::silence_log();
  CommandFiles files;
  files.add_input(options.file, "the pipeline");
  OutputFile page(options.report, "--report", files);
  elements::PipelineSpec spec = named(read_pipeline(options.file));
  for (const std::string& setting : options.settings) apply_setting(spec, setting);
  add_files(files, elements::plan_pipeline(spec));
  for (const elements::NodeSpec& node : spec.nodes)
    if (const auto device = node.parameters.find("device"); device != node.parameters.end())
      stand_in_for_npu(device->second);
  const ScratchFolder scratch;
  StreamsReport report;
  report.file = options.file;
  report.machine = machine_text();
  report.options = options.streams;
  report.seconds = options.trial.seconds;
  report.late_ms = options.trial.late_ms;
  const elements::PipelineSpec paced = repeatable(spec, scratch.path(), true, &report.notes);
  const Interrupt interrupt;
  try {
    report.result = find_streams(
        options.streams,
        [&](std::size_t streams) {
          TrialResult result = run_trial(with_streams(paced, streams), options.trial);
          scratch.empty();
          return result;
        },
        [](const StreamsTrial& trial) {
          fmt::print(stderr, "{} streams: {:.1f}% late or missing, p99 {:.1f} ms: {}\n", trial.streams,
                     100 * trial.result.worst_share(), trial.result.p99_ms,
                     trial.keeps_up                 ? "keeps up"
                     : trial.result.failure.empty() ? "does not keep up"
                                                    : trial.result.failure);
        });
  } catch (const Error& error) {
    if (error.code() != Code::kCancelled || !Interrupt::requested()) throw;
    throw CLI::RuntimeError(Interrupt::status());
  }
  if (const auto& first = report.result.trials.front().result; !first.failure.empty())
    throw Error(Code::kFailedPrecondition,
                options.file + ": the pipeline does not run with one stream: " + first.failure);
  if (page) page.commit(report.to_html());
  fmt::print("{}", options.json ? report.to_json() : report.to_text());
  std::fflush(stdout);
}

}  // namespace tenon::tool
