// SPDX-License-Identifier: Apache-2.0
// Views, trees of expressions, and their texts.
#include <tenon/devices/gpu/program/expression.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include <tenon/graph/operation_table.hpp>

namespace tenon::inline v1::gpu_device {

bool View::is_packed() const {
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != step) return false;
    step *= static_cast<std::int64_t>(shape[axis]);
  }
  return true;
}

std::size_t View::extent_bytes() const {
  std::size_t last = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return 0;
    last += static_cast<std::size_t>(std::max<std::int64_t>(strides[axis], 0)) * (shape[axis] - 1);
  }
  return bytes_of(type, Shape{last + 1});
}

Extents packed_strides(const Shape& shape) {
  Extents strides;
  strides.resize(shape.size());
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= static_cast<std::int64_t>(std::max<std::size_t>(shape[axis], 1));
  }
  return strides;
}

bool View::repeats() const {
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1 && strides[axis] == 0) return true;
  return false;
}

std::vector<std::size_t> axes_by_stride(const View& view) {
  std::vector<std::size_t> axes(view.shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::stable_sort(axes.begin(), axes.end(),
                   [&](std::size_t a, std::size_t b) { return view.strides[a] > view.strides[b]; });
  return axes;
}

Extents packed_as(const View& view) {
  const std::vector<std::size_t> axes = axes_by_stride(view);
  Extents strides(axes.size());
  std::int64_t step = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    strides[axes[i]] = step;
    step *= static_cast<std::int64_t>(std::max<std::size_t>(view.shape[axes[i]], 1));
  }
  return strides;
}

Extents channels_last_strides(const Shape& shape) {
  Extents strides(shape.size());
  auto step = static_cast<std::int64_t>(shape[1]);
  strides[1] = 1;
  for (std::size_t axis = shape.size(); axis-- > 2;) {
    strides[axis] = step;
    step *= static_cast<std::int64_t>(shape[axis]);
  }
  strides[0] = step;
  return strides;
}

bool is_channels_last(const View& view) {
  const std::size_t rank = view.shape.size();
  if (rank < 3 || view.shape[1] == 1 || view.strides[1] != 1) return false;
  std::int64_t step = view.strides[rank - 1];
  if (step < static_cast<std::int64_t>(view.shape[1])) return false;
  for (std::size_t axis = rank; axis-- > 2;) {
    if (view.shape[axis] > 1 && view.strides[axis] != step) return false;
    step *= static_cast<std::int64_t>(view.shape[axis]);
  }
  return view.shape[0] == 1 || view.strides[0] == step;
}

bool reshape(View& view, const Shape& shape) {
  if (view.is_packed() || element_count(shape) == 0) {
    view.strides = packed_strides(shape);
    view.shape = shape;
    return true;
  }
  // From the innermost axis on: each axis of the result takes a run of axes that lie as one.
  Shape from;
  Extents steps;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] == 1) continue;
    if (!from.empty() && steps[steps.size() - 1] == view.strides[axis] * static_cast<std::int64_t>(view.shape[axis])) {
      from[from.size() - 1] *= view.shape[axis];
      steps[steps.size() - 1] = view.strides[axis];
      continue;
    }
    from.push_back(view.shape[axis]);
    steps.push_back(view.strides[axis]);
  }
  Extents strides;
  strides.resize(shape.size());
  std::size_t run = from.size(), left = 1;
  std::int64_t step = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    if (left == 1) {
      if (run == 0) return false;
      --run;
      left = from[run];
      step = steps[run];
    }
    if (left % shape[axis] != 0) return false;
    strides[axis] = step;
    step *= static_cast<std::int64_t>(shape[axis]);
    left /= shape[axis];
  }
  if (run != 0 || left != 1) return false;
  view.shape = shape;
  view.strides = strides;
  return true;
}

View transposed(const View& view, const std::vector<std::size_t>& order) {
  View result = view;
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    result.shape[axis] = view.shape[order[axis]];
    result.strides[axis] = view.strides[order[axis]];
  }
  return result;
}

View broadcast(const View& view, const Shape& shape) {
  View result = view;
  result.shape = shape;
  result.strides.resize(0);
  const std::size_t added = shape.size() - view.shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool repeats = axis < added || view.shape[axis - added] == 1;
    result.strides.push_back(repeats ? 0 : view.strides[axis - added]);
  }
  return result;
}

