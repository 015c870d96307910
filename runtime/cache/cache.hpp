// SPDX-License-Identifier: Apache-2.0
// The compiled-model cache: entries on disk, their names, and compiling through the cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/store/cache_folder.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon {
inline namespace v1 {
namespace cache {

/// A file as stat sees it: another size or time is another file. The change time is part of it because a tool may set
/// the modification time back.
struct FileIdentity {
  std::string path;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  void add_to(store::ContentHasher& hasher) const;
};
/// The identity of an existing file, with an absolute path; nothing if there is no such file.
std::optional<FileIdentity> identify(const std::filesystem::path& path);

/// The path as entries have it: absolute, without links.
std::string absolute(const std::filesystem::path& path);

/// The description of an entry, which is stored beside its payload.
struct EntryInfo {
  std::string key;  ///< The name that it was made under, without extension: write_entry() fills it in.
  std::string
      identity;  ///< The identity of the model, whatever the device: the files or the content that it was made from.
  std::string model, device;
  std::uint64_t created_ns = 0;  ///< Nanoseconds since 1970.
  bool encrypted = false;
  bool weightless = false;          ///< Asked for without weights: they come from the model or its files.
  std::vector<FileIdentity> files;  ///< The payload is of no use when one of these is another file now.
};

struct Entry {
  EntryInfo info;
  Tensor payload;  ///< In the mapped file, page-aligned, read-only.
};

/// Reads and checks an entry; with `check_payload` its bytes too. Files that it depends on are not looked at.
/// @errors kNotFound: no such file; kDataLoss: truncated, damaged, or under another name than it was made under;
///         kFailedPrecondition: of another format version. All name the file and what is wrong.
Entry read_entry(const std::filesystem::path& file, bool check_payload = true);

/// Writes an entry: a temporary file beside it, then a rename, so that no reader in any process ever sees a part of it.
/// @param write  Puts the payload into the stream, once.
/// @errors those of the file system: kPermissionDenied, kResourceExhausted (disk full), kUnavailable; nothing is left
///         behind then.
void write_entry(const std::filesystem::path& file, const EntryInfo& info,
                 const std::function<void(std::ostream&)>& write);

/// Marks the entry as used, for eviction.
void touch_entry(const std::filesystem::path& file);
/// Removes the entries that were used longest ago until all together have at most `limit_bytes`; `keep` stays.
/// Left-over temporary files of dead processes go too.
void evict(const std::filesystem::path& folder, std::uint64_t limit_bytes, const std::filesystem::path& keep);

/// The rules that tell which files of a folder are entries: blobs of other programs do not belong to the cache. Entries are
/// readable by others and never written again, since they are mapped and used in place.
inline constexpr store::CacheFolder::Rules kRules{.suffix = ".blob", .entry_mode = 0440, .is_private = false};
/// Sends a text to the message sink (see model_cache.hpp).
void say(const std::string& message);

/// Hashes the content of a model: its nodes, names that the author gave, attributes, edges, types, shapes, and the bytes of
/// constants. @cost reads every constant once (at memory speed: some 10 ms per 100 MB).
/// @param with_weights  False leaves out the bytes of large constants, for callers that identify them otherwise.
store::ContentHash model_hash(const Model& model, bool with_weights = true);

/// The cache's settings of a compile call.
struct Settings {
  std::filesystem::path folder;  ///< Empty: no cache.
  CacheMode mode = CacheMode::OPTIMIZE_SPEED;
  std::optional<bool> weightless;  ///< ENABLE_WEIGHTLESS, which overrides the mode.
  std::optional<EncryptionCallbacks> callbacks;
  std::optional<std::uint64_t> blob_id;
  std::filesystem::path model_path;
  std::uint64_t size_limit_bytes = 0;
  bool leaves_weights() const { return weightless.value_or(mode == CacheMode::OPTIMIZE_SIZE); }
};

bool is_cache_property(const std::string& key);
/// @errors kInvalidArgument: the value does not parse.
void apply(Settings& settings, const std::string& key, const Any& value);
Any value_of(const Settings& settings, const std::string& key);

/// The origin of a model, if it is known. The files then stand for the model's content.
struct Origin {
  std::filesystem::path model, weights;
  bool known() const { return !model.empty(); }
};

/// Device::import_blob(), in a context if that is not null. @errors those of the device.
std::shared_ptr<CompiledModelImpl> import_bytes(Device& device, const Tensor& blob, bool is_verified,
                                                const std::shared_ptr<RemoteContextImpl>& context,
                                                const AnyMap& properties);

struct Outcome {
  std::shared_ptr<CompiledModelImpl> compiled;
  bool from_cache = false;
};

/// Compiles through the cache: looks the entry up, imports it, or else compiles, and writes what the device exports.
/// Never fails because of the cache: an error of the cache becomes a message, and the model is compiled.
/// @thread one at a time; several in several threads and processes may meet at one entry.
class Compiler {
 public:
  /// @param properties  for the device, those of the cache taken out.
  /// @param context  where models are compiled and loaded; null: the device chooses. Entries are of the device, whatever the context.
  Compiler(Device& device, AnyMap properties, Settings settings, std::shared_ptr<RemoteContextImpl> context = nullptr);
  /// False: there is no folder, or the device can't export (which is said).
  bool active() const { return active_; }
  /// An entry for the model in these files, without reading them; null when there is none of use.
  std::shared_ptr<CompiledModelImpl> load(const Origin& origin);
  /// @param origin  where the model comes from, if that alone makes it; else its content names it.
  /// @param files  all files that it was read from.
  Outcome compile(const std::shared_ptr<const Model>& model, const Origin& origin,
                  const std::vector<FileIdentity>& files);

 private:
  /// The path of an entry, and the model that it must belong to.
  struct Place {
    std::filesystem::path file;
    std::string identity;
  };
  Place place_of(const std::function<void(store::ContentHasher&)>& what) const;
  std::optional<Place> place_of(const Origin& origin) const;
  std::shared_ptr<CompiledModelImpl> load(const Place& place, const std::shared_ptr<const Model>& model,
                                          const Origin& origin);
  void store(const Place& place, const CompiledModelImpl& compiled, const std::string& name,
             const std::vector<FileIdentity>& files);
  Device& device_;
  AnyMap properties_;
  Settings settings_;
  std::shared_ptr<RemoteContextImpl> context_;
  std::string device_text_;  ///< All that an entry depends on besides the model.
  bool active_ = false;
};

}  // namespace cache
}  // namespace v1
}  // namespace tenon
