// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression of all classes and pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/graph/ops/box_nms.hpp>

namespace tenon::inline v1::engine::kernels {

/// boxes: [batch, count, 4]; scores: [batch, classes, count]. @return what suppress_boxes() does for each class of each
/// picture. Classes are split over the workers of the calling arena. Allocates.
std::vector<std::vector<ChosenBox>> suppress_boxes_of_classes(const Nms& rule, const float* boxes, const float* scores,
                                                              std::size_t batch, std::size_t classes,
                                                              std::size_t count);

}  // namespace tenon::inline v1::engine::kernels
