// SPDX-License-Identifier: Apache-2.0
// Video processing as an edge: a place where all pictures have the format and size of a Processor.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/vaapi/context.hpp>
#include <tenon/frameworks/vaapi/memory.hpp>
#include <tenon/frameworks/vaapi/process.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// `Tensor::kind()` of planes of surfaces that were processed for a place. A kind of its own, so that no way leads through
/// a place: values change only for who asks for it.
inline constexpr MemoryKind kProcessedMemory{"vaapi.processed"};

namespace detail {

/// Converts: other pixels in another surface. Booked as converted, so that ZeroCopy::kRequire allows it.
class SurfaceToProcessed final : public Edge {
 public:
  std::string_view name() const override { return "vaapi->vaapi.processed"; }
  MemoryKind from() const override { return kVaapiMemory; }
  MemoryKind to() const override { return kProcessedMemory; }
  bool takes_single_planes() const override { return false; }
  std::string_view host_wait(const Description&) const override {
    return "it converts, and begins when the writers are done";
  }
  Step step(const Description&, const Context&, Access) const override { return Refusal{kWholeFrames}; }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    throw Error(Code::kFailedPrecondition,
                std::string(name()) + ": " + std::get<Refusal>(step(describe(source), to, options.access)).reason);
  }
  FrameStep step_frame(const FrameDescription& from, const Context& to, Access access) const override;
  Frame map_frame(const Frame& source, const Context& to, const MapOptions& options) const override;
};

/// The same surface, no longer seen from the place.
class ProcessedToSurface final : public Edge {
 public:
  std::string_view name() const override { return "vaapi.processed->vaapi"; }
  MemoryKind from() const override { return kProcessedMemory; }
  MemoryKind to() const override { return kVaapiMemory; }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    settle(source, to, options);
    return source.through(nullptr);
  }
};

inline const SurfaceToProcessed surface_to_processed;
inline const ProcessedToSurface processed_to_surface;
inline constexpr const Edge* kPlaceEdges[] = {&surface_to_processed, &processed_to_surface};

/// Knows its Processor, and does not keep it: the results, which the Processor keeps, have views here.
class ProcessedContext final : public ContextImpl {
 public:
  ProcessedContext(const std::shared_ptr<ProcessorState>& processor, const Processing& how, std::string name)
      : processor_(processor), surfaces_(processor->context()), how_(how), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kProcessedMemory; }
  DeviceIdentity device() const override { return surfaces_->device(); }
  std::span<const Edge* const> edges() const override { return kPlaceEdges; }
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    surfaces_->read(tensor.through(nullptr), out);
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    surfaces_->write(tensor.through(nullptr), in);
  }

  /// Null when it is gone.
  std::shared_ptr<ProcessorState> processor() const { return processor_.lock(); }
  /// Where the surfaces are.
  const Context& surfaces() const { return surfaces_; }
  const Processing& how() const { return how_; }

 private:
  const std::weak_ptr<ProcessorState> processor_;
  const Context surfaces_;
  const Processing how_;
  const std::string name_;
};

/// A driver's rough cost for a picture of 1080 rows; software takes more.
inline constexpr double kProcessing_ns = 500'000;

inline FrameStep SurfaceToProcessed::step_frame(const FrameDescription& from, const Context& to, Access access) const {
  const auto* place = to.as<ProcessedContext>();
  const auto* surfaces = from.planes[0].context.as<SurfaceContext>();
  if (!place || !surfaces) return Refusal{"source is no vaapi context, or target no place of a vaapi::Processor"};
  const auto processor = place->processor();
  if (!processor) return Refusal{"the vaapi::Processor of " + std::string(to->name()) + " is gone"};
  if (surfaces->display()->handle() != processor->display()->handle())
    return Refusal{"the surface belongs to another VADisplay"};
  if (writes(access)) return Refusal{"it converts: writes would not reach the source"};
  try {
    rectangle_of(place->how().crop, from.info, "crop");
    rectangle_of(place->how().region, processor->output(), "region");
  } catch (const Error& error) {
    return Refusal{error.what()};
  }
  ReachedFrame reached{processor->like(), false, kProcessing_ns};
  reached.result.info = processor->result_of(from.info, place->how());
  for (std::size_t p = 0; p < reached.result.plane_count; ++p) {
    reached.result.planes[p].context = to;
    reached.result.planes[p].kind = kProcessedMemory;
  }
  return reached;
}

inline Frame SurfaceToProcessed::map_frame(const Frame& source, const Context& to, const MapOptions& options) const {
  const FrameStep judged = step_frame(describe(source), to, options.access);
  if (const auto* refusal = std::get_if<Refusal>(&judged))
    throw Error(Code::kFailedPrecondition, std::string(name()) + ": " + refusal->reason);
  const auto* place = to.as<ProcessedContext>();
  const auto processor = place->processor();
  if (!processor) throw Error(Code::kFailedPrecondition, std::string(name()) + ": its vaapi::Processor is gone");
  const Frame made = processor->run(source, place->how(), deadline_of(options), options.ledger);
  ledger_of(options).book_converted(id(), source.size_bytes());
  std::array<const View*, 4> views{};
  for (std::size_t p = 0; p < made.plane_count(); ++p) {
    const Memory& memory = *made.plane(p).memory();
    views[p] = memory.find_view(*to, kProcessedMemory, Access::kReadWrite);
    if (!views[p])
      views[p] = &memory.add_view(std::make_unique<View>(to, kProcessedMemory, Access::kReadWrite, nullptr));
  }
  return made.through({views.data(), made.plane_count()});
}

inline Step ProcessedToSurface::step(const Description& from, const Context& to, Access access) const {
  const auto* place = from.context.as<ProcessedContext>();
  if (!place || !(place->surfaces() == to)) return Refusal{"the surface belongs to another vaapi context"};
  if (writes(access) && from.read_only) return Refusal{"the surface may only be read"};
  return shared_in_place(from, to, kVaapiMemory, 60);
}

}  // namespace detail

inline Context Processor::place(const Processing& how, std::string name) const {
  return Context(make_ref<detail::ProcessedContext>(state_, how, std::move(name)));
}

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
