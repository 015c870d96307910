// SPDX-License-Identifier: Apache-2.0
// tenon evaluate: says how good a model, a tracker, or results in files are.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/vision/tracker.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/commands/evaluate_files.hpp>
#include <tenon/tools/tenon/commands/evaluate_model.hpp>
#include <tenon/tools/tenon/shared/frame_source.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/shared/pipeline.hpp>
#include <tenon/tools/tenon/show/reports/evaluation_report.hpp>
#include <tenon/tools/tenon/show/text/progress.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

/// The least score of a detection that may continue a track, as ByteTrack has it.
constexpr float kWeakest = 0.1f;
constexpr auto kSilence = std::chrono::seconds(10);

struct EvaluateOptions {
  KnownOptions known;
  EvaluatedModelOptions model;
  std::string results, input, report, save;
  std::vector<std::string> labels;
  vision::MotRules rules;
  bool json = false, by_order = false, quiet = false;
};

/// The names by which the model's labels are found in the ground truth. @errors kInvalidArgument: it does not know one of them.
std::vector<std::string> shared_labels(const EvaluateOptions& options, const KnownObjects& known,
                                       const std::vector<std::string>& own) {
  if (!known.has_pictures) return own;
  if (options.by_order) {
    if (!own.empty() && own.size() != known.pictures.labels.size())
      throw Error(Code::kInvalidArgument, fmt::format("--by-order: the model has {} labels, the ground truth {}",
                                                      own.size(), known.pictures.labels.size()));
    return known.pictures.labels;
  }
  if (own.empty())
    throw Error(
        Code::kInvalidArgument,
        "the model does not name its labels: give --fact labels=cat,dog, or --by-order if its classes are those "
        "of the ground truth in their order");
  std::string unknown;
  for (const std::string& label : known.pictures.labels)
    if (std::find(own.begin(), own.end(), label) == own.end())
      unknown += (unknown.empty() ? "\"" : ", \"") + label + "\"";
  if (!unknown.empty())
    throw Error(Code::kInvalidArgument, "the model does not know these labels of the ground truth: " + unknown +
                                            "; if both have the same labels in one order, give --by-order");
  return own;
}

/// Runs frames through the model, and keeps what it finds: in pictures, and with a tracker as tracks.
class Collecting {
 public:
  Collecting(const EvaluateOptions& options, KnownObjects& known, EvaluatedModel& model, Progress& progress)
      : options_(options),
        known_(known),
        model_(model),
        progress_(progress),
        labels_(shared_labels(options, known, model.labels())),
        ids_(known.pictures.labels) {
    found_.pictures.resize(known.pictures.pictures.size());
    found_.has_masks = true;
  }

  /// @param sequence  Null: nothing is tracked.
  void run(const EvaluatedModel::Next& next, Sequence* sequence) {
    std::optional<vision::Tracker> tracker;
    if (sequence) tracker.emplace();
    std::size_t index = 0;
    model_.run(next, [&](std::size_t width, std::size_t height, const std::vector<SeenObject>& objects) {
      see(index, width, height, objects, sequence, tracker ? &*tracker : nullptr);
      ++index;
    });
    frames_ = index;
  }

  std::size_t frames() const { return frames_; }
  vision::FoundInPictures take() {
    found_.has_masks = found_.has_masks && all_ > 0;
    return std::move(found_);
  }

 private:
  void see(std::size_t index, std::size_t width, std::size_t height, const std::vector<SeenObject>& objects,
           Sequence* sequence, vision::Tracker* tracker) {
    progress_.update(++done_, [&] { return fmt::format("{} objects found", all_); });
    std::vector<vision::Detection> named;
    for (const SeenObject& one : objects) {
      named.push_back(one.detection);
      const auto id = static_cast<std::size_t>(one.detection.label_id);
      if (one.detection.label_id >= 0 && id < labels_.size()) named.back().label = labels_[id];
    }
    if (known_.has_pictures && index < known_.pictures.pictures.size()) {
      const vision::LabelledPicture& picture = known_.pictures.pictures[index];
      if (picture.width != width || picture.height != height)
        throw Error(Code::kInvalidArgument, fmt::format("picture {}{} has {}x{} pixels, the ground truth says {}x{}",
                                                        index, picture.file.empty() ? "" : " (" + picture.file + ")",
                                                        width, height, picture.width, picture.height));
      for (std::size_t i = 0; i < objects.size(); ++i) {
        ++all_;
        found_.has_masks = found_.has_masks && objects[i].mask;
        found_.other_labels += !add_found(named[i], objects[i].mask, ids_, found_.pictures[index]);
      }
    }
    if (!tracker) return;
    std::vector<vision::Detection> tracked;
    for (const vision::Detection& one : named)
      if (one.score >= kWeakest && (options_.labels.empty() || is_wanted(one.label))) tracked.push_back(one);
    const auto ids = tracker->update(tracked);
    for (std::size_t i = 0; i < tracked.size(); ++i) {
      if (ids[i] < 0) continue;
      const int label = known_.by_labels ? ids_.of(tracked[i].label) + 1 : -1;
      if (!known_.by_labels || label > 0) add_tracked(tracked[i], ids[i], label, index, sequence->found);
    }
  }
  bool is_wanted(const std::string& label) const {
    return std::find(options_.labels.begin(), options_.labels.end(), label) != options_.labels.end();
  }

