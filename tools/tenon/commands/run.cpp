// SPDX-License-Identifier: Apache-2.0
// tenon run: a video through a model, and the proof of what was copied on the way.
#include <algorithm>
#include <map>
#include <memory>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/ffmpeg/context.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/ground_truth.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/proof/hop_proof.hpp>
#include <tenon/tools/tenon/shared/clock.hpp>
#include <tenon/tools/tenon/shared/frame_source.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/known_device.hpp>
#include <tenon/tools/tenon/shared/model_options.hpp>
#include <tenon/tools/tenon/shared/pipeline.hpp>
#include <tenon/tools/tenon/show/picture.hpp>
#include <tenon/tools/tenon/show/progress.hpp>
#include <tenon/tools/tenon/show/run_report.hpp>
#include <tenon/tools/tenon/sources/open_source.hpp>

namespace tenon::tool {
namespace {

struct RunOptions {
  SourceOptions source;
  std::string decode = "cpu", va_node = "/dev/dri/renderD128";
  std::string model, device = "CPU", save, snapshot, report, ground_truth, trace, model_type, policy = "prefer";
  std::uint64_t max_frames = 0, requests = 0;
  double confidence = -1, iou = -1, timeout_s = 10;
  bool no_compare = false, quiet = false;
  ModelOptions settings;
};

ZeroCopy policy_of(const std::string& name) {
  return name == "require" ? ZeroCopy::kRequire : name == "allow" ? ZeroCopy::kAllow : ZeroCopy::kPrefer;
}

/// Detections of each frame, for drawing and for measuring.
class Results {
 public:
  Results(const RunOptions& options, std::shared_ptr<const Model> model) : options_(options), model_(std::move(model)) {
    if (!options.ground_truth.empty()) truth_ = vision::read_ground_truth(options.ground_truth);
  }

  /// @errors kInvalidArgument: the ground truth belongs to another video; errors of decode_options().
  void prepare(const FrameInfo& info) {
    info_ = info;
    vision::DecodeOptions shown = vision::decode_options(*model_, info);
    if (!options_.model_type.empty()) shown.model_type = options_.model_type;
    if (options_.confidence >= 0) shown.confidence_threshold = static_cast<float>(options_.confidence);
    if (options_.iou >= 0) shown.iou_threshold = static_cast<float>(options_.iou);
    if (shown.model_type.empty()) {
      if (truth_)
        throw Error(Code::kInvalidArgument,
                    "--ground-truth: the model does not say what its outputs mean; add --model-type");
      shown_.reset();
      return;
    }
    shown_.emplace(shown);
    if (!truth_) return;
    if (truth_->width != info.upright_width_px() || truth_->height != info.upright_height_px()) {
      throw Error(
          Code::kInvalidArgument,
          fmt::format("--ground-truth \"{}\" describes pictures of {}x{}, the video has {}x{}", options_.ground_truth,
                      truth_->width, truth_->height, info.upright_width_px(), info.upright_height_px()));
    }
    vision::DecodeOptions measured = shown;
    // The whole curve counts, so nearly everything is kept and each label of a box counts by itself.
    measured.confidence_threshold = 0.01f;
    measured.top_k = 300;
    measured.multi_label = true;
    measured_.emplace(measured);
    for (std::size_t i = 0; i < truth_->labels.size() && !shown.labels.empty(); ++i) {
      const auto found = std::find(shown.labels.begin(), shown.labels.end(), truth_->labels[i]);
      if (found == shown.labels.end()) {
        throw Error(Code::kInvalidArgument, "--ground-truth \"" + options_.ground_truth + "\" has objects labelled \"" +
                                                truth_->labels[i] + "\", which the model does not know");
      }
      label_ids_[static_cast<int>(i)] = static_cast<int>(found - shown.labels.begin());
    }
  }

  bool decodes() const { return shown_.has_value(); }

  void collect(const Frame& frame, InferRequest& request) {
    if (!(frame.info() == info_)) prepare(frame.info());
    if (!shown_) return;
    if (truth_ && index_ < truth_->frames.size()) {
      std::vector<vision::Truth> truths = truth_->frames[index_];
      for (vision::Truth& truth : truths) {
        if (const auto id = label_ids_.find(truth.label_id); id != label_ids_.end()) truth.label_id = id->second;
      }
      meter_.add(vision::detections(request, *measured_), truths);
    }
    ++index_;
    found_ = vision::detections(request, *shown_);
    total_ += found_.size();
  }

