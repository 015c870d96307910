// SPDX-License-Identifier: Apache-2.0
// What a framework provides so that the conformance suite can test it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>

namespace tenon::conformance {

/// Memory and, for pools and foreign references, the lease that a tensor over it must hold.
struct Allocation {
  Ref<Memory> memory;
  Lease lease;
};

/// A test that does not apply, and why. `test` is the test's name ("EdgeTest.Threads" is "Threads"), or "format:<name>"
/// for a pixel format ("format:yuy2"). Exclusions are printed as skipped with their reason, never omitted silently.
struct Exclusion {
  std::string test;
  std::string reason;
};

/// The factory of one framework. It is `conformance.cpp` in the framework's folder, where CMake finds it, and
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

  /// A context; a fresh one at each call if the framework has several. Its kind() is the kind of memory made below.
  /// @errors kUnavailable when the machine lacks something needed: the tests are then skipped with the message.
  virtual Context make_context() = 0;

  /// Edges that belong to no context: those of a bridge between two frameworks.
  virtual std::span<const Edge* const> edges() const { return {}; }

  /// The ways in which this framework's memory can be created ("owned", "borrowed", "pooled"); each is tested
  /// separately.
  virtual std::vector<std::string> variants() const { return {"default"}; }

  /// Memory of at least wanted.size_bytes. Only make_tensor() and make_frame() below call it: not needed if
  /// both are overridden.
  virtual Allocation make_memory(const Context& context, std::string_view variant, const Requirements& wanted) {
    return {context->allocate(wanted), {}};
  }

  /// A tensor at `offset` in new memory. Empty if this framework only has frames. The suite fills it by
  /// context->write().
  virtual Tensor make_tensor(const Context& context, std::string_view variant, const TensorInfo& info,
                             std::size_t offset = 0) {
    Requirements wanted;
    wanted.size_bytes = offset + checked_extent_bytes(info).value();
    wanted.alignment = 64;
    Allocation made = make_memory(context, variant, wanted);
    return Tensor(info, std::move(made.memory), offset, std::move(made.lease));
  }

  /// A frame with all planes in one allocation if the framework allows that. Empty if it has no such format: then
  /// exclusions() must have "format:<name>".
  virtual Frame make_frame(const Context& context, std::string_view variant, const FrameInfo& info) {
    Requirements wanted;
    wanted.pitch_alignment = 64;
    wanted.alignment = 64;
    wanted.size_bytes = Frame::size_bytes_for(info, wanted);
    Allocation made = make_memory(context, variant, wanted);
    return Frame::over(info, made.memory, wanted, std::move(made.lease));
  }

  /// Number of live native objects that this framework made or refers to (handles, references, pool buffers in use).
  /// Counted before and after: equal numbers mean that everything was released, and nothing twice. The suite itself counts descriptors, and
  /// mappings of dma-bufs and memfds: a framework whose objects are these has no others.
  virtual std::size_t live_objects() const { return 0; }

  /// Frees memory kept for reuse (idle pool buffers, with their views in other contexts); called before each count.
  virtual void drop_idle() {}

  /// Makes the n-th native call from now on fail once (1: the next one); 0 cancels that. Returns false if this
  /// framework makes no calls that can fail or can't make them fail: exclusions() must then have
  /// "NativeFailure".
  virtual bool fail_native_call(std::size_t n) { return false; }
  /// Whether the requested failure has happened since.
  virtual bool native_call_failed() const { return false; }

  virtual std::vector<Exclusion> exclusions() const { return {}; }
};

/// Adds a framework to be tested. Called before main() by the frameworks' conformance.cpp, which are linked as
/// objects.
bool add(std::unique_ptr<FrameworkUnderTest> framework);
/// All added frameworks, by name.
const std::vector<std::unique_ptr<FrameworkUnderTest>>& all();

}  // namespace tenon::conformance
