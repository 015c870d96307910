// SPDX-License-Identifier: Apache-2.0
// Readers of a model's outputs: one class for each kind of result.
#include <tenon/vision/results.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/vision/ctc.hpp>
#include <tenon/vision/keypoints.hpp>
#include <tenon/vision/masks.hpp>
#include <tenon/vision/oriented.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The kinds of results beside those of Decoder.
enum class Other : std::uint8_t {
  kSegmentation,
  kMaskedObjects,
  kBoxMaskedObjects,
  kPosedObjects,
  kOrientedObjects,
  kAnomalies,
  kHeatMaps,
  kCtc,
  kCtcBlankFirst
};

struct OtherName {
  const char* name;  ///< The name in messages.
  std::array<const char*, 4> accepted;
  Other kind;
};

constexpr OtherName kOthers[] = {
    {"Segmentation", {"segmentation", "semantic_segmentation", "semanticsegmentation"}, Other::kSegmentation},
    {"YOLOv8-seg", {"yolov8-seg", "yolov8_seg", "yolo11-seg", "yolo-seg"}, Other::kMaskedObjects},
    {"YOLOv8-pose", {"yolov8-pose", "yolov8_pose", "yolo11-pose", "yolo26-pose"}, Other::kPosedObjects},
    {"Heatmaps", {"heatmaps", "keypoints", "keypoint_detection"}, Other::kHeatMaps},
    {"CTC", {"ctc", "ctc-greedy", "ocr"}, Other::kCtc},
    {"CTC-blank-first", {"ctc-blank-first", "ctc_blank_first", "paddle_ocr"}, Other::kCtcBlankFirst},
    {"MaskRCNN", {"maskrcnn", "mask_rcnn", "mask-rcnn"}, Other::kBoxMaskedObjects},
    {"YOLOv8-obb", {"yolov8-obb", "yolov8_obb", "yolo11-obb", "yolo26-obb"}, Other::kOrientedObjects},
    {"AnomalyDetection", {"anomalydetection", "anomaly_detection", "anomaly"}, Other::kAnomalies},
};

const OtherName* find_other(const std::string& model_type) {
  for (const OtherName& one : kOthers) {
    for (const char* name : one.accepted) {
      if (name && lower(model_type) == name) return &one;
    }
  }
  return nullptr;
}

}  // namespace

class ResultReader::Kind {
 public:
  virtual ~Kind() = default;
  virtual bool keeps_tensors() const { return false; }
  virtual void place(const FrameGeometry&, std::size_t /*frame_width*/, std::size_t /*frame_height*/) {}
  virtual void read(std::span<const Tensor> outputs, metadata::Collection& into, metadata::Id parent) = 0;
};

/// Reads objects or classes.
class ResultReader::Objects final : public Kind {
 public:
  Objects(DecodeOptions options, std::string model) : decoder_(std::move(options)), model_(std::move(model)) {
    is_class_ = lower(decoder_.options().model_type) == "classification";
  }
  void place(const FrameGeometry& geometry, std::size_t frame_width, std::size_t frame_height) override {
    decoder_.place(geometry, frame_width, frame_height);
  }
  void read(std::span<const Tensor> outputs, metadata::Collection& into, metadata::Id parent) override {
    for (const Detection& found : decoder_.decode(outputs)) {
      if (is_class_) {
        into.add(metadata::Classification{found.label, found.label_id, found.score, model_}, parent);
      } else {
        const Box& box = found.box;
        into.add(metadata::Detection{{box.x1, box.y1, box.x2, box.y2}, found.label, found.label_id, found.score, -1},
                 parent);
      }
    }
    // Labels that exclude each other are ranked, and only the first ones are asked for.
    const DecodeOptions& options = decoder_.options();
    if (decoder_.left_out() && (!is_class_ || options.multi_label)) into.add(LeftOut{options.top_k, model_}, parent);
  }

 private:
  Decoder decoder_;
  std::string model_;
  bool is_class_ = false;
};

class ResultReader::Tensors final : public Kind {
 public:
  Tensors(std::string model, std::vector<std::string> names) : model_(std::move(model)), names_(std::move(names)) {}
  bool keeps_tensors() const override { return true; }
  void read(std::span<const Tensor> outputs, metadata::Collection& into, metadata::Id parent) override {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      into.add(metadata::TensorOutput{outputs[i], i < names_.size() ? names_[i] : std::string(), model_, ""}, parent);
  }

 private:
  std::string model_;
  std::vector<std::string> names_;
};

