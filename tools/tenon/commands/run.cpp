// SPDX-License-Identifier: Apache-2.0
// tenon run: runs a model on videos, and proves what was copied on the way.
#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/knowledge/model_info.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/vision/decode.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/commands/run_stream.hpp>
#include <tenon/tools/tenon/shared/clock.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/known_device.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/shared/packet_log.hpp>
#include <tenon/tools/tenon/show/text/progress.hpp>

namespace tenon::tool {
namespace {

bool keeps_state(const Model& model) {
  const NodeVector nodes = model.get_ordered_ops();
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return is_op(node, "ReadValue"); });
}

/// Requests in flight for each input: one if the model keeps state between frames, since one request must see all frames in
/// order. The inputs share the number that the device prefers.
/// @errors kInvalidArgument: several were requested for a model that keeps state.
std::uint64_t requests_for(const RunOptions& options, const Model& model, const CompiledModel& compiled) {
  if (keeps_state(model)) {
    if (options.requests > 1)
      throw Error(Code::kInvalidArgument,
                  fmt::format("--requests {}: \"{}\" keeps state from frame to frame, and each request has its own; "
                              "only one can see every frame",
                              options.requests, options.model));
    return 1;
  }
  if (options.requests) return options.requests;
  const std::uint64_t optimal = compiled.get_property(optimal_number_of_infer_requests);
  return std::max<std::uint64_t>(2, (optimal + options.inputs.size() - 1) / options.inputs.size());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Runs the same frames both ways by turns, so that other load on the machine affects both alike.
Comparison compare(const RunOptions& options, CompiledModel& compiled, Ledger& inference, std::size_t requests,
                   std::uint64_t frames, bool live) {
  Comparison result;
  if (live) {
    result.why_not = "a camera or stream cannot be played twice";
    return result;
  }
  constexpr std::uint64_t kBlocks = 4;
  result.frames_per_block = std::min<std::uint64_t>(40, frames / kBlocks);
  if (result.frames_per_block == 0) {
    result.why_not = "too few frames to compare";
    return result;
  }
  Ledger plain, forced;
  const std::unique_ptr<FrameSource> sources[2] = {open_input(options, options.inputs[0], plain),
                                                   open_input(options, options.inputs[0], forced)};
  for (const auto& source : sources) source->use_pool(readers_of(options, compiled), requests);
  Feed feeds[2] = {Feed(*sources[0], 0, std::chrono::seconds(10)), Feed(*sources[1], 0, std::chrono::seconds(10))};
  feeds[1].force_copy(forced);
  Pipeline pipeline(compiled, requests);
  Progress progress(options.quiet, 2 * kBlocks * result.frames_per_block);
  std::vector<double> times[2];
  std::uint64_t copied_before = 0, forced_frames = 0, forced_bytes = 0;
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    for (int turn = 0; turn < 2; ++turn) {
      // The order alternates, because data that the first way leaves in the caches helps the second.
      const int way = block % 2 ? 1 - turn : turn;
      const std::uint64_t before = feeds[way].frames();
      copied_before = inference.total().copied;
      feeds[way].allow(result.frames_per_block);
      const auto begin = Clock::now();
      pipeline.run(feeds[way], [&](const Frame&, InferRequest&) {
        progress.update(pipeline.frames(),
                        [&] { return std::string(way ? "with a forced copy" : "in place, for comparison"); });
      });
      const std::uint64_t count = feeds[way].frames() - before;
      if (pipeline.failure() || Interrupt::requested() || count == 0) {
        result.why_not = "the comparison was cut short";
        return result;
      }
      times[way].push_back(ms_since(begin) / static_cast<double>(count));
      if (way == 1) {
        forced_frames += count;
        forced_bytes += inference.total().copied - copied_before;
      }
    }
  }
  result.blocks = kBlocks;
  result.zero_copy_ms = median(times[0]);
  result.forced_ms = median(times[1]);
  result.copied_per_frame =
      static_cast<double>(forced.total().copied + forced_bytes) / static_cast<double>(forced_frames);
  return result;
}

