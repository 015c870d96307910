// SPDX-License-Identifier: Apache-2.0
// Operations with bodies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "openvino/core/model.hpp"
#include "openvino/op/op.hpp"
#include "openvino/op/parameter.hpp"
#include "openvino/op/sink.hpp"

namespace ov {
namespace op {
namespace util {

/// A node that runs models. Descriptions say what feeds each parameter of a body, and what becomes of each result. What a program changes in
/// lists of descriptions counts from validate_and_infer_types() on, or when the model is used.
class OPENVINO_API MultiSubGraphOp : public Sink {
 public:
  OPENVINO_OP("MultiSubGraphOp", "util", Sink)
  /// What feeds a parameter of a body.
  class OPENVINO_API InputDescription {
   public:
    using Ptr = std::shared_ptr<InputDescription>;
    using type_info_t = DiscreteTypeInfo;
    virtual ~InputDescription();
    virtual std::shared_ptr<InputDescription> copy() const = 0;
    virtual const type_info_t& get_type_info() const = 0;
    std::uint64_t m_input_index = 0;
    std::uint64_t m_body_parameter_index = 0;

   protected:
    InputDescription() = default;
    InputDescription(std::uint64_t input, std::uint64_t parameter)
        : m_input_index(input), m_body_parameter_index(parameter) {}
  };
  /// What becomes of a result of a body.
  class OPENVINO_API OutputDescription {
   public:
    using Ptr = std::shared_ptr<OutputDescription>;
    using type_info_t = DiscreteTypeInfo;
    virtual ~OutputDescription();
    virtual std::shared_ptr<OutputDescription> copy() const = 0;
    virtual const type_info_t& get_type_info() const = 0;
    std::uint64_t m_body_value_index = 0;
    std::uint64_t m_output_index = 0;

   protected:
    OutputDescription() = default;
    OutputDescription(std::uint64_t value, std::uint64_t output) : m_body_value_index(value), m_output_index(output) {}
  };
  /// Iteration i sees part i of an axis: part_size elements; the first part begins at start, each further one stride later, and end is the
  /// last element, inclusive. Negative positions count from the end.
  class OPENVINO_API SliceInputDescription : public InputDescription {
   public:
    OPENVINO_RTTI("SliceInputDescription")
    SliceInputDescription() = default;
    SliceInputDescription(std::uint64_t input_index, std::uint64_t body_parameter_index, std::int64_t start,
                          std::int64_t stride, std::int64_t part_size, std::int64_t end, std::int64_t axis)
        : InputDescription(input_index, body_parameter_index),
          m_start(start),
          m_stride(stride),
          m_part_size(part_size),
          m_end(end),
          m_axis(axis) {}
    std::shared_ptr<InputDescription> copy() const override;
    std::int64_t m_start = 0;
    std::int64_t m_stride = 0;
    std::int64_t m_part_size = 0;
    std::int64_t m_end = 0;
    std::int64_t m_axis = 0;
  };
  /// The first iteration sees the input, each further one the result of the one before.
  class OPENVINO_API MergedInputDescription : public InputDescription {
   public:
    OPENVINO_RTTI("MergedInputDescription")
    MergedInputDescription() = default;
    MergedInputDescription(std::uint64_t input_index, std::uint64_t body_parameter_index,
                           std::uint64_t body_value_index)
        : InputDescription(input_index, body_parameter_index), m_body_value_index(body_value_index) {}
    std::shared_ptr<InputDescription> copy() const override;
    std::uint64_t m_body_value_index = 0;
  };
  /// Each iteration sees the input.
  class OPENVINO_API InvariantInputDescription : public InputDescription {
   public:
    OPENVINO_RTTI("InvariantInputDescription")
    InvariantInputDescription() = default;
    InvariantInputDescription(std::uint64_t input_index, std::uint64_t body_parameter_index)
        : InputDescription(input_index, body_parameter_index) {}
    std::shared_ptr<InputDescription> copy() const override;
  };
  /// The results of all iterations, joined along an axis.
  class OPENVINO_API ConcatOutputDescription : public OutputDescription {
   public:
    OPENVINO_RTTI("ConcatOutputDescription")
    ConcatOutputDescription() = default;
    ConcatOutputDescription(std::uint64_t body_value_index, std::uint64_t output_index, std::int64_t start,
                            std::int64_t stride, std::int64_t part_size, std::int64_t end, std::int64_t axis)
        : OutputDescription(body_value_index, output_index),
          m_start(start),
          m_stride(stride),
          m_part_size(part_size),
          m_end(end),
          m_axis(axis) {}
    std::shared_ptr<OutputDescription> copy() const override;
    std::int64_t m_start = 0;
    std::int64_t m_stride = 0;
    std::int64_t m_part_size = 0;
    std::int64_t m_end = 0;
    std::int64_t m_axis = 0;
  };
  /// The result of one iteration; -1 is the last.
  class OPENVINO_API BodyOutputDescription : public OutputDescription {
   public:
    OPENVINO_RTTI("BodyOutputDescription")
    BodyOutputDescription() = default;
    BodyOutputDescription(std::uint64_t body_value_index, std::uint64_t output_index, std::int64_t iteration = -1)
        : OutputDescription(body_value_index, output_index), m_iteration(iteration) {}
    std::shared_ptr<OutputDescription> copy() const override;
    std::int64_t m_iteration = 0;
  };
  using MultiSubgraphInputDescriptionVector = std::vector<InputDescription::Ptr>;
  using MultiSubgraphOutputDescriptionVector = std::vector<OutputDescription::Ptr>;

