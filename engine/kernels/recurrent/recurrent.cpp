// SPDX-License-Identifier: Apache-2.0
// Steps of recurrent layers: compiled once per instruction set and chosen at run time.
#include <tenon/engine/kernels/recurrent/recurrent.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <type_traits>

#include <tenon/engine/kernels/simd/parallel.hpp>

#ifndef TENON_RECURRENT_ONCE
#define TENON_RECURRENT_ONCE
namespace tenon::inline v1::engine::kernels {

/// One panel of one step: what of each row lies so many numbers behind the row before.
template <typename T>
struct PanelRows {
  T* first;
  std::size_t distance;
  T* row(std::size_t index) const { return first + index * distance; }
};
constexpr std::size_t kCacheLine = 64;
using PairOfBf16 = std::uint32_t;
struct PanelStep {
  const void *weights, *next_weights;  ///< Those of the panel after it, too.
  PanelRows<const float> sums, before;
  PanelRows<float> cell, after;  ///< From the panel's first unit on.
  const float* bias;
  std::size_t rows, depth, first_unit, units;
};

}  // namespace tenon::inline v1::engine::kernels
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/engine/kernels/recurrent/recurrent.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <tenon/engine/kernels/simd/functions-inl.hpp>
#include <tenon/engine/kernels/simd/tail-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A panel has at least one vector of each gate. Two of them are in work at once, or else two sums of one: a sum waits for itself.
constexpr std::size_t kPanelVectors = Recurrent::kPanelUnits / hn::MaxLanes(D()), kAtOnce = kPanelVectors > 1 ? 2 : 1;

HWY_INLINE V SigmoidOf(V x) {
  const V one = hn::Set(D(), 1.f);
  return hn::Div(one, hn::Add(one, SafeExp(hn::Neg(x))));
}

/// What kAtOnce vectors of units of each gate get from the state of one row.
template <std::size_t kGates>
struct Shares {
  static constexpr std::size_t kSums = kGates * kAtOnce <= 4 ? 2 : 1;
  V sums[kSums][kGates][kAtOnce];

  void clear() {
    for (auto& of_gates : sums)
      for (auto& of_gate : of_gates)
        for (V& sum : of_gate) sum = hn::Zero(D());
  }
  /// @param ahead  From here on kLines lines of the cache are asked for with each row of weights.
  template <std::size_t kLines>
  HWY_INLINE void add(const float* weights, const float* state, std::size_t depth, const std::uint8_t* ahead) {
    const D d;
    Shares all = *this;  // In registers.
    const auto add_one = [&](std::size_t k, std::size_t to) HWY_ATTR {
      ask<kLines>(ahead, k);
      const V factor = hn::Set(d, state[k]);
      for (std::size_t g = 0; g < kGates; ++g)
        for (std::size_t v = 0; v < kAtOnce; ++v)
          all.sums[to][g][v] = hn::MulAdd(factor, hn::LoadU(d, weights + place(k, g, v)), all.sums[to][g][v]);
    };
    std::size_t k = 0;
    for (; k + kSums <= depth; k += kSums)
      for (std::size_t i = 0; i < kSums; ++i) add_one(k + i, i);
    if (k < depth) add_one(k, 0);
    *this = all;
  }
  template <std::size_t kLines>
  HWY_INLINE void add(const PairOfBf16* weights, const float* state, std::size_t depth, const std::uint8_t* ahead) {
    const D d;
    const hn::RebindToUnsigned<D> du;
    Shares all = *this;
    const auto add_two = [&](std::size_t row, float first, float second) HWY_ATTR {
      ask<kLines>(ahead, row);
      const V low = hn::Set(d, first), high = hn::Set(d, second);
      for (std::size_t g = 0; g < kGates; ++g)
        for (std::size_t v = 0; v < kAtOnce; ++v) {
          const auto bits = hn::LoadU(du, weights + place(row, g, v));
          V &of_low = all.sums[0][g][v], &of_high = all.sums[kSums - 1][g][v];
          of_low = hn::MulAdd(low, hn::BitCast(d, hn::ShiftLeft<16>(bits)), of_low);
          of_high = hn::MulAdd(high, hn::BitCast(d, hn::And(bits, hn::Set(du, 0xffff0000U))), of_high);
        }
    };
    for (std::size_t row = 0; row < depth / 2; ++row) add_two(row, state[2 * row], state[2 * row + 1]);
    if (depth % 2 != 0) add_two(depth / 2, state[depth - 1], 0);
    *this = all;
  }
  static std::size_t place(std::size_t row, std::size_t gate, std::size_t v) {
    return (row * kGates + gate) * Recurrent::kPanelUnits + v * hn::Lanes(D());
  }
  template <std::size_t kLines>
  static void ask(const std::uint8_t* ahead, std::size_t row) {
    for (std::size_t i = 0; i < kLines; ++i) hwy::Prefetch(ahead + (row * kLines + i) * kCacheLine);
  }
  V of(std::size_t gate, std::size_t v) const {
    return kSums == 2 ? hn::Add(sums[0][gate][v], sums[kSums - 1][gate][v]) : sums[0][gate][v];
  }
};

