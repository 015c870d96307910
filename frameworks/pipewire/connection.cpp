// SPDX-License-Identifier: Apache-2.0
// A connection to a PipeWire daemon, with a thread of its own.
#include <tenon/frameworks/pipewire/connection.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire::detail {

TENON_INLINE std::vector<const spa_pod*> pointers(const std::vector<Pod>& pods) {
  std::vector<const spa_pod*> all;
  for (const Pod& pod : pods) all.push_back(pod.get());
  return all;
}

TENON_INLINE std::string name_of_remote(const std::string& remote) {
  if (!remote.empty()) return "\"" + remote + "\"";
  const char* const name = std::getenv("PIPEWIRE_REMOTE");
  const char* folder = std::getenv("PIPEWIRE_RUNTIME_DIR");
  if (!folder) folder = std::getenv("XDG_RUNTIME_DIR");
  return "\"" + std::string(name ? name : "pipewire-0") + "\" of the folder " +
         (folder ? "\"" + std::string(folder) + "\"" : "XDG_RUNTIME_DIR, which is not set");
}

TENON_INLINE Connection::Connection(std::string doing, const std::string& remote, std::stop_token stop,
                                    Deadline deadline)
    : doing_(std::move(doing)), stop_(std::move(stop)) {
  static std::once_flag once;
  std::call_once(once, [] { pw_init(nullptr, nullptr); });
  loop_ = pw_thread_loop_new("tenon", nullptr);
  if (!loop_) throw Error(Code::kResourceExhausted, doing_ + ": no loop", "pw_thread_loop_new", errno);
  try {
    context_ = pw_context_new(pw_thread_loop_get_loop(loop_), nullptr, 0);
    if (!context_) throw Error(Code::kResourceExhausted, doing_ + ": no context", "pw_context_new", errno);
    if (const int error = pw_thread_loop_start(loop_); error < 0)
      throw Error(Code::kResourceExhausted, doing_ + ": no thread", "pw_thread_loop_start", error);
    {
      const Lock lock(*this);
      pw_properties* const properties =
          remote.empty() ? nullptr : pw_properties_new(PW_KEY_REMOTE_NAME, remote.c_str(), nullptr);
      core_ = pw_context_connect(context_, properties, 0);
      const int error = errno;
      if (!core_)
        throw Error(Code::kUnavailable,
                    doing_ + ": no PipeWire daemon answers at " + name_of_remote(remote) +
                        "; start it (systemctl --user start pipewire), or name another one (PIPEWIRE_REMOTE)",
                    "pw_context_connect", error);
      static constexpr pw_core_events kCoreEvents = [] {
        pw_core_events events{};
        events.version = PW_VERSION_CORE_EVENTS;
        events.done = on_done;
        events.error = on_error;
        return events;
      }();
      pw_core_add_listener(core_, &core_hook_, &kCoreEvents, this);
      registry_ = pw_core_get_registry(core_, PW_VERSION_REGISTRY, 0);
      if (!registry_) throw Error(Code::kResourceExhausted, doing_ + ": no registry", "pw_core_get_registry", errno);
      static constexpr pw_registry_events kRegistryEvents = [] {
        pw_registry_events events{};
        events.version = PW_VERSION_REGISTRY_EVENTS;
        events.global = on_global;
        events.global_remove = on_global_remove;
        return events;
      }();
      pw_registry_add_listener(registry_, &registry_hook_, &kRegistryEvents, this);
    }
    round_trip(deadline);
  } catch (...) {
    close();
    throw;
  }
}

TENON_INLINE Connection::~Connection() { close(); }

TENON_INLINE void Connection::close() noexcept {
  if (core_) {
    const Lock lock(*this);
    drop_link();
    if (registry_) {
      if (registry_hook_.link.next) spa_hook_remove(&registry_hook_);
      pw_proxy_destroy(reinterpret_cast<pw_proxy*>(registry_));
    }
    spa_hook_remove(&core_hook_);
    pw_core_disconnect(std::exchange(core_, nullptr));
  }
  if (!loop_) return;
  pw_thread_loop_stop(loop_);
  if (context_) pw_context_destroy(std::exchange(context_, nullptr));
  pw_thread_loop_destroy(std::exchange(loop_, nullptr));
}

