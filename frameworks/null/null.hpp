// SPDX-License-Identifier: Apache-2.0
// The smallest complete framework: the template for a new one.
//
// How to write a framework, in the order of this file. Copy the folder, rename it, and replace native.hpp by your
// library's header.
//
//  1. The kind. One constexpr name. There is no list of kinds to extend and nothing to register.
//  2. The native calls. One function, check(), turns a code into tenon::Error with the call's name, so that every
//     failure says which foreign function returned what.
//  3. Memory. One class over one native allocation. Its constructor receives what it owns and cannot fail half-way;
//     its destructor first drops the views, then releases what it owns: "released once, on every path".
//  4. View. This framework's view of *another* framework's memory: here a block around host memory. It belongs to
//     that memory, dies with it and must hold no reference to it, or neither would ever be freed.
//  5. Context. Allocates, and lists the edges. read() and write() use the framework's own calls: alias tests need
//     them as an independent check of what the framework sees.
//  6. Edges. step() judges a description and touches nothing; map() performs the hop. They must agree: write the
//     conditions once. A sharing edge returns source.through(view); a copying edge returns new memory, after waiting
//     for the last write. An impossible request is a Refusal that names the missing capability; a failure is an
//     exception. The router books both, and refuses writes to read-only or copied memory. core/host_edge.hpp has
//     what edges share, and HostEdge, a complete edge to a library that takes addresses.
//  7. The typed accessor, wrap() and adopt(): how users convert to and from native handles.
//  8. contexts.hpp: the framework's contexts on this machine, for the tool's matrix and devices.
//  9. conformance.cpp: tells the conformance suite how to make your memory, count your objects and make your calls
//     fail. The suite then tests your edges: content, aliasing, lifetimes, failures, threads, ledger. null_test.cpp
//     tests only what is specific to the framework.
//
// The three edges here show all three cases:
//   cpu -> null.block          shares: a block is made around the host memory and kept as its view.
//   null.block -> cpu          shares when the CPU can reach the block, else copies it out.
//   null.block -> null.block   refused: the library cannot hand a block to another of its contexts.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/null/native.hpp>

