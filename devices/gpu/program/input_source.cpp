// SPDX-License-Identifier: Apache-2.0
// Texts that read images, rows at a pitch, and items of a batch.
#include <tenon/devices/gpu/program/input_source.hpp>

#include <algorithm>

#include <tenon/devices/gpu/program/kernel.hpp>
#include <tenon/devices/gpu/program/types.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// The function that reads element `at` of an image whose rows begin `pitch` elements apart.
std::string pixel_function(const std::string& name, ElementType type, const InputForm& form) {
  const std::string channels = std::to_string(form.components.size()), made = compute_name(type);
  const char* const call = !form.is_integer ? "f" : info(type).is_signed ? "i" : "ui";
  const char* const vector = !form.is_integer ? "float4" : info(type).is_signed ? "int4" : "uint4";
  std::string value = "(";
  for (std::size_t i = 0; i + 1 < form.components.size(); ++i)
    value += "x % " + channels + " == " + std::to_string(i) + " ? pixel." + form.components[i] + " : ";
  value += std::string("pixel.") + form.components.back() + ")";
  if (!form.is_integer && !info(type).is_real)
    value = "rint(" + value + (info(type).bits == 8 ? " * 255.0f)" : " * 65535.0f)");
  return "inline " + made + " " + name + "(__read_only image2d_t image, const int at, const int pitch) {\n" +
         "  const int x = at % pitch;\n  const " + vector + " pixel = read_image" + call + "(image, (int2)(x / " +
         channels + ", at / pitch));\n  return (" + made + ")" + value + ";\n}\n";
}

}  // namespace

void InputSource::define(Kernel& kernel, const std::string& name) const {
  const std::string function = std::string(Kernel::kName) + "_" + name, pixel = function + "_pixel";
  std::string declared, given, cases;
  for (std::size_t item = 0; item < form_.items; ++item) {
    const std::string own = name + "_" + std::to_string(item), at = own + "_at", pitch = own + "_pitch";
    const std::string memory =
        form_.is_image() ? "__read_only image2d_t" : "__global const " + std::string(storage_name(type_)) + "*";
    const std::string declaration = memory + " " + own + ", const ulong " + at + ", const int " + pitch;
    kernel.memory(declaration, items_[item], size_bytes(type_), static_cast<std::int32_t>(form_.row));
    declared += declaration + ", ";
    given += own + ", " + at + ", " + pitch + ", ";
    const std::string place = form_.row == 0 ? "i" : "row * " + pitch + " + i";
    cases += item + 1 < form_.items ? "  if (item == " + std::to_string(item) + ") return " : "  return ";
    cases += form_.is_image() ? pixel + "(" + own + ", (int)" + at + " + " + place + ", " + pitch + ")"
                              : load_text(type_, "(" + own + " + " + at + ")", place);
    cases += ";\n";
  }
  if (form_.is_image()) kernel.helper(pixel_function(pixel, type_, form_));
  const std::string head = "inline " + std::string(compute_name(type_)) + " " + function;
  kernel.number(name + "_items", static_cast<std::int64_t>(item_elements_));
  if (form_.row == 0) {
    kernel.helper(head + "(" + declared + "const int items, int i) {\n  const int item = i / items;\n" +
                  (form_.items > 1 ? "  i -= item * items;\n" : "") + cases + "}\n");
    kernel.define(name + "(i)", function + "(" + given + name + "_items, (int)(i))");
    return;
  }
  // Items hold whole rows.
  kernel.number(name + "_row", static_cast<std::int64_t>(form_.row));
  kernel.helper(head + "_in(" + declared + "const int rows, int row, const int i) {\n  const int item = row / rows;\n" +
                (form_.items > 1 ? "  row -= item * rows;\n" : "") + cases + "}\n");
  kernel.helper(head + "(" + declared + "const int rows, const int length, const int i) {\n  return " + function +
                "_in(" + given + "rows, i / length, i % length);\n}\n");
  const std::string rows = "(" + name + "_items / " + name + "_row)";
  kernel.define(name + "(i)", function + "(" + given + rows + ", " + name + "_row, (int)(i))");
  kernel.define(name + "_IN(r, i)", function + "_in(" + given + rows + ", (int)(r), (int)(i))");
}

}  // namespace tenon::inline v1::gpu_device
