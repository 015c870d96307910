// SPDX-License-Identifier: Apache-2.0
// tenon migrate: what a project for OpenVINO or for DL Streamer's interop uses, what Tenon has of it, and the lines to change.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/migrate/known.hpp>
#include <tenon/tools/tenon/migrate/scan.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace migrate {
namespace {

namespace fs = std::filesystem;

constexpr int kAbsent = 1, kUnreadable = 77;

struct MigrateOptions {
  std::vector<std::string> paths;
  bool json = false, all = false;
};

const char* text_of(Verdict verdict) {
  return verdict == Verdict::kThere ? "there" : verdict == Verdict::kDiffers ? "differs" : "absent";
}
std::string counted(std::size_t count, const std::string& one, const std::string& several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

/// The installation that this program is in; "<prefix>" for a build tree, whose places no other project should know.
std::string with_places(std::string text) {
  std::error_code failed;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", failed).parent_path().parent_path();
  const bool installed = !failed && !fs::exists(prefix / "CMakeCache.txt", failed);
  const std::string where = installed ? prefix.string() : "<prefix>";
  const std::string libdir = where + "/" TENON_INSTALL_LIBDIR;
  const auto replace = [&](const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
  };
  replace("@prefix@", where);
  replace("@libdir@", libdir);
  return text;
}

nlohmann::json json_of(const Found& found) {
  nlohmann::json uses = nlohmann::json::array(), lines = nlohmann::json::array(), build = nlohmann::json::array();
  for (const auto& [key, use] : found.uses) {
    nlohmann::json each{{"kind", key.first},  {"name", key.second}, {"state", text_of(use.verdict)},
                        {"count", use.count}, {"file", use.file},   {"line", use.line}};
    if (!use.reason.empty()) each["reason"] = use.reason;
    if (!use.instead.empty()) each["instead"] = use.instead;
    uses.push_back(each);
  }
  for (const Line& line : found.known->use) lines.push_back({{"what", line.what}, {"line", with_places(line.text)}});
  for (const BuildLine& line : found.lines)
    build.push_back({{"file", line.file}, {"line", line.line}, {"text", line.text}});
  return {{"api", found.known->api},   {"title", found.known->title},
          {"page", found.known->page}, {"uses", uses},
          {"change", lines},           {"build", build}};
}

std::size_t count_of(const Found& found, Verdict verdict) {
  std::size_t count = 0;
  for (const auto& [key, use] : found.uses) count += use.verdict == verdict;
  return count;
}

void print_rows(const Found& found, Verdict verdict, const char* heading) {
  std::vector<std::vector<std::string>> rows{
      {heading, "name", "uses", "where", verdict == Verdict::kThere ? "" : "why, and what to do"}};
  for (const auto& [key, use] : found.uses) {
    if (use.verdict != verdict) continue;
    rows.push_back({key.first, key.second, std::to_string(use.count), use.file + ":" + std::to_string(use.line),
                    use.reason + (use.instead.empty() ? "" : ": " + use.instead)});
  }
  if (rows.size() > 1) fmt::print("\n{}", text_table(rows));
}

void print(const Found& found, bool all) {
  std::map<std::string, std::size_t> kinds;
  for (const auto& [key, use] : found.uses) ++kinds[key.first];
  std::string what;
  const std::pair<const char*, std::pair<const char*, const char*>> words[] = {
      {"header", {"header", "headers"}},
      {"class", {"class or type", "classes and types"}},
      {"value", {"enumerator", "enumerators"}},
      {"function", {"function", "functions"}},
      {"property", {"property", "properties"}},
      {"macro", {"macro", "macros"}},
      {"build", {"build argument", "build arguments"}}};
  for (const auto& [kind, names] : words)
    if (kinds[kind]) what += (what.empty() ? "" : ", ") + counted(kinds[kind], names.first, names.second);
  const std::size_t absent = count_of(found, Verdict::kAbsent), differs = count_of(found, Verdict::kDiffers);
  fmt::print("{}: {}. {} there, {} there and different, {} absent.\n", found.known->title, what,
             count_of(found, Verdict::kThere), differs, absent);
  if (all) print_rows(found, Verdict::kThere, "there");
  print_rows(found, Verdict::kDiffers, "differs");
  print_rows(found, Verdict::kAbsent, "absent");
  if (!found.lines.empty()) {
    fmt::print("\nThese lines stay:\n");
    for (const BuildLine& line : found.lines) fmt::print("  {}:{}: {}\n", line.file, line.line, line.text);
  }
  fmt::print("\n{} change:\n", found.lines.empty() ? "The include path and the link line" : "Where they look");
  std::size_t width = 0;
  for (const Line& line : found.known->use) width = std::max(width, line.what.size());
  for (const Line& line : found.known->use) fmt::print("  {:<{}}  {}\n", line.what, width, with_places(line.text));
  fmt::print("{} says more.\n\n", found.known->page);
}

void run(const MigrateOptions& options) {
  if (known().empty()) {
    throw Error(
        Code::kUnavailable,
        "this build of Tenon has none of the folders compat/openvino and compat/dlstreamer, which know these APIs");
  }
  const Report report = scan({options.paths.begin(), options.paths.end()}, known());
  if (report.files == 0 && report.failed.empty()) {
    std::string why =
        report.skipped.empty() ? "" : "; skipped: " + report.skipped[0].path + ": " + report.skipped[0].reason;
    throw Error(Code::kInvalidArgument, "no source of C or C++ and no CMake file in " + options.paths[0] + why);
  }
  bool absent = false, used = false;
  nlohmann::json apis = nlohmann::json::array();
  for (const Found& found : report.found) {
    if (found.uses.empty()) continue;
    used = true;
    absent |= count_of(found, Verdict::kAbsent) > 0;
    if (options.json)
      apis.push_back(json_of(found));
    else
      print(found, options.all);
  }
  if (options.json) {
    const auto list = [](const std::vector<Unread>& unread) {
      nlohmann::json result = nlohmann::json::array();
      for (const Unread& each : unread) result.push_back({{"path", each.path}, {"reason", each.reason}});
      return result;
    };
    fmt::print("{}", json_text(nlohmann::json{{"files", report.files},
                                              {"skipped", list(report.skipped)},
                                              {"failed", list(report.failed)},
                                              {"apis", apis}}));
  } else {
    if (!used) fmt::print("None of the APIs that Tenon has headers for is used.\n");
    fmt::print("{} read, {} skipped.\n", counted(report.files, "file", "files"), report.skipped.size());
    for (std::size_t i = 0; i < report.skipped.size() && i < 20; ++i)
      fmt::print("  skipped {}: {}\n", report.skipped[i].path, report.skipped[i].reason);
  }
  for (const Unread& each : report.failed)
    std::fprintf(stderr, "tenon: %s: %s\n", each.path.c_str(), each.reason.c_str());
  if (!report.failed.empty()) throw CLI::RuntimeError(kUnreadable);
  if (absent) throw CLI::RuntimeError(kAbsent);
}

}  // namespace
}  // namespace migrate

