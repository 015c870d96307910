// SPDX-License-Identifier: Apache-2.0
// One thread per decoder with pictures. Results are written to surfaces, whose work then ends.
#include <tenon/drivers/vaapi/codec/decode_queue.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include <tenon/core/timeline.hpp>

#include <tenon/drivers/vaapi/objects/convert.hpp>

namespace tenon::va {
namespace {

Pixels pixels_of(const AVFrame& frame) {
  Pixels pixels{static_cast<AVPixelFormat>(frame.format), frame.width, frame.height, {}, {}};
  for (std::size_t plane = 0; plane < 4; ++plane) {
    pixels.data[plane] = frame.data[plane];
    pixels.pitch[plane] = frame.linesize[plane];
  }
  return pixels;
}

VAStatus store(const Surface& target, const AVFrame& frame) {
  if (target.read_only()) return VA_STATUS_ERROR_DECODING_ERROR;
  const Pixels from = pixels_of(frame), to = target.pixels();
  const int width = std::min(from.width_px, to.width_px), height = std::min(from.height_px, to.height_px);
  return convert(crop(to, 0, 0, width, height), crop(from, 0, 0, width, height)) ? VA_STATUS_SUCCESS
                                                                                 : VA_STATUS_ERROR_DECODING_ERROR;
}

template <class Visit>
void each_surface(const DecodeQueue::Job& job, Visit visit) {
  for (const Ref<Surface>* surface : {&job.target, &job.shown})
    if (*surface) visit(**surface);
}

/// From before the decoder writes to surfaces until nothing more is stored there.
void begin_access(const DecodeQueue::Job& job) noexcept {
  each_surface(job, [](const Surface& surface) { surface.begin(Access::kReadWrite); });
}
void end_access(const DecodeQueue::Job& job) noexcept {
  each_surface(job, [](const Surface& surface) { surface.end(Access::kReadWrite); });
}

}  // namespace

void end_work(const DecodeQueue::Job& job, VAStatus status) noexcept {
  each_surface(job, [&](Surface& surface) { surface.end_work(status); });
}

DecodeQueue::~DecodeQueue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Bytes DecodeQueue::spare() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return {};
  Bytes bytes = std::move(spare_.back());
  spare_.pop_back();
  bytes.clear();
  return bytes;
}

VAStatus DecodeQueue::push(Job job) noexcept {
  VAStatus status = VA_STATUS_ERROR_HW_BUSY;
  try {
    std::unique_lock lock(mutex_);
    if (changed_.wait_until(lock, default_deadline(), [&] { return jobs_.size() < kMax; })) {
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      job.number = ++last_number_;
      jobs_.push_back(std::move(job));
      changed_.notify_all();
      return VA_STATUS_SUCCESS;
    }
  } catch (const std::exception&) {
    status = VA_STATUS_ERROR_ALLOCATION_FAILED;
  }
  lost_ = true;
  end_work(job, VA_STATUS_ERROR_DECODING_ERROR);
  return status;
}

void DecodeQueue::hurry(const Surface& wanted) noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto* jobs : {&under_way_, &jobs_})
    for (const Job& job : *jobs)
      if (job.target.get() == &wanted || job.shown.get() == &wanted) wanted_ = std::max(wanted_, job.number);
  changed_.notify_all();
}

void DecodeQueue::hurry() noexcept {
  const std::lock_guard lock(mutex_);
  wanted_ = last_number_;
  changed_.notify_all();
}

void DecodeQueue::run() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !jobs_.empty() || is_wanted(); });
    if (!jobs_.empty() && !needs_other_decoder()) {
      begin(lock);
    } else if (!under_way_.empty()) {
      lock.unlock();
      decoder_->push();
      lock.lock();
    } else if (!jobs_.empty()) {
      decoder_.reset();
    } else {
      return;
    }
    finish(lock);
  }
}

/// Whether a new sequence begins in which the decoder must not run ahead.
bool DecodeQueue::needs_other_decoder() const noexcept {
  return decoder_ && decoder_->runs_ahead() && !jobs_.front().may_run_ahead;
}

/// Gives the decoder the next picture.
void DecodeQueue::begin(std::unique_lock<std::mutex>& lock) noexcept {
  under_way_.splice(under_way_.end(), jobs_, jobs_.begin());
  Job& job = under_way_.back();
  lock.unlock();
  changed_.notify_all();
  bool begun = false;
  begin_access(job);
  try {
    if (!decoder_) decoder_.emplace(name_.c_str(), job.may_run_ahead && !job.is_waited_for);
    // Both fields of a frame are decoded to one surface.
    decoder_->give(job.stream, job.target, std::exchange(last_target_, job.target->id()) == job.target->id());
    begun = true;
  } catch (const std::exception&) {  // Out of memory: the picture is lost, like a damaged one.
    lost_ = true;
    end_access(job);
    end_work(job, VA_STATUS_ERROR_DECODING_ERROR);
  }
  lock.lock();
  if (spare_.size() < kMax) spare_.push_back(std::move(job.stream));
  if (!begun) under_way_.pop_back();
}

/// Stores the finished pictures of the decoder.
void DecodeQueue::finish(std::unique_lock<std::mutex>& lock) noexcept {
  while (!under_way_.empty()) {
    lock.unlock();
    const auto result = decoder_ ? decoder_->take() : std::nullopt;
    if (result) {
      const Job& job = under_way_.front();  // Only this thread takes from it.
      VAStatus status = VA_STATUS_ERROR_DECODING_ERROR, shown = VA_STATUS_ERROR_DECODING_ERROR;
      try {
        if (result->frame && job.shown) shown = store(*job.shown, *result->frame);
        if (result->frame) status = store(*job.target, *result->frame);
      } catch (const std::exception&) {
      }
      end_access(job);
      if (job.shown) job.shown->end_work(shown);
      job.target->end_work(status);
    }
    lock.lock();
    if (!result) return;
    std::list<Job> done;
    done.splice(done.begin(), under_way_, under_way_.begin());
    lock.unlock();
    done.clear();  // This may destroy the surface.
    lock.lock();
  }
}

}  // namespace tenon::va
