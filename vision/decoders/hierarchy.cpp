// SPDX-License-Identifier: Apache-2.0
// Classes in a tree, as models of Geti have them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/function_decoder.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

constexpr std::size_t kMostScores = 1'000'000;  ///< More than any model has; sums of such numbers stay numbers.

/// Heads whose classes exclude each other, then classes that are independent. A label counts where all of its ancestors do, as Model
/// API's greedy resolver decides. @source openvino-model-api, models/classification.py
class HierarchyDecoder final : public ResultDecoder {
 public:
  /// @errors kInvalidArgument: a text that is no such description.
  explicit HierarchyDecoder(const std::string& text) {
    try {
      const nlohmann::json all = nlohmann::json::parse(text), &heads = all.at("cls_heads_info");
      groups_ = heads.at("all_groups").get<std::vector<std::vector<std::string>>>();
      const auto count = heads.at("num_multiclass_heads").get<std::size_t>();
      for (std::size_t i = 0; i < count; ++i) {
        const nlohmann::json& range = heads.at("head_idx_to_logits_range").at(std::to_string(i));
        ranges_.emplace_back(range.at(0).get<std::size_t>(), range.at(1).get<std::size_t>());
        const auto [begin, end] = ranges_[i];
        if (begin > end || end > kMostScores || i >= groups_.size() || end - begin != groups_[i].size() || begin == end)
          throw Error(Code::kInvalidArgument, "head " + std::to_string(i) + " has not as many scores as labels");
      }
      first_independent_ = heads.at("num_single_label_classes").get<std::size_t>();
      independent_ = heads.at("num_multilabel_classes").get<std::size_t>();
      if (first_independent_ > kMostScores)
        throw Error(Code::kInvalidArgument, "num_single_label_classes is " + std::to_string(first_independent_));
      if (groups_.size() != count + independent_ ||
          std::any_of(groups_.begin(), groups_.end(), [](const auto& group) { return group.empty(); }))
        throw Error(Code::kInvalidArgument, "all_groups has not a group for each head and each independent label");
      ids_ = heads.at("label_to_idx").get<std::map<std::string, int>>();
      for (const nlohmann::json& edge : all.at("label_tree_edges")) parents_[edge.at(0)] = edge.at(1);
    } catch (const std::exception& error) {
      throw Error(Code::kInvalidArgument,
                  std::string("decoding Hierarchical: parameter hierarchical_config is no description "
                              "of Model API: ") +
                      error.what());
    }
  }

  bool read(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) override {
    std::size_t count = first_independent_ + independent_;
    for (const auto& [begin, end] : ranges_) count = std::max(count, end);
    const auto output = std::find_if(outputs.begin(), outputs.end(),
                                     [&](const Tensor& one) { return is_real(one) && one.element_count() == count; });
    if (output == outputs.end())
      throw Error(Code::kInvalidArgument, "decoding Hierarchical: no output has " + std::to_string(count) +
                                              " scores; there are:" + list_of(outputs));
    const float* values = floats(*output, values_);
    std::map<std::string, float> likely;  // Those that their group prefers.
    for (std::size_t head = 0; head < ranges_.size(); ++head) add_best(values, head, likely);
    for (std::size_t i = 0; i < independent_; ++i) {
      const float score = sigmoid(values[first_independent_ + i]);
      if (score > options.confidence_threshold) likely[groups_[ranges_.size() + i][0]] = score;
    }
    for (const auto& [label, score] : likely) {
      if (!has_ancestors(label, likely)) continue;
      const auto id = ids_.find(label);
      target.into.add(metadata::Classification{label, id == ids_.end() ? -1 : id->second, score, target.model},
                      target.parent);
    }
    return false;
  }

 private:
  void add_best(const float* values, std::size_t head, std::map<std::string, float>& likely) const {
    const auto [begin, end] = ranges_[head];
    std::size_t best = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(values[i])) return;  // The head is damaged.
      if (values[i] > values[best]) best = i;
    }
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += std::exp(static_cast<double>(values[i]) - values[best]);
    likely[groups_[head][best - begin]] = static_cast<float>(1 / sum);
  }
  bool has_ancestors(std::string label, const std::map<std::string, float>& likely) const {
    std::set<std::string> seen;  // Ends a circle.
    for (auto parent = parents_.find(label); parent != parents_.end() && seen.insert(label).second;
         parent = parents_.find(label)) {
      label = parent->second;
      if (!likely.count(label)) return false;
    }
    return true;
  }

  std::vector<std::vector<std::string>> groups_;
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;  ///< Scores of each head.
  std::size_t first_independent_ = 0, independent_ = 0;
  std::map<std::string, int> ids_;
  std::map<std::string, std::string> parents_;
  std::vector<float> values_;
};

}  // namespace

std::vector<DecoderType> hierarchy_types() {
  DecoderType type{"Hierarchical",
                   {"hierarchical_classification"},
                   "[1,scores]",
                   {{"hierarchical_config", "", "Model API's, as JSON; models of Geti have it"}},
                   false,
                   {},
                   {},
                   {}};
  type.fits = [](const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    return options.parameters.count("hierarchical_config") != 0 &&
           any_output(outputs, [](const TensorInfo& output) { return is_real(output.type); });
  };
  type.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<HierarchyDecoder>(settings.text("hierarchical_config"));
  };
  return {std::move(type)};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