  const std::vector<vision::Detection>& found() const { return found_; }
  std::uint64_t total() const { return total_; }
  std::optional<vision::MeanPrecision> precision() const {
    if (!truth_ || meter_.pictures() == 0) return std::nullopt;
    return meter_.result();
  }
  /// "7 detections: circle 3, star 2".
  std::string note() const {
    if (!shown_) return "";
    std::map<std::string, int> counts;
    for (const auto& detection : found_) ++counts[detection.label];
    std::string text = fmt::format("{} detections", found_.size());
    const char* separator = ": ";
    for (const auto& [label, count] : counts) {
      text += fmt::format("{}{} {}", separator, label, count);
      separator = ", ";
    }
    return text;
  }

 private:
  const RunOptions& options_;
  std::shared_ptr<const Model> model_;
  std::optional<vision::GroundTruth> truth_;
  std::map<int, int> label_ids_;
  FrameInfo info_;
  std::optional<vision::Decoder> shown_, measured_;
  vision::PrecisionMeter meter_;
  std::vector<vision::Detection> found_;
  std::size_t index_ = 0;
  std::uint64_t total_ = 0;
};

/// One allocation for the source, which writes it, the device, and the pictures that are drawn and encoded, which read
/// it. Always with a descriptor, so that any other device could import it.
AllocationPlan plan_pool(const FrameSource& source, const RunOptions& options, const CompiledModel& compiled) {
  Router router;
  router.add(host_context());
  router.add(ffmpeg::context());
  router.add(source.writer());
  std::vector<Party> readers{{compiled.memory_context(), compiled.requirements(), Access::kRead}};
  if (readers.front().requirements.fd == FdKind::kNone) readers.front().requirements.fd = FdKind::kMemfd;
  if (!options.save.empty() || !options.snapshot.empty())
    readers.push_back({ffmpeg::context(), ffmpeg::context()->requirements(), Access::kRead});
  return router.plan({source.writer(), source.writer()->requirements(), Access::kWrite}, readers, source.info(),
                     policy_of(options.policy));
}

std::unique_ptr<FrameSource> open_source(const RunOptions& options, Ledger& ledger) {
  SourceOptions wanted = options.source;
  wanted.policy = policy_of(options.policy);
  wanted.ledger = &ledger;
  wanted.in_flight = options.requests;
  if (options.decode == "va") wanted.va_node = options.va_node;
  return open_source(wanted);
}

bool keeps_state(const Model& model) {
  const NodeVector nodes = model.get_ordered_ops();
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return is_op(node, "ReadValue"); });
}

