// SPDX-License-Identifier: Apache-2.0
// Reads options from metadata, chooses the output, and maps boxes back to the frame's pixels.
#include <tenon/vision/decode.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>

#include <tenon/core/error.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/knowledge/model_info.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/vision/internal/decoders.hpp>
#include <tenon/vision/internal/labelled_boxes.hpp>
#include <tenon/vision/internal/reading.hpp>
#include <tenon/vision/internal/scores.hpp>
#include <tenon/vision/internal/suppression.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::size_t kind_of(const std::string& model_type) {
  const auto kinds = decoder_kinds();
  std::string known;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    for (const char* name : kinds[k].other_names) {
      if (lower(model_type) == name) return k;
    }
    known += std::string(known.empty() ? "" : ", ") + kinds[k].name;
  }
  throw Error(Code::kInvalidArgument, (model_type.empty() ? "the model says no model_type (rt_info model_info)"
                                                          : "no decoder for the model type \"" + model_type + "\"") +
                                          "; known are " + known);
}

template <typename T>
void read_number(const ModelInfo& info, const char* key, T& value) {
  const std::string text = info.text(key);
  if (text.empty()) return;
  if (!parse_text(text, value) || !(static_cast<double>(value) >= 0 && static_cast<double>(value) < 1e9))
    throw Error(Code::kInvalidArgument, info.quoted(key) + " must be a number of 0 or more");
}

/// Whether the model's only result comes from a sigmoid, perhaps in another type or shape.
bool ends_in_sigmoid(const Model& model) {
  if (model.get_results().size() != 1) return false;
  std::shared_ptr<Node> node = model.get_results()[0]->input_value(0).get_node_shared_ptr();
  while (is_op(node, "Reshape") || is_op(node, "Convert") || is_op(node, "Squeeze") || is_op(node, "Unsqueeze"))
    node = node->input_value(0).get_node_shared_ptr();
  return is_op(node, "Sigmoid");
}

DecodeOptions from_metadata(const Model& model, const std::map<std::string, std::string>& facts) {
  const ModelInfo info(model, facts);
  DecodeOptions options;
  options.model_type = info.model_type();
  options.labels = info.labels();
  options.end_to_end = info.is_end_to_end();
  options.keypoint_count = info.keypoint_count();
  options.keypoint_values = info.keypoint_values();
  const bool is_class = lower(options.model_type) == "classification";
  if (const std::string text = info.text("multilabel"); is_class && !text.empty()) {
    if (!parse_text(text, options.multi_label))
      throw Error(Code::kInvalidArgument, info.quoted("multilabel") + " must be True or False");
    options.has_sigmoid = ends_in_sigmoid(model);
  }
  read_number(info, "topk", options.top_k);
  if (is_class) {
    // Labels that exclude each other are ranked; independent ones are each above the threshold or not.
    if (info.stated("topk").empty() && !options.multi_label) options.top_k = 5;
    if (!options.multi_label) options.confidence_threshold = 0;
  }
  read_number(info, "confidence_threshold", options.confidence_threshold);
  read_number(info, "iou_threshold", options.iou_threshold);
  read_number(info, "image_threshold", options.image_threshold);
  read_number(info, "pixel_threshold", options.pixel_threshold);
  read_number(info, "normalization_scale", options.normalization_scale);
  return options;
}

void set_input_size(const Model& model, DecodeOptions& options) {
  if (model.get_parameters().empty()) return;
  const PartialShape& shape = model.get_parameters()[0]->get_partial_shape();
  if (shape.rank().is_dynamic() || shape.size() != 4 || !shape.is_static()) return;
  const bool planar = shape[1].get_length() <= 4;
  options.input_height = static_cast<std::size_t>(shape[planar ? 2 : 1].get_length());
  options.input_width = static_cast<std::size_t>(shape[planar ? 3 : 2].get_length());
}

void set_frame(const InputStageSpec& spec, DecodeOptions& options) {
  options.input_width = spec.model_width();
  options.input_height = spec.model_height();
  options.geometry = spec.upright;
  options.frame_width = spec.upright_width();
  options.frame_height = spec.upright_height();
}

bool is_finite(const Candidate& candidate) {
  const Box& b = candidate.box;
  return std::isfinite(b.x1) && std::isfinite(b.y1) && std::isfinite(b.x2) && std::isfinite(b.y2) &&
         std::isfinite(candidate.score);
}

void check_place(const DecodeOptions& options) {
  if (options.geometry && (options.geometry->placed.width == 0 || options.geometry->placed.height == 0))
    throw Error(Code::kInvalidArgument,
                "decoding " + options.model_type + ": the frame has no place in the model's input");
}

}  // namespace

std::vector<std::string> model_types() {
  std::vector<std::string> names;
  for (const DecoderKind& kind : decoder_kinds()) names.emplace_back(kind.name);
  return names;
}

