// SPDX-License-Identifier: Apache-2.0
// Values of any type, which convert to and from text.
#pragma once

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <istream>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/except.hpp"
#include "openvino/core/runtime_attribute.hpp"

namespace ov {

class Any;
using AnyMap = std::map<std::string, Any>;

namespace util {
/// From and to text. A program may specialise these for its own types; without, >> and << are used.
template <typename T, typename = void>
struct Read {
  using Default = void;
  void operator()(std::istream& in, T& value) const;
};
template <typename T>
struct Write {
  using Default = void;
  void operator()(std::ostream& out, const T& value) const;
};
}  // namespace util

namespace detail {
/// Whether a program has specialised them.
template <typename T, typename = void>
struct HasRead : std::true_type {};
template <typename T>
struct HasRead<T, typename util::Read<T>::Default> : std::false_type {};
template <typename T, typename = void>
struct HasWrite : std::true_type {};
template <typename T>
struct HasWrite<T, typename util::Write<T>::Default> : std::false_type {};
template <typename T, typename = void>
struct Streams : std::false_type {};
template <typename T>
struct Streams<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>> : std::true_type {};
template <typename T, typename = void>
struct Parses : std::false_type {};
template <typename T>
struct Parses<T, std::void_t<decltype(std::declval<std::istream&>() >> std::declval<T&>())>> : std::true_type {};
template <typename T, typename = void>
struct Compares : std::false_type {};
template <typename T>
struct Compares<T, std::void_t<decltype(static_cast<bool>(std::declval<const T&>() == std::declval<const T&>()))>>
    : std::true_type {};
template <typename K, typename V>
struct Compares<std::map<K, V>> : Compares<V> {};
template <typename T>
struct Compares<std::vector<T>> : Compares<T> {};

template <typename T>
struct IsStlRange : std::false_type {};
template <typename T>
struct IsStlRange<std::vector<T>> : std::true_type {};
template <typename T>
struct IsStlRange<std::set<T>> : std::true_type {};
template <typename K, typename V>
struct IsStlRange<std::map<K, V>> : std::true_type {};
template <typename T, typename = void>
struct HasValueType : std::false_type {};
template <typename T>
struct HasValueType<T, std::void_t<typename T::value_type>> : std::true_type {};
template <typename T, typename... Types>
constexpr bool kIsAnyOf = (std::is_same_v<T, Types> || ...);

// Each may hold any other, so all are declared first.
OPENVINO_API void print(std::ostream& out, const AnyMap& map);
template <typename T>
void print(std::ostream& out, const std::vector<T>& values);
template <typename T>
void print(std::ostream& out, const std::set<T>& values);
template <typename... T>
void print(std::ostream& out, const std::tuple<T...>& values);
template <typename K, typename V>
void print(std::ostream& out, const std::map<K, V>& map);
template <typename T>
void print(std::ostream& out, const T& value) {
  if constexpr (HasWrite<T>::value)
    util::Write<T>{}(out, value);
  else if constexpr (std::is_same_v<T, bool>)
    out << (value ? "YES" : "NO");
  else if constexpr (std::is_same_v<T, std::filesystem::path>)
    out << value.native();
  else if constexpr (Streams<T>::value)
    out << value;
}
template <typename Range>
void print_range(std::ostream& out, const Range& values) {
  bool first = true;
  for (const auto& value : values) {
    if (!first) out << ' ';
    first = false;
    print(out, static_cast<const typename Range::value_type&>(value));
  }
}
template <typename T>
void print(std::ostream& out, const std::vector<T>& values) {
  print_range(out, values);
}
template <typename T>
void print(std::ostream& out, const std::set<T>& values) {
  print_range(out, values);
}
template <typename... T>
void print(std::ostream& out, const std::tuple<T...>& values) {
  bool first = true;
  const auto one = [&](const auto& value) {
    if (!std::exchange(first, false)) out << ' ';
    print(out, value);
  };
  std::apply([&](const auto&... value) { (one(value), ...); }, values);
}
template <typename K, typename V>
void print(std::ostream& out, const std::map<K, V>& map) {
  if (map.empty()) return;
  out << '{';
  bool first = true;
  for (const auto& [key, value] : map) {
    if (!std::exchange(first, false)) out << ',';
    print(out, key);
    out << ':';
    print(out, value);
  }
  out << '}';
}

OPENVINO_API bool split_map(const std::string& text, std::vector<std::pair<std::string, std::string>>& entries);
OPENVINO_API std::vector<std::string> split_words(const std::string& text);
OPENVINO_API bool parse_number(const std::string& text, long long& value);
OPENVINO_API bool parse_number(const std::string& text, unsigned long long& value);
OPENVINO_API bool parse_number(const std::string& text, double& value);

inline bool parse(const std::string& text, std::string& value) {
  value = text;
  return true;
}
OPENVINO_API bool parse(const std::string& text, bool& value);
OPENVINO_API bool parse(const std::string& text, AnyMap& map);
template <typename T>
bool parse(const std::string& text, std::vector<T>& values);
template <typename T>
bool parse(const std::string& text, std::set<T>& values);
template <typename... T>
bool parse(const std::string& text, std::tuple<T...>& values);
template <typename K, typename V>
bool parse(const std::string& text, std::map<K, V>& map);
/// @return false if the text is no T.
template <typename T>
bool parse(const std::string& text, T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    double wide = 0;
    if (!parse_number(text, wide)) return false;
    value = static_cast<T>(wide);
    return true;
  } else if constexpr (std::is_arithmetic_v<T>) {
    std::conditional_t<std::is_signed_v<T>, long long, unsigned long long> wide = 0;
    if (!parse_number(text, wide)) return false;
    value = static_cast<T>(wide);
    return static_cast<decltype(wide)>(value) == wide;
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    value = text;
    return true;
  } else if constexpr (HasRead<T>::value) {
    std::istringstream in(text);
    util::Read<T>{}(in, value);
    return !in.fail();
  } else if constexpr (Parses<T>::value) {
    std::istringstream in(text);
    in >> value;
    return !in.fail();
  } else {
    return false;
  }
}
template <typename T>
bool parse(const std::string& text, std::vector<T>& values) {
  values.clear();
  for (const std::string& word : split_words(text)) {
    T value{};
    if (!parse(word, value)) return false;
    values.push_back(value);
  }
  return true;
}
template <typename T>
bool parse(const std::string& text, std::set<T>& values) {
  std::vector<T> list;
  if (!parse(text, list)) return false;
  values = std::set<T>(list.begin(), list.end());
  return true;
}
template <typename... T>
bool parse(const std::string& text, std::tuple<T...>& values) {
  const std::vector<std::string> words = split_words(text);
  auto word = words.begin();
  return words.size() == sizeof...(T) &&
         std::apply([&](auto&... value) { return (parse(*word++, value) && ...); }, values);
}
template <typename K, typename V>
bool parse(const std::string& text, std::map<K, V>& map) {
  std::vector<std::pair<std::string, std::string>> entries;
  if (!split_map(text, entries)) return false;
  map.clear();
  for (const auto& [key, value] : entries) {
    K parsed{};
    if (!parse(key, parsed) || !parse(value, map[parsed])) return false;
  }
  return true;
}
}  // namespace detail

