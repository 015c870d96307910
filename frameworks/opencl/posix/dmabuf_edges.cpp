// SPDX-License-Identifier: Apache-2.0
// Dma-bufs as buffers and images, ordered after their fences, and the way back.
#include <tenon/frameworks/opencl/dmabuf_edges.hpp>

#include <poll.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>
#include <tenon/frameworks/opencl/access.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/edges.hpp>
#include <tenon/frameworks/opencl/external.hpp>
#include <tenon/frameworks/opencl/fence.hpp>
#include <tenon/frameworks/opencl/image.hpp>
#include <tenon/frameworks/opencl/image_rows.hpp>
#include <tenon/frameworks/opencl/image_shelf.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

/// Memory of another API as an image, taken and given back like a buffer of it. Kept on its memory's ImageShelf.
class ImportedImage final : public ImageView, public Turns {
 public:
  /// @errors those of acquiring.
  ImportedImage(Context context, Access access, const Ref<Native>& native, Handle<cl_mem> image,
                const ImageLayout& layout, const cl_image_format& format, const Memory& memory)
      : ImageView(std::move(context), access, native, std::move(image), layout, format),
        Turns(0),
        native_(native),
        memory_(memory),
        possession_(*native_, this->image()) {}

 private:
  void open(Deadline) override {
    taken_ = possession_.take(memory_);
    memory_.hazards().wrote(taken_, kNoBytes);
  }
  TimelinePoint close(const Memory& memory) override {
    return possession_.give_back(memory, std::exchange(taken_, {}));
  }

  Ref<Native> native_;
  const Memory& memory_;  // Outlives it: the leases of its users keep both.
  // Under the lock of Turns.
  Possession possession_;
  TimelinePoint taken_;
};

/// Orders what OpenCL does next with a dma-buf after the fences that drivers have attached to it: its queue waits where
/// the device waits for sync files, else the host. @errors kDeadlineExceeded; those of the calls. @cost one poll.
TENON_INLINE void order_after_fences(const Memory& memory, int fd, const Native& native, const MapOptions& options) {
  if (waits_for_sync_files(native)) {
    const short event = writes(options.access) ? POLLOUT : POLLIN;
    if (dmabuf::native::poll_until(Clock::time_point::min(), fd, event)) return;
    try {
      memory.hazards().wrote(dmabuf::export_sync_file(fd, options.access), kNoBytes);
      return;
    } catch (const Error& error) {
      if (error.code() != Code::kUnimplemented) throw;  // A kernel before 6.0 hands out no fences.
    }
  }
  dmabuf::client::wait_for_fences(fd, options.access, deadline_of(options), &ledger_of(options));
}

TENON_INLINE std::string_view fences_wait(const Description& from) {
  return from.fd == FdKind::kDmabuf ? "drivers of OpenCL that wait for no sync files may ignore a dma-buf's fences"
                                    : "";
}