TENON_INLINE void Connection::drop_link() {
  if (!link_) return;
  spa_hook_remove(&link_hook_);
  spa_hook_remove(&link_proxy_hook_);
  pw_proxy_destroy(link_);
  link_ = nullptr;
}

TENON_INLINE void Connection::check() const {
  if (broken_)
    throw Error(Code::kUnavailable, doing_ + ": the PipeWire daemon went away: " + *broken_ + "; open it again");
  if (stop_.stop_requested()) throw Error(Code::kCancelled, doing_ + ": interrupted");
}

TENON_INLINE void Connection::round_trip(Deadline deadline) {
  int sequence = 0;
  {
    const Lock lock(*this);
    sequence = pw_core_sync(core_, PW_ID_CORE, 0);
  }
  std::unique_lock lock(mutex);
  if (!wait(lock, deadline, [&] { return done_ == sequence; }))
    throw Error(Code::kDeadlineExceeded, doing_ + ": the PipeWire daemon does not answer");
}

TENON_INLINE std::uint32_t Connection::find_node(const std::string& name, Deadline deadline) {
  std::optional<std::uint32_t> found;
  std::unique_lock lock(mutex);
  const auto look = [&] {
    for (const auto& [id, global] : globals_)
      if (global.type == PW_TYPE_INTERFACE_Node &&
          (global.name == name || global.serial == name || std::to_string(id) == name))
        found = id;
    return found.has_value();
  };
  if (wait(lock, deadline, look)) return *found;
  std::string all;
  for (const auto& [id, global] : globals_)
    if (global.type == PW_TYPE_INTERFACE_Node)
      all += (all.empty() ? "" : ", ") + (global.name + " (" + std::to_string(id) + ")");
  throw Error(Code::kNotFound, doing_ + ": there is no node \"" + name + "\"; " +
                                   (all.empty() ? "there are none" : "there are: " + all));
}

TENON_INLINE void Connection::link(std::uint32_t output_node, std::uint32_t input_node, Deadline deadline) {
  static constexpr pw_link_events kLinkEvents = [] {
    pw_link_events events{};
    events.version = PW_VERSION_LINK_EVENTS;
    events.info = on_link_info;
    return events;
  }();
  static constexpr pw_proxy_events kProxyEvents = [] {
    pw_proxy_events events{};
    events.version = PW_VERSION_PROXY_EVENTS;
    events.removed = on_link_removed;
    events.error = on_link_error;
    return events;
  }();
  const std::string from = std::to_string(output_node), to = std::to_string(input_node);
  const spa_dict_item items[] = {
      {PW_KEY_LINK_OUTPUT_NODE, from.c_str()}, {PW_KEY_LINK_INPUT_NODE, to.c_str()}, {PW_KEY_OBJECT_LINGER, "false"}};
  const spa_dict properties{0, 3, items};
  for (;;) {
    {
      const Lock lock(*this);
      drop_link();
      {
        const std::lock_guard guard(mutex);
        link_ready_ = link_gone_ = false;
        link_error_.clear();
      }
      link_ = static_cast<pw_proxy*>(
          pw_core_create_object(core_, "link-factory", PW_TYPE_INTERFACE_Link, PW_VERSION_LINK, &properties, 0));
      if (!link_) throw Error(Code::kResourceExhausted, doing_ + ": no link", "pw_core_create_object", errno);
      pw_link_add_listener(reinterpret_cast<pw_link*>(link_), &link_hook_, &kLinkEvents, this);
      pw_proxy_add_listener(link_, &link_proxy_hook_, &kProxyEvents, this);
    }
    std::unique_lock lock(mutex);
    const bool is_over = wait(lock, deadline, [&] { return link_ready_ || link_gone_ || !link_error_.empty(); });
    if (link_ready_) return;
    const std::string error = link_error_;
    // A node shows its ports a moment after itself: until the deadline, what is missing may come.
    const bool may_come = error.find("format") == std::string::npos;
    if (is_over && may_come && Clock::now() + std::chrono::milliseconds(20) < deadline) {
      wait(lock, Clock::now() + std::chrono::milliseconds(20), [] { return false; });
      continue;
    }
    if (!error.empty() && !may_come)
      throw Error(Code::kUnimplemented, doing_ + ": the two nodes have no format in common: " + error +
                                            "; choose another format, or convert at the producer");
    throw Error(Code::kDeadlineExceeded,
                doing_ + ": no link to node " + from + " came about" + (error.empty() ? "" : ": " + error));
  }
}

