// SPDX-License-Identifier: Apache-2.0
// Values of properties to and from Python's objects.
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include <tenon/bindings/python/native/base/interpreter.hpp>
#include <tenon/bindings/python/native/memory/tensors.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::python {
namespace {

/// Numbers go as text, because only text converts to every type of a property.
std::string text_of(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::string text_of_enum(nb::handle value) {
  const nb::object inner = value.attr("value");
  return PyUnicode_Check(inner.ptr()) ? nb::cast<std::string>(inner) : nb::cast<std::string>(value.attr("name"));
}

/// A function of Python's over bytes, to be called by any thread.
std::function<std::string(const std::string&)> crypt_function(nb::handle function) {
  auto held = std::make_shared<Held>(nb::borrow(function));
  return [held](const std::string& text) {
    const Entered entered;
    if (!entered) throw Error(Code::kAborted, "Python is ending: a callback of the cache is not called any more");
    return showable([&] {
      const nb::object result = held->get()(nb::bytes(text.data(), text.size()));
      if (PyBytes_Check(result.ptr()))
        return std::string(PyBytes_AsString(result.ptr()), static_cast<std::size_t>(PyBytes_Size(result.ptr())));
      return nb::cast<std::string>(result);
    });
  };
}

Any list_from(nb::handle values, const std::string& key) {
  std::vector<std::string> texts;
  for (const nb::handle each : nb::iter(values)) texts.push_back(any_from(each, key).to_text());
  return Any(texts);
}

bool is_enum(nb::handle value) { return nb::isinstance(value, nb::module_::import_("enum").attr("Enum")); }

template <typename T>
nb::object list_of(const T& values) {
  nb::list list;
  for (const auto& each : values) list.append(nb::cast(each));
  return list;
}

template <typename... T>
nb::object tuple_of(const std::tuple<T...>& values) {
  return std::apply([](const auto&... each) -> nb::object { return nb::make_tuple(each...); }, values);
}

nb::object names_of(const std::vector<PropertyName>& names) {
  nb::dict dict;
  for (const PropertyName& each : names) {
    const PropertyMutability kind = each.get_mutability();
    dict[nb::str(each.c_str())] = kind == PropertyMutability::RO ? "RO" : kind == PropertyMutability::RW ? "RW" : "WO";
  }
  return dict;
}

template <typename T>
bool cast_if(const Any& value, nb::object& object) {
  if (!value.is<T>()) return false;
  object = nb::cast(value.as<T>());
  return true;
}

template <typename... T>
bool cast_first(const Any& value, nb::object& object) {
  return (cast_if<T>(value, object) || ...);
}

template <typename T>
bool list_if(const Any& value, nb::object& object) {
  if (!value.is<T>()) return false;
  object = list_of(value.as<T>());
  return true;
}

nb::object pointer_of(const Any& value) {
  const void* address = value.is<void*>() ? value.as<void*>() : value.as<const void*>();
  return nb::int_(reinterpret_cast<std::uintptr_t>(address));
}

}  // namespace

Any any_from(nb::handle value, const std::string& key) {
  if (value.is_none()) raise(PyExc_TypeError, "property " + key + ": None is no value");
  if (PyBool_Check(value.ptr())) return Any(std::string(nb::cast<bool>(value) ? "YES" : "NO"));
  if (PyUnicode_Check(value.ptr()))
    return is_enum(value) ? Any(text_of_enum(value)) : Any(nb::cast<std::string>(value));
  if (PyLong_Check(value.ptr()))
    return Any(is_enum(value) ? text_of_enum(value) : nb::cast<std::string>(nb::str(value)));
  if (PyFloat_Check(value.ptr())) return Any(text_of(nb::cast<double>(value)));
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "item") && nb::cast<int>(value.attr("ndim")) == 0)
    return any_from(value.attr("item")(), key);  // NumPy's numbers and bools.
  if (nb::isinstance<element::Type>(value)) return Any(nb::cast<element::Type>(value));
  if (nb::isinstance<Tensor>(value)) return Any(nb::cast<Tensor>(value));
  if (is_enum(value)) return Any(text_of_enum(value));
  if (PyDict_Check(value.ptr())) return Any(map_from(value));
  if (key == cache_encryption_callbacks.name() && PySequence_Check(value.ptr()) && nb::len(value) == 2)
    return Any(EncryptionCallbacks{crypt_function(value[0]), crypt_function(value[1])});
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()) || PyAnySet_Check(value.ptr()))
    return list_from(value, key);
  if (nb::hasattr(value, "__fspath__")) return Any(nb::cast<std::string>(nb::str(value.attr("__fspath__")())));
  if (nb::isinstance(value, nb::module_::import_("ctypes").attr("c_void_p"))) {
    const nb::object address = value.attr("value");
    return Any(reinterpret_cast<void*>(address.is_none() ? 0 : nb::cast<std::uintptr_t>(address)));
  }
  raise(PyExc_TypeError, "property " + key + ": no property takes " + shown(value) +
                             "; pass bool, int, float, str, an enumeration, a Type, a list, a dict, a path, or "
                             "ctypes.c_void_p for a handle");
}

