// SPDX-License-Identifier: Apache-2.0
// Sealed entries of a cache folder.
#include <tenon/devices/gpu/program/kept_bytes.hpp>

#include <tenon/store/bytes.hpp>
#include <tenon/store/table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

struct EntryFields {
  store::ContentHash key;
};
using EntryHeader = store::Sealed<EntryFields>;

}  // namespace

KeptBytes read_kept(const std::filesystem::path& path, const KeptKind& kind, const store::ContentHash& key) {
  const store::CacheFolder folder(path, kind.rules);
  KeptBytes kept;
  kept.distrust = folder.distrust();
  if (!folder) return kept;
  kept.file = folder.map(store::CacheFolder::name_of(key, kind.rules));
  if (!kept.file) return kept;
  const std::string_view all = store::bytes_of(kept.file);
  const EntryHeader header = store::unseal<EntryFields>(all, kind.format);
  store::check_total(header.start, sizeof header, all.size(), kind.format.damaged);
  store::check_content(header.start, sizeof header, all, kind.format.damaged);
  if (header.fields.key != key) store::say_damaged(kind.format.damaged, "it has the key of something else");
  kept.bytes = all.substr(sizeof header, header.start.total - sizeof header);
  return kept;
}

void write_kept(const std::filesystem::path& path, const KeptKind& kind, const store::ContentHash& key,
                std::string_view bytes) {
  const store::CacheFolder folder(path, kind.rules, store::CacheFolder::Missing::kMake);
  if (!folder) return;
  EntryHeader header{};
  header.fields.key = key;
  header.start.total = sizeof header + bytes.size();
  header.start.content = store::content_hash(bytes.data(), bytes.size());
  store::seal(header, kind.format);
  const std::string name = store::CacheFolder::name_of(key, kind.rules);
  const auto file = folder.make(name);
  file->write(&header, sizeof header);
  file->write(bytes.data(), bytes.size());
  file->commit();
  folder.evict(kind.folder_bytes, name);
}

}  // namespace tenon::inline v1::gpu_device
