// SPDX-License-Identifier: Apache-2.0
// Measuring, and the table of what was measured.
#include <tenon/devices/gpu/tuner.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/program/kept_choices.hpp>
#include <tenon/graph/wanted.hpp>
#include <tenon/planning/memory_plan.hpp>
#include <tenon/store/release.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using SteadyClock = std::chrono::steady_clock;

/// A table with more problems than this begins anew: they are those of many models that came and went.
constexpr std::size_t kMostProblems = 4096;
/// Rules keep their choice unless another one needs so much less time: measurements differ from run to run.
constexpr double kGain = 0.97;
/// The timed runs of one candidate, after a first run that is not counted.
constexpr std::size_t kTimedRuns = 8;
constexpr nanoseconds kEnough = milliseconds(20);

/// The choices that this process knows, by device, driver and release.
struct Known {
  std::mutex mutex;
  std::map<std::string, Choices> choices;
  std::timed_mutex measuring;  ///< Two that measure at once would measure each other.
};
Known& known() {
  static auto* const all = new Known;  // Models may be compiled while the process ends.
  return *all;
}

/// One launch as a plan of its own; what it reads and writes is memory of the execution's, but for constants.
std::shared_ptr<const LaunchPlan> alone(const LaunchPlan& plan, const Launch& launch,
                                        std::shared_ptr<const Program> program, Constants& constants) {
  auto one = std::make_shared<LaunchPlan>();
  one->buffers = plan.buffers;
  one->counters = plan.counters;
  one->constants.resize(plan.buffers.size());
  for (planning::Buffer& buffer : one->buffers) {
    buffer.first_step = buffer.last_step = -1;
    if (buffer.kind != planning::BufferKind::kConstant) buffer.kind = planning::BufferKind::kArena;
  }
  for (const planning::Operand& operand : launch.operands) {
    const planning::BufferId id = operand.place.buffer;
    if (one->buffers[id].kind == planning::BufferKind::kConstant && id != one->counters && !one->constants[id])
      one->constants[id] = constants.buffer(one->buffers[id].constant);
  }
  one->launches.push_back(std::make_shared<const Launch>(launch));
  one->programs.push_back(std::move(program));
  one->arena_bytes = planning::plan_memory(one->buffers, {std::span<const planning::Operand>(launch.operands)});
  return one;
}

/// The shortest time of some runs. @param best  The best time of the other candidates: one that is much slower runs once.
nanoseconds time_of(const std::shared_ptr<const Gpu>& gpu, std::shared_ptr<const LaunchPlan> one, nanoseconds best,
                    SteadyClock::time_point until) {
  Execution execution(gpu, std::move(one));
  const auto queue = client::make_queue(gpu->native(), CL_QUEUE_PROFILING_ENABLE);
  nanoseconds shortest = nanoseconds::max(), all{0};
  // The first run finds the kernel's code and its memory in no cache.
  for (std::size_t run = 0; run <= kTimedRuns && SteadyClock::now() < until; ++run) {
    std::vector<client::Handle<cl_event>> events;
    execution.enqueue(queue.get(), true, LaunchWay::kSingly, &events);
    client::finish(client::Handle<cl_event>::retain(events.front().get(), "a measurement's event"), default_deadline());
    const nanoseconds took = duration_of(events.front().get());
    if (run > 0) shortest = std::min(shortest, took);
    all += took;
    if (all > kEnough || took / 3 > best) return std::min(shortest, took);
  }
  return shortest;
}

}  // namespace

Tuner::Tuner(std::shared_ptr<const Gpu> gpu, std::filesystem::path folder)
    : gpu_(std::move(gpu)), folder_(std::move(folder)) {
  const Target& target = gpu_->target();
  id_ = std::string(store::release()) + '\n' + gpu_->library().device_key() + '\n' +
        std::to_string(target.compute_units) + (target.is_cpu ? " as a CPU" : "");
  key_ = store::content_hash(id_.data(), id_.size());
  if (!folder_.empty()) {
    try {
      KeptChoices kept = read_choices(folder_, key_);
      ignored_ = std::move(kept.distrust);
      choices_ = std::move(kept.choices);
    } catch (const Error& error) {
      choices_.clear();
      ignored_ = error.what();
    }
  }
  const std::lock_guard lock(known().mutex);
  Choices& here = known().choices[id_];
  choices_.merge(Choices(here));
  here = choices_;
}

