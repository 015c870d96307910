// SPDX-License-Identifier: Apache-2.0
// Divides attention into tasks: rows of queries, and parts of the keys where rows alone do not occupy all threads.
#include <tenon/engine/kernels/attention/attention_tasks.hpp>

#include <atomic>
#include <cmath>
#include <limits>

#include <tenon/engine/kernels/attention/attention_rows.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {
namespace {

/// Up to this many rows, vectors of queries would be too empty. Measured on AVX-512 with heads of 64: at 12 of 16.
std::size_t few_rows_at_most() { return tile_vector() * 5 / 8; }
// Keys of a part: fewer are not worth a task.
constexpr std::size_t kLeastKeys = 256;
// Products in the time that waking a thread takes.
constexpr std::size_t kParallelProducts = std::size_t{128} * 1024;
constexpr std::size_t kCacheLine = 16;  // floats
constexpr float kNone = -std::numeric_limits<float>::infinity();

std::size_t divided(std::size_t count, std::size_t by) { return (count + by - 1) / by; }
std::size_t bytes_of(ElementType type) { return size_bytes(type); }

/// Scales of the matrix that begins `first` numbers behind the base.
const float* scales_at(const std::byte* base, const Attention::Scales& scales, std::size_t first) {
  if (scales.group == 0) return nullptr;
  return reinterpret_cast<const float*>(base + scales.offset) + first / scales.group * 2;
}

bool share_keys(const Attention::Head& a, const Attention::Head& b) { return a.k == b.k && a.v == b.v; }

/// Rows per task, so that there are tasks for all threads if rows suffice.
std::size_t rows_per_task(std::size_t rows, std::size_t groups, std::size_t threads) {
  const std::size_t most = tile_rows(), vector = tile_vector();
  // Tiles of the same size where that saves none.
  std::size_t each = divided(divided(rows, divided(rows, most)), vector) * vector;
  while (each > vector && groups * divided(rows, each) < threads) each -= vector;
  return each;
}

}  // namespace

AttentionTasks::AttentionTasks(Attention what, std::size_t threads) : what_(std::move(what)) {
  const auto& heads = what_.heads;
  std::vector<Rows> groups;
  std::size_t most_rows = 0;
  for (std::size_t head = 0; head < heads.size(); ++head) {
    if (groups.empty() || !share_keys(heads[head], heads[groups.back().head])) groups.push_back({head, 0, 0});
    groups.back().count += what_.queries;
    most_rows = std::max(most_rows, groups.back().count);
  }
  is_few_ = most_rows <= few_rows_at_most();
  const std::size_t products = heads.size() * what_.queries * what_.keys * (what_.depth + what_.width),
                    bytes = groups.size() * what_.keys *
                            (what_.depth * bytes_of(what_.k_type) + what_.width * bytes_of(what_.v_type));
  const bool is_small = is_few_ ? bytes < kParallelBytes : products < kParallelProducts;
  if (is_small) threads = 1;
  const std::size_t each = is_few_ ? most_rows : rows_per_task(most_rows, groups.size(), threads);
  std::size_t before = 0;
  for (const Rows& group : groups)
    for (std::size_t first = 0; first < group.count; first += each) {
      rows_.push_back({group.head, first, std::min(each, group.count - first)});
      rows_before_.push_back(before);
      before += rows_.back().count;
    }
  // Two parts for each thread: their times differ.
  if (threads > 1 && rows_.size() < 2 * threads)
    splits_ = std::clamp<std::size_t>(divided(2 * threads, rows_.size()), 1,
                                      std::max<std::size_t>(what_.keys / kLeastKeys, 1));
  workers_ = std::min(threads, task_count());
  worker_floats_ = divided(is_few_ ? few_scratch_floats(what_) : tile_scratch_floats(what_), kCacheLine) * kCacheLine;
  scratch_floats_ = workers_ * worker_floats_ + (splits_ > 1 ? before * splits_ * partial_floats(what_) : 0);
}

