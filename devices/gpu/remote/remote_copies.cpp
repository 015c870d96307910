// SPDX-License-Identifier: Apache-2.0
// Copies between remote tensors and others.
#include <tenon/devices/gpu/remote/remote_copies.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/native.hpp>
#include <tenon/devices/gpu/remote/driver_waits.hpp>
#include <tenon/devices/gpu/remote/params.hpp>
#include <tenon/frameworks/opencl/pointer_context.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

EdgeId copy_edge() {
  static const EdgeId edge = register_edge("GPU: remote copy");
  return edge;
}

/// One side of a copy, as commands reach it.
struct Side {
  explicit Side(const Tensor& tensor) : tensor(tensor) {
    // The host's accesses to a dma-buf are bracketed, by its framework.
    if (tensor.is_host_addressable() && tensor.kind() != kDmabuf)
      host = static_cast<std::byte*>(tensor.data());
    else if (tensor.kind() == opencl::kBufferMemory)
      buffer = opencl::buffer(tensor);
    else
      pointers = tensor.context().as<opencl::PointerContext>();
    if (const auto* facet = tensor.context().as<opencl::FacetContext>()) native = &facet->native();
  }
  const Tensor& tensor;
  std::byte* host = nullptr;
  cl_mem buffer = nullptr;
  const opencl::PointerContext* pointers = nullptr;
  const client::Native* native = nullptr;  ///< Null: no memory of this framework's.
};

/// A box of bytes with a pitch from row to row and from slice to slice, where it lies on either side.
struct Box {
  struct Place {
    std::size_t offset = 0, row = 0, slice = 0;
    /// As the calls take it.
    std::array<std::size_t, 3> origin() const {
      return {row ? offset % slice % row : offset, row ? offset % slice / row : 0, row ? offset / slice : 0};
    }
  };
  std::array<std::size_t, 3> size{};
  Place from, to;
  bool is_flat() const { return size[1] == 1 && size[2] == 1; }
};

/// Calls run(box) for boxes that are together all elements, in as few as rows and slices allow.
template <typename Run>
void for_each_box(const Tensor& from, const Tensor& to, Run run) {
  struct Axis {
    std::size_t extent, from, to;
  };
  std::size_t side_by_side = from.size_bytes();
  std::vector<Axis> axes;  // The innermost first.
  if (!from.is_contiguous() || !to.is_contiguous()) {
    side_by_side = size_bytes(from.element_type());
    for (std::size_t axis = from.shape().size(); axis-- > 0;) {
      const Axis next{from.shape()[axis], static_cast<std::size_t>(from.byte_strides()[axis]),
                      static_cast<std::size_t>(to.byte_strides()[axis])};
      if (next.extent == 1) continue;
      const auto follows = [&](const Axis& last) {
        return next.from == last.extent * last.from && next.to == last.extent * last.to;
      };
      if (axes.empty() && next.from == side_by_side && next.to == side_by_side)
        side_by_side *= next.extent;
      else if (!axes.empty() && follows(axes.back()))
        axes.back().extent *= next.extent;
      else
        axes.push_back(next);
    }
  }
  Box box{{side_by_side, 1, 1}, {from.offset(), 0, 0}, {to.offset(), 0, 0}};
  std::size_t inside = 0;  // Axes that a box has.
  if (!axes.empty() && axes[0].from >= side_by_side && axes[0].to >= side_by_side) {
    const Axis& rows = axes[inside++];
    box.size[1] = rows.extent;
    box.from.row = rows.from, box.to.row = rows.to;
    box.from.slice = rows.extent * rows.from, box.to.slice = rows.extent * rows.to;
    const auto are_slices = [](std::size_t pitch, std::size_t rows, std::size_t row) {
      return pitch >= rows && pitch % row == 0;
    };
    if (axes.size() > 1 && are_slices(axes[1].from, box.from.slice, rows.from) &&
        are_slices(axes[1].to, box.to.slice, rows.to)) {
      const Axis& slices = axes[inside++];
      box.size[2] = slices.extent;
      box.from.slice = slices.from, box.to.slice = slices.to;
    }
  }
  const auto each = [&](const auto& self, std::size_t axis) -> void {
    if (axis == inside) return run(std::as_const(box));
    const Axis& outer = axes[--axis];
    const std::size_t from_begin = box.from.offset, to_begin = box.to.offset;
    for (std::size_t i = 0; i < outer.extent; ++i) {
      box.from.offset = from_begin + i * outer.from;
      box.to.offset = to_begin + i * outer.to;
      self(self, axis);
    }
    box.from.offset = from_begin, box.to.offset = to_begin;
  };
  each(each, axes.size());
}

