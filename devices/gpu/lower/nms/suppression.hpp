// SPDX-License-Identifier: Apache-2.0
// What operations share that leave out boxes which overlap better ones (kernels/suppress.cl).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// How boxes lie: [pictures, boxes, ...], and scores [pictures, classes, boxes], or as the operation's kernels see them.
struct Suppression {
  View boxes, scores;
  std::size_t pictures = 0, in_picture = 0, count = 0;  ///< Classes of a picture, boxes of a class.
  std::size_t most = 1;                                 ///< Places of a class, at least one.
  std::size_t classes() const { return pictures * in_picture; }
  std::size_t places() const { return classes() * most; }
};

/// Kept boxes of each class, and their scores.
struct Kept {
  View boxes, scores;
};
Kept add_kept(Builder& builder, Kernel& kernel, const Suppression& what);

/// CLASSES, IN_PICTURE, MOST, BOXES.
void add_numbers(Kernel& kernel, const Suppression& what);

/// Memory for what becomes of the scores, and the rule without the extras of some operations; the caller defines SCORE(i),
/// OVERLAP(class, i, j), IS_CANDIDATE(score), WANTED and LIMIT.
Kernel begin_plain(Builder& builder, const Suppression& what);
/// One group of work-items for each class.
void launch_groups(Builder& builder, const Node& node, Kernel& kernel, const Suppression& what, const char* text);

/// i32 [classes]: how many boxes of each are among the `keep` best of their picture.
View count_kept(Builder& builder, const Node& node, const Suppression& what, const Kept& kept, std::size_t keep);

/// An attribute that limits a count; negative: `all`.
inline std::size_t limit_from(std::int64_t limit, std::size_t all) {
  return limit < 0 ? all : std::min(all, static_cast<std::size_t>(limit));
}
/// Why not: f64, in which kernels of boxes do not compute.
std::string refuses_f64(const Node& node);
/// An attribute as a number of OpenCL C.
std::string real_text(const Node& node, const char* attribute);

}  // namespace tenon::inline v1::gpu_device
