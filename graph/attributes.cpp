// SPDX-License-Identifier: Apache-2.0
// Typed access to attributes, and their text form.
#include <tenon/graph/attributes.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <tenon/core/error.hpp>
#include <tenon/graph/internal/trimmed.hpp>

namespace tenon {
inline namespace v1 {

Attribute::Attribute(std::string value) : value_(std::move(value)) {}
Attribute::Attribute(std::string_view value) : value_(std::string(value)) {}
Attribute::Attribute(const char* value) : value_(std::string(value)) {}
Attribute::Attribute(ElementType value) : value_(value) {}
Attribute::Attribute(element::Type value) : value_(static_cast<ElementType>(value)) {}
Attribute::Attribute(std::initializer_list<std::int64_t> values) : value_(std::vector<std::int64_t>(values)) {}
Attribute::Attribute(PartialShape value) : value_(std::move(value)) {}
Attribute::Attribute(const Attribute& other) = default;
Attribute::Attribute(Attribute&& other) noexcept = default;
Attribute& Attribute::operator=(const Attribute& other) = default;
Attribute& Attribute::operator=(Attribute&& other) noexcept = default;
Attribute::~Attribute() = default;

bool operator==(const Attribute& a, const Attribute& b) { return a.value_ == b.value_; }

Attributes::Attributes() = default;
Attributes::Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;
std::vector<std::int64_t> Attributes::get_ints(std::string_view name, const std::vector<std::int64_t>& fallback) const {
  return has(name) ? get_ints(name) : fallback;
}
bool operator==(const Attributes& a, const Attributes& b) { return a.entries_ == b.entries_; }

namespace {
std::string real_text(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (std::isnan(value)) return "nan";
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}

template <typename T, typename F>
std::string joined(const std::vector<T>& values, F text) {
  std::string all;
  for (std::size_t i = 0; i < values.size(); ++i) all += (i ? "," : "") + text(values[i]);
  return all;
}

[[noreturn]] void not_a(AttributeKind kind, std::string_view text) {
  throw Error(Code::kInvalidArgument, "\"" + std::string(text) + "\" is no " + std::string(name(kind)));
}

std::int64_t parse_int(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size())
    not_a(AttributeKind::kInt, text);
  return value;
}

double parse_double(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  // Subnormal and overflowing text is still a number.
  if (result.ec == std::errc::result_out_of_range) return text.front() == '-' ? -HUGE_VAL : HUGE_VAL;
  if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size())
    not_a(AttributeKind::kDouble, text);
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  text = trimmed(text);
  if (text.empty()) return parts;
  while (true) {
    const auto comma = text.find(',');
    parts.push_back(trimmed(text.substr(0, comma)));
    if (comma == text.npos) return parts;
    text = text.substr(comma + 1);
  }
}
}  // namespace

std::string_view name(AttributeKind kind) {
  constexpr std::string_view names[] = {"boolean",          "integer",         "number",        "text", "element type",
                                        "list of integers", "list of numbers", "list of texts", "shape"};
  return names[static_cast<std::size_t>(kind)];
}

std::string Attribute::to_text() const {
  switch (kind()) {
    case AttributeKind::kBool:
      return std::get<bool>(value_) ? "true" : "false";
    case AttributeKind::kInt:
      return std::to_string(std::get<std::int64_t>(value_));
    case AttributeKind::kDouble:
      return real_text(std::get<double>(value_));
    case AttributeKind::kString:
      return std::get<std::string>(value_);
    case AttributeKind::kType:
      return std::string(name(std::get<ElementType>(value_)));
    case AttributeKind::kInts:
      return joined(std::get<std::vector<std::int64_t>>(value_), [](std::int64_t v) { return std::to_string(v); });
    case AttributeKind::kDoubles:
      return joined(std::get<std::vector<double>>(value_), real_text);
    case AttributeKind::kStrings:
      return joined(std::get<std::vector<std::string>>(value_), [](const std::string& v) { return v; });
    case AttributeKind::kShape: {
      const std::string text = std::get<PartialShape>(value_).to_string();
      return text.substr(1, text.size() - 2);
    }
  }
  return {};
}

Attribute Attribute::from_text(AttributeKind kind, std::string_view text) {
  switch (kind) {
    case AttributeKind::kBool: {
      const auto word = trimmed(text);
      if (word == "true" || word == "True" || word == "TRUE" || word == "1") return true;
      if (word == "false" || word == "False" || word == "FALSE" || word == "0") return false;
      not_a(kind, text);
    }
    case AttributeKind::kInt:
      return parse_int(text);
    case AttributeKind::kDouble:
      return parse_double(text);
    case AttributeKind::kString:
      return std::string(text);
    case AttributeKind::kType: {
      const auto type = element_type_from_name(trimmed(text));
      if (!type) not_a(kind, text);
      return *type;
    }
    case AttributeKind::kInts: {
      std::vector<std::int64_t> values;
      for (auto part : split(text)) values.push_back(parse_int(part));
      return values;
    }
    case AttributeKind::kDoubles: {
      std::vector<double> values;
      for (auto part : split(text)) values.push_back(parse_double(part));
      return values;
    }
    case AttributeKind::kStrings: {
      std::vector<std::string> values;
      for (auto part : split(text)) values.emplace_back(part);
      return values;
    }
    case AttributeKind::kShape:
      return PartialShape(text);
  }
  not_a(kind, text);
}

