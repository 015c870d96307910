// SPDX-License-Identifier: Apache-2.0
// tenon matrix: tests which pairs of contexts really share memory on this machine, and what a map costs.
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/core/host.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/shared/known_contexts.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

struct MatrixOptions {
  std::vector<std::string> only;
  bool json = false, list = false, markdown = false;
};

struct Pair {
  std::size_t from, to;  ///< Indices into Matrix::names.
  ProofResult proof;
};
struct Matrix {
  std::vector<std::string> names;
  std::vector<Pair> pairs;
};

std::string in_ns(double ns) {
  if (ns <= 0) return "";
  return ns < 10000 ? fmt::format("{:.0f} ns", ns) : fmt::format("{:.1f} us", ns / 1000);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Tests every pair. On a terminal it shows a counter, since many contexts take a while.
Matrix measure(const std::vector<std::string>& only) {
  Router router;
  add_known_contexts(router);
  std::vector<Context> chosen;
  for (const std::string& name : only) chosen.push_back(find_context(router, name));
  if (only.empty()) chosen = router.contexts();
  Matrix matrix;
  for (const Context& context : chosen) matrix.names.emplace_back(context->name());
  const std::size_t total = chosen.size() * (chosen.size() - 1);
  const bool shows_progress = ::isatty(STDERR_FILENO) != 0;
  for (std::size_t from = 0; from < chosen.size(); ++from) {
    for (std::size_t to = 0; to < chosen.size(); ++to) {
      if (from == to) continue;
      if (shows_progress) fmt::print(stderr, "\r{}/{} pairs", matrix.pairs.size() + 1, total);
      // Host memory has a descriptor only when frameworks/cpu makes it.
      matrix.pairs.push_back({from, to,
                              chosen[from] == host_context()
                                  ? prove(router, chosen[from], chosen[to], 1 << 20, &cpu::allocate_memory)
                                  : prove(router, chosen[from], chosen[to])});
    }
  }
  if (shows_progress) fmt::print(stderr, "\r\033[K");
  return matrix;
}

void print_json(const Matrix& matrix) {
  nlohmann::json pairs = nlohmann::json::array();
  for (const auto& [from, to, proof] : matrix.pairs) {
    pairs.push_back({{"from", matrix.names[from]},
                     {"to", matrix.names[to]},
                     {"result", name(proof.proof)},
                     {"reason", proof.reason},
                     {"first_ns", proof.first_ns},
                     {"repeat_ns", proof.repeat_ns},
                     {"edges", proof.edges}});
  }
  nlohmann::json absent = nlohmann::json::array();
  for (const AbsentFramework& framework : known_contexts().absent) {
    absent.push_back({{"framework", framework.name}, {"reason", framework.reason}, {"loads", framework.loads}});
  }
  fmt::print("{}",
             json_text(nlohmann::json{{"pairs", pairs}, {"absent", absent}, {"frameworks", known_contexts().names}}));
}

void print_list(const Matrix& matrix) {
  std::vector<std::vector<std::string>> rows{{"from", "to", "result", "first map", "repeated", "way or reason"}};
  for (const auto& [from, to, proof] : matrix.pairs) {
    std::string way;
    for (const std::string& edge : proof.edges) way += (way.empty() ? "" : ", ") + edge;
    rows.push_back({matrix.names[from], matrix.names[to], std::string(name(proof.proof)), in_ns(proof.first_ns),
                    in_ns(proof.repeat_ns), proof.reason.empty() ? way : first_line(proof.reason)});
  }
  fmt::print("{}", text_table(rows));
}

/// A cell, for example "= 40 ns": a sign for the result, and the time of a repeated map.
std::string cell(const ProofResult& proof) {
  constexpr std::string_view signs[] = {"=", "~", "c", "-"};
  const std::string sign(signs[static_cast<std::size_t>(proof.proof)]);
  return proof.proof == Proof::kRefused ? sign : sign + " " + in_ns(proof.repeat_ns);
}

/// The grid: rows are the contexts that memory comes from, columns those that it goes to. Columns have the numbers of the
/// rows, so that many contexts fit on a screen.
std::vector<std::vector<std::string>> grid(const Matrix& matrix) {
  std::vector<std::vector<std::string>> rows{{"from \\ to"}};
  for (std::size_t i = 0; i < matrix.names.size(); ++i) {
    rows.front().push_back(std::to_string(i + 1));
    rows.push_back({std::to_string(i + 1) + " " + matrix.names[i]});
    rows.back().resize(matrix.names.size() + 1);
  }
  for (const auto& [from, to, proof] : matrix.pairs) rows[from + 1][to + 1] = cell(proof);
  return rows;
}

constexpr const char* kLegend =
    "=  shares, proved: written through one side and read through the other, here and now\n"
    "~  shares according to the API; it cannot be tested\n"
    "c  copies\n"
    "-  refused\n"
    "Times are of a repeated map of 1 MiB.";

void print_grid(const Matrix& matrix) {
  fmt::print("{}\n{}\n`tenon matrix --list` has first maps, ways and reasons.\n", text_table(grid(matrix)), kLegend);
}

void print_markdown(const Matrix& matrix) {
  const auto rows = grid(matrix);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    fmt::print("|");
    for (const std::string& text : rows[r]) fmt::print(" {} |", text);
    fmt::print("\n");
    if (r != 0) continue;
    fmt::print("|");
    for (std::size_t i = 0; i < rows[r].size(); ++i) fmt::print("---|");
    fmt::print("\n");
  }
}

void show_matrix(const MatrixOptions& options) {
  const Matrix matrix = measure(options.only);
  if (options.json) return print_json(matrix);
  for (const AbsentFramework& framework : known_contexts().absent) {
    fmt::print(stderr, "{} is absent: {}\n", framework.name, framework.reason);
  }
  if (options.list) return print_list(matrix);
  if (options.markdown) return print_markdown(matrix);
  print_grid(matrix);
}

}  // namespace

void add_matrix(CLI::App& app) {
  auto* command = app.add_subcommand("matrix", "Test which pairs of frameworks truly share memory on this machine");
  auto options = std::make_shared<MatrixOptions>();
  command->add_option("contexts", options->only, "Only these contexts, by name or kind of memory");
  auto* json =
      command->add_flag("--json", options->json,
                        "Print {pairs: [{from, to, result, reason, first_ns, repeat_ns}], absent: [{framework, "
                        "reason, loads}], frameworks: {name: [context]}}");
  auto* list = command->add_flag("--list", options->list, "Print a line for each pair, with its way or the reason");
  auto* markdown = command->add_flag("--markdown", options->markdown, "Print the grid as a Markdown table");
  list->excludes(json);
  markdown->excludes(json)->excludes(list);
  command->callback([options] { show_matrix(*options); });
}

}  // namespace tenon::tool
