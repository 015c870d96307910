// SPDX-License-Identifier: Apache-2.0
// MulticlassNms and MatrixNms within classes.
#pragma once

#include <span>

#include <tenon/graph/ops/multiclass_nms.hpp>

namespace tenon::inline v1::engine::kernels {

/// Fills in what each class keeps: the very numbers of the reference kernel. Classes are split over the workers of the
/// calling arena. Allocates.
void suppress_within_classes(const MulticlassNms& rule, std::span<PictureClass> classes);

}  // namespace tenon::inline v1::engine::kernels
