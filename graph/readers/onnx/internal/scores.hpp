// SPDX-License-Identifier: Apache-2.0
// Scores of ai.onnx.ml: what follows the model proper.
#pragma once

#include <string>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

/// Applies NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT to rows of scores. @errors kInvalidArgument: another name
Out transformed(const Out& scores, const std::string& transform);

/// The labels of a classifier: integers, strings, or places where it states neither.
class ClassLabels {
 public:
  /// @errors kInvalidArgument: both attributes are given
  ClassLabels(const NodeContext& node, const char* integers, const char* strings);
  std::size_t count() const { return ints_.empty() ? strings_.size() : ints_.size(); }
  /// Those at places i64 [batch].
  Out at(const Out& places) const;
  /// Those of the highest scores.
  Out of_highest(const Out& scores) const;

 private:
  Ints ints_;
  std::vector<std::string> strings_;
};

/// ClassLabels and scores of two classes from one score [batch, 1] for the second. The second is the label where the score is over
/// `threshold`. @param complement  The first class has 1 - score, else -score.
OutputVector two_classes(const ClassLabels& labels, const Out& score, double threshold, bool complement,
                         const std::string& transform);

/// Data as rows of reals: f64 stays, all else is f32; a vector is one row. @errors kInvalidArgument: another rank, or strings
Out real_rows(const NodeContext& node);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
