// SPDX-License-Identifier: Apache-2.0
// The generator's internals: the values made so far, and the steps that can use them.
#pragma once

#include <memory>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/tests/graphs/generator.hpp>

namespace tenon::graphs {

using Out = Output<Node>;
using Ints = std::vector<std::int64_t>;
using op::v0::Constant;
using op::v0::Parameter;

inline constexpr std::size_t kMostElements = 20000;
inline constexpr double kHighest = 1000;  // Limit on a value's known bound; larger ones are clamped first.

inline Out op1(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes = {}) {
  return make_node(type, version, inputs, attributes)->output(0);
}
inline Out ints(const Ints& values) { return Constant::create(element::i64, Shape{values.size()}, values); }
inline Out scalar_int(std::int64_t value) { return Constant::create(element::i64, Shape{}, Ints{value}); }
inline Out number(double value) { return Constant::create(element::f32, Shape{}, std::vector<double>{value}); }
inline Out convert(const Out& x, ElementType type) { return op1("Convert", 1, {x}, {{"destination_type", type}}); }
inline std::int64_t signed_of(std::size_t value) { return static_cast<std::int64_t>(value); }
inline Ints signed_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

/// A value of the graph and what is known about it.
struct Item {
  Out out;
  double bound = 4;  ///< About the largest magnitude.
  double scale = 0;  ///< For 8-bit numbers: their scale.
  double zero_point = 0;
  std::size_t readers = 0;
  Shape shape() const { return out.get_shape(); }
  bool is_real() const { return out.get_element_type() == element::f32; }
};

class Builder {
 public:
  Builder(Choices& choices, const Wishes& wishes, int depth) : choices_(choices), wishes_(wishes), depth_(depth) {}

  std::shared_ptr<Model> whole();
  void add_parameter(const Shape& shape, double bound = 4);
  void grow();

  /// The values that nothing reads, and some that are read.
  OutputVector results();

  const ParameterVector& parameters() const { return parameters_; }
  std::vector<Item>& items() { return items_; }

 private:
  // -- Choosing

  Shape random_shape();
  Item& any();

  /// A real value, clamped if it may have grown large; copied, since further items move the list.
  Item real();
  Item read(Item& item);
  std::size_t axis_of(const Shape& shape);
  /// The first axis with more than one element: parts along it are contiguous.
  static std::size_t outer_axis(const Shape& shape);
  /// Weights that repeat values, made from few bytes.
  Out weights(const Shape& shape, double scale);
  void add(const Out& out, double bound) { items_.push_back({out, bound}); }
  /// Moved elements keep their meaning.
  void add_moved(const Out& out, const Item& from) { items_.push_back({out, from.bound, from.scale, from.zero_point}); }

  // -- One step

  void step();
  void unary();
  void combine(const Item& x, const Item& y);

  /// Two parts of one value, which may overlap; mostly of a value that the engine may overwrite, cut so that they are
  /// views.
  void parts_combined();
  void binary();
  void broadcast();
  // Moves: builder_views.cpp.
  void slice();
  void split();
  void concat();
  void reshape();
  void transpose();
  void odds();

  // -- Kernels with layouts of their own: builder_kernels.cpp

  /// Weights for a convolution or product: real, or dequantised from 8 bits.
  Out filter(const Shape& shape, std::size_t axis, double scale);
  void product();

  /// A value of [N, C, H, W]: an existing one, or one reshaped.
  Item picture();
  void image();
  /// Pools of windows of their own, blocks between batch and space, sequences turned round.
  void pools_and_blocks(const Item& x);
  /// An image as rows of tokens and an image again, as attention between convolutions has it, or normalised over its
  /// pixels.
  void tokens();
  /// A kernel's result plus a value that nothing else reads: the engine sums over that value.
  void residual();
  /// Products of rows that are divided by the roots of their mean squares, and gates of two of them, as in a decoder's layer.
  void products_of_norms();
  void rows();

  // -- 8 bits: builder_quantized.cpp

  void rounding();
  /// Operations between 8-bit numbers, rounded again, as in quantised models.
  void between_roundings();
  /// Rounded to 256 levels, about as wide as the value.
  Out rounded(const Out& x, double bound);

  /// As ONNX's DequantizeLinear; now and then without it, or with another scale than the one they were made with.
  void make_real(const Item& x);

  // -- States and bodies: builder_bodies.cpp

  void state();

  /// A body over `count` values of the graph. Its parameters have open shapes until the node is complete.
  struct Body {
    std::vector<Item> sources;
    ParameterVector parameters;
    OutputVector results;
  };
  Body body(const std::vector<Item>& sources, std::size_t nodes);
  std::vector<Item> sources(std::size_t count);
  void branch();
  void loop();

  Choices& choices_;
  const Wishes wishes_;
  const int depth_;
  std::vector<Item> items_;
  ParameterVector parameters_;
  SinkVector sinks_;
  OutputVector states_;
};

}  // namespace tenon::graphs
