// SPDX-License-Identifier: Apache-2.0
// Queue of pictures for a decoder, and the thread that decodes them in order.
#pragma once

#include <atomic>
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
    Ref<Surface> target, shown;  ///< `shown` gets the same picture; it may be null.
    bool may_run_ahead = false;  ///< StreamWriter::may_run_ahead().
    /// vaEndPicture waits for the picture at once. If that holds for the first job, slice threads are used, which are
    /// faster then.
    bool is_waited_for = false;
    std::uint64_t number = 0;  ///< Assigned by the queue.
  };

  /// @param decoder  Name of an existing decoder.
  explicit DecodeQueue(const char* decoder) : name_(decoder) { spare_.reserve(kMax); }
  /// Decodes the remaining jobs, because clients may wait for their surfaces.
  ~DecodeQueue();
  DecodeQueue(const DecodeQueue&) = delete;
  DecodeQueue& operator=(const DecodeQueue&) = delete;

  /// Adds a job whose surfaces have begun their work; the work ends when the picture is decoded, and also on any
  /// failure. Blocks while too many pictures are queued. @return VA_STATUS_ERROR_HW_BUSY: it waited too long.
  VAStatus push(Job job) noexcept;
  /// A client waits for a surface: its picture is decoded even if no further picture follows.
  void hurry(const Surface& wanted) noexcept;
  /// Decodes all queued pictures even if no further picture follows.
  void hurry() noexcept;
  /// Whether, since the last call, a job was lost before the decoder got it.
  bool has_lost() noexcept { return lost_.exchange(false); }
  /// Memory for a stream, reused from an earlier job if possible.
  Bytes spare();

 private:
  static constexpr std::size_t kMax = 8;

  void run() noexcept;
  bool needs_other_decoder() const noexcept;
  void begin(std::unique_lock<std::mutex>& lock) noexcept;
  void finish(std::unique_lock<std::mutex>& lock) noexcept;
  bool is_wanted() const noexcept { return !under_way_.empty() && under_way_.front().number <= wanted_; }

  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job> jobs_, under_way_;  ///< Queued jobs, and those in the decoder. std::list, because splice allocates
                                     ///< nothing.
  std::vector<Bytes> spare_;
  std::uint64_t last_number_ = 0, wanted_ = 0;
  bool ends_ = false;
  std::atomic<bool> lost_{false};
  std::optional<Decoder> decoder_;  ///< Used by the thread only.
  VASurfaceID last_target_ = VA_INVALID_SURFACE;
  std::thread thread_;
};

/// Ends a job's work without a picture.
void end_work(const DecodeQueue::Job& job, VAStatus status) noexcept;

}  // namespace tenon::va
