// SPDX-License-Identifier: Apache-2.0
// The text that operator<< prints.
#include <algorithm>
#include <functional>
#include <sstream>

#include <tenon/runtime/preprocess/internal/steps.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {
namespace detail {
namespace {

void print(std::ostream& out, const Output<Node>& node, const Layout& layout,
           ColorFormat colour = ColorFormat::UNDEFINED) {
  out << node.get_partial_shape() << ", " << (layout.empty() ? "<no layout>" : layout.to_string()) << ", "
      << node.get_element_type();
  if (colour != ColorFormat::UNDEFINED) out << ", " << color_format_name(colour);
}

std::string joined(const std::unordered_set<std::string>& names) {
  std::vector<std::string> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (const std::string& name : sorted) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Prints steps as they run. The number of implicit ones is known only at the end: their lines are kept until then.
class Lines {
 public:
  Lines(std::ostream& out, const char* title, const char* implicit_title, std::size_t count, const StepContext& context)
      : out_(out), implicit_title_(implicit_title), context_(context) {
    if (count > 0) out << "    " << title << " (" << count << "):\n";
  }
  void operator()(const Step& step, bool implicit, const Output<Node>& before, const StepContext& context_before,
                  const Output<Node>& after) {
    std::ostringstream line;
    line << "      " << step.name << ": (";
    print(line, before, context_before.layout, context_before.colour);
    line << ") -> (";
    print(line, after, context_.layout, context_.colour);
    line << ")\n";
    if (!implicit) {
      out_ << line.str();
    } else {
      kept_ += line.str();
      ++implicit_;
    }
  }
  void finish() {
    if (implicit_ > 0) out_ << "    " << implicit_title_ << " (" << implicit_ << "):\n" << kept_;
  }

 private:
  std::ostream& out_;
  const char* implicit_title_;
  const StepContext& context_;
  std::string kept_;
  std::size_t implicit_ = 0;
};

}  // namespace

void describe_input(std::ostream& out, const InputPlan& plan, const Model& model) {
  InputBuild build(plan, model);
  const Output<Node> old = plan.parameter->output(0);
  const bool plain = build.nodes.size() == 1 && build.nodes[0].get_partial_shape() == old.get_partial_shape() &&
                     plan.parameter->get_layout() == build.context.target_layout &&
                     build.nodes[0].get_element_type() == old.get_element_type() && !plan.memory_type &&
                     plan.steps.empty();
  if (plain) return;
  out << "Input ";
  if (!old.get_names().empty()) out << "\"" << old.get_any_name() << "\"";
  if (plan.colour != ColorFormat::UNDEFINED) out << " (color " << color_format_name(plan.colour) << ")";
  if (plan.memory_type) out << " memory type=" << *plan.memory_type;
  out << ":\n";
  if (build.nodes.size() == 1) {
    out << "    User's input tensor: ";
    print(out, build.nodes[0], build.context.layout);
    out << "\n";
  } else {
    out << "    " << build.nodes.size() << " user's tensors expected for each plane:\n";
    for (std::size_t i = 0; i < build.nodes.size(); ++i) {
      out << "       " << i << ": ";
      if (!build.nodes[i].get_names().empty()) out << build.nodes[i].get_any_name() << " ";
      print(out, build.nodes[i], build.context.layout);
      out << "\n";
    }
  }
  out << "    Model's expected tensor: ";
  print(out, old, build.context.target_layout);
  out << "\n";
  Lines lines(out, "Pre-processing steps", "Implicit pre-processing steps", plan.steps.size(), build.context);
  build.run(std::ref(lines));
  lines.finish();
}

void describe_output(std::ostream& out, const OutputPlan& plan) {
  OutputBuild build(plan);
  const Output<Node> old = build.node;
  const bool plain = (!plan.tensor_layout || *plan.tensor_layout == build.context.layout) &&
                     (!plan.type || *plan.type == old.get_element_type()) && plan.steps.empty();
  if (plain) return;
  out << "Output ";
  if (!old.get_names().empty()) out << "\"" << joined(old.get_names()) << "\"";
  out << ":\n    Model's data tensor: ";
  print(out, old, build.context.layout);
  out << "\n";
  Lines lines(out, "Post-processing steps", "Post-processing implicit steps", plan.steps.size(), build.context);
  build.run(std::ref(lines));
  lines.finish();
  out << "    User's output tensor: ";
  print(out, build.node, build.context.layout);
  out << "\n";
}

}  // namespace detail
}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
