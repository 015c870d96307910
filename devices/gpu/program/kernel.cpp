// SPDX-License-Identifier: Apache-2.0
// Puts a kernel's text together.
#include <tenon/devices/gpu/program/kernel.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

bool is_8_bit(ElementType type) { return type == ElementType::kU8 || type == ElementType::kI8; }

}  // namespace

Kernel& Kernel::computes(const ViewSource& source) {
  launch_.fused.insert(launch_.fused.end(), source.nodes().begin(), source.nodes().end());
  return *this;
}

Kernel& Kernel::sourced(const std::string& name, const View& view) {
  const std::size_t bytes = std::max<std::size_t>(size_bytes(view.type), 1);
  view.source->define(*this, name + "_all");
  computes(*view.source);
  number(name + "_first", static_cast<std::int64_t>(view.place.offset / bytes));
  return define(name + "(i)", name + "_all((i) + " + name + "_first)");
}

Kernel& Kernel::parameter(const std::string& name, const View& view, bool written) {
  if (view.source) return sourced(name, view);
  const std::string type = storage_name(view.type);
  const std::string pointer = std::string(written ? "__global " : "__global const ") + type + "*";
  parameters_ += (parameters_.empty() ? "" : ", ") + pointer + " " + name + "_whole, const ulong " + name + "_at";
  begin_ += pointer + " const " + name + "_p = " + name + "_whole + " + name + "_at; ";
  launch_.arguments.push_back({view.place, std::max<std::size_t>(size_bytes(view.type), 1), 0, false});
  launch_.operands.push_back({view.place, written, false});
  launch_.views.push_back(view);
  if (view.numbers) return numbers(name, view, written);
  define(name + "(i)", load_text(view.type, name + "_p", "i"));
  if (is_8_bit(view.type))
    define(name + "_LOAD8(i, to)", "load8_" + std::string(tenon::name(view.type)) + "(" + name + "_p + (i), to)");
  if (view.type == ElementType::kF32) define(name + "_LOAD16(i)", "vload16(0, " + name + "_p + (i))");
  if (view.type == ElementType::kF16) define(name + "_LOAD16(i)", "vload_half16(0, " + name + "_p + (i))");
  if (view.type == ElementType::kF32 || view.type == ElementType::kF16) {
    const std::string suffix = view.type == ElementType::kF32 ? "f32" : "f16";
    define(name + "_LOAD8(i, to)", "load8_" + suffix + "(" + name + "_p + (i), to)");
    if (written) define(name + "_STORE8(i, from)", "store8_" + suffix + "(from, " + name + "_p + (i))");
  }
  if (written && !shares_bytes(view.type))
    define(name + "_SET(i, value)", store_text(view.type, name + "_p", "i", "value"));
  return *this;
}

/// Scale and zero point are arguments, so that layers of one form share a program.
Kernel& Kernel::numbers(const std::string& name, const View& view, bool written) {
  const std::string scale = name + "_scale", zero = name + "_zero", pointer = name + "_p + (i)",
                    type(tenon::name(view.type));
  parameters_ += ", const float " + scale + ", const int " + zero;
  launch_.arguments.push_back({{}, 1, std::bit_cast<std::int32_t>(view.numbers->scale), false});
  launch_.arguments.push_back({{}, 1, view.numbers->zero_point, false});
  define(name + "(i)", "(" + scale + " * (float)((int)" + name + "_p[i] - " + zero + "))");
  define(name + "_LOAD8(i, to)", "load8_numbers_" + type + "(" + pointer + ", " + scale + ", " + zero + ", to)");
  if (!written) return *this;
  begin_ += "const float " + name + "_inverse = 1 / " + scale + "; ";
  const std::string how = name + "_inverse, " + zero;
  define(name + "_SET(i, value)", name + "_p[i] = number_" + type + "(value, " + how + ")");
  return define(name + "_STORE8(i, from)", "store8_numbers_" + type + "(from, " + how + ", " + pointer + ")");
}

Kernel& Kernel::reads(const std::string& name, const View& view) { return parameter(name, view, false); }
Kernel& Kernel::writes(const std::string& name, const View& view) { return parameter(name, view, true); }

Kernel& Kernel::updates(const std::string& name, const View& view) {
  writes(name, view);
  launch_.operands.push_back({view.place, false, false});
  launch_.views.push_back(view);
  return *this;
}

Kernel& Kernel::uses(const std::string& name, const View& view) {
  writes(name, view);
  launch_.views.back() = {};
  return *this;
}

