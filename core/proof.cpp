// SPDX-License-Identifier: Apache-2.0
// The alias test behind matrix, reports and conformance.
#include <tenon/core/proof.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

inline std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

/// Writes through `a` and reads through `b`. Every byte counts: a driver may share only the first page.
TENON_INLINE bool seen_through(const Tensor& a, const Tensor& b, unsigned seed) {
  const auto written = pattern(a.size_bytes(), seed);
  a.context()->write(a, written);
  std::vector<std::byte> read(b.size_bytes());
  b.context()->read(b, read);
  return read == written;
}

/// With a descriptor where the target needs one to share and the source can make such memory.
TENON_INLINE Ref<Memory> allocate_for(const Context& from, const Context& to, const Requirements& wanted,
                                      const std::function<Ref<Memory>(const Requirements&)>& allocate) {
  const auto make = [&](const Requirements& as) { return allocate ? allocate(as) : from->allocate(as); };
  if (const FdKind fd = to->requirements().fd; fd != FdKind::kNone) {
    Requirements shareable = wanted;
    shareable.fd = fd;
    try {
      return make(shareable);
    } catch (const Error& error) {
      if (error.code() != Code::kUnimplemented && error.code() != Code::kUnavailable) throw;
    }
  }
  return make(wanted);
}

TENON_INLINE double timed_ns(const Router& router, const Tensor& source, const Context& to, const MapOptions& options) {
  const auto begin = Clock::now();
  const Tensor mapped = router.map(source, to, options);
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

}  // namespace detail

TENON_INLINE std::string_view name(Proof proof) {
  constexpr std::string_view names[] = {"proved", "claimed", "copies", "refused"};
  return names[static_cast<std::size_t>(proof)];
}

TENON_INLINE ProofResult prove(const Router& router, const Context& from, const Context& to, std::size_t size_bytes,
                               const std::function<Ref<Memory>(const Requirements&)>& allocate) {
  ProofResult result;
  Ledger scope;
  MapOptions options;
  options.ledger = &scope;
  options.access = Access::kReadWrite;
  try {
    Requirements wanted;
    wanted.size_bytes = size_bytes;
    wanted.alignment = 4096;
    const Ref<Memory> memory = detail::allocate_for(from, to, wanted, allocate);
    // Rows where they come out even: an image can be made of them, and a plain buffer does not mind.
    const Shape shape = size_bytes % 1024 == 0 ? Shape{size_bytes / 1024, 1024} : Shape{size_bytes};
    const Tensor source(TensorInfo{ElementType::kU8, shape, {}}, memory);
    Ref<const Route> plan = router.plan(describe(source), to, options.access, options.policy);
    if (!plan->possible()) {
      options.access = Access::kRead;
      plan = router.plan(describe(source), to, options.access, options.policy);
    }
    for (const Hop& hop : plan->hops()) result.edges.emplace_back(hop.edge->name());
    if (!plan->possible()) {
      result.reason = plan->explain();
      return result;
    }
    result.first_ns = detail::timed_ns(router, source, to, options);
    std::array<double, 15> repeats{};
    for (double& repeat : repeats) repeat = detail::timed_ns(router, source, to, options);
    std::nth_element(repeats.begin(), repeats.begin() + 7, repeats.end());
    result.repeat_ns = repeats[7];
    if (plan->copies()) {
      result.proof = Proof::kCopies;
      const auto copying =
          std::find_if(plan->hops().begin(), plan->hops().end(), [](const Hop& hop) { return hop.reached.copies; });
      result.reason = "the way copies: " + std::string(copying->edge->name());
      return result;
    }
    bool shared = true;
    for (unsigned round = 0; round < 2 && shared; ++round) {  // The second round maps again: reuse must still alias.
      const Tensor mapped = router.map(source, to, options);
      shared = detail::seen_through(source, mapped, 3 * round + 1);
      if (writes(options.access)) shared = shared && detail::seen_through(mapped, source, 3 * round + 2);
    }
    result.proof = shared ? Proof::kProved : Proof::kCopies;
    if (!shared) result.reason = "the API says it shares, but a write through one side did not reach the other";
  } catch (const Error& error) {
    const bool cannot_test = error.code() == Code::kUnimplemented && !result.edges.empty();
    result.proof = cannot_test ? Proof::kClaimed : Proof::kRefused;
    result.reason = error.what();
  } catch (const std::exception& error) {
    result.reason = error.what();
  }
  return result;
}

}  // namespace v1
}  // namespace tenon
