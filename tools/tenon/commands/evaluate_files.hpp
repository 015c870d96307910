// SPDX-License-Identifier: Apache-2.0
// The files of an evaluation: what is known, and what was found.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tenon/vision/found_lines.hpp>
#include <tenon/vision/labelled_pictures.hpp>
#include <tenon/vision/mot_files.hpp>

#include <tenon/tools/tenon/shared/output_file.hpp>

namespace tenon::tool {

/// A video whose objects have ids.
struct Sequence {
  std::string name;
  std::string pictures;  ///< The folder of its pictures, if there is one beside the ground truth.
  vision::MotTracks truth, found;
};

/// What is known. Pictures, sequences, or both (a video with boxes and ids).
struct KnownObjects {
  bool has_pictures = false;
  bool is_video = false;  ///< The pictures are the frames of a video, in their order.
  vision::LabelledPictures pictures;
  std::vector<Sequence> sequences;
  bool by_labels = false;  ///< Classes of the sequences are positions in pictures.labels, plus one.
};

/// The class of objects that count neither way, where classes are labels.
constexpr int kDifficultClass = 0;

struct KnownOptions {
  std::string truth, pictures, labels_file, size;
};

/// Reads ground truth by its form: COCO's JSON, the JSON of models/demo.json, MOTChallenge's text or folders, a folder of YOLO's text files.
/// @errors as the readers of vision; kInvalidArgument: YOLO's files without `pictures` and `size`.
KnownObjects read_known(const KnownOptions& options, CommandFiles& files);

/// Reads results in the form that fits the ground truth, or the lines of the element "json" (.jsonl), into `known` and what it returns.
/// @param labels  For lines and ground truth without labels: only objects of these labels; empty: all.
/// @param notes   Gets sentences about what was left out.
/// @errors as the readers of vision; kNotFound: a sequence without results.
vision::FoundInPictures read_found(KnownObjects& known, const std::string& results,
                                   const std::vector<std::string>& labels, CommandFiles& files,
                                   std::vector<std::string>& notes);

/// The positions in `to` of labels that results name; -1: it is none of them.
class LabelIds {
 public:
  explicit LabelIds(const std::vector<std::string>& to) : to_(to) {}
  int of(const std::string& label) const;

 private:
  const std::vector<std::string>& to_;
};

/// A detection as it is evaluated. @return False: its label is none of those of the ground truth.
bool add_found(const vision::Detection& detection, vision::MaskRuns mask, const LabelIds& ids,
               std::vector<vision::CocoFound>& into);
/// A tracked object of frame `index`.
void add_tracked(const vision::Detection& detection, std::int64_t track_id, int class_id, std::size_t index,
                 vision::MotTracks& into);

}  // namespace tenon::tool