/// A dma-buf, or the memfd that stands in for one, as a buffer. Imported once for each cl_context.
class DmabufToBuffer final : public Edge {
 public:
  std::string_view name() const override { return "dmabuf->opencl.buffer"; }
  MemoryKind from() const override { return dmabuf::kDmabufMemory; }
  MemoryKind to() const override { return kBufferMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (auto refusal = refuses_descriptor(from, to, access)) return *std::move(refusal);
    Reached reached = shared_in_place(from, to, kBufferMemory, 10'000);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }

  std::string_view host_wait(const Description& from) const override { return fences_wait(from); }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Reached reached = reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    const dmabuf::client::Place place = dmabuf::client::place_of(source);
    if (!place.stand_in) order_after_fences(memory, place.fd, facet_of(to)->native(), options);
    if (memory.context() == to) return source.through(nullptr);
    return map_by_descriptor(source, to, place.fd, reached.result.fd, options);
  }
};

/// A dma-buf, or the memfd that stands in for one, as an image in one hop: a picture that begins with the memory, at any
/// pitch that its pixels divide. Others go over a buffer. An ImageShelf keeps the images.
class DmabufToImage final : public Edge {
 public:
  std::string_view name() const override { return "dmabuf->opencl.image"; }
  MemoryKind from() const override { return dmabuf::kDmabufMemory; }
  MemoryKind to() const override { return kImageMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto* images = to.as<ImageContext>();
    if (!images) return Refusal{"the target is not a context of images"};
    if (auto refusal = refuses_descriptor(from, to, access)) return *std::move(refusal);
    const Device& device = images->native().device;
    if (!contains(device.linear_image_imports, handle_type_of(from.fd)))
      return Refusal{
          device.name +
          " does not say that images over imported memory have plain rows "
          "(CL_DEVICE_EXTERNAL_MEMORY_IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR), or failed an alias test"};
    if (auto refusal = refuses_rows(from, *images)) return *std::move(refusal);
    if (from.offset != 0)
      return Refusal{"the picture begins at byte " + std::to_string(from.offset) +
                     ", and an image over imported memory begins with it"};
    Reached reached = shared_in_place(from, to, kImageMemory, 10'000);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }

  std::string_view host_wait(const Description& from) const override { return fences_wait(from); }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Reached reached = reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    const Ref<Native>& native = to.as<ImageContext>()->native_ref();
    const dmabuf::client::Place place = dmabuf::client::place_of(source);
    if (!place.stand_in) order_after_fences(memory, place.fd, *native, options);
    const RowsOfImage rows = rows_of_image(source);
    ImageShelf& shelf = ImageShelf::of(memory, to, ImageShelf::Of::kImport);
    const auto in_turn = [&](Ref<const ImageView> image) {
      const ImageView* const view = image.get();
      // This shelf holds nothing else.
      Turns& turns = static_cast<ImportedImage&>(const_cast<ImageView&>(*view));
      // The turn ends before the image goes.
      return source.through(view).with_lease(TurnLease::enter(
          source.memory(), turns, ImageLease::over(source, std::move(image)), options.access, deadline_of(options)));
    };
    if (Ref<const ImageView> known = shelf.find(rows.layout, rows.format)) return in_turn(std::move(known));
    const ImportedRows wanted =
        imported_rows(rows.format, rows.layout.width_px, rows.layout.height_px, rows.layout.pitch);
    const Access access = memory.read_only() ? Access::kRead : Access::kReadWrite;
    const Ref<const ImageView> made = make_ref<ImportedImage>(
        to, access, native, import_buffer(*native, place.fd, reached.result.fd, memory.size_bytes(), &wanted),
        rows.layout, rows.format, memory);
    Tensor mapped = in_turn(made);  // Before it is kept: an image that cannot be taken is not.
    Ref<const ImageView> kept = shelf.keep(made);
    return kept.get() == made.get() ? mapped : in_turn(std::move(kept));
  }
};

/// The lease of the tensor that was mapped to OpenCL: back in its own framework, OpenCL's turn can end.
TENON_INLINE Lease without_device_turn(const Lease& lease) {
  if (const auto* image = dynamic_cast<const ImageLease*>(lease.get())) return without_device_turn(image->inner());
  const auto* turn = dynamic_cast<const TurnLease*>(lease.get());
  if (turn && dynamic_cast<const ImportedImage*>(&turn->turns())) return without_device_turn(turn->inner());
  return turn && are_of_import(turn->turns()) ? turn->inner() : lease;
}

/// Memory behind a dma-buf, back as one. OpenCL exports none of its own.
class ToDmabuf final : public Edge {
 public:
  ToDmabuf(std::string_view name, MemoryKind from) : name_(name), from_(from) {}
  std::string_view name() const override { return name_; }
  MemoryKind from() const override { return from_; }
  MemoryKind to() const override { return dmabuf::kDmabufMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (!facet_of(from.context)) return Refusal{"the source is not memory of this framework"};
    if (from.fd == FdKind::kNone || !from.fd.serves(FdKind::kMemfd))
      return Refusal{
          "OpenCL exports no memory as a dma-buf; allocate with frameworks/dmabuf or frameworks/cpu and map that here"};
    if (from.host_addressable) return Refusal{"the host has its address, and goes to a dma-buf in place"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, dmabuf::kDmabufMemory, 300);
    reached.result.alignment = 1;
    return reached;
  }

  std::string_view host_wait(const Description& /*from*/) const override {
    return "an importer of the descriptor cannot wait for OpenCL's work";
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    const Tensor returned = source.with_lease(without_device_turn(source.lease()));
    if (memory.context() == to) return returned.through(nullptr);
    memory.wait_for(options.access, deadline_of(options), &ledger_of(options));
    const View* view = memory.find_view(*to, dmabuf::kDmabufMemory, options.access);
    if (!view) {
      if (memory.borrow_fd() < 0)
        throw Error(Code::kFailedPrecondition,
                    std::string(name_) + ": " + to_string(source) + " has no descriptor of its own");
      view = &memory.add_view(std::make_unique<dmabuf::DmabufView>(
          to, memory.read_only() ? Access::kRead : Access::kReadWrite, cpu::UniqueFd(), memory.borrow_fd(),
          memory.fd_kind() != FdKind::kDmabuf));
    }
    return returned.through(view);
  }

 private:
  std::string_view name_;
  MemoryKind from_;
};

TENON_INLINE const Edge& dmabuf_to_buffer() {
  static const DmabufToBuffer edge;
  return edge;
}

TENON_INLINE const Edge& dmabuf_to_image() {
  static const DmabufToImage edge;
  return edge;
}

TENON_INLINE const Edge& buffer_to_dmabuf() {
  static const ToDmabuf edge("opencl.buffer->dmabuf", kBufferMemory);
  return edge;
}

TENON_INLINE const Edge& image_to_dmabuf() {
  static const ToDmabuf edge("opencl.image->dmabuf", kImageMemory);
  return edge;
}

TENON_INLINE std::span<const Edge* const> edges_of_system(MemoryKind kind) {
  static const Edge* const buffers[] = {&dmabuf_to_buffer(), &buffer_to_dmabuf()};
  static const Edge* const images[] = {&dmabuf_to_image(), &image_to_dmabuf()};
  return kind == kImageMemory ? std::span<const Edge* const>(images) : std::span<const Edge* const>(buffers);
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
