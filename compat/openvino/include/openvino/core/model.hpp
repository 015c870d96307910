// SPDX-License-Identifier: Apache-2.0
// Models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "openvino/core/any.hpp"
#include "openvino/core/core_visibility.hpp"
#include "openvino/core/node.hpp"
#include "openvino/core/partial_shape.hpp"
#include "openvino/core/rtti.hpp"
#include "openvino/op/assign.hpp"
#include "openvino/op/constant.hpp"
#include "openvino/op/parameter.hpp"
#include "openvino/op/read_value.hpp"
#include "openvino/op/result.hpp"
#include "openvino/op/util/variable.hpp"

namespace ov {

/// A graph between parameters and results. @thread several threads may read; changes need exclusive access.
class OPENVINO_API Model : public std::enable_shared_from_this<Model> {
 public:
  OPENVINO_RTTI_BASE("Model")
  Model(const OutputVector& results, const ParameterVector& parameters, const std::string& name = {});
  Model(const std::shared_ptr<Node>& result, const ParameterVector& parameters, const std::string& name = {});
  Model(const ResultVector& results, const ParameterVector& parameters, const std::string& name = {});
  Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
        const std::string& name = {});
  Model(const OutputVector& results, const SinkVector& sinks, const ParameterVector& parameters,
        const std::string& name = {});
  Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
        const op::util::VariableVector& variables, const std::string& name = {});
  Model(const OutputVector& results, const SinkVector& sinks, const ParameterVector& parameters,
        const op::util::VariableVector& variables, const std::string& name = {});
  Model(const ResultVector& results, const ParameterVector& parameters, const op::util::VariableVector& variables,
        const std::string& name = {});
  Model(const OutputVector& results, const ParameterVector& parameters, const op::util::VariableVector& variables,
        const std::string& name = {});
  /// Parameters are those that the results and sinks are computed from.
  explicit Model(const OutputVector& results, const std::string& name = {});
  Model(const OutputVector& results, const SinkVector& sinks, const std::string& name = {});
  virtual ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::string& get_name() const;
  const std::string& get_friendly_name() const;
  void set_friendly_name(const std::string& name);
  std::shared_ptr<Model> clone() const;

  std::vector<Output<Node>> inputs();
  Output<Node> input();
  Output<Node> input(std::size_t index);
  Output<Node> input(const std::string& tensor_name);
  std::vector<Output<const Node>> inputs() const;
  Output<const Node> input() const;
  Output<const Node> input(std::size_t index) const;
  Output<const Node> input(const std::string& tensor_name) const;
  std::vector<Output<Node>> outputs();
  Output<Node> output();
  Output<Node> output(std::size_t index);
  Output<Node> output(const std::string& tensor_name);
  std::vector<Output<const Node>> outputs() const;
  Output<const Node> output() const;
  Output<const Node> output(std::size_t index) const;
  Output<const Node> output(const std::string& tensor_name) const;
  Output<Node> add_output(const std::string& tensor_name);
  Output<Node> add_output(const std::string& op_name, std::size_t output_index);
  Output<Node> add_output(const Output<Node>& port);

  /// New shapes of inputs; those of all nodes follow. On failure the model is unchanged.
  /// @param variables Shapes of states by their ids, too.
  using VariableShapes = std::unordered_map<std::string, PartialShape>;
  void reshape(const PartialShape& shape, const VariableShapes& variables = {});
  void reshape(const std::map<std::size_t, PartialShape>& shapes, const VariableShapes& variables = {});
  void reshape(const std::map<std::string, PartialShape>& shapes, const VariableShapes& variables = {});
  void reshape(const std::map<Output<Node>, PartialShape>& shapes, const VariableShapes& variables = {});

  std::size_t get_output_size() const;
  const element::Type& get_output_element_type(std::size_t index) const;
  const Shape& get_output_shape(std::size_t index) const;
  const PartialShape& get_output_partial_shape(std::size_t index) const;
  std::shared_ptr<Node> get_output_op(std::size_t index) const;
  std::shared_ptr<Node> get_result() const;
  std::vector<std::shared_ptr<Node>> get_ops() const;
  std::vector<std::shared_ptr<Node>> get_ordered_ops() const;
  /// Orders the nodes that results, sinks and parameters are computed from; the order is what get_ordered_ops() returns.
  using topological_sort_t =
      std::function<std::vector<std::shared_ptr<Node>>(const std::vector<std::shared_ptr<Node>>& root_nodes)>;
  void set_topological_sort(topological_sort_t sorter);
  std::size_t get_graph_size() const;
  bool is_dynamic() const;
  void validate_nodes_and_infer_types() const;

  const ParameterVector& get_parameters() const;
  const ResultVector& get_results() const;
  const SinkVector& get_sinks() const;
  std::int64_t get_parameter_index(const std::shared_ptr<op::v0::Parameter>& parameter) const;
  std::int64_t get_result_index(const Output<Node>& value) const;
  std::int64_t get_result_index(const Output<const Node>& value) const;
  void replace_parameter(std::size_t index, const std::shared_ptr<op::v0::Parameter>& parameter);
  void add_results(const ResultVector& results);
  void remove_result(const std::shared_ptr<op::v0::Result>& result);
  void add_parameters(const ParameterVector& parameters);
  void remove_parameter(const std::shared_ptr<op::v0::Parameter>& parameter);
  void add_sinks(const SinkVector& sinks);
  void remove_sink(const std::shared_ptr<op::Sink>& sink);
  /// The states of all ReadValue and Assign nodes, and what was added.
  const op::util::VariableVector& get_variables() const;
  void add_variables(const op::util::VariableVector& variables);
  /// Takes back what was added.
  void remove_variable(const op::util::Variable::Ptr& variable);
  /// Null: the model has none of that name.
  op::util::Variable::Ptr get_variable_by_id(const std::string& variable_id) const;
  void replace_node(const std::shared_ptr<Node>& old, const std::shared_ptr<Node>& replacement);
  void map_unordered_ops(const std::function<void(Node*)>& f) const;
  /// Computes with the reference kernels. @errors NotImplemented: an operation has none.
  bool evaluate(TensorVector& outputs, const TensorVector& inputs) const;
  bool evaluate(TensorVector& outputs, const TensorVector& inputs, EvaluationContext& context) const;

  /// Values of the model's file and of its author, nested by path: get_rt_info<std::string>("model_info", "labels").
  RTMap& get_rt_info();
  const RTMap& get_rt_info() const;
  template <typename T, typename... Names>
  const T& get_rt_info(const std::string& first, const Names&... names) const {
    return get_rt_info<T>(std::vector<std::string>{first, names...});
  }
  template <typename T>
  const T& get_rt_info(const std::vector<std::string>& path) const {
    const Any& found = rt_value(path);
    if constexpr (std::is_same_v<T, Any>)
      return found;
    else
      return found.as<T>();
  }
  template <typename... Names>
  bool has_rt_info(const std::string& first, const Names&... names) const {
    return has_rt_info(std::vector<std::string>{first, names...});
  }
  bool has_rt_info(const std::vector<std::string>& path) const;
  template <typename T, typename... Names>
  void set_rt_info(const T& value, const std::string& first, const Names&... names) {
    new_rt_value({first, names...}) = value;
  }
  template <typename T>
  void set_rt_info(const T& value, const std::vector<std::string>& path) {
    new_rt_value(path) = value;
  }

  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  Impl& impl() const { return *impl_; }

 private:
  const Any& rt_value(const std::vector<std::string>& path) const;
  Any& new_rt_value(const std::vector<std::string>& path);
  std::unique_ptr<Impl> impl_;
};
OPENVINO_API std::ostream& operator<<(std::ostream& out, const Model& model);
/// The extent of the axis N of all inputs, which must agree. @errors Exception: no layout has one, or they differ.
OPENVINO_API Dimension get_batch(const std::shared_ptr<const Model>& model);
OPENVINO_API void set_batch(const std::shared_ptr<Model>& model, Dimension batch_size);
}  // namespace ov