template <Recurrent::Kind kKind, typename Weight>
void Step(const PanelStep& step) {
  using Kind = Recurrent::Kind;
  constexpr std::size_t kGates = kKind == Kind::kLstm ? 4 : kKind == Kind::kGru ? 3 : 1;
  constexpr std::size_t kRow = kGates * Recurrent::kPanelUnits, kRowBytes = kRow * sizeof(Weight),
                        kTogether = std::is_same_v<Weight, float> ? 1 : 2;
  // Weights that stay in the first cache while all rows pass. Meanwhile the next ones are asked for: by a single row, or by the first two
  // together, as the cache cannot wait for all of them at once.
  constexpr std::size_t kRows = 8192 / kRowBytes, kDepth = kRows * kTogether,
                        kLines = (kRowBytes + kCacheLine - 1) / kCacheLine, kHalf = (kLines + 1) / 2;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const Weight* const weights = static_cast<const Weight*>(step.weights);
  for (std::size_t begin = 0; begin < step.units; begin += kAtOnce * lanes) {
    Shares<kGates> shares[Recurrent::kMostRows];
    for (std::size_t r = 0; r < step.rows; ++r) shares[r].clear();
    for (std::size_t k = 0; k < step.depth; k += kDepth) {
      const std::size_t depth = std::min(kDepth, step.depth - k);
      const Weight* const block = weights + k / kTogether * kRow;
      const auto* const ahead = static_cast<const std::uint8_t*>(
          k + kDepth < step.depth ? static_cast<const void*>(block + kRows * kRow) : step.next_weights);
      for (std::size_t r = 0; r < step.rows; ++r) {
        const float* const state = step.before.row(r) + k;
        if (step.rows == 1)
          shares[r].template add<kLines>(block + begin, state, depth, ahead);
        else if (r * kHalf < kLines)
          shares[r].template add<kHalf>(block + begin, state, depth, ahead + r * kHalf * kRows * kCacheLine);
        else
          shares[r].template add<0>(block + begin, state, depth, ahead);
      }
    }
    for (std::size_t r = 0; r < step.rows; ++r)
      for (std::size_t v = 0; v < kAtOnce; ++v) {
        const std::size_t at = begin + v * lanes;
        if (at >= step.units) break;
        const std::size_t count = std::min(lanes, step.units - at);
        const auto made = [&](std::size_t gate) HWY_ATTR { return shares[r].of(gate, v); };
        const auto given = [&](std::size_t gate)
                               HWY_ATTR { return hn::LoadU(d, step.sums.row(r) + gate * Recurrent::kPanelUnits + at); };
        const auto sum = [&](std::size_t gate) HWY_ATTR { return hn::Add(made(gate), given(gate)); };
        V state;
        if constexpr (kKind == Kind::kLstm) {
          float* const place = step.cell.row(r) + at;
          const V kept = hn::Mul(SigmoidOf(sum(0)), LoadSome(d, place, count));
          const V cell = hn::MulAdd(SigmoidOf(sum(1)), TanhOf(sum(2)), kept);
          StoreSome(cell, d, place, count);
          state = hn::Mul(SigmoidOf(sum(3)), TanhOf(cell));
        } else if constexpr (kKind == Kind::kGru) {
          const V keep = SigmoidOf(sum(0)), reset = SigmoidOf(sum(1));
          const V next = TanhOf(hn::MulAdd(reset, hn::Add(made(2), hn::LoadU(d, step.bias + at)), given(2)));
          const V before = LoadSome(d, step.before.row(r) + step.first_unit + at, count);
          state = hn::MulAdd(keep, hn::Sub(before, next), next);
        } else if constexpr (kKind == Kind::kTanh) {
          state = TanhOf(sum(0));
        } else if constexpr (kKind == Kind::kSigmoid) {
          state = SigmoidOf(sum(0));
        } else {
          state = hn::Max(hn::Zero(d), sum(0));
        }
        StoreSome(state, d, step.after.row(r) + at, count);
      }
  }
}

