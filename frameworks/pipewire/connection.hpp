// SPDX-License-Identifier: Apache-2.0
// A connection to a PipeWire daemon, with a thread of its own, and what exists there. Private to this folder.
#pragma once

#include <pipewire/pipewire.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/pipewire/format.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire::detail {

/// The connection of one stream. PipeWire's calls are made under its loop's lock (Lock), its callbacks come on its thread, which holds
/// that lock. What they note here and in streams is guarded by `mutex`, which is taken after the loop's lock and never held while
/// foreign code may run.
class Connection {
 public:
  /// Connects, and learns what exists. @param remote  The daemon's name or socket; empty: as PipeWire's environment says.
  /// @param doing  For messages: "the source \"camera\"".
  /// @errors kUnavailable: no daemon; kDeadlineExceeded: it does not answer; kResourceExhausted.
  /// @param stop  Ends each wait, with kCancelled.
  Connection(std::string doing, const std::string& remote, std::stop_token stop, Deadline deadline);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  class Lock {
   public:
    explicit Lock(const Connection& connection) : loop_(connection.loop_) { pw_thread_loop_lock(loop_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() { pw_thread_loop_unlock(loop_); }

   private:
    pw_thread_loop* loop_;
  };

  /// Disconnects. Streams must have been destroyed. Calling it again does nothing.
  void close() noexcept;
  pw_core* core() const { return core_; }
  pw_loop* loop() const { return pw_thread_loop_get_loop(loop_); }
  const std::string& doing() const { return doing_; }

  /// The node of this name, id or serial number. @errors kNotFound at the deadline, with what exists; kUnavailable.
  std::uint32_t find_node(const std::string& name, Deadline deadline);
  /// Asks for a link between two nodes, and waits until it is negotiated. @return the link's proxy, which this owns.
  /// @errors kUnimplemented: no common format, with the daemon's words; kDeadlineExceeded; kUnavailable.
  void link(std::uint32_t output_node, std::uint32_t input_node, Deadline deadline);
  /// Whether the link has been removed. @pre `mutex` is held.
  bool link_is_gone() const { return link_gone_; }
  /// @pre `mutex` is held. @errors kUnavailable: the daemon went away; kCancelled: `stop`.
  void check() const;
  /// Waits for `is_over`, which is asked again whenever something changed. @return false at the deadline.
  /// @pre `lock` holds `mutex`. @errors as check().
  template <typename IsOver>
  bool wait(std::unique_lock<std::mutex>& lock, Deadline deadline, IsOver is_over) {
    const bool done = changed.wait_until(lock, stop_, deadline, [&] { return broken_.has_value() || is_over(); });
    check();
    return done;
  }

  std::mutex mutex;
  std::condition_variable_any changed;
  /// @name Guarded by mutex.
  std::uint32_t watched_node = SPA_ID_INVALID;  ///< A node of this process, whose links are looked at.
  std::function<void()> on_unlinked;            ///< Called with the mutex when its last link has gone. Must not throw.

 private:
  struct Global {
    std::string type, name, serial, from;  ///< A link's `from` is the node that gives.
  };

  static void on_done(void* data, std::uint32_t id, int sequence);
  static void on_error(void* data, std::uint32_t id, int sequence, int result, const char* message);
  static void on_global(void* data, std::uint32_t id, std::uint32_t permissions, const char* type,
                        std::uint32_t version, const spa_dict* properties);
  static void on_global_remove(void* data, std::uint32_t id);
  static void on_link_info(void* data, const pw_link_info* info);
  static void on_link_removed(void* data);
  static void on_link_error(void* data, int sequence, int result, const char* message);

  void drop_link();
  /// Waits until the daemon has done all that it was asked. @errors as the constructor.
  void round_trip(Deadline deadline);

  const std::string doing_;
  const std::stop_token stop_;
  pw_thread_loop* loop_ = nullptr;
  pw_context* context_ = nullptr;
  pw_core* core_ = nullptr;
  pw_registry* registry_ = nullptr;
  pw_proxy* link_ = nullptr;
  spa_hook core_hook_{}, registry_hook_{}, link_hook_{}, link_proxy_hook_{};
  /// @name Guarded by mutex.
  int done_ = -1;
  std::optional<std::string> broken_;
  std::map<std::uint32_t, Global> globals_;
  bool link_ready_ = false, link_gone_ = false;
  std::string link_error_;
};

/// In spa_meta_busy::flags of a buffer's shared memory, which PipeWire does not use: an Input marks what it takes, and has come to the
/// picture. Output waits for it with the next one.
inline constexpr std::uint32_t kTells = 0x40000000, kTaken = 0x04000000;

/// The pointers that calls of PipeWire take.
std::vector<const spa_pod*> pointers(const std::vector<Pod>& pods);

/// "daemon's socket": what a message says of `remote`.
std::string name_of_remote(const std::string& remote);

}  // namespace pipewire::detail
}  // namespace v1
}  // namespace tenon