namespace util {
OPENVINO_API bool equal(std::type_index lhs, std::type_index rhs);
/// Whether there is a Read, a >>, a Write or a << of a type, and whether it has a value_type.
template <typename T>
struct Readable {
  static constexpr bool value = detail::HasRead<T>::value || detail::IsStlRange<T>::value ||
                                detail::kIsAnyOf<T, bool, Any, int, long, long long, unsigned, unsigned long,
                                                 unsigned long long, float, double, long double>;
};
template <typename T>
struct Writable {
  static constexpr bool value =
      detail::HasWrite<T>::value || detail::IsStlRange<T>::value || detail::kIsAnyOf<T, bool, Any>;
};
template <typename T>
struct Istreamable {
  static constexpr bool value = detail::Parses<T>::value;
};
template <typename T>
struct Ostreamable {
  static constexpr bool value = detail::Streams<T>::value;
};
template <typename T>
struct ValueTyped {
  static constexpr bool value = detail::HasValueType<T>::value;
};
/// Takes all that is left of the text. @errors Exception: it is no T.
template <typename T, typename Enable>
void Read<T, Enable>::operator()(std::istream& in, T& value) const {
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!detail::parse(text, value)) OPENVINO_THROW("\"", text, "\" is no ", typeid(T).name());
}
template <typename T>
void Write<T>::operator()(std::ostream& out, const T& value) const {
  detail::print(out, value);
}
template <typename T>
std::string to_string(const T& value) {
  std::ostringstream out;
  detail::print(out, value);
  return out.str();
}
template <typename T>
T from_string(const std::string& text) {
  T value{};
  if (!detail::parse(text, value)) OPENVINO_THROW("\"", text, "\" is no ", typeid(T).name());
  return value;
}
}  // namespace util