  const EvaluateOptions& options_;
  KnownObjects& known_;
  EvaluatedModel& model_;
  Progress& progress_;
  std::vector<std::string> labels_;
  LabelIds ids_;
  vision::FoundInPictures found_;
  std::uint64_t done_ = 0, all_ = 0;
  std::size_t frames_ = 0;
};

/// The frames of one file after the other; each has one.
EvaluatedModel::Next pictures_of(const std::vector<vision::LabelledPicture>& pictures, const std::string& folder,
                                 CommandFiles& files) {
  return [&pictures, folder, &files, at = std::size_t{0}]() mutable -> std::optional<Frame> {
    if (at == pictures.size() || Interrupt::requested()) return std::nullopt;
    SourceOptions source;
    source.input = (fs::path(folder) / pictures[at++].file).string();
    files.add_input(source.input, "a picture");
    FrameSource opened(source);
    std::optional<Frame> frame = opened.read(Clock::now() + kSilence);
    if (!frame) throw Error(Code::kDataLoss, "\"" + source.input + "\" has no picture");
    return frame;
  };
}

/// Runs the model on the pictures or the videos of the ground truth.
vision::FoundInPictures run_model(const EvaluateOptions& options, KnownObjects& known, CommandFiles& files,
                                  std::vector<std::string>& notes) {
  EvaluatedModel model(options.model, known.has_pictures && !known.is_video, files);
  std::optional<std::uint64_t> total;
  if (known.has_pictures) total = known.pictures.pictures.size();
  Progress progress(options.quiet || options.json, total, stderr, "pictures");
  Collecting collecting(options, known, model, progress);
  const auto video = [&](const std::string& input, Sequence* sequence, std::size_t most) {
    SourceOptions wanted;
    wanted.input = input;
    FrameSource source(wanted);
    Feed feed(source, most, kSilence);
    collecting.run([&] { return feed.next(); }, sequence);
    if (most > 0 && collecting.frames() < most)
      notes.push_back(fmt::format("\"{}\" has {} of {} frames of the ground truth: nothing was found in the others",
                                  input, collecting.frames(), most));
  };
  if (known.has_pictures && !options.input.empty()) {
    video(options.input, known.sequences.empty() ? nullptr : &known.sequences[0], known.pictures.pictures.size());
  } else if (known.has_pictures) {
    if (options.known.pictures.empty())
      throw Error(Code::kInvalidArgument,
                  known.is_video ? "--model: give the video with --input"
                                 : "--model: give the folder of the pictures with --pictures, or a video with --input");
    for (const vision::LabelledPicture& picture : known.pictures.pictures)
      if (picture.file.empty())
        throw Error(Code::kInvalidArgument,
                    fmt::format("--pictures: the ground truth has no \"file_name\" for image {}", picture.id));
    collecting.run(pictures_of(known.pictures.pictures, options.known.pictures, files), nullptr);
  } else {
    for (Sequence& sequence : known.sequences) {
      const std::string& input = options.input.empty() ? sequence.pictures : options.input;
      if (input.empty())
        throw Error(Code::kInvalidArgument,
                    "--model: \"" + sequence.name +
                        "\" has no folder img1 beside its ground truth: give the video with --input");
      if (!options.input.empty() && known.sequences.size() > 1)
        throw Error(Code::kInvalidArgument,
                    fmt::format("--input is one video, and the ground truth has {}", known.sequences.size()));
      video(input, &sequence, sequence.truth.frames.size());
    }
  }
  progress.clear();
  if (Interrupt::requested()) throw CLI::RuntimeError(Interrupt::status());
  return collecting.take();
}

vision::CocoResult evaluate_pictures(const KnownObjects& known, const vision::FoundInPictures& found,
                                     vision::CocoMeter::Of of) {
  vision::CocoMeter meter(of);
  for (std::size_t i = 0; i < known.pictures.pictures.size(); ++i)
    meter.add(known.pictures.pictures[i].objects, found.pictures[i]);
  return meter.result();
}

