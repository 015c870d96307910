// SPDX-License-Identifier: Apache-2.0
// tenon cache list|verify|clear FOLDER: the contents of a compiled-model cache.
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/runtime/model_cache.hpp>

#include <tenon/tools/tenon/commands/commands.hpp>
#include <tenon/tools/tenon/shared/json_text.hpp>
#include <tenon/tools/tenon/shared/option_checks.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

std::string date_of(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

void show(const std::vector<cache::EntryReport>& entries, const std::string& folder, bool json) {
  std::uint64_t total = 0;
  nlohmann::json list = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows{{"entry", "model", "device", "MB", "created", "used", "state"}};
  for (const auto& entry : entries) {
    total += entry.size_bytes;
    const std::string name = entry.file.filename().string();
    const std::string state = entry.sound ? (entry.encrypted ? "sound, encrypted" : "sound") : entry.reason;
    list.push_back({{"file", entry.file.string()},
                    {"model", entry.model},
                    {"device", entry.device},
                    {"bytes", entry.size_bytes},
                    {"created", date_of(entry.created)},
                    {"used", date_of(entry.used)},
                    {"encrypted", entry.encrypted},
                    {"sound", entry.sound},
                    {"reason", entry.reason}});
    rows.push_back({name.substr(0, 12), entry.model, entry.device,
                    fmt::format("{:.1f}", static_cast<double>(entry.size_bytes) / 1e6), date_of(entry.created),
                    date_of(entry.used), state});
  }
  if (json) {
    fmt::print("{}", json_text(nlohmann::json{{"folder", folder}, {"bytes", total}, {"entries", list}}));
    return;
  }
  if (!entries.empty()) fmt::print("{}", text_table(rows));
  fmt::print("{} entries, {:.1f} MB in {}\n", entries.size(), static_cast<double>(total) / 1e6, folder);
}

struct CacheOptions {
  std::string folder;
  bool json = false;
};

CLI::App* add(CLI::App& parent, const char* name, const char* what, const std::shared_ptr<CacheOptions>& options) {
  auto* command = parent.add_subcommand(name, what);
  command->add_option("folder", options->folder, "The folder that is given to programs as CACHE_DIR")
      ->type_name(kFolder)
      ->required();
  command->add_flag("--json", options->json, "Print JSON");
  return command;
}

}  // namespace

void add_cache(CLI::App& app) {
  auto* command = app.add_subcommand("cache", "List, verify or clear a folder of compiled models (CACHE_DIR)");
  command->require_subcommand(1);
  auto options = std::make_shared<CacheOptions>();
  add(*command, "list", "List the entries of the folder, those used last first", options)->callback([options] {
    show(cache::list(options->folder), options->folder, options->json);
  });
  add(*command, "verify", "As list, and compare every entry with its hash; fails if an entry is damaged", options)
      ->callback([options] {
        const auto entries = cache::verify(options->folder);
        show(entries, options->folder, options->json);
        for (const auto& entry : entries)
          if (!entry.sound) throw CLI::RuntimeError(1);
      });
  add(*command, "clear", "Remove all entries; other files stay", options)->callback([options] {
    const std::size_t count = cache::clear(options->folder);
    if (options->json)
      fmt::print("{}", json_text(nlohmann::json{{"folder", options->folder}, {"removed", count}}));
    else
      fmt::print("{} entries removed from {}\n", count, options->folder);
  });
}

}  // namespace tenon::tool
