// SPDX-License-Identifier: Apache-2.0
// A model: nodes between parameters and results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/graph/partial_shape.hpp>

namespace tenon {
inline namespace v1 {

using SinkVector = NodeVector;

/// A graph as data; OpenVINO's Model. It owns its results, sinks (Assign) and parameters, and these keep all nodes
/// between them alive.
/// @thread several threads may read; changes need exclusive access.
class TENON_API Model {
 public:
  /// @errors kInvalidArgument: a cycle, or a parameter that the results reach but that is not listed.
  Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
        const std::string& name = {});
  Model(const ResultVector& results, const ParameterVector& parameters, const std::string& name = {});
  /// Makes Result nodes for the outputs.
  Model(const OutputVector& outputs, const ParameterVector& parameters, const std::string& name = {});
  Model(const OutputVector& outputs, const SinkVector& sinks, const ParameterVector& parameters,
        const std::string& name = {});
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model();

  const std::string& get_name() const { return unique_name_; }
  const std::string& get_friendly_name() const { return friendly_name_.empty() ? unique_name_ : friendly_name_; }
  void set_friendly_name(const std::string& name) { friendly_name_ = name; }

  const ParameterVector& get_parameters() const { return parameters_; }
  const ResultVector& get_results() const { return results_; }
  const SinkVector& get_sinks() const { return sinks_; }

  /// Inputs are the parameters' outputs, outputs the results' outputs, in order. The forms without arguments require
  /// exactly one. @errors kOutOfRange, kNotFound (the message lists the names), kInvalidArgument (several, none).
  std::vector<Output<Node>> inputs();
  std::vector<Output<const Node>> inputs() const;
  Output<Node> input();
  Output<Node> input(std::size_t index);
  Output<Node> input(const std::string& tensor_name);
  Output<const Node> input() const;
  Output<const Node> input(std::size_t index) const;
  Output<const Node> input(const std::string& tensor_name) const;
  std::vector<Output<Node>> outputs();
  std::vector<Output<const Node>> outputs() const;
  Output<Node> output();
  Output<Node> output(std::size_t index);
  Output<Node> output(const std::string& tensor_name);
  Output<const Node> output() const;
  Output<const Node> output(std::size_t index) const;
  Output<const Node> output(const std::string& tensor_name) const;
  std::size_t get_output_size() const { return results_.size(); }
  element::Type get_output_element_type(std::size_t index) const { return output(index).get_element_type(); }
  const Shape& get_output_shape(std::size_t index) const;
  const PartialShape& get_output_partial_shape(std::size_t index) const;

  /// All nodes, each before its readers; the same graph gives the same order. @errors kInvalidArgument: a cycle (names
  /// a node in it).
  NodeVector get_ordered_ops() const;
  NodeVector get_ops() const { return get_ordered_ops(); }
  /// True if any shape is dynamic.
  bool is_dynamic() const;
  void validate_nodes_and_infer_types();

  /// Sets new input shapes and infers all others. Where they fail only because Reshape nodes state extents that the model had, as exports of
  /// one batch or length do, these nodes compute them from what they reshape. On failure the model is unchanged. @errors kInvalidArgument.
  void reshape(const PartialShape& shape);
  void reshape(const std::map<std::size_t, PartialShape>& shapes);
  void reshape(const std::map<std::string, PartialShape>& shapes);
  void reshape(const std::map<Output<Node>, PartialShape>& shapes);

  /// A copy with new nodes that shares the constants' memory and keeps friendly and tensor names.
  std::shared_ptr<Model> clone() const;

  void add_results(const ResultVector& results);
  void add_parameters(const ParameterVector& parameters);
  void add_sinks(const SinkVector& sinks);
  void remove_result(const std::shared_ptr<op::v0::Result>& result);
  void remove_parameter(const std::shared_ptr<op::v0::Parameter>& parameter);
  void replace_parameter(std::size_t index, const std::shared_ptr<op::v0::Parameter>& parameter);
  /// Makes the tensor an additional output. @errors kNotFound.
  Output<Node> add_output(const std::string& tensor_name);
  Output<Node> add_output(const Output<Node>& port);
  std::int64_t get_parameter_index(const std::shared_ptr<op::v0::Parameter>& parameter) const;
  std::int64_t get_result_index(const Output<Node>& value) const;

  RTMap& get_rt_info() { return rt_info_; }
  const RTMap& get_rt_info() const { return rt_info_; }
  /// Nested values, as in IR's rt_info ("model_info", "labels"): path elements are keys of nested maps.
  bool has_rt_info(const std::vector<std::string>& path) const;
  Any get_rt_info(const std::vector<std::string>& path) const;
  template <typename T>
  T get_rt_info(const std::string& first, const std::string& second) const {
    return get_rt_info(std::vector<std::string>{first, second}).template as<T>();
  }
  void set_rt_info(const Any& value, const std::vector<std::string>& path);

 private:
  void check() const;
  std::string unique_name_;
  std::string friendly_name_;
  ParameterVector parameters_;
  ResultVector results_;
  SinkVector sinks_;
  RTMap rt_info_;
};

}  // namespace v1
}  // namespace tenon