/// One value. as<T>() gives it, converted if need be: numbers to numbers as by static_cast (what is too large wraps, fractions
/// are cut off, as in OpenVINO), text to whatever is read from text, everything printable to text; nothing is the text "". A
/// copy has a value of its own.
/// @errors of as(): Exception: empty and no text is asked for, or not convertible (names both types).
/// @thread a value; as() of another type than what is held writes to the object.
class OPENVINO_API Any {
 public:
  Any() = default;
  template <typename T,
            std::enable_if_t<!std::is_same_v<std::decay_t<T>, Any> && !std::is_abstract_v<std::decay_t<T>> &&
                                 !std::is_same_v<std::decay_t<T>, std::nullptr_t>,
                             int> = 0>
  Any(T&& value) : held_(std::make_shared<Holder<std::decay_t<T>>>(std::forward<T>(value))) {}
  Any(const Any& other) : held_(other.held_ ? other.held_->copy(other.held_) : nullptr) {}
  Any(Any&&) = default;
  Any& operator=(const Any& other) {
    if (this != &other) *this = Any(other);
    return *this;
  }
  Any& operator=(Any&&) = default;
  Any(const char* text) : Any(std::string(text)) {}
  Any(std::nullptr_t) {}
  template <typename T, typename... Args>
  static Any make(Args&&... args) {
    return Any(T(std::forward<Args>(args)...));
  }

  bool empty() const { return !held_; }
  const std::type_info& type_info() const { return held_ ? held_->type() : typeid(void); }
  template <typename T>
  bool is() const {
    return peek<std::decay_t<T>>() != nullptr;
  }
  template <typename T>
  T& as() & {
    return reach<T>();
  }
  template <typename T>
  const T& as() const& {
    return reach<T>();
  }
  template <typename T>
  T as() && {
    return reach<T>();
  }

