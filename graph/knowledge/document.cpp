// SPDX-License-Identifier: Apache-2.0
#include <tenon/graph/knowledge/internal/document.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/internal/literals.hpp>
#include <tenon/graph/knowledge/internal/values.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxNumbers = 4096;

[[noreturn]] void refuse(const std::string& why) { throw Error(Code::kInvalidArgument, why); }

/// "0.5", "1./255.": PaddlePaddle's exporters write both.
bool read_number(const std::string& text, double& value) {
  const auto part = [&](const char* begin, const char* end, double& number) {
    const auto read = std::from_chars(begin, end, number);
    return read.ec == std::errc{} && read.ptr == end;
  };
  const std::size_t slash = text.find('/');
  const char* const begin = text.data();
  if (slash == std::string::npos) return part(begin, begin + text.size(), value);
  double below = 0;
  if (!part(begin, begin + slash, value) || !part(begin + slash + 1, begin + text.size(), below) || below == 0)
    return false;
  value /= below;
  return true;
}

std::string literal_at(const Tree& tree, int depth) {
  if (tree.is_null()) return depth == 0 ? "" : "None";
  if (!tree.is_structured()) return depth == 0 || !tree.is_string() ? text_of(tree) : literal_text(text_of(tree));
  if (depth > kMaxDepth) refuse("it is nested deeper than " + std::to_string(kMaxDepth));
  std::string text = tree.is_object() ? "{" : "[";
  for (const auto& [key, value] : tree.items())
    text += (text.size() > 1 ? ", " : "") + (tree.is_object() ? literal_text(key) + ": " : std::string()) +
            literal_at(value, depth + 1);
  return text + (tree.is_object() ? "}" : "]");
}

}  // namespace

void SideFacts::add(const char* key, std::string value) {
  if (!value.empty()) facts.emplace_back(key, std::move(value));
}

std::optional<std::string> text_of_file(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  const std::uintmax_t size =
      std::filesystem::is_regular_file(file, error) ? std::filesystem::file_size(file, error) : 0;
  if (!error && size > kMaxSideFileBytes)
    refuse("\"" + file.filename().string() + "\" has " + std::to_string(size) +
           " bytes; files that describe models have at most " + std::to_string(kMaxSideFileBytes));
  const Tensor bytes = read_file(file);
  return std::string(static_cast<const char*>(bytes.data()), bytes.size_bytes());
}

Tree parse_json(std::string_view text) {
  const auto is_shallow = [](int depth, Tree::parse_event_t, Tree&) {
    if (depth > kMaxDepth) refuse("it is nested deeper than " + std::to_string(kMaxDepth));
    return true;
  };
  try {
    return Tree::parse(text, is_shallow);
  } catch (const Tree::exception& error) {
    refuse(std::string("it is no JSON: ") + error.what());
  }
}

const Tree& member(const Tree& from, const char* name) {
  static const Tree none;
  if (!from.is_object()) return none;
  const auto found = from.find(name);
  return found == from.end() ? none : *found;
}

std::string text_of(const Tree& scalar) {
  if (scalar.is_string()) return scalar.get<std::string>();
  if (scalar.is_boolean()) return scalar.get<bool>() ? "True" : "False";
  if (scalar.is_number_integer()) return std::to_string(scalar.get<std::int64_t>());
  return scalar.is_number() ? number_text(scalar.get<double>()) : std::string();
}

std::string literal_of(const Tree& tree) { return literal_at(tree, 0); }

double number_of(const Tree& scalar, const char* what) {
  double value = 0;
  if (scalar.is_number()) value = scalar.get<double>();
  if (!scalar.is_number() && !(scalar.is_string() && read_number(scalar.get<std::string>(), value)))
    refuse(std::string(what) + " is " + (scalar.is_structured() ? "a list or map" : "\"" + text_of(scalar) + "\"") +
           "; it must be a number");
  if (!std::isfinite(value) || std::abs(value) > 1e9)
    refuse(std::string(what) + " is " + number_text(value) + ", which cannot be");
  return value;
}

std::vector<double> numbers_of(const Tree& tree, const char* what) {
  if (!tree.is_array()) return {number_of(tree, what)};
  if (tree.size() > kMaxNumbers) refuse(std::string(what) + " has " + std::to_string(tree.size()) + " numbers");
  std::vector<double> all;
  for (const Tree& one : tree) all.push_back(number_of(one, what));
  return all;
}

std::vector<std::string> names_of(const Tree& list, const char* what) {
  if (!list.is_array()) refuse(std::string(what) + " is no list of names");
  if (list.size() > kMaxLabels) refuse(std::string(what) + " has " + std::to_string(list.size()) + " names");
  std::vector<std::string> names;
  for (const Tree& one : list) {
    if (one.is_structured()) refuse(std::string(what) + " has a list or map in place of a name");
    names.push_back(text_of(one));
  }
  return names;
}

bool is_true(const Tree& scalar) {
  bool flag = false;
  return read_flag(text_of(scalar), flag) && flag;
}

PartialShape shape_of_port(const Model& model, bool is_input, const std::string& name) {
  std::string known;
  for (const auto& port : is_input ? model.inputs() : model.outputs()) {
    const std::string own_name = port.get_node()->get_friendly_name();
    if (port.get_names().count(name) || own_name == name) return port.get_partial_shape();
    known += " \"" + (port.get_names().empty() ? own_name : port.get_any_name()) + "\"";
  }
  refuse(std::string("it describes the ") + (is_input ? "input" : "output") + " \"" + name + "\", and the model has" +
         (known.empty() ? " none" : known));
}

void add_normalisation(double factor, double offset, const std::vector<double>& mean,
                       const std::vector<double>& deviation, SideFacts& to) {
  if (factor == 0) refuse("samples are multiplied by 0");
  const std::size_t count = std::max({std::size_t{1}, mean.size(), deviation.size()});
  const auto fits = [&](const std::vector<double>& values) { return values.size() <= 1 || values.size() == count; };
  if (!fits(mean) || !fits(deviation))
    refuse("mean has " + std::to_string(mean.size()) + " numbers and the deviation " +
           std::to_string(deviation.size()));
  const auto at = [](const std::vector<double>& values, std::size_t c, double otherwise) {
    return values.empty() ? otherwise : values[values.size() == 1 ? 0 : c];
  };
  std::vector<double> means, scales;
  for (std::size_t c = 0; c < count; ++c) {
    // (x * factor + offset - mean) / deviation
    const double below = at(deviation, c, 1);
    if (below == 0) refuse("samples are divided by a deviation of 0");
    // Six digits: factors are rounded in files, and 1/255 must give 255.
    const auto rounded = [](double value) { return std::round(value * 1e6) / 1e6; };
    means.push_back(rounded((at(mean, c, 0) - offset) / factor));
    scales.push_back(rounded(below / factor));
  }
  to.add("mean_values", numbers_text(means));
  to.add("scale_values", numbers_text(scales));
}

}  // namespace v1
}  // namespace tenon