AnyMap map_from(nb::handle properties) {
  AnyMap map;
  if (!properties.is_valid() || properties.is_none()) return map;
  if (!PyDict_Check(properties.ptr())) {
    // A pair, or several, as the functions of tenon.properties make them.
    if (PyTuple_Check(properties.ptr()) && nb::len(properties) == 2 &&
        PyUnicode_Check(nb::object(properties[0]).ptr())) {
      const auto key = nb::cast<std::string>(properties[0]);
      map[key] = any_from(nb::object(properties[1]), key);
      return map;
    }
    raise(PyExc_TypeError, "properties are a dict of names and values, not " + shown(properties));
  }
  for (const auto& [name, value] : nb::borrow<nb::dict>(properties)) {
    if (!PyUnicode_Check(name.ptr())) raise(PyExc_TypeError, "the name of a property is a str, not " + shown(name));
    const auto key = nb::cast<std::string>(name);
    map[key] = any_from(value, key);
  }
  return map;
}

nb::object object_from(const Any& value) {
  nb::object object = nb::none();
  if (value.empty()) return object;
  if (cast_first<bool, std::string, int, unsigned, long, unsigned long, long long, unsigned long long, short,
                 unsigned short, signed char, unsigned char, float, double, element::Type>(value, object))
    return object;
  if (value.is<const char*>()) return nb::str(value.as<const char*>());
  if (value.is<std::vector<PropertyName>>()) return names_of(value.as<std::vector<PropertyName>>());
  if (list_if<std::vector<std::string>>(value, object) || list_if<std::vector<int>>(value, object) ||
      list_if<std::vector<std::int64_t>>(value, object) || list_if<std::vector<float>>(value, object) ||
      list_if<std::vector<double>>(value, object) || list_if<std::set<std::string>>(value, object))
    return object;
  if (value.is<std::tuple<unsigned, unsigned>>()) return tuple_of(value.as<std::tuple<unsigned, unsigned>>());
  if (value.is<std::tuple<unsigned, unsigned, unsigned>>())
    return tuple_of(value.as<std::tuple<unsigned, unsigned, unsigned>>());
  if (value.is<AnyMap>()) return dict_from(value.as<AnyMap>());
  if (value.is<std::map<std::string, AnyMap>>()) {
    nb::dict dict;
    for (const auto& [key, inner] : value.as<std::map<std::string, AnyMap>>())
      dict[nb::str(key.c_str())] = dict_from(inner);
    return dict;
  }
  if (value.is<std::map<element::Type, float>>()) {
    nb::dict dict;
    for (const auto& [type, number] : value.as<std::map<element::Type, float>>()) dict[nb::cast(type)] = number;
    return dict;
  }
  if (value.is<streams::Num>()) return nb::int_(value.as<streams::Num>().num);
  if (value.is<Tensor>()) return object_of(value.as<Tensor>());
  if (value.is<void*>() || value.is<const void*>()) return pointer_of(value);
  return nb::str(value.to_text().c_str());
}

nb::dict dict_from(const AnyMap& map) {
  nb::dict dict;
  for (const auto& [key, value] : map) dict[nb::str(key.c_str())] = object_from(value);
  return dict;
}

}  // namespace tenon::python

namespace nanobind::detail {

bool type_caster<tenon::AnyMap>::from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
  if (!source.is_none() && !PyDict_Check(source.ptr()) && !PyTuple_Check(source.ptr())) return false;
  try {
    value = tenon::python::map_from(source);
    return true;
  } catch (python_error& error) {
    error.restore();
    PyErr_Clear();
    return false;
  } catch (const std::exception&) {
    return false;
  }
}

handle type_caster<tenon::AnyMap>::from_cpp(const tenon::AnyMap& map, rv_policy, cleanup_list*) noexcept {
  try {
    return tenon::python::dict_from(map).release();
  } catch (python_error& error) {
    error.restore();
    return {};
  }
}

}  // namespace nanobind::detail
