// SPDX-License-Identifier: Apache-2.0
// A queue's thread: sleeps on a word that counts submissions, runs lists, signals fences.
#include <pthread.h>
#include <algorithm>

#include <tenon/drivers/npu/instrument/instrument.hpp>
#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/run/executor.hpp>

namespace tenon::npu {
namespace {

constexpr std::size_t kFirstRoom = 64;
/// How often a command that waits for an event checks whether its queue is being destroyed.
constexpr std::uint64_t kEventSliceNs = 10'000'000;

/// Lists are short if their last run took less.
constexpr std::uint64_t kShortNs = 10'000;
constexpr std::uint32_t kTimedRuns = 16;
/// How long the thread leaves a short list to a caller that may start to wait for it.
constexpr std::uint64_t kGraceNs = 1'000;
/// While waiting callers run their own submissions, the thread checks for work at this interval. After kIdleLooks
/// checks without any, it sleeps until it is woken.
constexpr std::uint64_t kLookNs = 50'000;
constexpr int kIdleLooks = 20;

/// A thread without work ends after this time; starting another costs tens of microseconds.
constexpr std::uint64_t kIdleNs = 1'000'000'000;
/// Failures kept for wait(); beyond that, the first ones and the latest are kept.
constexpr std::size_t kKeptFailures = 64;

bool reached(std::uint32_t count, std::uint32_t target) { return static_cast<std::int32_t>(count - target) >= 0; }

bool is_short(const CommandList& list) noexcept {
  return list.last_run_ns() < kShortNs && !list.may_run_long() &&
         std::ranges::all_of(list.commands(), [](const auto& command) { return command->waits.empty(); });
}

}  // namespace

Executor::Executor(Ref<Device> device, Priority priority, std::uint64_t spin_ns)
    : device_(std::move(device)), priority_(priority), spin_ns_(spin_ns), is_instrumented_(is_instrumented()) {
  failures_.reserve(kKeptFailures);
}

Executor::~Executor() {
  stop_waiting();
  if (!thread_.joinable()) return;
  bool has_thread = false;
  {
    std::lock_guard lock(mutex_);
    has_thread = has_thread_;
  }
  Item end;
  end.is_end = true;
  while (has_thread && !push({&end, 1})) std::this_thread::yield();  // Fails without memory; room appears as items run.
  thread_.join();
}

void Executor::stop_waiting() noexcept {
  std::uint64_t not_yet = 0;
  stop_ns_.compare_exchange_strong(not_yet, now_ns());
}

bool Executor::must_stop(const CommandList* list) const noexcept {
  if (list && list->is_cancelled()) return true;
  const std::uint64_t stopped = stop_ns_.load(std::memory_order_relaxed);
  return stopped != 0 && now_ns() - stopped > kStopGraceNs;
}

bool Executor::Item::uses(const Allocation& memory) const {
  const auto uses_it = [&](const std::unique_ptr<Command>& each) { return each && each->uses(memory); };
  return uses_it(command) || (list && std::ranges::any_of(list->commands(), uses_it));
}

bool Executor::make_room(std::size_t count) {
  if (count_ + count <= ring_.size()) return true;
  std::vector<Item> larger(std::max(kFirstRoom, 2 * (count_ + count)));
  for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move(ring_[(first_ + i) % ring_.size()]);
  ring_ = std::move(larger);
  first_ = 0;
  return true;
}

bool Executor::push(std::span<Item> items) try {
  bool all_short = true;
  {
    std::lock_guard lock(mutex_);
    make_room(items.size());
    for (const Item& item : items) all_short = all_short && item.list && is_short(*item.list);
    if (!has_thread_) {
      if (thread_.joinable()) thread_.join();  // It ended after a time without work.
      thread_ = std::thread(&Executor::work, this);
      has_thread_ = true;
    }
    for (Item& item : items) {
      item.sequence = sequence_.load(std::memory_order_relaxed) + 1;
      sequence_.store(item.sequence, std::memory_order_relaxed);
      if (item.outcome) item.outcome->sequence = item.sequence;
      ring_[(first_ + count_++) % ring_.size()] = std::move(item);
    }
  }
  pushed_.add(static_cast<std::uint32_t>(items.size()));
  if (!all_short) not_short_.add(1);
  return true;
} catch (...) {
  return false;
}

bool Executor::submit(Submission&& submission) try {
  const std::size_t count = submission.lists.size() + (submission.before ? 1 : 0) + (submission.after ? 1 : 0);
  const auto finish = [&](Item& item) {
    item.fence = std::move(submission.fence);
    item.token = submission.token;
    item.outcome = submission.outcome;
  };
  if (count == 1) {
    Item item;
    if (!submission.lists.empty()) item.list = Ref<CommandList>::share(submission.lists[0]);
    item.command = std::move(submission.before ? submission.before : submission.after);
    finish(item);
    return push({&item, 1});
  }
  std::vector<Item> items(count);
  auto item = items.begin();
  if (submission.before) (item++)->command = std::move(submission.before);
  for (CommandList* list : submission.lists) (item++)->list = Ref<CommandList>::share(list);
  if (submission.after) item->command = std::move(submission.after);
  for (Item& each : items) each.is_first = each.is_last = false;
  items.front().is_first = items.back().is_last = true;
  finish(items.back());
  return push(items);
} catch (const std::bad_alloc&) {
  return false;
}

ze_result_t Executor::wait(const Outcome& outcome) noexcept {
  while (!reached(done_.load(), outcome.sequence) && help()) {
  }
  done_.wait([&](std::uint32_t done) { return reached(done, outcome.sequence); }, Deadline(), default_spin_ns());
  return outcome.result;
}

ze_result_t Executor::wait(Deadline deadline) noexcept {
  waiters_.fetch_add(1);  // Before told_ is read: a caller that erases failures must see this wait.
  const std::uint32_t from = told_.load(), target = sequence_.load();
  while (!reached(done_.load(), target) && !deadline.passed() && help()) {
  }
  const bool in_time =
      done_.wait([target](std::uint32_t done) { return reached(done, target); }, deadline, default_spin_ns());
  ze_result_t result = in_time ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
  if (in_time && failure_count_.load() != 0) {
    std::lock_guard lock(mutex_);
    result = first_untold(from, target);
    if (reached(target, told_.load())) told_.store(target);
    // A wait that began before another ended must still report that one's failures.
    if (waiters_.load() == 1)
      std::erase_if(failures_, [this](const Failure& each) { return reached(told_.load(), each.sequence); });
    failure_count_.store(failures_.size());
  }
  waiters_.fetch_sub(1);
  return result;
}

ze_result_t Executor::first_untold(std::uint32_t from, std::uint32_t target) const noexcept {
  for (const Failure& failure : failures_) {
    if (reached(from, failure.sequence) || !reached(target, failure.sequence)) continue;
    if (!failure.fence || !failure.fence->has_told(failure.token)) return failure.result;
  }
  return ZE_RESULT_SUCCESS;
}

void Executor::wait_for_users_of(const Allocation& memory) noexcept {
  std::uint32_t last = 0;
  bool is_used = false;
  {
    std::lock_guard lock(mutex_);
    const auto look = [&](const Item& item) {
      if (!item.uses(memory)) return;
      last = item.sequence;
      is_used = true;
    };
    lookers_.fetch_add(1);
    if (const Item* item = running_.load()) look(*item);
    lookers_.fetch_sub(1);
    for (std::size_t i = 0; i < count_; ++i) look(ring_[(first_ + i) % ring_.size()]);
  }
  if (is_used) done_.wait([last](std::uint32_t done) { return reached(done, last); }, Deadline(), default_spin_ns());
}

bool Executor::is_short_next() noexcept { return count_ > 0 && ring_[first_].list && is_short(*ring_[first_].list); }

bool Executor::pop(Item* item) noexcept {
  std::lock_guard lock(mutex_);
  if (count_ == 0) return false;
  *item = std::move(ring_[first_]);
  first_ = (first_ + 1) % ring_.size();
  --count_;
  running_.store(item, std::memory_order_relaxed);
  popped_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool Executor::help() noexcept {
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn) return false;
  {
    std::lock_guard lock(mutex_);
    if (!is_short_next()) return false;
  }
  const TileScheduler::Reservation reservation(device_->workers());
  Item item;
  if (!reservation || !pop(&item)) return false;
  run(item);
  item = Item();
  done_.add(1);
  helps_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Executor::look_now_and_then() noexcept {
  std::uint32_t helps = helps_.load(std::memory_order_relaxed);
  std::uint32_t popped = popped_.load(std::memory_order_relaxed);
  const std::uint32_t seen = not_short_.load();
  for (int idle = 0; idle < kIdleLooks; ++idle) {
    if (not_short_.wait([seen](std::uint32_t now) { return now != seen; }, Deadline::in(kLookNs), 0)) return;
    const std::uint32_t popped_before = std::exchange(popped, popped_.load(std::memory_order_relaxed));
    if (popped == popped_before && pushed_.load() != popped) return;
    const std::uint32_t helps_before = std::exchange(helps, helps_.load(std::memory_order_relaxed));
    if (helps != helps_before) idle = 0;
  }
}

void Executor::leave_to_waiter() noexcept {
  const std::uint32_t popped = popped_.load(std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    if (!is_short_next()) return;
  }
  const std::uint64_t end = now_ns() + kGraceNs;
  while (popped_.load(std::memory_order_relaxed) == popped && now_ns() < end) {
  }
}

bool Executor::end_when_idle() noexcept {
  std::lock_guard lock(mutex_);
  if (count_ != 0) return false;
  has_thread_ = false;
  return true;
}

void Executor::work() {
  ::pthread_setname_np(::pthread_self(), "npu-queue");
  for (std::uint32_t helps = 0;;) {
    const std::uint32_t helps_before = std::exchange(helps, helps_.load(std::memory_order_relaxed));
    if (helps != helps_before) look_now_and_then();
    const auto is_there = [this](std::uint32_t pushed) { return pushed != popped_.load(std::memory_order_relaxed); };
    if (!pushed_.wait(is_there, Deadline::in(kIdleNs), spin_ns_)) {
      if (end_when_idle()) return;
      continue;
    }
    leave_to_waiter();
    const std::lock_guard turn(turn_);
    Item item;
    if (!pop(&item)) continue;
    if (item.is_end) return;
    run(item);
    item = Item();  // Before callers that wait for the item return, it must hold no references.
    done_.add(1);
  }
}

void Executor::run(Item& item) noexcept {
  TileScheduler::set_thread_priority(priority_.load(std::memory_order_relaxed));
  if (item.is_first) submission_ = ZE_RESULT_SUCCESS;
  if (is_instrumented_)
    run_instrumented(item);
  else
    run_commands(item);
  if (item.is_last && submission_ != ZE_RESULT_SUCCESS) note_failure(item);
  let_go();
  if (item.list) item.list->give_back();  // Before the fence: a caller woken by it may submit the list again.
  if (item.outcome) item.outcome->result = submission_;
  if (item.fence) item.fence->complete(item.token, submission_);
}

void Executor::run_commands(Item& item) noexcept {
  if (item.list) {
    CommandList& list = *item.list;
    // Reading the clock costs as much as the shortest lists, so they are timed only now and then.
    const bool timed = list.last_run_ns() >= kShortNs || ++runs_ % kTimedRuns == 0;
    const std::uint64_t begin_ns = timed ? now_ns() : 0;
    submission_ = run(&list, list.commands());
    if (timed) list.note_run_ns(now_ns() - begin_ns);
  } else if (item.command) {
    submission_ = run(nullptr, *item.command, submission_);
  }
}

void Executor::run_instrumented(Item& item) noexcept {
  if (item.list) {
    const ze_result_t planned = execution_site().planned_failure();
    if (submission_ == ZE_RESULT_SUCCESS) submission_ = planned;
  }
  Trace* const trace = Trace::get();
  if (!trace) return run_commands(item);
  ShortText what;
  if (item.list)
    what.add_handle("list", item.list->handle());
  else
    what.add(item.command ? item.command->name() : "nothing");
  const std::uint64_t begin_ns = now_ns();
  run_commands(item);
  trace->execution(owner_.load(std::memory_order_relaxed), 0, {what.text(), {}, begin_ns, now_ns(), submission_});
}

ze_result_t Executor::run_traced(Trace& trace, const CommandList* list, Command& command, ze_result_t before) noexcept {
  const std::uint64_t begin_ns = now_ns();
  const ze_result_t result = run(list, command, before);
  trace.execution(owner_.load(std::memory_order_relaxed), 1, {command.name(), {}, begin_ns, now_ns(), result});
  return result;
}

void Executor::note_failure(const Item& item) noexcept {
  if (item.outcome) return;
  std::lock_guard lock(mutex_);
  if (failures_.size() == kKeptFailures) failures_.pop_back();
  failures_.push_back({item.sequence, submission_, item.fence, item.token});  // Never exceeds the reserved capacity.
  failure_count_.store(failures_.size());
}

void Executor::let_go() noexcept {
  running_.store(nullptr);
  if (lookers_.load() != 0) std::lock_guard lock(mutex_);  // Lookers hold the mutex while they look.
}

ze_result_t Executor::run(const CommandList* list, std::span<const std::unique_ptr<Command>> commands) noexcept {
  ze_result_t result = submission_;
  Trace* const trace = is_instrumented_ ? Trace::get() : nullptr;
  for (const auto& command : commands)
    result = trace ? run_traced(*trace, list, *command, result) : run(list, *command, result);
  return result;
}

ze_result_t Executor::run(const CommandList* list, Command& command, ze_result_t before) noexcept {
  // After a failure nothing runs, but everything that would be signalled is, with the failure, so no one waits in vain.
  ze_result_t result = before;
  if (list && list->is_cancelled() && result == ZE_RESULT_SUCCESS) result = stop_result(list);
  for (const auto& event : command.waits) {
    if (result != ZE_RESULT_SUCCESS) break;
    result = wait_for(list, *event);
  }
  Timestamps when;
  if (command.signal) when.start_ns = now_ns();
  if (result == ZE_RESULT_SUCCESS) {
    struct Context {
      const Executor* executor;
      const CommandList* list;
    } context{this, list};
    const StopCheck stop{[](void* given) {
                           const auto* each = static_cast<const Context*>(given);
                           return each->executor->must_stop(each->list);
                         },
                         &context};
    result = command.run(*device_, stop);
    if (result == kStopped) result = stop_result(list);
  }
  if (command.signal) {
    when.end_ns = now_ns();
    command.signal->signal(result, when);
  }
  return result;
}

ze_result_t Executor::stop_result(const CommandList* list) const noexcept {
  if (list && list->is_cancelled()) return fail(ZE_RESULT_ERROR_NOT_AVAILABLE, "the command list was cancelled");
  return fail(ZE_RESULT_ERROR_DEVICE_LOST, "the queue was destroyed while this ran");
}

ze_result_t Executor::wait_for(const CommandList* list, Event& event) noexcept {
  std::uint64_t spin_ns = default_spin_ns();
  for (;;) {
    const ze_result_t result = event.wait(Deadline::in(kEventSliceNs), spin_ns);
    if (result != ZE_RESULT_NOT_READY) return result;
    if (stop_ns_.load() != 0 || (list && list->is_cancelled())) return stop_result(list);
    spin_ns = 0;
  }
}

}  // namespace tenon::npu
