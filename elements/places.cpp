// SPDX-License-Identifier: Apache-2.0
// Allocations by Router::plan(), views by Router::map().
#include <tenon/elements/places.hpp>

#include <algorithm>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
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

AllocationPlan plan_frames(const Context& writer, const FrameInfo& info, const Wanted& wanted, ZeroCopy policy) {
  const auto joined = writer->requirements().join(wanted.joined);
  if (const auto* refusal = std::get_if<Refusal>(&joined))
    throw Error(Code::kFailedPrecondition,
                std::string(writer->name()) + " cannot write what its readers want: " + refusal->reason);
  Router router;
  router.add(host_context());
  router.add(dmabuf::context());
  router.add(writer);
  for (const Party& reader : wanted.readers) router.add(reader.context);
  // Somebody must read it: without readers it is the host, for nothing in particular.
  std::vector<Party> readers = wanted.readers;
  if (readers.empty()) readers.push_back({host_context(), {}, Access::kRead});
  AllocationPlan plan = router.plan({writer, std::get<Requirements>(joined), Access::kWrite}, readers, info, policy);
  if (!plan.possible)
    throw Error(Code::kFailedPrecondition, "no memory serves " + std::string(writer->name()) +
                                               " and all who read its frames: " + plan.explanation);
  return plan;
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
  return pool_->frames.acquire(deadline);
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
    if (plane.memory()) router_->add(plane.context());  // Of its framework: the edges from there are its own.
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
