// SPDX-License-Identifier: Apache-2.0
// MulticlassNms and MatrixNms, but for the suppression within a class, and NMSRotated, but for the loop over classes: for
// the reference kernels and for devices with loops of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

class Node;

/// What the node's attributes say about a class.
struct MulticlassNms {
  bool is_matrix = false;       ///< Scores are lowered where boxes overlap; else boxes that overlap are left out.
  bool is_normalized = true;    ///< Else boxes are of whole pixels, and both ends belong to them.
  double score = 0;             ///< Least score; for a matrix above it.
  std::int64_t most = -1;       ///< Boxes that are looked at, the best first; negative: all.
  double overlap = 0, eta = 1;  ///< Of MulticlassNms.
  bool is_gaussian = false;     ///< Of MatrixNms, as are the next two.
  double sigma = 2, post = 0;

  bool is_candidate(float score_of_box) const {
    const auto given = static_cast<double>(score_of_box);
    return given > score || (!is_matrix && given == score);
  }
  /// The threshold after a box was kept.
  double next_overlap(double now) const { return eta < 1 && now > 0.5 ? now * eta : now; }
};

struct SuppressedBox {
  double score = 0;
  std::int64_t batch = 0, category = 0, place = 0;  ///< `place` among all boxes of the input.
  const float* box = nullptr;
};

/// One class of one picture.
struct PictureClass {
  const float *boxes = nullptr, *scores = nullptr;  ///< [count, 4] of x1, y1, x2, y2; [count]
  std::size_t count = 0;
  std::int64_t batch = 0, category = 0;
  std::int64_t first = 0, step = 1;  ///< The place of its first box, and from each to the next.
  std::vector<SuppressedBox> kept;

  const float* box(std::size_t index) const { return boxes + 4 * index; }
  void keep(std::size_t index, double score) {
    kept.push_back({score, batch, category, first + static_cast<std::int64_t>(index) * step, box(index)});
  }
};

/// Fills in what each class keeps, the best first, equal ones in their order.
using SuppressClasses = std::function<void(const MulticlassNms& rule, std::span<PictureClass> classes)>;

/// Computes the node. @errors kInvalidArgument: more boxes in pictures than there are.
TENON_API void suppress_classes(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                const SuppressClasses& suppress);

/// Calls body(begin, end) for parts of [0, count), all at once if it likes.
using LoopOverClasses =
    std::function<void(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& body)>;
/// Computes a NMSRotated.
TENON_API void suppress_rotated(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                const LoopOverClasses& loop);

}  // namespace v1
}  // namespace tenon