/// Evaluates a sequence, label by label where it has them.
vision::TrackingCounts evaluate_tracks(const EvaluateOptions& options, const KnownObjects& known,
                                       const Sequence& sequence, std::size_t& others) {
  if (!known.by_labels) {
    vision::TrackingMeter meter;
    others += add_tracks(meter, sequence.truth, sequence.found, options.rules);
    return meter.result();
  }
  vision::TrackingCounts all;
  for (std::size_t label = 0; label < known.pictures.labels.size(); ++label) {
    vision::TrackingMeter meter;
    vision::add_tracks(meter, sequence.truth, sequence.found, {static_cast<int>(label) + 1, {kDifficultClass}});
    all += meter.result();
  }
  all.pictures = sequence.truth.frames.size();
  return all;
}

/// What the model found, in a form that other programs read: COCO's JSON, or MOTChallenge's lines.
std::string saved(const KnownObjects& known, const vision::FoundInPictures& found) {
  if (!known.has_pictures) {
    std::string text;
    const vision::MotTracks& tracks = known.sequences[0].found;
    for (std::size_t frame = 0; frame < tracks.frames.size(); ++frame)
      for (const vision::MotBox& one : tracks.frames[frame])
        text += fmt::format("{},{},{:.2f},{:.2f},{:.2f},{:.2f},{:.4f},-1,-1,-1\n", frame + 1, one.tracked.id,
                            one.tracked.box.x, one.tracked.box.y, one.tracked.box.width, one.tracked.box.height,
                            one.confidence);
    return text;
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < found.pictures.size(); ++i) {
    const vision::LabelledPicture& picture = known.pictures.pictures[i];
    for (const vision::CocoFound& one : found.pictures[i]) {
      nlohmann::ordered_json entry{{"image_id", picture.id},
                                   {"category_id", known.pictures.category_ids[static_cast<std::size_t>(one.label_id)]},
                                   {"score", one.score}};
      if (one.mask)
        entry["segmentation"] = {{"size", {picture.height, picture.width}}, {"counts", one.mask.runs()}};
      else
        entry["bbox"] = {one.box.x, one.box.y, one.box.width, one.box.height};
      all.push_back(std::move(entry));
    }
  }
  return all.dump() + "\n";
}