/// Whether the driver may copy on the host's cores, for so long that a thread is to wait there (DriverWaits).
bool is_long_on_host(const client::Native& native, std::size_t bytes) {
  constexpr std::size_t kLong = 512 << 10;
  return native.device.host_unified && bytes >= kLong;
}

/// Enqueues commands that copy box by box, and waits for the last one: the queue is in order. Both sides live as long as the
/// commands, even if the wait takes too long.
/// @param native  The one that has the queue.
/// @param enqueue  Enqueues one, and gives its event.
template <typename Enqueue>
void copy_boxes(const client::Native& native, const Tensor& from, const Tensor& to, Enqueue enqueue) {
  Ref<opencl::EventTimeline> last;
  try {
    for_each_box(from, to, [&](const Box& box) {
      cl_event event = nullptr;
      enqueue(box, &event);
      last = opencl::EventTimeline::over(client::Handle<cl_event>(event));
    });
    const Deadline deadline = default_deadline();
    if (is_long_on_host(native, from.size_bytes())) {
      last->flush();
      DriverWaits::process().wait(*last, deadline);
    }
    last->wait(1, deadline);
  } catch (...) {
    if (last) {
      client::keep_until(last->event(), from.memory());
      client::keep_until(last->event(), to.memory());
    }
    throw;
  }
}

std::string copying(const Tensor& from, const Tensor& to) {
  return "copying " + to_string(from) + " to " + to_string(to);
}

void copy_between_buffers(const Side& from, const Side& to) {
  const cl_command_queue queue = from.native->transfers.get();
  copy_boxes(*from.native, from.tensor, to.tensor, [&](const Box& box, cl_event* event) {
    const auto what = [&] { return copying(from.tensor, to.tensor); };
    if (box.is_flat())
      return client::check(client::call(clEnqueueCopyBuffer, queue, from.buffer, to.buffer, box.from.offset,
                                        box.to.offset, box.size[0], cl_uint{0}, kNoEvents, event),
                           "clEnqueueCopyBuffer", what);
    const auto begin = box.from.origin(), end = box.to.origin();
    client::check(
        client::call(clEnqueueCopyBufferRect, queue, from.buffer, to.buffer, begin.data(), end.data(), box.size.data(),
                     box.from.row, box.from.slice, box.to.row, box.to.slice, cl_uint{0}, kNoEvents, event),
        "clEnqueueCopyBufferRect", what);
  });
}

/// The host's place of a box begins at its address, so that the calls get no origin.
constexpr std::array<std::size_t, 3> kAtAddress{};

void read_buffer(const Side& from, const Side& to) {
  const cl_command_queue queue = from.native->transfers.get();
  copy_boxes(*from.native, from.tensor, to.tensor, [&](const Box& box, cl_event* event) {
    const auto what = [&] { return copying(from.tensor, to.tensor); };
    auto* const host = static_cast<void*>(to.host + (box.to.offset - to.tensor.offset()));
    if (box.is_flat())
      return client::check(client::call(clEnqueueReadBuffer, queue, from.buffer, cl_bool{CL_FALSE}, box.from.offset,
                                        box.size[0], host, cl_uint{0}, kNoEvents, event),
                           "clEnqueueReadBuffer", what);
    const auto begin = box.from.origin();
    client::check(client::call(clEnqueueReadBufferRect, queue, from.buffer, cl_bool{CL_FALSE}, begin.data(),
                               kAtAddress.data(), box.size.data(), box.from.row, box.from.slice, box.to.row,
                               box.to.slice, host, cl_uint{0}, kNoEvents, event),
                  "clEnqueueReadBufferRect", what);
  });
}

void write_buffer(const Side& from, const Side& to) {
  const cl_command_queue queue = to.native->transfers.get();
  copy_boxes(*to.native, from.tensor, to.tensor, [&](const Box& box, cl_event* event) {
    const auto what = [&] { return copying(from.tensor, to.tensor); };
    const auto* const host = static_cast<const void*>(from.host + (box.from.offset - from.tensor.offset()));
    if (box.is_flat())
      return client::check(client::call(clEnqueueWriteBuffer, queue, to.buffer, cl_bool{CL_FALSE}, box.to.offset,
                                        box.size[0], host, cl_uint{0}, kNoEvents, event),
                           "clEnqueueWriteBuffer", what);
    const auto begin = box.to.origin();
    client::check(client::call(clEnqueueWriteBufferRect, queue, to.buffer, cl_bool{CL_FALSE}, begin.data(),
                               kAtAddress.data(), box.size.data(), box.to.row, box.to.slice, box.from.row,
                               box.from.slice, host, cl_uint{0}, kNoEvents, event),
                  "clEnqueueWriteBufferRect", what);
  });
}

