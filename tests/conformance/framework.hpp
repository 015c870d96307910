// SPDX-License-Identifier: Apache-2.0
// What a framework supplies so that the conformance suite can run over it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>

namespace tenon::conformance {

/// Memory and, for pools and foreign references, the use of it that a tensor over it must hold.
struct Allocation {
  Ref<Memory> memory;
  Lease lease;
};

/// A test that does not apply, and why. `test` is the test's name ("EdgeTest.Threads" is "Threads"), or "format:<name>"
/// for a pixel format ("format:yuy2"). Exclusions are printed as skipped with their reason, never left out in silence.
struct Exclusion {
  std::string test;
  std::string reason;
};

/// The factory of one framework. It lies in the framework's folder as `conformance.cpp`, is found there by CMake, and
/// ends with
///     const bool registered = tenon::conformance::add(std::make_unique<XUnderTest>());
/// The suite takes every edge of every registered context, from every registered framework whose memory has the edge's
/// `from` kind, to every registered framework whose context has the edge's `to` kind. The functions below are called
/// from one thread at a time.
class FrameworkUnderTest {
 public:
  virtual ~FrameworkUnderTest() = default;

  /// "null"; letters, digits and underscores: it becomes part of test names.
  virtual std::string_view name() const = 0;

  /// A context; a fresh one at each call where the framework has such. Its kind() is the kind of memory made below.
  /// @errors kUnavailable when the machine lacks what it takes: the tests are then skipped with the message.
  virtual Context make_context() = 0;

  /// The ways in which memory of this framework comes into being ("owned", "borrowed", "pooled"); each is tested by
  /// itself.
  virtual std::vector<std::string> variants() const { return {"default"}; }

  /// Memory of at least wanted.size_bytes. Only what make_tensor() and make_frame() below call: those that override
  /// both need not.
  virtual Allocation make_memory(const Context& context, std::string_view variant, const Requirements& wanted) {
    return {context->allocate(wanted), {}};
  }

  /// A tensor at `offset` in new memory. Empty when this framework has frames only. The suite fills it by
  /// context->write().
  virtual Tensor make_tensor(const Context& context, std::string_view variant, const TensorInfo& info,
                             std::size_t offset = 0) {
    Requirements wanted;
    wanted.size_bytes = offset + checked_extent_bytes(info).value();
    wanted.alignment = 64;
    Allocation made = make_memory(context, variant, wanted);
    return Tensor(info, std::move(made.memory), offset, std::move(made.lease));
  }

  /// A frame with all planes in one allocation where the framework allows. Empty when it has no such format: then
  /// exclusions() must have "format:<name>".
  virtual Frame make_frame(const Context& context, std::string_view variant, const FrameInfo& info) {
    Requirements wanted;
    wanted.pitch_alignment = 64;
    wanted.alignment = 64;
    wanted.size_bytes = Frame::size_bytes_for(info, wanted);
    Allocation made = make_memory(context, variant, wanted);
    return Frame::over(info, made.memory, wanted, std::move(made.lease));
  }

  /// Native objects alive that this framework made or refers to (handles, references, buffers out of a pool). Counted
  /// before and after: equal numbers mean that everything was released, and nothing twice.
  virtual std::size_t live_objects() const = 0;

  /// Frees what is kept for reuse (idle pool buffers, with their views in other contexts); called before each count.
  virtual void drop_idle() {}

  /// Makes the n-th native call from now on fail once (1: the next one); 0 takes that back. Returns false when this
  /// framework calls nothing that can fail or has no means to make it fail: exclusions() must then have
  /// "NativeFailure".
  virtual bool fail_native_call(std::size_t n) { return false; }
  /// Whether the failure asked for has happened since.
  virtual bool native_call_failed() const { return false; }

  virtual std::vector<Exclusion> exclusions() const { return {}; }
};

/// Adds a framework to those under test. Called before main() from the frameworks' conformance.cpp, which are linked as
/// objects.
bool add(std::unique_ptr<FrameworkUnderTest> framework);
/// All that were added, by name.
const std::vector<std::unique_ptr<FrameworkUnderTest>>& all();

}  // namespace tenon::conformance
