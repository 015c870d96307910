// SPDX-License-Identifier: Apache-2.0
// The alias test behind matrix, reports and conformance.
#include <tenon/core/proof.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
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

/// Writes through `a` and reads through `b`. All bytes are compared: a driver may share only the first page.
TENON_INLINE bool seen_through(const Tensor& a, const Tensor& b, unsigned seed) {
  const auto written = pattern(a.size_bytes(), seed);
  a.context()->write(a, written);
  std::vector<std::byte> read(b.size_bytes());
  b.context()->read(b, read);
  return read == written;
}

/// Allocates with a descriptor when the target needs one to share and the source can make one.
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

/// Whether writes through each side are seen through the other; true where the way is refused or copies, which is
/// nothing that was claimed.
TENON_INLINE bool is_shared(const Router& router, const Tensor& source, const Context& to, const MapOptions& options,
                            unsigned seed) {
  const Ref<const Route> plan = router.plan(describe(source), to, options.access, options.policy);
  if (!plan->possible() || plan->copies()) return true;
  const Tensor mapped = router.map(source, to, options);
  return seen_through(source, mapped, 2 * seed) &&
         (!writes(options.access) || seen_through(mapped, source, 2 * seed + 1));
}

/// The same for regions that begin at odd places, for memory that is mapped again, and for memory that comes after:
/// allocators mostly give it the same address, and a stale view would show the bytes of the one before.
TENON_INLINE bool stays_shared(const Router& router, Tensor whole, const Context& to, const MapOptions& options,
                               const std::function<Ref<Memory>()>& allocate) {
  unsigned seed = 1;
  for (int life = 0; life < 2; ++life) {
    for (int round = 0; round < 2; ++round) {
      if (!is_shared(router, whole, to, options, seed++)) return false;
    }
    for (const std::size_t offset : {std::size_t{1}, std::size_t{64}, std::size_t{3072}}) {
      if (offset >= whole.size_bytes()) continue;
      const std::size_t size = std::min<std::size_t>(whole.size_bytes() - offset, 65536);
      const Tensor part({ElementType::kU8, {size}, {}}, whole.memory(), offset);
      if (!is_shared(router, part, to, options, seed++)) return false;
    }
    if (life != 0) break;
    const TensorInfo info = whole.info();
    whole = {};
    whole = Tensor(info, allocate());
  }
  return true;
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
    const auto make = [&] { return detail::allocate_for(from, to, wanted, allocate); };
    // Two-dimensional when the size divides evenly: images need rows, and plain buffers do not care.
    const Shape shape = size_bytes % 1024 == 0 ? Shape{size_bytes / 1024, 1024} : Shape{size_bytes};
    Tensor source(TensorInfo{ElementType::kU8, shape, {}}, make());
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
    const bool shared = detail::stays_shared(router, std::exchange(source, {}), to, options, make);
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