/// Whether one command may copy between two buffers. Within one, regions must not overlap, and rows have one pitch.
bool are_apart(const Side& from, const Side& to) {
  const auto place = [](const Side& side) {
    const auto ask = [&](auto answer, cl_mem_info key) {
      return client::info<decltype(answer)>(clGetMemObjectInfo, "clGetMemObjectInfo", side.buffer, key);
    };
    const cl_mem whole = ask(cl_mem{}, CL_MEM_ASSOCIATED_MEMOBJECT);
    return std::pair(whole ? whole : side.buffer,
                     side.tensor.offset() + (whole ? ask(std::size_t{}, CL_MEM_OFFSET) : 0));
  };
  const auto [first, from_begin] = place(from);
  const auto [second, to_begin] = place(to);
  if (first != second) return true;
  const std::size_t bytes = from.tensor.size_bytes();
  return from.tensor.is_contiguous() && to.tensor.is_contiguous() &&
         (from_begin + bytes <= to_begin || to_begin + bytes <= from_begin);
}

/// Host memory as commands on pointers take it: from its first byte on.
Ref<Memory> packed(const Side& host) {
  return HostMemory::borrow(host.host, host.tensor.size_bytes(), false, [kept = host.tensor.memory()] {});
}

bool is_own_memory(const Side& side) {
  return side.native && !side.host && side.native->coherency == opencl::Coherency::kCopied;
}

/// @param from, to  As frameworks see them.
void copy(const Tensor& from, const Tensor& to, Ledger& ledger) {
  if (from.size_bytes() == 0) return;
  const Side a(from), b(to);
  const bool is_host_packed[2] = {a.host && from.is_contiguous(), b.host && to.is_contiguous()};
  const Deadline deadline = default_deadline();
  from.memory()->wait_for(Access::kRead, deadline, &ledger);
  to.memory()->wait_for(Access::kWrite, deadline, &ledger);
  if (a.buffer && b.buffer && a.native->context.get() == b.native->context.get() && are_apart(a, b)) {
    copy_between_buffers(a, b);
  } else if (a.buffer && b.host) {
    read_buffer(a, b);
  } else if (a.host && b.buffer) {
    write_buffer(a, b);
  } else if (a.host && b.host) {
    Tensor target = to;
    from.copy_to(target);
  } else if (a.pointers && is_host_packed[1]) {
    a.pointers->read_now(from, packed(b), deadline);
  } else if (b.pointers && is_host_packed[0]) {
    b.pointers->write_now(to, packed(a), deadline);
  } else if (is_host_packed[1]) {
    from.context()->read(from, {b.host, to.size_bytes()});
  } else if (is_host_packed[0]) {
    to.context()->write(to, {a.host, from.size_bytes()});
  } else {  // No command takes both.
    const Tensor between(from.element_type(), from.shape());
    copy(from, between, ledger);
    return copy(between, to, ledger);
  }
  const std::size_t bytes = from.size_bytes();
  if (is_own_memory(a) != is_own_memory(b))
    ledger.book_transferred(copy_edge(), bytes);
  else
    ledger.book_copied(copy_edge(), bytes);
}

/// The remote memory of a tensor, if that is another device's.
RemoteMemory* others(const Tensor& tensor) {
  auto* const remote = dynamic_cast<RemoteMemory*>(tensor.memory().get());
  return dynamic_cast<CopiedMemory*>(remote) ? nullptr : remote;
}
Tensor seen_by_framework(const Tensor& tensor) {
  const auto* const own = dynamic_cast<const CopiedMemory*>(tensor.memory().get());
  return own ? own->seen(tensor) : tensor;
}

void check(const Tensor& from, const Tensor& to) {
  if (!from || from.element_type() != to.element_type() || from.shape() != to.shape())
    throw Error(Code::kInvalidArgument, "GPU: copying " + (from ? to_string(from) : std::string("an empty tensor")) +
                                            " into " + to_string(to) + ": type and shape must be the same");
  if (!to.is_writable())
    throw Error(Code::kPermissionDenied, "GPU: " + copying(from, to) + ": the memory of the destination is read-only");
}

}  // namespace

void CopiedMemory::copy_to(const Tensor& self, Tensor& destination) const {
  const Tensor from = seen(self);
  check(from, destination);
  RemoteMemory* const other = others(destination);
  if (!other) return copy(from, seen_by_framework(destination), ledger());
  if (from.is_host_addressable()) return other->copy_from(destination, from);
  const Tensor between(from.element_type(), from.shape());
  copy(from, between, ledger());
  other->copy_from(destination, between);
}

void CopiedMemory::copy_from(const Tensor& self, const Tensor& source) {
  const Tensor to = seen(self);
  check(source, to);
  const RemoteMemory* const other = others(source);
  if (!other) return copy(seen_by_framework(source), to, ledger());
  Tensor between(source.element_type(), source.shape());
  other->copy_to(source, between);
  copy(between, to, ledger());
}

}  // namespace tenon::inline v1::gpu_device
