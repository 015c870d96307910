// SPDX-License-Identifier: Apache-2.0
// PrePostProcessor's settings for an input or output, and its steps as functions on nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/graph/attributes.hpp>
#include <tenon/graph/dimension.hpp>
#include <tenon/graph/layout.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/preprocess/color_format.hpp>
#include <tenon/runtime/preprocess/padding_mode.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>  // IWYU pragma: export
#include <tenon/runtime/preprocess/resize_algorithm.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {
namespace detail {

/// State that steps read and change besides the nodes that they work on.
struct StepContext {
  Layout layout, target_layout;
  PartialShape model_shape;
  element::Type target_type;
  ColorFormat colour = ColorFormat::UNDEFINED;
};

struct Step {
  std::string name;
  /// From one output per plane to the same, or to one.
  std::function<OutputVector(const OutputVector&, StepContext&)> apply;
  std::vector<std::uint64_t> order;  ///< For convert_layout(dims).
  std::optional<Layout> layout;      ///< For convert_layout(layout).
};

struct InputPlan {
  std::shared_ptr<op::v0::Parameter> parameter;  ///< The original model's.
  std::optional<element::Type> type;
  std::optional<Layout> tensor_layout, model_layout;
  std::optional<PartialShape> shape;
  std::optional<std::pair<Dimension, Dimension>> spatial;  ///< Height, width.
  std::optional<std::string> memory_type;
  ColorFormat colour = ColorFormat::UNDEFINED;
  std::vector<std::string> sub_names;
  std::vector<Step> steps;
};

struct OutputPlan {
  std::shared_ptr<op::v0::Result> result;
  std::optional<element::Type> type;
  std::optional<Layout> tensor_layout, model_layout;
  std::optional<ColorFormat> colour;
  std::vector<Step> steps;
};

inline void check(bool condition, const std::string& message) {
  if (!condition) throw AssertFailure(message);
}

// -- colour.cpp
std::string color_format_name(ColorFormat format);
std::size_t plane_count(ColorFormat format);
/// Shape of a plane of a picture of `shape`.
PartialShape plane_shape(ColorFormat format, std::size_t plane, const PartialShape& shape, const Layout& layout);
void check_sub_names(ColorFormat format, const std::vector<std::string>& sub_names);
Step convert_color_step(ColorFormat to);
Step convert_output_color_step(ColorFormat to);
OutputVector reverse_channels(const OutputVector& nodes, const StepContext& context);

// -- steps.cpp
/// Axis of H, W or C in a tensor. @errors AssertFailure: no such name, dynamic rank, or the axis lies outside.
std::size_t named_axis(const Layout& layout, const PartialShape& shape, const char* letter, const char* word);
Output<Node> node_of(const char* type, unsigned version, const OutputVector& inputs, const Attributes& attributes = {});
Output<Node> constant_of(const std::vector<std::int64_t>& values, element::Type type = element::i64);
Step convert_type_step(element::Type type);
Step convert_layout_step(const Layout& layout);
Step convert_layout_step(const std::vector<std::uint64_t>& order);
Step arithmetic_step(const char* name, const char* operation, const std::vector<float>& values);
Step clamp_step(double min, double max);
Step pad_step(const std::vector<int>& begin, const std::vector<int>& end, const std::vector<float>& values,
              PaddingMode mode);
Step resize_step(ResizeAlgorithm algorithm, std::int64_t height, std::int64_t width);
Step crop_step(const std::vector<int>& begin, const std::vector<int>& end);
Step reverse_step();
Step custom_step(std::function<Output<Node>(const Output<Node>&)> callback);

// -- build.cpp
/// Makes the new parameters of an input and runs its steps; the model itself is not touched.
struct InputBuild {
  InputBuild(const InputPlan& plan, const Model& model);
  /// Runs the steps, then the implicit ones; calls `seen` with the state before and after each.
  using Seen = std::function<void(const Step& step, bool implicit, const Output<Node>& before,
                                  const StepContext& context_before, const Output<Node>& after)>;
  void run(const Seen& seen = {});

  const InputPlan& plan;
  ParameterVector parameters;
  StepContext context;
  OutputVector nodes;
};

struct OutputBuild {
  explicit OutputBuild(const OutputPlan& plan);
  using Seen = InputBuild::Seen;
  void run(const Seen& seen = {});

  const OutputPlan& plan;
  StepContext context;
  Output<Node> node;
};

/// Puts what was built into the model. @errors AssertFailure; the model is then as before.
void build_model(const std::shared_ptr<Model>& model, const std::vector<const InputPlan*>& inputs,
                 const std::vector<const OutputPlan*>& outputs);

// -- describe.cpp
void describe_input(std::ostream& out, const InputPlan& plan, const Model& model);
void describe_output(std::ostream& out, const OutputPlan& plan);

}  // namespace detail
}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