template <typename Weight>
void StepOf(Recurrent::Kind kind, const PanelStep& step) {
  switch (kind) {
    case Recurrent::Kind::kTanh:
      return Step<Recurrent::Kind::kTanh, Weight>(step);
    case Recurrent::Kind::kRelu:
      return Step<Recurrent::Kind::kRelu, Weight>(step);
    case Recurrent::Kind::kSigmoid:
      return Step<Recurrent::Kind::kSigmoid, Weight>(step);
    case Recurrent::Kind::kGru:
      return Step<Recurrent::Kind::kGru, Weight>(step);
    case Recurrent::Kind::kLstm:
      return Step<Recurrent::Kind::kLstm, Weight>(step);
  }
}
void RunStep(const Recurrent& what, const PanelStep& step) {
  if (what.weights == ElementType::kBf16) return StepOf<PairOfBf16>(what.kind, step);
  StepOf<float>(what.kind, step);
}

}  // namespace tenon::inline v1::engine::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::inline v1::engine::kernels {

HWY_EXPORT(RunStep);

namespace {

constexpr std::size_t kMostParts = 64;
/// Fewer bytes of weights are not worth a thread that waits in each step,
constexpr std::size_t kPartBytes = std::size_t{64} * 1024;
/// and fewer in all steps not one that never waits.
constexpr std::size_t kSideBytes = std::size_t{512} * 1024;

/// A core's own cache; where the system does not say, that of most.
std::size_t own_cache_bytes() {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const long bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return static_cast<std::size_t>(bytes);
#endif
  return std::size_t{1} << 20;
}

/// Leaves the core to its other thread for a moment.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Threads take parts of rounds, which begin when the round before is done. Each takes its own parts first, round after round, and
/// then what another has not begun: a thread that comes late, or never, holds up none.
class Rounds {
 public:
  explicit Rounds(std::size_t parts) : parts_(parts) {}
  template <typename Body>
  void work(std::size_t first, std::size_t rounds, const Body& body) {
    for (std::size_t round = done_.load(std::memory_order_acquire) / parts_; round < rounds; ++round) {
      for (std::size_t i = 0; i < parts_; ++i) {
        const std::size_t part = (first + i) % parts_;
        std::size_t begun = round;
        if (begun_[part].rounds.load(std::memory_order_relaxed) != round ||
            !begun_[part].rounds.compare_exchange_strong(begun, round + 1, std::memory_order_relaxed))
          continue;
        body(round, part);
        done_.fetch_add(1, std::memory_order_acq_rel);
      }
      wait((round + 1) * parts_);
    }
  }

