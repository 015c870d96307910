// SPDX-License-Identifier: Apache-2.0
#include <tenon/graph/initialisers.hpp>

#include <tenon/core/error.hpp>
#include <tenon/graph/ops.hpp>

namespace tenon {
inline namespace v1 {

std::shared_ptr<Model> make_initialisers(const NodeVector& readers, const ParameterVector& parameters) {
  ResultVector results;
  for (const auto& reader : readers) {
    Output<Node> value = reader->input_value(0);
    if (value.get_element_type() != reader->get_output_element_type(0))
      value = std::make_shared<op::v0::Convert>(value, reader->get_output_element_type(0))->output(0);
    results.push_back(std::make_shared<op::v0::Result>(value));
    results.back()->set_friendly_name(variable_id(*reader));
  }
  const Model part(results, parameters, "initialisers");
  for (const auto& node : part.get_ordered_ops())
    if (is_op(node, "ReadValue"))
      throw Error(Code::kUnimplemented, "the initialiser of a variable reads the variable '" + variable_id(*node) +
                                            "', which is not supported");
  return part.clone();
}

}  // namespace v1
}  // namespace tenon
