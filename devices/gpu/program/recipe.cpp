// SPDX-License-Identifier: Apache-2.0
// Puts a kernel's text together.
#include <tenon/devices/gpu/program/recipe.hpp>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

bool is_8_bit(ElementType type) { return type == ElementType::kU8 || type == ElementType::kI8; }

/// What stands where in a text.
struct TextParts {
  std::string prefix;  ///< Begins the names of parameters, which each part of a joined kernel has for itself.
  std::string defines, undefines, helpers, begin, body, attributes;
  struct Parameter {
    std::string type, name;  ///< The name without the prefix; none: the type is a whole declaration.
  };
  std::vector<Parameter> parameters;
  struct Local {
    std::string name;
    std::size_t count;
  };
  std::vector<Local> locals;
  bool has_group = false, is_part = false, has_sets = false, waits = false, has_own_parameters = false;

  /// Their declarations. @param before  Their names.
  std::string declared(const std::string& before) const {
    std::string text;
    for (const auto& [type, name] : parameters)
      text += (text.empty() ? "" : ", ") + type + (name.empty() ? "" : " " + before + name);
    return text;
  }
  void number(const std::string& type, const std::string& name) {
    parameters.push_back({"const " + type, name});
    if (!prefix.empty()) begin += "const " + type + " " + name + " = " + prefix + name + "; ";
  }
  void define(const std::string& name, const std::string& text) {
    defines += "#define " + name + " " + text + "\n";
    undefines += "#undef " + name.substr(0, name.find('(')) + "\n";
  }
  void pointer(const std::string& name, ElementType type, bool is_number, bool written);
  void plain(const std::string& name, ElementType type, bool written);
  void numbers(const std::string& name, ElementType type, bool written);
};

void TextParts::pointer(const std::string& name, ElementType type, bool is_number, bool written) {
  const std::string pointer = std::string(written ? "__global " : "__global const ") + storage_name(type) + "*";
  const std::string given = prefix + name;
  parameters.push_back({pointer, name + "_whole"});
  parameters.push_back({"const ulong", name + "_at"});
  begin += pointer + " const " + name + "_p = " + given + "_whole + " + given + "_at; ";
  is_number ? numbers(name, type, written) : plain(name, type, written);
}

void TextParts::plain(const std::string& name, ElementType type, bool written) {
  define(name + "(i)", load_text(type, name + "_p", "i"));
  if (is_8_bit(type))
    define(name + "_LOAD8(i, to)", "load8_" + std::string(tenon::name(type)) + "(" + name + "_p + (i), to)");
  if (type == ElementType::kF32) define(name + "_LOAD16(i)", "vload16(0, " + name + "_p + (i))");
  if (type == ElementType::kF16) define(name + "_LOAD16(i)", "vload_half16(0, " + name + "_p + (i))");
  if (type == ElementType::kF32 || type == ElementType::kF16) {
    const std::string suffix = type == ElementType::kF32 ? "f32" : "f16";
    define(name + "_LOAD8(i, to)", "load8_" + suffix + "(" + name + "_p + (i), to)");
    define(name + "_READ8(i)", "read8_" + suffix + "(" + name + "_p + (i))");
    if (written) define(name + "_STORE8(i, from)", "store8_" + suffix + "(from, " + name + "_p + (i))");
  }
  if (written && !shares_bytes(type)) define(name + "_SET(i, value)", store_text(type, name + "_p", "i", "value"));
}

/// Scale and zero point are arguments, so that layers of one form share a program.
void TextParts::numbers(const std::string& name, ElementType type, bool written) {
  const std::string scale = name + "_scale", zero = name + "_zero", pointer = name + "_p + (i)",
                    suffix(tenon::name(type));
  number("float", scale);
  number("int", zero);
  define(name + "(i)", "(" + scale + " * (float)((int)" + name + "_p[i] - " + zero + "))");
  define(name + "_LOAD8(i, to)", "load8_numbers_" + suffix + "(" + pointer + ", " + scale + ", " + zero + ", to)");
  if (!written) return;
  begin += "const float " + name + "_inverse = 1 / " + scale + "; ";
  const std::string how = name + "_inverse, " + zero;
  define(name + "_SET(i, value)", name + "_p[i] = number_" + suffix + "(value, " + how + ")");
  define(name + "_STORE8(i, from)", "store8_numbers_" + suffix + "(from, " + how + ", " + pointer + ")");
}

}  // namespace

