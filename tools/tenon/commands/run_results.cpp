// SPDX-License-Identifier: Apache-2.0
// Reads the detections of frames, by the model's own description of its outputs.
#include <tenon/tools/tenon/commands/run_results.hpp>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <tenon/core/error.hpp>
#include <tenon/runtime/compiled_model.hpp>

namespace tenon::tool {

OutputReader::OutputReader(const vision::DecodeOptions& options, const std::string& model)
    : width_(static_cast<float>(options.frame_width)), height_(static_cast<float>(options.frame_height)) {
  try {
    decoder_.emplace(options);
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument) throw;
    reader_.emplace(options, model);
  }
}

const std::vector<vision::Detection>& OutputReader::read(InferRequest& request) {
  if (decoder_) {
    const std::vector<vision::Detection>& found = vision::detections(request, *decoder_);
    left_out_ = decoder_->left_out();
    return found;
  }
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < request.get_compiled_model().outputs().size(); ++i)
    outputs.push_back(request.get_output_tensor(i));
  all_ = std::make_shared<metadata::Collection>();
  reader_->read(outputs, *all_);
  left_out_ = all_->first<vision::LeftOut>() != nullptr;
  found_.clear();
  for (const auto& object : all_->all<metadata::Detection>()) {
    const metadata::Box& box = object->box;
    found_.push_back({{box.x1, box.y1, box.x2, box.y2}, object->label_id, object->score, object->label});
  }
  for (const auto& text : all_->all<metadata::Classification>())
    found_.push_back({{0, 0, width_, height_}, text->label_id, text->score, text->label});
  return found_;
}

Results::Results(const RunOptions& options, std::shared_ptr<const Model> model)
    : options_(options), model_(std::move(model)) {
  if (!options.ground_truth.empty()) truth_ = vision::read_ground_truth(options.ground_truth);
}

void Results::prepare(const FrameInfo& info) {
  info_ = info;
  vision::DecodeOptions shown = vision::decode_options(*model_, info);
  if (!options_.model_type.empty()) shown.model_type = options_.model_type;
  if (options_.confidence >= 0) shown.confidence_threshold = static_cast<float>(options_.confidence);
  if (options_.iou >= 0) shown.iou_threshold = static_cast<float>(options_.iou);
  if (options_.top_k > 0) shown.top_k = options_.top_k;
  top_k_ = shown.top_k;
  if (shown.model_type.empty()) {
    if (truth_)
      throw Error(Code::kInvalidArgument,
                  "--ground-truth: the model does not say what its outputs mean; add --model-type");
    shown_.reset();
    return;
  }
  shown_.emplace(shown, options_.model);
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
  measured_.emplace(measured, options_.model);
  for (std::size_t i = 0; i < truth_->labels.size() && !shown.labels.empty(); ++i) {
    const auto found = std::find(shown.labels.begin(), shown.labels.end(), truth_->labels[i]);
    if (found == shown.labels.end()) {
      throw Error(Code::kInvalidArgument, "--ground-truth \"" + options_.ground_truth + "\" has objects labelled \"" +
                                              truth_->labels[i] + "\", which the model does not know");
    }
    label_ids_[static_cast<int>(i)] = static_cast<int>(found - shown.labels.begin());
  }
}

void Results::collect(const Frame& frame, InferRequest& request) {
  if (!(frame.info() == info_)) prepare(frame.info());
  if (!shown_) return;
  if (truth_ && index_ < truth_->frames.size()) {
    std::vector<vision::Truth> truths = truth_->frames[index_];
    for (vision::Truth& truth : truths) {
      if (const auto id = label_ids_.find(truth.label_id); id != label_ids_.end()) truth.label_id = id->second;
    }
    meter_.add(measured_->read(request), truths);
  }
  ++index_;
  found_ = shown_->read(request);
  total_ += found_.size();
  cut_ += shown_->left_out();
}

std::optional<vision::MeanPrecision> Results::precision() const {
  if (!truth_ || meter_.pictures() == 0) return std::nullopt;
  return meter_.result();
}

std::string Results::note() const {
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

}  // namespace tenon::tool
