// SPDX-License-Identifier: Apache-2.0
// Any and AnyMap: values of properties and parameters, convertible to and from text.
#pragma once

#include <charconv>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {

class Any;
using AnyMap = std::map<std::string, Any>;

namespace detail {
template <typename T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};
template <typename T>
concept Parsable = requires(std::istream& in, T& value) {
  in >> value;
};

template <typename T>
void print_value(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    out << (value ? "YES" : "NO");
  else if constexpr (Printable<T>)
    out << value;
  else
    out << '<' << typeid(T).name() << '>';
}
template <typename T>
void print_value(std::ostream& out, const std::vector<T>& values) {
  bool first = true;
  for (const T& value : values) {
    if (!first) out << ' ';
    first = false;
    print_value(out, value);
  }
}
void print_value(std::ostream& out, const AnyMap& map);

inline bool parse_value(const std::string& text, std::string& value) { return value = text, true; }
inline bool parse_value(const std::string& text, bool& value) {
  const bool yes = text == "YES" || text == "yes" || text == "true" || text == "TRUE" || text == "True" || text == "1";
  const bool no = text == "NO" || text == "no" || text == "false" || text == "FALSE" || text == "False" || text == "0";
  value = yes;
  return yes || no;
}
template <typename T>
bool parse_value(const std::string& text, T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    const auto end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    return result.ec == std::errc{} && result.ptr == end;
  } else if constexpr (Parsable<T>) {
    std::istringstream in(text);
    in >> value;
    return !in.fail();
  } else {
    return false;
  }
}
template <typename T>
bool parse_value(const std::string& text, std::vector<T>& values) {
  std::istringstream in(text);
  std::string word;
  values.clear();
  while (in >> word) {
    T value{};
    if (!parse_value(word, value)) return false;
    values.push_back(value);
  }
  return true;
}
}  // namespace detail

/// Holds one value of any copyable type. as<T>() gives it back; arithmetic types convert among each other when the
/// value fits, and every printable type converts to and from text ("YES"/"NO" for bool), as property files need.
/// @thread value semantics: distinct objects from distinct threads.
class Any {
 public:
  Any() = default;
  template <typename T, typename = std::enable_if_t<!std::is_same_v<std::decay_t<T>, Any>>>
  Any(T&& value) : holder_(std::make_shared<Holder<std::decay_t<T>>>(std::forward<T>(value))) {}
  Any(const char* text) : Any(std::string(text)) {}

  bool empty() const noexcept { return !holder_; }
  const std::type_info& type_info() const noexcept { return holder_ ? holder_->type() : typeid(void); }
  template <typename T>
  bool is() const noexcept {
    return peek<T>() != nullptr;
  }

  /// The value as T, converted if need be. @errors kInvalidArgument: empty, or not convertible (both types named).
  template <typename T>
  T as() const {
    if (const T* held = peek<T>()) return *held;
    if (!holder_)
      throw Error(Code::kInvalidArgument,
                  "Any is empty, but a value of type " + std::string(typeid(T).name()) + " was asked for");
    if constexpr (std::is_same_v<T, std::string>) {
      return to_text();
    } else {
      T value{};
      if constexpr (std::is_arithmetic_v<T>) {
        if (holder_->to_number(value)) return value;
      }
      if (const std::string* text = peek<std::string>(); text && detail::parse_value(*text, value)) return value;
      throw Error(Code::kInvalidArgument,
                  "cannot convert \"" + to_text() + "\" of type " + type_info().name() + " to " + typeid(T).name());
    }
  }
  template <typename T>
  operator T() const {
    return as<T>();
  }

  std::string to_text() const {
    std::ostringstream out;
    if (holder_) holder_->print(out);
    return out.str();
  }
  friend std::ostream& operator<<(std::ostream& out, const Any& any) {
    if (any.holder_) any.holder_->print(out);
    return out;
  }

 private:
  struct HolderBase {
    virtual ~HolderBase() = default;
    virtual const std::type_info& type() const noexcept = 0;
    virtual const void* address() const noexcept = 0;
    virtual void print(std::ostream& out) const = 0;
    virtual bool as_integer(long long& value) const = 0;
    virtual bool as_double(double& value) const = 0;
    template <typename T>
    bool to_number(T& value) const {
      if constexpr (std::is_floating_point_v<T>) {
        double wide = 0;
        if (!as_double(wide)) return false;
        value = static_cast<T>(wide);
        return true;
      } else {
        long long wide = 0;
        if (!as_integer(wide)) return false;
        value = static_cast<T>(wide);
        return static_cast<long long>(value) == wide && ((value < T{}) == (wide < 0));
      }
    }
  };
  template <typename T>
  struct Holder final : HolderBase {
    explicit Holder(T from) : value(std::move(from)) {}
    const std::type_info& type() const noexcept override { return typeid(T); }
    const void* address() const noexcept override { return &value; }
    void print(std::ostream& out) const override { detail::print_value(out, value); }
    bool as_integer(long long& number) const override {
      if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
        return number = static_cast<long long>(value), true;
      else
        return false;
    }
    bool as_double(double& number) const override {
      if constexpr (std::is_arithmetic_v<T>)
        return number = static_cast<double>(value), true;
      else
        return false;
    }
    T value;
  };
  // Compared by name: the same type may have one type_info per module.
  template <typename T>
  const T* peek() const noexcept {
    if (!holder_ || (holder_->type() != typeid(T))) return nullptr;
    return static_cast<const T*>(holder_->address());
  }

  std::shared_ptr<const HolderBase> holder_;
};

namespace detail {
inline void print_value(std::ostream& out, const AnyMap& map) {
  out << '{';
  bool first = true;
  for (const auto& [key, value] : map) {
    out << (first ? "" : ",") << key << ':' << value;
    first = false;
  }
  out << '}';
}
}  // namespace detail

}  // namespace v1
}  // namespace tenon
