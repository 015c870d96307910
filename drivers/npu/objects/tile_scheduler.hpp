// SPDX-License-Identifier: Apache-2.0
// The device's compute threads: one per tile, shared by its queues in order of priority.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/drivers/npu/objects/wait.hpp>  // IWYU pragma: export
#include <tenon/engine/engine.hpp>

namespace tenon::npu {

enum class Priority : std::uint8_t { kBackground, kLow, kNormal, kHigh };

/// A device has one worker per tile, but no more than this process has CPUs. A run takes as many as
/// its graph was compiled for. A run that does not fit beside the running ones waits, ordered by
/// priority, then by arrival.
/// @thread all members from any thread.
class TileScheduler {
 public:
  /// @param by_tiles  Whether runs share the tiles themselves, as where runs are paced, and not threads, of which there may be fewer.
  explicit TileScheduler(std::uint32_t tiles, bool by_tiles = false);
  ~TileScheduler();
  TileScheduler(const TileScheduler&) = delete;
  TileScheduler& operator=(const TileScheduler&) = delete;

  int threads() const noexcept { return threads_; }
  /// Number of threads for a run on this many tiles (0: all): their share if there are fewer threads than tiles.
  int threads_for(std::uint32_t tiles) const noexcept;

  /// Waits for its turn, then calls `body` with workers limited to `tiles` (0: all). GraphRun::execute
  /// calls it in the thread of the queue, at the queue's priority. Allocates nothing after the first
  /// run with that many tiles beside as many others.
  template <class Body>
  void run(std::uint32_t tiles, Body&& body) {
    const int threads = threads_for(tiles);
    const Turn turn(*this, threads);
    const Arena arena(*this, threads);
    body(*arena.workers);
  }

  /// Takes all workers if none is in use or waited for; the thread's runs then start at once while this lives.
  class Reservation {
   public:
    explicit Reservation(TileScheduler& workers) noexcept : workers_(workers.reserve() ? &workers : nullptr) {}
    ~Reservation() {
      if (workers_) workers_->release();
    }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    explicit operator bool() const noexcept { return workers_ != nullptr; }

   private:
    TileScheduler* workers_;
  };

  /// Sets the priority of the calling thread's future runs.
  static void set_thread_priority(Priority priority) noexcept;

 private:
  class Turn {
   public:
    Turn(TileScheduler& workers, int threads) : workers_(workers), threads_(threads) { workers_.begin(threads_); }
    ~Turn() { workers_.end(threads_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    TileScheduler& workers_;
    int threads_;
  };
  /// Workers for one run: concurrent runs in one arena would take turns.
  struct Arena {
    Arena(TileScheduler& given, int threads) : scheduler(given), workers(scheduler.take_arena(threads)) {}
    ~Arena() { scheduler.give_back(std::move(workers)); }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    TileScheduler& scheduler;
    std::unique_ptr<engine::Workers> workers;
  };
  /// The arenas for one number of threads.
  struct Arenas {
    std::vector<std::unique_ptr<engine::Workers>> idle;  ///< Its capacity is at least `count`.
    std::size_t count = 0;                               ///< Idle ones and those in use.
  };
  struct Waiting;

  bool reserve() noexcept;
  void release() noexcept;
  void begin(int threads);
  void end(int threads) noexcept;
  std::unique_ptr<engine::Workers> take_arena(int threads);
  void give_back(std::unique_ptr<engine::Workers> arena) noexcept;
  void admit() noexcept;  ///< Requires mutex_.

  const std::uint32_t tiles_;
  const int threads_;  ///< Or tiles, where runs share these.
  const int workers_;  ///< The most threads of one run.
  std::mutex mutex_;
  int free_;
  Waiting* first_ = nullptr;    ///< In admission order; each entry is on its thread's stack.
  std::vector<Arenas> arenas_;  ///< By number of threads; created when needed.
};

}  // namespace tenon::npu
