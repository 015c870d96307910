// SPDX-License-Identifier: Apache-2.0
// Loops split over the workers of the arena that calls them.
#pragma once

#include <cstddef>
#include <memory>

namespace tenon::inline v1::engine::kernels {

/// A reference to a callable body(begin, end), valid while the callable lives. It erases the type, so that the templates of oneTBB
/// are instantiated once and not for each kernel, element type and index type.
class RangeBody {
 public:
  template <typename Body>
  RangeBody(const Body& body)  // NOLINT(google-explicit-constructor): kernels pass lambdas.
      : body_(std::addressof(body)), call_([](const void* called, std::size_t begin, std::size_t end) {
          (*static_cast<const Body*>(called))(begin, end);
        }) {}
  void operator()(std::size_t begin, std::size_t end) const { call_(body_, begin, end); }

 private:
  const void* body_;
  void (*call_)(const void*, std::size_t, std::size_t);
};

/// How a range is divided among workers.
enum class Split {
  kEvenly,    ///< One part for each worker, always the same one: parts take equally long.
  kAsNeeded,  ///< Smaller parts as workers become idle.
  kByGrain,   ///< Parts of `grain`.
};

/// Calls body(begin, end) over parts of [0, count) of at least about `grain` each, in any order, and returns when all
/// are done.
void parallel_ranges(std::size_t count, std::size_t grain, RangeBody body, Split split);

/// Below this many bytes of work a loop stays in the calling thread: waking a worker costs about as much.
inline constexpr std::size_t kParallelBytes = std::size_t{32} * 1024;

/// Calls body(begin, end) over parts of [0, count), in parallel if `bytes` (read and written in all) make that
/// worthwhile.
void parallel(std::size_t count, std::size_t bytes, RangeBody body);

}  // namespace tenon::inline v1::engine::kernels