ExpressionRef Expression::load(const View& view) {
  auto made = std::make_shared<Expression>();
  made->kind_ = Kind::kLoad;
  made->type_ = view.value_type();
  made->view_ = view;
  made->loads_ = 1;
  return made;
}

ExpressionRef Expression::number(ElementType type, double value) {
  auto made = std::make_shared<Expression>();
  made->kind_ = Kind::kNumber;
  made->type_ = type;
  made->text_ = literal_text(type, value);
  return made;
}

ExpressionRef Expression::computed(ElementType type, bool is_second) {
  auto made = std::make_shared<Expression>();
  made->is_second_ = is_second;
  made->kind_ = Kind::kComputed;
  made->type_ = type;
  made->has_computed_ = true;
  return made;
}

ExpressionRef Expression::call(ElementType type, std::string text, std::vector<ExpressionRef> operands) {
  auto made = std::make_shared<Expression>();
  made->type_ = type;
  made->text_ = std::move(text);
  for (const ExpressionRef& operand : operands) {
    made->size_ += operand->size_;
    made->loads_ += operand->loads_;
    made->has_computed_ |= operand->has_computed_;
  }
  made->operands_ = std::move(operands);
  return made;
}

ExpressionRef convert(const ExpressionRef& value, ElementType type) {
  if (value->type() == type) return value;
  return Expression::call(type, convert_text(value->type(), type, "$0"), {value});
}

ExpressionRef as_stored(const ExpressionRef& value, ElementType type) {
  if (std::string_view(compute_name(value->type())) == compute_name(type) && info(type).is_real) return value;
  return convert(value, type);
}

namespace {

void find_loads(const ExpressionRef& at, std::vector<ExpressionRef>& found) {
  if (at->view()) {
    if (std::find(found.begin(), found.end(), at) == found.end()) found.push_back(at);
    return;
  }
  for (const ExpressionRef& operand : at->operands()) find_loads(operand, found);
}

/// Changes what a tree begins with. Shared parts stay shared.
class LeafChange {
 public:
  /// @param change  Is given a load, a number or what was computed; null: it cannot be changed.
  explicit LeafChange(const std::function<ExpressionRef(const ExpressionRef&)>& change) : change_(change) {}
  ExpressionRef of(const ExpressionRef& at) {
    if (const auto known = made_.find(at.get()); known != made_.end()) return known->second;
    return made_[at.get()] = make(at);
  }

 private:
  ExpressionRef make(const ExpressionRef& at) {
    if (at->operands().empty()) return change_(at);
    std::vector<ExpressionRef> operands;
    for (const ExpressionRef& operand : at->operands()) {
      operands.push_back(of(operand));
      if (!operands.back()) return nullptr;
    }
    return Expression::call(at->type(), at->text(), std::move(operands));
  }

  const std::function<ExpressionRef(const ExpressionRef&)>& change_;
  std::map<const Expression*, ExpressionRef> made_;
};

/// Writes a tree's statements, each part once.
class Writer {
 public:
  Writer(const ExpressionRef& root, const std::function<std::string(std::size_t)>& load, const std::string& computed,
         const std::string& lanes)
      : loads_(loads_of(root)), load_(load), computed_(computed), lanes_(lanes) {}
  std::string write(const ExpressionRef& at) {
    if (const auto known = names_.find(at.get()); known != names_.end()) return known->second;
    if (at->is_computed()) return at->is_second() ? "second" : computed_;
    std::string text;
    if (at->view()) {
      text = load_(static_cast<std::size_t>(std::find(loads_.begin(), loads_.end(), at) - loads_.begin()));
    } else if (at->operands().empty()) {
      return at->text();  // A number.
    } else {
      std::vector<std::string> operands;
      for (const ExpressionRef& operand : at->operands()) operands.push_back(write(operand));
      const std::string& pattern = at->text();
      for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '$')
          text += operands.at(static_cast<std::size_t>(pattern[++i] - '0'));
        else
          text += pattern[i];
      }
    }
    const std::string name = "t" + std::to_string(names_.size());
    lines += std::string("const ") + compute_name(at->type()) + lanes_ + " " + name + " = " + text + "; ";
    return names_[at.get()] = name;
  }
  std::string lines;

 private:
  std::vector<ExpressionRef> loads_;
  const std::function<std::string(std::size_t)>& load_;
  const std::string& computed_;
  const std::string& lanes_;
  std::map<const Expression*, std::string> names_;
};

}  // namespace

