// SPDX-License-Identifier: Apache-2.0
// The cache's properties among those of a call.
#include <tenon/runtime/cache/cache.hpp>

namespace tenon {
inline namespace v1 {
namespace cache {

bool is_cache_property(const std::string& key) {
  return key == cache_dir.name() || key == cache_path.name() || key == cache_mode.name() ||
         key == enable_weightless.name() || key == cache_encryption_callbacks.name() || key == cache_blob_id.name() ||
         key == cache_model_path.name() || key == cache_size_limit.name();
}

void apply(Settings& settings, const std::string& key, const Any& value) {
  if (key == cache_dir.name())
    settings.folder = value.as<std::string>();
  else if (key == cache_path.name())
    settings.folder = value.is<std::filesystem::path>() ? value.as<std::filesystem::path>()
                                                        : std::filesystem::path(value.as<std::string>());
  else if (key == cache_mode.name())
    settings.mode = value.as<CacheMode>();
  else if (key == enable_weightless.name())
    settings.weightless = value.as<bool>();
  else if (key == cache_encryption_callbacks.name())
    settings.callbacks = value.as<EncryptionCallbacks>();
  else if (key == cache_blob_id.name())
    settings.blob_id = value.as<std::uint64_t>();
  else if (key == cache_model_path.name())
    settings.model_path = value.is<std::filesystem::path>() ? value.as<std::filesystem::path>()
                                                            : std::filesystem::path(value.as<std::string>());
  else if (key == cache_size_limit.name())
    settings.size_limit_bytes = value.as<std::uint64_t>();
}

Any value_of(const Settings& settings, const std::string& key) {
  if (key == cache_dir.name()) return Any(settings.folder.string());
  if (key == cache_path.name()) return Any(settings.folder);
  if (key == cache_mode.name()) return Any(settings.mode);
  if (key == enable_weightless.name()) return Any(settings.leaves_weights());
  if (key == cache_size_limit.name()) return Any(settings.size_limit_bytes);
  if (key == cache_blob_id.name()) return Any(settings.blob_id.value_or(0));
  throw Error(Code::kPermissionDenied, "property " + key + " can be written only");
}

}  // namespace cache
}  // namespace v1
}  // namespace tenon
