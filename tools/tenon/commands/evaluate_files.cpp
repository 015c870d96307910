// SPDX-License-Identifier: Apache-2.0
// Reads the files of an evaluation by their forms.
#include <tenon/tools/tenon/commands/evaluate_files.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <tenon/core/error.hpp>
#include <tenon/vision/ground_truth.hpp>

#include <tenon/tools/tenon/shared/frame_source.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFramesOfInfo = 1'000'000;

std::string read_input(const std::string& path, const char* what, CommandFiles& files) {
  files.add_input(path, what);
  return vision::read_text_file(path);
}

vision::CocoBox box_of(const vision::Box& box) {
  return {box.x1, box.y1, static_cast<double>(box.x2) - box.x1, static_cast<double>(box.y2) - box.y1};
}

/// The frames of a sequence by its seqinfo.ini; 0: there is none, or it does not say.
std::size_t frames_of(const fs::path& folder, CommandFiles& files) {
  const fs::path path = folder / "seqinfo.ini";
  if (!fs::exists(path)) return 0;
  const std::string text = read_input(path.string(), "the ground truth", files);
  const std::string_view key = "seqLength=";
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size() - 1) + 1, ++number) {
    const std::string_view line = std::string_view(text).substr(at, text.find('\n', at) - at);
    if (line.substr(0, key.size()) != key) continue;
    std::size_t frames = 0;
    const std::string_view value = line.substr(key.size(), line.find_last_not_of(" \r") + 1 - key.size());
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), frames);
    if (error != std::errc() || end != value.data() + value.size() || frames == 0 || frames > kMostFramesOfInfo)
      throw Error(Code::kInvalidArgument, fmt::format("{}:{}: seqLength must be a number of frames, found \"{}\"",
                                                      path.string(), number, value));
    return frames;
  }
  return 0;
}

Sequence read_sequence(const fs::path& folder, CommandFiles& files) {
  Sequence one;
  const fs::path file = folder / "gt" / "gt.txt";
  one.name = fs::absolute(folder).lexically_normal().filename().string();
  if (one.name.empty()) one.name = fs::absolute(folder).lexically_normal().parent_path().filename().string();
  if (fs::is_directory(folder / "img1")) one.pictures = (folder / "img1").string();
  one.truth =
      vision::parse_mot(read_input(file.string(), "the ground truth", files), file.string(), frames_of(folder, files));
  return one;
}

/// The sequences of a folder in MOTChallenge's form; none: it has another one.
std::vector<Sequence> read_sequences(const fs::path& folder, CommandFiles& files) {
  std::vector<Sequence> sequences;
  if (fs::exists(folder / "gt" / "gt.txt")) {
    sequences.push_back(read_sequence(folder, files));
    return sequences;
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "gt" / "gt.txt")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& one : folders) sequences.push_back(read_sequence(one, files));
  return sequences;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

bool is_picture(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  constexpr std::string_view kKnown[] = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"};
  return std::find(std::begin(kKnown), std::end(kKnown), extension) != std::end(kKnown);
}

vision::PictureSizes sizes_of(const KnownOptions& options) {
  vision::PictureSizes sizes;
  if (!options.pictures.empty()) {
    for (const auto& entry : fs::directory_iterator(options.pictures)) {
      if (!is_picture(entry.path())) continue;
      SourceOptions source;
      source.input = entry.path().string();
      const FrameInfo info = FrameSource(source).info();
      sizes[entry.path().stem().string()] = {info.upright_width_px(), info.upright_height_px()};
    }
    if (sizes.empty())
      throw Error(Code::kNotFound, "\"" + options.pictures + "\" has no pictures (jpg, png, bmp, webp, tif)");
    return sizes;
  }
  unsigned width = 0, height = 0;
  char rest = 0;
  if (std::sscanf(options.size.c_str(), "%5ux%5u%c", &width, &height, &rest) != 2 || width == 0 || height == 0 ||
      width > 32768 || height > 32768)
    throw Error(Code::kInvalidArgument,
                options.size.empty() ? "\"" + options.truth +
                                           "\" is a folder of YOLO's labels, which are shares of the pictures' sizes: "
                                           "give --pictures FOLDER, or --size 640x480 if all are of one size"
                                     : "--size \"" + options.size + "\" is not a size; write 640x480");
  for (const auto& entry : fs::directory_iterator(options.truth))
    if (entry.path().extension() == ".txt" && entry.path().filename() != "classes.txt")
      sizes[entry.path().stem().string()] = {width, height};
  return sizes;
}

