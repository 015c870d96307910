// SPDX-License-Identifier: Apache-2.0
// Worker threads of a compiled model.
#include <tenon/runtime/request/executor.hpp>

#include <system_error>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {

namespace {
/// The queue whose worker this thread is.
thread_local const void* worker_of = nullptr;
}  // namespace

Executor::Executor(std::size_t streams) : streams_(streams), queue_(std::make_shared<Queue>()) {}

Executor::~Executor() {
  {
    std::lock_guard lock(queue_->mutex);
    queue_->stop.store(true, std::memory_order_relaxed);
  }
  queue_->changed.notify_all();
  for (std::thread& worker : workers_) {
    // The last reference to a model may go in a callback, that is on one of these very threads.
    if (worker.get_id() == std::this_thread::get_id())
      worker.detach();
    else
      worker.join();
  }
}

void Executor::start_workers() {
  std::lock_guard lock(start_mutex_);
  const std::size_t wanted = stream_count();
  if (started_.load(std::memory_order_relaxed) >= wanted) return;
  try {
    while (workers_.size() < wanted) {
      const int stream = static_cast<int>(workers_.size());
      workers_.emplace_back([queue = queue_, stream] { work(queue, stream); });
    }
  } catch (const std::system_error& error) {
    // Fewer streams than asked for still make progress; none do not.
    if (workers_.empty()) {
      throw Error(Code::kResourceExhausted,
                  "cannot start a worker thread for asynchronous inference: " + error.code().message() +
                      "; use infer(), or fewer threads",
                  "pthread_create", error.code().value());
    }
  }
  started_.store(wanted, std::memory_order_release);
}

void Executor::post(Task& task) {
  if (started_.load(std::memory_order_acquire) < stream_count()) start_workers();
  bool wake = false;
  {
    std::lock_guard lock(queue_->mutex);
    task.next_ = nullptr;
    if (queue_->tail)
      queue_->tail->next_ = &task;
    else
      queue_->head = &task;
    queue_->tail = &task;
    queue_->length.fetch_add(1, std::memory_order_relaxed);
    wake = queue_->sleepers > 0;
  }
  if (wake) queue_->changed.notify_one();
}

bool Executor::take_if_idle(Task& task) {
  if (queue_->running.load(std::memory_order_relaxed) != 0) return false;
  std::lock_guard lock(queue_->mutex);
  if (queue_->head != &task || queue_->tail != &task || queue_->running.load(std::memory_order_relaxed) != 0)
    return false;
  queue_->head = queue_->tail = nullptr;
  queue_->length.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

bool Executor::take(Task& task) {
  std::lock_guard lock(queue_->mutex);
  Task* before = nullptr;
  for (Task* at = queue_->head; at; before = at, at = at->next_) {
    if (at != &task) continue;
    (before ? before->next_ : queue_->head) = at->next_;
    if (queue_->tail == at) queue_->tail = before;
    queue_->length.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

bool Executor::is_worker() const noexcept { return worker_of == queue_.get(); }

void Executor::work(const std::shared_ptr<Queue>& queue, int stream) noexcept {
  worker_of = queue.get();
  for (;;) {
    spin_until([&] {
      return queue->length.load(std::memory_order_relaxed) > 0 || queue->stop.load(std::memory_order_relaxed);
    });
    Task* task = nullptr;
    {
      std::unique_lock lock(queue->mutex);
      while (!queue->head && !queue->stop.load(std::memory_order_relaxed)) {
        ++queue->sleepers;
        queue->changed.wait(lock);
        --queue->sleepers;
      }
      task = queue->head;
      if (!task) return;
      queue->head = task->next_;
      if (!queue->head) queue->tail = nullptr;
      queue->length.fetch_sub(1, std::memory_order_relaxed);
      queue->running.fetch_add(1, std::memory_order_relaxed);
    }
    task->execute(stream);
    queue->running.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace v1
}  // namespace tenon