ExpressionRef with_views(const ExpressionRef& root, const std::function<bool(View&)>& change) {
  const std::function<ExpressionRef(const ExpressionRef&)> change_leaf = [&](const ExpressionRef& at) {
    if (!at->view()) return at;
    View view = *at->view();
    return change(view) ? Expression::load(view) : nullptr;
  };
  return LeafChange(change_leaf).of(root);
}

const View* loaded_view(const ExpressionRef& root) {
  if (root->view()) return root->view();
  const View* const view = root->operands().size() == 1 ? root->operands().front()->view() : nullptr;
  const bool is_converted = view && info(view->type).is_real && info(root->type()).is_real &&
                            root->text() == convert_text(view->value_type(), root->type(), "$0");
  return is_converted ? view : nullptr;
}

ExpressionRef of_second(const ExpressionRef& root) {
  const std::function<ExpressionRef(const ExpressionRef&)> change = [](const ExpressionRef& at) {
    return at->is_computed() ? Expression::computed(at->type(), true) : at;
  };
  return LeafChange(change).of(root);
}

std::vector<ExpressionRef> loads_of(const ExpressionRef& root) {
  std::vector<ExpressionRef> found;
  find_loads(root, found);
  return found;
}

Statements statements(const ExpressionRef& root, const std::function<std::string(std::size_t)>& load,
                      const std::string& computed, const std::string& lanes) {
  Writer writer(root, load, computed, lanes);
  std::string value = writer.write(root);
  return {std::move(writer.lines), std::move(value)};
}

namespace {

/// Functions of reals where the table's expression is inexact or overflows, or where what the device has for it may do so.
std::string real_text(std::string_view name, ElementType type) {
  const std::string wide = type == ElementType::kF64 ? "_64" : "";
  if (name == "Abs") return "fabs($0)";  // Also where x is -0.
  if (name == "Tanh") return "tn_tanh" + wide + "($0)";
  if (name == "FloorMod") return "floor_mod" + wide + "($0, $1)";
  if (name == "HSwish") return "($0 * (tn_min(tn_max($0 + 3, 0), 6) / 6))";
  return {};
}

/// Integers wrap, as the CPU's do: computed without a sign, because overflow is undefined otherwise.
std::string wrapping_text(std::string_view name, ElementType type) {
  const std::string u = info(type).bits == 64 ? "(ulong)" : "(uint)",
                    cast = std::string("(") + compute_name(type) + ")";
  if (name == "Add") return "(" + cast + "(" + u + "$0 + " + u + "$1))";
  if (name == "Subtract") return "(" + cast + "(" + u + "$0 - " + u + "$1))";
  if (name == "Multiply") return "(" + cast + "(" + u + "$0 * " + u + "$1))";
  if (name == "SquaredDifference") return "(" + cast + "((" + u + "$0 - " + u + "$1) * (" + u + "$0 - " + u + "$1)))";
  if (name == "Negative") return "(" + cast + "(0 - " + u + "$0))";
  if (name == "Abs" && info(type).is_signed) return "($0 < 0 ? " + cast + "(0 - " + u + "$0) : $0)";
  return {};
}

/// Functions of integers that the table's expression does not give.
std::string integer_text(const Node& node, ElementType type) {
  const std::string_view name = node.get_type_name();
  const bool is_signed = info(type).is_signed;
  if (std::string text = wrapping_text(name, type); !text.empty()) return text;
  // All bits are out after as many steps as there are, or, of a negative shift, at once; OpenCL counts steps modulo the width.
  const std::string bits = std::to_string(info(type).bits), is_out = "((ulong)$1 >= " + bits + " ? ";
  if (name == "BitwiseLeftShift") return is_out + "0 : $0 << $1)";
  if (name == "BitwiseRightShift")
    return is_out + (is_signed ? "$0 >> " + std::to_string(info(type).bits - 1) : "0") + " : $0 >> $1)";
  if (name == "Divide") {
    if (!is_signed) return "divide_u($0, $1)";
    return node.get_attributes().get_bool("m_pythondiv") ? "floor_divide($0, $1)" : "divide($0, $1)";
  }
  if (name == "Mod") return is_signed ? "remainder_of($0, $1)" : "remainder_u($0, $1)";
  if (name == "FloorMod") return is_signed ? "floor_remainder($0, $1)" : "remainder_u($0, $1)";
  if (name == "Power") return is_signed ? "power($0, $1)" : "power_u($0, $1)";
  if (name == "Floor" || name == "Ceiling") return "$0";
  if (name == "Abs" && !is_signed) return "$0";
  if (name == "Sign") return is_signed ? "(($0 > 0) - ($0 < 0))" : "($0 > 0)";
  return {};
}

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

bool is_lane_wise(const Expression& root) {
  if (root.type() != ElementType::kF32) return false;
  if (root.view()) return root.view()->type == ElementType::kF32;
  if (root.is_computed()) return true;
  // Comparisons give -1 in vectors, and 1 else; casts have a width.
  static const std::set<std::string_view> functions = {"tn_max", "tn_min", "tn_greater", "tn_lesser", "exp", "log",
                                                       "sqrt",   "rsqrt",  "tn_tanh",    "tanh",      "erf", "fabs"};
  const std::string& text = root.text();
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && (is_name(text[end]) || text[end] == '.')) ++end;
    if (end == i) {
      if (std::string_view(" ()+-*/,$").find(text[i++]) == std::string_view::npos) return false;
      continue;
    }
    const std::string_view word(text.data() + i, end - i);
    if (!std::isdigit(static_cast<unsigned char>(word[0])) && !functions.count(word)) return false;
    i = end;
  }
  return std::all_of(root.operands().begin(), root.operands().end(),
                     [](const ExpressionRef& operand) { return is_lane_wise(*operand); });
}