KnownObjects read_yolo(const KnownOptions& options, CommandFiles& files) {
  KnownObjects known;
  known.has_pictures = true;
  const fs::path beside = fs::path(options.truth) / "classes.txt";
  const std::string labels = !options.labels_file.empty() ? options.labels_file
                             : fs::exists(beside)         ? beside.string()
                                                          : "";
  known.pictures = vision::read_yolo_truth(
      options.truth, sizes_of(options),
      labels.empty() ? std::vector<std::string>() : lines_of(read_input(labels, "--labels", files)));
  if (options.pictures.empty()) return known;
  for (const auto& entry : fs::directory_iterator(options.pictures)) {
    const auto at = std::find_if(known.pictures.pictures.begin(), known.pictures.pictures.end(),
                                 [&](const auto& one) { return one.file == entry.path().stem().string(); });
    if (at != known.pictures.pictures.end() && is_picture(entry.path())) at->file = entry.path().filename().string();
  }
  return known;
}

/// The form of models/demo.json.
KnownObjects read_video(const std::string& text, const std::string& path) {
  const vision::GroundTruth truth = vision::parse_ground_truth(text, path);
  KnownObjects known;
  known.has_pictures = known.is_video = known.by_labels = true;
  known.pictures.labels = truth.labels;
  Sequence sequence;
  sequence.name = fs::path(path).stem().string();
  sequence.truth.has_classes = true;
  sequence.truth.frames.resize(truth.frames.size());
  bool has_ids = false;
  for (std::size_t i = 0; i < truth.labels.size(); ++i)
    known.pictures.category_ids.push_back(static_cast<std::int64_t>(i));
  for (std::size_t frame = 0; frame < truth.frames.size(); ++frame) {
    vision::LabelledPicture& picture = known.pictures.pictures.emplace_back();
    picture.id = static_cast<std::int64_t>(frame);
    picture.width = truth.width, picture.height = truth.height;
    for (const vision::Truth& object : truth.frames[frame]) {
      const vision::CocoBox box = box_of(object.box);
      picture.objects.push_back({object.label_id, box, box.width * box.height, false, object.difficult, {}});
      if (object.id < 0) continue;
      has_ids = true;
      sequence.truth.frames[frame].push_back(
          {{object.id, box}, 1, object.difficult ? kDifficultClass : object.label_id + 1});
    }
  }
  if (has_ids) known.sequences.push_back(std::move(sequence));
  return known;
}

bool is_lines(const std::string& path) { return fs::path(path).extension() == ".jsonl"; }

/// The lines' objects as pictures and as tracks.
vision::FoundInPictures from_lines(KnownObjects& known, const std::string& path, Sequence* sequence,
                                   const std::vector<std::string>& labels, CommandFiles& files,
                                   std::vector<std::string>& notes) {
  auto frames = vision::parse_found_lines(read_input(path, "the results", files), path);
  vision::FoundInPictures found;
  found.pictures.resize(known.pictures.pictures.size());
  const LabelIds ids(known.pictures.labels);
  const std::size_t most = known.has_pictures ? found.pictures.size() : sequence ? sequence->truth.frames.size() : 0;
  // Ground truth in MOTChallenge's form without objects does not say how many frames there are; pictures always do.
  if ((most > 0 || known.has_pictures) && frames.size() > most) {
    notes.push_back(
        fmt::format("{} has {} frames, the ground truth {}: those behind are left out", path, frames.size(), most));
    frames.resize(most);
  }
  if (frames.size() < most)
    notes.push_back(fmt::format("{} has {} of {} frames: nothing was found in the others", path, frames.size(), most));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    for (const vision::FoundObject& one : frames[i]) {
      if (known.has_pictures) found.other_labels += !add_found(one.detection, {}, ids, found.pictures[i]);
      if (!sequence || one.track_id < 0) continue;
      const int label = known.by_labels ? ids.of(one.detection.label) + 1 : -1;
      const bool is_wanted = known.by_labels ? label > 0
                                             : labels.empty() || std::find(labels.begin(), labels.end(),
                                                                           one.detection.label) != labels.end();
      if (is_wanted) add_tracked(one.detection, one.track_id, label, i, sequence->found);
    }
  }
  return found;
}

}  // namespace

