// SPDX-License-Identifier: Apache-2.0
// Puts a kernel's text together.
#include <tenon/devices/gpu/program/recipe.hpp>

#include <utility>

#include <tenon/devices/gpu/program/types.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

bool is_8_bit(ElementType type) { return type == ElementType::kU8 || type == ElementType::kI8; }

/// What stands where in a text.
struct TextParts {
  std::string defines, undefines, parameters, begin, body, attributes;

  void parameter(const std::string& text) { parameters += (parameters.empty() ? "" : ", ") + text; }
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
  parameter(pointer + " " + name + "_whole, const ulong " + name + "_at");
  begin += pointer + " const " + name + "_p = " + name + "_whole + " + name + "_at; ";
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
    if (written) define(name + "_STORE8(i, from)", "store8_" + suffix + "(from, " + name + "_p + (i))");
  }
  if (written && !shares_bytes(type)) define(name + "_SET(i, value)", store_text(type, name + "_p", "i", "value"));
}

/// Scale and zero point are arguments, so that layers of one form share a program.
void TextParts::numbers(const std::string& name, ElementType type, bool written) {
  const std::string scale = name + "_scale", zero = name + "_zero", pointer = name + "_p + (i)",
                    suffix(tenon::name(type));
  parameter("const float " + scale + ", const int " + zero);
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

KernelText Recipe::written(const std::string& kind) const {
  static constexpr std::string_view kHere = "KERNEL {";
  TextParts parts;
  for (std::size_t at = 0; at < bytes_.size();) {
    const char what = bytes_[at++];
    const auto next = [&] {
      const std::size_t end = bytes_.find(kEnd, at);
      return bytes_.substr(std::exchange(at, end + 1), end - at);
    };
    if (what == 'p') {
      const auto type = static_cast<ElementType>(bytes_[at]);
      const bool is_number = bytes_[at + 1] == 'n', written = bytes_[at + 2] == 'w';
      at += 3;
      parts.pointer(next(), type, is_number, written);
      continue;
    }
    const std::string text = next();
    if (what == 'd') {
      ++at;
      parts.define(text, next());
    } else if (what == 'a') {
      parts.attributes += text;
    } else if (what == 'h') {
      parts.defines += text;
    } else if (what == 't') {
      parts.body += text;
    } else {
      parts.parameter(what == 'r' ? "const int " + text + "_pitch" : what == 'n' ? "const int " + text : text);
    }
  }
  std::string text = parts.defines + parts.body + "\n" + parts.undefines;
  text = small_float_support(text) + text;
  text.replace(
      text.find(kHere), kHere.size(),
      "__kernel " + parts.attributes + "void " + std::string(kName) + "(" + parts.parameters + ") { " + parts.begin);
  KernelText kernel;
  kernel.kind = kind;
  kernel.name = kind + "_" + store::content_hash(text.data(), text.size()).to_text();
  for (std::size_t at = text.find(kName); at != text.npos; at = text.find(kName, at))
    text.replace(at, kName.size(), kernel.name);
  kernel.text = std::move(text);
  return kernel;
}

std::shared_ptr<const KernelText> KernelTexts::get(const std::string& kind, const Recipe& recipe) {
  constexpr std::size_t kMost = 4096;  // Where sizes are part of texts, there is no end of them.
  if (known_.size() == kMost) known_.clear();
  ((key_ = kind) += '\0') += recipe.bytes();
  auto& known = known_[key_];
  if (!known) known = std::make_shared<const KernelText>(recipe.written(kind));
  return known;
}

}  // namespace tenon::inline v1::gpu_device
