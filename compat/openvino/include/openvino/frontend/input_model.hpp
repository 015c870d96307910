// SPDX-License-Identifier: Apache-2.0
// A model that a front end has loaded, before it becomes an ov::Model.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "openvino/core/partial_shape.hpp"
#include "openvino/core/type/element_type.hpp"
#include "openvino/frontend/place.hpp"

namespace ov {
namespace frontend {

/// Its inputs, outputs, shapes and names may be changed. @errors NotImplementedFailure: a function that this model does not have.
class FRONTEND_API InputModel {
 public:
  using Ptr = std::shared_ptr<InputModel>;
  InputModel() = default;
  InputModel(const InputModel&) = delete;
  InputModel& operator=(const InputModel&) = delete;
  virtual ~InputModel();
  virtual std::vector<Place::Ptr> get_inputs() const;
  virtual std::vector<Place::Ptr> get_outputs() const;
  /// Null: the model has none of that name.
  virtual Place::Ptr get_place_by_tensor_name(const std::string& tensor_name) const;
  virtual Place::Ptr get_place_by_input_index(std::size_t input_idx) const;
  virtual Place::Ptr get_place_by_operation_name(const std::string& operation_name) const;
  virtual Place::Ptr get_place_by_operation_name_and_output_port(const std::string& operation_name, int port);
  virtual void set_name_for_tensor(const Place::Ptr& tensor, const std::string& new_name);
  virtual void add_name_for_tensor(const Place::Ptr& tensor, const std::string& new_name);
  virtual void set_name_for_operation(const Place::Ptr& operation, const std::string& new_name);
  virtual void cut_and_add_new_input(const Place::Ptr& place, const std::string& new_name = "");
  virtual void cut_and_add_new_output(const Place::Ptr& place, const std::string& new_name = "");
  virtual Place::Ptr add_output(const Place::Ptr& place);
  virtual void remove_output(const Place::Ptr& place);
  virtual void override_all_outputs(const std::vector<Place::Ptr>& outputs);
  virtual void override_all_inputs(const std::vector<Place::Ptr>& inputs);
  virtual void extract_subgraph(const std::vector<Place::Ptr>& inputs, const std::vector<Place::Ptr>& outputs);
  virtual void set_partial_shape(const Place::Ptr& place, const PartialShape& shape);
  virtual PartialShape get_partial_shape(const Place::Ptr& place) const;
  virtual void set_element_type(const Place::Ptr& place, const element::Type& type);
  virtual element::Type get_element_type(const Place::Ptr& place) const;
  /// The value of an input, which becomes a constant.
  virtual void set_tensor_value(const Place::Ptr& place, const void* value);
};

}  // namespace frontend
}  // namespace ov