DecodeOptions decode_options(const Model& model) {
  DecodeOptions options = from_metadata(model, {});
  for (const auto& node : model.get_ordered_ops()) {
    if (!is_op(node, "InputStage")) continue;
    set_frame(spec_of(*node), options);
    return options;
  }
  set_input_size(model, options);
  return options;
}

DecodeOptions decode_options(const Model& model, const FrameInfo& info,
                             const std::map<std::string, std::string>& facts) {
  DecodeOptions options = from_metadata(model, facts);
  set_frame(make_spec(options_from(model, info)), options);
  return options;
}

Decoder::Decoder(DecodeOptions options) : options_(std::move(options)), kind_(kind_of(options_.model_type)) {
  const DecoderKind& kind = decoder_kinds()[kind_];
  if (!std::isfinite(options_.confidence_threshold) || !std::isfinite(options_.iou_threshold))
    throw Error(Code::kInvalidArgument,
                "decoding " + options_.model_type + ": confidence and IoU thresholds must be finite numbers");
  if (kind.needs_input_size && (options_.input_width == 0 || options_.input_height == 0))
    throw Error(Code::kInvalidArgument,
                "decoding " + options_.model_type +
                    ": the size of the model's input is not known; set input_width and input_height");
  check_place(options_);
}

void Decoder::place(const FrameGeometry& geometry, std::size_t frame_width, std::size_t frame_height) {
  options_.geometry = geometry;
  options_.frame_width = frame_width;
  options_.frame_height = frame_height;
  check_place(options_);
}

const std::vector<Detection>& Decoder::decode(std::span<const Tensor> outputs) {
  const DecoderKind& kind = decoder_kinds()[kind_];
  const auto fits = [&](const Tensor& t) { return is_real(t) && kind.fits(options_, t.shape()); };
  const auto chosen = std::find_if(outputs.begin(), outputs.end(), fits);
  const auto boxes = chosen == outputs.end() && kind.has_boxes ? find_labelled_boxes(outputs) : std::nullopt;
  if (chosen == outputs.end() && !boxes) {
    throw Error(Code::kInvalidArgument,
                std::string("decoding ") + kind.name + ": no output is " + kind.expects + " of f32 or f16" +
                    (options_.labels.empty() ? "" : " with " + std::to_string(options_.labels.size()) + " labels") +
                    " for an input of " + std::to_string(options_.input_width) + "x" +
                    std::to_string(options_.input_height) + "; there are:" + list_of(outputs));
  }
  candidates_.clear();
  bool is_suppressed = kind.is_suppressed;
  if (boxes) {
    add_labelled_boxes(*boxes, options_, 0, candidates_);
    is_suppressed = true;
  } else if (chosen->element_count() > 0) {
    DecodeScratch scratch{candidates_, best_score_, best_label_, is_suppressed};
    kind.decode(options_, chosen->shape(), floats(*chosen, values_), scratch);
  }
  std::erase_if(candidates_, [](const Candidate& c) { return !is_finite(c); });
  check_scores(kind.name, candidates_);
  if (kind.has_boxes) {
    keep_boxes(is_suppressed);
  } else {
    left_out_ = keep_best(candidates_, options_.top_k, never_suppresses, always_counts);
    for (Candidate& candidate : candidates_) {
      if (options_.frame_width)
        candidate.box = {0, 0, static_cast<float>(options_.frame_width), static_cast<float>(options_.frame_height)};
    }
  }
  // Elements are assigned, not rebuilt, so that their strings keep their memory.
  found_.resize(candidates_.size());
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& c = candidates_[i];
    found_[i].box = c.box;
    found_[i].label_id = c.label_id;
    found_[i].score = c.score;
    if (static_cast<std::size_t>(c.label_id) < options_.labels.size())
      found_[i].label = options_.labels[static_cast<std::size_t>(c.label_id)];
    else
      found_[i].label.assign("#").append(std::to_string(c.label_id));
  }
  return found_;
}

/// Whole boxes suppress each other, as in the models' own programs; then they are clipped. Those outside of the picture do not count
/// among the best.
void Decoder::keep_boxes(bool is_suppressed) {
  for (Candidate& candidate : candidates_) candidate.box = to_frame(options_, candidate.box);
  std::erase_if(candidates_, [](const Candidate& c) { return !(c.box.width() > 0 && c.box.height() > 0); });
  const auto is_visible = [&](const Candidate& c) {
    const Box box = clipped(options_, c.box);
    return box.width() > 0 && box.height() > 0;
  };
  left_out_ = is_suppressed
                  ? keep_best(candidates_, options_.top_k, never_suppresses, is_visible)
                  : keep_best(candidates_, options_.top_k, overlaps_more_than(options_.iou_threshold), is_visible);
  for (Candidate& candidate : candidates_) candidate.box = clipped(options_, candidate.box);
}

std::vector<Detection> detections(std::span<const Tensor> outputs, const DecodeOptions& options) {
  return Decoder(options).decode(outputs);
}

std::vector<Detection> detections(const Tensor& output, const DecodeOptions& options) {
  return Decoder(options).decode({&output, 1});
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
