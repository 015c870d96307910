// SPDX-License-Identifier: Apache-2.0
// Large pictures in slices: where the slices lie, and how what was found in them is joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/graph/input_stage/geometry.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Slices of `slice_width` x `slice_height` pixels that cover a picture, row by row. Each shares at least the fraction `overlap` with
/// its neighbours; the last ones lie at the picture's edge. A picture that is smaller than a slice is one slice.
/// @source F. C. Akyon et al., Slicing Aided Hyper Inference (2022); get_slice_bboxes of the package sahi.
/// @errors kInvalidArgument: an extent of 0, an overlap outside 0..0.9, or more than 4096 slices.
TENON_API std::vector<PixelRect> slices_of(std::size_t width, std::size_t height, std::size_t slice_width,
                                           std::size_t slice_height, double overlap);

struct JoinOptions {
  enum class How : std::uint8_t {
    kMerge,     ///< The object with the higher score gets the box around both, and the masks of both.
    kSuppress,  ///< The object with the lower score is removed.
  };
  enum class Measure : std::uint8_t {
    kSmaller,  ///< The intersection over the smaller box: a piece of an object counts as the object.
    kUnion,    ///< The intersection over the union.
  };
  How how = How::kMerge;
  Measure measure = Measure::kSmaller;
  float threshold = 0.5f;      ///< The overlap from which on two objects count as one.
  bool across_labels = false;  ///< Objects of different labels may be one; the label of the higher score stays.
};

/// An object in a collection, and the slice in which it was found.
struct SlicedObject {
  metadata::Id id = metadata::kFrame;
  std::uint32_t slice = 0;
};

/// Joins objects of different slices that are one: goes from the highest score to the lowest, and each object takes those left
/// that overlap it, also with the box that it has grown to. Two objects of one slice are compared only after one of them has taken
/// an object of another slice: the model has told them apart, unless they are pieces of something that it did not see whole. What
/// belongs to a removed object is removed with it.
/// @param known  Has the objects; others in it stay as they are.
/// @source Greedy non-maximum merging: GREEDYNMM of the package sahi, which compares with the box before merging, and objects of
/// one slice, too.
/// @cost n^2 comparisons for n objects, times the pieces of an object.
TENON_API void join_slices(metadata::Collection& known, std::span<const SlicedObject> objects,
                           const JoinOptions& options);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
