// SPDX-License-Identifier: Apache-2.0
// 8-bit values and weights, as a model's FakeQuantize nodes and dequantised constants describe them, for any engine.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/planning/buffer_slices.hpp>

namespace tenon::inline v1::planning {

/// What is known of a graph's constants while it is read.
class Constants {
 public:
  virtual ~Constants() = default;
  /// Empty unless the value is known.
  virtual Tensor of(const Output<Node>& value) const = 0;
  /// What `make` computes from a constant; may keep it for the next time. @param how  Names it.
  virtual Tensor derived(const Tensor& source, const std::string& how, const std::function<Tensor()>& make) const = 0;

 protected:
  Constants() = default;
  Constants(const Constants&) = default;
  Constants& operator=(const Constants&) = default;
};

/// The one axis along which a constant of `shape` varies, in a tensor of rank `rank`; `rank` itself if it is one
/// number, nothing if there are several.
std::optional<std::size_t> axis_of(const Shape& shape, std::size_t rank);

/// The 8-bit numbers to which a FakeQuantize with one range for the whole tensor rounds; nothing if it has other
/// ranges, other levels, or limits that are not whole steps away from zero.
std::optional<Quantization> quantization_of(const Constants& constants, const Node& node);
/// Whether output 0 of `node` holds 8-bit numbers if its input 0 does: it only moves them, or chooses among them.
bool keeps_numbers(const Node& node);

/// Real numbers that 8-bit ones stand for: (Convert(numbers) - zero point) * scale, the last two as far as there are any.
struct Dequantized {
  Output<Node> numbers;
  Quantization quantization;
  NodeVector nodes;  ///< In order; nothing but the next reads any before the last.
};
/// What `last` makes of 8-bit numbers; nothing if it is no such node, or one that reads constants.
std::optional<Dequantized> dequantized_of(const Constants& constants, const std::shared_ptr<Node>& last);

/// Constant 8-bit weights with one scale, or one per output channel.
struct QuantizedWeights {
  Tensor values;              ///< i8, of the shape that the operation reads.
  std::vector<float> scales;  ///< One, or one per output channel.
};
/// Weights on input 1 of a convolution, which has the output channels outermost (grouped: groups, then channels).
std::optional<QuantizedWeights> quantized_filter(const Constants& constants, const Node& node, std::size_t channels);
/// Weights on input 1 of a matrix product whose columns lie along `axis`.
std::optional<QuantizedWeights> quantized_matrix(const Constants& constants, const Node& node, std::size_t axis);

}  // namespace tenon::inline v1::planning
