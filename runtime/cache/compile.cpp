// SPDX-License-Identifier: Apache-2.0
// Compiling through the cache.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <istream>
#include <map>
#include <mutex>
#include <ostream>
#include <sstream>

#include <tenon/core/error.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/wanted.hpp>
#include <tenon/runtime/cache/cache.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/internal/bytes_stream.hpp>
#include <tenon/store/release.hpp>

namespace tenon {
inline namespace v1 {
namespace cache {
namespace {

namespace fs = std::filesystem;

/// Describes the difference between two values of a property.
std::string text_of(const Any& value) {
  try {
    return value.to_text();
  } catch (const Error&) {
    return value.type_info().name();
  }
}

bool can_export(Device& device) {
  try {
    const auto all = device.get_property(tenon::device::capabilities.name(), {}).as<std::vector<std::string>>();
    return std::find(all.begin(), all.end(), tenon::device::capability::EXPORT_IMPORT) != all.end();
  } catch (const Error&) {
    return false;
  }
}

/// The properties of a compilation whose result goes into the folder, or comes from there. A device that lists CACHE_DIR among
/// its writable properties is told: it may keep more there, or its driver may have a cache of its own, and one is enough.
AnyMap told_of_folder(Device& device, AnyMap properties, const fs::path& folder) {
  try {
    const auto names = device.get_property(supported_properties.name(), {}).as<std::vector<PropertyName>>();
    const auto listed = std::find(names.begin(), names.end(), cache_dir.name());
    if (listed != names.end() && listed->is_mutable()) properties[cache_dir.name()] = Any(folder.string());
  } catch (const Error&) {  // A device that does not list its properties is not told the folder.
  }
  return properties;
}

/// Device, its properties that matter, and those of the call. A device that does not say which matter is taken to mean
/// all that the call names.
std::string describe(Device& device, const AnyMap& properties) {
  AnyMap known;
  try {
    for (const auto& name : device.get_property(caching_properties.name(), {}).as<std::vector<PropertyName>>()) {
      const auto given = properties.find(name);
      known[name] = given != properties.end() ? given->second : device.get_property(name, {});
    }
  } catch (const Error&) {
    known = properties;
  }
  // The physical device always matters. One that is not named is the first, as "GPU" is "GPU.0".
  if (const auto id = properties.find(tenon::device::id.name()); id != properties.end())
    known[id->first] = id->second;
  else if (const auto ids = device.available_ids();
           !known.count(tenon::device::id.name()) && !ids.empty() && !ids.front().empty())
    known[tenon::device::id.name()] = Any(ids.front());
  std::string text = device.name();
  for (const auto& [name, value] : known) text += '\n' + name + '=' + text_of(value);
  return text;
}

/// One mutex per entry, for this process. It lives as long as a thread uses it.
std::shared_ptr<std::mutex> mutex_of(const std::string& file) {
  static std::mutex guard;
  static auto* all = new std::map<std::string, std::weak_ptr<std::mutex>>;
  const std::lock_guard lock(guard);
  for (auto entry = all->begin(); entry != all->end();)
    entry = entry->second.expired() ? all->erase(entry) : std::next(entry);
  auto& known = (*all)[file];
  auto mutex = known.lock();
  if (!mutex) known = mutex = std::make_shared<std::mutex>();
  return mutex;
}

Tensor copied(const std::string& bytes) {
  Tensor tensor(ElementType::kU8, Shape{bytes.size()});
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace

std::shared_ptr<CompiledModelImpl> import_bytes(Device& device, const Tensor& blob, bool is_verified,
                                                const std::shared_ptr<RemoteContextImpl>& context,
                                                const AnyMap& properties) {
  if (!context) return device.import_blob(blob, is_verified, properties);
  BytesBuffer buffer(blob.data(), blob.size_bytes());
  std::istream stream(&buffer);
  return device.import_in_context(stream, context, properties);
}

Compiler::Compiler(Device& device, AnyMap properties, Settings settings, std::shared_ptr<RemoteContextImpl> context)
    : device_(device),
      properties_(std::move(properties)),
      settings_(std::move(settings)),
      context_(std::move(context)) {
  if (settings_.folder.empty()) return;
  active_ = can_export(device);
  if (!active_) {
    say("nothing is cached in \"" + settings_.folder.string() + "\": device " + device.name() +
        " can't export compiled models (it lacks the capability EXPORT_IMPORT)");
    return;
  }
  device_text_ = std::string(store::release()) + "\n" + describe(device, properties_);
}

Compiler::Place Compiler::place_of(const std::function<void(store::ContentHasher&)>& what) const {
  store::ContentHasher model;
  what(model);
  const store::ContentHash identity = model.result();
  store::ContentHasher hasher;
  hasher.add(device_text_);
  hasher.add(identity);
  return {settings_.folder / store::CacheFolder::name_of(hasher.result(), kRules), identity.to_text()};
}

std::optional<Compiler::Place> Compiler::place_of(const Origin& origin) const {
  if (settings_.blob_id)
    return place_of([&](store::ContentHasher& hasher) {
      hasher.add("id");
      hasher.add(*settings_.blob_id);
    });
  if (!origin.known()) return std::nullopt;
  const auto model = identify(origin.model);
  if (!model) return std::nullopt;
  const auto weights = identify(origin.weights);
  return place_of([&](store::ContentHasher& hasher) {
    hasher.add("files");
    model->add_to(hasher);
    if (weights) weights->add_to(hasher);
  });
}

std::shared_ptr<CompiledModelImpl> Compiler::load(const Origin& origin) {
  const auto place = place_of(origin);
  return place ? load(*place, nullptr, origin) : nullptr;
}

std::shared_ptr<CompiledModelImpl> Compiler::load(const Place& place, const std::shared_ptr<const Model>& model,
                                                  const Origin& origin) {
  const fs::path& file = place.file;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return nullptr;
  try {
    Entry entry = read_entry(file);
    // The name also covers the device and its properties, but an entry of another model would give wrong outputs.
    if (entry.info.identity != place.identity)
      throw Error(Code::kDataLoss, "it is of another model, '" + entry.info.model + "'");
    if (origin.known() && !settings_.blob_id) {
      for (const FileIdentity& needed : entry.info.files)
        if (identify(needed.path) != needed)
          throw Error(Code::kFailedPrecondition, "\"" + needed.path + "\" changed since the entry was made");
    }
    if (entry.info.encrypted) {
      if (!settings_.callbacks || !settings_.callbacks->decrypt)
        throw Error(Code::kFailedPrecondition, "the entry is encrypted, but no decryption callback was given");
      const std::string text(static_cast<const char*>(entry.payload.data()), entry.payload.size_bytes());
      entry.payload = copied(settings_.callbacks->decrypt(text));
    }
    AnyMap properties = told_of_folder(device_, properties_, settings_.folder);
    if (entry.info.weightless && model)
      properties[hint::model.name()] = Any(model);
    else if (entry.info.weightless && origin.known())
      properties[weights_path.name()] = Any(origin.model.string());
    // The stored bytes had the right hash, but the bytes that the decryption callback returned have not been checked.
    auto compiled = import_bytes(device_, entry.payload, !entry.info.encrypted, context_, properties);
    if (compiled) touch_entry(file);
    return compiled;
  } catch (const std::exception& error) {
    CancellationScope::check("loading", file.string());  // Otherwise the model would be compiled now.
    say("cache entry \"" + file.string() + "\" is not used: " + error.what());
  } catch (...) {  // A callback may throw anything.
    say("cache entry \"" + file.string() +
        "\" is not used: a callback threw an exception that is not a std::exception");
  }
  return nullptr;
}

void Compiler::store(const Place& place, const CompiledModelImpl& compiled, const std::string& name,
                     const std::vector<FileIdentity>& files) {
  try {
    fs::create_directories(settings_.folder);
    EntryInfo info;
    info.identity = place.identity;
    info.model = name;
    info.device = device_.name();
    info.created_ns = static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
    info.files = files;
    info.encrypted = settings_.callbacks && settings_.callbacks->encrypt;
    const bool weightless = settings_.leaves_weights();
    info.weightless = weightless;
    write_entry(place.file, info, [&](std::ostream& stream) {
      if (!info.encrypted) return compiled.export_blob(stream, weightless);
      std::ostringstream plain;
      compiled.export_blob(plain, weightless);
      const std::string text = settings_.callbacks->encrypt(std::move(plain).str());
      stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    });
    evict(settings_.folder, settings_.size_limit_bytes, place.file);
  } catch (const std::exception& error) {
    say("model '" + name + "' is not cached in \"" + settings_.folder.string() + "\": " + error.what());
  } catch (...) {
    say("model '" + name + "' is not cached in \"" + settings_.folder.string() +
        "\": a callback threw an exception that is not a std::exception");
  }
}

Outcome Compiler::compile(const std::shared_ptr<const Model>& model, const Origin& origin,
                          const std::vector<FileIdentity>& files) {
  auto place = place_of(origin);
  // A model in memory may have been changed since it was read: its content names it. CACHE_MODEL_PATH spares reading
  // the weights, on the caller's word that they are those of that file.
  if (!place)
    place = place_of([&](store::ContentHasher& hasher) {
      const auto source = settings_.model_path.empty() ? std::nullopt : identify(settings_.model_path);
      hasher.add(source ? "model of a file" : "model");
      if (source) source->add_to(hasher);
      hasher.add(model_hash(*model, !source));
    });
  // Threads that meet here want one compilation, not one each; processes that meet replace each other's equal entries.
  const std::shared_ptr<std::mutex> mutex = mutex_of(place->file.string());
  const std::lock_guard lock(*mutex);
  Outcome outcome;
  outcome.compiled = load(*place, model, origin);
  outcome.from_cache = outcome.compiled != nullptr;
  if (outcome.compiled) return outcome;
  const AnyMap properties = told_of_folder(device_, properties_, settings_.folder);
  outcome.compiled =
      context_ ? device_.compile_in_context(model, context_, properties) : device_.compile_model(model, properties);
  if (outcome.compiled) store(*place, *outcome.compiled, model->get_friendly_name(), files);
  return outcome;
}

}  // namespace cache
}  // namespace v1
}  // namespace tenon
