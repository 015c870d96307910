// SPDX-License-Identifier: Apache-2.0
// Pictures that wait for a decoder, and the thread that decodes them in their order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
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
  };

  /// @errors as Decoder.
  explicit DecodeQueue(const char* decoder) : decoder_(decoder) {}
  /// Decodes what is left: its surfaces may be waited for.
  ~DecodeQueue();
  DecodeQueue(const DecodeQueue&) = delete;
  DecodeQueue& operator=(const DecodeQueue&) = delete;

  /// The job's surfaces have begun their work, which ends when this decoded them; also on each failure.
  /// Waits while many pictures wait already. @return VA_STATUS_ERROR_HW_BUSY: it waited too long.
  VAStatus push(Job job) noexcept;
  /// Memory for a stream, which a job before may have had.
  Bytes spare();

 private:
  static constexpr std::size_t kMost = 8;

  void run() noexcept;
  void decode(Job& job) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::vector<Bytes> spare_;
  bool ends_ = false;
  Decoder decoder_;  ///< The thread's.
  std::thread thread_;
};

/// Ends a job's work without a picture.
void end_work(const DecodeQueue::Job& job, VAStatus status) noexcept;

}  // namespace tenon::va
