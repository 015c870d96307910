// SPDX-License-Identifier: Apache-2.0
// Writes DOT text, and runs dot to lay it out.
#include <tenon/tools/tenon/show/models/graph_dot.hpp>

#include <cstdlib>
#include <map>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/graph/exec_model_info.hpp>

#include <tenon/tools/tenon/show/models/executed_steps.hpp>
#include <tenon/tools/tenon/show/text/progress.hpp>

extern char** environ;

namespace tenon::tool {
namespace {

namespace info = exec_model_info;

/// Escapes a text for a DOT string.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter == '\n' || letter == '\r' ? ' ' : letter;
  }
  return result;
}

std::string port_text(const Node& node, std::size_t index) {
  return std::string(name(node.get_output_element_type(index))) + " " +
         node.get_output_partial_shape(index).to_string();
}

bool is_drawn(const Node& node) { return !as_type<op::v0::Constant>(&node); }

const char* colour_of(const Node& node, bool highlighted) {
  if (highlighted) return "palegreen";
  if (is_op(&node, "Parameter")) return "lightskyblue";
  if (is_op(&node, "Result")) return "lightsalmon";
  if (step_note(node, info::LAYER_TYPE) == "Reorder") return "gold";
  if (step_note(node, info::IMPL_TYPE) == "reference") return "lightpink";
  return "white";
}

/// The lines of a step: its kernel, its layouts, and the bytes that it moves.
std::string label_of_step(const Node& node) {
  std::string label = escaped(step_note(node, info::LAYER_TYPE)) + "\\n" + escaped(node.get_friendly_name());
  if (const std::string kernel = step_note(node, info::IMPL_TYPE); kernel != "none") label += "\\n" + escaped(kernel);
  for (std::size_t i = 0; i < node.get_output_size(); ++i) label += "\\n-> " + escaped(port_text(node, i));
  label += "\\n" + escaped(step_note(node, info::OUTPUT_LAYOUTS));
  const auto bytes = [&](const char* what, const char* key) {
    const double count = std::stod(step_note(node, key));
    if (count > 0) label += std::string("\\n") + what + " " + in_bytes(count);
  };
  bytes("reads", info::BYTES_READ);
  bytes("writes", info::BYTES_WRITTEN);
  bytes("weights", info::WEIGHT_BYTES);
  if (const std::string count = step_note(node, info::MULTIPLY_ADDS); !count.empty())
    label += "\\n" + fmt::format("{:.1f} M mul-adds", std::stod(count) / 1e6);
  if (const std::string time = step_note(node, info::PERF_COUNTER); time != info::kNotExecuted)
    label += "\\n" + time + " us";
  return label;
}

std::string label_of(const Node& node) {
  if (!step_note(node, info::LAYER_TYPE).empty()) return label_of_step(node);
  std::string label = escaped(node.get_type_name()) + "\\n" + escaped(node.get_friendly_name());
  for (std::size_t i = 0; i < node.get_output_size(); ++i) label += "\\n-> " + escaped(port_text(node, i));
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    const Node* source = node.get_input_node_ptr(i);
    if (!is_drawn(*source)) label += "\\n" + std::to_string(i) + ": constant " + escaped(port_text(*source, 0));
  }
  return label;
}

/// The path of the program with that name on the PATH; empty if there is none.
std::string program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string folders = path ? path : "";
  folders += ":";
  for (std::size_t begin = 0, end; (end = folders.find(':', begin)) != std::string::npos; begin = end + 1) {
    const std::string candidate = folders.substr(begin, end - begin) + "/" + name;
    if (end > begin && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace

std::string dot_of(const Model& model, const std::string& title, const std::set<std::string>& highlighted) {
  std::string text =
      "digraph model {\n  label=\"" + escaped(title) +
      "\"; labelloc=t; node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=10];\n";
  std::map<const Node*, std::size_t> numbers;
  const NodeVector nodes = model.get_ordered_ops();
  for (const auto& node : nodes) numbers[node.get()] = numbers.size();
  for (const auto& node : nodes) {
    if (!is_drawn(*node)) continue;
    const std::string id = "n" + std::to_string(numbers[node.get()]);
    text += "  " + id + " [label=\"" + label_of(*node) +
            "\", fillcolor=" + colour_of(*node, highlighted.count(node->get_friendly_name()) != 0) + "];\n";
    for (std::size_t i = 0; i < node->get_input_size(); ++i) {
      const Node* source = node->get_input_node_ptr(i);
      if (is_drawn(*source)) text += "  n" + std::to_string(numbers[source]) + " -> " + id + ";\n";
    }
  }
  return text + "}\n";
}

bool draw(const std::filesystem::path& dot_file, const std::filesystem::path& svg_file, std::chrono::seconds limit) {
  const std::string dot = program("dot"), input = dot_file.string(), output = svg_file.string();
  if (dot.empty()) return false;
  std::string name = "dot", format = "-Tsvg", to = "-o";
  char* arguments[] = {
      name.data(), format.data(), const_cast<char*>(input.c_str()), to.data(), const_cast<char*>(output.c_str()),
      nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Hides dot's warnings about fonts that are not installed.
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, dot.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure) return false;
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      std::error_code ignored;
      std::filesystem::remove(svg_file, ignored);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool can_draw() {
  static const bool works = [] {
    if (program("dot").empty()) return false;
    std::error_code ignored;
    // A folder of its own: no other user of the temporary folder can have put a link at these names.
    std::string folder = (std::filesystem::temp_directory_path(ignored) / "tenon_dot_XXXXXX").string();
    if (!::mkdtemp(folder.data())) return false;
    const std::string base = folder + "/try";
    constexpr std::string_view kTry = "digraph { a -> b; }\n";
    const bool wrote = [&] {
      try {
        NewFile file(base + ".dot", 0600, Durability::kProcess);
        file.write(kTry.data(), kTry.size());
        file.commit();
        return true;
      } catch (const Error&) {
        return false;  // What cannot be written cannot be drawn.
      }
    }();
    const bool drew = wrote && draw(base + ".dot", base + ".svg", std::chrono::seconds(30)) &&
                      std::filesystem::file_size(base + ".svg", ignored) > 0 && !ignored;
    std::filesystem::remove_all(folder, ignored);
    return drew;
  }();
  return works;
}

}  // namespace tenon::tool