void Recipe::pointer(std::string_view name, const View& view, bool written) {
  bytes_ += 'p';
  bytes_ += static_cast<char>(view.type);
  bytes_ += view.numbers ? 'n' : 'p';
  add(written ? 'w' : 'r', name);
}

namespace {

constexpr std::string_view kHere = "KERNEL {";

/// Reads a recipe's bytes. @param end  Between words.
TextParts parts_of(const std::string& bytes, char end_of_word, const std::string& prefix) {
  TextParts parts;
  parts.prefix = prefix;
  for (std::size_t at = 0; at < bytes.size();) {
    const char what = bytes[at++];
    const auto next = [&] {
      const std::size_t end = bytes.find(end_of_word, at);
      return bytes.substr(std::exchange(at, end + 1), end - at);
    };
    const auto second = [&] {
      ++at;
      return next();
    };
    if (what == 'p') {
      const auto type = static_cast<ElementType>(bytes[at]);
      const bool is_number = bytes[at + 1] == 'n', written = bytes[at + 2] == 'w';
      at += 3;
      parts.pointer(next(), type, is_number, written);
      continue;
    }
    if (what == 'e') {
      const char* text = nullptr;
      std::memcpy(&text, bytes.data() + at, sizeof text);
      at += sizeof text;
      parts.body += text;
      continue;
    }
    const std::string text = next();
    switch (what) {
      case 'd':
        parts.define(text, second());
        break;
      case 'l':
        parts.locals.push_back({text, std::stoul(second())});
        break;
      case 'a':
        parts.attributes += text;
        break;
      case 'h':
        parts.helpers += text;
        break;
      case 't':
        parts.body += text;
        break;
      case 'g':
        parts.has_group = true;
        parts.is_part = !text.empty();
        break;
      case 'z':
        parts.has_sets = true;
        break;
      case 'y':
        parts.waits = true;
        break;
      case 'm':
        parts.has_own_parameters = true;
        parts.parameters.push_back({text, {}});
        break;
      default:
        parts.number("int", what == 'r' ? text + "_pitch" : text);
    }
  }
  return parts;
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

KernelText named(const std::string& kind, std::string text) {
  text = small_float_support(text) + text;
  KernelText kernel;
  kernel.kind = kind;
  kernel.name = kind + "_" + store::content_hash(text.data(), text.size()).to_text();
  replace_all(text, Recipe::kName, kernel.name);
  kernel.text = std::move(text);
  return kernel;
}

std::string signature(const TextParts& parts, const std::string& parameters) {
  return "__kernel " + parts.attributes + "void " + std::string(Recipe::kName) + "(" + parameters + ") { ";
}

/// @param begin  What stands before all else in the function.
std::string whole(const TextParts& parts, const std::string& parameters, const std::string& begin) {
  std::string text = parts.defines + parts.helpers + parts.body + "\n" + parts.undefines, locals;
  for (const auto& [name, count] : parts.locals)
    locals += "__local float " + name + "[" + std::to_string(count) + "] __attribute__((aligned(16))); ";
  return text.replace(text.find(kHere), kHere.size(), signature(parts, parameters) + locals + begin + parts.begin);
}

}  // namespace

KernelText Recipe::written(const std::string& kind) const {
  TextParts parts = parts_of(bytes_, kEnd, {});
  if (parts.has_group) parts.define("GROUP", "((int)get_group_id(0))");
  if (parts.has_sets) parts.define("GROUP_Z", "((int)get_group_id(2))"), parts.define("SET", "0");
  KernelText kernel = named(kind, whole(parts, parts.declared(parts.prefix), {}));
  if (parts.is_part && !parts.has_own_parameters) {
    kernel.joins = kind + (parts.waits ? " that waits, " : ", ") + parts.attributes;
    kernel.recipe = std::make_shared<const Recipe>(*this);
  } else if (parts.has_sets && parts.locals.empty() && !parts.has_own_parameters) {
    kernel.joins = kernel.name;
    kernel.recipe = std::make_shared<const Recipe>(*this);
    kernel.has_sets = true;
  }
  return kernel;
}

KernelText Recipe::in_sets(const std::string& kind, std::size_t count) const {
  TextParts parts = parts_of(bytes_, kEnd, {});
  parts.define("GROUP_Z", "((int)get_group_id(2) - set * groups_of_set)");
  parts.define("SET", "set");
  std::string parameters, begin = "const int groups_of_set = (int)get_num_groups(2) / " + std::to_string(count) +
                                  ", set = (int)get_group_id(2) / groups_of_set; ";
  for (std::size_t i = 0; i < count; ++i)
    parameters += (i > 0 ? ", " : "") + parts.declared("p" + std::to_string(i) + "_");
  for (const auto& [type, name] : parts.parameters) {
    begin += type + " " + name + " = ";
    for (std::size_t i = 0; i + 1 < count; ++i)
      begin += "set == " + std::to_string(i) + " ? p" + std::to_string(i) + "_" + name + " : ";
    begin += "p" + std::to_string(count - 1) + "_" + name + "; ";
  }
  return named(kind, whole(parts, parameters, begin));
}

KernelText Recipe::joined(const std::string& kind, const std::vector<const Recipe*>& recipes) {
  std::string before, parameters, firsts, body;
  std::size_t most_local = 0;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    const std::string number = std::to_string(i), first = "first_" + number;
    TextParts parts = parts_of(recipes[i]->bytes_, kEnd, "p" + number + "_");
    parts.define("GROUP", i == 0 ? "group_of_all" : "(group_of_all - " + first + ")");
    std::size_t local = 0;
    for (const auto& [name, count] : parts.locals) {
      parts.begin += "__local float* const " + name + " = local_memory + " + std::to_string(local) + "; ";
      local += (count + 3) / 4 * 4;  // Each begins where vectors may.
    }
    most_local = std::max(most_local, local);
    parts.body.replace(parts.body.find(kHere), kHere.size(), "{ " + parts.begin);
    std::string helpers = parts.helpers.empty() ? "" : parts.defines + parts.helpers + parts.undefines;
    // Each part's have names of their own.
    for (std::string* const text : {&parts.defines, &helpers, &parts.body})
      replace_all(*text, kName, "@part@_" + number);
    before += helpers;
    if (i > 0) {
      firsts += ", const int " + first;
      body += "else ";
    }
    if (i + 1 < recipes.size()) body += "if (group_of_all < first_" + std::to_string(i + 1) + ")";
    body += "\n" + parts.defines + parts.body + "\n" + parts.undefines;
    if (!parts.parameters.empty()) parameters += (parameters.empty() ? "" : ", ") + parts.declared(parts.prefix);
    if (i + 1 < recipes.size()) continue;
    std::string begin = signature(parts, parameters + firsts);
    if (most_local > 0)
      begin += "__local float local_memory[" + std::to_string(most_local) + "] __attribute__((aligned(16))); ";
    body = begin + "const int group_of_all = (int)get_group_id(0);\n" + body + "}\n";
  }
  replace_all(before, "@part@", std::string(kName));
  replace_all(body, "@part@", std::string(kName));
  return named(kind, before + body);
}

std::shared_ptr<const KernelText> KernelTexts::get(const std::string& kind, const Recipe& recipe) {
  constexpr std::size_t kMost = 4096;  // Where sizes are part of texts, there is no end of them.
  if (known_.size() == kMost) known_.clear();
  ((key_ = kind) += '\0') += recipe.bytes();
  auto& known = known_[key_];
  if (!known) known = std::make_shared<const KernelText>(recipe.written(kind));
  return known;
}

std::shared_ptr<const KernelText> KernelTexts::joined(const std::vector<std::shared_ptr<const KernelText>>& parts) {
  key_ = "joined";
  for (const auto& part : parts) (key_ += '\0') += part->name;
  auto& known = known_[key_];
  if (known) return known;
  std::vector<const Recipe*> recipes;
  for (const auto& part : parts) recipes.push_back(part->recipe.get());
  const std::string& kind = parts.front()->kind;
  const std::string kinds = kind.back() == 's' ? kind : kind + "s";
  return known = std::make_shared<const KernelText>(parts.front()->has_sets
                                                        ? recipes.front()->in_sets(kinds, recipes.size())
                                                        : Recipe::joined(kinds, recipes));
}

}  // namespace tenon::inline v1::gpu_device