int LabelIds::of(const std::string& label) const {
  const auto at = std::find(to_.begin(), to_.end(), label);
  return at == to_.end() ? -1 : static_cast<int>(at - to_.begin());
}

bool add_found(const vision::Detection& detection, vision::MaskRuns mask, const LabelIds& ids,
               std::vector<vision::CocoFound>& into) {
  const int label = ids.of(detection.label);
  if (label < 0) return false;
  const vision::CocoBox box = box_of(detection.box);
  into.push_back({label, box, detection.score, box.width * box.height, std::move(mask)});
  return true;
}

void add_tracked(const vision::Detection& detection, std::int64_t track_id, int class_id, std::size_t index,
                 vision::MotTracks& into) {
  if (into.frames.size() <= index) into.frames.resize(index + 1);
  into.frames[index].push_back({{track_id, box_of(detection.box)}, detection.score, class_id});
}

KnownObjects read_known(const KnownOptions& options, CommandFiles& files) {
  const fs::path path = options.truth;
  if (fs::is_directory(path)) {
    KnownObjects known;
    known.sequences = read_sequences(path, files);
    return known.sequences.empty() ? read_yolo(options, files) : known;
  }
  const std::string text = read_input(options.truth, "the ground truth", files);
  if (path.extension() == ".txt") {
    KnownObjects known;
    known.sequences.push_back({path.stem().string(), "", vision::parse_mot(text, options.truth), {}});
    return known;
  }
  if (text.find("\"annotations\"") == std::string::npos && text.find("\"video\"") != std::string::npos)
    return read_video(text, options.truth);
  KnownObjects known;
  known.has_pictures = true;
  known.pictures = vision::parse_coco_truth(text, options.truth);
  return known;
}

vision::FoundInPictures read_found(KnownObjects& known, const std::string& results,
                                   const std::vector<std::string>& labels, CommandFiles& files,
                                   std::vector<std::string>& notes) {
  if (is_lines(results)) {
    if (known.sequences.size() > 1)
      throw Error(Code::kInvalidArgument, "\"" + results + "\" is one video, and the ground truth has " +
                                              std::to_string(known.sequences.size()) +
                                              ": give a folder with a NAME.jsonl for each");
    return from_lines(known, results, known.sequences.empty() ? nullptr : &known.sequences[0], labels, files, notes);
  }
  if (known.is_video)
    throw Error(Code::kInvalidArgument, "\"" + results +
                                            "\": results for this ground truth are lines of the element \"json\" of a "
                                            "pipeline, a file NAME.jsonl; or give --model");
  if (known.has_pictures) {
    if (fs::is_directory(results)) return vision::read_yolo_found(results, known.pictures);
    return vision::parse_coco_found(read_input(results, "the results", files), known.pictures, results);
  }
  for (Sequence& one : known.sequences) {
    fs::path file = results;
    if (fs::is_directory(results)) {
      file = fs::path(results) / (one.name + ".jsonl");
      if (!fs::exists(file)) file = fs::path(results) / (one.name + ".txt");
      if (!fs::exists(file))
        throw Error(Code::kNotFound, "\"" + file.string() + "\" is missing; an empty file says that nothing was found");
    } else if (known.sequences.size() > 1) {
      throw Error(Code::kInvalidArgument, "\"" + results + "\" is one file, and the ground truth has " +
                                              std::to_string(known.sequences.size()) +
                                              " sequences: give the folder with their files");
    }
    if (is_lines(file.string()))
      from_lines(known, file.string(), &one, labels, files, notes);
    else
      one.found =
          vision::parse_mot(read_input(file.string(), "the results", files), file.string(), one.truth.frames.size());
  }
  return {};
}

}  // namespace tenon::tool