std::string expression_text(const Node& node, ElementType type) {
  const std::string& source = node.operation().expression;
  if (source.empty()) return {};
  const bool is_real = info(type).is_real;
  const std::string_view name = node.get_type_name();
  if (name == "Maximum") return is_real ? "tn_greater($0, $1)" : "tn_max($0, $1)";
  if (name == "Minimum") return is_real ? "tn_lesser($0, $1)" : "tn_min($0, $1)";
  if (type != ElementType::kBool) {
    std::string special = is_real ? real_text(name, type) : integer_text(node, type);
    if (!special.empty()) return special;
  }
  static const std::map<std::string, std::string, std::less<>> functions = {
      {"max", "tn_max"}, {"min", "tn_min"}, {"abs", "tn_abs"}, {"sign", "tn_sign"}};
  std::vector<double> numbers;  // a, b...
  for (const auto& attribute : node.operation().attributes) {
    if (attribute.kind != AttributeKind::kDouble) continue;
    const double number = node.get_attributes().get_double(attribute.name);
    // Bounds of integers are integers between them.
    numbers.push_back(is_real || name != "Clamp" ? number : numbers.empty() ? std::ceil(number) : std::floor(number));
  }
  std::string text;
  for (std::size_t i = 0; i < source.size();) {
    std::size_t end = i;
    while (end < source.size() && (is_name(source[end]) || source[end] == '.')) ++end;
    if (end == i) {
      text += source[i++];
      continue;
    }
    const std::string word = source.substr(i, end - i);
    i = end;
    if (word.size() == 1 && word[0] >= 'x' && word[0] <= 'z') {
      text += "$" + std::to_string(word[0] - 'x');
    } else if (word.size() == 1 && word[0] >= 'a' && word[0] < 'x') {
      const double number = numbers.at(static_cast<std::size_t>(word[0] - 'a'));
      text += literal_text(type, number);
    } else if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      text += word.find('.') == word.npos ? word : literal_text(type, std::stod(word));
    } else if (const auto known = functions.find(word); known != functions.end()) {
      text += known->second;
    } else {
      // Functions of reals only.
      if (!is_real) return {};
      text += word;
    }
  }
  return "(" + text + ")";
}

}  // namespace tenon::inline v1::gpu_device
