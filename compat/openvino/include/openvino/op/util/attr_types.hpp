// SPDX-License-Identifier: Apache-2.0
// Types of operations' attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "openvino/core/partial_shape.hpp"
#include "openvino/core/preprocess/padding_mode.hpp"
#include "openvino/core/type/element_type.hpp"

namespace ov {
namespace op {

enum class PadType { EXPLICIT = 0, SAME_LOWER, SAME_UPPER, VALID, AUTO = SAME_UPPER, NOTSET = EXPLICIT };
enum class RoundingType { FLOOR = 0, CEIL = 1, CEIL_TORCH = 2 };
enum class AutoBroadcastType { NONE = 0, EXPLICIT = NONE, NUMPY, PDPD };
enum class BroadcastType { NONE, EXPLICIT = NONE, NUMPY, PDPD, BIDIRECTIONAL };
enum class EpsMode { ADD, MAX };
enum class MVNEpsMode { INSIDE_SQRT, OUTSIDE_SQRT };
enum class TopKSortType { NONE, SORT_INDICES, SORT_VALUES };
enum class TopKMode { MAX, MIN };
enum class GeluApproximationMode { TANH, ERF };
enum class RecurrentSequenceDirection { FORWARD, REVERSE, BIDIRECTIONAL };
/// Reduction of ScatterElementsUpdate and of ScatterNDUpdate.
enum class ScatterElementsReduction { NONE, SUM, PROD, MIN, MAX, MEAN };
enum class ScatterNDReduction { NONE, SUM, SUB, PROD, MIN, MAX };

/// How the shapes of two inputs become one.
struct AutoBroadcastSpec {
  AutoBroadcastSpec() = default;
  AutoBroadcastSpec(AutoBroadcastType type) : m_type(type) {}
  AutoBroadcastType m_type = AutoBroadcastType::NONE;
};
struct BroadcastModeSpec {
  BroadcastModeSpec() = default;
  BroadcastModeSpec(BroadcastType type) : m_type(type) {}
  BroadcastType m_type = BroadcastType::NUMPY;
};

namespace util {
/// A state of a model: the same for the operation that reads it and the one that writes it.
struct VariableInfo {
  PartialShape data_shape = PartialShape::dynamic();
  element::Type data_type;
  std::string variable_id;
};
class Variable {
 public:
  using Ptr = std::shared_ptr<Variable>;
  Variable() = default;
  explicit Variable(const VariableInfo& info) : info_(info) {}
  const VariableInfo& get_info() const { return info_; }

 private:
  VariableInfo info_;
};

struct InterpolateBase {
  enum class InterpolateMode { NEAREST, LINEAR, LINEAR_ONNX, CUBIC, BILINEAR_PILLOW, BICUBIC_PILLOW };
  enum class ShapeCalcMode { SIZES, SCALES };
  enum class CoordinateTransformMode {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ASYMMETRIC,
    TF_HALF_PIXEL_FOR_NN,
    ALIGN_CORNERS
  };
  enum class NearestMode { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, FLOOR, CEIL, SIMPLE };
  struct InterpolateAttrs {
    InterpolateMode mode = InterpolateMode::NEAREST;
    ShapeCalcMode shape_calculation_mode = ShapeCalcMode::SIZES;
    std::vector<std::size_t> pads_begin, pads_end;
    CoordinateTransformMode coordinate_transformation_mode = CoordinateTransformMode::HALF_PIXEL;
    NearestMode nearest_mode = NearestMode::ROUND_PREFER_FLOOR;
    bool antialias = false;
    double cube_coeff = -0.75;

    InterpolateAttrs() = default;
    InterpolateAttrs(InterpolateMode interpolate_mode, ShapeCalcMode calculation, const std::vector<std::size_t>& begin,
                     const std::vector<std::size_t>& end,
                     CoordinateTransformMode transform = CoordinateTransformMode::HALF_PIXEL,
                     NearestMode nearest = NearestMode::ROUND_PREFER_FLOOR, bool smooth = false,
                     double coefficient = -0.75)
        : mode(interpolate_mode),
          shape_calculation_mode(calculation),
          pads_begin(begin),
          pads_end(end),
          coordinate_transformation_mode(transform),
          nearest_mode(nearest),
          antialias(smooth),
          cube_coeff(coefficient) {}
  };
};
}  // namespace util
}  // namespace op
}  // namespace ov
