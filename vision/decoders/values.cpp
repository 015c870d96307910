// SPDX-License-Identifier: Apache-2.0
// Outputs that are values of the picture: depth, embeddings, attributes.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/cells.hpp>
#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/function_decoder.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

// Depth
// ---------------------------------------------------------------------------------------------

bool is_depth(const TensorInfo& output) {
  return (is_real_of_rank(output, 3) || (is_real_of_rank(output, 4) && output.shape[1] == 1)) &&
         checked_element_count(output.shape).value_or(0) > 0;
}

/// The part of a map that lies over the frame.
bool read_depth(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) {
  std::vector<TensorInfo> infos;
  const Tensor& output = first_output(outputs, infos, is_depth);
  std::vector<float> scratch;
  const float* values = floats(output, scratch);
  const std::size_t height = output.shape()[output.shape().size() - 2], width = output.shape().back();
  const Cells cells = cells_of(placed_in(options), width, height, options);
  Tensor depth(ElementType::kF32, Shape{cells.y2 - cells.y1, cells.x2 - cells.x1});
  auto* to = depth.data<float>();
  for (std::size_t y = cells.y1; y < cells.y2; ++y)
    to = std::copy(values + y * width + cells.x1, values + y * width + cells.x2, to);
  target.into.add(metadata::TensorOutput{std::move(depth), "depth", target.model, "depth"}, target.parent);
  return false;
}

// Embeddings
// ---------------------------------------------------------------------------------------------

/// [1,d] or [1,d,1,1].
bool is_vector(const TensorInfo& output) {
  const Shape& shape = output.shape;
  return is_real(output.type) && (shape.size() == 2 || (shape.size() == 4 && shape[2] * shape[3] == 1)) &&
         shape[0] == 1 && shape[1] > 0;
}

class EmbeddingDecoder final : public ResultDecoder {
 public:
  explicit EmbeddingDecoder(bool normalises) : normalises_(normalises) {}
  bool read(const DecodeOptions&, std::span<const Tensor> outputs, const ResultTarget& target) override {
    const Tensor& output = first_output(outputs, infos_, is_vector);
    const float* values = floats(output, values_);
    const std::size_t count = output.shape()[1];
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) squares += static_cast<double>(values[i]) * values[i];
    if (!std::isfinite(squares) || (normalises_ && squares == 0)) return false;  // It is like nothing.
    const double factor = normalises_ ? 1 / std::sqrt(squares) : 1;
    Tensor made(ElementType::kF32, Shape{count});
    std::transform(values, values + count, made.data<float>(),
                   [&](float value) { return static_cast<float>(value * factor); });
    target.into.add(metadata::TensorOutput{std::move(made), "embedding", target.model, "embedding"}, target.parent);
    return false;
  }

 private:
  const bool normalises_;
  std::vector<TensorInfo> infos_;
  std::vector<float> values_;
};

// Attributes
// ---------------------------------------------------------------------------------------------

/// How one output is read.
struct Attribute {
  enum class Form : std::uint8_t { kOneOf, kAnyOf, kNumber };
  std::string name;
  Form form = Form::kOneOf;
  std::vector<std::string> labels;
  double scale = 1;
};

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// "gender:female/male": the best of them; "age:*100": a number; "wears:+hat/bag": each that reaches the threshold.
Attribute attribute_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  Attribute made;
  if (colon == std::string::npos || colon + 1 == text.size())
    throw Error(Code::kInvalidArgument, "decoding Attributes: parameter outputs has \"" + text +
                                            "\"; NAME:one/other, NAME:+any/of or NAME:*FACTOR are expected");
  made.name = text.substr(0, colon);
  std::string rest = text.substr(colon + 1);
  if (rest[0] == '*') {
    made.form = Attribute::Form::kNumber;
    if (!parse_text(rest.substr(1), made.scale) || !std::isfinite(made.scale))
      throw Error(Code::kInvalidArgument,
                  "decoding Attributes: parameter outputs has \"" + text + "\"; behind * a number is expected");
    return made;
  }
  if (rest[0] == '+') made.form = Attribute::Form::kAnyOf, rest.erase(0, 1);
  made.labels = parts_of(rest, '/');
  return made;
}

class AttributeDecoder final : public ResultDecoder {
 public:
  explicit AttributeDecoder(const DecoderSettings& settings) {
    if (settings.text("outputs").empty()) return;
    for (const std::string& word : settings.words("outputs")) attributes_.push_back(attribute_of(word));
  }

