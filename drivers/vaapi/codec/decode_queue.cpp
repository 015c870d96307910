// SPDX-License-Identifier: Apache-2.0
// One thread for each decoder that has pictures. Results go into surfaces, which tell when they are done.
#include <tenon/drivers/vaapi/codec/decode_queue.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <utility>

#include <tenon/core/timeline.hpp>

#include <tenon/drivers/vaapi/objects/convert.hpp>

namespace tenon::va {
namespace {

constexpr std::int64_t kAlignment_px = 128;

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
  const auto access = SurfaceAccess::of_worker(target, Access::kWrite);
  const Pixels from = pixels_of(frame), to = target.pixels();
  const int width = std::min(from.width_px, to.width_px), height = std::min(from.height_px, to.height_px);
  return convert(crop(to, 0, 0, width, height), crop(from, 0, 0, width, height)) ? VA_STATUS_SUCCESS
                                                                                 : VA_STATUS_ERROR_DECODING_ERROR;
}

}  // namespace

void end_work(const DecodeQueue::Job& job, VAStatus status) noexcept {
  for (const Ref<Surface>& surface : {job.target, job.shown})
    if (surface) surface->end_work(status);
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
    if (changed_.wait_until(lock, default_deadline(), [&] { return jobs_.size() < kMost; })) {
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      jobs_.push_back(std::move(job));
      changed_.notify_all();
      return VA_STATUS_SUCCESS;
    }
  } catch (const std::exception&) {
    status = VA_STATUS_ERROR_ALLOCATION_FAILED;
  }
  end_work(job, VA_STATUS_ERROR_DECODING_ERROR);
  return status;
}

void DecodeQueue::run() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    changed_.notify_all();
    decode(job);
    job.target = job.shown = {};
    lock.lock();
    if (spare_.size() < kMost) spare_.push_back(std::move(job.stream));
  }
}

void DecodeQueue::decode(Job& job) noexcept {
  VAStatus status = VA_STATUS_ERROR_DECODING_ERROR;
  VAStatus shown = VA_STATUS_ERROR_DECODING_ERROR;
  try {
    // A surface has room for its picture; libavcodec aligns, and a wrong size would cost memory and time.
    const auto most_px =
        (std::int64_t{job.target->width_px} + kAlignment_px) * (std::int64_t{job.target->height_px} + kAlignment_px);
    if (const AVFrame* frame = decoder_.decode(job.stream, most_px)) {
      if (job.shown) shown = store(*job.shown, *frame);
      status = store(*job.target, *frame);
    }
  } catch (const std::exception&) {  // No memory: the picture is lost, as a damaged one is.
  }
  if (job.shown) job.shown->end_work(shown);
  job.target->end_work(status);
}

}  // namespace tenon::va
