// SPDX-License-Identifier: Apache-2.0
// What a kernel is told, and what its text is made of.
#include <tenon/devices/gpu/program/kernel.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon::inline v1::gpu_device {
Kernel& Kernel::computes(const ViewSource& source) {
  launch_.fused.insert(launch_.fused.end(), source.nodes().begin(), source.nodes().end());
  return *this;
}

Kernel& Kernel::sourced(const std::string& name, const View& view) {
  const std::size_t bytes = std::max<std::size_t>(size_bytes(view.type), 1);
  view.source->define(*this, name + "_all");
  computes(*view.source);
  number(name + "_first", static_cast<std::int64_t>(view.place.offset / bytes));
  if (view.source->has_rows()) {
    define(name + "_LOAD8(i, to)", name + "_all_LOAD8((i) + " + name + "_first, to)");
    define(name + "_LOAD16(i)", name + "_all_LOAD16((i) + " + name + "_first)");
  }
  return define(name + "(i)", name + "_all((i) + " + name + "_first)");
}

Kernel& Kernel::parameter(const std::string& name, const View& view, bool written) {
  if (view.source) return sourced(name, view);
  recipe_.pointer(name, view, written);
  launch_.arguments.push_back({view.place, std::max<std::size_t>(size_bytes(view.type), 1), 0, false});
  launch_.operands.push_back({view.place, written, false});
  launch_.views.push_back(view);
  if (!view.numbers) return *this;
  launch_.arguments.push_back({{}, 1, std::bit_cast<std::int32_t>(view.numbers->scale), false});
  launch_.arguments.push_back({{}, 1, view.numbers->zero_point, false});
  return *this;
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
  recipe_.pitch(name);
  // Rows are the axis before columns and samples.
  const auto pitch = static_cast<std::int32_t>(rank >= 3 ? view.strides[rank - 3] : 0);
  launch_.arguments.push_back({view.place, size_bytes(view.type), pitch, true});
  return define(name + "_IN(r, i)", name + "((r) * " + name + "_pitch + (i))");
}

Kernel& Kernel::memory(const std::string& declaration, const View& view, std::int32_t pitch) {
  const std::size_t element_bytes = size_bytes(view.type);
  recipe_.declare(declaration);
  launch_.arguments.push_back({view.place, element_bytes, 0, false});
  launch_.arguments.push_back({view.place, element_bytes, pitch, true});
  launch_.operands.push_back({view.place, false, false});
  launch_.views.push_back(view);
  return *this;
}

Kernel& Kernel::helper(const std::string& text) {
  recipe_.helper(text);
  return *this;
}

Kernel& Kernel::number(const std::string& name, std::int64_t value) {
  if (value > std::numeric_limits<std::int32_t>::max() || value < std::numeric_limits<std::int32_t>::min())
    throw Error(Code::kUnimplemented, "GPU: a tensor has an extent or stride of " + std::to_string(value) +
                                          " elements; kernels count in 32 bits, up to 2147483647");
  if (std::ranges::find(numbers_, name) != numbers_.end()) return *this;
  numbers_.push_back(name);
  if (is_special_) return define(name, "(" + std::to_string(value) + ")");
  recipe_.number(name);
  launch_.arguments.push_back({{}, 1, static_cast<std::int32_t>(value), false});
  return *this;
}

Kernel& Kernel::define(const std::string& name, const std::string& text) {
  recipe_.define(name, text);
  return *this;
}

Kernel& Kernel::text(std::string_view text) {
  recipe_.text(text);
  return *this;
}
Kernel& Kernel::text(const char* permanent) {
  recipe_.text_at(permanent);
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

Kernel& Kernel::for_twin(Kernel other, std::size_t local_bytes) {
  for_twin_ = std::make_shared<Kernel>(std::move(other));
  for_twin_->launch_.local_bytes = local_bytes;
  return *this;
}

Launch Kernel::launch(KernelTexts& texts) && {
  if (for_twin_) launch_.for_twin = std::make_shared<const Launch>(std::move(*for_twin_).launch(texts));
  if (launch_.local[0] != 0) {
    std::string sizes;
    for (std::size_t i = 0; i < 3; ++i)
      sizes += (i ? ", " : "") + std::to_string(i < launch_.dimensions ? launch_.local[i] : 1);
    recipe_.attribute("__attribute__((reqd_work_group_size(" + sizes + "))) ");
  }
  if (sub_group_ != 0)
    recipe_.attribute("__attribute__((intel_reqd_sub_group_size(" + std::to_string(sub_group_) + "))) ");
  if (is_in_single_file_) recipe_.attribute("IN_SINGLE_FILE ");
  launch_.kernel = texts.get(kind_, recipe_);
  return std::move(launch_);
}

}  // namespace tenon::inline v1::gpu_device