  ~MultiSubGraphOp() override;
  /// @errors Exception: no such body; a null model.
  const std::shared_ptr<Model>& get_function(std::size_t index) const;
  const std::vector<std::shared_ptr<Model>>& get_functions() const;
  void set_function(int index, const std::shared_ptr<Model>& func);
  const MultiSubgraphInputDescriptionVector& get_input_descriptions(int index) const;
  MultiSubgraphInputDescriptionVector& get_input_descriptions(int index);
  const MultiSubgraphOutputDescriptionVector& get_output_descriptions(int index) const;
  MultiSubgraphOutputDescriptionVector& get_output_descriptions(int index);
  void set_input_descriptions(int index, const MultiSubgraphInputDescriptionVector& inputs);
  void set_output_descriptions(int index, const MultiSubgraphOutputDescriptionVector& outputs);
  /// One parameter of each body sees the value; null: not in that body.
  void set_invariant_inputs(const Output<Node>& value, const ParameterVector& bodies_parameters);
  /// Makes an output of one result of each body.
  Output<Node> set_body_outputs(const ResultVector& bodies_results);
  std::size_t get_internal_subgraphs_size() const { return get_functions().size(); }
  std::size_t get_input_descriptions_size() const { return get_functions().size(); }
  std::size_t get_output_descriptions_size() const { return get_functions().size(); }
  bool get_transformations_allowed() const { return true; }
  void validate_and_infer_types() override;
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override;

  /// Brings what the program changed in lists of descriptions and in rt_info of bodies to Tenon's node.
  void store() const;
  /// What Tenon's node has counts again.
  void read_again() const;

 protected:
  explicit MultiSubGraphOp(std::shared_ptr<Impl> impl);
  /// Lists that the program may have get what Tenon's node appended.
  void appended() const;

 private:
  void read() const;
  mutable std::vector<std::shared_ptr<Model>> bodies_;
  mutable std::vector<MultiSubgraphInputDescriptionVector> inputs_;
  mutable std::vector<MultiSubgraphOutputDescriptionVector> outputs_;
  mutable bool is_lent_ = false;  ///< The program may have a reference to lists that it changes.
};

}  // namespace util
}  // namespace op
}  // namespace ov
