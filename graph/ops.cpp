// SPDX-License-Identifier: Apache-2.0
// Constructors of common operations: each takes a row of the table and its attributes.
#include <tenon/graph/ops.hpp>

#include <tenon/core/error.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {
namespace op {

namespace {
// Indexed by number: enumerators and texts are in the same order.
std::string text(PadType type) {
  static constexpr const char* kTexts[] = {"explicit", "same_lower", "same_upper", "valid"};
  return kTexts[static_cast<int>(type)];
}
std::string text(RoundingType type) {
  static constexpr const char* kTexts[] = {"floor", "ceil", "ceil_torch"};
  return kTexts[static_cast<int>(type)];
}
std::string text(PadMode mode) {
  static constexpr const char* kTexts[] = {"constant", "edge", "reflect", "symmetric"};
  return kTexts[static_cast<int>(mode)];
}
std::string text(BroadcastType type) {
  static constexpr const char* kTexts[] = {"numpy", "explicit", "bidirectional"};
  return kTexts[static_cast<int>(type)];
}
std::string text(TopKSortType type) {
  static constexpr const char* kTexts[] = {"none", "index", "value"};
  return kTexts[static_cast<int>(type)];
}
std::string text(RecurrentSequenceDirection direction) {
  static constexpr const char* kTexts[] = {"forward", "reverse", "bidirectional"};
  return kTexts[static_cast<int>(direction)];
}
using Numbers = std::vector<float>;
using Texts = std::vector<std::string>;

Attributes pool(const Strides& strides, const Shape& begin, const Shape& end, const Shape& kernel,
                RoundingType rounding, PadType auto_pad) {
  return {{"strides", strides},
          {"pads_begin", std::vector<std::size_t>(begin.begin(), begin.end())},
          {"pads_end", std::vector<std::size_t>(end.begin(), end.end())},
          {"kernel", std::vector<std::size_t>(kernel.begin(), kernel.end())},
          {"rounding_type", text(rounding)},
          {"auto_pad", text(auto_pad)}};
}
Attributes window(const Strides& strides, const CoordinateDiff& begin, const CoordinateDiff& end,
                  const Strides& dilations, PadType auto_pad) {
  return {{"strides", strides},
          {"pads_begin", begin},
          {"pads_end", end},
          {"dilations", dilations},
          {"auto_pad", text(auto_pad)}};
}
Attributes with(Attributes attributes, const char* name, Attribute value) {
  attributes.set(name, std::move(value));
  return attributes;
}
Attributes recurrent(std::size_t hidden_size, const Texts& activations, const Numbers& alpha, const Numbers& beta,
                     float clip) {
  return {{"hidden_size", hidden_size},
          {"activations", activations},
          {"activations_alpha", alpha},
          {"activations_beta", beta},
          {"clip", clip}};
}
const util::VariableInfo& info_of(const std::shared_ptr<util::Variable>& variable) {
  if (!variable) throw Error(Code::kInvalidArgument, "a state needs a variable; the one given is null");
  return variable->get_info();
}
Attributes state(const std::shared_ptr<util::Variable>& variable) {
  const util::VariableInfo& info = info_of(variable);
  return {{"variable_id", info.variable_id}, {"variable_type", info.data_type}, {"variable_shape", info.data_shape}};
}
}  // namespace

#define TENON_INFO(Name, version) \
  const DiscreteTypeInfo& Name::get_type_info_static() { return row(#Name, version).type_info; }
#define TENON_UNARY(Name, version)                                      \
  Name::Name(const Output<Node>& x) : Node(row(#Name, version), {x}) {} \
  TENON_INFO(Name, version)
#define TENON_BINARY(Name, version)                                                           \
  Name::Name(const Output<Node>& x, const Output<Node>& y, std::string auto_broadcast)        \
      : Node(row(#Name, version), {x, y}, {{"auto_broadcast", std::move(auto_broadcast)}}) {} \
  TENON_INFO(Name, version)
#define TENON_REDUCTION(Name, version)                                        \
  Name::Name(const Output<Node>& x, const Output<Node>& axes, bool keep_dims) \
      : Node(row(#Name, version), {x, axes}, {{"keep_dims", keep_dims}}) {}   \
  TENON_INFO(Name, version)

namespace v0 {
TENON_UNARY(Acos, 1)
TENON_UNARY(Asin, 1)
TENON_UNARY(Atan, 1)
TENON_UNARY(Ceiling, 1)
TENON_UNARY(Cos, 1)
TENON_UNARY(Cosh, 1)
TENON_UNARY(Erf, 1)
TENON_UNARY(Floor, 1)
TENON_UNARY(Log, 1)
TENON_UNARY(Sign, 1)
TENON_UNARY(Sin, 1)
TENON_UNARY(Sinh, 1)
TENON_UNARY(Tan, 1)
TENON_UNARY(Gelu, 1)
TENON_UNARY(ShapeOf, 1)
TENON_BINARY(SquaredDifference, 1)
Clamp::Clamp(const Output<Node>& x, double min, double max)
    : Node(row("Clamp", 1), {x}, {{"min", min}, {"max", max}}) {}
TENON_INFO(Clamp, 1)
Elu::Elu(const Output<Node>& x, double alpha) : Node(row("Elu", 1), {x}, {{"alpha", alpha}}) {}
TENON_INFO(Elu, 1)
HardSigmoid::HardSigmoid(const Output<Node>& x, const Output<Node>& alpha, const Output<Node>& beta)
    : Node(row("HardSigmoid", 1), {x, alpha, beta}) {}
TENON_INFO(HardSigmoid, 1)
Selu::Selu(const Output<Node>& x, const Output<Node>& alpha, const Output<Node>& lambda)
    : Node(row("Selu", 1), {x, alpha, lambda}) {}
TENON_INFO(Selu, 1)
PRelu::PRelu(const Output<Node>& x, const Output<Node>& slope) : Node(row("PRelu", 1), {x, slope}) {}
TENON_INFO(PRelu, 1)
Squeeze::Squeeze(const Output<Node>& x, const Output<Node>& axes) : Node(row("Squeeze", 1), {x, axes}) {}
TENON_INFO(Squeeze, 1)
Unsqueeze::Unsqueeze(const Output<Node>& x, const Output<Node>& axes) : Node(row("Unsqueeze", 1), {x, axes}) {}
TENON_INFO(Unsqueeze, 1)
Tile::Tile(const Output<Node>& x, const Output<Node>& repeats) : Node(row("Tile", 1), {x, repeats}) {}
TENON_INFO(Tile, 1)
NormalizeL2::NormalizeL2(const Output<Node>& x, const Output<Node>& axes, float eps, EpsMode mode)
    : Node(row("NormalizeL2", 1), {x, axes}, {{"eps", eps}, {"eps_mode", mode == EpsMode::ADD ? "add" : "max"}}) {}
TENON_INFO(NormalizeL2, 1)
LRN::LRN(const Output<Node>& x, const Output<Node>& axes, double alpha, double beta, double bias, std::size_t size)
    : Node(row("LRN", 1), {x, axes}, {{"alpha", alpha}, {"beta", beta}, {"bias", bias}, {"size", size}}) {}
TENON_INFO(LRN, 1)
DepthToSpace::DepthToSpace(const Output<Node>& x, const std::string& mode, std::size_t block_size)
    : Node(row("DepthToSpace", 1), {x}, {{"mode", mode}, {"block_size", block_size}}) {}
TENON_INFO(DepthToSpace, 1)
SpaceToDepth::SpaceToDepth(const Output<Node>& x, const std::string& mode, std::size_t block_size)
    : Node(row("SpaceToDepth", 1), {x}, {{"mode", mode}, {"block_size", block_size}}) {}
TENON_INFO(SpaceToDepth, 1)
FakeQuantize::FakeQuantize(const Output<Node>& x, const Output<Node>& input_low, const Output<Node>& input_high,
                           const Output<Node>& output_low, const Output<Node>& output_high, std::size_t levels,
                           std::string auto_broadcast)
    : Node(row("FakeQuantize", 1), {x, input_low, input_high, output_low, output_high},
           {{"levels", levels}, {"auto_broadcast", std::move(auto_broadcast)}}) {}
TENON_INFO(FakeQuantize, 1)
RNNCell::RNNCell(const Output<Node>& x, const Output<Node>& state, const Output<Node>& w, const Output<Node>& r,
                 const Output<Node>& b, std::size_t hidden_size, const std::vector<std::string>& activations,
                 const std::vector<float>& alpha, const std::vector<float>& beta, float clip)
    : Node(row("RNNCell", 1), {x, state, w, r, b}, recurrent(hidden_size, activations, alpha, beta, clip)) {}
TENON_INFO(RNNCell, 1)
}  // namespace v0

namespace v1 {
TENON_BINARY(Power, 1)
TENON_BINARY(Mod, 1)
TENON_BINARY(FloorMod, 1)
TENON_BINARY(Equal, 1)
TENON_BINARY(NotEqual, 1)
TENON_BINARY(Greater, 1)
TENON_BINARY(GreaterEqual, 1)
TENON_BINARY(Less, 1)
TENON_BINARY(LessEqual, 1)
TENON_BINARY(LogicalAnd, 1)
TENON_BINARY(LogicalOr, 1)
TENON_BINARY(LogicalXor, 1)
TENON_UNARY(LogicalNot, 1)
TENON_REDUCTION(ReduceMax, 1)
TENON_REDUCTION(ReduceMean, 1)
TENON_REDUCTION(ReduceMin, 1)
TENON_REDUCTION(ReduceProd, 1)
TENON_REDUCTION(ReduceSum, 1)
AvgPool::AvgPool(const Output<Node>& x, const Strides& strides, const Shape& pads_begin, const Shape& pads_end,
                 const Shape& kernel, bool exclude_pad, RoundingType rounding, PadType auto_pad)
    : Node(row("AvgPool", 1), {x},
           with(pool(strides, pads_begin, pads_end, kernel, rounding, auto_pad), "exclude-pad", exclude_pad)) {}
TENON_INFO(AvgPool, 1)
MaxPool::MaxPool(const Output<Node>& x, const Strides& strides, const Shape& pads_begin, const Shape& pads_end,
                 const Shape& kernel, RoundingType rounding, PadType auto_pad)
    : Node(row("MaxPool", 1), {x}, pool(strides, pads_begin, pads_end, kernel, rounding, auto_pad)) {}
TENON_INFO(MaxPool, 1)
GroupConvolution::GroupConvolution(const Output<Node>& x, const Output<Node>& filters, const Strides& strides,
                                   const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end,
                                   const Strides& dilations, PadType auto_pad)
    : Node(row("GroupConvolution", 1), {x, filters}, window(strides, pads_begin, pads_end, dilations, auto_pad)) {}
TENON_INFO(GroupConvolution, 1)
ConvolutionBackpropData::ConvolutionBackpropData(const Output<Node>& x, const Output<Node>& filters,
                                                 const Strides& strides, const CoordinateDiff& pads_begin,
                                                 const CoordinateDiff& pads_end, const Strides& dilations,
                                                 PadType auto_pad, const CoordinateDiff& output_padding)
    : Node(row("ConvolutionBackpropData", 1), {x, filters},
           with(window(strides, pads_begin, pads_end, dilations, auto_pad), "output_padding", output_padding)) {}
TENON_INFO(ConvolutionBackpropData, 1)
Softmax::Softmax(const Output<Node>& x, std::size_t axis) : Node(row("Softmax", 1), {x}, {{"axis", axis}}) {}
TENON_INFO(Softmax, 1)
Split::Split(const Output<Node>& x, const Output<Node>& axis, std::size_t num_splits)
    : Node(row("Split", 1), {x, axis}, {{"num_splits", num_splits}}) {}
TENON_INFO(Split, 1)
VariadicSplit::VariadicSplit(const Output<Node>& x, const Output<Node>& axis, const Output<Node>& lengths)
    : Node(row("VariadicSplit", 1), {x, axis, lengths}) {}
TENON_INFO(VariadicSplit, 1)
StridedSlice::StridedSlice(const Output<Node>& x, const Output<Node>& begin, const Output<Node>& end,
                           const Output<Node>& strides, const std::vector<std::int64_t>& begin_mask,
                           const std::vector<std::int64_t>& end_mask, const std::vector<std::int64_t>& new_axis_mask,
                           const std::vector<std::int64_t>& shrink_axis_mask,
                           const std::vector<std::int64_t>& ellipsis_mask)
    : Node(row("StridedSlice", 1), {x, begin, end, strides},
           {{"begin_mask", begin_mask},
            {"end_mask", end_mask},
            {"new_axis_mask", new_axis_mask},
            {"shrink_axis_mask", shrink_axis_mask},
            {"ellipsis_mask", ellipsis_mask}}) {}
TENON_INFO(StridedSlice, 1)
Pad::Pad(const Output<Node>& x, const Output<Node>& begin, const Output<Node>& end, const Output<Node>& value,
         PadMode mode)
    : Node(row("Pad", 1), {x, begin, end, value}, {{"pad_mode", text(mode)}}) {}
TENON_INFO(Pad, 1)
Select::Select(const Output<Node>& condition, const Output<Node>& x, const Output<Node>& y, std::string auto_broadcast)
    : Node(row("Select", 1), {condition, x, y}, {{"auto_broadcast", std::move(auto_broadcast)}}) {}
TENON_INFO(Select, 1)
OneHot::OneHot(const Output<Node>& indices, const Output<Node>& depth, const Output<Node>& on, const Output<Node>& off,
               std::int64_t axis)
    : Node(row("OneHot", 1), {indices, depth, on, off}, {{"axis", axis}}) {}
TENON_INFO(OneHot, 1)
}  // namespace v1

namespace v3 {
ShapeOf::ShapeOf(const Output<Node>& x, element::Type output_type)
    : Node(row("ShapeOf", 3), {x}, {{"output_type", output_type}}) {}
TENON_INFO(ShapeOf, 3)
Broadcast::Broadcast(const Output<Node>& x, const Output<Node>& shape, BroadcastType mode)
    : Node(row("Broadcast", 3), {x, shape}, {{"mode", text(mode)}}) {}
TENON_INFO(Broadcast, 3)
NonZero::NonZero(const Output<Node>& x, element::Type output_type)
    : Node(row("NonZero", 3), {x}, {{"output_type", output_type}}) {}
TENON_INFO(NonZero, 3)
TopK::TopK(const Output<Node>& x, const Output<Node>& k, std::int64_t axis, TopKMode mode, TopKSortType sort,
           element::Type index_type)
    : Node(row("TopK", 3), {x, k},
           {{"axis", axis},
            {"mode", mode == TopKMode::MAX ? "max" : "min"},
            {"sort", text(sort)},
            {"index_element_type", index_type}}) {}
TENON_INFO(TopK, 3)
ScatterUpdate::ScatterUpdate(const Output<Node>& x, const Output<Node>& indices, const Output<Node>& updates,
                             const Output<Node>& axis)
    : Node(row("ScatterUpdate", 3), {x, indices, updates, axis}) {}
TENON_INFO(ScatterUpdate, 3)
ReadValue::ReadValue(const Output<Node>& initial, const std::string& variable_id)
    : Node(row("ReadValue", 3), {initial}, {{"variable_id", variable_id}}) {}
TENON_INFO(ReadValue, 3)
Assign::Assign(const Output<Node>& value, const std::string& variable_id)
    : Node(row("Assign", 3), {value}, {{"variable_id", variable_id}}) {}
TENON_INFO(Assign, 3)
GRUCell::GRUCell(const Output<Node>& x, const Output<Node>& state, const Output<Node>& w, const Output<Node>& r,
                 const Output<Node>& b, std::size_t hidden_size, const std::vector<std::string>& activations,
                 const std::vector<float>& alpha, const std::vector<float>& beta, float clip, bool linear_before_reset)
    : Node(row("GRUCell", 3), {x, state, w, r, b},
           with(recurrent(hidden_size, activations, alpha, beta, clip), "linear_before_reset", linear_before_reset)) {}
TENON_INFO(GRUCell, 3)
}  // namespace v3

namespace v4 {
TENON_UNARY(Acosh, 4)
TENON_UNARY(Asinh, 4)
TENON_UNARY(Atanh, 4)
TENON_UNARY(HSwish, 4)
TENON_UNARY(Mish, 4)
TENON_UNARY(SoftPlus, 4)
TENON_UNARY(Swish, 4)
TENON_REDUCTION(ReduceL1, 4)
TENON_REDUCTION(ReduceL2, 4)
Range::Range(const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step, element::Type output_type)
    : Node(row("Range", 4), {start, stop, step}, {{"output_type", output_type}}) {}
TENON_INFO(Range, 4)
Interpolate::Interpolate(const Output<Node>& image, const Output<Node>& sizes, const Output<Node>& scales,
                         const Output<Node>& axes, const util::InterpolateBase::InterpolateAttrs& attributes)
    : Node(row("Interpolate", 4), {image, sizes, scales, axes},
           {{"mode", attributes.mode},
            {"shape_calculation_mode", attributes.shape_calculation_mode},
            {"coordinate_transformation_mode", attributes.coordinate_transformation_mode},
            {"nearest_mode", attributes.nearest_mode},
            {"antialias", attributes.antialias},
            {"pads_begin", attributes.pads_begin},
            {"pads_end", attributes.pads_end},
            {"cube_coeff", attributes.cube_coeff}}) {}
TENON_INFO(Interpolate, 4)
LSTMCell::LSTMCell(const Output<Node>& x, const Output<Node>& hidden, const Output<Node>& cell, const Output<Node>& w,
                   const Output<Node>& r, const Output<Node>& b, std::size_t hidden_size,
                   const std::vector<std::string>& activations, const std::vector<float>& alpha,
                   const std::vector<float>& beta, float clip)
    : Node(row("LSTMCell", 4), {x, hidden, cell, w, r, b}, recurrent(hidden_size, activations, alpha, beta, clip)) {}
TENON_INFO(LSTMCell, 4)
}  // namespace v4

namespace v5 {
TENON_UNARY(HSigmoid, 5)
LogSoftmax::LogSoftmax(const Output<Node>& x, std::int64_t axis) : Node(row("LogSoftmax", 5), {x}, {{"axis", axis}}) {}
TENON_INFO(LogSoftmax, 5)
Round::Round(const Output<Node>& x, const std::string& mode) : Node(row("Round", 5), {x}, {{"mode", mode}}) {}
TENON_INFO(Round, 5)
BatchNormInference::BatchNormInference(const Output<Node>& x, const Output<Node>& gamma, const Output<Node>& beta,
                                       const Output<Node>& mean, const Output<Node>& variance, double epsilon)
    : Node(row("BatchNormInference", 5), {x, gamma, beta, mean, variance}, {{"epsilon", epsilon}}) {}
TENON_INFO(BatchNormInference, 5)
LSTMSequence::LSTMSequence(const Output<Node>& x, const Output<Node>& hidden, const Output<Node>& cell,
                           const Output<Node>& lengths, const Output<Node>& w, const Output<Node>& r,
                           const Output<Node>& b, std::int64_t hidden_size, RecurrentSequenceDirection direction,
                           const std::vector<float>& alpha, const std::vector<float>& beta,
                           const std::vector<std::string>& activations, float clip)
    : Node(row("LSTMSequence", 5), {x, hidden, cell, lengths, w, r, b},
           with(recurrent(static_cast<std::size_t>(hidden_size), activations, alpha, beta, clip), "direction",
                text(direction))) {}
TENON_INFO(LSTMSequence, 5)
GRUSequence::GRUSequence(const Output<Node>& x, const Output<Node>& state, const Output<Node>& lengths,
                         const Output<Node>& w, const Output<Node>& r, const Output<Node>& b, std::size_t hidden_size,
                         RecurrentSequenceDirection direction, const std::vector<std::string>& activations,
                         const std::vector<float>& alpha, const std::vector<float>& beta, float clip,
                         bool linear_before_reset)
    : Node(row("GRUSequence", 5), {x, state, lengths, w, r, b},
           with(with(recurrent(hidden_size, activations, alpha, beta, clip), "direction", text(direction)),
                "linear_before_reset", linear_before_reset)) {}
TENON_INFO(GRUSequence, 5)
RNNSequence::RNNSequence(const Output<Node>& x, const Output<Node>& state, const Output<Node>& lengths,
                         const Output<Node>& w, const Output<Node>& r, const Output<Node>& b, std::size_t hidden_size,
                         RecurrentSequenceDirection direction, const std::vector<std::string>& activations,
                         const std::vector<float>& alpha, const std::vector<float>& beta, float clip)
    : Node(row("RNNSequence", 5), {x, state, lengths, w, r, b},
           with(recurrent(hidden_size, activations, alpha, beta, clip), "direction", text(direction))) {}
TENON_INFO(RNNSequence, 5)
}  // namespace v5

namespace v6 {
MVN::MVN(const Output<Node>& x, const Output<Node>& axes, bool normalize_variance, float eps, MVNEpsMode mode)
    : Node(row("MVN", 6), {x, axes},
           {{"normalize_variance", normalize_variance},
            {"eps", eps},
            {"eps_mode", mode == MVNEpsMode::INSIDE_SQRT ? "inside_sqrt" : "outside_sqrt"}}) {}
TENON_INFO(MVN, 6)
GatherElements::GatherElements(const Output<Node>& x, const Output<Node>& indices, std::int64_t axis)
    : Node(row("GatherElements", 6), {x, indices}, {{"axis", axis}}) {}
TENON_INFO(GatherElements, 6)
ReadValue::ReadValue(const Output<Node>& initial, const std::shared_ptr<util::Variable>& variable)
    : Node(row("ReadValue", 6), {initial}, state(variable)) {}
ReadValue::ReadValue(const std::shared_ptr<util::Variable>& variable)
    : Node(row("ReadValue", 6), {}, state(variable)) {}
TENON_INFO(ReadValue, 6)
Assign::Assign(const Output<Node>& value, const std::shared_ptr<util::Variable>& variable)
    : Node(row("Assign", 6), {value}, state(variable)) {}
TENON_INFO(Assign, 6)
}  // namespace v6

namespace v7 {
Gelu::Gelu(const Output<Node>& x, GeluApproximationMode mode)
    : Node(row("Gelu", 7), {x}, {{"approximation_mode", mode == GeluApproximationMode::TANH ? "TANH" : "ERF"}}) {}
TENON_INFO(Gelu, 7)
Roll::Roll(const Output<Node>& x, const Output<Node>& shift, const Output<Node>& axes)
    : Node(row("Roll", 7), {x, shift, axes}) {}
TENON_INFO(Roll, 7)
}  // namespace v7

namespace v8 {
Gather::Gather(const Output<Node>& x, const Output<Node>& indices, const Output<Node>& axis, std::int64_t batch_dims)
    : Node(row("Gather", 8), {x, indices, axis}, {{"batch_dims", batch_dims}}) {}
TENON_INFO(Gather, 8)
GatherND::GatherND(const Output<Node>& x, const Output<Node>& indices, std::size_t batch_dims)
    : Node(row("GatherND", 8), {x, indices}, {{"batch_dims", batch_dims}}) {}
TENON_INFO(GatherND, 8)
Slice::Slice(const Output<Node>& x, const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step)
    : Node(row("Slice", 8), {x, start, stop, step}) {}
Slice::Slice(const Output<Node>& x, const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step,
             const Output<Node>& axes)
    : Node(row("Slice", 8), {x, start, stop, step, axes}) {}
TENON_INFO(Slice, 8)
DeformableConvolution::DeformableConvolution(const Output<Node>& x, const Output<Node>& offsets,
                                             const Output<Node>& filters, const Strides& strides,
                                             const CoordinateDiff& pads_begin, const CoordinateDiff& pads_end,
                                             const Strides& dilations, PadType auto_pad, std::int64_t group,
                                             std::int64_t deformable_group, bool bilinear_interpolation_pad)
    : Node(row("DeformableConvolution", 8), {x, offsets, filters},
           with(with(with(window(strides, pads_begin, pads_end, dilations, auto_pad), "group", group),
                     "deformable_group", deformable_group),
                "bilinear_interpolation_pad", bilinear_interpolation_pad)) {}
TENON_INFO(DeformableConvolution, 8)
}  // namespace v8

namespace v9 {
TENON_UNARY(SoftSign, 9)
NonMaxSuppression::NonMaxSuppression(const Output<Node>& boxes, const Output<Node>& scores,
                                     const Output<Node>& max_per_class, const Output<Node>& iou_threshold,
                                     const Output<Node>& score_threshold, const std::string& box_encoding,
                                     bool sort_result_descending, element::Type output_type)
    : Node(row("NonMaxSuppression", 9), {boxes, scores, max_per_class, iou_threshold, score_threshold},
           {{"box_encoding", box_encoding},
            {"sort_result_descending", sort_result_descending},
            {"output_type", output_type}}) {}
TENON_INFO(NonMaxSuppression, 9)
}  // namespace v9

namespace v10 {
TENON_UNARY(IsNaN, 10)
TENON_UNARY(IsInf, 10)
TENON_UNARY(IsFinite, 10)
Unique::Unique(const Output<Node>& x, bool sorted, element::Type index_type, element::Type count_type)
    : Node(row("Unique", 10), {x},
           {{"sorted", sorted}, {"index_element_type", index_type}, {"count_element_type", count_type}}) {}
Unique::Unique(const Output<Node>& x, const Output<Node>& axis, bool sorted, element::Type index_type,
               element::Type count_type)
    : Node(row("Unique", 10), {x, axis},
           {{"sorted", sorted}, {"index_element_type", index_type}, {"count_element_type", count_type}}) {}
TENON_INFO(Unique, 10)
}  // namespace v10

namespace v12 {
GroupNormalization::GroupNormalization(const Output<Node>& x, const Output<Node>& scale, const Output<Node>& bias,
                                       std::int64_t num_groups, double epsilon)
    : Node(row("GroupNormalization", 12), {x, scale, bias}, {{"num_groups", num_groups}, {"epsilon", epsilon}}) {}
TENON_INFO(GroupNormalization, 12)
}  // namespace v12

namespace v13 {
ScaledDotProductAttention::ScaledDotProductAttention(const Output<Node>& query, const Output<Node>& key,
                                                     const Output<Node>& value, bool causal)
    : Node(row("ScaledDotProductAttention", 13), {query, key, value}, {{"causal", causal}}) {}
ScaledDotProductAttention::ScaledDotProductAttention(const Output<Node>& query, const Output<Node>& key,
                                                     const Output<Node>& value, const Output<Node>& mask, bool causal)
    : Node(row("ScaledDotProductAttention", 13), {query, key, value, mask}, {{"causal", causal}}) {}
ScaledDotProductAttention::ScaledDotProductAttention(const Output<Node>& query, const Output<Node>& key,
                                                     const Output<Node>& value, const Output<Node>& mask,
                                                     const Output<Node>& scale, bool causal)
    : Node(row("ScaledDotProductAttention", 13), {query, key, value, mask, scale}, {{"causal", causal}}) {}
TENON_INFO(ScaledDotProductAttention, 13)
}  // namespace v13

#undef TENON_INFO
#undef TENON_UNARY
#undef TENON_BINARY
#undef TENON_REDUCTION

}  // namespace op
}  // namespace v1
}  // namespace tenon
