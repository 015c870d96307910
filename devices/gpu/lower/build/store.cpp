// SPDX-License-Identifier: Apache-2.0
// The macros by which a kernel computes the rest of a tree and writes it.
#include <algorithm>
#include <string>
#include <vector>

#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/devices/gpu/program/indexing.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Writes indices of views for a kernel that counts groups of axes: g0, g1...
class GroupIndices {
 public:
  GroupIndices(Kernel& kernel, const Shape& shape, const AxisGroups& groups)
      : kernel_(kernel), shape_(shape), groups_(groups), coordinates_(shape.size(), "0") {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const std::string index = "g" + std::to_string(group);
      parameters_ += ", " + index;
      take_apart(groups_[group], "(" + index + ")");
    }
  }

  /// ", g0, g1..."
  const std::string& parameters() const { return parameters_; }
  /// Statements that the indices need.
  const std::string& lines() const { return lines_; }

  /// @param step  Added along the last group: "j" for the neighbours of an element.
  std::string of(const std::string& name, const View& view, const std::string& step = "") const {
    Extents strides;
    std::vector<std::string> indices;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const auto& axes = groups_[group];
      if (axes.empty()) continue;
      const bool is_last = group + 1 == groups_.size() && !step.empty();
      if (lies_as_one(view, axes)) {
        strides.push_back(view.strides[axes.back()]);
        indices.push_back("(g" + std::to_string(group) + (is_last ? " + " + step : "") + ")");
        continue;
      }
      for (const std::size_t axis : axes) {
        strides.push_back(view.strides[axis]);
        indices.push_back(is_last && axis == axes.back() ? "(" + coordinates_[axis] + " + " + step + ")"
                                                         : coordinates_[axis]);
      }
    }
    return index_text(kernel_, name, strides, indices);
  }

 private:
  /// Only as far as views need it: one that lies as one along the group uses the index itself.
  void take_apart(const std::vector<std::size_t>& axes, const std::string& index) {
    if (axes.size() == 1) {
      coordinates_[axes[0]] = index;
      return;
    }
    std::string rest = index;
    for (std::size_t at = axes.size(); at-- > 0;) {
      const std::size_t axis = axes[at];
      const std::string name = "c" + std::to_string(axis);
      if (at == 0) {
        lines_ += "const int " + name + " = " + rest + "; ";
      } else {
        const std::string extent = "OUT_E" + std::to_string(axis), left = "q" + std::to_string(axis);
        kernel_.number(extent, static_cast<std::int64_t>(shape_[axis]));
        lines_ +=
            "const int " + name + " = " + rest + " % " + extent + ", " + left + " = " + rest + " / " + extent + "; ";
        rest = left;
      }
      coordinates_[axis] = name;
    }
  }

  bool lies_as_one(const View& view, const std::vector<std::size_t>& axes) const {
    std::int64_t step = view.strides[axes.back()];
    for (std::size_t i = axes.size(); i-- > 0;) {
      if (shape_[axes[i]] != 1 && view.strides[axes[i]] != step) return false;
      step *= static_cast<std::int64_t>(shape_[axes[i]]);
    }
    return true;
  }

  Kernel& kernel_;
  const Shape shape_;
  const AxisGroups groups_;
  std::string parameters_, lines_;
  std::vector<std::string> coordinates_;
};

std::string load_name(std::size_t i) { return "Y" + std::to_string(i); }

void define_store(Kernel& kernel, const ExpressionRef& stored, const View& out, const GroupIndices& indices) {
  const std::vector<ExpressionRef> loads = loads_of(stored);
  const Statements body = statements(
      stored, [&](std::size_t i) { return load_name(i) + "(" + indices.of(load_name(i), *loads[i]->view()) + ")"; },
      "(value)");
  kernel.define("STORE(value" + indices.parameters() + ")",
                "{ " + indices.lines() + body.lines + "OUT_SET(" + indices.of("OUT", out) + ", " + body.value + "); }");
}

}  // namespace

bool Builder::is_wide(const View& view, std::size_t axis) const {
  if (view.source ? !view.source->has_rows() : !begins_at_line(plan_.buffers[view.place.buffer])) return false;
  if ((view.type != ElementType::kF16 && view.type != ElementType::kF32 && !view.numbers) || view.strides[axis] != 1)
    return false;
  for (std::size_t i = 0; i < view.shape.size(); ++i)
    if (i != axis && view.shape[i] > 1 && view.strides[i] % 8 != 0) return false;
  const std::size_t step = view.numbers ? 8 : view.source ? 8 * sizeof(float) : 16;
  return view.shape[axis] % 8 == 0 && view.place.offset % step == 0;
}

