// SPDX-License-Identifier: Apache-2.0
// The graph's cycles that a node of this process drives, and the marks in buffers that tell what a reader took. Private to this folder.
#pragma once

#include <pipewire/pipewire.h>
#include <spa/buffer/meta.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>

#include <tenon/core/policy.hpp>
#include <tenon/frameworks/pipewire/connection.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire::detail {

/// A buffer's return, and a reader's mark, are numbers in shared memory, which nothing tells of: how often they are looked at.
inline constexpr std::chrono::milliseconds kLook{2};

template <typename Meta>
Meta* meta(const spa_buffer& buffer, std::uint32_t type) {
  return static_cast<Meta*>(spa_buffer_find_meta_data(&buffer, type, sizeof(Meta)));
}

/// @name What a reader tells in a buffer's shared memory (kTells, kTaken, the count of users).
/// Whether a reader has come to the picture that was sent in this buffer; true where buffers have no room for marks.
bool is_taken(const spa_buffer& buffer);
bool is_marked(const spa_buffer& buffer, std::uint32_t mark);
/// A picture is sent in it, which no reader has taken.
void expect_mark(const spa_buffer& buffer);
void forget_marks(const spa_buffer& buffer);
/// PipeWire (0.3.65) keeps the counts of users that a dead reader leaves.
void forget_users(const spa_buffer& buffer);

/// From a picture that is sent until the graph has run over it. The first ones after readers or buffers are new are looked at closely.
/// @pre The connection's mutex is held, if nothing else is said.
class Cycles {
 public:
  Cycles(Connection& connection, std::stop_token stop) : connection_(connection), stop_(std::move(stop)) {}
  Cycles(const Cycles&) = delete;
  Cycles& operator=(const Cycles&) = delete;

  bool is_running() const { return is_running_; }
  /// When the one that runs began.
  Clock::time_point began() const { return began_; }
  /// Begins one, if the node drives the graph. @pre the loop's lock is held, too.
  void begin(pw_stream* stream, Clock::time_point now);
  /// Its end is not waited for any more.
  void give_up() { is_running_ = false; }

  /// Readers or buffers are new: nothing is known of whether they run.
  void are_new() { proofs_ = 0; }
  bool are_proved() const;
  bool is_proving() const { return is_proving_; }
  /// After the first pictures in new buffers: waits until a reader has taken it. With 0.3.65 a reader that starts at the same time may forget
  /// that it was woken, and its cycle does not end then; one without a picture hands the last one over. And the first cycle gives several
  /// signs of its end, before the reader has run, too: later ones would be taken for those of the next cycle.
  /// @param is_over  The picture was taken, or will not be.  @param is_on_its_way  A reader that tells what it takes is waited for.
  /// @pre the mutex is free; it is held when the two are called.
  void prove(pw_stream* stream, const std::function<bool()>& is_over, const std::function<bool()>& is_on_its_way,
             Deadline deadline);

  /// @name Callbacks, on PipeWire's threads. The mutex is free when they come.
  void on_begin();
  void on_end();

 private:
  void begin_again(pw_stream* stream, std::unique_lock<std::mutex>& lock, Deadline deadline);
  void on_marked();

  Connection& connection_;
  const std::stop_token stop_;
  bool is_running_ = false, is_proving_ = false, is_marked_ = false, skips_end_ = false;
  std::uint64_t ends_ = 0;
  int ends_to_come_ = 1;  ///< Signs of a cycle's end until the present one is over.
  int proofs_ = 0;        ///< Pictures of which a reader of the present buffers showed that it runs.
  Clock::time_point began_{};
  std::atomic<bool> begins_empty_ = false;  ///< The cycle that begins has no picture.
};

}  // namespace pipewire::detail
}  // namespace v1
}  // namespace tenon
