// SPDX-License-Identifier: Apache-2.0
// Any and AnyMap: values of properties and parameters, convertible to and from text.
#pragma once

#include <cstddef>
#include <istream>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>  // IWYU pragma: export
#include <tenon/core/export.hpp>

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

/// True for std::filesystem::path, without its header: streams quote a path and end it at the first space.
template <typename T>
concept PathLike = requires(const T& value, const std::string& text) {
  value.native();
  T(text);
};

// Declared first, because each may hold any other.
TENON_API void print_value(std::ostream& out, const AnyMap& map);
template <typename T>
void print_value(std::ostream& out, const T& value);
template <typename T>
void print_value(std::ostream& out, const std::vector<T>& values);
template <typename T>
void print_value(std::ostream& out, const std::set<T>& values);
template <typename... T>
void print_value(std::ostream& out, const std::tuple<T...>& values);
template <typename K, typename V>
void print_value(std::ostream& out, const std::map<K, V>& map);

template <typename T>
void print_value(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    out << (value ? "YES" : "NO");
  else if constexpr (PathLike<T>)
    out << value.string();
  else if constexpr (Printable<T>)
    out << value;
  else
    out << '<' << typeid(T).name() << '>';
}
template <typename Range>
void print_range(std::ostream& out, const Range& values) {
  bool first = true;
  for (const auto& value : values) {
    if (!first) out << ' ';
    first = false;
    print_value(out, static_cast<const typename Range::value_type&>(value));
  }
}
template <typename T>
void print_value(std::ostream& out, const std::vector<T>& values) {
  print_range(out, values);
}
template <typename T>
void print_value(std::ostream& out, const std::set<T>& values) {
  print_range(out, values);
}
template <typename... T>
void print_value(std::ostream& out, const std::tuple<T...>& values) {
  bool first = true;
  const auto print = [&](const auto& value) {
    if (!std::exchange(first, false)) out << ' ';
    print_value(out, value);
  };
  std::apply([&](const auto&... value) { (print(value), ...); }, values);
}
template <typename K, typename V>
void print_value(std::ostream& out, const std::map<K, V>& map) {
  out << '{';
  bool first = true;
  for (const auto& [key, value] : map) {
    if (!std::exchange(first, false)) out << ',';
    print_value(out, key);
    out << ':';
    print_value(out, value);
  }
  out << '}';
}

/// Splits "{A:1,B:{C:2}}" into keys and value texts. @return false when the text has another form.
TENON_API bool split_map(const std::string& text, std::vector<std::pair<std::string, std::string>>& entries);
/// The words of `text`, which spaces separate.
TENON_API std::vector<std::string> split_words(const std::string& text);
/// @name The whole text as a number. @return false if it is none, or does not fit.
TENON_API bool parse_number(const std::string& text, long long& value);
TENON_API bool parse_number(const std::string& text, unsigned long long& value);
TENON_API bool parse_number(const std::string& text, float& value);
TENON_API bool parse_number(const std::string& text, double& value);
TENON_API bool parse_number(const std::string& text, long double& value);
/// Calls `read` with a stream over `text`. @return false where the stream has failed.
TENON_API bool read_stream(const std::string& text, void (*read)(std::istream& in, void* value), void* value);

inline bool parse_value(const std::string& text, std::string& value) { return value = text, true; }
TENON_API bool parse_value(const std::string& text, bool& value);
TENON_API bool parse_value(const std::string& text, AnyMap& map);
template <typename T>
bool parse_value(const std::string& text, T& value);
template <typename T>
bool parse_value(const std::string& text, std::vector<T>& values);
template <typename T>
bool parse_value(const std::string& text, std::set<T>& values);
template <typename... T>
bool parse_value(const std::string& text, std::tuple<T...>& values);
template <typename K, typename V>
bool parse_value(const std::string& text, std::map<K, V>& map);

template <typename T>
bool parse_value(const std::string& text, T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      return parse_number(text, value);
    } else {
      std::conditional_t<std::is_signed_v<T>, long long, unsigned long long> wide = 0;
      if (!parse_number(text, wide)) return false;
      value = static_cast<T>(wide);
      return static_cast<decltype(wide)>(value) == wide;
    }
  } else if constexpr (PathLike<T>) {
    value = T(text);
    return true;
  } else if constexpr (Parsable<T>) {
    return read_stream(
        text, [](std::istream& in, void* read) { in >> *static_cast<T*>(read); }, &value);
  } else {
    return false;
  }
}
template <typename T>
bool parse_value(const std::string& text, std::vector<T>& values) {
  values.clear();
  for (const std::string& word : split_words(text)) {
    T value{};
    if (!parse_value(word, value)) return false;
    values.push_back(value);
  }
  return true;
}
template <typename T>
bool parse_value(const std::string& text, std::set<T>& values) {
  std::vector<T> list;
  if (!parse_value(text, list)) return false;
  values = std::set<T>(list.begin(), list.end());
  return true;
}
template <typename... T>
bool parse_value(const std::string& text, std::tuple<T...>& values) {
  const std::vector<std::string> words = split_words(text);
  auto word = words.begin();
  return words.size() == sizeof...(T) &&
         std::apply([&](auto&... value) { return (parse_value(*word++, value) && ...); }, values);
}
template <typename K, typename V>
bool parse_value(const std::string& text, std::map<K, V>& map) {
  std::vector<std::pair<std::string, std::string>> entries;
  if (!split_map(text, entries)) return false;
  map.clear();
  for (const auto& [key, value] : entries) {
    K parsed{};
    if (!parse_value(key, parsed) || !parse_value(value, map[parsed])) return false;
  }
  return true;
}
}  // namespace detail

/// Holds one value of any copyable type. as<T>() returns it; arithmetic types convert to each other when the value
/// fits. Every printable type converts to and from text as property files need it: "YES"/"NO" for bool, lists, sets and
/// tuples separated by spaces, maps as "{A:1,B:{C:2}}".
/// @thread value semantics: distinct objects from distinct threads.
class Any {
 public:
  Any() = default;
  template <typename T, typename = std::enable_if_t<!std::is_same_v<std::decay_t<T>, Any>>>
  Any(T&& value) : holder_(std::make_shared<Holder<std::decay_t<T>>>(std::forward<T>(value))) {}
  TENON_API Any(const char* text);

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
    if (!holder_) refuse(typeid(T));
    if constexpr (std::is_same_v<T, std::string>) {
      return to_text();
    } else {
      T value{};
      if constexpr (std::is_arithmetic_v<T>) {
        if (holder_->to_number(value)) return value;
      }
      if (const std::string* text = peek<std::string>(); text && detail::parse_value(*text, value)) return value;
      refuse(typeid(T));
    }
  }
  template <typename T>
  operator T() const {
    return as<T>();
  }

  TENON_API std::string to_text() const;
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
  // Compared by name, because each module may have its own type_info of the same type.
  template <typename T>
  const T* peek() const noexcept {
    if (!holder_ || (holder_->type() != typeid(T))) return nullptr;
    return static_cast<const T*>(holder_->address());
  }

  /// Throws why this is not a value of type `wanted`.
  [[noreturn]] TENON_API void refuse(const std::type_info& wanted) const;

  std::shared_ptr<const HolderBase> holder_;
};

/// Reads a value as properties and metadata of models spell it: YES or NO, numbers, lists "a,b", maps "{key:value}".
/// @return false if the text does not represent a T; `value` is then unspecified.
template <typename T>
bool parse_text(const std::string& text, T& value) {
  return detail::parse_value(text, value);
}

}  // namespace v1
}  // namespace tenon
