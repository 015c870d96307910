// SPDX-License-Identifier: Apache-2.0
// The interface for converters of ONNX operations: the current node, and short forms for making nodes.
#pragma once

#include <tenon_onnx_schema.pb.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/model.hpp>  // IWYU pragma: export
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/readers/onnx/internal/tensor_proto.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

using Out = Output<Node>;
using Ints = std::vector<std::int64_t>;

/// A converted graph inside a node. Values that it reads from outer graphs became parameters, unless they are constant.
struct Body {
  OutputVector outputs;
  ParameterVector captured_parameters;
  OutputVector captured;  ///< The outer values for those parameters.
};
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  /// @param inputs  Replace the graph's own inputs; too few are an error.
  virtual Body read(const schema::GraphProto& graph, const OutputVector& inputs) = 0;
  /// Converts into the enclosing graph; captures nothing.
  /// @param inputs  As in read().
  virtual OutputVector read_inline(const schema::GraphProto& graph, const OutputVector& inputs = {}) = 0;
};

/// One ONNX node with converted inputs. Errors of its getters do not name the node: the reader adds that.
class NodeContext {
 public:
  NodeContext(schema::NodeProto& proto, OutputVector inputs, std::int64_t opset, ExternalData& external,
              BodyReader& bodies)
      : proto_(proto), inputs_(std::move(inputs)), opset_(opset), external_(external), bodies_(bodies) {}

  const std::string& op_type() const { return proto_.op_type(); }
  /// Version of the node's domain.
  std::int64_t opset() const { return opset_; }
  std::size_t input_count() const { return inputs_.size(); }
  std::size_t output_count() const { return static_cast<std::size_t>(proto_.output_size()); }
  bool wants_output(std::size_t index) const {
    return index < output_count() && !proto_.output(static_cast<int>(index)).empty();
  }
  bool has_input(std::size_t index) const { return index < inputs_.size() && inputs_[index]; }
  /// @errors kInvalidArgument: absent.
  const Out& input(std::size_t index) const;
  /// All inputs. @errors kInvalidArgument: one is absent.
  OutputVector inputs() const;
  ElementType type(std::size_t index) const { return input(index).get_element_type(); }
  /// The rank of an input. @errors kUnimplemented: it is dynamic.
  std::int64_t rank(std::size_t index) const;
  /// The value of an integer input if known at conversion; otherwise nothing.
  std::optional<Ints> known_ints(std::size_t index) const;
  /// Same as known_ints. @errors kUnimplemented: known only when the model runs.
  Ints constant_ints(std::size_t index, const char* meaning) const;

  /// May be empty.
  const std::string& name() const { return proto_.name(); }
  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  std::int64_t get_int(std::string_view attribute) const;
  std::int64_t get_int(std::string_view attribute, std::int64_t fallback) const;
  double get_float(std::string_view attribute, double fallback) const;
  std::string get_string(std::string_view attribute, std::string_view fallback) const;
  Ints get_ints(std::string_view attribute) const;
  Ints get_ints(std::string_view attribute, Ints fallback) const;
  std::vector<double> get_floats(std::string_view attribute) const;
  std::vector<std::string> get_strings(std::string_view attribute) const;
  Tensor get_tensor(std::string_view attribute) const;
  /// A sparse tensor, made dense.
  Tensor get_sparse_tensor(std::string_view attribute) const;
  /// The element type that an integer attribute names.
  ElementType get_type(std::string_view attribute) const;
  /// Whether that type is one of 2 bits.
  bool names_two_bits(std::string_view attribute) const { return is_two_bits(static_cast<int>(get_int(attribute, 0))); }
  /// A graph attribute. @errors kInvalidArgument: missing.
  const schema::GraphProto& get_graph(std::string_view attribute) const;
  BodyReader& bodies() const { return bodies_; }
  /// The same node with other inputs, read as an operation of `opset` of the standard: for those of other domains.
  NodeContext with(OutputVector inputs, std::int64_t opset) const {
    return NodeContext(proto_, std::move(inputs), opset, external_, bodies_);
  }

 private:
  schema::AttributeProto* find(std::string_view attribute) const;
  schema::NodeProto& proto_;
  OutputVector inputs_;
  std::int64_t opset_;
  ExternalData& external_;
  BodyReader& bodies_;
};

using Converter = OutputVector (*)(const NodeContext& node);
/// By "domain:type"; the default domain is "".
using ConverterTable = std::unordered_map<std::string, Converter>;
const ConverterTable& converters();

