// SPDX-License-Identifier: Apache-2.0
// Types of operations' attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "openvino/core/axis_set.hpp"
#include "openvino/core/enum_names.hpp"
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
enum class FillMode { ZERO, LOWEST };

/// The texts of enumerators as files of models spell them.
#define OV_TENON_ENUM_TEXTS(Type, ...) \
  inline ov::detail::EnumTexts enum_texts(Type) { return {#Type, {__VA_ARGS__}}; }
OV_TENON_ENUM_TEXTS(PadType, "explicit", "same_lower", "same_upper", "valid")
OV_TENON_ENUM_TEXTS(RoundingType, "floor", "ceil", "ceil_torch")
OV_TENON_ENUM_TEXTS(AutoBroadcastType, "none", "numpy", "pdpd")
OV_TENON_ENUM_TEXTS(BroadcastType, "explicit", "numpy", "pdpd", "bidirectional")
OV_TENON_ENUM_TEXTS(EpsMode, "add", "max")
OV_TENON_ENUM_TEXTS(MVNEpsMode, "inside_sqrt", "outside_sqrt")
OV_TENON_ENUM_TEXTS(TopKSortType, "none", "index", "value")
OV_TENON_ENUM_TEXTS(TopKMode, "max", "min")
OV_TENON_ENUM_TEXTS(GeluApproximationMode, "TANH", "ERF")
OV_TENON_ENUM_TEXTS(RecurrentSequenceDirection, "forward", "reverse", "bidirectional")
OV_TENON_ENUM_TEXTS(PadMode, "constant", "edge", "reflect", "symmetric")
OV_TENON_ENUM_TEXTS(FillMode, "zero", "lowest")

/// How the shapes of two inputs become one.
struct AutoBroadcastSpec {
  AutoBroadcastSpec() = default;
  AutoBroadcastSpec(AutoBroadcastType type) : m_type(type), m_axis(type == AutoBroadcastType::PDPD ? -1 : 0) {}
  AutoBroadcastSpec(const char* type) : AutoBroadcastSpec(as_enum<AutoBroadcastType>(type)) {}
  AutoBroadcastSpec(AutoBroadcastType type, std::int64_t axis) : m_type(type), m_axis(axis) {}
  bool operator==(const AutoBroadcastSpec& other) const { return m_type == other.m_type && m_axis == other.m_axis; }
  bool operator!=(const AutoBroadcastSpec& other) const { return !(*this == other); }
  AutoBroadcastType m_type = AutoBroadcastType::NONE;
  std::int64_t m_axis = 0;  ///< For PDPD.
};
struct BroadcastModeSpec {
  BroadcastModeSpec() = default;
  BroadcastModeSpec(BroadcastType type) : m_type(type), m_axis(type == BroadcastType::PDPD ? -1 : 0) {}
  BroadcastModeSpec(const char* type) : BroadcastModeSpec(as_enum<BroadcastType>(type)) {}
  BroadcastModeSpec(BroadcastType type, std::int64_t axis) : m_type(type), m_axis(axis) {}
  bool operator==(const BroadcastModeSpec& other) const { return m_type == other.m_type && m_axis == other.m_axis; }
  bool operator!=(const BroadcastModeSpec& other) const { return !(*this == other); }
  BroadcastType m_type = BroadcastType::NUMPY;
  std::int64_t m_axis = 0;  ///< For PDPD.
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
  void update(const VariableInfo& info) { info_ = info; }
  void update_data_shape(const PartialShape& shape) { info_.data_shape = shape; }
  void update_data_type(const element::Type& type) { info_.data_type = type; }

 private:
  VariableInfo info_;
};
using VariableVector = std::vector<std::shared_ptr<Variable>>;

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
  friend ov::detail::EnumTexts enum_texts(InterpolateMode) {
    return {"InterpolateMode", {"nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"}};
  }
  friend ov::detail::EnumTexts enum_texts(ShapeCalcMode) { return {"ShapeCalcMode", {"sizes", "scales"}}; }
  friend ov::detail::EnumTexts enum_texts(CoordinateTransformMode) {
    return {"CoordinateTransformMode",
            {"half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"}};
  }
  friend ov::detail::EnumTexts enum_texts(NearestMode) {
    return {"NearestMode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"}};
  }
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
    bool operator==(const InterpolateAttrs& other) const {
      return std::tie(mode, shape_calculation_mode, pads_begin, pads_end, coordinate_transformation_mode, nearest_mode,
                      antialias, cube_coeff) == std::tie(other.mode, other.shape_calculation_mode, other.pads_begin,
                                                         other.pads_end, other.coordinate_transformation_mode,
                                                         other.nearest_mode, other.antialias, other.cube_coeff);
    }
    bool operator!=(const InterpolateAttrs& other) const { return !(*this == other); }
  };
};
}  // namespace util
}  // namespace op
}  // namespace ov