/// The model types that have no Decoder.
class ResultReader::Shapes final : public Kind {
 public:
  Shapes(DecodeOptions options, std::string model, Other kind)
      : options_(std::move(options)), model_(std::move(model)), kind_(kind) {
    if (kind_ == Other::kCtc || kind_ == Other::kCtcBlankFirst) {
      ctc_.alphabet = options_.labels;
      ctc_.blank_first = kind_ == Other::kCtcBlankFirst;
      ctc_.beam_width = options_.beam_width;
    }
  }
  void place(const FrameGeometry& geometry, std::size_t frame_width, std::size_t frame_height) override {
    options_.geometry = geometry;
    options_.frame_width = frame_width;
    options_.frame_height = frame_height;
  }
  void read(std::span<const Tensor> outputs, metadata::Collection& into, metadata::Id parent) override {
    bool is_cut = false;
    switch (kind_) {
      case Other::kSegmentation:
        into.add(segment(outputs, options_), parent);
        break;
      case Other::kMaskedObjects:
      case Other::kBoxMaskedObjects:
        for (MaskedObject& found : kind_ == Other::kMaskedObjects ? masked_objects(outputs, options_, &is_cut)
                                                                  : box_masked_objects(outputs, options_, &is_cut)) {
          const metadata::Id object = into.add(std::move(found.object), parent);
          into.add(std::move(found.mask), object);
        }
        break;
      case Other::kPosedObjects:
        for (PosedObject& found : posed_objects(outputs, options_, &is_cut)) {
          const metadata::Id object = into.add(std::move(found.object), parent);
          add_points(std::move(found.points), "keypoints", into, object);
        }
        break;
      case Other::kOrientedObjects:
        for (OrientedObject& found : oriented_objects(outputs, options_, &is_cut)) {
          const metadata::Id object = into.add(std::move(found.object), parent);
          add_points(std::move(found.corners), "corners", into, object);
        }
        break;
      case Other::kAnomalies: {
        Anomaly found = anomaly(outputs, options_);
        into.add(metadata::Classification{std::move(found.label), found.label_id, found.score, model_}, parent);
        if (found.places) into.add(std::move(*found.places), parent);
        break;
      }
      case Other::kHeatMaps:
        add_points(keypoints_of_maps(outputs, options_), "keypoints", into, parent);
        break;
      case Other::kCtc:
      case Other::kCtcBlankFirst: {
        CtcText found = ctc_text(outputs, ctc_);
        into.add(metadata::Classification{std::move(found.text), -1, static_cast<float>(found.probability), model_},
                 parent);
        break;
      }
    }
    if (is_cut) into.add(LeftOut{options_.top_k, model_}, parent);
  }

 private:
  void add_points(Keypoints points, const char* name, metadata::Collection& into, metadata::Id parent) const {
    into.add(metadata::TensorOutput{std::move(points), name, model_, "keypoints"}, parent);
  }

  DecodeOptions options_;
  std::string model_;
  const Other kind_;
  CtcOptions ctc_;
};

std::string LeftOut::json() const {
  return "\"top_k\":" + std::to_string(top_k) + ",\"model\":" + metadata::json_string(model);
}

std::string ModelRemark::json() const {
  return "\"text\":" + metadata::json_string(text) + ",\"model\":" + metadata::json_string(model);
}

std::vector<std::string> result_types() {
  std::vector<std::string> all = model_types();
  for (const OtherName& one : kOthers) all.emplace_back(one.name);
  return all;
}

std::unique_ptr<ResultReader::Kind> ResultReader::make_objects(DecodeOptions options, std::string model) {
  try {
    return std::make_unique<Objects>(std::move(options), std::move(model));
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument) throw;
    std::string beside;
    for (const OtherName& one : kOthers) beside += std::string(", ") + one.name;
    throw Error(error.code(), error.what() + beside);
  }
}

ResultReader::ResultReader(DecodeOptions options, std::string model, std::vector<std::string> names) {
  if (options.model_type.empty())
    kind_ = std::make_unique<Tensors>(std::move(model), std::move(names));
  else if (const OtherName* other = find_other(options.model_type))
    kind_ = std::make_unique<Shapes>(std::move(options), std::move(model), other->kind);
  else
    kind_ = make_objects(std::move(options), std::move(model));
}
ResultReader::~ResultReader() = default;
ResultReader::ResultReader(ResultReader&&) noexcept = default;
ResultReader& ResultReader::operator=(ResultReader&&) noexcept = default;

bool ResultReader::keeps_tensors() const { return kind_->keeps_tensors(); }
void ResultReader::place(const FrameGeometry& geometry, std::size_t frame_width, std::size_t frame_height) {
  kind_->place(geometry, frame_width, frame_height);
}
void ResultReader::read(std::span<const Tensor> outputs, metadata::Collection& into, metadata::Id parent) {
  kind_->read(outputs, into, parent);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