/// Requests in flight: one if the model keeps state between frames, since one request must see all frames in order.
/// @errors kInvalidArgument: several were requested all the same.
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
  return std::max<std::uint64_t>(2, compiled.get_property(optimal_number_of_infer_requests));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The same frames both ways, in turns, so that other load on the machine affects both alike.
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
  const std::unique_ptr<FrameSource> sources[2] = {open_source(options, plain), open_source(options, forced)};
  for (const auto& source : sources) source->use_pool(plan_pool(*source, options, compiled), requests);
  Feed feeds[2] = {Feed(*sources[0], 0, std::chrono::seconds(10)), Feed(*sources[1], 0, std::chrono::seconds(10))};
  feeds[1].force_copy(forced);
  Pipeline pipeline(compiled, requests);
  Progress progress(options.quiet, 2 * kBlocks * result.frames_per_block);
  std::vector<double> times[2];
  std::uint64_t copied_before = 0, forced_frames = 0, forced_bytes = 0;
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    for (int turn = 0; turn < 2; ++turn) {
      // The order alternates: what the first leaves in the caches helps the second.
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

/// @param source  Its verdict on the first hop.
void prove_hops(RunReport& report, const HopProof& source, const Frame& frame, CompiledModel& compiled,
                const Model& model) {
  HopProof proofs[3];
  if (!frame) {
    for (HopProof& proof : proofs) proof = {Proof::kRefused, "no frame ran"};
  } else if (!frame.plane(0).is_writable()) {
    for (HopProof& proof : proofs)
      proof = {Proof::kClaimed, "the buffer is still in use by its source, so nothing may be written into it"};
  } else {
    proofs[0] = source;
    proofs[1] = prove_pool_to_stage(frame, compiled, report.device);
    proofs[2] = prove_stage_to_model(frame, compiled, model);
  }
  for (std::size_t i = 0; i < report.hops.size() && i < 3; ++i) {
    report.hops[i].proof = proofs[i];
    // The ledger decides: a hop that booked a copy is not zero-copy.
    if (report.hops[i].copied && proofs[i].proof != Proof::kCopies)
      report.hops[i].proof = {Proof::kCopies, "the ledger booked copies on it"};
  }
}

void run(const RunOptions& options) {
  ffmpeg::silence_log();
  CommandFiles files;
  files.add_input(options.source.input, "the video");
  files.add_input(options.ground_truth, "--ground-truth");
  OutputFile report_file(options.report, "--report", files);
  OutputFile trace_file(options.trace, "--trace", files);
  Core core;
  check_device(core, options.device);
  const auto model = read_model(core, files, options.model);
  Results results(options, model);
  Ledger decoding;
  std::unique_ptr<FrameSource> source = open_source(options, decoding);
  const FrameInfo info = source->info();
  Pictures pictures(options.save, options.snapshot, files, info, source->fps());
  results.prepare(info);
  if (!options.quiet && !results.decodes()) {
    fmt::print(
        "the model does not say what its outputs mean (model_info model_type): it runs without detections; "
        "--model-type says it\n");
  }

  RunReport report;
  report.input = options.source.input;
  report.model = options.model;
  report.info = info;
  const auto compile_begin = Clock::now();
  AnyMap properties{input_frames(info), zero_copy(policy_of(options.policy)),
                    hint::performance_mode(hint::PerformanceMode::THROUGHPUT)};
  for (const auto& [key, value] : properties_of(options.settings)) properties[key] = value;
  // A trace shows the nodes of each inference, so the device has to measure them.
  if (trace_file) properties[enable_profiling.name()] = Any(true);
  CompiledModel compiled = core.compile_model(model, options.device, properties);
  report.compile_ms = ms_since(compile_begin);
  report.device = chosen_device(compiled, options.device);
  try {
    report.device_name = core.get_property(report.device, device::full_name);
  } catch (const std::exception&) {
    // A device need not have a full name.
  }
  report.requests = requests_for(options, *model, compiled);
  source->use_pool(plan_pool(*source, options, compiled), report.requests);
  auto pipeline = std::make_unique<Pipeline>(compiled, report.requests);
  std::optional<std::uint64_t> total = source->frame_count();
  if (options.max_frames) total = std::min(total.value_or(options.max_frames), options.max_frames);

  const Interrupt interrupt;
  if (trace_file) Trace::start();
  Feed feed(*source, options.max_frames, std::chrono::duration<double>(options.timeout_s));
  Progress progress(options.quiet, total);
  const auto begin = Clock::now();
  pipeline->run(
      feed,
      [&](const Frame& frame, InferRequest& request) {
        results.collect(frame, request);
        progress.update(pipeline->frames(), [&] { return results.note(); });
      },
      [&](const Frame& frame) {
        if (pictures.wanted()) pictures.show(frame, results.found());
      });
  report.seconds = ms_since(begin) / 1e3;
  progress.clear();
  if (trace_file) Trace::stop();

  report.frames = pipeline->frames();
  report.detections = results.total();
  report.first_inference_ms = pipeline->first_inference_ms();
  report.interrupted = Interrupt::requested();
  report.size_changes = source->size_changes();
  report.lost_frames = source->lost_frames();
  report.hops = hops_of(*source, decoding, core.ledger(), report.frames, report.device);
  for (const LedgerEntry& entry : core.ledger().snapshot()) {
    if (entry.name == "input stage re-plan") report.replans += entry.maps;
  }
  const InputStageSpec spec = make_spec(options_from(*model, info));
  report.converted_to = static_cast<double>(checked_size_bytes(spec.type, spec.target_shape()).value_or(0));
  if (const auto precision = results.precision()) {
    report.map50 = precision->map50;
    report.map50_95 = precision->map;
  }
  const bool live = source->live();
  const std::exception_ptr failure = pipeline->failure();
  if (failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      report.ended_by = error.what();
    }
  }

  // The source is closed first, so that only we refer to the last frame: the tests write into its buffer.
  const Frame last = pipeline->last_frame();
  pipeline.reset();
  HopProof written;
  if (last) written = source->prove_writes_in_place(last);
  source.reset();
  if (!options.no_compare && !failure && !report.interrupted) {
    report.comparison = compare(options, compiled, core.ledger(), report.requests, report.frames, live);
  }
  prove_hops(report, written, last, compiled, *model);

  // A recording is worth keeping if a camera disconnects; the first half of a damaged file is not what was
  // asked for.
  const bool keep = !failure || live;
  if (keep && report.frames > 0) {
    pictures.finish();
    report.saved = options.save;
    report.codec = pictures.codec();
    report.snapshot = options.snapshot;
  }
  const LedgerEntry drawn = pictures.ledger().total();
  report.saved_copied = drawn.copied;
  report.saved_converted = drawn.converted;
  report.saved_left_out = pictures.left_out();
  fmt::print("{}", report.to_text());
  std::fflush(stdout);
  if (keep) report_file.commit(report.to_json());
  if (trace_file) {
    Trace::write(trace_file.partial());
    trace_file.commit();
  }
  if (failure) std::rethrow_exception(failure);
  if (Interrupt::requested()) throw CLI::RuntimeError(Interrupt::status());
}