void Tuner::forget() {
  const std::lock_guard lock(known().mutex);
  known().choices.clear();
}

void Tuner::measure(const LaunchPlan& plan, std::vector<Trial> trials, Constants& constants, milliseconds bound,
                    std::int32_t most_threads) {
  const auto begin = SteadyClock::now(), until = begin + bound;
  const auto cost = [](const Trial& trial) { return trial.launches.front().multiply_adds.value_or(0) * trial.uses; };
  std::stable_sort(trials.begin(), trials.end(), [&](const Trial& a, const Trial& b) { return cost(a) > cost(b); });
  std::size_t found = 0;
  if (const std::unique_lock turn(known().measuring, until); turn)
    for (const Trial& trial : trials)
      if (const std::string name = fastest(plan, trial, constants, until, most_threads); !name.empty()) {
        remember(trial.problem, name);
        ++found;
      }
  measured_ += found;
  left_ += trials.size() - found;
  took_ += std::chrono::duration_cast<milliseconds>(SteadyClock::now() - begin);
  if (found > 0) keep();
}

void Tuner::remember(const std::string& problem, const std::string& name) {
  choices_[problem] = name;
  const std::lock_guard lock(known().mutex);
  Choices& here = known().choices[id_];
  if (here.size() >= kMostProblems) here.clear();
  here[problem] = name;
}

std::string Tuner::fastest(const LaunchPlan& plan, const Trial& trial, Constants& constants,
                           SteadyClock::time_point until, std::int32_t most_threads) {
  KernelLibrary::Texts texts;
  for (const Launch& launch : trial.launches) texts.push_back(launch.kernel);
  const auto programs = gpu_->library().build_apart(texts, until, longest_, most_threads);
  // What the compiler refused is no candidate; what it had no time for might be the best.
  if (SteadyClock::now() + longest_ >= until && std::count(programs.begin(), programs.end(), nullptr) > 0) return {};
  std::optional<nanoseconds> rule;
  nanoseconds best = nanoseconds::max();
  std::string name;
  for (std::size_t i = 0; i < trial.launches.size(); ++i) {
    CancellationScope::check("tuning", trial.problem);
    if (SteadyClock::now() >= until) return {};
    if (!programs[i]) continue;
    try {
      const nanoseconds took = time_of(gpu_, alone(plan, trial.launches[i], programs[i], constants), best, until);
      if (i == 0) rule = took;
      if (took >= best) continue;
      best = took;
      name = trial.names[i];
    } catch (const Error&) {  // Too much memory, say: it is no candidate.
    }
  }
  if (SteadyClock::now() >= until) return {};
  const bool is_gain = !rule || static_cast<double>(best.count()) < kGain * static_cast<double>(rule->count());
  return is_gain ? name : trial.names.front();
}

void Tuner::keep() const {
  if (folder_.empty()) return;
  try {
    // What other processes have found meanwhile stays.
    Choices all = choices_;
    try {
      all.merge(read_choices(folder_, key_).choices);
    } catch (const Error&) {  // What is damaged is replaced.
    }
    write_choices(folder_, key_, all.size() > kMostProblems ? choices_ : all);
  } catch (const Error&) {  // A full disk, say: as if there were no cache.
  }
}

std::string Tuner::report(std::size_t taken) const {
  std::string text = std::to_string(taken + measured_ + left_) + " problems: " + std::to_string(taken) + " known, " +
                     std::to_string(measured_) + " measured in " + std::to_string(took_.count()) + " ms, " +
                     std::to_string(left_) + " left to the rules";
  if (!ignored_.empty()) text += "; what " + folder_.string() + " has is ignored: " + ignored_;
  return text;
}

}  // namespace tenon::inline v1::gpu_device
