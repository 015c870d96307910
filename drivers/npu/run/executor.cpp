// SPDX-License-Identifier: Apache-2.0
// A queue's threads: the main one sleeps on a word that counts submissions; all run lists and signal fences.
#include <pthread.h>
#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include <tenon/drivers/npu/instrument/faults.hpp>
#include <tenon/drivers/npu/instrument/instrument.hpp>
#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/run/executor.hpp>

namespace tenon::npu {
namespace {

constexpr std::size_t kFirstRoom = 64;
/// How often a command that waits for an event checks whether its queue is being destroyed.
constexpr std::uint64_t kEventSliceNs = 10'000'000;

/// Lists whose last run was shorter are short, if their run time does not depend on data.
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

/// Threads beside the main one, so that a list that waits for an event does not keep others waiting.
constexpr int kMinWidth = 2;
constexpr std::size_t kMaxLanes = 64;

bool waits_for_nothing(const CommandList& list) noexcept {
  return !list.rounds_depend_on_data() && std::ranges::all_of(list.commands(), [](const auto& command) {
    return command->waits.empty() && !command->may_wait();
  });
}

/// Whether the last runs of the lists, all taken, were so short that one thread may run them all.
bool are_short(std::span<const Ref<CommandList>> lists) noexcept {
  std::uint64_t sum_ns = 0;
  for (const Ref<CommandList>& list : lists) {
    if (list->last_run_ns() >= kShortNs || !waits_for_nothing(*list)) return false;
    sum_ns += list->last_run_ns();
  }
  return !lists.empty() && sum_ns < kShortNs;
}

std::size_t count_beside(Device& device, bool in_order) {
  if (in_order) return 0;
  return std::min(kMaxLanes, static_cast<std::size_t>(std::max(kMinWidth, device.workers().threads()))) - 1;
}

}  // namespace

Executor::Executor(Ref<Context> context, Ref<Device> device, const Settings& settings)
    : context_(std::move(context)),
      device_(std::move(device)),
      priority_(settings.priority),
      spin_ns_(settings.spin_ns),
      in_order_(settings.in_order),
      is_instrumented_(is_instrumented()),
      beside_(count_beside(*device_, in_order_)) {
  failures_.reserve(kKeptFailures);
}

Executor::~Executor() {
  stop_waiting();
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  pushed_.add(1);  // No submission: it wakes the thread.
  more_.add(1);
  if (thread_.joinable()) thread_.join();  // The thread ends after everything was started.
  for (Helper& helper : beside_)
    if (helper.thread.joinable()) helper.thread.join();
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

bool Executor::Work::uses(const Allocation& memory) const {
  const auto uses_it = [&](const std::unique_ptr<Command>& each) { return each && each->uses(memory); };
  const auto list_uses_it = [&](const Ref<CommandList>& each) {
    return each && std::ranges::any_of(each->commands(), uses_it);
  };
  return uses_it(before) || uses_it(after) || list_uses_it(list) || std::ranges::any_of(lists, list_uses_it);
}

void Executor::make_room() {
  if (count_ < ring_.size()) return;
  std::vector<Slot> larger(std::max(kFirstRoom, 2 * (count_ + 1)));
  for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move(slot(i));
  ring_ = std::move(larger);
  first_ = 0;
}

bool Executor::push(Work&& work) try {
  const bool is_short = work.is_short;
  {
    std::lock_guard lock(mutex_);
    make_room();
    if (!has_thread_) {
      if (thread_.joinable()) thread_.join();  // It ended after a time without work.
      thread_ = std::thread(&Executor::work, this);
      has_thread_ = true;
    }
    work.sequence = sequence_.load(std::memory_order_relaxed) + 1;
    sequence_.store(work.sequence, std::memory_order_relaxed);
    Slot& last = slot(count_++);
    last.work = std::move(work);
    last.is_done = false;
    if (main_is_long_ && may_start()) summon_beside();
  }
  pushed_.add(1);
  if (!is_short) not_short_.add(1);
  return true;
} catch (...) {
  return false;
}

bool Executor::submit(Submission&& submission) try {
  Work work;
  work.before = std::move(submission.before);
  work.after = std::move(submission.after);
  if (submission.lists.size() == 1) {
    work.list = Ref<CommandList>(*submission.lists[0]);
  } else {
    work.lists.reserve(submission.lists.size());
    for (CommandList* list : submission.lists) work.lists.push_back(Ref<CommandList>(*list));
  }
  work.runs_alone = std::ranges::any_of(submission.lists, [](const CommandList* list) { return list->has_barrier(); });
  work.is_short = !work.before && !work.after && are_short(work.all_lists());
  work.fence = std::move(submission.fence);
  work.token = submission.token;
  work.outcome = submission.outcome;
  return push(std::move(work));
} catch (const std::bad_alloc&) {
  return false;
}

ze_result_t Executor::wait(Outcome& outcome) noexcept {
  while (outcome.is_done.load() == 0 && help()) {
  }
  outcome.is_done.wait([](std::uint32_t is_done) { return is_done != 0; }, Deadline(), default_spin_ns());
  const std::lock_guard lock(mutex_);  // Until the thread that ran it is done with `outcome`.
  return outcome.result;
}

ze_result_t Executor::wait(Deadline deadline) noexcept {
  waiters_.fetch_add(1);  // Before told_ is read: a caller that erases failures must see this wait.
  const std::uint32_t from = told_.load(), target = sequence_.load();
  const auto are_done = [this, target](std::uint32_t) { return reached(all_done_.load(), target); };
  while (!are_done(0) && !deadline.passed() && help()) {
  }
  const bool in_time = done_.wait(are_done, deadline, default_spin_ns());
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

bool Executor::is_used(const Allocation& memory, std::uint32_t target) noexcept {
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count_ && reached(target, all_done_.load() + 1 + static_cast<std::uint32_t>(i)); ++i) {
    const Slot& each = slot(i);
    const Work* work = i < started_ ? each.running : &each.work;
    if (work && work->uses(memory)) return true;
  }
  return false;
}

void Executor::wait_for_users_of(const Allocation& memory, Deadline deadline) noexcept {
  const std::uint32_t target = sequence_.load();
  for (;;) {
    const std::uint32_t seen = done_.load();
    if (!is_used(memory, target)) return;
    if (!done_.wait([seen](std::uint32_t done) { return done != seen; }, deadline, default_spin_ns())) return;
  }
}

std::unique_lock<std::mutex> Executor::hold_without_users_of(const Allocation& memory) {
  std::unique_lock lock(mutex_);
  for (std::size_t i = 0; i < started_; ++i)
    if (const Work* work = slot(i).running; work && work->uses(memory)) return {};
  return lock;
}

bool Executor::is_short_next() noexcept { return started_ < count_ && slot(started_).work.is_short; }

bool Executor::may_start() noexcept {
  if (started_ == count_) return false;
  if (started_ == 0) return true;
  return !in_order_ && !alone_ && !slot(started_).work.runs_alone;
}

bool Executor::start(Work* work, Runner runner) noexcept {
  std::lock_guard lock(mutex_);
  if (!may_start()) return false;
  if (runner == Runner::kCaller && (started_ != 0 || !is_short_next())) return false;
  Slot& next = slot(started_++);
  *work = std::move(next.work);
  next.running = work;
  alone_ = work->runs_alone;
  work->lane = static_cast<std::uint32_t>(std::countr_one(lanes_));
  lanes_ |= std::uint64_t{1} << work->lane;
  work->by_main = runner == Runner::kMain;
  if (work->by_main) main_is_long_ = !work->is_short;
  popped_.fetch_add(1, std::memory_order_relaxed);
  if (main_is_long_ && may_start()) summon_beside();
  return true;
}

void Executor::summon_beside() noexcept {
  more_.add(1);
  if (resting_ > 0 || ending_) return;
  const auto unused = std::ranges::find_if(beside_, [](const Helper& each) { return !each.is_live; });
  if (unused == beside_.end()) return;
  Helper& helper = *unused;
  if (helper.thread.joinable()) helper.thread.join();  // It ended after a time without work.
  try {
    helper.thread = std::thread(&Executor::work_beside, this, std::ref(helper));
    helper.is_live = true;
  } catch (...) {  // The existing threads then run the submissions one after the other.
  }
}

bool Executor::help() noexcept {
  {
    std::lock_guard lock(mutex_);
    if (started_ != 0 || !is_short_next()) return false;
  }
  const TileScheduler::Reservation reservation(device_->workers());
  Work work;
  if (!reservation || !start(&work, Runner::kCaller)) return false;
  run(work);
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

bool Executor::is_over() noexcept {
  std::lock_guard lock(mutex_);
  return ending_ && started_ == count_;
}

void Executor::work() {
  ::pthread_setname_np(::pthread_self(), "npu-queue");
  for (std::uint32_t helps = 0;;) {
    const std::uint32_t helps_before = std::exchange(helps, helps_.load(std::memory_order_relaxed));
    if (helps != helps_before) look_now_and_then();
    const auto is_there = [this](std::uint32_t pushed) { return pushed != popped_.load(std::memory_order_relaxed); };
    const std::uint64_t prune_ns = context_->idle_timeout_ns();
    if (!pushed_.wait(is_there, Deadline::in(prune_ns != 0 ? prune_ns : kIdleNs), spin_ns_)) {
      if (prune_ns != 0) context_->prune_if_idle();
      if (end_when_idle()) return;
      continue;
    }
    leave_to_waiter();
    const std::uint32_t seen = done_.load();
    Work work;
    if (start(&work, Runner::kMain)) {
      run(work);
      continue;
    }
    if (is_over()) return;
    // Other threads have taken the work, or it waits for work that they run.
    const auto is_news = [&](std::uint32_t done) { return done != seen || !is_there(pushed_.load()); };
    done_.wait(is_news, Deadline::in(kIdleNs), 0);
  }
}

void Executor::work_beside(Helper& self) {
  ::pthread_setname_np(::pthread_self(), "npu-beside");
  for (;;) {
    const std::uint32_t seen = more_.load();
    Work work;
    if (start(&work, Runner::kBeside))
      run(work);
    else if (!rest_beside(self, seen))
      return;
  }
}

bool Executor::rest_beside(Helper& self, std::uint32_t seen) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (ending_) return false;
    ++resting_;
  }
  const bool called =
      more_.wait([seen](std::uint32_t more) { return more != seen; }, Deadline::in(kIdleNs), default_spin_ns());
  std::lock_guard lock(mutex_);
  --resting_;
  if (called || may_start()) return true;
  self.is_live = false;
  return false;
}

void Executor::run(Work& work) noexcept {
  TileScheduler::set_thread_priority(priority_.load(std::memory_order_relaxed));
  std::optional<Activity::Work> counted(std::in_place, device_->activity());
  const Origin outside{nullptr, work.lane};
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (work.before) result = run(*work.before, outside, result);
  const std::span<Ref<CommandList>> lists = work.all_lists();
  for (std::size_t i = 0; i < lists.size(); ++i) {
    result = run(*lists[i], work.lane, result);
    if (i + 1 == lists.size()) break;
    const bool again =
        std::ranges::any_of(lists.subspan(i + 1), [&](const auto& each) { return each.get() == lists[i].get(); });
    give_back(lists[i], !again);
  }
  if (work.after) result = run(*work.after, outside, result);
  context_->note_work();
  counted.reset();  // Before callers that wait for the work return.
  finish(work, result);
}

void Executor::give_back(Ref<CommandList>& list, bool is_last) noexcept {
  Ref<CommandList> given;
  {
    std::lock_guard lock(mutex_);  // No other thread reads the commands any more: the client may reset them.
    given = std::move(list);
  }
  if (is_last) given->give_back();
}

void Executor::finish(Work& work, ze_result_t result) noexcept {
  const std::uint32_t sequence = work.sequence, lane = work.lane;
  const bool by_main = work.by_main;
  Outcome* const outcome = work.outcome;
  {
    std::lock_guard lock(mutex_);
    if (result != ZE_RESULT_SUCCESS) note_failure(work, result);
    slot(sequence - all_done_.load() - 1).running = nullptr;
  }
  // Before the fence: a caller woken by it may submit the list again.
  for (const Ref<CommandList>& list : work.all_lists())
    if (list) list->give_back();
  if (work.fence) work.fence->complete(work.token, result);
  work = Work();  // Before callers that wait for it return, it must hold no references.
  {
    std::lock_guard lock(mutex_);
    slot(sequence - all_done_.load() - 1).is_done = true;
    for (; started_ > 0 && slot(0).is_done; --started_, --count_) {
      first_ = (first_ + 1) % ring_.size();
      all_done_.store(all_done_.load() + 1);
    }
    if (started_ == 0) alone_ = false;
    lanes_ &= ~(std::uint64_t{1} << lane);
    if (by_main) main_is_long_ = false;
    if (outcome) {
      outcome->result = result;
      outcome->is_done.store(1);
    }
  }
  done_.add(1);
}

ze_result_t Executor::run(CommandList& list, std::uint32_t lane, ze_result_t before) noexcept {
  if (!is_instrumented_) return run_timed(list, lane, before);
  const Effect planned = execution_site().planned();
  Faults::get().note_execution();
  const std::uint64_t begin_ns = now_ns();
  if (before == ZE_RESULT_SUCCESS) before = suffer(planned, list);
  const std::uint64_t start_ns = now_ns();
  ze_result_t result = run_timed(list, lane, before);
  if (planned.factor > 1 && result == ZE_RESULT_SUCCESS)
    result = pause(list, static_cast<std::uint64_t>((planned.factor - 1) * static_cast<double>(now_ns() - start_ns)));
  ShortText what;
  what.add_handle("list", list.handle());
  trace(lane, 0, what.text(), begin_ns, result);
  return result;
}

ze_result_t Executor::pause(const CommandList& list, std::uint64_t duration_ns) noexcept {
  const Deadline end = Deadline::in(duration_ns);
  Futex never;
  while (!end.passed()) {
    if (must_stop(&list)) return stop_result(&list);
    never.wait([](std::uint32_t) { return false; }, Deadline::in(std::min(kEventSliceNs, duration_ns)), 0);
    if (duration_ns <= kEventSliceNs) break;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t Executor::suffer(const Effect& planned, const CommandList& list) noexcept {
  Faults& faults = Faults::get();
  if (planned.loses) faults.lose();
  if (planned.hangs) faults.hang();
  if (faults.is_lost()) return fail_as_lost();
  if (faults.is_hung()) {
    while (!faults.wait_for_reset(kEventSliceNs))
      if (must_stop(&list)) return stop_result(&list);
    return fail(ZE_RESULT_ERROR_DEVICE_LOST, "the device hung, on purpose, and was reset");
  }
  if (planned.code != ZE_RESULT_SUCCESS) return fail_as_planned(execution_site().name(), planned);
  return planned.delay_ns != 0 ? pause(list, planned.delay_ns) : ZE_RESULT_SUCCESS;
}

ze_result_t Executor::run_timed(CommandList& list, std::uint32_t lane, ze_result_t before) noexcept {
  // Reading the clock costs as much as the shortest lists, so they are timed only now and then.
  const bool timed =
      list.last_run_ns() >= kShortNs || runs_.fetch_add(1, std::memory_order_relaxed) % kTimedRuns == kTimedRuns - 1;
  const std::uint64_t begin_ns = timed ? now_ns() : 0;
  ze_result_t result = before;
  for (const auto& command : list.commands()) result = run(*command, {&list, lane}, result);
  if (timed) list.note_run_ns(now_ns() - begin_ns);
  return result;
}

ze_result_t Executor::run(Command& command, Origin origin, ze_result_t before) noexcept {
  if (!is_instrumented_) return run_checked(command, origin.list, before);
  const std::uint64_t begin_ns = now_ns();
  const ze_result_t result = run_checked(command, origin.list, before);
  trace(origin.lane, origin.list ? 1 : 0, command.name(), begin_ns, result);
  return result;
}

void Executor::trace(std::uint32_t lane, int depth, std::string_view what, std::uint64_t begin_ns,
                     ze_result_t result) noexcept {
  if (Trace* const trace = Trace::get())
    trace->execution(owner_.load(std::memory_order_relaxed), lane, depth, {what, {}, begin_ns, now_ns(), result});
}

void Executor::note_failure(const Work& work, ze_result_t result) noexcept {
  if (work.outcome) return;
  if (failures_.size() == kKeptFailures) failures_.pop_back();
  // Sorted: wait() returns the failure of the earliest submission. Never exceeds the reserved capacity.
  const auto later =
      std::ranges::find_if(failures_, [&](const Failure& each) { return reached(each.sequence, work.sequence); });
  failures_.insert(later, {work.sequence, result, work.fence, work.token});
  failure_count_.store(failures_.size());
}

ze_result_t Executor::run_checked(Command& command, const CommandList* list, ze_result_t before) noexcept {
  // After a failure nothing runs, but every event is signalled with the failure, so that no wait hangs.
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
    if (Activity& activity = device_->activity(); activity.is_watched())
      activity.add_command(command.moved_bytes(), command.graph_run() != nullptr);
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