/// "1280x720". @errors CLI's for what is none.
void read_size(const std::string& text, SourceOptions& source) {
  char rest = 0;
  if (std::sscanf(text.c_str(), "%5ux%5u%c", &source.width_px, &source.height_px, &rest) != 2 || source.width_px == 0 ||
      source.height_px == 0)
    throw CLI::ValidationError("--size", "\"" + text + "\" is no size; write 1280x720");
}

/// @errors CLI's, with the formats that there are.
PixelFormat format_called(const std::string& text) {
  if (const auto format = format_from_name(text)) return *format;
  std::size_t count = 0;
  const PixelFormatInfo* const known = all_formats(count);
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += " " + std::string(known[i].name);
  throw CLI::ValidationError("--format", "\"" + text + "\" is no format; there are:" + all);
}

}  // namespace

void add_run(CLI::App& app) {
  auto* command =
      app.add_subcommand("run", "Run a model on a video, camera or stream, and show what was copied on the way");
  auto options = std::make_shared<RunOptions>();
  command
      ->add_option("input", options->source.input,
                   "Video file, /dev/video0, a URL (rtsp://, http://, ...), or a GStreamer launch line "
                   "(\"videotestsrc ! video/x-raw,format=NV12\")")
      ->required();
  command->add_option_function<std::string>(
      "--size", [options](const std::string& text) { read_size(text, options->source); },
      "Of a camera: the size of its pictures (1280x720)");
  command->add_option("--fps", options->source.fps, "Of a camera: pictures per second")->check(CLI::Range(0.1, 1e4));
  command->add_option_function<std::string>(
      "--format", [options](const std::string& text) { options->source.format = format_called(text); },
      "Of a camera: the format of its pictures (nv12, yuy2, rgb24...)");
  command->add_option("--decode", options->decode, "cpu, or va: by a VA-API driver, whose surfaces are read in place")
      ->check(CLI::IsMember({"cpu", "va"}))
      ->capture_default_str();
  command->add_option("--va-node", options->va_node, "With --decode va: the DRM node of the driver")
      ->capture_default_str();
  command->add_option("-m,--model", options->model, "ONNX file, or the .xml of an OpenVINO IR")->required();
  command->add_option("-d,--device", options->device, "Device, as tenon devices lists them")->capture_default_str();
  command->add_option("--save", options->save, "Write the video with the detections drawn on it");
  command->add_option("--snapshot", options->snapshot, "Write the picture with the most confident detections as PNG");
  command->add_option("--report", options->report, "Write the report as JSON");
  command->add_option("--ground-truth", options->ground_truth, "JSON of the objects in the video: measures mAP");
  command->add_option("--zero-copy", options->policy, "require: a copy is an error; prefer: avoid and book; allow")
      ->check(CLI::IsMember({"require", "prefer", "allow"}))
      ->capture_default_str();
  command->add_option("--max-frames", options->max_frames, "Maximum number of frames; 0: all")->capture_default_str();
  command
      ->add_option("--requests", options->requests,
                   "Inferences in flight; 0: as the device prefers, or one for a model that keeps state")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  command->add_option("--confidence", options->confidence, "Lowest score to show, instead of the model's own")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--iou", options->iou, "Overlap from which boxes count as one, instead of the model's own")
      ->check(CLI::Range(0.0, 1.0));
  command
      ->add_option("--timeout", options->timeout_s,
                   "Give up on a camera or stream that sends no picture for this many seconds")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  command->add_option("--model-type", options->model_type,
                      "Type of the model's outputs, if the model does not say: YOLOX, YOLOv8, SSD, ...");
  command->add_flag("--no-compare", options->no_compare, "Skip the second pass with a forced copy");
  command->add_option("--trace", options->trace,
                      "Write a Chrome trace: decoding, requests, each node, drawing; measuring nodes costs some time");
  add_setting_option(*command, options->settings);
  command->add_flag("-q,--quiet", options->quiet, "No progress, only the report");
  command->callback([options] { run(*options); });
}

}  // namespace tenon::tool
