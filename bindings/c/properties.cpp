// SPDX-License-Identifier: Apache-2.0
// Properties and their values, and their conversion for the runtime.
#include <charconv>
#include <iomanip>
#include <limits>
#include <sstream>
#include <tuple>

#include <tenon/bindings/c/internal/guard.hpp>

namespace tenon::c {
namespace {

using Names = std::vector<PropertyName>;
using Texts = std::vector<std::string>;

template <typename... T>
bool is_any_of(const Any& value) {
  return (value.is<T>() || ...);
}

tenon_value_kind_t kind_of(const Any& value) {
  if (value.empty()) return TENON_VALUE_NONE;
  if (value.is<bool>()) return TENON_VALUE_BOOL;
  if (is_any_of<signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long, long long,
                unsigned long long>(value))
    return TENON_VALUE_INT;
  if (is_any_of<float, double>(value)) return TENON_VALUE_DOUBLE;
  if (is_any_of<void*, const void*>(value)) return TENON_VALUE_POINTER;
  if (is_any_of<Texts, Names>(value)) return TENON_VALUE_STRINGS;
  if (is_any_of<AnyMap, std::map<std::string, AnyMap>>(value)) return TENON_VALUE_MAP;
  if (value.is<Tensor>()) return TENON_VALUE_TENSOR;
  return TENON_VALUE_TEXT;
}

/// The shortest text that converts back to the same number.
std::string text_of(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  return {text, end};
}

std::string text_of(const Any& value) {
  if (value.is<double>()) return text_of(value.as<double>());
  if (value.is<float>()) return text_of(static_cast<double>(value.as<float>()));
  return value.to_text();
}

std::int64_t integer_of(const Any& value) {
  if (is_any_of<unsigned long, unsigned long long>(value)) {
    const auto wide = value.as<unsigned long long>();
    if (wide > static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max()))
      throw Error(Code::kOutOfRange, "the value " + value.to_text() + " is above the largest int64_t");
  }
  return value.as<std::int64_t>();
}

Texts texts_of(const Any& value) {
  if (value.is<Texts>()) return value.as<Texts>();
  Texts texts;
  if (value.is<Names>()) {
    for (const PropertyName& name : value.as<Names>()) texts.push_back(name);
    return texts;
  }
  std::istringstream words(value.to_text());
  for (std::string word; words >> word;) texts.push_back(word);
  return texts;
}

AnyMap map_of(const Any& value) {
  if (!value.is<std::map<std::string, AnyMap>>()) return value.as<AnyMap>();
  AnyMap map;
  for (const auto& [key, inner] : value.as<std::map<std::string, AnyMap>>()) map[key] = Any(inner);
  return map;
}

void* pointer_of(const Any& value) {
  if (value.is<const void*>()) return const_cast<void*>(value.as<const void*>());
  if (!value.is<void*>()) refuse("the value \"" + value.to_text() + "\" is not a pointer");
  return value.as<void*>();
}

const Any& value_at(const tenon_properties_t* properties, const char* key) {
  const AnyMap& values = checked(properties, "properties").values;
  const auto found = values.find(required(key, "key"));
  if (found == values.end()) {
    std::string keys;
    for (const auto& [other, value] : values) keys += (keys.empty() ? "" : ", ") + other;
    throw Error(Code::kNotFound, std::string("no key \"") + key + "\"; there are: " + (keys.empty() ? "none" : keys));
  }
  return found->second;
}

tenon_status_t set_value(tenon_properties_t* properties, const char* key, Any value) {
  return run([&] {
    AnyMap& values = checked(properties, "properties").values;
    values[required(key, "key")] = std::move(value);
  });
}

/// Adapts a caller's callback for the runtime: asks for the size first, then for the bytes.
std::function<std::string(const std::string&)> crypt_function(tenon_crypt_t function, void* user, const char* verb) {
  return [=](const std::string& input) {
    const auto call = [&](char* output, std::size_t& size) {
      const tenon_status_t status = function(input.data(), input.size(), output, &size, user);
      if (status != TENON_OK)
        throw Error(Code::kAborted, std::string(verb) + " callback of the cache: " + tenon_status_name(status));
    };
    std::size_t size = 0;
    call(nullptr, size);
    std::string output(size, '\0');
    call(output.data(), size);
    if (size > output.size()) throw Error(Code::kAborted, std::string(verb) + " callback gave more than it announced");
    output.resize(size);
    return output;
  };
}

}  // namespace

AnyMap runtime_properties(const AnyMap& typed) {
  AnyMap result;
  for (const auto& [key, value] : typed) {
    switch (kind_of(value)) {
      case TENON_VALUE_BOOL:
      case TENON_VALUE_INT:
      case TENON_VALUE_DOUBLE:
        result[key] = Any(text_of(value));
        break;
      case TENON_VALUE_MAP:
        result[key] = Any(runtime_properties(map_of(value)));
        break;
      default:
        result[key] = value;
    }
  }
  return result;
}

AnyMap runtime_properties(const tenon_properties_t* properties, const char* name) {
  return properties ? runtime_properties(checked(properties, name).values) : AnyMap{};
}

AnyMap text_properties(const tenon_property_t* properties, std::size_t count) {
  required_array(properties, count, "properties");
  AnyMap map;
  for (std::size_t i = 0; i < count; ++i) {
    if (!properties[i].key || !properties[i].value)
      refuse("properties[" + std::to_string(i) + "] has no key or no value");
    map[properties[i].key] = Any(std::string(properties[i].value));
  }
  return map;
}