/// Runs all inputs at once, each in a thread of its own. An exception ends only the input of its thread.
void run_all(std::vector<std::unique_ptr<Stream>>& streams, Progress& progress) {
  std::mutex mutex;
  std::uint64_t frames = 0;
  const auto seen = [&](const Stream& stream) {
    const std::lock_guard lock(mutex);
    progress.update(++frames, [&] { return stream.note(); });
  };
  if (streams.size() == 1) return streams[0]->run([&] { seen(*streams[0]); });
  std::vector<std::thread> threads;
  for (const auto& stream : streams) {
    threads.emplace_back([&seen, &stream = *stream] {
      try {
        stream.run([&] { seen(stream); });
      } catch (...) {
        stream.fail(std::current_exception());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Refuses options that make sense for a single input only, if there are several.
void check_several(const RunOptions& options) {
  if (options.inputs.size() == 1) return;
  for (const auto& [option, value] : {std::pair("--save", &options.save), std::pair("--snapshot", &options.snapshot),
                                      std::pair("--ground-truth", &options.ground_truth)})
    if (!value->empty())
      throw Error(Code::kInvalidArgument, fmt::format("{} is for one input, and there are {}: run them one by one",
                                                      option, options.inputs.size()));
}

/// The name of the device's hardware; empty if the device does not say.
std::string full_name(Core& core, const std::string& device) {
  try {
    return core.get_property(device, device::full_name);
  } catch (const std::exception&) {
    return "";
  }
}

/// Compiles the model for frames like those of the first input. Other frames are planned when they come.
CompiledModel compile(Core& core, const std::shared_ptr<const Model>& model, const RunOptions& options,
                      const FrameInfo& info) {
  AnyMap properties{input_frames(info), zero_copy(Any(options.policy).as<ZeroCopy>()),
                    hint::performance_mode(hint::PerformanceMode::THROUGHPUT)};
  for (const auto& [key, value] : properties_of(options.settings)) properties[key] = value;
  // A trace shows the nodes of each inference, so the device has to measure them.
  if (!options.trace.empty()) properties[enable_profiling.name()] = Any(true);
  return core.compile_model(model, options.device, properties);
}

std::uint64_t replans_of(const Ledger& ledger) {
  std::uint64_t replans = 0;
  for (const LedgerEntry& entry : ledger.snapshot())
    if (entry.name == "input stage re-plan") replans += entry.maps;
  return replans;
}

/// Prints and writes the report. @param seconds  The duration of all inputs together.
void publish(const std::vector<std::unique_ptr<Stream>>& streams, double seconds, OutputFile& file) {
  std::vector<const RunReport*> reports;
  bool keeps = false;
  for (const auto& stream : streams) {
    reports.push_back(&stream->report());
    keeps |= stream->keeps();
    fmt::print("{}", stream->report().to_text());
  }
  if (reports.size() > 1) fmt::print("\n{}", text_of_all(reports, seconds));
  std::fflush(stdout);
  if (keeps) file.commit(reports.size() == 1 ? reports[0]->to_json() : json_of_all(reports, seconds));
}

/// What a user may give as --model-type.
std::string proposals(const Model& model) {
  std::string text;
  for (const std::string& name : vision::fitting_decoders(model))
    text += (text.empty() ? ": its outputs fit " : ", ") + name;
  return text;
}

void run(const RunOptions& options) {
  watch_packets();
  check_several(options);
  CommandFiles files;
  for (const std::string& input : options.inputs) files.add_input(input, "the video");
  files.add_input(options.ground_truth, "--ground-truth");
  files.add_input(options.settings.side_file, "--side-file");
  OutputFile report_file(options.report, "--report", files);
  OutputFile trace_file(options.trace, "--trace", files);
  Core core;
  check_device(core, options.device);
  const auto model = read_model(core, files, options.model);
  describe(*model, options.settings);
  for (const std::string& remark : ModelInfo(*model).remarks()) fmt::print(stderr, "tenon: {}\n", remark);
  std::vector<std::unique_ptr<Stream>> streams;
  for (const std::string& input : options.inputs)
    streams.push_back(std::make_unique<Stream>(options, input, files, model));
  if (!options.quiet && !streams[0]->decodes()) {
    fmt::print(
        "the model does not say what its outputs mean (model_type), so it runs without detections; give "
        "--model-type{}\n",
        proposals(*model));
  }

  const auto compile_begin = Clock::now();
  CompiledModel compiled = compile(core, model, options, streams[0]->info());
  const double compile_ms = ms_since(compile_begin);
  const std::string device = chosen_device(compiled, options.device), device_name = full_name(core, device);
  const std::uint64_t requests = requests_for(options, *model, compiled);
  std::optional<std::uint64_t> total = 0;
  for (const auto& stream : streams) {
    stream->prepare(compiled, requests);
    const auto expected = stream->frames_expected();
    total = total && expected ? std::optional(*total + *expected) : std::nullopt;
  }

  const Interrupt interrupt;
  if (trace_file) Trace::start();
  Progress progress(options.quiet, total);
  const auto begin = Clock::now();
  run_all(streams, progress);
  const double seconds = ms_since(begin) / 1e3;
  progress.clear();
  if (trace_file) Trace::stop();

  const std::uint64_t replans = replans_of(core.ledger());
  std::exception_ptr failure;
  for (const auto& stream : streams) {
    RunReport& report = stream->report();
    report.device_name = device_name;
    report.compile_ms = compile_ms;
    report.replans = replans;
    const InputStageSpec spec = make_spec(options_from(*model, report.info));
    report.converted_to = static_cast<double>(checked_size_bytes(spec.type, spec.target_shape()).value_or(0));
    stream->close(device, streams.size() == 1 ? &core.ledger() : nullptr);
    if (!failure) failure = stream->failure();
    if (streams.size() == 1 && !options.no_compare && !failure && !report.interrupted)
      report.comparison = compare(options, compiled, core.ledger(), requests, report.frames, stream->live());
  }
  for (const auto& stream : streams) stream->conclude(compiled, *model);
  publish(streams, seconds, report_file);
  if (trace_file) {
    Trace::write(trace_file.partial());
    trace_file.commit();
  }
  if (failure) std::rethrow_exception(failure);
  if (Interrupt::requested()) throw CLI::RuntimeError(Interrupt::status());
}

/// Parses a pixel format. @errors CLI::ValidationError, which lists the known formats.
PixelFormat format_called(const std::string& text) {
  if (const auto format = format_from_name(text)) return *format;
  std::size_t count = 0;
  const PixelFormatInfo* const known = all_formats(count);
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += " " + std::string(known[i].name);
  throw CLI::ValidationError("--format", "\"" + text + "\" is not a pixel format; there are:" + all);
}

}  // namespace

void add_run(CLI::App& app) {
  auto* command =
      app.add_subcommand("run", "Run a model on videos, cameras or streams, and show what was copied on the way");
  auto options = std::make_shared<RunOptions>();
  command
      ->add_option("input,-i,--input", options->inputs,
                   "Video file, /dev/video0, a URL (rtsp://, http://, ...), or a GStreamer launch line "
                   "(\"videotestsrc ! video/x-raw,format=NV12\"). Several run side by side through one model")
      ->type_name(kMediaFile)
      ->required();
  command->add_option_function<std::string>(
      "--size",
      [options](const std::string& text) {
        const auto [width_px, height_px] = picture_size(text);
        options->source.width_px = width_px;
        options->source.height_px = height_px;
      },
      "For cameras: size of the pictures (1280x720)");
  command->add_option("--fps", options->source.fps, "For cameras: pictures per second")->check(reals_between(0.1, 1e4));
  command->add_option_function<std::string>(
      "--format", [options](const std::string& text) { options->source.format = format_called(text); },
      "For cameras: pixel format of the pictures (nv12, yuy2, rgb24...)");
  command
      ->add_option("--decode", options->decode,
                   "Decode on the CPU, or by a VA-API driver (va), whose surfaces are read in place")
      ->check(CLI::IsMember({"cpu", "va"}))
      ->capture_default_str();
  command->add_option("--va-node", options->va_node, "With --decode va: DRM render node of the driver")
      ->capture_default_str();
  command
      ->add_option(
          "--transport", options->transport,
          "Transport of rtsp streams: tcp, udp, http; auto: TCP if the server offers it. A launch line sets it "
          "itself (rtspsrc protocols=udp)")
      ->check(CLI::IsMember({"auto", "tcp", "udp", "http"}))
      ->capture_default_str();
  command->add_option("-m,--model", options->model, "ONNX file, or the .xml of an OpenVINO IR")
      ->type_name(kModelFile)
      ->required();
  command->add_option("-d,--device", options->device, "Device, as 'tenon devices' lists it")->capture_default_str();
  command->add_option("--save", options->save, "Write the video with the detections drawn on it")
      ->type_name(kOutputFile);
  command->add_option("--snapshot", options->snapshot, "Write the picture with the most confident detections as PNG")
      ->type_name(kOutputFile);
  command->add_option("--report", options->report, "Write the report as JSON")->type_name(kOutputFile);
  command
      ->add_option("--ground-truth", options->ground_truth, "JSON file with the objects in the video, to measure mAP")
      ->type_name(kTruthFile);
  command
      ->add_option("--zero-copy", options->policy,
                   "require: a copy is an error; prefer: copies are avoided and booked; allow: the cheapest way")
      ->check(CLI::IsMember({"require", "prefer", "allow"}))
      ->capture_default_str();
  command->add_option("--max-frames,--frames", options->max_frames, "Maximum number of frames of each input; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--requests", options->requests,
                   "Inferences in flight for each input; 0: the number that the device prefers, or one for a model "
                   "that keeps state")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  command->add_option("--confidence", options->confidence, "Minimum score of a detection, instead of the model's own")
      ->check(reals_between(0.0, 1.0));
  command
      ->add_option("--iou", options->iou,
                   "Overlap (IoU) above which boxes count as one object, instead of the model's own")
      ->check(reals_between(0.0, 1.0));
  command
      ->add_option("--timeout", options->timeout_s,
                   "Give up on a camera or stream that sends no picture for this many seconds")
      ->check(reals_between(0.1, 86400.0))
      ->capture_default_str();
  command->add_option("--model-type", options->model_type,
                      "Type of the model's outputs, if the model does not say: YOLOX, YOLOv8, SSD, Segmentation, ...");
  command
      ->add_option("--top-k", options->top_k,
                   "Maximum number of results per picture; 0: as the model says, else 300 (5 for classification)")
      ->check(CLI::Range(0, 1'000'000));
  command->add_flag("--no-compare", options->no_compare, "Skip the second pass with a forced copy");
  command
      ->add_option("--trace", options->trace,
                   "Write a Chrome trace: decoding, requests, each node, drawing; measuring nodes costs some time")
      ->type_name(kOutputFile);
  add_setting_option(*command, options->settings);
  add_fact_options(*command, options->settings);
  command->add_flag("-q,--quiet", options->quiet, "Print no progress, only the report");
  command->callback([options] { run(*options); });
}

}  // namespace tenon::tool
