// SPDX-License-Identifier: Apache-2.0
// Attention divided into tasks, and these among threads.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <tenon/engine/kernels/attention/attention.hpp>

namespace tenon::inline v1::engine::kernels {

/// Attention divided into tasks for `threads`.
class AttentionTasks {
 public:
  AttentionTasks(Attention what, std::size_t threads);
  /// Memory that run() needs, aligned as plan memory is.
  std::size_t scratch_bytes() const { return scratch_floats_ * sizeof(float); }
  /// @param mask, sinks  Null where there is none. @param scale  A further factor of all scores.
  /// @thread any number at once, each with its own scratch.
  /// @cost Reads keys and values once per 48 queries, or once in all for few of them; once for all heads that share them.
  void run(const void* q, const void* k, const void* v, const void* mask, const void* sinks, void* out, void* scratch,
           float scale = 1) const;

 private:
  struct Rows {
    std::size_t head = 0;              ///< The first that shares the keys.
    std::size_t first = 0, count = 0;  ///< Rows of it and the heads behind it.
  };
  std::size_t task_count() const { return rows_.size() * splits_; }
  void run_task(std::size_t task, const std::array<const std::byte*, 5>& in, std::byte* out, float scale,
                float* scratch, float* parts) const;
  void merge(std::byte* out, float* parts) const;

  Attention what_;
  std::vector<Rows> rows_;
  std::vector<std::size_t> rows_before_;  ///< Each of rows_.
  std::size_t splits_ = 1;                ///< Parts of the keys.
  bool is_few_ = false;
  std::size_t workers_ = 1, worker_floats_ = 0, scratch_floats_ = 0;
};

}  // namespace tenon::inline v1::engine::kernels
