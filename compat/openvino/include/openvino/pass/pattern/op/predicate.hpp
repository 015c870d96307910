// SPDX-License-Identifier: Apache-2.0
// Conditions on outputs, which patterns have besides their shape.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "openvino/core/node.hpp"

namespace ov {
namespace pass {
namespace pattern {
class Matcher;

/// What a name in shape_matches or value_matches stands for: a number, or a group of them.
class OPENVINO_API PatternSymbolValue {
 public:
  PatternSymbolValue() = default;
  PatternSymbolValue(std::int64_t i) : value_(i) {}
  PatternSymbolValue(double d) : value_(d) {}
  PatternSymbolValue(const std::vector<PatternSymbolValue>& g) : value_(g) {}
  /// Extents that move have no symbols, so names do not stand for them.
  bool is_dynamic() const { return false; }
  bool is_static() const { return true; }
  bool is_group() const { return std::holds_alternative<std::vector<PatternSymbolValue>>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_double() const { return std::holds_alternative<double>(value_); }
  /// @errors Exception: it is something else.
  std::int64_t i() const;
  double d() const;
  const std::vector<PatternSymbolValue>& g() const;
  bool operator==(const PatternSymbolValue& other) const;
  bool operator!=(const PatternSymbolValue& other) const { return !(*this == other); }
  template <typename T, std::enable_if_t<std::is_constructible_v<PatternSymbolValue, T>>* = nullptr>
  static std::vector<PatternSymbolValue> make_value_vector(const std::vector<T>& values) {
    return {values.begin(), values.end()};
  }

 private:
  std::variant<std::monostate, std::int64_t, double, std::vector<PatternSymbolValue>> value_;
};
/// What the names of a pattern stand for.
using PatternSymbolMap = std::unordered_map<std::string, PatternSymbolValue>;

namespace op {
using NodePredicate = std::function<bool(std::shared_ptr<Node>)>;
using ValuePredicate = std::function<bool(const Output<Node>&)>;

/// A function over an output, over its node, or over an output and what names stand for. None: true.
class OPENVINO_API Predicate {
  template <typename T>
  static constexpr bool kOverOutput = std::is_invocable_r_v<bool, T, const Output<Node>&>;
  template <typename T>
  static constexpr bool kOverNode = std::is_invocable_r_v<bool, T, const std::shared_ptr<Node>&> && !kOverOutput<T>;
  template <typename T>
  static constexpr bool kOverNames = std::is_invocable_r_v<bool, T, PatternSymbolMap&, Output<Node>>;
  using Function = std::function<bool(PatternSymbolMap&, const Output<Node>&)>;

 public:
  Predicate() = default;
  Predicate(std::nullptr_t) {}
  template <typename T, std::enable_if_t<kOverOutput<T> && !std::is_same_v<T, Predicate>>* = nullptr>
  explicit Predicate(const T& predicate)
      : holds_([=](PatternSymbolMap&, const Output<Node>& output) { return predicate(output); }) {}
  template <typename T, std::enable_if_t<kOverNode<T>>* = nullptr>
  explicit Predicate(const T& predicate)
      : holds_([=](PatternSymbolMap&, const Output<Node>& output) { return predicate(output.get_node_shared_ptr()); }) {
  }
  template <typename T, std::enable_if_t<kOverNames<T>>* = nullptr>
  explicit Predicate(const T& predicate) : holds_(predicate), needs_names_(true) {}
  template <typename T>
  explicit Predicate(const T& predicate, std::string name) : Predicate(predicate) {
    if (!name.empty()) name_ = std::move(name);
  }

  bool operator()(Matcher* matcher, const Output<Node>& output) const;
  /// @errors Exception: the function needs to know what names stand for, which a Matcher knows.
  bool operator()(const std::shared_ptr<Node>& node) const;
  bool operator()(const Output<Node>& output) const;
  Predicate operator||(const Predicate& other) const {
    return joined(other, " || ", [a = *this, b = other](PatternSymbolMap& names, const Output<Node>& value) {
      return a.holds(names, value) || b.holds(names, value);
    });
  }
  Predicate operator&&(const Predicate& other) const {
    return joined(other, " && ", [a = *this, b = other](PatternSymbolMap& names, const Output<Node>& value) {
      return a.holds(names, value) && b.holds(names, value);
    });
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
  bool holds(PatternSymbolMap& names, const Output<Node>& output) const { return !holds_ || holds_(names, output); }
  Predicate joined(const Predicate& other, const char* between, Function both) const {
    Predicate result;
    result.holds_ = std::move(both);
    result.needs_names_ = needs_names_ || other.needs_names_;
    result.name_ = name_ + between + other.name_;
    return result;
  }
  Function holds_;
  bool needs_names_ = false;
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
