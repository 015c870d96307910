// SPDX-License-Identifier: Apache-2.0
// A function of the loaded values, and where these lie.
#include <tenon/devices/gpu/program/tree_source.hpp>

#include <algorithm>
#include <cstdint>

#include <tenon/devices/gpu/program/indexing.hpp>
#include <tenon/devices/gpu/program/kernel.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

constexpr std::size_t kMostFunctions = 12, kMostLoads = 4, kShortList = 16;

/// Elements that the view has in memory, not counting repetitions.
std::size_t distinct_elements(const View& view) {
  std::size_t count = 1;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis)
    if (view.strides[axis] != 0) count *= view.shape[axis];
  return count;
}

bool is_cheap_load(const View& view) { return distinct_elements(view) <= kShortList || size_bytes(view.type) == 1; }

bool has_cheap_loads(const Expression& at, bool& has_picture) {
  if (at.view()) {
    has_picture |= size_bytes(at.view()->type) == 1;
    return is_cheap_load(*at.view());
  }
  return std::all_of(at.operands().begin(), at.operands().end(),
                     [&](const ExpressionRef& operand) { return has_cheap_loads(*operand, has_picture); });
}

}  // namespace

bool TreeSource::is_cheap(const Expression& root) {
  bool has_picture = false;
  return root.size() <= kMostFunctions && root.loads() <= kMostLoads && !root.has_computed() &&
         has_cheap_loads(root, has_picture) && has_picture;
}

const View* TreeSource::converted() const {
  if (!info(root_->type()).is_real || root_->operands().size() != 1) return nullptr;
  const View* const view = root_->operands().front()->view();
  const bool is_bytes = view && view->type == ElementType::kU8;
  return is_bytes && root_->text() == convert_text(view->type, root_->type(), "$0") ? view : nullptr;
}

void TreeSource::define(Kernel& kernel, const std::string& name) const {
  const std::vector<ExpressionRef> loads = loads_of(root_);
  std::vector<const View*> views;
  for (const auto& load : loads) views.push_back(load->view());
  const Walk walk = collapse(shape_, views);
  const std::vector<std::string> at = coordinate_texts(kernel, walk, name + "_", "(i)");
  std::string declared, given;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const std::string load = name + "_" + std::to_string(i);
    kernel.reads(load, *views[i]);
    declared += std::string(i ? ", " : "") + "const " + compute_name(loads[i]->type()) + " v" + std::to_string(i);
    given += (i ? ", " : "") + load + "(" + index_text(kernel, load, walk.strides[i], at) + ")";
  }
  const Statements body = statements(
      root_, [](std::size_t i) { return "v" + std::to_string(i); }, "0");
  const std::string function = std::string(Kernel::kName) + "_" + name;
  kernel.helper("inline " + std::string(compute_name(root_->type())) + " " + function + "(" + declared + ") {\n  " +
                body.lines + "return " + body.value + ";\n}\n");
  kernel.define(name + "(i)", function + "(" + given + ")");
}

void JoinedSource::define(Kernel& kernel, const std::string& name) const {
  std::size_t inner = 1, extent = 0;
  for (std::size_t axis = axis_ + 1; axis < parts_[0].shape.size(); ++axis) inner *= parts_[0].shape[axis];
  for (const Part& part : parts_) extent += part.shape[axis_];
  const auto number = [&](const std::string& of, std::size_t value) {
    kernel.number(name + of, static_cast<std::int64_t>(value));
    return name + of;
  };
  // Rows along the axis with what is within: of the whole, and of each part.
  const std::string whole = number("_row", extent * inner);
  std::string text;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::string part = name + "_part" + std::to_string(i);
    TreeSource(parts_[i].root, parts_[i].shape, {}).define(kernel, part);
    const std::size_t row = parts_[i].shape[axis_] * inner;
    std::string place = "(i) / " + whole + " * " + number("_row" + std::to_string(i), row) + " + (i) % " + whole;
    if (begin > 0) place += " - " + number("_begin" + std::to_string(i), begin);
    begin += row;
    const std::string value = part + "(" + place + ")";
    text += i + 1 == parts_.size()
                ? value
                : "(i) % " + whole + " < " + number("_end" + std::to_string(i), begin) + " ? " + value + " : ";
  }
  kernel.define(name + "(i)", "(" + text + ")");
}

}  // namespace tenon::inline v1::gpu_device