bool Attribute::convert_to(AttributeKind wanted) {
  if (kind() == wanted) return true;
  const auto* integer = get_if<std::int64_t>();
  const auto* real = get_if<double>();
  const auto* list = get_if<std::vector<std::int64_t>>();
  switch (wanted) {
    case AttributeKind::kBool:
      if (integer && (*integer == 0 || *integer == 1)) return value_ = *integer != 0, true;
      return false;
    case AttributeKind::kInt:
      if (const bool* flag = get_if<bool>()) return value_ = std::int64_t{*flag}, true;
      if (real && std::abs(*real) < 9e15 && *real == std::floor(*real))
        return value_ = static_cast<std::int64_t>(*real), true;
      return false;
    case AttributeKind::kDouble:
      if (integer) return value_ = static_cast<double>(*integer), true;
      return false;
    case AttributeKind::kInts:
      if (integer) return value_ = std::vector<std::int64_t>{*integer}, true;
      if (const auto* numbers = get_if<std::vector<double>>(); numbers && numbers->empty())
        return value_ = std::vector<std::int64_t>{}, true;
      if (const auto* shape = get_if<PartialShape>(); shape && shape->is_static()) {
        std::vector<std::int64_t> values;
        for (const Dimension& d : *shape) values.push_back(d.get_length());
        return value_ = std::move(values), true;
      }
      return false;
    case AttributeKind::kDoubles:
      if (list) return value_ = std::vector<double>(list->begin(), list->end()), true;
      if (real) return value_ = std::vector<double>{*real}, true;
      return false;
    case AttributeKind::kStrings:
      if (list && list->empty()) return value_ = std::vector<std::string>{}, true;
      return false;
    case AttributeKind::kShape:
      if (list && std::all_of(list->begin(), list->end(), [](std::int64_t v) { return v >= -1; })) {
        return value_ = PartialShape(*list), true;
      }
      return false;
    case AttributeKind::kType:
      if (const auto* text = get_if<std::string>()) {
        if (const auto type = element_type_from_name(*text)) return value_ = *type, true;
      }
      return false;
    case AttributeKind::kString:
      return false;
  }
  return false;
}

void Attributes::set(std::string_view name, Attribute value) {
  if (Attribute* held = find(name))
    *held = std::move(value);
  else
    entries_.emplace_back(std::string(name), std::move(value));
}

void Attributes::erase(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.first == name; });
}

const Attribute* Attributes::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}
Attribute* Attributes::find(std::string_view name) { return const_cast<Attribute*>(std::as_const(*this).find(name)); }

namespace {
template <typename T>
const T& typed(const Attributes& attributes, std::string_view attribute, AttributeKind kind) {
  const Attribute* found = attributes.find(attribute);
  if (!found) throw Error(Code::kNotFound, "attribute '" + std::string(attribute) + "' is missing");
  if (const T* value = found->get_if<T>()) return *value;
  throw Error(Code::kInvalidArgument, "attribute '" + std::string(attribute) + "': expected " +
                                          std::string(name(kind)) + ", found " + std::string(name(found->kind())) +
                                          " \"" + found->to_text() + "\"");
}
}  // namespace

bool Attributes::get_bool(std::string_view name) const { return typed<bool>(*this, name, AttributeKind::kBool); }
std::int64_t Attributes::get_int(std::string_view name) const {
  return typed<std::int64_t>(*this, name, AttributeKind::kInt);
}
double Attributes::get_double(std::string_view name) const {
  const Attribute* found = find(name);
  if (const auto* integer = found ? found->get_if<std::int64_t>() : nullptr) return static_cast<double>(*integer);
  return typed<double>(*this, name, AttributeKind::kDouble);
}
const std::string& Attributes::get_string(std::string_view name) const {
  return typed<std::string>(*this, name, AttributeKind::kString);
}
ElementType Attributes::get_type(std::string_view name) const {
  return typed<ElementType>(*this, name, AttributeKind::kType);
}
const std::vector<std::int64_t>& Attributes::get_ints(std::string_view name) const {
  return typed<std::vector<std::int64_t>>(*this, name, AttributeKind::kInts);
}
const std::vector<double>& Attributes::get_doubles(std::string_view name) const {
  return typed<std::vector<double>>(*this, name, AttributeKind::kDoubles);
}
const std::vector<std::string>& Attributes::get_strings(std::string_view name) const {
  return typed<std::vector<std::string>>(*this, name, AttributeKind::kStrings);
}
const PartialShape& Attributes::get_shape(std::string_view name) const {
  return typed<PartialShape>(*this, name, AttributeKind::kShape);
}

}  // namespace v1
}  // namespace tenon