namespace tenon {
inline namespace v1 {
namespace null {

/// 1. The kind: `Tensor::kind()` of this framework's memory.
inline constexpr MemoryKind kBlockMemory{"null.block"};

using native::Block;

namespace detail {

/// 2. The only place where codes become exceptions.
inline void check(int status, const char* call, const std::string& what) {
  if (status == native::kSuccess) return;
  const Code code = status == native::kOutOfMemory    ? Code::kResourceExhausted
                    : status == native::kInvalidValue ? Code::kInvalidArgument
                    : status == native::kNotMappable  ? Code::kFailedPrecondition
                                                      : Code::kInternal;
  throw Error(code, "null: " + what, call, status);
}

/// Owns one reference to a block, so that an exception between two native calls releases it.
class BlockReference {
 public:
  BlockReference() = default;
  explicit BlockReference(Block* block) noexcept : block_(block) {}
  BlockReference(BlockReference&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockReference& operator=(BlockReference&&) = delete;
  ~BlockReference() {
    if (block_) native::null_release(block_);
  }
  Block* get() const noexcept { return block_; }

 private:
  Block* block_ = nullptr;
};

inline BlockReference create(std::size_t size, void* host, unsigned flags, const std::string& what) {
  Block* block = nullptr;
  check(native::null_create(size, host, flags, &block), "null_create", what);
  return BlockReference(block);
}

}  // namespace detail

/// 3. A block as memory. Host-visible blocks are host-addressable directly, private ones only through edges.
class BlockMemory final : public Memory {
 public:
  /// Takes ownership of the reference. @errors those of null_map.
  static Ref<BlockMemory> over(Context context, detail::BlockReference block) {
    Properties properties;
    properties.size_bytes = block.get()->size;
    if (block.get()->host_visible) {
      detail::check(native::null_map(block.get(), &properties.host), "null_map",
                    "mapping a block of " + std::to_string(block.get()->size) + " bytes");
    }
    // No identity: the library reuses addresses of blocks, so a handle does not identify an allocation.
    return Ref<BlockMemory>(new BlockMemory(std::move(context), properties, std::move(block)));
  }
  ~BlockMemory() override { drop_views(); }  // Before `block_`, which the views refer to, is released.

  Block* block() const { return block_.get(); }

 private:
  BlockMemory(Context context, const Properties& properties, detail::BlockReference block)
      : Memory(std::move(context), kBlockMemory, properties), block_(std::move(block)) {}

  detail::BlockReference block_;
};

/// 4. A block over another framework's memory.
class BlockView final : public View {
 public:
  BlockView(Context context, Access access, void* host, detail::BlockReference block)
      : View(std::move(context), kBlockMemory, access, host), block_(std::move(block)) {}
  Block* block() const { return block_.get(); }

 private:
  detail::BlockReference block_;
};

/// 7a. The native handle, valid as long as the tensor. The tensor begins at tensor.offset() in it.
/// @errors kInvalidArgument: a tensor of another framework.
inline Block* block(const Tensor& tensor) {
  if (tensor && tensor.view()) {
    if (const auto* view = dynamic_cast<const BlockView*>(tensor.view())) return view->block();
  } else if (tensor) {
    if (const auto* memory = dynamic_cast<const BlockMemory*>(tensor.memory().get())) return memory->block();
  }
  throw Error(Code::kInvalidArgument, "null::block of " + to_string(tensor) +
                                          ": it is not a null.block; map it to a null context with a Router first");
}

namespace detail {

/// Copies the elements of a tensor between its block and packed host memory, one native call per contiguous run.
inline void copy_elements(const Tensor& tensor, std::byte* packed, native::Direction direction) {
  if (tensor.size_bytes() == 0) return;
  Block* const from = block(tensor);
  const Shape& shape = tensor.shape();
  std::size_t run = tensor.size_bytes(), outer = 0;  // Iterates over axes below `outer`; the rest is one run.
  if (!tensor.is_contiguous()) {
    run = size_bytes(tensor.element_type());
    outer = shape.size();
    while (outer > 0 && (shape[outer - 1] == 1 || tensor.byte_strides()[outer - 1] == static_cast<std::ptrdiff_t>(run)))
      run *= shape[--outer];
  }
  Shape index(outer, 0);
  for (std::size_t done = 0; done < tensor.size_bytes(); done += run) {
    std::size_t offset = tensor.offset();
    for (std::size_t axis = 0; axis < outer; ++axis)
      offset += index[axis] * static_cast<std::size_t>(tensor.byte_strides()[axis]);
    check(native::null_copy(from, offset, run, packed + done, direction), "null_copy",
          "copying " + std::to_string(run) + " bytes at " + std::to_string(offset) + " of " + to_string(tensor));
    for (std::size_t axis = outer; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// 6. The edges. Static objects without state.
class CpuToBlock final : public Edge {
 public:
  std::string_view name() const override { return "cpu->null.block"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kBlockMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    if (from.alignment < native::kWrapAlignment) {
      return Refusal{"the memory is aligned to " + std::to_string(from.alignment) +
                     " bytes, and null_create wraps from " + std::to_string(native::kWrapAlignment) + " on"};
    }
    Reached reached{from, false, 100, 0};
    reached.result.context = to;
    reached.result.kind = kBlockMemory;
    return reached;
  }

  /// One block serves all planes of a frame in the memory.
  bool makes_standing_views(const Context&) const override { return true; }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    const View* view = memory.find_view(*to, kBlockMemory, options.access);
    if (!view) {
      void* host = source.view() ? source.view()->host() : memory.host();
      // Widest access from the start, so that one view serves readers and writers.
      const Access access = memory.read_only() ? Access::kRead : Access::kReadWrite;
      auto made = std::make_unique<BlockView>(
          to, access, host,
          create(memory.size_bytes(), host, native::kHostVisible,
                 "wrapping " + std::to_string(memory.size_bytes()) + " bytes of host memory"));
      made->set_standing(id());  // The block stays valid, so mapping again needs no native call.
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }
};

class BlockToCpu final : public Edge {
 public:
  std::string_view name() const override { return "null.block->cpu"; }
  MemoryKind from() const override { return kBlockMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    Reached reached{from, !from.host_addressable, 50, 0};
    reached.result.context = to;
    reached.result.kind = kCpuMemory;
    if (reached.copies) {
      reached.cost_ns = 500;
      reached.ns_per_byte = 0.1;
      reached.result.info.strides = packed_strides(from.info.type, from.info.shape);
      reached.result.offset = 0;
      reached.result.memory_bytes = checked_size_bytes(from.info.type, from.info.shape).value_or(0);
      reached.result.alignment = 64;
      reached.result.host_addressable = true;
      reached.result.read_only = false;
    }
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    if (source.is_host_addressable()) return host_view(source, to, kCpuMemory, options.access, this);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Tensor copy(source.element_type(), source.shape());
    copy_elements(source, static_cast<std::byte*>(copy.data()), native::Direction::kToHost);
    return copy;
  }
};

class BlockToBlock final : public Edge {
 public:
  std::string_view name() const override { return "null.block->null.block"; }
  MemoryKind from() const override { return kBlockMemory; }
  MemoryKind to() const override { return kBlockMemory; }
  Step step(const Description&, const Context&, Access) const override {
    return Refusal{"the null library cannot export a block to another of its contexts"};
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    throw Error(Code::kFailedPrecondition,
                "null: " + std::get<Refusal>(step(describe(source), to, options.access)).reason);
  }
};

inline const CpuToBlock cpu_to_block;
inline const BlockToCpu block_to_cpu;
inline const BlockToBlock block_to_block;
inline constexpr const Edge* kEdges[] = {&cpu_to_block, &block_to_cpu, &block_to_block};

}  // namespace detail

/// 5. The context. A real one holds its library's context handle and returns its device's identity.
class BlockContext final : public ContextImpl {
 public:
  std::string_view name() const override { return "null"; }
  MemoryKind kind() const override { return kBlockMemory; }
  std::span<const Edge* const> edges() const override { return detail::kEdges; }
  Requirements requirements() const override {
    Requirements wanted;
    wanted.alignment = native::kWrapAlignment;
    return wanted;
  }
  /// What planning may expect of allocate(): it must refuse here what it would refuse there.
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone)
      return Refusal{"blocks have no descriptor; allocate with frameworks/cpu or frameworks/dmabuf"};
    if (wanted.alignment > 4096)
      return Refusal{"blocks are aligned to 4096 bytes, " + std::to_string(wanted.alignment) + " were asked for"};
    return Offer{4096, FdKind::kNone, 0, wanted.host_access};
  }
  /// A private block, or a host-visible one if `wanted.host_access`. @errors kUnimplemented: descriptors; those of
  /// null_create.
  Ref<Memory> allocate(const Requirements& wanted) override {
    check_offer(wanted);
    const std::size_t size = wanted.size_bytes + wanted.tail_padding;
    return BlockMemory::over(Context(Ref<ContextImpl>(this)),
                             detail::create(size, nullptr, wanted.host_access ? native::kHostVisible : native::kPrivate,
                                            "allocating a block of " + std::to_string(size) + " bytes"));
  }
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    detail::copy_elements(tensor, out.data(), native::Direction::kToHost);
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    detail::copy_elements(tensor, const_cast<std::byte*>(in.data()), native::Direction::kFromHost);
  }
};

/// Makes a new context. Many libraries allow several; if memory may not pass between them, an edge refuses it.
inline Context make_context() { return Context(make_ref<BlockContext>()); }
/// The context of the process, for users who need only one.
inline Context context() {
  static const Context* the_one = new Context(make_context());  // Outlives static destructors that hold tensors.
  return *the_one;
}

/// 7b. Wraps the caller's block as a tensor. Takes its own reference, so the caller may release theirs at any
/// time.
/// @errors kInvalidArgument: null; kOutOfRange: `info` needs more than the block has; those of null_retain.
inline Tensor wrap(const Context& context, Block* block, const TensorInfo& info) {
  detail::check(native::null_retain(block), "null_retain", "wrapping a block for " + to_string(info.shape));
  return Tensor(info, BlockMemory::over(context, detail::BlockReference(block)));
}

/// Takes over the caller's reference; it is released once, also when this fails. @errors as wrap().
inline Tensor adopt(const Context& context, Block* block, const TensorInfo& info) {
  if (!block) throw Error(Code::kInvalidArgument, "null::adopt for " + to_string(info.shape) + ": a null block");
  return Tensor(info, BlockMemory::over(context, detail::BlockReference(block)));
}

}  // namespace null
}  // namespace v1
}  // namespace tenon
