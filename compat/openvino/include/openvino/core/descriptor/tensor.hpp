// SPDX-License-Identifier: Apache-2.0
// Type, shape and names of a node's output.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>

#include "openvino/core/any.hpp"
#include "openvino/core/core_visibility.hpp"
#include "openvino/core/partial_shape.hpp"
#include "openvino/core/shape.hpp"
#include "openvino/core/type/element_type.hpp"

namespace ov {

class Node;
class Tensor;
using TensorNames = std::unordered_set<std::string>;

namespace descriptor {
/// References that it returns are valid as long as it is, and change with the model.
class OPENVINO_API Tensor {
 public:
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor();
  const element::Type& get_element_type() const;
  const PartialShape& get_partial_shape() const;
  /// @errors Exception: dynamic.
  const Shape& get_shape() const;
  std::size_t size() const;
  const std::unordered_set<std::string>& get_names() const;
  const std::string& get_any_name() const;
  void set_names(const std::unordered_set<std::string>& names);
  void add_names(const std::unordered_set<std::string>& names);
  /// What the values are at least, and at most: as a program said, else as shape inference found. Empty: unknown.
  const ov::Tensor& get_lower_value() const;
  const ov::Tensor& get_upper_value() const;
  void set_lower_value(const ov::Tensor& value);
  void set_upper_value(const ov::Tensor& value);
  /// Forgets what a program said.
  void invalidate_values();
  /// Whether the values are known.
  bool has_and_set_bound() const;
  RTMap& get_rt_info();
  const RTMap& get_rt_info() const;

  struct Impl;
  explicit Tensor(std::unique_ptr<Impl> impl);
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};
}  // namespace descriptor
}  // namespace ov
