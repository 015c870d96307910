// SPDX-License-Identifier: Apache-2.0
// Listing, verifying and clearing a cache folder; the cache's messages.
#include <tenon/runtime/model_cache.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/runtime/cache/cache.hpp>

namespace tenon {
inline namespace v1 {
namespace cache {
namespace {

namespace fs = std::filesystem;

struct Sink {
  std::mutex mutex;
  MessageSink function = [](const std::string& text) { std::fprintf(stderr, "tenon: %s\n", text.c_str()); };
};
Sink& sink() {
  static Sink* instance = new Sink;  // Messages may come while static objects are destroyed.
  return *instance;
}

std::chrono::system_clock::time_point time_of(std::int64_t ns) {
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds(ns)));
}

store::CacheFolder open_folder(const fs::path& path) {
  store::CacheFolder folder(path, kRules);
  if (folder) return folder;
  const std::error_code& error = folder.error();
  const Code code = error == std::errc::permission_denied ? Code::kPermissionDenied : Code::kNotFound;
  throw Error(code, "cannot read the cache folder \"" + path.string() + "\": " + error.message());
}

std::vector<EntryReport> report(const fs::path& folder, bool check_payload) {
  std::vector<EntryReport> all;
  for (const store::CacheFolder::Entry& found : open_folder(folder).entries()) {
    const fs::path file = folder / found.name;
    EntryReport one;
    one.file = file;
    one.size_bytes = found.size_bytes;
    one.used = time_of(found.used_ns);
    one.created = time_of(found.modified_ns);
    try {
      const Entry entry = read_entry(file, check_payload);
      one.model = entry.info.model;
      one.device = entry.info.device;
      one.encrypted = entry.info.encrypted;
      one.created = time_of(static_cast<std::int64_t>(entry.info.created_ns));
      for (const FileIdentity& needed : entry.info.files) {
        if (identify(needed.path) == needed) continue;
        one.sound = false;
        one.reason = "\"" + needed.path + "\" changed or went since";
      }
    } catch (const Error& error) {
      one.sound = false;
      one.reason = error.what();
    }
    all.push_back(std::move(one));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.used > b.used; });
  return all;
}

}  // namespace

std::vector<EntryReport> list(const fs::path& folder) { return report(folder, false); }
std::vector<EntryReport> verify(const fs::path& folder) { return report(folder, true); }

std::size_t clear(const fs::path& path) {
  const store::CacheFolder folder = open_folder(path);
  std::size_t count = 0;
  for (const store::CacheFolder::Entry& entry : folder.entries()) count += folder.remove(entry.name);
  std::error_code ignored;
  for (const fs::path& file : list_folder(path, ignored))
    if (store::CacheFolder::is_temporary(file, kRules)) platform::remove_in(platform::kWorkingFolder, file);
  return count;
}

void set_message_sink(MessageSink function) {
  const std::lock_guard lock(sink().mutex);
  sink().function = std::move(function);
}

void say(const std::string& message) {
  MessageSink function;
  {
    const std::lock_guard lock(sink().mutex);
    function = sink().function;
  }
  if (function) function(message);
}

}  // namespace cache
}  // namespace v1
}  // namespace tenon
