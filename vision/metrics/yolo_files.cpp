// SPDX-License-Identifier: Apache-2.0
// Reads YOLO's text files.
#include <algorithm>
#include <filesystem>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/text_lines.hpp>
#include <tenon/vision/labelled_pictures.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxClass = 1'000'000;

/// The .txt files of a folder by their names without extension.
std::map<std::string, std::string> text_files(const std::string& folder) {
  std::error_code error;
  std::map<std::string, std::string> files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".txt" && at->path().filename() != "classes.txt")
      files[at->path().stem().string()] = at->path().string();
  if (error)
    throw Error(Code::kNotFound, "\"" + folder + "\" cannot be read as a folder of labels: " + error.message());
  return files;
}

/// An object or detection of a line.
struct LineShape {
  CocoBox box;
  MaskRuns mask;
  double area = 0;
};

/// Reads the values of a line from the second on, `count` of them.
LineShape read_shape(const NumberLine& line, std::size_t count, std::size_t width, std::size_t height) {
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  LineShape shape;
  if (count == 4) {
    shape.box = {(line[1] - line[3] / 2) * w, (line[2] - line[4] / 2) * h, line[3] * w, line[4] * h};
    if (line[3] < 0 || line[4] < 0) line.refuse("width and height must be 0 or more");
    shape.area = shape.box.width * shape.box.height;
    return shape;
  }
  std::vector<double> corners;
  double x1 = w, y1 = h, x2 = 0, y2 = 0;
  for (std::size_t i = 1; i <= count; i += 2) {
    const double x = line[i] * w, y = line[i + 1] * h;
    x1 = std::min(x1, x), y1 = std::min(y1, y), x2 = std::max(x2, x), y2 = std::max(y2, y);
    corners.push_back(x), corners.push_back(y);
  }
  try {
    shape.mask = MaskRuns::from_polygons(height, width, std::vector<std::vector<double>>{std::move(corners)});
  } catch (const Error& error) {
    line.refuse(error.what());
  }
  shape.box = {x1, y1, std::max(0.0, x2 - x1), std::max(0.0, y2 - y1)};
  shape.area = static_cast<double>(shape.mask.area());
  return shape;
}

int class_of(const NumberLine& line) {
  const std::int64_t id = line.whole(0, "the class", 0);
  if (id > kMaxClass) line.refuse("the class " + std::to_string(id) + " is beyond " + std::to_string(kMaxClass));
  return static_cast<int>(id);
}

}  // namespace

LabelledPictures read_yolo_truth(const std::string& folder, const PictureSizes& sizes,
                                 const std::vector<std::string>& labels) {
  const auto files = text_files(folder);
  if (files.empty()) throw Error(Code::kNotFound, "\"" + folder + "\" has no .txt files of labels");
  for (const auto& [name, path] : files)
    if (!sizes.count(name)) throw Error(Code::kInvalidArgument, path + ": there is no picture \"" + name + "\"");
  LabelledPictures truth;
  std::size_t classes = labels.size();
  std::size_t objects = 0;
  truth.has_masks = true;
  for (const auto& [name, size] : sizes) {
    LabelledPicture& picture = truth.pictures.emplace_back();
    picture.id = static_cast<std::int64_t>(truth.pictures.size());
    picture.file = name;
    picture.width = size.first, picture.height = size.second;
    const auto file = files.find(name);
    if (file == files.end()) continue;
    for (const NumberLine& line : number_lines(read_text_file(file->second), file->second)) {
      if (line.size() < 5 || line.size() % 2 == 0)
        line.refuse("expected \"class x y width height\" or \"class x1 y1 x2 y2 x3 y3 ...\", found " +
                    std::to_string(line.size()) + " numbers");
      CocoTruth& object = picture.objects.emplace_back();
      object.label_id = class_of(line);
      if (!labels.empty() && static_cast<std::size_t>(object.label_id) >= labels.size())
        line.refuse("the class " + std::to_string(object.label_id) + " has no label: there are " +
                    std::to_string(labels.size()));
      classes = std::max(classes, static_cast<std::size_t>(object.label_id) + 1);
      LineShape shape = read_shape(line, line.size() - 1, picture.width, picture.height);
      object.box = shape.box, object.area = shape.area, object.mask = std::move(shape.mask);
      truth.has_masks = truth.has_masks && object.mask;
      ++objects;
    }
  }
  truth.has_masks = truth.has_masks && objects > 0;
  for (std::size_t i = 0; i < classes; ++i) {
    truth.category_ids.push_back(static_cast<std::int64_t>(i));
    truth.labels.push_back(i < labels.size() ? labels[i] : std::to_string(i));
  }
  return truth;
}

FoundInPictures read_yolo_found(const std::string& folder, const LabelledPictures& truth) {
  const auto files = text_files(folder);
  FoundInPictures found;
  found.has_masks = !files.empty();
  std::map<std::string, std::size_t> places;
  // Names may have an extension, or dots of their own.
  for (std::size_t i = 0; i < truth.pictures.size(); ++i) places.try_emplace(truth.pictures[i].file, i);
  for (std::size_t i = 0; i < truth.pictures.size(); ++i)
    places.try_emplace(fs::path(truth.pictures[i].file).stem().string(), i);
  found.pictures.resize(truth.pictures.size());
  for (const auto& [name, path] : files) {
    const auto place = places.find(name);
    if (place == places.end())
      throw Error(Code::kInvalidArgument, path + ": the ground truth has no picture \"" + name + "\"");
    const LabelledPicture& picture = truth.pictures[place->second];
    for (const NumberLine& line : number_lines(read_text_file(path), path)) {
      if (line.size() < 6 || line.size() % 2 == 1)
        line.refuse("expected \"class x y width height score\" or \"class x1 y1 x2 y2 x3 y3 ... score\", found " +
                    std::to_string(line.size()) + " numbers");
      const int id = class_of(line);
      LineShape shape = read_shape(line, line.size() - 2, picture.width, picture.height);
      found.has_masks = found.has_masks && shape.mask;
      const auto label = std::lower_bound(truth.category_ids.begin(), truth.category_ids.end(), id);
      if (label == truth.category_ids.end() || *label != id) {
        ++found.other_labels;
        continue;
      }
      found.pictures[place->second].push_back({static_cast<int>(label - truth.category_ids.begin()), shape.box,
                                               line[line.size() - 1], shape.area, std::move(shape.mask)});
    }
  }
  return found;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