// One per file.
void add_elementwise(ConverterTable& table);
void add_activations(ConverterTable& table);
void add_reductions(ConverterTable& table);
void add_movement(ConverterTable& table);
void add_indexing(ConverterTable& table);
void add_convolutions(ConverterTable& table);
void add_pooling(ConverterTable& table);
void add_normalization(ConverterTable& table);
void add_attention(ConverterTable& table);
void add_features(ConverterTable& table);
void add_training(ConverterTable& table);
void add_sequences(ConverterTable& table);
void add_microsoft(ConverterTable& table);
void add_microsoft_layers(ConverterTable& table);
void add_weight_only(ConverterTable& table);
void add_experts(ConverterTable& table);
void add_linear_attention(ConverterTable& table);
void add_linear(ConverterTable& table);
void add_quantization(ConverterTable& table);
void add_resize(ConverterTable& table);
void add_recurrent(ConverterTable& table);
void add_losses(ConverterTable& table);
void add_generators(ConverterTable& table);
void add_detection(ConverterTable& table);
void add_einsum(ConverterTable& table);
void add_signal(ConverterTable& table);
void add_control_flow(ConverterTable& table);
void add_learned(ConverterTable& table);
void add_trees(ConverterTable& table);
void add_support_vectors(ConverterTable& table);
void add_text(ConverterTable& table);

// --- short forms -----------------------------------------------------------------------------------------------------
[[noreturn]] void fail(const std::string& message);
[[noreturn]] void unimplemented(const std::string& message);

/// Makes a node and returns its first output.
Out op(std::string_view type, unsigned version, OutputVector inputs, Attributes attributes = {});
OutputVector ops(std::string_view type, unsigned version, OutputVector inputs, Attributes attributes = {});
/// i64 [n], and an i64 scalar.
Out ints(const Ints& values);
Out int_scalar(std::int64_t value);
Out scalar(ElementType type, double value);
Out scalar_like(const Out& x, double value);
/// Strings, [n].
Out texts(const std::vector<std::string>& values);
/// f32 or another real type, [n].
Out reals(ElementType type, const std::vector<double>& values);

Out add(const Out& x, const Out& y);
Out sub(const Out& x, const Out& y);
Out mul(const Out& x, const Out& y);
Out div(const Out& x, const Out& y);
Out power(const Out& x, double exponent);
Out unary(std::string_view type, const Out& x);
Out select(const Out& condition, const Out& x, const Out& y);
/// Returns x itself if it has that type already.
Out convert(const Out& x, ElementType type);
Out reshape(const Out& x, const Out& shape);
Out reshape(const Out& x, const Ints& shape);
/// A 0 in the shape keeps the extent of that axis.
Out reshape_like(const Out& x, const Ints& shape);
Out unsqueeze(const Out& x, const Ints& axes);
Out squeeze(const Out& x, const Ints& axes);
Out transpose(const Out& x, const Ints& order);
Out concat(const OutputVector& parts, std::int64_t axis);
/// Elements [begin, end) along one axis.
Out slice(const Out& x, std::int64_t begin, std::int64_t end, std::int64_t axis);
/// A constant input's bytes as another type and shape. @errors kUnimplemented: it is known only when the model runs;
/// kInvalidArgument: another number of bytes.
Out reinterpreted(const NodeContext& node, std::size_t index, ElementType type, const Shape& shape);
Out reduce(std::string_view type, const Out& x, const Out& axes, bool keep_dims);
Out broadcast_to(const Out& x, const Out& shape);
/// i64 [rank]; a Constant if the shape is static.
Out shape_of(const Out& x);
/// i64 scalar: the number of axes; a Constant if known.
Out rank_of(const Out& x);
/// One extent as far as it is known; negative axes count from the end. @errors kInvalidArgument: there is no such axis.
Dimension dimension_of(const Out& x, std::int64_t axis);
/// i64 scalar: one extent.
Out extent_of(const Out& x, std::int64_t axis);
/// i64 [1]: the product of the extents [begin, end).
Out product_of(const Out& x, std::int64_t begin, std::int64_t end);
/// i64 [0, 1, ... rank): all axes.
Out all_axes(const Out& x);
Out range(const Out& start, const Out& stop, const Out& step, ElementType type);
Out matmul(const Out& a, const Out& b, bool transpose_a = false, bool transpose_b = false);
/// Has x computed in f32 on devices that compute in bf16 (graph/precise.hpp): part of an operation that is no layer of a network, such as
/// a Fourier transform.
Out precise(const Out& x);
/// Reshapes x so that dimension 1 holds the values and all others are 1, for per-channel operands of a tensor like
/// `like`.
Out per_channel(const Out& x, const Out& like);
/// The orders of axes that bring the last axis, of channels, to place 1, and back.
Ints channels_first(std::int64_t rank);
Ints channels_last(std::int64_t rank);
/// i64 [rank]: the order of axes in which `axis` (integer, one element, may be negative) and `place` are swapped.
Out order_swapping(const Out& axis, std::int64_t place, std::int64_t rank);
/// The integer values of a small tensor if known at conversion.
std::optional<Ints> known_ints(const Out& x);
/// Whether a value of i4 or u4 is INT2 or UINT2 in the file: what is converted to its type keeps to 2 bits.
bool has_two_bits(const Out& x);
void mark_two_bits(const Out& x);
/// The lowest 2 or 4 bits of integers, or of reals rounded to such, as i4 or u4.
Out cut_to_bits(const Out& x, ElementType type, int bits);
/// The largest finite value of a float of 4 or 8 bits with a mantissa; nothing for other types.
std::optional<double> largest_small_float(ElementType type);
/// axis, or axis + rank if negative. @errors kInvalidArgument: out of range.
std::int64_t normalized_axis(std::int64_t axis, std::int64_t rank);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