void add_migrate(CLI::App& app) {
  auto* command = app.add_subcommand(
      "migrate", "What a project for OpenVINO or DL Streamer's interop uses, and what to change to build it on Tenon");
  auto options = std::make_shared<migrate::MigrateOptions>();
  command->add_option("path", options->paths, "Sources of C and C++, CMake files, or folders with them")
      ->type_name(kSourceFile)
      ->required();
  command->add_flag("--all", options->all, "List what is there, too, not only what differs or is absent");
  command->add_flag("--json", options->json, "Print JSON, with each name and the first place that uses it");
  command->footer(
      "\nReads text and compiles nothing: it finds includes, names in the API's namespace, C functions, calls of "
      "methods by their\n"
      "names, texts that are keys of properties, and what find_package, pkg_check_modules and target_link_libraries "
      "name. Binary\n"
      "files, files over 16 MB, hidden folders, build trees and links to folders are skipped.\n"
      "\nA name is\n"
      "  there     it compiles as it stands, and does the same\n"
      "  differs   it compiles, and behaves otherwise: the reason stands beside it\n"
      "  absent    using it is an error of the compiler: the reason and what to use instead stand beside it\n"
      "\nThen come the lines that change: an include path and a link line, or where CMake and pkg-config look for "
      "them.\n"
      "\nExit status: 0 nothing is absent, 1 something is, 65 there is nothing to read, 66 no such path, 77 something "
      "cannot be read\n"
      "(the rest is reported).\n"
      "\nExamples:\n"
      "  tenon migrate .\n"
      "  tenon migrate src include CMakeLists.txt --all\n"
      "  tenon migrate . --json | jq '.apis[].uses[] | select(.state == \"absent\")'\n");
  command->callback([options] { migrate::run(*options); });
}

}  // namespace tenon::tool
