// SPDX-License-Identifier: Apache-2.0
// Reads options from metadata, chooses the output, and maps boxes back to the frame's pixels.
#include <tenon/vision/decode.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

#include <tenon/core/error.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/knowledge/model_info.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/vision/decoder_types.hpp>
#include <tenon/vision/internal/choosing.hpp>
#include <tenon/vision/internal/finish.hpp>
#include <tenon/vision/internal/reading.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

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

/// Settings of the decoder that are stated under their own names.
void read_parameters(const ModelInfo& info, DecodeOptions& options) {
  const DecoderType* const type = options.model_type.empty() ? nullptr : find_decoder(options.model_type);
  if (!type) return;
  for (const DecoderParameter& one : type->parameters) {
    std::string text = info.text(one.name);
    // Facts have blanks between numbers, settings have commas.
    const bool is_list = text.find_first_not_of("0123456789.+-eE ") == std::string::npos;
    if (is_list) std::replace(text.begin(), text.end(), ' ', ',');
    if (!text.empty()) options.parameters[one.name] = std::move(text);
  }
}

DecodeOptions from_metadata(const Model& model, const std::map<std::string, std::string>& facts) {
  const ModelInfo info(model, facts);
  DecodeOptions options;
  options.model_type = info.model_type();
  options.labels = info.labels();
  options.end_to_end = info.is_end_to_end();
  options.keypoint_count = info.keypoint_count();
  options.keypoint_values = info.keypoint_values();
  // Model API calls classes in a tree a classification, too.
  if (lower_case(options.model_type) == "classification" && !info.text("hierarchical_config").empty())
    options.model_type = "Hierarchical";
  const bool is_class = lower_case(options.model_type) == "classification";
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
  read_parameters(info, options);
  return options;
}

void set_input_size(const Model& model, DecodeOptions& options) {
  if (model.get_parameters().empty()) return;
  const PartialShape& shape = model.get_parameters()[0]->get_partial_shape();
  if (shape.rank().is_dynamic() || (shape.size() != 4 && shape.size() != 3) || !shape.is_static()) return;
  const std::size_t first = shape.size() - 3;  // Behind the batch, where there is one.
  const bool planar = shape[first].get_length() <= 4;
  options.input_height = static_cast<std::size_t>(shape[first + (planar ? 1 : 0)].get_length());
  options.input_width = static_cast<std::size_t>(shape[first + (planar ? 2 : 1)].get_length());
}

void set_frame(const InputStageSpec& spec, DecodeOptions& options) {
  options.input_width = spec.model_width();
  options.input_height = spec.model_height();
  options.geometry = spec.upright;
  options.frame_width = spec.upright_width();
  options.frame_height = spec.upright_height();
}

}  // namespace

std::vector<std::string> model_types() {
  std::vector<std::string> names;
  for (const DecoderType* type : decoder_types()) names.push_back(type->name);
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

std::vector<std::string> fitting_decoders(const Model& model) {
  DecodeOptions options;
  set_input_size(model, options);
  std::vector<TensorInfo> outputs;
  for (const auto& output : model.outputs()) {
    PartialShape shape = output.get_partial_shape();
    if (shape.rank().is_static() && shape.size() > 0 && shape[0].is_dynamic()) shape[0] = Dimension(1);
    if (!shape.is_static()) return {};
    outputs.push_back({output.get_element_type(), shape.to_shape(), {}});
  }
  return decoders_that_fit(options, outputs);
}

Decoder::Decoder(DecodeOptions options)
    : options_(std::move(options)), chosen_(std::make_unique<ChosenDecoder>(options_)) {
  if (!chosen_->objects())
    throw Error(Code::kInvalidArgument, "decoding " + options_.model_type +
                                            ": its results are neither objects nor classes; ResultReader reads them");
}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

void Decoder::place(const FrameGeometry& geometry, std::size_t frame_width, std::size_t frame_height) {
  place_picture(options_, geometry, frame_width, frame_height);
}

const std::vector<Detection>& Decoder::decode(std::span<const Tensor> outputs) {
  chosen_->check(options_, outputs);
  ObjectDecoder& decoder = *chosen_->objects();
  left_out_ = find_objects(decoder, options_, outputs, candidates_);
  // Elements are assigned, not rebuilt, so that their strings keep their memory.
  found_.resize(candidates_.size());
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& c = candidates_[i];
    found_[i].box = place_of(decoder, options_, c);
    found_[i].label_id = c.label_id;
    found_[i].score = c.score;
    if (static_cast<std::size_t>(c.label_id) < options_.labels.size())
      found_[i].label = options_.labels[static_cast<std::size_t>(c.label_id)];
    else
      found_[i].label.assign("#").append(std::to_string(c.label_id));
  }
  return found_;
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