 private:
  /// What is awaited are threads at work, for some microseconds; longer if the system has halted one.
  void wait(std::size_t done) const {
    constexpr int kTries = 2000;
    for (int i = 0; done_.load(std::memory_order_acquire) < done; ++i)
      if (i < kTries)
        pause();
      else
        std::this_thread::yield();
  }
  struct alignas(kCacheLine) Begun {
    std::atomic<std::size_t> rounds{0};
  };
  std::size_t parts_;
  std::array<Begun, kMostParts> begun_;
  alignas(kCacheLine) std::atomic<std::size_t> done_{0};
};

}  // namespace

void run_recurrent(const Recurrent& what, const RecurrentOperands& operands, std::size_t threads) {
  const std::size_t panels = what.panels(), directions = what.directions, hidden = what.hidden, steps = what.steps,
                    panel_bytes = what.panel_bytes();
  if (operands.cell) std::memcpy(operands.last_cell, operands.cell, what.batch * directions * hidden * sizeof(float));
  const std::size_t bytes = panels * panel_bytes;
  const auto parts_of = [&](std::size_t sides) {
    return std::clamp<std::size_t>(bytes / kPartBytes, 1,
                                   std::min({(threads + sides - 1) / sides, panels, kMostParts}));
  };
  // Directions at once are sides that do not wait for each other. Each has half the threads, so a thread has twice the weights: not if
  // its cache holds those of one direction alone.
  std::size_t sides = directions;
  if (threads == 1 || bytes * steps < kSideBytes ||
      (bytes / parts_of(directions) > own_cache_bytes() && bytes / parts_of(1) <= own_cache_bytes()))
    sides = 1;
  const std::size_t rounds = directions / sides * steps, parts = parts_of(sides);
  const auto run_part = [&](std::size_t round, std::size_t part) {
    const std::size_t direction = round / steps, done = round % steps;
    const bool is_reverse = direction == 1 || what.is_reverse;
    const std::size_t time = is_reverse ? steps - 1 - done : done, before = is_reverse ? time + 1 : time - 1;
    const std::size_t begin = panels * part / parts, end = panels * (part + 1) / parts, states = directions * hidden;
    // Forth and back: what the step before has read last is still in the cache.
    const auto panel_of = [&](std::size_t i) { return round % 2 ? end - 1 - (i - begin) : i; };
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t panel = panel_of(i), at = direction * panels + panel, unit = panel * Recurrent::kPanelUnits,
                        first = direction * hidden;
      float* const all = operands.all + first * steps;
      PanelStep step;
      const auto weights_of = [&](std::size_t of) {
        return static_cast<const std::byte*>(operands.weights) + (direction * panels + of) * panel_bytes;
      };
      step.weights = weights_of(panel);
      step.next_weights = weights_of(panel_of(std::min(i + 1, end - 1)));
      step.sums = {operands.sums + (time * directions * panels + at) * what.panel_columns(), steps * what.columns()};
      step.before = {operands.first + first, states};
      if (done > 0) step.before = {all + before * hidden, states * steps};
      step.cell = {operands.cell ? operands.last_cell + first + unit : nullptr, states};
      step.after = {all + time * hidden + unit, states * steps};
      step.bias = operands.bias + at * Recurrent::kPanelUnits;
      step.rows = what.batch;
      step.depth = hidden;
      step.first_unit = unit;
      step.units = std::min(hidden - unit, Recurrent::kPanelUnits);
      HWY_DYNAMIC_DISPATCH(RunStep)(what, step);
      for (std::size_t b = 0; done + 1 == steps && b < what.batch; ++b)
        std::memcpy(operands.last + b * states + first + unit, step.after.row(b), step.units * sizeof(float));
    }
  };
  Rounds of_sides[] = {Rounds(parts), Rounds(parts)};
  parallel_ranges(
      sides * parts, 1,
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t task = begin; task < end; ++task)
          for (std::size_t i = 0; i < sides; ++i) {  // Its own side, then what is left of the other.
            const std::size_t side = (task + i) % sides;
            of_sides[side].work(task / sides, rounds,
                                [&](std::size_t round, std::size_t part) { run_part(side * steps + round, part); });
          }
      },
      Split::kByGrain);
}

}  // namespace tenon::inline v1::engine::kernels
#endif