std::string params_text(const AnyMap& params) {
  std::ostringstream text;
  for (const auto& [key, value] : params) {
    text << key << ':';
    if (kind_of(value) == TENON_VALUE_POINTER)
      text << "0x" << std::hex << reinterpret_cast<std::uintptr_t>(pointer_of(value)) << std::dec;
    else
      text << text_of(value);
    text << ';';
  }
  return text.str();
}

}  // namespace tenon::c

using namespace tenon::c;
using tenon::Any;

tenon_status_t tenon_properties_create(tenon_properties_t** out) {
  return make(out, [] { return tenon::AnyMap{}; });
}
tenon_status_t tenon_properties_set_text(tenon_properties_t* properties, const char* key, const char* value) {
  return run([&] {
    tenon::AnyMap& values = checked(properties, "properties").values;
    required(key, "key");
    values[key] = Any(std::string(required(value, "value")));
  });
}
tenon_status_t tenon_properties_set_bool(tenon_properties_t* properties, const char* key, bool value) {
  return set_value(properties, key, Any(value));
}
tenon_status_t tenon_properties_set_int64(tenon_properties_t* properties, const char* key, int64_t value) {
  return set_value(properties, key, Any(value));
}
tenon_status_t tenon_properties_set_double(tenon_properties_t* properties, const char* key, double value) {
  return set_value(properties, key, Any(value));
}
tenon_status_t tenon_properties_set_pointer(tenon_properties_t* properties, const char* key, void* value) {
  return set_value(properties, key, Any(value));
}
tenon_status_t tenon_properties_set_tensor(tenon_properties_t* properties, const char* key,
                                           const tenon_tensor_t* value) {
  return run([&] {
    tenon::AnyMap& values = checked(properties, "properties").values;
    required(key, "key");
    values[key] = Any(checked(value, "value").value);
  });
}
tenon_status_t tenon_properties_set_map(tenon_properties_t* properties, const char* key,
                                        const tenon_properties_t* value) {
  return run([&] {
    tenon::AnyMap& values = checked(properties, "properties").values;
    required(key, "key");
    tenon::AnyMap copy = checked(value, "value").values;  // The value may be the map itself.
    values[key] = Any(std::move(copy));
  });
}
tenon_status_t tenon_properties_set_cache_encryption(tenon_properties_t* properties, tenon_crypt_t encrypt,
                                                     tenon_crypt_t decrypt, void* user) {
  return run([&] {
    tenon::AnyMap& values = checked(properties, "properties").values;
    required(encrypt, "encrypt");
    required(decrypt, "decrypt");
    values[tenon::cache_encryption_callbacks.name()] = Any(
        tenon::EncryptionCallbacks{crypt_function(encrypt, user, "encrypt"), crypt_function(decrypt, user, "decrypt")});
  });
}
tenon_status_t tenon_properties_erase(tenon_properties_t* properties, const char* key) {
  return run([&] {
    value_at(properties, key);
    properties->values.erase(key);
  });
}
size_t tenon_properties_count(const tenon_properties_t* properties) {
  return ask(properties, size_t{0}, [](const tenon_properties& map) { return map.values.size(); });
}
const char* tenon_properties_key(const tenon_properties_t* properties, size_t index) {
  return ask(properties, static_cast<const char*>(nullptr), [&](const tenon_properties& map) {
    return index < map.values.size() ? std::next(map.values.begin(), static_cast<std::ptrdiff_t>(index))->first.c_str()
                                     : nullptr;
  });
}
tenon_status_t tenon_properties_get(const tenon_properties_t* properties, const char* key, tenon_value_t** out) {
  return make(out, [&] { return value_at(properties, key); });
}
tenon_status_t tenon_properties_get_text(const tenon_properties_t* properties, const char* key, char** out) {
  return give_text(out, [&] { return text_of(value_at(properties, key)); });
}
void tenon_properties_free(tenon_properties_t* properties) { free_handle(properties); }

tenon_value_kind_t tenon_value_kind(const tenon_value_t* value) {
  return ask(value, tenon_value_kind_t{TENON_VALUE_NONE}, [](const tenon_value& held) { return kind_of(held.value); });
}
tenon_status_t tenon_value_as_bool(const tenon_value_t* value, bool* out) {
  return give(out, [&] { return checked(value, "value").value.as<bool>(); });
}
tenon_status_t tenon_value_as_int64(const tenon_value_t* value, int64_t* out) {
  return give(out, [&] { return integer_of(checked(value, "value").value); });
}
tenon_status_t tenon_value_as_double(const tenon_value_t* value, double* out) {
  return give(out, [&] { return checked(value, "value").value.as<double>(); });
}
tenon_status_t tenon_value_as_text(const tenon_value_t* value, char** out) {
  return give_text(out, [&] { return text_of(checked(value, "value").value); });
}
tenon_status_t tenon_value_as_pointer(const tenon_value_t* value, void** out) {
  return give(out, [&] { return pointer_of(checked(value, "value").value); });
}
tenon_status_t tenon_value_as_strings(const tenon_value_t* value, tenon_strings_t** out) {
  return make(out, [&] { return texts_of(checked(value, "value").value); });
}
tenon_status_t tenon_value_as_map(const tenon_value_t* value, tenon_properties_t** out) {
  return make(out, [&] { return map_of(checked(value, "value").value); });
}
tenon_status_t tenon_value_as_tensor(const tenon_value_t* value, tenon_tensor_t** out) {
  return make(out, [&] { return checked(value, "value").value.as<tenon::Tensor>(); });
}
void tenon_value_free(tenon_value_t* value) { free_handle(value); }
