// SPDX-License-Identifier: Apache-2.0
// Conditions on outputs, which patterns have besides their shape.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "openvino/core/node.hpp"

namespace ov {
namespace pass {
namespace pattern {
class Matcher;

namespace op {
using NodePredicate = std::function<bool(std::shared_ptr<Node>)>;
using ValuePredicate = std::function<bool(const Output<Node>&)>;

/// A function over an output, or over its node. None: true.
class OPENVINO_API Predicate {
  template <typename T>
  static constexpr bool kOverOutput = std::is_invocable_r_v<bool, T, const Output<Node>&>;
  template <typename T>
  static constexpr bool kOverNode = std::is_invocable_r_v<bool, T, const std::shared_ptr<Node>&> && !kOverOutput<T>;

 public:
  Predicate() = default;
  Predicate(std::nullptr_t) {}
  template <typename T, std::enable_if_t<kOverOutput<T> && !std::is_same_v<T, Predicate>>* = nullptr>
  explicit Predicate(const T& predicate) : holds_(predicate) {}
  template <typename T, std::enable_if_t<kOverNode<T>>* = nullptr>
  explicit Predicate(const T& predicate)
      : holds_([=](const Output<Node>& output) { return predicate(output.get_node_shared_ptr()); }) {}
  template <typename T>
  explicit Predicate(const T& predicate, std::string name) : Predicate(predicate) {
    name_ = std::move(name);
  }

  bool operator()(Matcher*, const Output<Node>& output) const { return (*this)(output); }
  bool operator()(const std::shared_ptr<Node>& node) const { return (*this)(node->output(0)); }
  bool operator()(const Output<Node>& output) const { return !holds_ || holds_(output); }
  Predicate operator||(const Predicate& other) const {
    return Predicate(ValuePredicate([a = *this, b = other](const Output<Node>& value) { return a(value) || b(value); }),
                     name_ + " || " + other.name_);
  }
  Predicate operator&&(const Predicate& other) const {
    return Predicate(ValuePredicate([a = *this, b = other](const Output<Node>& value) { return a(value) && b(value); }),
                     name_ + " && " + other.name_);
  }
  template <typename T>
  Predicate operator||(const T& other) const {
    return *this || Predicate(other);
  }
  template <typename T>
  Predicate operator&&(const T& other) const {
    return *this && Predicate(other);
  }

 private:
  ValuePredicate holds_;
  std::string name_ = "no_name";
};
template <typename T,
          std::enable_if_t<std::is_constructible_v<Predicate, T> && !std::is_same_v<Predicate, T>>* = nullptr>
Predicate operator&&(const T& a, const Predicate& b) {
  return Predicate(a) && b;
}
template <typename T,
          std::enable_if_t<std::is_constructible_v<Predicate, T> && !std::is_same_v<Predicate, T>>* = nullptr>
Predicate operator||(const T& a, const Predicate& b) {
  return Predicate(a) || b;
}
}  // namespace op
}  // namespace pattern
}  // namespace pass
}  // namespace ov