  bool operator==(const Any& other) const {
    return held_ == other.held_ || (held_ && other.held_ && held_->equals(*other.held_));
  }
  bool operator!=(const Any& other) const { return !(*this == other); }
  bool operator==(std::nullptr_t) const { return empty(); }
  void print(std::ostream& out) const {
    if (held_) held_->print(out);
  }
  /// The value, of the type that it has, from text. @errors Exception: the text is no such value.
  void read(std::istream& in) {
    if (held_) held_->read(in);
  }
  // A friend, which no type that converts to Any finds.
  friend std::ostream& operator<<(std::ostream& out, const Any& any) {
    any.print(out);
    return out;
  }
  void* addressof() { return held_ ? held_->address() : nullptr; }
  const void* addressof() const { return held_ ? held_->address() : nullptr; }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual const std::type_info& type() const = 0;
    virtual void* address() = 0;
    virtual std::shared_ptr<Base> copy(const std::shared_ptr<Base>& self) const = 0;
    virtual void take(Base& from) = 0;  ///< The value of another of this type.
    virtual void print(std::ostream& out) const = 0;
    virtual void read(std::istream& in) = 0;
    virtual bool equals(const Base& other) const = 0;
    virtual bool as_integer(long long& value) const = 0;
    virtual bool as_double(double& value) const = 0;
  };
  template <typename T>
  struct Holder final : Base {
    template <typename From>
    explicit Holder(From&& from) : value(std::forward<From>(from)) {}
    const std::type_info& type() const override { return typeid(T); }
    void* address() override { return &value; }
    std::shared_ptr<Base> copy(const std::shared_ptr<Base>& self) const override {
      if constexpr (std::is_copy_constructible_v<T>)
        return std::make_shared<Holder>(value);
      else
        return self;
    }
    void take(Base& from) override {
      if constexpr (std::is_move_assignable_v<T>) value = std::move(static_cast<Holder&>(from).value);
    }
    void print(std::ostream& out) const override { detail::print(out, value); }
    void read(std::istream& in) override {
      if constexpr (std::is_copy_constructible_v<T>) util::Read<T>{}(in, value);
    }
    bool equals(const Base& other) const override {
      if (type() != other.type()) return false;
      if constexpr (detail::Compares<T>::value)
        return value == static_cast<const Holder&>(other).value;
      else
        OPENVINO_THROW("Could not compare types without equality operator");
    }
    /// Integers, and what stands for one: ov::streams::Num.
    static constexpr bool kIsInteger =
        std::is_integral_v<T> || (std::is_class_v<T> && std::is_convertible_v<T, std::int32_t>);
    bool as_integer(long long& number) const override {
      if constexpr (kIsInteger && std::is_class_v<T>)
        number = static_cast<std::int32_t>(value);
      else if constexpr (kIsInteger)
        number = static_cast<long long>(value);
      return kIsInteger;
    }
    bool as_double(double& number) const override {
      if constexpr (std::is_arithmetic_v<T>) number = static_cast<double>(value);
      return std::is_arithmetic_v<T>;
    }
    T value;
  };
  template <typename T>
  T* peek() const {
    return held_ && held_->type() == typeid(T) ? static_cast<T*>(held_->address()) : nullptr;
  }
  template <typename T>
  T& reach() const {
    if (T* value = peek<T>()) return *value;
    if constexpr (std::is_same_v<T, std::string>)
      if (!held_) return *static_cast<T*>(keep(std::make_shared<Holder<T>>(std::string())).address());
    if (!held_) refuse(typeid(T));
    if constexpr (std::is_default_constructible_v<T> && std::is_copy_constructible_v<T>) {
      T value{};
      bool found = false;
      if constexpr (std::is_same_v<T, std::string>) {
        std::ostringstream out;
        held_->print(out);
        value = out.str();
        found = true;
      } else if constexpr (std::is_floating_point_v<T>) {
        double wide = 0;
        found = held_->as_double(wide);
        value = static_cast<T>(wide);
      } else if constexpr (std::is_integral_v<T>) {
        long long wide = 0;
        double real = 0;
        found = held_->as_integer(wide);
        if (!found && !std::is_same_v<T, bool> && held_->as_double(real) && std::abs(real) < 9e18) {
          wide = static_cast<long long>(real);
          found = true;
        }
        value = static_cast<T>(wide);
        if constexpr (std::is_same_v<T, bool>) found = found && (wide == 0 || wide == 1);
      }
      if (const std::string* text = peek<std::string>(); !found && text) found = detail::parse(*text, value);
      if (found) {
        return *static_cast<T*>(keep(std::make_shared<Holder<T>>(std::move(value))).address());
      }
    }
    refuse(typeid(T));
  }
  /// Keeps one of each type, so that what an earlier call returned stays valid.
  Base& keep(const std::shared_ptr<Base>& converted) const;
  [[noreturn]] void refuse(const std::type_info& wanted) const;

  std::shared_ptr<Base> held_;
  mutable std::vector<std::shared_ptr<Base>> converted_;
};

/// How GoogleTest shows one.
inline void PrintTo(const Any& any, std::ostream* out) { any.print(*out); }

using RTMap = AnyMap;
using AnyVector = std::vector<Any>;

}  // namespace ov
