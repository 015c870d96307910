// SPDX-License-Identifier: Apache-2.0
// Allocations by Router::plan(), views by Router::map().
#include <tenon/elements/places.hpp>

#include <algorithm>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/elements/internal/in_steps.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

bool takes_any_memory(const Requirements& wanted) {
  const Requirements any;
  return wanted.size_bytes == any.size_bytes && wanted.alignment <= any.alignment &&
         wanted.pitch_alignment <= any.pitch_alignment && wanted.height_alignment <= any.height_alignment &&
         wanted.tail_padding == 0 && wanted.max_pitch == any.max_pitch && wanted.fd == any.fd && !wanted.contiguous &&
         wanted.kinds.empty() && wanted.modifiers.empty();
}

namespace {

/// As plan_frames(), for some of the readers; but where nothing serves them, it returns a plan that is not possible, with the
/// reason, instead of throwing.
AllocationPlan attempt(const Context& writer, const FrameInfo& info, const Wanted& wanted, ZeroCopy policy) {
  const auto joined = writer->requirements().join(wanted.joined);
  if (const auto* refusal = std::get_if<Refusal>(&joined)) {
    AllocationPlan none;
    none.explanation = std::string(writer->name()) + " cannot write that: " + refusal->reason;
    return none;
  }
  Router router;
  router.add(host_context());
  router.add(dmabuf::context());
  router.add(writer);
  for (const Party& reader : wanted.readers) router.add(reader.context);
  // The plan needs at least one reader. Without any, it is the host, which has no requirements.
  std::vector<Party> readers = wanted.readers;
  if (readers.empty()) readers.push_back({host_context(), {}, Access::kRead});
  return router.plan({writer, std::get<Requirements>(joined), Access::kWrite}, readers, info, policy);
}

/// The smallest group of readers (one, or two) for which the plan already fails, and the reason why it fails.
std::pair<std::vector<std::size_t>, std::string> culprits(const Context& writer, const FrameInfo& info,
                                                          const std::vector<Party>& readers, ZeroCopy policy) {
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const Party one[] = {readers[i]};
    const AllocationPlan plan = attempt(writer, info, {one[0].requirements, one}, policy);
    if (!plan.possible) return {{i}, plan.explanation};
  }
  for (std::size_t i = 0; i < readers.size(); ++i) {
    for (std::size_t k = i + 1; k < readers.size(); ++k) {
      const Party two[] = {readers[i], readers[k]};
      const auto joined = two[0].requirements.join(two[1].requirements);
      if (const auto* refusal = std::get_if<Refusal>(&joined)) return {{i, k}, refusal->reason};
      const AllocationPlan plan = attempt(writer, info, {std::get<Requirements>(joined), two}, policy);
      if (!plan.possible) return {{i, k}, plan.explanation};
    }
  }
  return {};
}

}  // namespace

AllocationPlan plan_frames(const Context& writer, const FrameInfo& info, const Wanted& wanted, ZeroCopy policy) {
  AllocationPlan plan = attempt(writer, info, wanted, policy);
  if (plan.possible) return plan;
  auto [readers, why] = culprits(writer, info, wanted.readers, policy);
  std::string all = "no memory serves " + std::string(writer->name());
  for (const std::size_t index : readers) all += " and " + std::string(wanted.readers[index].context->name());
  if (readers.empty()) all += " and all readers of its frames";
  all += ": " + (readers.empty() ? plan.explanation : why);
  throw NoMemory(all, std::move(readers));
}

struct OutputFrames::Pool {
  cpu::FramePool frames;
};

OutputFrames::OutputFrames(Context writer, std::size_t limit) : writer_(std::move(writer)), limit_(limit) {}
OutputFrames::~OutputFrames() = default;
OutputFrames::OutputFrames(OutputFrames&&) noexcept = default;
OutputFrames& OutputFrames::operator=(OutputFrames&&) noexcept = default;

void OutputFrames::allocate(const Wanted& wanted) {
  wanted_ = wanted;
  pool_.reset();
}

Frame OutputFrames::acquire(const FrameInfo& info, Deadline deadline) {
  if (!pool_ || !(pool_->frames.info() == info)) {
    const AllocationPlan plan = plan_frames(writer_, info, wanted_);
    pool_.reset(new Pool{cpu::FramePool(
        info, plan.requirements, limit_,
        [allocator = plan.allocator](const Requirements& wanted) { return allocator->allocate(wanted); })});
  }
  return in_steps(deadline, *is_interrupted_, "a frame to write",
                  [&](Deadline step) { return pool_->frames.acquire(step); });
}

HostFrames::HostFrames(Ledger* ledger, ZeroCopy policy)
    : ledger_(ledger), policy_(policy), router_(std::make_unique<Router>()) {
  router_->add(host_context());
  router_->add(dmabuf::context());
}
HostFrames::~HostFrames() = default;
HostFrames::HostFrames(HostFrames&&) noexcept = default;
HostFrames& HostFrames::operator=(HostFrames&&) noexcept = default;

Frame HostFrames::map(const Frame& frame, Access access) {
  const auto planes = frame.planes();
  if (std::all_of(planes.begin(), planes.end(), [](const Tensor& plane) { return plane.is_host_addressable(); }))
    return frame;
  for (const Tensor& plane : planes) {
    if (plane.memory()) router_->add(plane.context());  // The frame's own framework brings the edges from its memory.
  }
  MapOptions options;
  options.access = access;
  options.policy = policy_;
  options.ledger = ledger_;
  options.host_ready = true;
  return router_->map(frame, host_context(), options);
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
