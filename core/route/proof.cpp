// SPDX-License-Identifier: Apache-2.0
// The alias test behind matrix, reports and conformance.
#include <tenon/core/proof.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>

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

/// The way of a tensor, or that of a grey image over its bytes for contexts that take only whole images.
struct Way {
  const Router& router;
  Context to;
  MapOptions options;
  bool picture = false;

  static Frame over(const Tensor& tensor) {
    return {{kGray8, static_cast<std::uint32_t>(tensor.shape()[1]), static_cast<std::uint32_t>(tensor.shape()[0])},
            {tensor}};
  }
  Ref<const Route> plan(const Tensor& source) const {
    return picture ? router.plan(describe(over(source)), to, options.access, options.policy)
                   : router.plan(describe(source), to, options.access, options.policy);
  }
  Tensor map(const Tensor& source) const {
    return picture ? router.map(over(source), to, options).plane(0) : router.map(source, to, options);
  }
  /// The plan for the first possible combination of access and source; else the plan for reading the tensor.
  Ref<const Route> choose(const Tensor& source) {
    Ref<const Route> refused;
    for (const bool as_picture : {false, true}) {
      if (as_picture && source.shape().size() != 2) continue;
      picture = as_picture;
      for (const Access access : {Access::kReadWrite, Access::kRead}) {
        options.access = access;
        Ref<const Route> made = plan(source);
        if (made->possible()) return made;
        if (!as_picture) refused = std::move(made);
      }
    }
    return refused;
  }
};

/// Allocates with a descriptor when the target needs one to share and the source can make one, and in whole pages if it
/// aligns as much.
TENON_INLINE Ref<Memory> allocate_for(const Context& from, const Context& to, const Requirements& wanted,
                                      const std::function<Ref<Memory>(const Requirements&)>& allocate) {
  const FdKind fd = to->requirements().fd;
  for (const std::size_t alignment : {wanted.alignment, std::size_t{1}}) {
    for (const FdKind each : {fd, FdKind::kNone}) {
      const bool is_last = alignment == 1 && each == FdKind::kNone;
      Requirements asked = wanted;
      asked.alignment = alignment;
      asked.fd = each;
      try {
        return allocate ? allocate(asked) : from->allocate(asked);
      } catch (const Error& error) {
        if (is_last || (error.code() != Code::kUnimplemented && error.code() != Code::kUnavailable)) throw;
      }
    }
  }
  return {};
}

/// Whether writes through each side are visible through the other. True also if the way is refused or copies, because
/// no sharing was claimed then.
TENON_INLINE bool is_shared(const Way& way, const Tensor& source, unsigned seed) {
  const Ref<const Route> plan = way.plan(source);
  if (!plan->possible() || plan->copies()) return true;
  const Tensor mapped = way.map(source);
  return seen_through(source, mapped, 2 * seed) &&
         (!writes(way.options.access) || seen_through(mapped, source, 2 * seed + 1));
}

/// The same for regions that begin at odd places, for memory that is mapped again, and for memory that comes after:
/// allocators mostly give it the same address, and a stale view would show the bytes of the one before.
TENON_INLINE bool stays_shared(const Way& way, Tensor whole, const std::function<Ref<Memory>()>& allocate) {
  unsigned seed = 1;
  for (int life = 0; life < 2; ++life) {
    for (int round = 0; round < 2; ++round) {
      if (!is_shared(way, whole, seed++)) return false;
    }
    for (const std::size_t offset : {std::size_t{1}, std::size_t{64}, std::size_t{3072}}) {
      if (way.picture || offset >= whole.size_bytes()) continue;
      const std::size_t size = std::min<std::size_t>(whole.size_bytes() - offset, 65536);
      const Tensor part({ElementType::kU8, {size}, {}}, whole.memory(), offset);
      if (!is_shared(way, part, seed++)) return false;
    }
    if (life != 0) break;
    const TensorInfo info = whole.info();
    whole = {};
    whole = Tensor(info, allocate());
  }
  return true;
}

TENON_INLINE double timed_ns(const Way& way, const Tensor& source) {
  const auto begin = Clock::now();
  const Tensor mapped = way.map(source);
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
  detail::Way way{router, to, {}};
  way.options.ledger = &scope;
  try {
    Requirements wanted;
    wanted.size_bytes = size_bytes;
    wanted.alignment = 4096;
    const auto make = [&] { return detail::allocate_for(from, to, wanted, allocate); };
    // Two-dimensional when the size divides evenly: images need rows, and plain buffers do not care.
    const Shape shape = size_bytes % 1024 == 0 ? Shape{size_bytes / 1024, 1024} : Shape{size_bytes};
    Tensor source(TensorInfo{ElementType::kU8, shape, {}}, make());
    const Ref<const Route> plan = way.choose(source);
    for (const Hop& hop : plan->hops()) result.edges.emplace_back(hop.edge->name());
    if (!plan->possible()) {
      result.reason = plan->explain();
      return result;
    }
    result.first_ns = detail::timed_ns(way, source);
    std::array<double, 15> repeats{};
    for (double& repeat : repeats) repeat = detail::timed_ns(way, source);
    std::nth_element(repeats.begin(), repeats.begin() + 7, repeats.end());
    result.repeat_ns = repeats[7];
    if (plan->copies()) {
      result.proof = Proof::kCopies;
      const auto copying =
          std::find_if(plan->hops().begin(), plan->hops().end(), [](const Hop& hop) { return hop.reached.copies; });
      result.reason = "the way copies: " + std::string(copying->edge->name());
      return result;
    }
    const bool shared = detail::stays_shared(way, std::exchange(source, {}), make);
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
