// SPDX-License-Identifier: Apache-2.0
// From the stage's spec to a chain of plain operations over [1, samples, rows, columns].
#include <tenon/graph/input_stage/expand.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon {
inline namespace v1 {
namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t number(std::size_t value) { return static_cast<std::int64_t>(value); }

class Expansion {
 public:
  explicit Expansion(const Node& stage) : spec_(spec_of(stage)), name_(stage.get_friendly_name()) {}

  std::shared_ptr<Node> build(const OutputVector& inputs) {
    Output<Node> value = samples(spec_.packed ? unpacked(inputs.at(0)) : inputs);
    value = cropped(value);
    if (spec_.convert_first)
      value = resized(converted_pixels(value));
    else
      value = converted(resized(value));
    value = normalised(value);
    if (spec_.type == ElementType::kU8)
      value = clamped(make("round", "Round", 5, {value}, {{"mode", std::string("half_to_even")}}));
    if (!spec_.planar) value = transposed(value, {0, 2, 3, 1});
    if (spec_.type != ElementType::kF32) value = as(value, spec_.type);
    value.get_node()->set_friendly_name(name_);
    return value.get_node_shared_ptr();
  }

 private:
  Output<Node> make(const char* what, const char* operation, std::uint32_t version, const OutputVector& inputs,
                    Attributes attributes = {}) {
    const auto node = make_node(operation, version, inputs, std::move(attributes));
    node->set_friendly_name(name_ + "/" + what + std::to_string(count_++));
    return node->output(0);
  }
  template <typename T>
  Output<Node> constant(element::Type type, const Shape& shape, const std::vector<T>& values) {
    const auto node = op::v0::Constant::create(type, shape, values);
    node->set_friendly_name(name_ + "/constant" + std::to_string(count_++));
    return node->output(0);
  }
  Output<Node> list(const Ints& values) { return constant(element::i64, Shape{values.size()}, values); }
  /// One number per channel, broadcastable over [1, channels, rows, columns].
  Output<Node> channels(const std::vector<double>& values) {
    return constant(element::f32, Shape{1, values.size(), 1, 1}, values);
  }
  Output<Node> as(const Output<Node>& value, ElementType type) {
    return make("convert", "Convert", 1, {value}, {{"destination_type", element::Type(type)}});
  }
  Output<Node> reshaped(const Output<Node>& value, const Ints& shape) {
    return make("reshape", "Reshape", 1, {value, list(shape)}, {{"special_zero", false}});
  }
  Output<Node> transposed(const Output<Node>& value, const Ints& order) {
    return make("transpose", "Transpose", 1, {value, list(order)});
  }
  Output<Node> clamped(const Output<Node>& value) {
    return make("clamp", "Clamp", 1, {value}, {{"min", 0.0}, {"max", 255.0}});
  }
  Output<Node> binary(const char* what, const char* operation, const Output<Node>& x, const Output<Node>& y) {
    return make(what, operation, 1, {x, y}, {{"auto_broadcast", std::string("numpy")}});
  }
  /// Rows and columns [top, top + height), [left, left + width) of [1, samples, rows, columns].
  Output<Node> part(const Output<Node>& value, const PixelRect& r) {
    const Shape& shape = value.get_shape();
    if (r == PixelRect{0, 0, shape[3], shape[2]}) return value;
    return make("part", "StridedSlice", 1,
                {value, list({0, 0, number(r.y), number(r.x)}),
                 list({0, 0, number(r.y + r.height), number(r.x + r.width)}), list({1, 1, 1, 1})},
                {{"begin_mask", Ints{1, 1, 0, 0}}, {"end_mask", Ints{1, 1, 0, 0}}});
  }
  Output<Node> interpolated(const Output<Node>& value, std::size_t rows, std::size_t columns, const char* mode,
                            const char* coordinates, const char* nearest) {
    const Shape& shape = value.get_shape();
    const std::vector<float> scales{static_cast<float>(rows) / static_cast<float>(shape[2]),
                                    static_cast<float>(columns) / static_cast<float>(shape[3])};
    return make("resize", "Interpolate", 4,
                {value, list({number(rows), number(columns)}), constant(element::f32, Shape{2}, scales), list({2, 3})},
                {{"mode", std::string(mode)},
                 {"shape_calculation_mode", std::string("sizes")},
                 {"coordinate_transformation_mode", std::string(coordinates)},
                 {"nearest_mode", std::string(nearest)},
                 {"antialias", false},
                 {"pads_begin", Ints{0, 0, 0, 0}},
                 {"pads_end", Ints{0, 0, 0, 0}},
                 {"cube_coeff", -0.75}});
  }

  /// The planes of one tensor in the form of plane inputs, [1, rows, columns, step].
  OutputVector unpacked(const Output<Node>& whole) {
    OutputVector planes;
    const Shape shape = spec_.packed_shape();
    std::size_t at = 0;
    for (std::size_t i = 0; i < spec_.layout.plane_count; ++i) {
      const Shape plane = spec_.plane_shape(i);
      const std::size_t size = plane[1] * plane[2] * plane[3];
      const auto flat = reshaped(whole, {number(element_count(shape))});
      const auto piece =
          make("plane", "StridedSlice", 1, {flat, list({number(at)}), list({number(at + size)}), list({1})},
               {{"begin_mask", Ints{0}}, {"end_mask", Ints{0}}});
      planes.push_back(reshaped(piece, {1, number(plane[1]), number(plane[2]), number(plane[3])}));
      at += size;
    }
    return planes;
  }

  Output<Node> scaled(const Output<Node>& value, double by) {
    return by == 1 ? value : binary("shift", "Multiply", value, channels({by}));
  }
  /// Drops the bits of whole numbers below 2^bits, and divides by that.
  Output<Node> without_bits(const Output<Node>& value, int bits) {
    return bits == 0 ? value : make("high_bits", "Floor", 1, {scaled(value, 1.0 / (1 << bits))});
  }
  /// The values in samples of 16 bits; see FrameLayout::value_of().
  Output<Node> wide_values(Output<Node> value) {
    if (spec_.layout.swapped) {
      const Output<Node> high = without_bits(value, 8);
      const Output<Node> low = binary("low_byte", "Subtract", value, scaled(high, 256));
      value = binary("swapped", "Add", scaled(low, 256), high);
    }
    value = without_bits(value, spec_.layout.shift);
    if (spec_.layout.bits + spec_.layout.shift == 16) return value;
    const int bits = spec_.layout.bits;
    return binary("low_bits", "Subtract", value, scaled(without_bits(value, bits), 1 << bits));
  }

  /// One plane as f32 [1, step, rows, columns] of the whole frame; chroma is repeated for the pixels that share it.
  Output<Node> spread(const Output<Node>& plane, const FrameComponent& c) {
    Output<Node> value = as(plane, ElementType::kF32);
    if (spec_.layout.bits > 8) value = wide_values(value);
    const Shape& shape = plane.get_shape();
    const std::size_t rows = shape[1], columns = shape[2] * shape[3] / c.step;
    if (c.step == 1)
      value = reshaped(value, {1, 1, number(rows), number(columns)});
    else {
      if (c.step != shape[3]) value = reshaped(value, {1, number(rows), number(columns), c.step});
      value = transposed(value, {0, 3, 1, 2});
    }
    if (c.shift_x || c.shift_y)
      value = interpolated(value, rows << c.shift_y, columns << c.shift_x, "nearest", "asymmetric", "floor");
    return part(value, {0, 0, spec_.source_width, spec_.source_height});
  }

  /// f32 [1, samples, rows, columns]; column_[k] is the position of component k among the samples.
  Output<Node> samples(const OutputVector& planes) {
    using Key = std::tuple<int, int, int, int>;
    std::vector<Key> keys;
    std::vector<std::size_t> first;
    OutputVector parts;
    for (std::size_t k = 0; k < spec_.layout.component_count; ++k) {
      const FrameComponent& c = spec_.layout.components[k];
      const Key key{c.plane, c.step, c.shift_x, c.shift_y};
      const auto found = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
      if (found == keys.size()) {
        keys.push_back(key);
        first.push_back(sample_count_);
        parts.push_back(spread(planes.at(c.plane), c));
        sample_count_ += c.step;
      }
      column_[k] = first[found] + c.offset;
    }
    if (parts.size() == 1) return parts.front();
    return make("samples", "Concat", 1, parts, {{"axis", std::int64_t{1}}});
  }

  Output<Node> cropped(const Output<Node>& value) { return part(value, spec_.geometry.crop); }

  Output<Node> resized(const Output<Node>& value) {
    const PixelRect& to = spec_.geometry.placed;
    const Shape& shape = value.get_shape();
    if (shape[2] == to.height && shape[3] == to.width) return flipped(value);
    // Nearest mode selects pixels by index: Interpolate might round a tie the other way.
    if (spec_.columns.low == spec_.columns.high && spec_.rows.low == spec_.rows.high)
      return taken(taken(value, spec_.rows.low, spec_.geometry.crop.y, 2), spec_.columns.low, spec_.geometry.crop.x, 3);
    return flipped(interpolated(value, to.height, to.width, "linear_onnx", "half_pixel", "round_prefer_floor"));
  }
  /// Reverses rows or columns of a frame that must be turned.
  Output<Node> flipped(Output<Node> value) {
    const auto backwards = [](std::size_t count) {
      std::vector<std::int32_t> positions(count);
      for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<std::int32_t>(count - 1 - i);
      return positions;
    };
    const PixelRect& to = spec_.geometry.placed;
    if (spec_.flip_y) value = taken(value, backwards(to.height), 0, 2);
    if (spec_.flip_x) value = taken(value, backwards(to.width), 0, 3);
    return value;
  }
  Output<Node> taken(const Output<Node>& value, const std::vector<std::int32_t>& positions, std::size_t begin,
                     std::int64_t axis) {
    Ints indices;
    for (const std::int32_t position : positions) indices.push_back(position - number(begin));
    return make("take", "Gather", 1, {value, list(indices), constant(element::i64, Shape{}, Ints{axis})});
  }

  /// Colours of samples: clamp(offset + matrix * samples).
  Output<Node> converted(const Output<Node>& value) {
    std::vector<float> matrix(spec_.channels * sample_count_, 0.f);
    for (std::size_t c = 0; c < spec_.channels; ++c)
      for (std::size_t k = 0; k < spec_.layout.component_count; ++k)
        matrix[c * sample_count_ + column_[k]] = static_cast<float>(spec_.matrix[c][k]);
    const auto product = make("colours", "Convolution", 1,
                              {value, constant(element::f32, Shape{spec_.channels, sample_count_, 1, 1}, matrix)},
                              {{"strides", Ints{1, 1}},
                               {"dilations", Ints{1, 1}},
                               {"pads_begin", Ints{0, 0}},
                               {"pads_end", Ints{0, 0}},
                               {"auto_pad", std::string("explicit")}});
    return clamped(binary("offset", "Add", product, channels(per_channel(spec_.offset))));
  }

  /// Computed like NV12toRGB, in its order, so that halves round to the same side.
  Output<Node> converted_pixels(const Output<Node>& value) {
    constexpr double kBlack[3] = {16, 128, 128};
    std::vector<double> black(3);
    for (std::size_t k = 0; k < 3; ++k) black[column_[k]] = kBlack[k];
    const Output<Node> centred = binary("centre", "Subtract", value, channels(black));
    const auto axis = constant(element::i64, Shape{}, Ints{1});
    const auto split = make("split", "Split", 1, {centred, axis}, {{"num_splits", std::int64_t{3}}});
    Output<Node> sum;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::vector<double> row{spec_.matrix[0][k], spec_.matrix[1][k], spec_.matrix[2][k]};
      const auto term = binary("colour", "Multiply", split.get_node_shared_ptr()->output(column_[k]), channels(row));
      sum = k == 0 ? term : binary("sum", "Add", sum, term);
    }
    const auto inside = clamped(sum);
    return spec_.round_first ? make("round", "Round", 5, {inside}, {{"mode", std::string("half_to_even")}}) : inside;
  }

  /// Padding beside the picture, mean and scale.
  Output<Node> normalised(Output<Node> value) {
    std::vector<double> mean = per_channel(spec_.mean), scale = per_channel(spec_.scale);
    const std::vector<double> pad = per_channel(spec_.pad);
    const PixelRect& placed = spec_.geometry.placed;
    if (placed != PixelRect{0, 0, spec_.width, spec_.height}) {
      // Pad writes a single number: if channels differ, they are shifted to a common zero first.
      const bool one = std::all_of(pad.begin(), pad.end(), [&](double p) { return p == pad.front(); });
      if (!one) {
        value = binary("shift", "Subtract", value, channels(pad));
        for (std::size_t c = 0; c < pad.size(); ++c) mean[c] -= pad[c];
      }
      const auto fill = constant(element::f32, Shape{}, std::vector<double>{one ? pad.front() : 0});
      value = make(
          "pad", "Pad", 1,
          {value, list({0, 0, number(placed.y), number(placed.x)}),
           list({0, 0, number(spec_.height - placed.y - placed.height), number(spec_.width - placed.x - placed.width)}),
           fill},
          {{"pad_mode", std::string("constant")}});
    }
    if (std::any_of(mean.begin(), mean.end(), [](double m) { return m != 0; }))
      value = binary("mean", "Subtract", value, channels(mean));
    if (std::any_of(scale.begin(), scale.end(), [](double s) { return s != 1; }))
      value = binary("scale", "Divide", value, channels(scale));
    return value;
  }
  std::vector<double> per_channel(const std::array<double, 3>& values) const {
    return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(spec_.channels)};
  }

  const InputStageSpec spec_;
  const std::string name_;
  std::size_t count_ = 0, sample_count_ = 0;
  std::array<std::size_t, 3> column_{};
};

}  // namespace

std::shared_ptr<Model> expand_input_stages(const Model& model) {
  const auto is_stage = [](const auto& node) { return is_op(node, "InputStage"); };
  const NodeVector all = model.get_ordered_ops();
  if (std::none_of(all.begin(), all.end(), is_stage)) return nullptr;
  std::shared_ptr<Model> expanded = model.clone();
  for (const auto& node : expanded->get_ordered_ops()) {
    if (!is_stage(node)) continue;
    OutputVector planes;
    for (std::size_t i = 0; i < node->get_input_size(); ++i) planes.push_back(node->input_value(i));
    const auto names = node->output(0).get_names();
    const auto last = Expansion(*node).build(planes);
    node->output(0).replace(last->output(0));
    last->output(0).set_names(names);
  }
  expanded->validate_nodes_and_infer_types();
  return expanded;
}

}  // namespace v1
}  // namespace tenon