TENON_INLINE void Connection::on_done(void* data, std::uint32_t id, int sequence) {
  auto& self = *static_cast<Connection*>(data);
  if (id != PW_ID_CORE) return;
  const std::lock_guard lock(self.mutex);
  self.done_ = sequence;
  self.changed.notify_all();
}

TENON_INLINE void Connection::on_error(void* data, std::uint32_t id, int, int result, const char* message) {
  auto& self = *static_cast<Connection*>(data);
  const std::lock_guard lock(self.mutex);
  if (id == PW_ID_CORE && result == -EPIPE) self.broken_ = message ? message : "connection error";
  self.changed.notify_all();
}

TENON_INLINE void Connection::on_global(void* data, std::uint32_t id, std::uint32_t, const char* type, std::uint32_t,
                                        const spa_dict* properties) {
  auto& self = *static_cast<Connection*>(data);
  const auto value = [&](const char* key) {
    const char* const text = properties ? spa_dict_lookup(properties, key) : nullptr;
    return std::string(text ? text : "");
  };
  const std::lock_guard lock(self.mutex);
  self.globals_[id] = {type ? type : "", value(PW_KEY_NODE_NAME), value(PW_KEY_OBJECT_SERIAL),
                       value(PW_KEY_LINK_OUTPUT_NODE)};
  self.changed.notify_all();
}

TENON_INLINE void Connection::on_global_remove(void* data, std::uint32_t id) {
  auto& self = *static_cast<Connection*>(data);
  const std::lock_guard lock(self.mutex);
  const auto gone = self.globals_.find(id);
  if (gone == self.globals_.end()) return;
  const std::string from = gone->second.from;
  self.globals_.erase(gone);
  if (self.on_unlinked && from == std::to_string(self.watched_node) &&
      std::none_of(self.globals_.begin(), self.globals_.end(),
                   [&](const auto& one) { return one.second.from == from; }))
    self.on_unlinked();
  self.changed.notify_all();
}

TENON_INLINE void Connection::on_link_info(void* data, const pw_link_info* info) {
  auto& self = *static_cast<Connection*>(data);
  const std::lock_guard lock(self.mutex);
  // Below it only a format, or buffers, are missing, which the node still asks for.
  self.link_ready_ |= info->state >= PW_LINK_STATE_ALLOCATING;
  if (info->state == PW_LINK_STATE_ERROR) self.link_error_ = info->error ? info->error : "error";
  if (info->state == PW_LINK_STATE_UNLINKED) self.link_gone_ = true;
  self.changed.notify_all();
}

TENON_INLINE void Connection::on_link_removed(void* data) {
  auto& self = *static_cast<Connection*>(data);
  const std::lock_guard lock(self.mutex);
  self.link_gone_ = true;
  self.changed.notify_all();
}

TENON_INLINE void Connection::on_link_error(void* data, int, int, const char* message) {
  auto& self = *static_cast<Connection*>(data);
  const std::lock_guard lock(self.mutex);
  self.link_error_ = message ? message : "error";
  self.changed.notify_all();
}

}  // namespace pipewire::detail
}  // namespace v1
}  // namespace tenon
