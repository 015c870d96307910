// SPDX-License-Identifier: Apache-2.0
// Control flow: nodes that run models as their bodies (TensorIterator, Loop, If).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>

namespace tenon {
inline namespace v1 {
namespace op {
namespace util {

/// A node with bodies. Bodies see only their parameters; descriptions define the source of each parameter and the use
/// of each result. A clone has its own bodies, which share the constants' memory.
/// @thread as Node.
class TENON_API MultiSubGraphOp : public Node {
 public:
  /// Describes the source of a body's parameter.
  class TENON_API InputDescription {
   public:
    using Ptr = std::shared_ptr<InputDescription>;
    virtual ~InputDescription();
    virtual Ptr copy() const = 0;
    std::uint64_t m_input_index = 0;
    std::uint64_t m_body_parameter_index = 0;

   protected:
    InputDescription(std::uint64_t input, std::uint64_t parameter)
        : m_input_index(input), m_body_parameter_index(parameter) {}
  };
  /// Describes the use of a body's result.
  class TENON_API OutputDescription {
   public:
    using Ptr = std::shared_ptr<OutputDescription>;
    virtual ~OutputDescription();
    virtual Ptr copy() const = 0;
    std::uint64_t m_body_value_index = 0;
    std::uint64_t m_output_index = 0;

   protected:
    OutputDescription(std::uint64_t value, std::uint64_t output) : m_body_value_index(value), m_output_index(output) {}
  };
  /// Iteration i sees part i of an input's axis: part_size elements. The first part begins at `start`, each further one
  /// `stride` later. `end` is the last element of all, inclusive. Negative positions count from the end (-1: the last).
  class TENON_API SliceInputDescription final : public InputDescription {
   public:
    SliceInputDescription(std::uint64_t input, std::uint64_t parameter, std::int64_t start, std::int64_t stride,
                          std::int64_t part_size, std::int64_t end, std::int64_t axis)
        : InputDescription(input, parameter),
          m_start(start),
          m_stride(stride),
          m_part_size(part_size),
          m_end(end),
          m_axis(axis) {}
    Ptr copy() const override { return std::make_shared<SliceInputDescription>(*this); }
    std::int64_t m_start = 0, m_stride = 0, m_part_size = 0, m_end = 0, m_axis = 0;
  };
  /// The first iteration sees the input, the others the body's result of the previous iteration.
  class TENON_API MergedInputDescription final : public InputDescription {
   public:
    MergedInputDescription(std::uint64_t input, std::uint64_t parameter, std::uint64_t value)
        : InputDescription(input, parameter), m_body_value_index(value) {}
    Ptr copy() const override { return std::make_shared<MergedInputDescription>(*this); }
    std::uint64_t m_body_value_index = 0;
  };
  /// Every iteration sees the same value.
  class TENON_API InvariantInputDescription final : public InputDescription {
   public:
    InvariantInputDescription(std::uint64_t input, std::uint64_t parameter) : InputDescription(input, parameter) {}
    Ptr copy() const override { return std::make_shared<InvariantInputDescription>(*this); }
  };
  /// The result of one iteration; -1: the last.
  class TENON_API BodyOutputDescription final : public OutputDescription {
   public:
    BodyOutputDescription(std::uint64_t value, std::uint64_t output, std::int64_t iteration = -1)
        : OutputDescription(value, output), m_iteration(iteration) {}
    Ptr copy() const override { return std::make_shared<BodyOutputDescription>(*this); }
    std::int64_t m_iteration = -1;
  };
  /// The results of all iterations concatenated along an axis; positions as in SliceInputDescription.
  class TENON_API ConcatOutputDescription final : public OutputDescription {
   public:
    ConcatOutputDescription(std::uint64_t value, std::uint64_t output, std::int64_t start, std::int64_t stride,
                            std::int64_t part_size, std::int64_t end, std::int64_t axis)
        : OutputDescription(value, output),
          m_start(start),
          m_stride(stride),
          m_part_size(part_size),
          m_end(end),
          m_axis(axis) {}
    Ptr copy() const override { return std::make_shared<ConcatOutputDescription>(*this); }
    std::int64_t m_start = 0, m_stride = 0, m_part_size = 0, m_end = 0, m_axis = 0;
  };
  using MultiSubgraphInputDescriptionVector = std::vector<InputDescription::Ptr>;
  using MultiSubgraphOutputDescriptionVector = std::vector<OutputDescription::Ptr>;

  /// @errors kOutOfRange: no such body.
  const std::shared_ptr<Model>& get_function(std::size_t index) const;
  const std::vector<std::shared_ptr<Model>>& get_functions() const { return m_bodies; }
  /// @errors kOutOfRange; kInvalidArgument: null.
  void set_function(int index, const std::shared_ptr<Model>& body);
  const MultiSubgraphInputDescriptionVector& get_input_descriptions(int index) const;
  MultiSubgraphInputDescriptionVector& get_input_descriptions(int index);
  const MultiSubgraphOutputDescriptionVector& get_output_descriptions(int index) const;
  MultiSubgraphOutputDescriptionVector& get_output_descriptions(int index);
  void set_input_descriptions(int index, const MultiSubgraphInputDescriptionVector& inputs);
  void set_output_descriptions(int index, const MultiSubgraphOutputDescriptionVector& outputs);
  std::size_t get_internal_subgraphs_size() const { return m_bodies.size(); }
  /// One parameter per body (null: not in that body) sees `value` unchanged.
  void set_invariant_inputs(const Output<Node>& value, const ParameterVector& bodies_parameters);
  /// Makes an output of one result from every body. @return the output.
  Output<Node> set_body_outputs(const ResultVector& bodies_results);

  /// Appends an input without a description; for readers. @return its number.
  std::uint64_t add_input(const Output<Node>& value);

  /// A node with the same operation, attributes and descriptions over other inputs, with its own bodies.
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override;
  /// Infers types and shapes of bodies and outputs. @errors kInvalidArgument: no body, a description with an invalid
  /// index, a parameter fed by nothing or twice, bodies nested too deeply.
  void infer_bodies();

 protected:
  MultiSubGraphOp(const Operation& operation, const OutputVector& inputs, std::size_t bodies);
  /// A new input that reads `value`.
  std::uint64_t input_for(const Output<Node>& value);
  std::uint64_t parameter_index(std::size_t body, const std::shared_ptr<op::v0::Parameter>& parameter) const;
  std::uint64_t result_index(std::size_t body, const Output<Node>& value) const;
  Output<Node> add_output(std::size_t body, OutputDescription::Ptr description);
  void infer_when_complete();
  virtual void infer_outputs() = 0;
  virtual std::shared_ptr<MultiSubGraphOp> empty_copy(const OutputVector& inputs) const = 0;
  /// Gives the body's parameters the types and shapes of their sources. @errors as infer_bodies().
  void feed_parameters(std::size_t body, bool has_iterations);

  std::vector<std::shared_ptr<Model>> m_bodies;
  std::vector<MultiSubgraphInputDescriptionVector> m_input_descriptions;
  std::vector<MultiSubgraphOutputDescriptionVector> m_output_descriptions;
};

/// A node whose single body runs several times.
class TENON_API SubGraphOp : public MultiSubGraphOp {
 public:
  const std::shared_ptr<Model>& get_function() const { return m_bodies[0]; }
  void set_function(const std::shared_ptr<Model>& body) { MultiSubGraphOp::set_function(0, body); }
  using MultiSubGraphOp::get_input_descriptions;
  using MultiSubGraphOp::get_output_descriptions;
  const MultiSubgraphInputDescriptionVector& get_input_descriptions() const { return m_input_descriptions[0]; }
  MultiSubgraphInputDescriptionVector& get_input_descriptions() { return m_input_descriptions[0]; }
  const MultiSubgraphOutputDescriptionVector& get_output_descriptions() const { return m_output_descriptions[0]; }
  MultiSubgraphOutputDescriptionVector& get_output_descriptions() { return m_output_descriptions[0]; }

  /// Sets the source of a parameter of the body; see the descriptions. Set the body first.
  /// @errors kInvalidArgument: the parameter, or the value, does not belong to the body.
  void set_sliced_input(const std::shared_ptr<op::v0::Parameter>& parameter, const Output<Node>& value,
                        std::int64_t start, std::int64_t stride, std::int64_t part_size, std::int64_t end,
                        std::int64_t axis);
  void set_merged_input(const std::shared_ptr<op::v0::Parameter>& parameter, const Output<Node>& initial_value,
                        const Output<Node>& successive_value);
  void set_invariant_input(const std::shared_ptr<op::v0::Parameter>& parameter, const Output<Node>& value);
  /// Makes an output; its type and shape are known once all parameters of the body are fed.
  Output<Node> get_iter_value(const Output<Node>& body_value, std::int64_t iteration = -1);
  Output<Node> get_concatenated_slices(const Output<Node>& value, std::int64_t start, std::int64_t stride,
                                       std::int64_t part_size, std::int64_t end, std::int64_t axis);
  /// -1: unknown before the model runs.
  std::int64_t get_num_iterations() const { return m_num_iterations; }

 protected:
  SubGraphOp(const Operation& operation, const OutputVector& inputs) : MultiSubGraphOp(operation, inputs, 1) {}
  void infer_outputs() override;
  /// Number of iterations as far as the inputs determine it, else -1.
  virtual std::int64_t find_iterations() const = 0;
  std::int64_t sliced_iterations() const;
  bool widen_merged_parameters(bool whole_shapes);
  std::int64_t m_num_iterations = -1;
};
using InputDescriptionVector = std::vector<MultiSubGraphOp::InputDescription::Ptr>;
using OutputDescriptionVector = std::vector<MultiSubGraphOp::OutputDescription::Ptr>;

/// Positions of the parts of an axis of `extent` elements.
struct TENON_API AxisParts {
  std::int64_t first = 0;  ///< Start of part 0.
  std::int64_t step = 0;   ///< Distance between parts.
  std::int64_t count = 0;  ///< Number of parts between start and end.
  std::int64_t at(std::int64_t iteration) const { return first + iteration * step; }
};
/// @errors kInvalidArgument: a stride of 0, a part size below 1, positions outside the axis.
TENON_API AxisParts axis_parts(std::int64_t start, std::int64_t stride, std::int64_t part_size, std::int64_t end,
                               std::int64_t extent);

}  // namespace util

namespace v0 {
/// Runs its body once per part of its sliced inputs.
class TENON_API TensorIterator final : public util::SubGraphOp {
 public:
  TensorIterator();
  explicit TensorIterator(const OutputVector& inputs);
  static const DiscreteTypeInfo& get_type_info_static();
  const std::shared_ptr<Model>& get_body() const { return m_bodies[0]; }
  void set_body(const std::shared_ptr<Model>& body) { set_function(body); }

 private:
  std::int64_t find_iterations() const override;
  std::shared_ptr<MultiSubGraphOp> empty_copy(const OutputVector& inputs) const override;
};
}  // namespace v0

namespace v5 {
/// Runs its body at most `trip_count` times (negative: any number) while a condition holds: at first the input's, then
/// that of the body's result.
class TENON_API Loop final : public util::SubGraphOp {
 public:
  struct SpecialBodyPorts {
    SpecialBodyPorts() = default;
    SpecialBodyPorts(std::int64_t current_iteration, std::int64_t body_condition)
        : current_iteration_input_idx(current_iteration), body_condition_output_idx(body_condition) {}
    std::int64_t current_iteration_input_idx = -1;  ///< Parameter that receives the iteration number; -1: none.
    std::int64_t body_condition_output_idx = -1;    ///< Result that says whether to continue. Required.
  };
  Loop();
  Loop(const Output<Node>& trip_count, const Output<Node>& execution_condition);
  static const DiscreteTypeInfo& get_type_info_static();
  void set_special_body_ports(const SpecialBodyPorts& ports);
  SpecialBodyPorts get_special_body_ports() const { return special_; }

 private:
  std::int64_t find_iterations() const override;
  void infer_outputs() override;
  std::shared_ptr<MultiSubGraphOp> empty_copy(const OutputVector& inputs) const override;
  SpecialBodyPorts special_;
};
}  // namespace v5

namespace v8 {
/// Runs one of two bodies.
class TENON_API If final : public util::MultiSubGraphOp {
 public:
  enum BodyIndexes { THEN_BODY_INDEX = 0, ELSE_BODY_INDEX = 1 };
  If();
  explicit If(const Output<Node>& execution_condition);
  static const DiscreteTypeInfo& get_type_info_static();
  const std::shared_ptr<Model>& get_then_body() const { return m_bodies[THEN_BODY_INDEX]; }
  const std::shared_ptr<Model>& get_else_body() const { return m_bodies[ELSE_BODY_INDEX]; }
  void set_then_body(const std::shared_ptr<Model>& body) { set_function(THEN_BODY_INDEX, body); }
  void set_else_body(const std::shared_ptr<Model>& body) { set_function(ELSE_BODY_INDEX, body); }
  /// Either parameter may be null: that body does not see the value.
  void set_input(const Output<Node>& value, const std::shared_ptr<v0::Parameter>& then_parameter,
                 const std::shared_ptr<v0::Parameter>& else_parameter);
  Output<Node> set_output(const std::shared_ptr<v0::Result>& then_result,
                          const std::shared_ptr<v0::Result>& else_result);

 private:
  void infer_outputs() override;
  std::shared_ptr<MultiSubGraphOp> empty_copy(const OutputVector& inputs) const override;
};
}  // namespace v8
}  // namespace op

/// Runs body `index` on its parameters' values. @return its results.
using BodyRunner = std::function<std::vector<Tensor>(std::size_t index, const std::vector<Tensor>& inputs)>;

/// Runs a control-flow node: slices, calls, joins. The number of iterations depends on the values.
/// @param run  Called once per iteration; its results are kept, without copying, as long as they are needed.
/// @return one tensor per output. @errors kInvalidArgument; exceptions of `run`.
TENON_API std::vector<Tensor> run_subgraph(const op::util::MultiSubGraphOp& node, std::span<const Tensor> inputs,
                                           const BodyRunner& run);

/// What a loop that never begins puts out where no input is the output's first value: zeros of the extents that are known, 0
/// of the others and of the axis along which values would be joined.
TENON_API Tensor nothing_of(const op::util::SubGraphOp& loop,
                            const op::util::MultiSubGraphOp::OutputDescription& output);

/// Calls `visit` with every node of the model and of all bodies in it, at any depth.
TENON_API void for_each_node(const Model& model, const std::function<void(const std::shared_ptr<Node>&)>& visit);

}  // namespace v1
}  // namespace tenon