void evaluate(const EvaluateOptions& options) {
  if (options.results.empty() == options.model.model.empty())
    throw Error(Code::kInvalidArgument,
                "give either RESULTS, a file or folder of what was found, or --model, to find it now");
  CommandFiles files;
  if (!options.input.empty()) files.add_input(options.input, "the video");
  files.add_input(options.known.labels_file, "--labels");
  OutputFile report(options.report, "--report", files), save(options.save, "--save-results", files);
  KnownObjects known = read_known(options.known, files);
  if (save && options.model.model.empty())
    throw Error(Code::kInvalidArgument, "--save-results: only what --model finds is saved");
  if (save && known.sequences.size() > 1)
    throw Error(Code::kInvalidArgument, "--save-results: there are several sequences; run them one by one");
  Evaluation evaluation;
  evaluation.truth = options.known.truth;
  evaluation.results = options.results.empty() ? options.model.model : options.results;
  evaluation.labels = known.pictures.labels;
  const Interrupt interrupt;
  vision::FoundInPictures found = options.results.empty()
                                      ? run_model(options, known, files, evaluation.notes)
                                      : read_found(known, options.results, options.labels, files, evaluation.notes);
  if (known.has_pictures) {
    evaluation.boxes = evaluate_pictures(known, found, vision::CocoMeter::Of::kBoxes);
    // What a model found is small or large by its mask; files have areas of their own.
    if (!options.model.model.empty() && found.has_masks)
      for (auto& picture : found.pictures)
        for (vision::CocoFound& one : picture) one.area = static_cast<double>(one.mask.area());
    if (known.pictures.has_masks && found.has_masks)
      evaluation.masks = evaluate_pictures(known, found, vision::CocoMeter::Of::kMasks);
    if (found.has_masks && !known.pictures.has_masks)
      evaluation.notes.push_back("the results have masks, the ground truth has not one for every object");
  }
  if (found.other_labels > 0)
    evaluation.notes.push_back(
        fmt::format("{} detections of labels that the ground truth does not have are left out", found.other_labels));
  std::size_t others = 0;
  for (const Sequence& sequence : known.sequences) {
    // Boxes without ids say nothing of tracks.
    if (known.has_pictures && sequence.found.frames.empty()) continue;
    evaluation.sequences.emplace_back(sequence.name, evaluate_tracks(options, known, sequence, others));
  }
  if (others > 0)
    evaluation.notes.push_back(
        fmt::format("{} tracked objects of other classes than {} are left out", others, options.rules.class_id));
  if (save) save.commit(saved(known, found));
  if (report) report.commit(evaluation.to_html());
  fmt::print("{}", options.json ? evaluation.to_json() : evaluation.to_text());
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto* command = app.add_subcommand(
      "evaluate", "Say how good a model, a tracker or results in files are: COCO's AP and AR, HOTA, IDF1, MOTA");
  auto options = std::make_shared<EvaluateOptions>();
  command
      ->add_option("truth", options->known.truth,
                   "Ground truth: COCO's JSON; a video's JSON as models/demo.json; MOTChallenge's gt.txt, a sequence's "
                   "folder, or a folder of "
                   "sequences; a folder of YOLO's .txt files")
      ->type_name(kTruthFile)
      ->required()
      ->check(CLI::ExistingPath);
  command
      ->add_option("results", options->results,
                   "What was found, in the same form: COCO's list of results; MOTChallenge's lines or a folder of "
                   "NAME.txt; a folder of YOLO's files "
                   "with scores; or the lines of a pipeline's element json (NAME.jsonl)")
      ->type_name(kResultsFile)
      ->check(CLI::ExistingPath);
  command->add_option("-m,--model", options->model.model, "Find it now with this model, instead of reading RESULTS")
      ->type_name(kModelFile);
  command->add_option("-d,--device", options->model.device, "Device, as 'tenon devices' lists it")
      ->capture_default_str();
  command->add_option("--pictures", options->known.pictures, "Folder of the pictures, by the names in the ground truth")
      ->type_name(kPictureFolder)
      ->check(CLI::ExistingDirectory);
  command->add_option("--input", options->input, "Video whose frames the ground truth describes in their order")
      ->type_name(kMediaFile);
  command
      ->add_option("--labels", options->known.labels_file,
                   "Names of YOLO's classes, one a line; else classes.txt in the folder, else numbers")
      ->type_name(kLabelsFile);
  command->add_option("--size", options->known.size,
                      "Size of all pictures (640x480), for YOLO's files without --pictures");
  command
      ->add_option("--label", options->labels,
                   "For tracks without classes in the ground truth: only objects that the model or the pipeline calls "
                   "so; may be given several times")
      ->take_all();
  command->add_option("--track-class", options->rules.class_id, "For MOTChallenge: the class that is evaluated")
      ->capture_default_str();
  command
      ->add_option("--distractors", options->rules.distractors,
                   "For MOTChallenge: what is found in the place of these classes counts not, neither right nor wrong "
                   "(MOT20: 2,6,7,8,12)")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--confidence", options->model.confidence,
                   "Minimum score of a detection of --model; 0.001 if not given, since the whole curve counts")
      ->check(reals_between(0.0, 1.0));
  command
      ->add_option("--iou", options->model.iou,
                   "Overlap (IoU) above which boxes count as one object, instead of the model's own")
      ->check(reals_between(0.0, 1.0));
  command->add_option("--model-type", options->model.model_type,
                      "Type of the model's outputs, if the model does not say");
  command->add_flag("--by-order", options->by_order,
                    "The model's labels are those of the ground truth in their order, whatever their names");
  command->add_option("--save-results", options->save, "Write what --model found, as COCO's or MOTChallenge's results")
      ->type_name(kOutputFile);
  command
      ->add_option("--report", options->report,
                   "Write a page with tables, precision over recall of each label, and HOTA over the overlap")
      ->type_name(kOutputFile);
  command->add_flag("--json", options->json, "Print JSON: all figures, and the curves");
  command->add_flag("-q,--quiet", options->quiet, "No progress");
  add_setting_option(*command, options->model.settings);
  add_fact_options(*command, options->model.settings);
  command->footer(
      "\nBoxes and masks are judged as pycocotools does: AP is the area under precision over recall, the mean over "
      "overlaps of 0.50 to 0.95,\n"
      "AR the recall with at most 1, 10 or 100 detections a picture; small is below 32x32 pixels, large from 96x96 on. "
      "Crowds and ignored\n"
      "objects count neither way. Tracks are judged as TrackEval does, by MOTChallenge's rules. A score \"from which "
      "F1 is best\" is a good\n"
      "threshold for --confidence where missing an object and a false one cost alike.\n"
      "\nWith --model and ground truth that has ids, the model's objects are followed as the element track does.\n"
      "\nExamples:\n"
      "  tenon evaluate instances_val2017.json -m yolo.onnx --pictures val2017 --report page.html\n"
      "  tenon evaluate instances_val2017.json results.json           results that another program wrote\n"
      "  tenon evaluate labels/ found/ --size 640x480                 YOLO's text files\n"
      "  tenon evaluate models/demo.json -m models/demo.onnx --input models/demo.mp4\n"
      "  tenon evaluate MOT17-02/ tracks.txt                          one sequence\n"
      "  tenon evaluate MOT17/train found/                            all sequences; found/MOT17-02.txt and so on\n"
      "  tenon evaluate MOT17-02/ yard.jsonl --label person           what a pipeline with track and json wrote\n");
  command->callback([options] { evaluate(*options); });
}

}  // namespace tenon::tool
