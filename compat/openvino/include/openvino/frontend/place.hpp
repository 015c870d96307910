// SPDX-License-Identifier: Apache-2.0
// A place in a model that a front end has loaded: a tensor, with the operation that makes it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "openvino/frontend/visibility.hpp"

namespace ov {
namespace frontend {

/// @errors NotImplementedFailure: a question that this place has no answer to.
class FRONTEND_API Place {
 public:
  using Ptr = std::shared_ptr<Place>;
  virtual ~Place();
  virtual std::vector<std::string> get_names() const;
  virtual Ptr get_target_tensor() const;
  virtual Ptr get_target_tensor(int output_port_index) const;
  virtual Ptr get_source_tensor() const;
  virtual Ptr get_source_tensor(int input_port_index) const;
  virtual Ptr get_producing_operation() const;
  virtual Ptr get_output_port() const;
  virtual Ptr get_output_port(int output_port_index) const;
  virtual Ptr get_input_port(int input_port_index) const;
  virtual std::vector<Ptr> get_consuming_operations() const;
  virtual std::vector<Ptr> get_consuming_ports() const;
  virtual Ptr get_producing_port() const;
  virtual bool is_input() const;
  virtual bool is_output() const;
  virtual bool is_equal(const Ptr& another) const;
  virtual bool is_equal_data(const Ptr& another) const;
};

}  // namespace frontend
}  // namespace ov
