// SPDX-License-Identifier: Apache-2.0
// Reads COCO's JSON files.
#include <algorithm>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/json_place.hpp>
#include <tenon/vision/labelled_pictures.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr std::size_t kMaxSide = 32768;  ///< So that the pixels of a picture are counted in 32 bits.

CocoBox read_box(const Place& place) {
  const std::vector<Place> values = place.items();
  if (values.size() != 4) place.refuse("[x, y, width, height]");
  const CocoBox box{values[0].number(), values[1].number(), values[2].number(), values[3].number()};
  if (box.width < 0 || box.height < 0) place.refuse("[x, y, width, height] with a width and height of 0 or more");
  return box;
}

/// The smallest box around the pixels.
CocoBox box_of(const MaskRuns& mask) {
  std::size_t x1 = mask.width(), y1 = mask.height(), x2 = 0, y2 = 0, at = 0;
  for (std::size_t i = 0; i < mask.runs().size(); at += mask.runs()[i++]) {
    if (i % 2 == 0 || mask.runs()[i] == 0) continue;
    const std::size_t last = at + mask.runs()[i] - 1, left = at / mask.height(), right = last / mask.height();
    x1 = std::min(x1, left), x2 = std::max(x2, right + 1);
    y1 = std::min(y1, left == right ? at % mask.height() : 0);
    y2 = std::max(y2, left == right ? last % mask.height() + 1 : mask.height());
  }
  if (x2 == 0) return {};
  return {static_cast<double>(x1), static_cast<double>(y1), static_cast<double>(x2 - x1), static_cast<double>(y2 - y1)};
}

MaskRuns read_mask(const Place& place, std::size_t height, std::size_t width) {
  try {
    if (place.value().is_array()) {
      std::vector<std::vector<double>> polygons;
      for (const Place& polygon : place.items()) {
        auto& corners = polygons.emplace_back();
        for (const Place& value : polygon.items()) corners.push_back(value.number());
      }
      return MaskRuns::from_polygons(height, width, polygons);
    }
    const std::vector<Place> size = place.at("size").items();
    if (size.size() != 2 || size[0].count(kMaxSide) != height || size[1].count(kMaxSide) != width)
      place.at("size").refuse("the picture's [height, width], [" + std::to_string(height) + ", " +
                              std::to_string(width) + "]");
    const Place counts = place.at("counts");
    if (counts.value().is_string()) return MaskRuns::from_text(height, width, counts.text());
    std::vector<std::uint32_t> runs;
    for (const Place& run : counts.items()) runs.push_back(static_cast<std::uint32_t>(run.count(UINT32_MAX)));
    return {height, width, std::move(runs)};
  } catch (const Error& error) {
    const std::string what = error.what();
    if (what.rfind("a mask: ", 0) != 0) throw;
    place.refuse("a mask (" + what.substr(8) + ")");
  }
}

/// The position of an id in ascending `ids`; SIZE_MAX: it is none of them.
template <typename Ids, typename IdOf>
std::size_t place_of(std::int64_t id, const Ids& ids, IdOf id_of) {
  const auto at = std::lower_bound(ids.begin(), ids.end(), id,
                                   [&](const auto& one, std::int64_t value) { return id_of(one) < value; });
  return at == ids.end() || id_of(*at) != id ? SIZE_MAX : static_cast<std::size_t>(at - ids.begin());
}
std::size_t category_of(std::int64_t id, const LabelledPictures& truth) {
  return place_of(id, truth.category_ids, [](std::int64_t one) { return one; });
}
std::size_t picture_of(std::int64_t id, const LabelledPictures& truth) {
  return place_of(id, truth.pictures, [](const LabelledPicture& one) { return one.id; });
}

void read_categories(const Place& root, LabelledPictures& truth) {
  std::map<std::int64_t, std::string> labels;
  for (const Place& category : root.at("categories").items())
    if (const Place id = category.at("id"); !labels.emplace(id.whole(), category.at("name").text()).second)
      id.refuse("an id that no other category has");
  for (auto& [id, name] : labels) truth.category_ids.push_back(id), truth.labels.push_back(std::move(name));
}