Kernel& Kernel::reads_rows(const std::string& name, const View& view) {
  reads(name, view);
  const std::size_t rank = view.shape.size();
  if (view.source) {
    const std::int64_t line = rank >= 3 ? view.strides[rank - 3] : 0;
    if (view.place.offset == 0 && line > 0 && static_cast<std::size_t>(line) == view.source->row())
      return define(name + "_IN(r, i)", name + "_all_IN(r, i)");
    number(name + "_line", line);
    return define(name + "_IN(r, i)", name + "((r) * " + name + "_line + (i))");
  }
  parameters_ += ", const int " + name + "_pitch";
  // Rows are the axis before columns and samples.
  const auto pitch = static_cast<std::int32_t>(rank >= 3 ? view.strides[rank - 3] : 0);
  launch_.arguments.push_back({view.place, size_bytes(view.type), pitch, true});
  return define(name + "_IN(r, i)", name + "((r) * " + name + "_pitch + (i))");
}

Kernel& Kernel::memory(const std::string& declaration, const View& view, std::int32_t pitch) {
  const std::size_t element_bytes = size_bytes(view.type);
  parameters_ += (parameters_.empty() ? "" : ", ") + declaration;
  launch_.arguments.push_back({view.place, element_bytes, 0, false});
  launch_.arguments.push_back({view.place, element_bytes, pitch, true});
  launch_.operands.push_back({view.place, false, false});
  launch_.views.push_back(view);
  return *this;
}

Kernel& Kernel::helper(const std::string& text) {
  defines_ += text;
  return *this;
}

Kernel& Kernel::number(const std::string& name, std::int64_t value) {
  if (value > std::numeric_limits<std::int32_t>::max() || value < std::numeric_limits<std::int32_t>::min())
    throw Error(Code::kUnimplemented, "GPU: a tensor has an extent or stride of " + std::to_string(value) +
                                          " elements; kernels count in 32 bits, up to 2147483647");
  if (!numbers_.insert(name).second) return *this;
  if (is_special_) return define(name, "(" + std::to_string(value) + ")");
  parameters_ += (parameters_.empty() ? "" : ", ") + ("const int " + name);
  launch_.arguments.push_back({{}, 1, static_cast<std::int32_t>(value), false});
  return *this;
}

Kernel& Kernel::define(const std::string& name, const std::string& text) {
  defines_ += "#define " + name + " " + text + "\n";
  undefines_ += "#undef " + name.substr(0, name.find('(')) + "\n";
  return *this;
}

Kernel& Kernel::text(std::string_view text) {
  text_ += text;
  return *this;
}

Kernel& Kernel::over(std::vector<std::size_t> global, std::vector<std::size_t> local) {
  launch_.dimensions = static_cast<std::uint32_t>(global.size());
  for (std::size_t i = 0; i < global.size(); ++i) {
    launch_.global[i] = global[i];
    if (local.empty()) continue;
    launch_.local[i] = local[i];
    launch_.global[i] = (global[i] + local[i] - 1) / local[i] * local[i];
  }
  return *this;
}

Launch Kernel::launch() const {
  static constexpr std::string_view kHere = "KERNEL {";
  std::string head = "__kernel ";
  if (launch_.local[0] != 0) {
    head += "__attribute__((reqd_work_group_size(";
    for (std::size_t i = 0; i < 3; ++i)
      head += (i ? ", " : "") + std::to_string(i < launch_.dimensions ? launch_.local[i] : 1);
    head += "))) ";
  }
  if (sub_group_ != 0) head += "__attribute__((intel_reqd_sub_group_size(" + std::to_string(sub_group_) + "))) ";
  if (is_in_single_file_) head += "IN_SINGLE_FILE ";
  head += "void " + std::string(kName) + "(" + parameters_ + ") { " + begin_;
  std::string text = defines_ + text_ + "\n" + undefines_;
  text = small_float_support(text) + text;
  text.replace(text.find(kHere), kHere.size(), head);
  const store::ContentHash hash = store::content_hash(text.data(), text.size());
  auto kernel = std::make_shared<KernelText>();
  kernel->kind = kind_;
  kernel->name = kind_ + "_" + hash.to_text();
  for (std::size_t at = text.find(kName); at != text.npos; at = text.find(kName, at))
    text.replace(at, kName.size(), kernel->name);
  kernel->text = std::move(text);
  Launch launch = launch_;
  launch.kernel = std::move(kernel);
  return launch;
}

}  // namespace tenon::inline v1::gpu_device
