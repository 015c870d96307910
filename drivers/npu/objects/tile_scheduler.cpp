// SPDX-License-Identifier: Apache-2.0
// Shares a device's threads among runs: a counting semaphore with a wait list ordered by priority.
#include <algorithm>

#include <tenon/drivers/npu/objects/tile_scheduler.hpp>

namespace tenon::npu {
namespace {

thread_local Priority thread_priority = Priority::kNormal;
thread_local const TileScheduler* reserved = nullptr;  ///< The scheduler that the calling thread has reserved.

}  // namespace

struct TileScheduler::Waiting {
  Priority priority;
  int threads;
  Futex admitted;
  Waiting* next = nullptr;
};

TileScheduler::TileScheduler(std::uint32_t tiles, bool by_tiles)
    : tiles_(std::max(tiles, 1u)),
      threads_(std::max(
          1, std::min(static_cast<int>(std::min(tiles, 1024u)), by_tiles ? 1024 : engine::Workers::available_cpus()))),
      workers_(std::min(threads_, engine::Workers::available_cpus())),
      free_(threads_),
      arenas_(static_cast<std::size_t>(threads_) + 1) {}

TileScheduler::~TileScheduler() = default;

void TileScheduler::set_thread_priority(Priority priority) noexcept { thread_priority = priority; }

int TileScheduler::threads_for(std::uint32_t tiles) const noexcept {
  if (tiles == 0 || tiles >= tiles_) return threads_;
  return static_cast<int>((std::uint64_t{tiles} * static_cast<std::uint32_t>(threads_) + tiles_ - 1) / tiles_);
}

bool TileScheduler::reserve() noexcept {
  std::lock_guard lock(mutex_);
  if (first_ || free_ != threads_) return false;
  free_ = 0;
  reserved = this;
  return true;
}

void TileScheduler::release() noexcept {
  reserved = nullptr;
  end(threads_);
}

void TileScheduler::begin(int threads) {
  if (reserved == this) return;
  Waiting self{thread_priority, threads, Futex(0)};
  {
    std::lock_guard lock(mutex_);
    if (!first_ && free_ >= threads) {
      free_ -= threads;
      return;
    }
    Waiting** place = &first_;
    while (*place && (*place)->priority >= self.priority) place = &(*place)->next;
    self.next = *place;
    *place = &self;
  }
  // This wait ends: running work ends, and admitted work waits for nothing else.
  self.admitted.wait([](std::uint32_t value) { return value != 0; }, Deadline(), 0);
  std::lock_guard lock(mutex_);  // Until the admitting thread is done with `self`.
}

void TileScheduler::end(int threads) noexcept {
  if (reserved == this) return;
  std::lock_guard lock(mutex_);
  free_ += threads;
  admit();
}

void TileScheduler::admit() noexcept {
  // The first waiter goes first even if a later one would fit now; it would starve otherwise.
  while (first_ && free_ >= first_->threads) {
    Waiting* admitted = first_;
    first_ = admitted->next;
    free_ -= admitted->threads;
    admitted->admitted.store(1);
  }
}

std::unique_ptr<engine::Workers> TileScheduler::take_arena(int threads) {
  threads = std::min(threads, workers_);
  {
    std::lock_guard lock(mutex_);
    Arenas& arenas = arenas_[static_cast<std::size_t>(threads)];
    if (!arenas.idle.empty()) {
      std::unique_ptr<engine::Workers> arena = std::move(arenas.idle.back());
      arenas.idle.pop_back();
      return arena;
    }
    arenas.idle.reserve(arenas.count + 1);
    ++arenas.count;
  }
  return std::make_unique<engine::Workers>(threads);
}

void TileScheduler::give_back(std::unique_ptr<engine::Workers> arena) noexcept {
  std::lock_guard lock(mutex_);
  arenas_[static_cast<std::size_t>(arena->threads())].idle.push_back(std::move(arena));
}

}  // namespace tenon::npu
