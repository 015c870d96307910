// SPDX-License-Identifier: Apache-2.0
// Operations that run one body several times.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "openvino/op/util/multi_subgraph_base.hpp"

namespace ov {
namespace op {
namespace util {

/// Set the body first, then what feeds its parameters, then make outputs.
class OPENVINO_API SubGraphOp : public MultiSubGraphOp {
 public:
  OPENVINO_OP("SubGraphOp", "util", MultiSubGraphOp)
  const std::shared_ptr<Model>& get_function() const { return MultiSubGraphOp::get_function(0); }
  void set_function(const std::shared_ptr<Model>& func) { MultiSubGraphOp::set_function(0, func); }
  using MultiSubGraphOp::get_input_descriptions;
  using MultiSubGraphOp::get_output_descriptions;
  const std::vector<InputDescription::Ptr>& get_input_descriptions() const { return get_input_descriptions(0); }
  std::vector<InputDescription::Ptr>& get_input_descriptions() { return get_input_descriptions(0); }
  const std::vector<OutputDescription::Ptr>& get_output_descriptions() const { return get_output_descriptions(0); }
  std::vector<OutputDescription::Ptr>& get_output_descriptions() { return get_output_descriptions(0); }

  /// As the descriptions say. @errors Exception: the parameter or the value is none of the body's.
  void set_sliced_input(const std::shared_ptr<v0::Parameter>& parameter, const Output<Node>& value, std::int64_t start,
                        std::int64_t stride, std::int64_t part_size, std::int64_t end, std::int64_t axis);
  void set_merged_input(const std::shared_ptr<v0::Parameter>& body_parameter, const Output<Node>& initial_value,
                        const Output<Node>& successive_value);
  void set_invariant_input(const std::shared_ptr<v0::Parameter>& body_parameter, const Output<Node>& value);
  /// Each makes an output. Its type and shape are known when all parameters of the body are fed.
  Output<Node> get_iter_value(const Output<Node>& body_value, std::int64_t iteration = -1);
  Output<Node> get_concatenated_slices(const Output<Node>& value, std::int64_t start, std::int64_t stride,
                                       std::int64_t part_size, std::int64_t end, std::int64_t axis);
  /// -1: not known before the model runs.
  std::int64_t get_num_iterations() const;

 protected:
  explicit SubGraphOp(std::shared_ptr<Impl> impl) : MultiSubGraphOp(std::move(impl)) {}
};
using InputDescriptionVector = std::vector<SubGraphOp::InputDescription::Ptr>;
using OutputDescriptionVector = std::vector<SubGraphOp::OutputDescription::Ptr>;

}  // namespace util
}  // namespace op
}  // namespace ov
