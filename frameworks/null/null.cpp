// SPDX-License-Identifier: Apache-2.0
// The code of the template; null.hpp says what each number stands for.
#include <tenon/frameworks/null/null.hpp>

#include <memory>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/process_wide.hpp>
#include <tenon/core/shape.hpp>

namespace tenon {
inline namespace v1 {
namespace null {
namespace detail {

// 2. The native calls.
TENON_INLINE void check(int status, const char* call, const std::string& what) {
  if (status == native::kSuccess) return;
  const Code code = status == native::kOutOfMemory    ? Code::kResourceExhausted
                    : status == native::kInvalidValue ? Code::kInvalidArgument
                    : status == native::kNotMappable  ? Code::kFailedPrecondition
                                                      : Code::kInternal;
  throw Error(code, "null: " + what, call, status);
}

TENON_INLINE BlockReference create(std::size_t size, void* host, unsigned flags, const std::string& what) {
  Block* block = nullptr;
  check(native::null_create(size, host, flags, &block), "null_create", what);
  return BlockReference(block);
}

}  // namespace detail

// 3. Memory.
TENON_INLINE BlockMemory::BlockMemory(Context context, const Properties& properties, detail::BlockReference block)
    : Memory(std::move(context), kBlockMemory, properties), block_(std::move(block)) {}

TENON_INLINE BlockMemory::~BlockMemory() { drop_views(); }  // Before `block_`, which the views refer to, is released.

TENON_INLINE Ref<BlockMemory> BlockMemory::over(Context context, detail::BlockReference block) {
  Properties properties;
  properties.size_bytes = block.get()->size;
  if (block.get()->host_visible) {
    detail::check(native::null_map(block.get(), &properties.host), "null_map",
                  "mapping a block of " + std::to_string(block.get()->size) + " bytes");
  }
  // No identity: the library reuses addresses of blocks, so a handle does not identify an allocation.
  return Ref<BlockMemory>(new BlockMemory(std::move(context), properties, std::move(block)));
}

// 4. View.
TENON_INLINE BlockView::BlockView(Context context, Access access, void* host, detail::BlockReference block)
    : View(std::move(context), kBlockMemory, access, host), block_(std::move(block)) {}

namespace detail {

/// Copies the elements of a tensor between its block and packed host memory, one native call per contiguous run.
TENON_INLINE void copy_elements(const Tensor& tensor, std::byte* packed, native::Direction direction) {
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

// 6. The edges: objects without state, of which the three show all cases.
/// Shares: a block is made around the host memory and kept as its view.
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

/// Shares when the CPU can reach the block, else copies it out.
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

/// Refused: the library cannot hand a block to another of its contexts.
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

TENON_INLINE std::span<const Edge* const> edges() {
  static const CpuToBlock from_cpu;
  static const BlockToCpu to_cpu;
  static const BlockToBlock to_block;
  static const Edge* const all[] = {&from_cpu, &to_cpu, &to_block};
  return all;
}

struct TheContext {
  Context context = make_context();
};

}  // namespace detail

// 5. Context.
TENON_INLINE std::span<const Edge* const> BlockContext::edges() const { return detail::edges(); }

TENON_INLINE Requirements BlockContext::requirements() const {
  Requirements wanted;
  wanted.alignment = native::kWrapAlignment;
  return wanted;
}

TENON_INLINE std::variant<Offer, Refusal> BlockContext::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone)
    return Refusal{"blocks have no descriptor; allocate with frameworks/cpu or frameworks/dmabuf"};
  if (wanted.alignment > 4096)
    return Refusal{"blocks are aligned to 4096 bytes, " + std::to_string(wanted.alignment) + " were asked for"};
  return Offer{4096, FdKind::kNone, 0, wanted.host_access};
}

TENON_INLINE Ref<Memory> BlockContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  const std::size_t size = wanted.size_bytes + wanted.tail_padding;
  return BlockMemory::over(Context(Ref<ContextImpl>(this)),
                           detail::create(size, nullptr, wanted.host_access ? native::kHostVisible : native::kPrivate,
                                          "allocating a block of " + std::to_string(size) + " bytes"));
}

TENON_INLINE void BlockContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  detail::copy_elements(tensor, out.data(), native::Direction::kToHost);
}
TENON_INLINE void BlockContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  detail::copy_elements(tensor, const_cast<std::byte*>(in.data()), native::Direction::kFromHost);
}

TENON_INLINE Context make_context() { return Context(make_ref<BlockContext>()); }
TENON_INLINE Context context() {
  // Never destroyed, so it outlives static destructors that hold tensors. The number changes with the class's layout.
  static const auto& the = process_wide<detail::TheContext>("tenon.null.Context.1");
  return the.context;
}

// 7. Accessor, wrap and adopt.
TENON_INLINE Block* block(const Tensor& tensor) {
  if (tensor && tensor.view()) {
    if (const auto* view = dynamic_cast<const BlockView*>(tensor.view())) return view->block();
  } else if (tensor) {
    if (const auto* memory = dynamic_cast<const BlockMemory*>(tensor.memory().get())) return memory->block();
  }
  throw Error(Code::kInvalidArgument, "null::block of " + to_string(tensor) +
                                          ": it is not a null.block; map it to a null context with a Router first");
}

TENON_INLINE Tensor wrap(const Context& context, Block* block, const TensorInfo& info) {
  detail::check(native::null_retain(block), "null_retain", "wrapping a block for " + to_string(info.shape));
  return Tensor(info, BlockMemory::over(context, detail::BlockReference(block)));
}

TENON_INLINE Tensor adopt(const Context& context, Block* block, const TensorInfo& info) {
  if (!block) throw Error(Code::kInvalidArgument, "null::adopt for " + to_string(info.shape) + ": a null block");
  return Tensor(info, BlockMemory::over(context, detail::BlockReference(block)));
}

// 8. Contexts.
TENON_INLINE std::vector<Context> contexts() { return {context()}; }

}  // namespace null
}  // namespace v1
}  // namespace tenon