void AttentionTasks::run_task(std::size_t task, const std::array<const std::byte*, 5>& in, std::byte* out, float scale,
                              float* scratch, float* parts) const {
  const std::size_t index = task / splits_, split = task % splits_;
  const Rows& mine = rows_[index];
  AttentionRows rows;
  rows.count = mine.count;
  rows.scale = what_.scale * scale;
  const std::size_t mask_bytes = what_.mask == Attention::Mask::kAdded ? 4 : 1;
  for (std::size_t i = 0; i < mine.count; ++i) {
    const std::size_t row = (mine.first + i) % what_.queries;
    const Attention::Head& head = what_.heads[mine.head + (mine.first + i) / what_.queries];
    rows.q[i] = in[0] + (head.q + row * what_.q_row) * bytes_of(what_.q_type);
    rows.mask[i] = in[3] + (head.mask + row * what_.mask_row) * mask_bytes;
    rows.out[i] = out + (head.out + row * what_.out_row) * bytes_of(what_.out_type);
    rows.sees[i] = row + 1;
    const bool has_sink = what_.has_sinks && split == 0;  // Parts are added up.
    const float sink = has_sink ? reinterpret_cast<const float*>(in[4])[head.sink + row * what_.sink_row] : kNone;
    rows.greatest[i] = std::isnan(sink) ? kNone : sink;
    rows.sum[i] = sink == kNone ? 0 : sink - sink + 1;  // NaN of NaN and of infinity, as a softmax has it.
  }
  const Attention::Head& head = what_.heads[mine.head];
  rows.k = in[1] + head.k * bytes_of(what_.k_type);
  rows.v = in[2] + head.v * bytes_of(what_.v_type);
  rows.k_scales = scales_at(in[1], what_.k_scales, head.k);
  rows.v_scales = scales_at(in[2], what_.v_scales, head.v);
  const std::size_t each = divided(divided(what_.keys, splits_), 64) * 64;
  rows.begin = std::min(split * each, what_.keys);
  rows.end = std::min(rows.begin + each, what_.keys);
  if (splits_ > 1) rows.partial = parts + (rows_before_[index] * splits_ + split * mine.count) * partial_floats(what_);
  if (is_few_)
    attend_few(what_, rows, scratch);
  else
    attend_tile(what_, rows, scratch);
}

void AttentionTasks::merge(std::byte* out, float* parts) const {
  const std::size_t floats = partial_floats(what_);
  parallel(rows_.size(), what_.heads.size() * what_.queries * splits_ * floats * sizeof(float),
           [&](std::size_t begin, std::size_t end) {
             for (std::size_t index = begin; index < end; ++index) {
               const Rows& mine = rows_[index];
               for (std::size_t i = 0; i < mine.count; ++i) {
                 const std::size_t row = (mine.first + i) % what_.queries;
                 const Attention::Head& head = what_.heads[mine.head + (mine.first + i) / what_.queries];
                 merge_row(what_, parts + (rows_before_[index] * splits_ + i) * floats, splits_, mine.count * floats,
                           out + (head.out + row * what_.out_row) * bytes_of(what_.out_type));
               }
             }
           });
}

void AttentionTasks::run(const void* q, const void* k, const void* v, const void* mask, const void* sinks, void* out,
                         void* scratch, float scale) const {
  const std::array<const std::byte*, 5> in{static_cast<const std::byte*>(q), static_cast<const std::byte*>(k),
                                           static_cast<const std::byte*>(v), static_cast<const std::byte*>(mask),
                                           static_cast<const std::byte*>(sinks)};
  auto* const to = static_cast<std::byte*>(out);
  auto* const memory = static_cast<float*>(scratch);
  float* const parts = memory + workers_ * worker_floats_;
  // Each worker has memory of its own and takes the next task: with causal masks, times differ widely.
  std::atomic<std::size_t> next{0};
  const auto work = [&](std::size_t worker) {
    for (std::size_t task = next.fetch_add(1, std::memory_order_relaxed); task < task_count();
         task = next.fetch_add(1, std::memory_order_relaxed))
      run_task(task, in, to, scale, memory + worker * worker_floats_, parts);
  };
  if (workers_ == 1) {
    work(0);
  } else {
    parallel_ranges(
        workers_, 1,
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t worker = begin; worker < end; ++worker) work(worker);
        },
        Split::kByGrain);
  }
  if (splits_ > 1) merge(to, parts);
}

}  // namespace tenon::inline v1::engine::kernels