  bool read(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) override {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Attribute* attribute = attribute_for(options, outputs, i);
      if (attribute && is_real(outputs[i])) read_one(options, outputs[i], *attribute, target);
    }
    return false;
  }

 private:
  /// By the name of the output; without one by its place. If nothing is stated, what the output's extent says.
  const Attribute* attribute_for(const DecodeOptions& options, std::span<const Tensor> outputs, std::size_t output) {
    const std::string name = output < options.output_names.size() ? options.output_names[output] : std::string();
    if (attributes_.empty()) {
      own_.name = name.empty() ? std::to_string(output) : name;
      own_.form = outputs[output].element_count() == 1 ? Attribute::Form::kNumber : Attribute::Form::kOneOf;
      return &own_;
    }
    const auto found =
        std::find_if(attributes_.begin(), attributes_.end(), [&](const Attribute& one) { return one.name == name; });
    if (found != attributes_.end()) return &*found;
    const bool are_named = std::any_of(attributes_.begin(), attributes_.end(), [&](const Attribute& one) {
      return std::find(options.output_names.begin(), options.output_names.end(), one.name) !=
             options.output_names.end();
    });
    return are_named || output >= attributes_.size() ? nullptr : &attributes_[output];
  }

  void read_one(const DecodeOptions& options, const Tensor& output, const Attribute& attribute,
                const ResultTarget& target) {
    const std::size_t count = output.element_count();
    const bool is_number = attribute.form == Attribute::Form::kNumber;
    if (count == 0 || (is_number && count != 1) || (!attribute.labels.empty() && attribute.labels.size() != count))
      throw Error(Code::kInvalidArgument,
                  "decoding Attributes: \"" + attribute.name + "\" is " + to_string(output) + ", and " +
                      (is_number ? "one number" : std::to_string(attribute.labels.size()) + " labels") +
                      " would be one value each");
    const float* values = floats(output, values_);
    const auto add = [&](std::string label, int id, float score) {
      target.into.add(metadata::Classification{std::move(label), id, score, target.model + "/" + attribute.name},
                      target.parent);
    };
    const auto label = [&](std::size_t i) {
      return attribute.labels.empty() ? "#" + std::to_string(i) : attribute.labels[i];
    };
    if (is_number) {
      if (!std::isfinite(values[0])) return;
      char text[32];
      std::snprintf(text, sizeof text, "%.1f", values[0] * attribute.scale);
      return add(text, -1, 1);
    }
    if (attribute.form == Attribute::Form::kAnyOf) {
      for (std::size_t i = 0; i < count; ++i)
        if (values[i] >= options.confidence_threshold && values[i] <= 1.5f)
          add(label(i), static_cast<int>(i), std::min(values[i], 1.0f));
      return;
    }
    std::size_t best = 0;
    double sum = 0, total = 0;
    bool are_shares = true;
    for (std::size_t i = 0; i < count; ++i) {
      if (values[i] > values[best] || std::isnan(values[best])) best = i;
      are_shares &= values[i] >= 0 && values[i] <= 1;
      sum += values[i];
    }
    if (!std::isfinite(values[best])) return;
    for (std::size_t i = 0; i < count; ++i)
      total += std::isnan(values[i]) ? 0 : std::exp(static_cast<double>(values[i]) - values[best]);
    const bool are_probabilities = are_shares && std::abs(sum - 1) < 1e-2;
    add(label(best), static_cast<int>(best), are_probabilities ? values[best] : static_cast<float>(1 / total));
  }

  std::vector<Attribute> attributes_;
  Attribute own_;
  std::vector<float> values_;
};

}  // namespace

std::vector<DecoderType> value_types() {
  DecoderType embedding{"Embedding",
                        {"reid", "re-identification", "feature_vector"},
                        "[1,d] or [1,d,1,1]",
                        {{"normalise", "true", "vectors get the length 1, so that their product is the cosine"}},
                        false,
                        {},
                        {},
                        {}};
  embedding.fits = [](const DecodeOptions&, std::span<const TensorInfo> outputs) {
    return any_output(outputs, is_vector);
  };
  embedding.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<EmbeddingDecoder>(settings.flag("normalise"));
  };
  DecoderType attributes{
      "Attributes",
      {"age_gender", "multi_output"},
      "an output for each attribute, with a batch of 1",
      {{"outputs", "",
        "NAME:one/other (the best), NAME:+any/of (those above the threshold) or NAME:*FACTOR (a number), "
        "separated by commas; NAME is an output's, or they are in the outputs' order"}},
      false,
      {},
      {},
      {}};
  attributes.fits = [](const DecodeOptions&, std::span<const TensorInfo> outputs) {
    return outputs.size() > 1 && std::all_of(outputs.begin(), outputs.end(), [](const TensorInfo& output) {
             return is_real(output.type) && !output.shape.empty() && output.shape[0] == 1 &&
                    checked_element_count(output.shape).value_or(0) == (output.shape.size() > 1 ? output.shape[1] : 1);
           });
  };
  attributes.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<AttributeDecoder>(settings);
  };
  return {function_type(
              "Depth", {"depth_estimation", "midas", "depth_anything"}, "[1,h,w] or [1,1,h,w]",
              [](const DecodeOptions&, std::span<const TensorInfo> outputs) { return any_output(outputs, is_depth); },
              read_depth),
          std::move(embedding), std::move(attributes)};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
