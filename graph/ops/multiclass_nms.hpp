// SPDX-License-Identifier: Apache-2.0
// MulticlassNms and MatrixNms without the suppression within a class, and NMSRotated without the loop over classes:
// shared by the reference kernels and devices with their own loops.
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

/// The attributes of the node that apply to each class.
struct MulticlassNms {
  bool is_matrix = false;       ///< True: scores of overlapping boxes are lowered; false: overlapping boxes are
                                ///< removed.
  bool is_normalized = true;    ///< False: coordinates are whole pixels, and both ends are included.
  double score = 0;             ///< Minimum score, inclusive; exclusive for MatrixNms.
  std::int64_t most = -1;       ///< Number of boxes to examine, the best first; negative: all.
  double overlap = 0, eta = 1;  ///< Used by MulticlassNms.
  bool is_gaussian = false;     ///< Used by MatrixNms, like the next two.
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
  std::int64_t batch = 0, category = 0, place = 0;  ///< `place` is the index among all boxes of the input.
  const float* box = nullptr;
};

/// One class of one image.
struct PictureClass {
  const float *boxes = nullptr, *scores = nullptr;  ///< [count, 4] of x1, y1, x2, y2; [count]
  std::size_t count = 0;
  std::int64_t batch = 0, category = 0;
  std::int64_t first = 0, step = 1;  ///< Index of its first box, and the step from one box to the next.
  std::vector<SuppressedBox> kept;

  const float* box(std::size_t index) const { return boxes + 4 * index; }
  void keep(std::size_t index, double score) {
    kept.push_back({score, batch, category, first + static_cast<std::int64_t>(index) * step, box(index)});
  }
};

/// Fills in the boxes that each class keeps, sorted by descending score, stable.
using SuppressClasses = std::function<void(const MulticlassNms& rule, std::span<PictureClass> classes)>;

/// Computes the node. @errors kInvalidArgument: images that claim more boxes than the input has.
TENON_API void suppress_classes(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                const SuppressClasses& suppress);

/// Calls body(begin, end) for parts of [0, count), possibly in parallel.
using LoopOverClasses =
    std::function<void(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& body)>;
/// Computes an NMSRotated.
TENON_API void suppress_rotated(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                const LoopOverClasses& loop);

}  // namespace v1
}  // namespace tenon
