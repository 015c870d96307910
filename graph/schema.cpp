// SPDX-License-Identifier: Apache-2.0
// Nodes against the rows of the operation table.
#include <algorithm>
#include <cctype>
#include <stdexcept>

#include <tenon/core/error.hpp>
#include <tenon/graph/internal/schema.hpp>

namespace tenon {
inline namespace v1 {

namespace {

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

template <typename T, typename F>
std::string list_of(const T& items, F text) {
  std::string all;
  for (const auto& item : items) all += (all.empty() ? "" : ", ") + std::string(text(item));
  return all.empty() ? "none" : all;
}

}  // namespace

Attribute checked_attribute(const AttributeSpec& spec, Attribute value) {
  if (!value.convert_to(spec.kind)) {
    throw Error(Code::kInvalidArgument, "attribute '" + spec.name + "': expected a " + std::string(name(spec.kind)) +
                                            ", found a " + std::string(name(value.kind())) + " \"" + value.to_text() +
                                            "\"");
  }
  if (spec.allowed.empty()) return value;
  const std::string& word = std::get<std::string>(value.value());
  for (const std::string& allowed : spec.allowed) {
    if (same_word(allowed, word)) return allowed;
  }
  throw Error(Code::kInvalidArgument, "attribute '" + spec.name + "': expected one of " +
                                          list_of(spec.allowed, [](const std::string& s) { return s; }) + "; found \"" +
                                          word + "\"");
}

Attributes checked_attributes(const Operation& operation, const Attributes& given) {
  Attributes result;
  for (const AttributeSpec& spec : operation.attributes) {
    const Attribute* value = given.find(spec.name);
    if (!value && spec.required) {
      throw Error(Code::kInvalidArgument,
                  "attribute '" + spec.name + "' (" + std::string(name(spec.kind)) + ") is obligatory and missing");
    }
    result.set(spec.name, value ? checked_attribute(spec, *value) : spec.fallback);
  }
  for (const auto& [attribute, value] : given) {
    if (operation.find_attribute(attribute)) continue;
    throw Error(Code::kInvalidArgument,
                "unknown attribute '" + attribute + "'; this operation has: " +
                    list_of(operation.attributes, [](const AttributeSpec& s) { return s.name; }));
  }
  return result;
}

void check_inputs(const Operation& operation, const OutputVector& inputs) {
  if (inputs.size() < operation.min_inputs || inputs.size() > operation.max_inputs) {
    std::string expected = std::to_string(operation.min_inputs);
    if (operation.max_inputs == kManyInputs)
      expected += " or more";
    else if (operation.max_inputs != operation.min_inputs)
      expected += " to " + std::to_string(operation.max_inputs);
    throw Error(Code::kInvalidArgument, "expected " + expected + " inputs, found " + std::to_string(inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].get_node())
      throw Error(Code::kInvalidArgument, "input " + std::to_string(i) + " is joined to nothing");
    if (inputs[i].get_index() >= inputs[i].get_node()->get_output_size()) {
      throw Error(Code::kInvalidArgument, "input " + std::to_string(i) + " asks for output " +
                                              std::to_string(inputs[i].get_index()) + " of " +
                                              inputs[i].get_node()->describe() + ", which has " +
                                              std::to_string(inputs[i].get_node()->get_output_size()));
    }
  }
}

[[noreturn]] void rethrow_naming(const std::string& subject) {
  try {
    throw;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.substr(0, subject.size()) == subject) throw;
    throw Error(error.code(), subject + ": " + std::string(message), error.where());
  } catch (const std::out_of_range& error) {
    throw Error(Code::kInvalidArgument, subject + ": a list of values is shorter than the operation needs");
  }
}

}  // namespace v1
}  // namespace tenon
