// SPDX-License-Identifier: Apache-2.0
// A queue's thread: sleeps on a word that counts submissions, runs lists, signals fences.
#include <pthread.h>
#include <algorithm>

#include <tenon/drivers/npu/executor_internal.hpp>

namespace tenon::npu {
namespace {

constexpr std::size_t kFirstRoom = 64;
/// How often a command that waits for an event looks whether its queue is going away.
constexpr std::uint64_t kEventSliceNs = 10'000'000;

/// Lists that took less the last time are short.
constexpr std::uint64_t kShortNs = 10'000;
constexpr std::uint32_t kTimedRuns = 16;
/// How long the thread leaves a short list to who may come to wait for it.
constexpr std::uint64_t kGraceNs = 1'000;
/// While those who wait run what they submitted, the thread looks this often whether something was left to it, and
/// sleeps until it is woken after so many looks at nothing.
constexpr std::uint64_t kLookNs = 50'000;
constexpr int kIdleLooks = 20;

bool reached(std::uint32_t count, std::uint32_t target) { return static_cast<std::int32_t>(count - target) >= 0; }

bool is_short(const CommandList& list) noexcept {
  return list.last_run_ns() < kShortNs &&
         std::ranges::all_of(list.commands(), [](const auto& command) { return command->waits.empty(); });
}

}  // namespace

Executor::Executor(Ref<Device> device, Priority priority, std::uint64_t spin_ns)
    : device_(std::move(device)), priority_(priority), spin_ns_(spin_ns) {}

Executor::~Executor() {
  stop_waiting();
  if (!thread_.joinable()) return;
  Item end;
  end.is_end = true;
  while (!push({&end, 1})) std::this_thread::yield();  // Only without memory; room appears as items are run.
  thread_.join();
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
    if (!thread_.joinable()) thread_ = std::thread(&Executor::work, this);
    for (Item& item : items) ring_[(first_ + count_++) % ring_.size()] = std::move(item);
  }
  pushed_.add(static_cast<std::uint32_t>(items.size()));
  if (!all_short) not_short_.add(1);
  return true;
} catch (...) {
  return false;
}

bool Executor::submit(std::span<CommandList* const> lists, Ref<Fence> fence, std::uint32_t token) {
  const auto item_for = [&](std::size_t i) {
    Item item;
    item.list = Ref<CommandList>::share(lists[i]);
    item.is_first = i == 0;
    if (i + 1 == lists.size()) {
      item.fence = std::move(fence);
      item.token = token;
    }
    return item;
  };
  if (lists.size() == 1) {
    Item item = item_for(0);
    return push({&item, 1});
  }
  try {
    std::vector<Item> items;
    items.reserve(lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i) items.push_back(item_for(i));
    return push(items);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool Executor::submit(std::unique_ptr<Command> command) {
  Item item;
  item.command = std::move(command);
  return push({&item, 1});
}

ze_result_t Executor::wait(Deadline deadline) noexcept {
  const std::uint32_t target = pushed_.load();
  while (!reached(done_.load(), target) && !deadline.passed() && help()) {
  }
  const bool in_time =
      done_.wait([target](std::uint32_t done) { return reached(done, target); }, deadline, default_spin_ns());
  return in_time ? failure_.exchange(ZE_RESULT_SUCCESS) : ZE_RESULT_NOT_READY;
}

bool Executor::is_short_next() noexcept { return count_ > 0 && ring_[first_].list && is_short(*ring_[first_].list); }

bool Executor::pop(Item* item) noexcept {
  std::lock_guard lock(mutex_);
  if (count_ == 0) return false;
  *item = std::move(ring_[first_]);
  first_ = (first_ + 1) % ring_.size();
  --count_;
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
  const Workers::Reservation reservation(device_->workers());
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

void Executor::work() {
  ::pthread_setname_np(::pthread_self(), "npu-queue");
  for (std::uint32_t helps = 0;;) {
    const std::uint32_t helps_before = std::exchange(helps, helps_.load(std::memory_order_relaxed));
    if (helps != helps_before) look_now_and_then();
    pushed_.wait([this](std::uint32_t pushed) { return pushed != popped_.load(std::memory_order_relaxed); }, Deadline(),
                 spin_ns_);
    leave_to_waiter();
    const std::lock_guard turn(turn_);
    Item item;
    if (!pop(&item)) continue;
    if (item.is_end) return;
    run(item);
    item = Item();  // Whoever waits for this finds nothing of it left.
    done_.add(1);
  }
}

void Executor::run(Item& item) noexcept {
  Workers::set_thread_priority(priority_.load(std::memory_order_relaxed));
  if (item.is_first) submission_ = ZE_RESULT_SUCCESS;
  if (item.list) {
    CommandList& list = *item.list;
    // The clock costs as much as the shortest lists: those are looked at now and then.
    const bool timed = list.last_run_ns() >= kShortNs || ++runs_ % kTimedRuns == 0;
    const std::uint64_t begin_ns = timed ? now_ns() : 0;
    submission_ = run(list.commands());
    if (timed) list.note_run_ns(now_ns() - begin_ns);
    list.give_back();  // Before the fence: who waited for it may submit the list again.
  } else if (item.command) {
    submission_ = run(*item.command, ZE_RESULT_SUCCESS);
  }
  if (submission_ != ZE_RESULT_SUCCESS) {
    ze_result_t none = ZE_RESULT_SUCCESS;
    failure_.compare_exchange_strong(none, submission_);
  }
  if (item.fence) item.fence->complete(item.token, submission_);
}

ze_result_t Executor::run(std::span<const std::unique_ptr<Command>> commands) noexcept {
  ze_result_t result = submission_;
  for (const auto& command : commands) result = run(*command, result);
  return result;
}

ze_result_t Executor::run(Command& command, ze_result_t before) noexcept {
  // After a failure nothing runs, but what would have been signalled is, with the failure: nobody waits in vain.
  ze_result_t result = before;
  for (const auto& event : command.waits) {
    if (result != ZE_RESULT_SUCCESS) break;
    result = wait_for(*event);
  }
  Timestamps when;
  if (command.signal) when.start_ns = now_ns();
  if (result == ZE_RESULT_SUCCESS) result = command.run(*device_);
  if (command.signal) {
    when.end_ns = now_ns();
    command.signal->signal(result, when);
  }
  return result;
}

ze_result_t Executor::wait_for(Event& event) noexcept {
  std::uint64_t spin_ns = default_spin_ns();
  for (;;) {
    const ze_result_t result = event.wait(Deadline::in(kEventSliceNs), spin_ns);
    if (result != ZE_RESULT_NOT_READY) return result;
    if (stopping_.load()) return ZE_RESULT_ERROR_DEVICE_LOST;
    spin_ns = 0;
  }
}

}  // namespace tenon::npu