bool Builder::begins_at_line(const planning::Buffer& buffer) const {
  if (buffer.kind == planning::BufferKind::kInput) return own_inputs_.count(buffer.index) > 0;
  if (buffer.kind == planning::BufferKind::kOutput) return own_outputs_.count(buffer.index) > 0;
  return buffer.kind == planning::BufferKind::kArena || buffer.kind == planning::BufferKind::kConstant;
}

void Builder::add_store(Kernel& kernel, const ExpressionRef& root, const View& out, const AxisGroups& groups) const {
  const ExpressionRef stored = as_stored(root, out.value_type());
  const std::vector<ExpressionRef> loads = loads_of(stored);
  for (std::size_t i = 0; i < loads.size(); ++i) kernel.reads(load_name(i), *loads[i]->view());
  kernel.writes("OUT", out);
  define_store(kernel, stored, out, GroupIndices(kernel, out.shape, groups));
}

void Builder::add_wide_store(Kernel& kernel, const ExpressionRef& root, const View& out,
                             const AxisGroups& groups) const {
  add_store(kernel, root, out, groups);
  const ExpressionRef stored = as_stored(root, out.value_type());
  const std::vector<ExpressionRef> loads = loads_of(stored);
  const GroupIndices indices(kernel, out.shape, groups);
  const std::size_t axis = groups.back().back();
  std::string lines = "{ " + indices.lines();
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const View& view = *loads[i]->view();
    const std::string name = load_name(i), at = indices.of(name, view);
    if (is_wide(view, axis))
      lines += "float w" + std::to_string(i) + "[8]; " + name + "_LOAD8(" + at + ", w" + std::to_string(i) + "); ";
    else if (view.strides[axis] == 0)
      lines += std::string("const ") + compute_name(view.value_type()) + " w" + std::to_string(i) + " = " + name + "(" +
               at + "); ";
  }
  const Statements body = statements(
      stored,
      [&](std::size_t i) {
        const View& view = *loads[i]->view();
        if (is_wide(view, axis)) return "w" + std::to_string(i) + "[j]";
        if (view.strides[axis] == 0) return "w" + std::to_string(i);
        return load_name(i) + "(" + indices.of(load_name(i), view, "j") + ")";
      },
      "(value)[j]");
  const bool writes_wide = is_wide(out, axis);
  lines += "float results8[8]; _Pragma(\"unroll\") for (int j = 0; j < 8; ++j) { " + body.lines;
  lines += writes_wide ? "results8[j] = " + body.value + "; } OUT_STORE8(" + indices.of("OUT", out) + ", results8); }"
                       : "OUT_SET(" + indices.of("OUT", out, "j") + ", " + body.value + "); } }";
  kernel.define("STORE8(value" + indices.parameters() + ")", lines);
}

void Builder::add_vector_store(Kernel& kernel, const ExpressionRef& root, const View& out, const AxisGroups& groups,
                               std::size_t wide) const {
  add_store(kernel, root, out, groups);
  const ExpressionRef stored = as_stored(root, out.value_type());
  const std::vector<ExpressionRef> loads = loads_of(stored);
  const GroupIndices indices(kernel, out.shape, groups);
  const std::size_t axis = groups.back().front();
  const std::string lanes = std::to_string(wide);
  bool is_wide = out.type == ElementType::kF32 && out.strides[axis] == 1 && is_lane_wise(*stored);
  for (const ExpressionRef& load : loads) {
    const View& view = *load->view();
    is_wide &= !view.source && (view.strides[axis] == 0 || view.strides[axis] == 1);
  }
  const std::string name = "STORE_WIDE(value" + indices.parameters() + ")";
  if (!is_wide) {
    std::string at;
    for (std::size_t group = 0; group < groups.size(); ++group)
      at += ", (g" + std::to_string(group) + (group + 1 == groups.size() ? " + lane)" : ")");
    kernel.define(name, "{ float lanes[" + lanes + "]; vstore" + lanes +
                            "(value, 0, lanes); for (int lane = 0; lane < " + lanes + "; ++lane) STORE(lanes[lane]" +
                            at + "); }");
    return;
  }
  const Statements body = statements(
      stored,
      [&](std::size_t i) {
        const View& view = *loads[i]->view();
        const std::string load = load_name(i), at = indices.of(load, view);
        return view.strides[axis] == 0 ? "(float" + lanes + ")(" + load + "(" + at + "))"
                                       : "vload" + lanes + "(0, " + load + "_p + (" + at + "))";
      },
      "(value)", lanes);
  kernel.define(name, "{ " + indices.lines() + body.lines + "vstore" + lanes + "(" + body.value + ", 0, OUT_p + (" +
                          indices.of("OUT", out) + ")); }");
}

}  // namespace tenon::inline v1::gpu_device
