// SPDX-License-Identifier: Apache-2.0
// Pictures whose objects are known, and what was found in them: COCO's JSON, YOLO's text files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/vision/coco_metrics.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct LabelledPicture {
  std::int64_t id = 0;
  std::string file;  ///< Its name in its folder; empty if the file does not say.
  std::size_t width = 0, height = 0;
  std::vector<CocoTruth> objects;
};

/// Label ids of objects and detections are positions in `labels`.
struct LabelledPictures {
  std::vector<std::string> labels;
  std::vector<std::int64_t> category_ids;  ///< The number of each label in the file, ascending.
  std::vector<LabelledPicture> pictures;   ///< By ascending ids; pictures without objects, too.
  bool has_masks = false;                  ///< Every object has a mask, and there is one at least.
};

/// What was found in each of the pictures, in their order.
struct FoundInPictures {
  std::vector<std::vector<CocoFound>> pictures;
  bool has_masks = false;        ///< Every detection has one, and there is one at least.
  std::size_t other_labels = 0;  ///< Detections of labels that the ground truth does not have: they are left out.
};

/// Reads {"images": [{"id", "width", "height", "file_name"}], "categories": [{"id", "name"}], "annotations": [{"image_id", "category_id",
/// "bbox": [x, y, width, height], "area", "iscrowd": 0 | 1, "segmentation": polygons | {"size": [height, width], "counts": list | text}}]}.
/// Without "bbox" the box of the mask counts, without "area" that of mask or box. "ignore": 1 is honoured where "iscrowd" is not given, which
/// pycocotools does not do.
/// @errors kInvalidArgument: not of that form, an unknown or repeated id; the message says where ("annotations[3].bbox").
TENON_API LabelledPictures parse_coco_truth(std::string_view json, const std::string& origin = "ground truth");

/// Reads a list [{"image_id", "category_id", "score", "bbox", "segmentation"}]; one of the last two is needed. Areas are those of boxes
/// where there is one, as in pycocotools.
/// @errors kInvalidArgument: not of that form, or a picture that `truth` lacks; the message says where ("[3].score").
TENON_API FoundInPictures parse_coco_found(std::string_view json, const LabelledPictures& truth,
                                           const std::string& origin = "results");

/// The size of a picture, by its name without extension.
using PictureSizes = std::map<std::string, std::pair<std::size_t, std::size_t>>;

/// Reads YOLO's labels: in `folder` a file NAME.txt for each picture that has objects, with a line "class x y width height" of each (the centre,
/// as shares of the picture's size), or "class x1 y1 x2 y2 ..." with the corners of a polygon.
/// @param sizes   The sizes of all pictures. A picture without a file has no objects.
/// @param labels  Names of the classes, from 0 on. Empty: "0", "1" ...
/// @errors kInvalidArgument: a line is not of that form (the message has file and line), a file without a picture; kNotFound: no such folder,
///         or no file of labels in it.
TENON_API LabelledPictures read_yolo_truth(const std::string& folder, const PictureSizes& sizes,
                                           const std::vector<std::string>& labels);

/// Reads results in the same form, with the score at the end of each line, as Ultralytics writes them (save_txt, save_conf).
/// @errors as read_yolo_truth()
TENON_API FoundInPictures read_yolo_found(const std::string& folder, const LabelledPictures& truth);

/// The whole file as a text; empty for an empty file. @errors as map_file()
TENON_API std::string read_text_file(const std::string& path);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
