// SPDX-License-Identifier: Apache-2.0
// The table of facts.
#include <tenon/graph/knowledge/keys.hpp>

#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/internal/trimmed.hpp>
#include <tenon/graph/knowledge/internal/values.hpp>

namespace tenon {
inline namespace v1 {
namespace {

constexpr FactKey kKeys[] = {
    {"layout", FactForm::kText, true, "order of the input's axes: NCHW or NHWC"},
    {"color_space", FactForm::kText, true, "order of the colours: RGB, BGR or GRAY"},
    {"mean_values", FactForm::kNumbers, true,
     "subtracted from samples of 0 to 255: one number, or one for each channel"},
    {"scale_values", FactForm::kNumbers, true,
     "what samples are divided by afterwards: one number, or one for each channel"},
    {"resize_type", FactForm::kText, true, "standard (stretched), fit_to_window, fit_to_window_letterbox or crop"},
    {"interpolation", FactForm::kText, true, "linear or nearest"},
    {"pad_value", FactForm::kNumbers, true, "sample beside a picture that does not fill the input, 0 to 255", 0, 255},
    {"crop_fraction", FactForm::kNumbers, true,
     "part of the picture's width and height that is used, around its centre"},
    {"input_size", FactForm::kNumbers, true, "height and width for inputs without a fixed size"},
    {"shortest_edge", FactForm::kNumbers, true, "length of a picture's shorter side in inputs without a fixed size"},
    {"longest_edge", FactForm::kNumbers, true, "the most that its longer side may have"},
    {"size_multiple", FactForm::kNumbers, true, "what its sides are multiples of"},
    {"model_type", FactForm::kText, false, "what the outputs mean: the name of a decoder"},
    {"task", FactForm::kText, false, "what the model was trained for, in its exporter's words"},
    {"labels", FactForm::kNames, false, "names of the classes, in their order"},
    {"confidence_threshold", FactForm::kNumbers, false, "results with a lower score are left out"},
    {"iou_threshold", FactForm::kNumbers, false, "overlap above which two boxes are one object"},
    {"topk", FactForm::kNumbers, false, "most results of a picture"},
    {"multilabel", FactForm::kFlag, false, "classes do not exclude each other"},
    {"end_to_end", FactForm::kFlag, false, "boxes are suppressed inside of the model"},
    {"keypoints", FactForm::kNumbers, false, "points of an object, and numbers of each point"},
    {"stride", FactForm::kNumbers, false, "pixels of the input for a cell of the coarsest grid"},
    {"image_threshold", FactForm::kNumbers, false, "score above which a picture is an anomaly"},
    {"pixel_threshold", FactForm::kNumbers, false, "score above which a pixel belongs to a place"},
    {"normalization_scale", FactForm::kNumbers, false, "what scores of anomalies are divided by"},
    {"unclip_ratio", FactForm::kNumbers, false, "how much places of text grow"},
    {"anchors", FactForm::kNumbers, false, "width and height of each anchor"},
};

}  // namespace

std::span<const FactKey> fact_keys() { return kKeys; }

const FactKey* find_fact_key(const std::string& name) {
  for (const FactKey& key : kKeys) {
    if (name == key.name) return &key;
  }
  return nullptr;
}

std::string checked_fact(const std::string& key, const std::string& value) {
  const FactKey* const known = find_fact_key(key);
  if (!known) {
    std::string all;
    for (const FactKey& one : kKeys) all += std::string(all.empty() ? "" : ", ") + one.name;
    throw Error(Code::kInvalidArgument, "a model has no fact \"" + key + "\"; there are " + all);
  }
  const auto refuse = [&](const std::string& wanted) {
    throw Error(Code::kInvalidArgument, key + " is \"" + value + "\"; it must be " + wanted);
  };
  bool flag = false;
  std::vector<double> numbers;
  switch (known->form) {
    case FactForm::kNumbers:
      if (!read_numbers(value, numbers) || numbers.empty()) refuse("one number or several");
      for (const double number : numbers)
        if (!(number >= known->least && number <= known->most))
          refuse("from " + number_text(known->least) + " to " + number_text(known->most));
      break;
    case FactForm::kFlag:
      if (!read_flag(value, flag)) refuse("YES or NO");
      break;
    case FactForm::kNames: {
      std::vector<std::string> names = split_names(value, ',');
      if (names.empty()) refuse("one name or several");
      for (std::string& name : names) name = std::string(trimmed(name));
      return names_text(names);
    }
    case FactForm::kText:
      if (value.empty()) refuse("a word");
      break;
  }
  return value;
}

}  // namespace v1
}  // namespace tenon
