// SPDX-License-Identifier: Apache-2.0
// Constructors, with OpenVINO's arguments, of the operations that code commonly builds models from. make_node makes all
// other operations; model_ops.hpp and subgraph.hpp have the operations with data or bodies.
//
// Here, by version:
//   v0   Acos Asin Atan Ceiling Cos Cosh Erf Floor HardSigmoid Log Sign Sin Sinh Tan; Clamp Elu FakeQuantize
//        DepthToSpace SpaceToDepth Gelu NormalizeL2 PRelu Selu ShapeOf Squeeze Tile Unsqueeze LRN
//        BatchNormInference (v5)
//   v1   Power Mod FloorMod Equal NotEqual Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr LogicalXor
//        LogicalNot SquaredDifference (v0); ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum; AvgPool MaxPool
//        GroupConvolution ConvolutionBackpropData; Softmax Split VariadicSplit StridedSlice Pad Select OneHot
//        DeformableConvolution (v8)
//   v3   Broadcast NonZero Assign ReadValue TopK (v1, v11) ScatterUpdate
//   v4   Acosh Asinh Atanh HSwish Mish SoftPlus; Swish Range Interpolate ReduceL1 ReduceL2
//        LSTMCell (GRUCell v3, RNNCell v0)
//   v5   HSigmoid LogSoftmax Round NonMaxSuppression (v9) LSTMSequence GRUSequence RNNSequence
//   v6   Assign ReadValue MVN GatherElements
//   v7   Gelu Roll
//   v8   Gather Slice GatherND MaxPool (v14)
//   v9   SoftSign
//   v10  IsNaN IsInf IsFinite Unique
//   v12  GroupNormalization
//   v13  ScaledDotProductAttention
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon {
inline namespace v1 {

class Strides : public std::vector<std::size_t> {
 public:
  using vector::vector;
};
class CoordinateDiff : public std::vector<std::ptrdiff_t> {
 public:
  using vector::vector;
};

namespace op {

enum class PadType { EXPLICIT, SAME_LOWER, SAME_UPPER, VALID, AUTO = SAME_UPPER, NOTSET = EXPLICIT };
enum class RoundingType { FLOOR, CEIL, CEIL_TORCH };
enum class BroadcastType { NUMPY, EXPLICIT, BIDIRECTIONAL };
enum class TopKMode { MAX, MIN };
enum class TopKSortType { NONE, SORT_INDICES, SORT_VALUES };
enum class MVNEpsMode { INSIDE_SQRT, OUTSIDE_SQRT };
enum class EpsMode { ADD, MAX };
enum class GeluApproximationMode { TANH, ERF };
enum class RecurrentSequenceDirection { FORWARD, REVERSE, BIDIRECTIONAL };

namespace util {
struct VariableInfo {
  PartialShape data_shape = PartialShape::dynamic();
  element::Type data_type;
  std::string variable_id;
};
/// A state shared by ReadValue and Assign.
class Variable {
 public:
  Variable() = default;
  explicit Variable(VariableInfo info) : info_(std::move(info)) {}
  const VariableInfo& get_info() const { return info_; }

 private:
  VariableInfo info_;
};

/// How Interpolate computes its samples; the texts are those of the operation's attributes.
struct InterpolateBase {
  struct InterpolateAttrs {
    std::string mode = "nearest";  ///< nearest, linear, linear_onnx, cubic
    std::string shape_calculation_mode = "sizes";
    std::vector<std::size_t> pads_begin, pads_end;
    std::string coordinate_transformation_mode = "half_pixel";
    std::string nearest_mode = "round_prefer_floor";
    bool antialias = false;
    double cube_coeff = -0.75;
  };
};
}  // namespace util

#define TENON_OP(Name, ...)                                \
  class TENON_API Name final : public Node {               \
   public:                                                 \
    Name(__VA_ARGS__);                                     \
    static const DiscreteTypeInfo& get_type_info_static(); \
  };
#define TENON_UNARY(Name) TENON_OP(Name, const Output<Node>& x)
#define TENON_BINARY(Name) \
  TENON_OP(Name, const Output<Node>& x, const Output<Node>& y, std::string auto_broadcast = "numpy")
#define TENON_REDUCTION(Name) TENON_OP(Name, const Output<Node>& x, const Output<Node>& axes, bool keep_dims = false)

namespace v0 {
TENON_UNARY(Acos)
TENON_UNARY(Asin)
TENON_UNARY(Atan)
TENON_UNARY(Ceiling)
TENON_UNARY(Cos)
TENON_UNARY(Cosh)
TENON_UNARY(Erf)
TENON_UNARY(Floor)
TENON_UNARY(Log)
TENON_UNARY(Sign)
TENON_UNARY(Sin)
TENON_UNARY(Sinh)
TENON_UNARY(Tan)
TENON_UNARY(Gelu)
TENON_UNARY(ShapeOf)
TENON_BINARY(SquaredDifference)
TENON_OP(Clamp, const Output<Node>& x, double min, double max)
TENON_OP(Elu, const Output<Node>& x, double alpha)
TENON_OP(HardSigmoid, const Output<Node>& x, const Output<Node>& alpha, const Output<Node>& beta)
TENON_OP(Selu, const Output<Node>& x, const Output<Node>& alpha, const Output<Node>& lambda)
TENON_OP(PRelu, const Output<Node>& x, const Output<Node>& slope)
TENON_OP(Squeeze, const Output<Node>& x, const Output<Node>& axes)
TENON_OP(Unsqueeze, const Output<Node>& x, const Output<Node>& axes)
TENON_OP(Tile, const Output<Node>& x, const Output<Node>& repeats)
TENON_OP(NormalizeL2, const Output<Node>& x, const Output<Node>& axes, float eps, EpsMode mode)
TENON_OP(LRN, const Output<Node>& x, const Output<Node>& axes, double alpha, double beta, double bias, std::size_t size)
TENON_OP(DepthToSpace, const Output<Node>& x, const std::string& mode, std::size_t block_size = 1)
TENON_OP(SpaceToDepth, const Output<Node>& x, const std::string& mode, std::size_t block_size = 1)
TENON_OP(FakeQuantize, const Output<Node>& x, const Output<Node>& input_low, const Output<Node>& input_high,
         const Output<Node>& output_low, const Output<Node>& output_high, std::size_t levels,
         std::string auto_broadcast = "numpy")
TENON_OP(RNNCell, const Output<Node>& x, const Output<Node>& state, const Output<Node>& w, const Output<Node>& r,
         const Output<Node>& b, std::size_t hidden_size, const std::vector<std::string>& activations = {"tanh"},
         const std::vector<float>& alpha = {}, const std::vector<float>& beta = {}, float clip = 0)
}  // namespace v0

namespace v1 {
TENON_BINARY(Power)
TENON_BINARY(Mod)
TENON_BINARY(FloorMod)
TENON_BINARY(Equal)
TENON_BINARY(NotEqual)
TENON_BINARY(Greater)
TENON_BINARY(GreaterEqual)
TENON_BINARY(Less)
TENON_BINARY(LessEqual)
TENON_BINARY(LogicalAnd)
TENON_BINARY(LogicalOr)
TENON_BINARY(LogicalXor)
TENON_UNARY(LogicalNot)
TENON_REDUCTION(ReduceMax)
TENON_REDUCTION(ReduceMean)
TENON_REDUCTION(ReduceMin)
TENON_REDUCTION(ReduceProd)
TENON_REDUCTION(ReduceSum)
TENON_OP(AvgPool, const Output<Node>& x, const Strides& strides, const Shape& pads_begin, const Shape& pads_end,
         const Shape& kernel, bool exclude_pad, RoundingType rounding = RoundingType::FLOOR,
         PadType auto_pad = PadType::EXPLICIT)
TENON_OP(MaxPool, const Output<Node>& x, const Strides& strides, const Shape& pads_begin, const Shape& pads_end,
         const Shape& kernel, RoundingType rounding = RoundingType::FLOOR, PadType auto_pad = PadType::EXPLICIT)
TENON_OP(GroupConvolution, const Output<Node>& x, const Output<Node>& filters, const Strides& strides,
         const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end, const Strides& dilations,
         PadType auto_pad = PadType::EXPLICIT)
TENON_OP(ConvolutionBackpropData, const Output<Node>& x, const Output<Node>& filters, const Strides& strides,
         const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end, const Strides& dilations,
         PadType auto_pad = PadType::EXPLICIT, const CoordinateDiff& output_padding = {})
TENON_OP(Softmax, const Output<Node>& x, std::size_t axis = 1)
TENON_OP(Split, const Output<Node>& x, const Output<Node>& axis, std::size_t num_splits)
TENON_OP(VariadicSplit, const Output<Node>& x, const Output<Node>& axis, const Output<Node>& lengths)
TENON_OP(StridedSlice, const Output<Node>& x, const Output<Node>& begin, const Output<Node>& end,
         const Output<Node>& strides, const std::vector<std::int64_t>& begin_mask,
         const std::vector<std::int64_t>& end_mask, const std::vector<std::int64_t>& new_axis_mask = {},
         const std::vector<std::int64_t>& shrink_axis_mask = {}, const std::vector<std::int64_t>& ellipsis_mask = {})
TENON_OP(Pad, const Output<Node>& x, const Output<Node>& begin, const Output<Node>& end, const Output<Node>& value,
         PadMode mode)
TENON_OP(Select, const Output<Node>& condition, const Output<Node>& x, const Output<Node>& y,
         std::string auto_broadcast = "numpy")
TENON_OP(OneHot, const Output<Node>& indices, const Output<Node>& depth, const Output<Node>& on,
         const Output<Node>& off, std::int64_t axis)
}  // namespace v1

namespace v3 {
TENON_OP(ShapeOf, const Output<Node>& x, element::Type output_type = element::i64)
TENON_OP(Broadcast, const Output<Node>& x, const Output<Node>& shape, BroadcastType mode = BroadcastType::NUMPY)
TENON_OP(NonZero, const Output<Node>& x, element::Type output_type = element::i64)
TENON_OP(TopK, const Output<Node>& x, const Output<Node>& k, std::int64_t axis, TopKMode mode, TopKSortType sort,
         element::Type index_type = element::i32)
TENON_OP(ScatterUpdate, const Output<Node>& x, const Output<Node>& indices, const Output<Node>& updates,
         const Output<Node>& axis)
TENON_OP(ReadValue, const Output<Node>& initial, const std::string& variable_id)
TENON_OP(Assign, const Output<Node>& value, const std::string& variable_id)
TENON_OP(GRUCell, const Output<Node>& x, const Output<Node>& state, const Output<Node>& w, const Output<Node>& r,
         const Output<Node>& b, std::size_t hidden_size,
         const std::vector<std::string>& activations = {"sigmoid", "tanh"}, const std::vector<float>& alpha = {},
         const std::vector<float>& beta = {}, float clip = 0, bool linear_before_reset = false)
}  // namespace v3

namespace v4 {
TENON_UNARY(Acosh)
TENON_UNARY(Asinh)
TENON_UNARY(Atanh)
TENON_UNARY(HSwish)
TENON_UNARY(Mish)
TENON_UNARY(SoftPlus)
TENON_UNARY(Swish)
TENON_REDUCTION(ReduceL1)
TENON_REDUCTION(ReduceL2)
TENON_OP(Range, const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step,
         element::Type output_type)
TENON_OP(Interpolate, const Output<Node>& image, const Output<Node>& sizes, const Output<Node>& scales,
         const Output<Node>& axes, const util::InterpolateBase::InterpolateAttrs& attributes)
TENON_OP(LSTMCell, const Output<Node>& x, const Output<Node>& hidden, const Output<Node>& cell, const Output<Node>& w,
         const Output<Node>& r, const Output<Node>& b, std::size_t hidden_size,
         const std::vector<std::string>& activations = {"sigmoid", "tanh", "tanh"},
         const std::vector<float>& alpha = {}, const std::vector<float>& beta = {}, float clip = 0)
}  // namespace v4

namespace v5 {
TENON_UNARY(HSigmoid)
TENON_OP(LogSoftmax, const Output<Node>& x, std::int64_t axis)
TENON_OP(Round, const Output<Node>& x, const std::string& mode = "half_to_even")
TENON_OP(BatchNormInference, const Output<Node>& x, const Output<Node>& gamma, const Output<Node>& beta,
         const Output<Node>& mean, const Output<Node>& variance, double epsilon)
TENON_OP(LSTMSequence, const Output<Node>& x, const Output<Node>& hidden, const Output<Node>& cell,
         const Output<Node>& lengths, const Output<Node>& w, const Output<Node>& r, const Output<Node>& b,
         std::int64_t hidden_size, RecurrentSequenceDirection direction, const std::vector<float>& alpha = {},
         const std::vector<float>& beta = {}, const std::vector<std::string>& activations = {"sigmoid", "tanh", "tanh"},
         float clip = 0)
TENON_OP(GRUSequence, const Output<Node>& x, const Output<Node>& state, const Output<Node>& lengths,
         const Output<Node>& w, const Output<Node>& r, const Output<Node>& b, std::size_t hidden_size,
         RecurrentSequenceDirection direction, const std::vector<std::string>& activations = {"sigmoid", "tanh"},
         const std::vector<float>& alpha = {}, const std::vector<float>& beta = {}, float clip = 0,
         bool linear_before_reset = false)
TENON_OP(RNNSequence, const Output<Node>& x, const Output<Node>& state, const Output<Node>& lengths,
         const Output<Node>& w, const Output<Node>& r, const Output<Node>& b, std::size_t hidden_size,
         RecurrentSequenceDirection direction, const std::vector<std::string>& activations = {"tanh"},
         const std::vector<float>& alpha = {}, const std::vector<float>& beta = {}, float clip = 0)
}  // namespace v5

namespace v6 {
TENON_OP(MVN, const Output<Node>& x, const Output<Node>& axes, bool normalize_variance, float eps, MVNEpsMode mode)
TENON_OP(GatherElements, const Output<Node>& x, const Output<Node>& indices, std::int64_t axis)
/// Reads a state; with the first constructor it starts as `initial`, with the second as zeros.
class TENON_API ReadValue final : public Node {
 public:
  ReadValue(const Output<Node>& initial, const std::shared_ptr<util::Variable>& variable);
  explicit ReadValue(const std::shared_ptr<util::Variable>& variable);
  static const DiscreteTypeInfo& get_type_info_static();
};
TENON_OP(Assign, const Output<Node>& value, const std::shared_ptr<util::Variable>& variable)
}  // namespace v6

namespace v7 {
TENON_OP(Gelu, const Output<Node>& x, GeluApproximationMode mode = GeluApproximationMode::ERF)
TENON_OP(Roll, const Output<Node>& x, const Output<Node>& shift, const Output<Node>& axes)
}  // namespace v7

namespace v8 {
TENON_OP(Gather, const Output<Node>& x, const Output<Node>& indices, const Output<Node>& axis,
         std::int64_t batch_dims = 0)
TENON_OP(GatherND, const Output<Node>& x, const Output<Node>& indices, std::size_t batch_dims = 0)
class TENON_API Slice final : public Node {
 public:
  Slice(const Output<Node>& x, const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step);
  Slice(const Output<Node>& x, const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step,
        const Output<Node>& axes);
  static const DiscreteTypeInfo& get_type_info_static();
};
TENON_OP(DeformableConvolution, const Output<Node>& x, const Output<Node>& offsets, const Output<Node>& filters,
         const Strides& strides, const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end,
         const Strides& dilations, PadType auto_pad = PadType::EXPLICIT, std::int64_t group = 1,
         std::int64_t deformable_group = 1, bool bilinear_interpolation_pad = false)
}  // namespace v8

namespace v9 {
TENON_UNARY(SoftSign)
TENON_OP(NonMaxSuppression, const Output<Node>& boxes, const Output<Node>& scores, const Output<Node>& max_per_class,
         const Output<Node>& iou_threshold, const Output<Node>& score_threshold,
         const std::string& box_encoding = "corner", bool sort_result_descending = true,
         element::Type output_type = element::i64)
}  // namespace v9

namespace v10 {
TENON_UNARY(IsNaN)
TENON_UNARY(IsInf)
TENON_UNARY(IsFinite)
class TENON_API Unique final : public Node {
 public:
  explicit Unique(const Output<Node>& x, bool sorted = true, element::Type index_type = element::i64,
                  element::Type count_type = element::i64);
  Unique(const Output<Node>& x, const Output<Node>& axis, bool sorted = true, element::Type index_type = element::i64,
         element::Type count_type = element::i64);
  static const DiscreteTypeInfo& get_type_info_static();
};
}  // namespace v10

namespace v12 {
TENON_OP(GroupNormalization, const Output<Node>& x, const Output<Node>& scale, const Output<Node>& bias,
         std::int64_t num_groups, double epsilon)
}  // namespace v12

namespace v13 {
class TENON_API ScaledDotProductAttention final : public Node {
 public:
  ScaledDotProductAttention(const Output<Node>& query, const Output<Node>& key, const Output<Node>& value, bool causal);
  ScaledDotProductAttention(const Output<Node>& query, const Output<Node>& key, const Output<Node>& value,
                            const Output<Node>& mask, bool causal);
  ScaledDotProductAttention(const Output<Node>& query, const Output<Node>& key, const Output<Node>& value,
                            const Output<Node>& mask, const Output<Node>& scale, bool causal);
  static const DiscreteTypeInfo& get_type_info_static();
};
}  // namespace v13

#undef TENON_OP
#undef TENON_UNARY
#undef TENON_BINARY
#undef TENON_REDUCTION

}  // namespace op
}  // namespace v1
}  // namespace tenon
