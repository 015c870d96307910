// SPDX-License-Identifier: Apache-2.0
// How an AttributeVisitor reads and writes one value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "openvino/core/any.hpp"
#include "openvino/core/enum_names.hpp"
#include "openvino/core/rtti.hpp"
#include "openvino/core/type/element_type.hpp"

namespace ov {

class AttributeVisitor;
class Model;
class PartialShape;

template <typename T>
class ValueAccessor;
template <>
class OPENVINO_API ValueAccessor<void> {
 public:
  virtual ~ValueAccessor();
  virtual const DiscreteTypeInfo& get_type_info() const = 0;
  virtual void set_as_any(const Any& value);
};
template <typename T>
class ValueAccessor : public ValueAccessor<void> {
 public:
  virtual const T& get() = 0;
  virtual void set(const T& value) = 0;
  /// @errors Exception: it holds another type.
  void set_as_any(const Any& value) override { set(held<T>(value)); }

 protected:
  template <typename U>
  static const U& held(const Any& value) {
    OPENVINO_ASSERT(!value.empty(), "Data conversion is not possible. Empty data is provided.");
    if (!value.is<U>()) OPENVINO_THROW("Bad cast from: ", value.type_info().name(), " to: ", typeid(U).name());
    return *static_cast<const U*>(value.addressof());
  }
};
/// A block of memory: a Constant's value.
template <>
class ValueAccessor<void*> : public ValueAccessor<void> {
 public:
  virtual void* get_ptr() = 0;
  virtual std::size_t size() = 0;
};

/// Reads and writes the value itself.
template <typename T>
class DirectValueAccessor : public ValueAccessor<T> {
 public:
  DirectValueAccessor(T& value) : m_ref(value) {}
  const T& get() override { return m_ref; }
  void set(const T& value) override { m_ref = value; }

 protected:
  T& m_ref;
};
namespace detail {
/// A value of T that is seen as a Seen.
template <typename T, typename Seen, typename Convert>
class ConvertedAccessor : public ValueAccessor<Seen> {
 public:
  ConvertedAccessor(T& value) : m_ref(value) {}
  const Seen& get() override { return seen_ = Convert::template to<Seen>(m_ref); }
  void set(const Seen& value) override { m_ref = Convert::template to<T>(value); }
  void set_as_any(const Any& value) override {
    if (value.is<T>())
      m_ref = this->template held<T>(value);
    else
      set(this->template held<Seen>(value));
  }
  operator T&() { return m_ref; }

 protected:
  T& m_ref;

 private:
  Seen seen_{};
};
struct CastEach {
  template <typename To, typename From>
  static To to(const From& from) {
    if constexpr (std::is_arithmetic_v<To>)
      return static_cast<To>(from);
    else
      return To(from.begin(), from.end());
  }
};
struct CastText {
  template <typename To, typename From>
  static To to(const From& from) {
    if constexpr (std::is_enum_v<To>)
      return as_enum<To>(from);
    else if constexpr (std::is_enum_v<From>)
      return as_string(from);
    else if constexpr (std::is_same_v<To, std::string>)
      return from.to_string();
    else
      return To(from);
  }
};
}  // namespace detail
template <typename T, typename Seen>
class IndirectScalarValueAccessor : public detail::ConvertedAccessor<T, Seen, detail::CastEach> {
  using Base = detail::ConvertedAccessor<T, Seen, detail::CastEach>;

 public:
  using Base::Base;
  using Base::get;
  using Base::set;
  using Base::set_as_any;
};
/// Each element of a list, as another list has it.
template <typename To, typename From>
To copy_from(From& from) {
  return detail::CastEach::to<To>(from);
}
template <typename T, typename Seen>
class IndirectVectorValueAccessor : public detail::ConvertedAccessor<T, Seen, detail::CastEach> {
  using Base = detail::ConvertedAccessor<T, Seen, detail::CastEach>;

 public:
  using Base::Base;
  using Base::get;
  using Base::set;
  using Base::set_as_any;
};
template <typename T>
class EnumAttributeAdapterBase : public detail::ConvertedAccessor<T, std::string, detail::CastText> {
  using Base = detail::ConvertedAccessor<T, std::string, detail::CastText>;

 public:
  using Base::Base;
  using Base::get;
  using Base::set;
  using Base::set_as_any;
};
/// A value that is a structure: it shows its members to the visitor.
class OPENVINO_API VisitorAdapter : public ValueAccessor<void> {
 public:
  virtual bool visit_attributes(AttributeVisitor& visitor) = 0;
};

namespace detail {
template <typename T, typename = void>
struct IsList : std::false_type {};
template <typename T>
struct IsList<T, std::void_t<typename T::value_type, decltype(std::declval<T&>().begin())>>
    : std::bool_constant<std::is_integral_v<typename T::value_type>> {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
/// The accessor of a type of attributes. A type of the program's own gets one by specialising AttributeAdapter.
template <typename T>
auto accessor_of() {
  struct None {};
  using std::is_same_v;
  if constexpr (is_same_v<T, float>)
    return static_cast<IndirectScalarValueAccessor<T, double>*>(nullptr);
  else if constexpr (std::is_integral_v<T> && !is_same_v<T, bool> && !is_same_v<T, std::int64_t>)
    return static_cast<IndirectScalarValueAccessor<T, std::int64_t>*>(nullptr);
  else if constexpr (std::is_enum_v<T> || is_same_v<T, element::Type>)
    return static_cast<EnumAttributeAdapterBase<T>*>(nullptr);
  else if constexpr ((IsVector<T>::value && !is_same_v<T, std::vector<std::size_t>>) || std::is_arithmetic_v<T> ||
                     is_same_v<T, std::string> || is_same_v<T, std::set<std::string>> || is_same_v<T, PartialShape> ||
                     is_same_v<T, std::shared_ptr<Model>>)
    return static_cast<DirectValueAccessor<T>*>(nullptr);
  else if constexpr (IsList<T>::value)
    return static_cast<IndirectVectorValueAccessor<T, std::vector<std::int64_t>>*>(nullptr);
  else
    return static_cast<None*>(nullptr);
}
template <typename T>
using AccessorOf = std::remove_pointer_t<decltype(accessor_of<T>())>;
}  // namespace detail
template <typename T>
class AttributeAdapter : public detail::AccessorOf<T> {
 public:
  AttributeAdapter(T& value) : detail::AccessorOf<T>(value) {}
  OPENVINO_RTTI(typeid(T).name(), "AttributeAdapter")
};

}  // namespace ov