void read_pictures(const Place& root, LabelledPictures& truth) {
  std::set<std::int64_t> known;
  for (const Place& image : root.at("images").items()) {
    LabelledPicture& picture = truth.pictures.emplace_back();
    picture.id = image.at("id").whole();
    if (!known.insert(picture.id).second) image.at("id").refuse("an id that no other image has");
    picture.width = image.at("width").count(kMaxSide);
    picture.height = image.at("height").count(kMaxSide);
    if (image.has("file_name")) picture.file = image.at("file_name").text();
  }
  std::sort(truth.pictures.begin(), truth.pictures.end(),
            [](const LabelledPicture& a, const LabelledPicture& b) { return a.id < b.id; });
}

bool is_set(const Place& object, const char* key) {
  if (!object.has(key)) return false;
  return object.at(key).value().is_boolean() ? object.at(key).flag() : object.at(key).count(1) == 1;
}

bool has_mask(const Place& object) { return object.has("segmentation") && !object.at("segmentation").value().empty(); }

}  // namespace

LabelledPictures parse_coco_truth(std::string_view json, const std::string& origin) {
  const nlohmann::json document = parse_shallow(json, origin);
  const Place root(document, "", origin);
  LabelledPictures truth;
  read_categories(root, truth);
  read_pictures(root, truth);
  truth.has_masks = true;
  std::size_t objects = 0;
  for (const Place& annotation : root.at("annotations").items()) {
    const std::size_t picture = picture_of(annotation.at("image_id").whole(), truth);
    if (picture == SIZE_MAX) annotation.at("image_id").refuse("the id of one of \"images\"");
    const std::size_t label = category_of(annotation.at("category_id").whole(), truth);
    if (label == SIZE_MAX) annotation.at("category_id").refuse("the id of one of \"categories\"");
    LabelledPicture& image = truth.pictures[picture];
    CocoTruth& object = image.objects.emplace_back();
    object.label_id = static_cast<int>(label);
    if (has_mask(annotation)) object.mask = read_mask(annotation.at("segmentation"), image.height, image.width);
    if (annotation.has("bbox"))
      object.box = read_box(annotation.at("bbox"));
    else if (object.mask)
      object.box = box_of(object.mask);
    else
      annotation.refuse("an object with \"bbox\" or \"segmentation\"");
    object.area = annotation.has("area") ? annotation.at("area").number()
                  : object.mask          ? static_cast<double>(object.mask.area())
                                         : object.box.width * object.box.height;
    object.is_crowd = is_set(annotation, "iscrowd");
    object.is_ignored = !annotation.has("iscrowd") && is_set(annotation, "ignore");
    truth.has_masks = truth.has_masks && object.mask;
    ++objects;
  }
  truth.has_masks = truth.has_masks && objects > 0;
  return truth;
}

FoundInPictures parse_coco_found(std::string_view json, const LabelledPictures& truth, const std::string& origin) {
  const nlohmann::json document = parse_shallow(json, origin);
  FoundInPictures found;
  found.pictures.resize(truth.pictures.size());
  found.has_masks = !document.empty();
  for (const Place& one : Place(document, "", origin).items()) {
    const std::size_t picture = picture_of(one.at("image_id").whole(), truth);
    if (picture == SIZE_MAX) one.at("image_id").refuse("the id of a picture of the ground truth");
    const std::size_t label = category_of(one.at("category_id").whole(), truth);
    CocoFound detection;
    detection.label_id = static_cast<int>(label);
    detection.score = one.at("score").number();
    const LabelledPicture& image = truth.pictures[picture];
    if (has_mask(one)) detection.mask = read_mask(one.at("segmentation"), image.height, image.width);
    if (one.has("bbox") && !one.at("bbox").value().empty()) {
      detection.box = read_box(one.at("bbox"));
      detection.area = detection.box.width * detection.box.height;
    } else if (detection.mask) {
      detection.box = box_of(detection.mask);
      detection.area = static_cast<double>(detection.mask.area());
    } else {
      one.refuse("a result with \"bbox\" or \"segmentation\"");
    }
    found.has_masks = found.has_masks && detection.mask;
    if (label == SIZE_MAX)
      ++found.other_labels;
    else
      found.pictures[picture].push_back(std::move(detection));
  }
  return found;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
