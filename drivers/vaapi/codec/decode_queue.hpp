// SPDX-License-Identifier: Apache-2.0
// Pictures that wait for a decoder, and the thread that decodes them in their order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <va/va.h>

#include <tenon/drivers/vaapi/codec/bits.hpp>
#include <tenon/drivers/vaapi/codec/decoder.hpp>
#include <tenon/drivers/vaapi/objects/display.hpp>

namespace tenon::va {

/// @thread any.
class DecodeQueue {
 public:
  struct Job {
    Bytes stream;
    Ref<Surface> target, shown;  ///< The second one, which may be null, gets the same picture.
    bool may_run_ahead = false;  ///< StreamWriter's.
    /// At once, by vaEndPicture. Where that is so with the first job, threads that share a picture are faster.
    bool is_waited_for = false;
    std::uint64_t number = 0;  ///< The queue's.
  };

  /// @param decoder  One that exists.
  explicit DecodeQueue(const char* decoder) : name_(decoder) { spare_.reserve(kMost); }
  /// Decodes what is left: its surfaces may be waited for.
  ~DecodeQueue();
  DecodeQueue(const DecodeQueue&) = delete;
  DecodeQueue& operator=(const DecodeQueue&) = delete;

  /// The job's surfaces have begun their work, which ends when this decoded them; also on each failure.
  /// Waits while many pictures wait already. @return VA_STATUS_ERROR_HW_BUSY: it waited too long.
  VAStatus push(Job job) noexcept;
  /// Somebody waits for a surface: its picture is decoded though no other may follow.
  void hurry(const Surface& wanted) noexcept;
  /// All pictures that are here are decoded though no other may follow.
  void hurry() noexcept;
  /// Memory for a stream, which a job before may have had.
  Bytes spare();

 private:
  static constexpr std::size_t kMost = 8;

  void run() noexcept;
  bool needs_other_decoder() const noexcept;
  void begin(std::unique_lock<std::mutex>& lock) noexcept;
  void finish(std::unique_lock<std::mutex>& lock) noexcept;
  bool is_wanted() const noexcept { return !under_way_.empty() && under_way_.front().number <= wanted_; }

  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job> jobs_, under_way_;  ///< The decoder has the second ones. Lists: from one to the other without memory.
  std::vector<Bytes> spare_;
  std::uint64_t last_number_ = 0, wanted_ = 0;
  bool ends_ = false;
  std::optional<Decoder> decoder_;  ///< The thread's.
  VASurfaceID last_target_ = VA_INVALID_SURFACE;
  std::thread thread_;
};

/// Ends a job's work without a picture.
void end_work(const DecodeQueue::Job& job, VAStatus status) noexcept;

}  // namespace tenon::va
